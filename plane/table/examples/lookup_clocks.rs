//! What a lookup, a change and a load cost: clocks of the time-stamp counter, millions a second.
//!
//! ```text
//!   cargo run --release -p tandem-table --example lookup_clocks -- [all | ipv4 | ipv6 | vrf | hop]
//! ```
#![allow(clippy::disallowed_methods, reason = "it measures")]
#![allow(unsafe_code, reason = "it reads the time-stamp counter")]
#![allow(clippy::print_stdout, reason = "it prints")]

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use table::epoch::{Domain, Reader};
use table::hop::{Hop, Hops, Line, Member};
use table::lanes::Lanes;
use table::lpm::{Address, Lookups, Prefix, Routes};

/// Lengths of IPv4 prefixes in parts of ten thousand, as route collectors count them.
const LENGTHS_4: [(u8, u64); 17] = [
    (24, 5_600),
    (23, 920),
    (22, 980),
    (21, 660),
    (20, 700),
    (19, 460),
    (18, 220),
    (17, 130),
    (16, 240),
    (15, 32),
    (14, 30),
    (13, 10),
    (12, 6),
    (11, 2),
    (10, 1),
    (9, 1),
    (8, 3),
];
/// Lengths of IPv6 prefixes in parts of a thousand.
const LENGTHS_6: [(u8, u64); 14] = [
    (48, 470),
    (32, 115),
    (44, 85),
    (40, 85),
    (36, 45),
    (46, 40),
    (47, 30),
    (45, 20),
    (42, 20),
    (34, 15),
    (33, 20),
    (29, 25),
    (35, 15),
    (64, 15),
];
/// Where registries give out addresses.
const BLOCKS_6: [u64; 6] = [0x2001, 0x2400, 0x2600, 0x2800, 0x2a00, 0x2c00];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    fn weighted(&mut self, table: &[(u8, u64)]) -> u8 {
        let mut at = self.below(table.iter().map(|(_, weight)| weight).sum());
        for (value, weight) in table {
            if at < *weight {
                return *value;
            }
            at -= weight;
        }
        table[0].0
    }
}

fn internet(count: usize, random: &mut Random) -> Vec<(Prefix<u32>, u32)> {
    let mut known = HashSet::new();
    while known.len() < count {
        let mut length = random.weighted(&LENGTHS_4);
        // What is short is soon used up.
        for _ in 0..40 {
            let address = (1 << 24) + random.below(0xdf << 24) as u32;
            if known.insert(Prefix::new(address, length).expect("a length of the family")) {
                break;
            }
            length = (length + 1).min(30);
        }
    }
    with_hops(known, random)
}

/// Prefixes below some tens of thousands of allocations, most below few of them.
fn internet_6(count: usize, random: &mut Random) -> Vec<(Prefix<u128>, u32)> {
    let allocations: Vec<u128> = (0..count / 10)
        .map(|_| {
            let block = BLOCKS_6[random.below(6) as usize] + random.below(0x12);
            u128::from(block << 16 | random.below(1 << 13) << 3) << 96
        })
        .collect();
    let mut known = HashSet::new();
    while known.len() < count {
        let length = random.weighted(&LENGTHS_6);
        let fraction = random.below(1 << 32) as f64 / (1_u64 << 32) as f64;
        let at = (allocations.len() as f64 * fraction.powf(2.2)) as usize;
        let below: u64 = if length > 32 { random.next() >> 32 << 32 } else { 0 };
        // Within an allocation low numbers are used first.
        let below = below & (u64::MAX >> (32 + random.below(10)));
        // One of four is a /29, the others are /32s.
        let part = if at.is_multiple_of(4) { random.below(8) } else { 0 };
        let address = allocations[at] | u128::from(part) << 96;
        let address = address | u128::from(below) << 64;
        known.insert(Prefix::new(address, length).expect("a length of the family"));
    }
    with_hops(known, random)
}

fn with_hops<A: Address>(known: HashSet<Prefix<A>>, random: &mut Random) -> Vec<(Prefix<A>, u32)> {
    let mut sorted: Vec<Prefix<A>> = known.into_iter().collect();
    sorted.sort_unstable();
    let mut routes: Vec<_> =
        sorted.into_iter().map(|prefix| (prefix, 2 + random.below(500) as u32)).collect();
    for at in (1..routes.len()).rev() {
        routes.swap(at, random.below(at as u64 + 1) as usize);
    }
    routes
}

