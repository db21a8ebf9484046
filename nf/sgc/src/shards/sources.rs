//! Dialogues by source, of all shards: the first one counts what it gives to each, and is told what
//! is over. So a source has its whole share wherever its dialogues are, and no more of it by there
//! being several shards.
//!
//! ```text
//!   first shard: a BEGIN ─ has its source room? ─→ counted, Unitdata with its place ─→ dialogues
//!                          └ no: P-Abort            Released, places of those that are over ←─┘
//! ```

use super::AGAIN;
use machine::{Duration, Time};
use std::collections::BTreeMap;
use tcap::Sources;

/// How long what is over waits for more of it.
const GATHERED: Duration = Duration::from_millis(10);
/// Places that are told at once, at most.
pub(crate) const TOLD_MAX: usize = 4_096;

/// What the first shard counts.
#[derive(Debug, Default)]
pub(crate) struct SourceCounts {
    all: Sources,
    shards: BTreeMap<u16, Sources>,
}

impl SourceCounts {
    /// Whether another dialogue of that source may begin.
    pub(crate) fn has_room(&self, place: u16, most: u32) -> bool {
        self.all.has_room(place, most)
    }

    /// One begins at a shard.
    pub(crate) fn add(&mut self, shard: u16, place: u16) {
        self.all.add(place);
        self.shards.entry(shard).or_default().add(place);
    }

    /// One is over there, or has not begun.
    pub(crate) fn remove(&mut self, shard: u16, place: u16) {
        // What a shard never had is nothing that could be over.
        let Some(own) = self.shards.get_mut(&shard).filter(|it| !it.has_room(place, 1)) else {
            return;
        };
        own.remove(place);
        self.all.remove(place);
    }

    /// All of a shard are gone.
    pub(crate) fn forget(&mut self, shard: u16) {
        if let Some(gone) = self.shards.remove(&shard) {
            self.all.remove_all(&gone);
        }
    }
}

/// What the first shard is to be told by another one.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    places: Vec<u16>,
    due: Option<Time>,
}

impl Releases {
    /// These are over.
    pub(crate) fn add(&mut self, now: Time, places: impl IntoIterator<Item = u16>) {
        self.places.extend(places);
        if !self.places.is_empty() {
            self.due.get_or_insert(now + GATHERED);
        }
    }

    /// These were not taken, and are told again.
    pub(crate) fn again(&mut self, now: Time, places: Vec<u16>) {
        self.places.extend(places);
        self.due = Some(now + AGAIN);
    }

    /// The first shard has begun anew: it counts none of them.
    pub(crate) fn clear(&mut self) {
        (self.places, self.due) = (Vec::new(), None);
    }

    /// What is to be told now.
    pub(crate) fn take(&mut self, now: Time) -> Option<Vec<u16>> {
        self.due.filter(|at| *at <= now)?;
        let rest = self.places.split_off(self.places.len().min(TOLD_MAX));
        let told = core::mem::replace(&mut self.places, rest);
        self.due = (!self.places.is_empty()).then_some(now);
        Some(told)
    }

    /// When [`Releases::take`] has something.
    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_millis(1);

    #[test]
    fn a_source_has_its_share_of_all_shards_and_what_a_shard_had_goes_with_it() {
        let mut it = SourceCounts::default();
        for shard in [1, 2, 2] {
            assert!(it.has_room(7, 3));
            it.add(shard, 7);
        }
        assert!(!it.has_room(7, 3) && it.has_room(8, 3));
        it.remove(1, 8);
        it.remove(3, 7);
        it.remove(1, 7);
        it.remove(1, 7);
        assert!(it.has_room(7, 3) && !it.has_room(7, 2), "each is over once");
        it.forget(2);
        assert!(it.has_room(7, 1));
    }

    #[test]
    fn what_is_over_is_told_together_and_again_if_it_was_not_taken() {
        let mut it = Releases::default();
        it.add(NOW, []);
        assert_eq!(it.deadline(), None);
        it.add(NOW, [1, 2]);
        it.add(NOW + GATHERED, [2]);
        assert_eq!(it.take(NOW), None);
        let told = it.take(NOW + GATHERED).unwrap();
        assert_eq!((&told[..], it.deadline()), (&[1, 2, 2][..], None));
        it.again(NOW, told);
        assert_eq!(it.take(NOW + GATHERED), None);
        assert_eq!(it.take(NOW + AGAIN).map(|it| it.len()), Some(3));
        it.add(NOW, (0..5_000u16).map(|it| it % 4_096));
        assert_eq!(it.take(NOW + GATHERED).map(|it| it.len()), Some(TOLD_MAX));
        assert_eq!(it.take(NOW + GATHERED).map(|it| it.len()), Some(5_000 - TOLD_MAX));
    }
}
