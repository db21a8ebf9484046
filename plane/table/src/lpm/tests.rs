//! Tables held against a naive reference, by seed, and while they change.

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
    let hop = random.below(1000) as u32;
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

fn agrees<A: Family>(seed: u64, changes: usize) {
    let mut random = Random(seed * 0x9e37_79b9 + 1);
    let domain = Domain::new();
    let mut reader = domain.reader().unwrap();
    let mut routes = Routes::<A>::new(&domain).unwrap();
    let lookups = routes.lookups();
    let mut references = [Reference::default(), Reference::default()];
    for round in 0..changes {
        let at = random.below(2) as usize;
        let table = [0, 777][at];
        let prefix = changed(&mut random, &mut routes, &mut references[at], table);
        let probes = probes(&mut random, prefix);
        let mut batch = vec![u32::MAX; probes.len()];
        lookups.lookup_batch(&reader, table, &probes, &mut batch);
        for (address, hop) in probes.iter().zip(batch) {
            let expected = references[at].lookup(*address);
            let found = (lookups.lookup(&reader, table, *address), hop);
            assert_eq!(found, (expected, expected), "seed {seed} round {round} {address:x?}");
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