fn flows<A: Address>(routes: &[(Prefix<A>, u32)], count: usize, random: &mut Random) -> Vec<A> {
    let flow = |_| {
        let (prefix, _) = routes[random.below(routes.len() as u64) as usize];
        let rest = u128::MAX.checked_shr(u32::from(prefix.length())).unwrap_or(0);
        let host = u128::from(random.next()) << 64 | u128::from(random.next());
        A::narrowed(prefix.address().widened() | host & rest)
    };
    (0..count).map(flow).collect()
}

/// Seconds that this thread has had a processor: other work beside it counts less.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Clocks of the time-stamp counter in a second.
fn clocks_per_second() -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        let (start, from) = (Instant::now(), clocks());
        while start.elapsed() < Duration::from_millis(20) {}
        (clocks() - from) as f64 / start.elapsed().as_secs_f64()
    }
    #[cfg(not(target_arch = "x86_64"))]
    1e9
}

#[cfg(target_arch = "x86_64")]
fn clocks() -> u64 {
    // SAFETY: every such machine has the counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Runs `pass` over `items` in eight windows and prints what one cost in the best of them.
fn measured(what: &str, items: usize, mut pass: impl FnMut()) {
    pass();
    let mut best = f64::MAX;
    for _ in 0..8 {
        let (start, from, mut passes) = (Instant::now(), processor_seconds(), 0);
        while passes == 0 || start.elapsed() < Duration::from_millis(60) {
            pass();
            passes += 1;
        }
        best = best.min((processor_seconds() - from) / (passes * items) as f64);
    }
    let clocks = best * clocks_per_second();
    println!("{what:<56} {:>8.1} M/s {clocks:>7.1} clocks", 1e-6 / best);
}

fn lookups<A: Address>(what: &str, lookups: &Lookups<A>, reader: &mut Reader, flows: &[A]) {
    let mut hops = [0; 256];
    let packets: Vec<A> = flows.iter().copied().cycle().take(flows.len().max(4096)).collect();
    measured(&format!("{what}, {} flows", flows.len()), packets.len(), || {
        for batch in packets.chunks(256) {
            lookups.lookup_batch(reader, 0, batch, &mut hops);
            black_box(&hops);
            reader.quiesce();
        }
    });
}

fn global<A: Address>(what: &str, routes: &[(Prefix<A>, u32)], random: &mut Random) {
    let domain = Domain::new();
    let mut reader = domain.reader().expect("a place");
    let mut tables = Routes::<A>::new(&domain).expect("memory");
    let start = Instant::now();
    tables.load(0, routes).expect("room");
    let loaded = start.elapsed();
    println!(
        "{what}: {} routes loaded in {:.0} ms, {:.1} MB for lookups",
        routes.len(),
        loaded.as_secs_f64() * 1e3,
        tables.bytes() as f64 / 1e6
    );
    let view = tables.lookups();
    for count in [1, 256, 65_536, 1_000_000, 2_000_000] {
        lookups(what, &view, &mut reader, &flows(routes, count, random));
    }
    let narrow = Lanes::all().into_iter().filter(|lanes| *lanes != Lanes::best());
    for lanes in narrow {
        let mut tables = Routes::<A>::with_lanes(&domain, lanes).expect("memory");
        tables.load(0, routes).expect("room");
        let what = format!("{what}, {lanes:?}");
        lookups(&what, &tables.lookups(), &mut reader, &flows(routes, 1_000_000, random));
    }
    drop(reader);
    updates(what, &mut tables, routes, &domain, random);
}

/// Withdraws and announces while another thread looks up.
fn updates<A: Address>(
    what: &str,
    tables: &mut Routes<A>,
    routes: &[(Prefix<A>, u32)],
    domain: &Arc<Domain>,
    random: &mut Random,
) {
    let flows = flows(routes, 1_000_000, random);
    let (view, stop) = (tables.lookups(), AtomicBool::new(false));
    let mut reader = domain.reader().expect("a place");
    std::thread::scope(|scope| {
        let stop = &stop;
        let worker = scope.spawn(move || {
            let (mut hops, mut count, start) = ([0; 256], 0_u64, Instant::now());
            while !stop.load(Ordering::Relaxed) {
                for batch in flows.chunks(256) {
                    view.lookup_batch(&reader, 0, batch, &mut hops);
                    black_box(&hops);
                    reader.quiesce();
                }
                count += flows.len() as u64;
            }
            count as f64 / start.elapsed().as_secs_f64() / 1e6
        });
        let (start, mut done, mut longest) = (Instant::now(), 0_u64, Duration::ZERO);
        while start.elapsed() < Duration::from_secs(1) {
            let before = Instant::now();
            for _ in 0..128 {
                let (prefix, hop) = routes[random.below(routes.len() as u64) as usize];
                tables.remove(0, prefix).expect("room");
                tables.insert(0, prefix, hop).expect("room");
            }
            longest = longest.max(before.elapsed());
            done += 256;
        }
        let rate = done as f64 / start.elapsed().as_secs_f64() / 1e6;
        stop.store(true, Ordering::Relaxed);
        let beside = worker.join().expect("the worker ends");
        println!(
            "{what}: {rate:.2} M changes/s beside {beside:.1} M lookups/s, 256 in {longest:?}"
        );
    });
}

fn vrfs(count: u32, each: usize, random: &mut Random) {
    let domain = Domain::new();
    let mut reader = domain.reader().expect("a place");
    let mut tables = Routes::<u32>::new(&domain).expect("memory");
    let empty = tables.bytes();
    let (mut addresses, mut numbers) = (Vec::new(), Vec::new());
    for vrf in 0..count {
        let lengths = [24, 24, 24, 30, 32, 16];
        let routes: Vec<(Prefix<u32>, u32)> = (0..each)
            .map(|_| {
                let address = 0x0a00_0000 | random.below(1 << 24) as u32;
                let length = lengths[random.below(6) as usize];
                (Prefix::new(address, length).expect("a length"), 2 + random.below(500) as u32)
            })
            .collect();
        for (prefix, hop) in &routes {
            tables.insert(vrf, *prefix, *hop).expect("room");
        }
        addresses.extend(flows(&routes, 1_000_000 / count as usize, random));
        numbers.resize(addresses.len(), vrf);
    }
    for at in (1..addresses.len()).rev() {
        let other = random.below(at as u64 + 1) as usize;
        addresses.swap(at, other);
        numbers.swap(at, other);
    }
    let bytes = (tables.bytes() - empty) / count as usize;
    println!("{count} VRFs of {each} routes: {bytes} octets each for lookups");
    let (view, mut hops) = (tables.lookups(), [0; 256]);
    measured(&format!("{count} VRFs of {each}, 1 M flows, mixed"), addresses.len(), || {
        for (batch, numbers) in addresses.chunks(256).zip(numbers.chunks(256)) {
            view.lookup_each(&reader, numbers, batch, &mut hops);
            black_box(&hops);
            reader.quiesce();
        }
    });
}

fn hops(random: &mut Random) {
    let domain = Domain::new();
    let mut reader = domain.reader().expect("a place");
    let mut hops = Hops::new(&domain).expect("memory");
    let line = |at: u32| Hop::Line(Line::rewriting(1, at, &[at as u8; 14]).expect("it fits"));
    let single: Vec<u32> = (0..500).map(|at| hops.add(line(at)).expect("room")).collect();
    let member = |random: &mut Random| single[random.below(500) as usize];
    let groups: Vec<u32> = (0..500)
        .map(|_| {
            let members = (0..8).map(|_| Member { hop: member(random), weight: 1 }).collect();
            hops.add(Hop::Group(members)).expect("room")
        })
        .collect();
    let view = hops.lookups();
    for (what, from) in [("500 hops", &single), ("500 groups of 8", &groups)] {
        let numbers: Vec<u32> = (0..1_000_000).map(|_| from[random.below(500) as usize]).collect();
        let hashes: Vec<u32> = (0..1_000_000).map(|_| random.next() as u32).collect();
        measured(&format!("{what}, 1 M flows"), numbers.len(), || {
            for (numbers, hashes) in numbers.chunks(256).zip(hashes.chunks(256)) {
                let none = view.resolve(&reader, 0, 0);
                let mut lines = [none; 256];
                view.resolve_batch(&reader, numbers, hashes, &mut lines);
                black_box(lines.iter().map(|line| line.interface).fold(0, u32::wrapping_add));
                reader.quiesce();
            }
        });
    }
}

fn main() {
    let what = std::env::args().nth(1).unwrap_or_else(|| "all".into());
    let full = std::env::args().any(|argument| argument == "--full");
    let is = |name: &str| what == "all" || what == name;
    let mut random = Random(0x1234_5678_9abc);
    if is("ipv4") {
        global("IPv4", &internet(1_010_000, &mut random), &mut random);
        if full {
            global("IPv4 x 10", &internet(10_100_000, &mut random), &mut random);
        }
    }
    if is("ipv6") {
        global("IPv6", &internet_6(250_000, &mut random), &mut random);
        if full {
            global("IPv6 x 10", &internet_6(2_500_000, &mut random), &mut random);
        }
    }
    if is("vrf") {
        for (count, each) in [(1, 20), (1000, 20), (1000, 1000), (100, 10_000)] {
            vrfs(count, each, &mut random);
        }
    }
    if is("hop") {
        hops(&mut random);
    }
}
