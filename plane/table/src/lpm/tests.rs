//! Tables held against a naive reference, by seed, and while they change.

use super::node::NO_SHORT;
use super::*;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

/// Numbers by seed: xorshift, which is all that a test needs.
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
}

/// What a family is tested with.
trait Family: Address {
    /// An address whose prefixes meet: few values in each part.
    fn near(random: &mut Random) -> Self;
    /// A length, common ones more often.
    fn length(random: &mut Random) -> u8;
}

impl Family for u32 {
    fn near(random: &mut Random) -> Self {
        let part = |random: &mut Random, common: u64| match random.below(4) {
            0 => random.below(256),
            _ => random.below(common),
        };
        let octets: [u64; 4] = [10, 3, 40, 256].map(|common| part(random, common));
        octets.iter().fold(0, |all, octet| all << 8 | *octet as u32)
    }

    fn length(random: &mut Random) -> u8 {
        match random.below(6) {
            0 => random.below(33) as u8,
            1 => 16 + random.below(8) as u8,
            2 => 25 + random.below(8) as u8,
            _ => 24,
        }
    }
}

impl Family for u128 {
    fn near(random: &mut Random) -> Self {
        let mut address = 0x2001_u128;
        for common in [30, 600, 40, 3, 2, 4, 300] {
            let chunk = match random.below(8) {
                0 => random.below(1 << 16),
                _ => random.below(common),
            };
            address = address << 16 | u128::from(chunk);
        }
        address ^ u128::from(random.below(8) == 0) << 120
    }

    fn length(random: &mut Random) -> u8 {
        match random.below(6) {
            0 => random.below(129) as u8,
            1 => 32,
            2 => 64,
            3 => 128,
            4 => 30 + random.below(20) as u8,
            _ => 48,
        }
    }
}

/// Routes as a person would look them up.
#[derive(Default, Clone)]
struct Reference<A: Address>(BTreeMap<(u8, A), u32>);

impl<A: Address> Reference<A> {
    fn lookup(&self, address: A) -> u32 {
        let route = |length| self.0.get(&(length, address.masked(length)));
        (0..=A::BITS).rev().find_map(route).copied().unwrap_or(NO_HOP)
    }
}

/// A hop; now and then one whose number is at the end of what a short holds, or at the last.
fn hop(random: &mut Random) -> u32 {
    match random.below(16) {
        0 => u32::from(NO_SHORT) - 2 + random.below(4) as u32,
        1 => HOP_END - 1 - random.below(2) as u32,
        _ => 1 + random.below(1000) as u32,
    }
}

fn changed<A: Family>(
    random: &mut Random,
    routes: &mut Routes<A>,
    reference: &mut Reference<A>,
    table: u32,
) -> Prefix<A> {
    let prefix = Prefix::new(A::near(random), A::length(random)).unwrap();
    let key = (prefix.length(), prefix.address());
    if random.below(5) < 2 {
        // One that is there, mostly.
        let known = reference.0.range(key..).next().map_or(key, |(key, _)| *key);
        let prefix = Prefix::new(known.1, known.0).unwrap();
        assert_eq!(routes.remove(table, prefix), Ok(reference.0.remove(&known)));
        return prefix;
    }
    let hop = hop(random);
    assert_eq!(routes.insert(table, prefix, hop), Ok(reference.0.insert(key, hop)));
    prefix
}

/// Addresses at the edges of a prefix, in it, and anywhere.
fn probes<A: Family>(random: &mut Random, prefix: Prefix<A>) -> Vec<A> {
    let wide = prefix.address().widened();
    let rest = u128::MAX.checked_shr(u32::from(prefix.length())).unwrap_or(0);
    let shift = 128 - u32::from(A::BITS);
    let edges = [wide, wide | rest, wide.wrapping_sub(1 << shift), (wide | rest).wrapping_add(1)];
    let mut probes: Vec<A> = edges.iter().map(|edge| A::narrowed(*edge)).collect();
    probes.extend((0..12).map(|_| A::near(random)));
    probes
}

