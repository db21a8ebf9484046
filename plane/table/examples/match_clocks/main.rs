//! Prints clocks of the time stamp counter per packet for classifier, MAC table, session table and
//! policers, and what their writers do a second: `cargo run --release -p tandem-table --example
//! match_clocks [classifier|mac|session|policer [all]]`.
#![allow(
    unsafe_code,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example that measures"
)]

mod rules;

use rules::{Flavour, Random, header};
use std::hint::black_box;
use std::time::Instant;
use table::classifier::{Address, Classifier, Header};
use table::epoch::Domain;
use table::lanes::Lanes;
use table::mac::{Entry, Kind, MacKey, MacWriter, Seen, Source};
use table::policer::{Colour, Marker, Pool, Profile};
use table::session::{Key, SessionWriter};

/// A vector of packets.
const VECTOR: usize = 256;
/// Packets whose keys differ: they do not fit into a second-level cache.
const PACKETS: usize = 1 << 20;

fn clock() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// The least clocks a packet in five rounds of `work`, which does `packets`.
fn least(packets: usize, mut work: impl FnMut()) -> f64 {
    (0..5)
        .map(|_| {
            let begun = clock();
            work();
            (clock() - begun) as f64 / packets as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// The best kind of code, or every kind if the second argument is `all`.
fn kinds() -> Vec<Lanes> {
    let all = std::env::args().nth(2).is_some_and(|which| which == "all");
    if all { Lanes::all().into_iter().rev().collect() } else { vec![Lanes::best()] }
}

fn classifiers<A: Address>(family: &str) {
    for (flavour, count) in
        Flavour::ALL.into_iter().flat_map(|f| [50, 1_000, 10_000].map(|n| (f, n)))
    {
        let rules = rules::rules::<A>(flavour, count, 1);
        let mut random = Random(2);
        let headers: Vec<Header<A>> =
            (0..PACKETS / 8).map(|_| header(&mut random, &rules)).collect();
        for lanes in kinds() {
            let begun = Instant::now();
            let classifier =
                Classifier::compile_within(&rules, 256 << 20, lanes).expect("compiles");
            let compiled = begun.elapsed();
            let mut found = [0; VECTOR];
            let clocks = least(headers.len(), || {
                for headers in headers.chunks(VECTOR) {
                    classifier.lookup(headers, &mut found[..headers.len()]);
                    black_box(&found);
                }
            });
            println!(
                "{family} {flavour:?} {count} rules, {lanes:?}: {clocks:.1} clocks, compiled in \
                 {compiled:.1?}, {} KB, {} runs",
                classifier.bytes() >> 10,
                classifier.runs(),
            );
        }
    }
}

fn macs() {
    for stations in [1_000_u64, 200_000, 1_000_000] {
        for lanes in kinds() {
            let domain = Domain::new();
            let mut writer = MacWriter::with_lanes(&domain, 1 << 21, 1, lanes);
            let (macs, mut reader) = (writer.macs(), domain.reader().expect("a place"));
            let mut learner = writer.learner();
            let key = |station: u64| {
                MacKey::from_bits((station % 250) as u16, station.wrapping_mul(0x9E37_79B9_7F4B))
            };
            let key = |station| MacKey::from_bits(key(station).bridge(), bits(key(station).mac()));
            let begun = Instant::now();
            for station in 0..stations {
                writer.set(key(station), station as u32 % 999, Kind::Learnt, 0).expect("room");
            }
            let rate = stations as f64 / begun.elapsed().as_secs_f64();
            let mut random = Random(3);
            let frames: Vec<_> =
                (0..PACKETS).map(|_| (random.below(stations), random.below(stations))).collect();
            let sources: Vec<_> = frames.iter().map(|(from, _)| key(*from)).collect();
            let ports: Vec<_> = frames.iter().map(|(from, _)| *from as u32 % 999).collect();
            let destinations: Vec<_> = frames.iter().map(|(_, to)| key(*to)).collect();
            let (mut known, mut entries) = ([Source::New; VECTOR], [Entry::UNKNOWN; VECTOR]);
            let mut now = 0;
            let clocks = least(8 * PACKETS, || {
                // A second at 8 Mpps: each round every age is refreshed once.
                now += 1;
                for at in (0..8 * PACKETS).step_by(VECTOR).map(|at| at % PACKETS) {
                    let part = at..at + VECTOR;
                    let (keys, ports) = (&sources[part.clone()], &ports[part.clone()]);
                    let seen = Seen { keys, ports, now_s: now };
                    macs.check(&reader, &mut learner, seen, &mut known);
                    macs.lookup(&reader, &destinations[part], &mut entries);
                    black_box((&known, &entries));
                    reader.quiesce();
                }
            });
            println!(
                "MAC {stations} stations, {lanes:?}: {clocks:.1} clocks source check, refresh and \
                 destination; {:.2} M/s set",
                rate / 1e6
            );
        }
    }
}

/// The address as a number, without the bit of groups.
fn bits(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |bits, octet| bits << 8 | u64::from(*octet)) & !(1 << 40)
}

fn sessions<const W: usize>(what: &str) {
    for entries in [10_000_u64, 1_000_000, 4_000_000] {
        for lanes in kinds() {
            let domain = Domain::new();
            let mut writer = SessionWriter::<W>::with_lanes(&domain, 1 << 22, 1, lanes);
            let (sessions, mut reader) = (writer.sessions(), domain.reader().expect("a place"));
            let key = |number: u64| Key::<W>(std::array::from_fn(|word| number ^ word as u64));
            let begun = Instant::now();
            for number in 0..entries {
                writer.insert(&key(number), number as u32).expect("room");
                if number % 1_024 == 0 {
                    reader.quiesce();
                }
            }
            let inserts = entries as f64 / begun.elapsed().as_secs_f64();
            let mut random = Random(3);
            let keys: Vec<_> = (0..PACKETS).map(|_| key(random.below(entries))).collect();
            let mut values = [0; VECTOR];
            let clocks = least(PACKETS, || {
                for keys in keys.chunks(VECTOR) {
                    sessions.lookup(&reader, keys, &mut values);
                    black_box(&values);
                    reader.quiesce();
                }
            });
            let begun = Instant::now();
            for number in 0..entries {
                writer.remove(&key(number));
                if number % 1_024 == 0 {
                    reader.quiesce();
                }
            }
            let removals = entries as f64 / begun.elapsed().as_secs_f64();
            println!(
                "{what} {entries} entries, {lanes:?}: {clocks:.1} clocks, {:.2} M/s inserted, \
                 {:.2} M/s removed",
                inserts / 1e6,
                removals / 1e6
            );
        }
    }
}

fn policers() {
    let markers = [
        Marker::SingleRate { cir: 1 << 27, cbs: 1 << 20, ebs: 1 << 20 },
        Marker::TwoRate { cir: 1 << 27, cbs: 1 << 20, pir: 1 << 28, pbs: 1 << 20 },
        Marker::Differentiated { cir: 1 << 27, cbs: 1 << 20, eir: 1 << 27, ebs: 1 << 20 },
    ];
    for (marker, policers) in markers.into_iter().flat_map(|m| [1, 2_048].map(|n| (m, n))) {
        let profile = Profile::new(marker, true, 2_100_000_000).expect("in range");
        let mut tokens = vec![profile.full(0); policers];
        let mut shares: Vec<_> =
            (0..policers).map(|_| Pool::new(profile, 2, 0).share().expect("one is left")).collect();
        let mut random = Random(4);
        let packets: Vec<_> = (0..PACKETS / 8)
            .map(|_| {
                let colour = random.of(&[Colour::Green, Colour::Green, Colour::Yellow]);
                (random.below(policers as u64) as usize, random.of(&[64, 570, 1_500]), colour)
            })
            .collect();
        let (mut now, mut tally) = (0, [0_u64; 3]);
        let owned = least(packets.len(), || {
            for (at, (policer, bytes, colour)) in packets.iter().enumerate() {
                // The clock of a vector, as a worker has it.
                now += if at % VECTOR == 0 { 10_000 } else { 0 };
                let colour = tokens[*policer].mark(&profile, now, *bytes, *colour);
                tally[colour as usize] += 1;
            }
        });
        let shared = least(packets.len(), || {
            for (at, (policer, bytes, colour)) in packets.iter().enumerate() {
                now += if at % VECTOR == 0 { 10_000 } else { 0 };
                let colour = shares[*policer].mark(now, *bytes, *colour);
                tally[colour as usize] += 1;
            }
        });
        println!(
            "{policers} of {marker:?}: {owned:.1} clocks owned, {shared:.1} shared; {tally:?}"
        );
    }
}

fn main() {
    let what = std::env::args().nth(1).unwrap_or_default();
    let wanted = |name: &str| what.is_empty() || what == name;
    if wanted("classifier") {
        classifiers::<u32>("IPv4");
        classifiers::<u128>("IPv6");
    }
    if wanted("mac") {
        macs();
    }
    if wanted("session") {
        sessions::<1>("tunnel");
        sessions::<2>("flow");
        sessions::<5>("flow of IPv6");
    }
    if wanted("policer") {
        policers();
    }
}
