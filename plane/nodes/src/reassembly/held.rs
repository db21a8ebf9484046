//! Packets in parts, bounded in number and octets: where there is no room, the oldest goes of the
//! source that holds most.

use machine::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Packets that are put together at once, by one worker, at most.
pub const PACKETS_MAX: usize = 1_024;
/// Octets of their fragments at most.
pub const OCTETS_MAX: usize = 4 << 20;
/// What a fragment costs besides its octets.
const PART_OCTETS: usize = 64;

/// Source, destination, identification, protocol and table.
pub(super) type Key = (u128, u128, u32, u8, u32);
/// Table and address, or /64.
pub(super) type Source = (u32, u128);

/// One fragment.
pub(super) struct Part {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) packet: Vec<u8>,
    /// Where in it the payload starts.
    pub(super) at: usize,
}

/// The fragments of a packet so far.
pub(super) struct Parts {
    pub(super) since: Time,
    pub(super) end: Option<usize>,
    pub(super) parts: Vec<Part>,
    source: Source,
    age: u64,
    octets: usize,
}

/// What one source holds.
#[derive(Default)]
struct Holding {
    ages: BTreeSet<u64>,
    octets: usize,
}

/// What it holds, its oldest packet first among equals, and who it is.
type Rank = (usize, Reverse<u64>, Source);

/// All packets in parts.
#[derive(Default)]
pub(super) struct Held {
    packets: BTreeMap<Key, Parts>,
    ages: BTreeMap<u64, Key>,
    sources: BTreeMap<Source, Holding>,
    by_number: BTreeSet<Rank>,
    by_octets: BTreeSet<Rank>,
    octets: usize,
    last_age: u64,
}

impl Held {
    pub(super) fn parts(&self, key: &Key) -> Option<&Parts> {
        self.packets.get(key)
    }

    /// Adds a fragment to a packet, which is made if it is new; `end` is what is known of its end.
    pub(super) fn add(
        &mut self,
        key: Key,
        source: Source,
        part: Part,
        end: Option<usize>,
        now: Time,
    ) {
        let octets = part.packet.len() + PART_OCTETS;
        if !self.packets.contains_key(&key) {
            self.last_age += 1;
            let (age, parts) = (self.last_age, Vec::new());
            let fresh = Parts { since: now, end: None, parts, source, age, octets: 0 };
            self.packets.insert(key, fresh);
            self.ages.insert(age, key);
            self.change(source, |holding| {
                holding.ages.insert(age);
            });
        }
        let Some(parts) = self.packets.get_mut(&key) else { return };
        parts.end = end;
        parts.parts.push(part);
        parts.octets += octets;
        self.octets += octets;
        let source = parts.source;
        self.change(source, |holding| holding.octets += octets);
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Parts> {
        let parts = self.packets.remove(key)?;
        self.ages.remove(&parts.age);
        self.octets -= parts.octets;
        self.change(parts.source, |holding| {
            holding.ages.remove(&parts.age);
            holding.octets -= parts.octets;
        });
        Some(parts)
    }

    fn change(&mut self, source: Source, step: impl FnOnce(&mut Holding)) {
        let mut holding = self.sources.remove(&source).unwrap_or_default();
        if let Some(oldest) = holding.ages.first() {
            self.by_number.remove(&(holding.ages.len(), Reverse(*oldest), source));
            self.by_octets.remove(&(holding.octets, Reverse(*oldest), source));
        }
        step(&mut holding);
        if let Some(oldest) = holding.ages.first() {
            self.by_number.insert((holding.ages.len(), Reverse(*oldest), source));
            self.by_octets.insert((holding.octets, Reverse(*oldest), source));
            self.sources.insert(source, holding);
        }
    }

    /// Lets go of packets that have taken longer than `patience`.
    pub(super) fn expire(&mut self, now: Time, patience: Duration) {
        while let Some(key) = self.ages.first_key_value().map(|(_, key)| *key)
            && self.packets.get(&key).is_none_or(|parts| now.since(parts.since) >= patience)
        {
            if self.remove(&key).is_none() {
                self.ages.pop_first();
            }
        }
    }

    /// Lets packets go until what is there is within its bounds; how many went.
    pub(super) fn shed(&mut self) -> usize {
        let mut gone = 0;
        while let Some(key) = self.surplus() {
            if self.remove(&key).is_none() {
                break;
            }
            gone += 1;
        }
        gone
    }

    fn surplus(&self) -> Option<Key> {
        let rank = match () {
            () if self.packets.len() > PACKETS_MAX => self.by_number.last(),
            () if self.octets > OCTETS_MAX => self.by_octets.last(),
            () => None,
        };
        let (_, Reverse(oldest), _) = rank?;
        self.ages.get(oldest).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(octets: usize) -> Part {
        Part { from: 0, to: octets, packet: vec![0; octets], at: 0 }
    }

    fn key(source: u128, id: u32) -> (Key, Source) {
        ((source, 1, id, 17, 0), (0, source))
    }

    #[test]
    fn the_oldest_packet_goes_of_the_source_that_holds_most() {
        let mut held = Held::default();
        let add = |held: &mut Held, source, id, octets| {
            let (key, source) = key(source, id);
            held.add(key, source, part(octets), None, Time::ZERO);
            held.shed()
        };
        add(&mut held, 1, 0, 1_480);
        for id in 0..2_000 {
            add(&mut held, 2, id, 64);
        }
        assert!(held.parts(&key(1, 0).0).is_some(), "one that holds one packet keeps it");
        assert!(held.parts(&key(2, 0).0).is_none() && held.parts(&key(2, 1_999).0).is_some());
        assert_eq!(held.packets.len(), PACKETS_MAX);
        for id in 0..60 {
            add(&mut held, 3, id, 65_000 * 2);
        }
        assert!(held.octets <= OCTETS_MAX);
        assert!(held.parts(&key(1, 0).0).is_some());
        for source in 10..1_000 {
            add(&mut held, source, 0, 64);
        }
        assert!(held.parts(&key(1, 0).0).is_some(), "others hold more");
        for source in 1_000..1_040 {
            add(&mut held, source, 0, 64);
        }
        assert!(held.parts(&key(1, 0).0).is_none(), "the oldest among equals");
        held.expire(Time::ZERO + Duration::from_secs(9), Duration::from_secs(9));
        assert_eq!((held.octets, held.ages.len(), held.sources.len()), (0, 0, 0));
        assert_eq!((held.by_number.len(), held.by_octets.len(), held.packets.len()), (0, 0, 0));
    }
}