/// What looks up with each unit that this machine has.
fn views<A: Address>(routes: &Routes<A>) -> Vec<Lookups<A>> {
    let lookups = routes.lookups();
    let view = |lanes| Lookups {
        domain: Arc::clone(&lookups.domain),
        region: Arc::clone(&lookups.region),
        shorts: lookups.shorts.clone(),
        roots: lookups.roots,
        unit: Unit::new(lanes),
        family: PhantomData,
    };
    Lanes::all().into_iter().map(view).collect()
}

fn agrees<A: Family>(seed: u64, changes: usize) {
    let mut random = Random(seed * 0x9e37_79b9 + 1);
    let domain = Domain::new();
    let mut reader = domain.reader().unwrap();
    let mut routes = Routes::<A>::new(&domain).unwrap();
    let lookups = routes.lookups();
    let views = views(&routes);
    let mut references = [Reference::default(), Reference::default()];
    for round in 0..changes {
        let at = random.below(2) as usize;
        let table = [0, 777][at];
        let prefix = changed(&mut random, &mut routes, &mut references[at], table);
        let probes = probes(&mut random, prefix);
        let expected: Vec<u32> = probes.iter().map(|of| references[at].lookup(*of)).collect();
        let one = |address: &A| lookups.lookup(&reader, table, *address);
        let found: Vec<u32> = probes.iter().map(one).collect();
        assert_eq!(found, expected, "seed {seed} round {round} {probes:x?}");
        for view in &views {
            let mut batch = vec![u32::MAX; probes.len()];
            view.lookup_batch(&reader, table, &probes, &mut batch);
            assert_eq!(batch, expected, "{:?} seed {seed} round {round} {probes:x?}", view.unit);
            let tables: Vec<u32> = (0..probes.len()).map(|at| [table, 5][at % 2]).collect();
            view.lookup_each(&reader, &tables, &probes, &mut batch);
            let each = expected.iter().enumerate().map(|(at, hop)| [*hop, 0][at % 2]);
            assert_eq!(batch, each.collect::<Vec<_>>(), "{:?}", view.unit);
        }
        reader.quiesce();
        if round % 1000 == 999 {
            reload(&mut routes, &references[at], table);
        }
    }
    for (table, reference) in [0, 777].into_iter().zip(&references) {
        assert_eq!(routes.len(table), reference.0.len());
        for (length, address) in reference.0.keys() {
            routes.remove(table, Prefix::new(*address, *length).unwrap()).unwrap();
        }
    }
    reader.quiesce();
    routes.recycle();
    let roots = Routes::<A>::new(&domain).unwrap().bytes();
    assert_eq!(routes.bytes(), roots, "empty tables take nothing");
}

fn reload<A: Family>(routes: &mut Routes<A>, reference: &Reference<A>, table: u32) {
    let all = reference
        .0
        .iter()
        .map(|((length, address), hop)| (Prefix::new(*address, *length).unwrap(), *hop));
    let mut all: Vec<_> = all.collect();
    if all.len().is_multiple_of(2) {
        all.sort_unstable();
    }
    routes.load(table, &all).unwrap();
}

#[test]
fn tables_answer_as_a_naive_reference_does() {
    let (seeds, changes) = if cfg!(miri) { (1, 120) } else { (6, 6_000) };
    for seed in 1..=seeds {
        agrees::<u32>(seed, changes);
        agrees::<u128>(seed, changes);
    }
}

