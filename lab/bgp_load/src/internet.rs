//! Tables like the Internet's of the report: 515,858 prefixes of 71,900 attribute sets, with the
//! lengths of prefixes and paths as route collectors counted them then.

use crate::random::Random;
use crate::table::{Table, head};
use bgp::codec::{AttributeType, write_attribute};
use bgp::family::Ipv4Prefix;
use std::collections::HashSet;

/// Prefix lengths with their parts of ten thousand.
const LENGTHS: [(u8, u32); 17] = [
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
/// ASes of a path with their parts of a thousand: 4.3 in the mean.
const HOPS: [(usize, u32); 9] =
    [(1, 8), (2, 72), (3, 215), (4, 325), (5, 220), (6, 92), (7, 38), (9, 20), (12, 10)];
/// ASes that give transit, nearest first in most paths.
const TRANSIT: [u32; 14] =
    [174, 209, 701, 1_239, 1_299, 2_914, 3_257, 3_320, 3_356, 3_491, 5_511, 6_453, 6_762, 6_939];
/// Attempts to find a prefix that is not there yet.
const TRIES_MAX: usize = 64;
/// Parts of a hundred of the sets that have communities, a metric, an aggregator.
const COMMUNITIES: u64 = 60;
const METRIC: u64 = 15;
const AGGREGATOR: u64 = 5;
/// Communities of a set at most.
const COMMUNITIES_MAX: u64 = 6;

/// How large the table is.
#[derive(Debug, Clone, Copy)]
pub struct InternetShape {
    /// Prefixes.
    pub prefixes: usize,
    /// Attribute sets, at most as many as prefixes.
    pub sets: usize,
    /// The same seed gives the same table.
    pub seed: u64,
}

impl InternetShape {
    /// The report's table.
    pub const REPORT: Self = Self { prefixes: 515_858, sets: 71_900, seed: 1 };

    /// The same relation of sets to prefixes with fewer of both, or more.
    #[must_use]
    pub const fn scaled(prefixes: usize) -> Self {
        let sets = prefixes * Self::REPORT.sets / Self::REPORT.prefixes;
        Self { prefixes, sets: if sets == 0 { 1 } else { sets }, seed: Self::REPORT.seed }
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut random = Random::new(self.seed);
        let mut table = Table::default();
        let sets = self.sets.clamp(1, self.prefixes.max(1));
        let mut known = HashSet::with_capacity(sets);
        while table.sets.len() < sets {
            let set = attributes(&mut random, table.sets.len());
            if known.insert(set.clone()) {
                table.sets.push(set);
                table.prefixes.push(Vec::new());
            }
        }
        for (at, prefix) in prefixes(self.prefixes, &mut random).into_iter().enumerate() {
            // Each set has one; the others go to few sets for the most part.
            let set = if at < sets { at } else { skewed(&mut random, sets) };
            table.prefixes[set].push(prefix);
        }
        table.prefixes.iter_mut().for_each(|prefixes| prefixes.sort_unstable());
        table
    }
}

/// A number below `end`, small ones more often: the origin AS with the most prefixes has some
/// thousands, most have one or two.
fn skewed(random: &mut Random, end: usize) -> usize {
    let fraction = random.below(1 << 32) as f64 / f64::from(u32::MAX);
    ((end as f64 * fraction.powf(2.2)) as usize).min(end - 1)
}

fn prefixes(count: usize, random: &mut Random) -> Vec<Ipv4Prefix> {
    let weights = LENGTHS.map(|(_, weight)| weight);
    let mut known = HashSet::with_capacity(count);
    let mut all = Vec::with_capacity(count);
    for _ in 0..count.saturating_mul(4) {
        if all.len() == count {
            break;
        }
        let bits = LENGTHS[random.weighted(&weights)].0;
        // What is short is soon used up: then a longer one is taken.
        let longer = (0..TRIES_MAX).map(|attempt| bits.max(8 + attempt as u8 / 2).min(28));
        for bits in longer.collect::<Vec<_>>() {
            let prefix = prefix(random, bits);
            if prefix.is_some_and(|prefix| known.insert(prefix.packed())) {
                all.extend(prefix);
                break;
            }
        }
    }
    all
}

/// A prefix of unicast addresses that are nobody's own.
fn prefix(random: &mut Random, bits: u8) -> Option<Ipv4Prefix> {
    let first = 1 + random.below(223) as u32;
    let is_taken = !matches!(first, 10 | 100 | 127 | 169 | 172 | 192 | 198 | 203);
    let address = first << 24 | random.below(1 << 24) as u32;
    Ipv4Prefix::new(address.into(), bits).filter(|_| is_taken)
}

/// A set in two parts: ORIGIN and AS_PATH; the rest.
fn attributes(random: &mut Random, number: usize) -> [Vec<u8>; 2] {
    let hops = HOPS[random.weighted(&HOPS.map(|(_, weight)| weight))].0;
    let mut path = Vec::with_capacity(hops);
    for hop in 0..hops {
        path.push(match hop {
            _ if hop + 1 == hops => 1_000 + (number as u32 * 7 / 11) % 60_000,
            0 | 1 => TRANSIT[random.below(TRANSIT.len() as u64) as usize],
            _ if random.below(10) == 0 => path[hop - 1], // prepended
            _ => 2_000 + random.below(50_000) as u32,
        });
    }
    let origin = [0, 0, 0, 0, 0, 0, 0, 2, 2, 1][random.below(10) as usize];
    let mut rest = Vec::new();
    if random.below(100) < METRIC {
        let metric = (random.below(500) as u32).to_be_bytes();
        write_attribute(AttributeType::MultiExitDisc.flags(), 4, &metric, &mut rest);
    }
    if random.below(100) < AGGREGATOR {
        let asn = path.last().copied().unwrap_or(1).to_be_bytes();
        let address = [198, 18, random.below(256) as u8, 1 + random.below(200) as u8];
        write_attribute(AttributeType::AtomicAggregate.flags(), 6, &[], &mut rest);
        let value = [asn, address].concat();
        write_attribute(AttributeType::Aggregator.flags(), 7, &value, &mut rest);
    }
    if random.below(100) < COMMUNITIES {
        let mut all: Vec<u32> = Vec::new();
        for _ in 0..=random.below(COMMUNITIES_MAX) {
            let transit = TRANSIT[random.below(TRANSIT.len() as u64) as usize];
            all.push(transit << 16 | random.below(3_000) as u32);
        }
        // Some speakers send them in order and once.
        all.sort_unstable();
        all.dedup();
        let value: Vec<u8> = all.iter().flat_map(|community| community.to_be_bytes()).collect();
        write_attribute(AttributeType::Communities.flags(), 8, &value, &mut rest);
    }
    [head(origin, &path), rest]
}
