//! Routing tables by seed, with lengths as the Internet's have them, and addresses inside them.

use crate::random::Random;
use std::collections::HashSet;

/// Lengths of IPv4 prefixes with their parts of ten thousand, as route collectors see them.
const LENGTHS_V4: [(u8, u32); 10] = [
    (24, 6_000),
    (23, 950),
    (22, 1_100),
    (21, 520),
    (20, 450),
    (19, 260),
    (18, 140),
    (17, 90),
    (16, 140),
    (14, 10),
];
/// Lengths of IPv6 prefixes with theirs.
const LENGTHS_V6: [(u8, u32); 9] = [
    (48, 4_700),
    (32, 1_050),
    (44, 1_250),
    (40, 1_100),
    (36, 550),
    (29, 350),
    (46, 350),
    (47, 250),
    (33, 400),
];
/// Attempts for each prefix to find one that is not there yet.
const TRIES_MAX: usize = 64;
/// The top bits of global unicast (RFC 4291 §2.4).
const GLOBAL_UNICAST: u128 = 1 << 125;

/// A prefix: its address in the low 32 bits for IPv4, host bits zero, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Route {
    /// The network.
    pub network: u128,
    /// Bits of it.
    pub length: u8,
}

impl Route {
    fn new(address: u128, length: u8, width: u8) -> Self {
        let host = u32::from(width - length);
        Self { network: address >> host << host, length }
    }
}

fn weighted(random: &mut Random, lengths: &[(u8, u32)]) -> u8 {
    let all = lengths.iter().map(|(_, weight)| *weight).sum();
    let mut left = random.below(all);
    for (length, weight) in lengths {
        match left.checked_sub(*weight) {
            Some(rest) => left = rest,
            None => return *length,
        }
    }
    lengths[0].0
}

fn table(count: usize, mut draw: impl FnMut(usize) -> Option<Route>) -> Vec<Route> {
    let mut known = HashSet::with_capacity(count);
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let fresh = (0..TRIES_MAX).filter_map(&mut draw).find(|route| known.insert(*route));
        all.extend(fresh);
    }
    all
}

/// `count` different IPv4 prefixes (fewer where there are no more) of unicast space that is
/// nobody's own; the same for the same seed. From the second try on a prefix is two bits longer.
#[must_use]
pub fn table_v4(count: usize, seed: u64) -> Vec<Route> {
    let mut random = Random::new(seed);
    table(count, |tried| {
        let longer = if tried > 1 { 2 } else { 0 };
        let length = (weighted(&mut random, &LENGTHS_V4) + longer).min(28);
        let first = 1 + random.below(223);
        let is_free = !matches!(first, 10 | 100 | 127 | 169 | 172 | 192 | 198 | 203);
        let address = u128::from(first << 24 | random.below(1 << 24));
        is_free.then(|| Route::new(address, length, 32))
    })
}

/// `count` different IPv6 prefixes of 2000::/12 (fewer where there are no more).
#[must_use]
pub fn table_v6(count: usize, seed: u64) -> Vec<Route> {
    let mut random = Random::new(seed);
    table(count, |_| {
        let length = weighted(&mut random, &LENGTHS_V6);
        let low = u128::from(random.number()) << 52;
        Some(Route::new(GLOBAL_UNICAST | low, length, crate::ADDRESS_BITS_V6))
    })
}

/// `count` addresses inside the routes, each route in turn in an order by seed, host bits by
/// chance: `width` is 32 or 128.
#[must_use]
pub fn hosts(routes: &[Route], count: usize, width: u8, seed: u64) -> Vec<u128> {
    let mut random = Random::new(seed);
    let mut order: Vec<u32> = (0..routes.len() as u32).collect();
    random.shuffle(&mut order);
    let routes = order.iter().cycle().take(count).map(|at| routes[*at as usize]);
    let host = |route: Route| {
        let bits = u32::from(width - route.length);
        let any = u128::from(random.number()) | u128::from(random.number()) << 64;
        route.network | any & !(u128::MAX.checked_shl(bits).unwrap_or(0))
    };
    routes.map(host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_as_many_different_prefixes_as_asked_and_are_the_same_by_seed() {
        for (table, width) in [(table_v4(50_000, 3), 32), (table_v6(50_000, 3), 128)] {
            let different: HashSet<_> = table.iter().copied().collect();
            assert_eq!((table.len(), different.len()), (50_000, 50_000));
            let addresses = hosts(&table, 100_000, width, 1);
            let inside =
                |address: &u128, route: &Route| Route::new(*address, route.length, width) == *route;
            assert_eq!(addresses.len(), 100_000);
            let first: HashSet<u8> = table.iter().map(|route| route.length).collect();
            let is_covered = |address: &u128| {
                let of = |length: &u8| Route::new(*address, *length, width);
                first.iter().any(|length| different.contains(&of(length)))
            };
            assert!(addresses.iter().all(is_covered));
            assert!(inside(&table[0].network, &table[0]));
        }
        assert_eq!(table_v4(1_000, 9), table_v4(1_000, 9));
        assert_ne!(table_v4(1_000, 9), table_v4(1_000, 8));
        assert!(hosts(&[], 5, 32, 1).is_empty());
    }

    #[test]
    fn half_of_the_prefixes_are_of_24_bits() {
        let table = table_v4(20_000, 1);
        let count = table.iter().filter(|route| route.length == 24).count();
        assert!((11_000..13_000).contains(&count), "{count}");
    }
}