/// A table large enough for each kind of root answers as the reference does, in every unit.
fn agrees_when_large<A: Family>(count: usize, kind: Kind) {
    let mut random = Random(count as u64);
    let domain = Domain::new();
    let reader = domain.reader().unwrap();
    let mut routes = Routes::<A>::new(&domain).unwrap();
    let mut reference = Reference::default();
    while reference.0.len() < count {
        let mut prefix = Prefix::new(A::near(&mut random), A::length(&mut random)).unwrap();
        if reference.0.len() > count / 2 {
            let far = u128::from(random.next()) << 64;
            prefix = Prefix::new(A::narrowed(far), 8 + random.below(24) as u8).unwrap();
        }
        let hop = hop(&mut random);
        reference.0.insert((prefix.length(), prefix.address()), hop);
        routes.insert(3, prefix, hop).unwrap();
    }
    assert_eq!(routes.tables[3].as_ref().unwrap().kind, kind);
    let check = |routes: &Routes<A>, reference: &Reference<A>, random: &mut Random| {
        for view in views(routes) {
            for _ in 0..40 {
                let near = |_| match random.below(2) {
                    0 => A::near(random),
                    _ => A::narrowed(u128::from(random.next()) << 64),
                };
                let addresses: Vec<A> = (0..BATCH_MAX - 3).map(near).collect();
                let mut hops = vec![0; addresses.len()];
                view.lookup_batch(&reader, 3, &addresses, &mut hops);
                let expected: Vec<u32> = addresses.iter().map(|of| reference.lookup(*of)).collect();
                assert_eq!(hops, expected, "{:?}", view.unit);
                view.lookup_each(&reader, &[3; BATCH_MAX], &addresses, &mut hops);
                assert_eq!(hops, expected, "{:?}", view.unit);
            }
        }
    };
    check(&routes, &reference, &mut random);
    let gone: Vec<_> = reference.0.keys().copied().skip(count / 20).collect();
    for (length, address) in gone {
        reference.0.remove(&(length, address));
        routes.remove(3, Prefix::new(address, length).unwrap()).unwrap();
    }
    assert!(routes.tables[3].as_ref().unwrap().kind < kind, "it is smaller again");
    check(&routes, &reference, &mut random);
}

#[test]
#[cfg_attr(miri, ignore = "it takes hours")]
fn a_table_that_grows_and_shrinks_changes_its_root_and_no_answer() {
    agrees_when_large::<u32>(TOP_ROUTES + 1, Kind::Top);
    agrees_when_large::<u32>(WIDE_ROUTES + 1, Kind::Wide);
    agrees_when_large::<u128>(WIDE_ROUTES + 1, Kind::Wide);
}

/// Changes of one table in order, and what each probe's answer is after each of them.
struct Script<A: Address> {
    changes: Vec<(Prefix<A>, Option<u32>)>,
    probes: Vec<A>,
    /// By state, then by probe.
    answers: Vec<Vec<u32>>,
}

/// Changes of a table that has the routes of `before` already.
fn script<A: Family>(seed: u64, count: usize, before: &[(Prefix<A>, u32)]) -> Script<A> {
    let mut random = Random(seed);
    let probes: Vec<A> = (0..48).map(|_| A::near(&mut random)).collect();
    let key = |(prefix, hop): &(Prefix<A>, u32)| ((prefix.length(), prefix.address()), *hop);
    let mut reference = Reference(before.iter().map(key).collect());
    let mut answers: Vec<Vec<u32>> = vec![probes.iter().map(|at| reference.lookup(*at)).collect()];
    let mut changes = Vec::new();
    for _ in 0..count {
        // Most changes concern a probe.
        let near = match random.below(4) {
            0 => A::near(&mut random),
            _ => probes[random.below(probes.len() as u64) as usize],
        };
        let prefix = Prefix::new(near, A::length(&mut random)).unwrap();
        let key = (prefix.length(), prefix.address());
        // Half of them have a short.
        let hop = (random.below(5) > 1).then(|| 1 + random.below(1 << 17) as u32);
        match hop {
            Some(hop) => reference.0.insert(key, hop),
            None => reference.0.remove(&key),
        };
        let mut now = answers.last().unwrap().clone();
        for (answer, probe) in now.iter_mut().zip(&probes) {
            if prefix.has(*probe) {
                *answer = reference.lookup(*probe);
            }
        }
        answers.push(now);
        changes.push((prefix, hop));
    }
    Script { changes, probes, answers }
}

/// Every answer must be that of a state between the last that was there before the lookup and the
/// first that could be there after it.
fn read_while_changed<A: Family>(
    script: &Script<A>,
    view: &Lookups<A>,
    mut reader: Reader,
    (begun, done): (&AtomicUsize, &AtomicUsize),
) {
    let mut hops = vec![0; script.probes.len()];
    loop {
        let first = done.load(Ordering::SeqCst);
        view.lookup_batch(&reader, 1, &script.probes, &mut hops);
        let last = begun.load(Ordering::SeqCst);
        for (at, hop) in hops.iter().enumerate() {
            let is_valid = (first..=last).any(|state| script.answers[state][at] == *hop);
            assert!(is_valid, "{:?} {:x?} {first}..={last}", view.unit, script.probes[at]);
        }
        reader.quiesce();
        if first == script.changes.len() {
            return;
        }
    }
}

