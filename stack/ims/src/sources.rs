//! Sets by their source: how many each has, and which of those that the core has not accepted makes
//! way first.
//!
//! Whoever has a card has proven it; others are told apart by their source alone. What makes way is
//! of the source that has most without proof, and there what failed before what began, and what
//! began before what was challenged. Sets of phones that have proven their card go last.

use crate::set::{Set, Stage};
use machine::slots::Key;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What a set is to its source, in the order in which sets make way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// It ends without having been accepted.
    Failed,
    /// A REGISTER has offered it.
    Offered,
    /// It has associations.
    Challenged,
    /// A phone has offered it by associations that it has: it has proven its card before.
    Renewed,
    /// The phone has proven its card.
    Proven,
    /// The core has accepted it; it makes way for none of other phones.
    Standing,
}

impl Class {
    pub const fn of(set: &Set) -> Self {
        match set.stage {
            Stage::Offered | Stage::Challenged if !set.is_from_clear => Self::Renewed,
            Stage::Offered => Self::Offered,
            Stage::Challenged => Self::Challenged,
            Stage::Proven => Self::Proven,
            Stage::Ending if !set.usage.was_accepted => Self::Failed,
            Stage::Current | Stage::Old | Stage::Ending => Self::Standing,
        }
    }

    const fn is_proven(self) -> bool {
        matches!(self, Self::Renewed | Self::Proven)
    }
}

#[derive(Debug, Default)]
struct Source {
    /// Those that are not accepted, the first to make way first.
    waiting: BTreeMap<(Class, u64), Key>,
    /// How many of these are not proven, and are.
    counts: [u32; 2],
    standing: u32,
    /// When it last changed.
    changed: u64,
}

impl Source {
    /// Its place among the sources: of the same weight the one that has stood longest goes first.
    const fn weight(&self, is_proven: bool, number: u64) -> Weight {
        (self.counts[is_proven as usize], u64::MAX - self.changed, number)
    }
}

type Weight = (u32, u64, u64);

/// All sources.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    sources: BTreeMap<u64, Source>,
    /// Those that have sets without proof, and proven ones; the heaviest last.
    heaviest: [BTreeSet<Weight>; 2],
    waiting: usize,
    changes: u64,
}

/// A number for an IPv4 address or an IPv6 /64.
pub(crate) fn number(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => machine::narrow::halves(address.to_bits())[1],
    }
}

impl Sources {
    /// Sets that are not accepted.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Those of a source whose phones have proven no card: how many, and which makes way first.
    pub fn unproven_of(&self, source: IpAddr) -> (u32, Option<Key>) {
        let source = self.sources.get(&number(source)).filter(|it| it.counts[0] > 0);
        source.map_or((0, None), |it| (it.counts[0], it.waiting.values().next().copied()))
    }

    /// Sets of a source whose registration was accepted.
    pub fn standing_of(&self, source: IpAddr) -> u32 {
        self.sources.get(&number(source)).map_or(0, |it| it.standing)
    }

    /// A set that `begun` numbers is of that class from now on.
    pub fn add(&mut self, source: IpAddr, class: Class, begun: u64, key: Key) {
        self.change(number(source), |source| {
            if class == Class::Standing {
                source.standing += 1;
                return 0;
            }
            source.counts[usize::from(class.is_proven())] += 1;
            source.waiting.insert((class, begun), key);
            1
        });
    }

    /// It is no more.
    pub fn remove(&mut self, source: IpAddr, class: Class, begun: u64) {
        self.change(number(source), |source| {
            if class == Class::Standing {
                source.standing = source.standing.saturating_sub(1);
            } else if source.waiting.remove(&(class, begun)).is_some() {
                source.counts[usize::from(class.is_proven())] -= 1;
                return -1;
            }
            0
        });
    }

    /// Changes a source; `change` says by how many sets more it waits.
    fn change(&mut self, number: u64, change: impl FnOnce(&mut Source) -> isize) {
        let source = self.sources.entry(number).or_default();
        for is_proven in [false, true] {
            self.heaviest[usize::from(is_proven)].remove(&source.weight(is_proven, number));
        }
        self.waiting = self.waiting.saturating_add_signed(change(source));
        self.changes += 1;
        source.changed = self.changes;
        for is_proven in [false, true] {
            if source.counts[usize::from(is_proven)] > 0 {
                self.heaviest[usize::from(is_proven)].insert(source.weight(is_proven, number));
            }
        }
        if source.counts == [0, 0] && source.standing == 0 {
            self.sources.remove(&number);
        }
    }

    /// The set that makes way first.
    pub fn makes_way(&self) -> Option<Key> {
        let [unproven, proven] = self.heaviest.each_ref().map(BTreeSet::last);
        let (_, _, source) = unproven.or(proven)?;
        self.sources.get(source)?.waiting.first_key_value().map(|(_, key)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(index: u32) -> Key {
        Key { index, generation: 0 }
    }

    #[test]
    fn the_heaviest_source_makes_way_and_proven_sets_last() {
        let [one, two] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let mut sources = Sources::default();
        let classes = [Class::Proven, Class::Proven, Class::Proven, Class::Challenged];
        for (begun, class) in (1..).zip(classes) {
            sources.add(one, class, u64::from(begun), key(begun));
        }
        let classes = [Class::Challenged, Class::Offered, Class::Standing];
        for (begun, class) in (5..).zip(classes) {
            sources.add(two, class, u64::from(begun), key(begun));
        }
        let mut order = Vec::new();
        let class_of = [(4, one, Class::Challenged), (5, two, Class::Challenged)];
        while let Some(first) = sources.makes_way() {
            order.push(first.index);
            let begun = u64::from(first.index);
            let (source, class) = match first.index {
                1..=3 => (one, Class::Proven),
                6 => (two, Class::Offered),
                index => class_of.iter().find(|it| it.0 == index).map(|it| (it.1, it.2)).unwrap(),
            };
            sources.remove(source, class, begun);
        }
        assert_eq!(order, [6, 4, 5, 1, 2, 3]);
        assert_eq!((sources.waiting(), sources.standing_of(two)), (0, 1));
        sources.remove(two, Class::Standing, 7);
        assert!(sources.sources.is_empty() && sources.heaviest.iter().all(BTreeSet::is_empty));
    }
}