fn races<A: Family>(seed: u64, count: usize, before: &[(Prefix<A>, u32)]) {
    let script = script::<A>(seed, count, before);
    let domain = Domain::new();
    let mut routes = Routes::<A>::new(&domain).unwrap();
    routes.load(1, before).unwrap();
    let kind = routes.tables[1].as_ref().unwrap().kind;
    assert!(before.is_empty() || kind == Kind::Top);
    let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let views = views(&routes);
    let start = std::sync::Barrier::new(views.len() + 1);
    std::thread::scope(|scope| {
        for view in &views {
            let reader = domain.reader().unwrap();
            let (script, counts, start) = (&script, (&begun, &done), &start);
            scope.spawn(move || {
                start.wait();
                read_while_changed(script, view, reader, counts);
            });
        }
        start.wait();
        for (at, (prefix, hop)) in script.changes.iter().enumerate() {
            begun.store(at + 1, Ordering::SeqCst);
            match hop {
                Some(hop) => routes.insert(1, *prefix, *hop).unwrap(),
                None => routes.remove(1, *prefix).unwrap(),
            };
            done.store(at + 1, Ordering::SeqCst);
            if at % 16 == 0 {
                routes.recycle();
            }
            if at % 400 == 399 {
                let all: Vec<_> = routes.iter(1).collect();
                routes.load(1, &all).unwrap();
            }
        }
    });
}

#[test]
fn no_reader_ever_finds_what_was_not_so_during_its_lookup() {
    let (seeds, count) = if cfg!(miri) { (1, 60) } else { (4, 4_000) };
    for seed in 1..=seeds {
        races::<u32>(seed, count, &[]);
        races::<u128>(seed, count, &[]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "it takes hours")]
fn nor_below_a_top() {
    let many =
        (0..=TOP_ROUTES as u32).map(|at| (Prefix::new(at << 8, 24).unwrap(), 1 + at % 1_000));
    let many: Vec<(Prefix<u32>, u32)> = many.collect();
    for seed in 1..=2 {
        races(seed, 1_200, &many);
    }
}

#[test]
fn a_load_is_seen_whole_or_not_at_all() {
    let domain = Domain::new();
    let mut routes = Routes::<u32>::new(&domain).unwrap();
    let view = routes.lookups();
    let mut reader = domain.reader().unwrap();
    let table = |hop: u32| -> Vec<(Prefix<u32>, u32)> {
        (0..40).map(|at| (Prefix::new(at << 24, 8).unwrap(), hop)).collect()
    };
    let rounds = if cfg!(miri) { 10 } else { 500 };
    routes.load(0, &table(1)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let addresses: Vec<u32> = (0..40).map(|at| at << 24 | 7).collect();
            let mut hops = [0; 40];
            let mut last = 0;
            while last < rounds {
                view.lookup_batch(&reader, 0, &addresses, &mut hops);
                assert!(hops.iter().all(|hop| *hop == hops[0]), "one root for a batch");
                assert!(hops[0] >= last, "never back");
                last = hops[0];
                reader.quiesce();
            }
        });
        for round in 2..=rounds {
            routes.load(0, &table(round)).unwrap();
        }
    });
}

#[test]
fn of_two_routes_of_a_prefix_in_a_load_the_last_counts() {
    let domain = Domain::new();
    let mut routes = Routes::<u32>::new(&domain).unwrap();
    let ten = Prefix::new(0x0a00_0000, 8).unwrap();
    routes.load(0, &[(ten, 5), (ten, 6)]).unwrap();
    let reader = domain.reader().unwrap();
    assert_eq!((routes.len(0), routes.lookups().lookup(&reader, 0, 0x0a01_0101)), (1, 6));
}
