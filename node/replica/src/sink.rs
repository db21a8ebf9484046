//! The standby's end of the stream: what comes in order is applied, what comes ahead of something
//! else waits for it. Shards send by themselves, so that their datagrams overtake each other; when
//! the active node dies in between, what waits is all there will ever be.

use crate::field::Fields;
use crate::message::{self, Entry};
use crate::source::WINDOW_BYTES;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry::Vacant;

/// What an entry counts beside its delta; as at its sender.
const ENTRY_BYTES: usize = 8;

/// What shall be done with the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Forget,
    Apply(u16, Vec<u8>),
    Whole,
    /// What nothing comes of.
    Unknown,
}

/// The stream as the standby follows it.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    pub(crate) stream: (u64, u64),
    pub(crate) applied: u64,
    /// What came before an entry that is missing, by number.
    ahead: BTreeMap<u64, Change>,
    /// Whether the stream's snapshot has been applied to its end.
    is_whole: bool,
    /// Octets of it, no more than the active node has on its way.
    ahead_bytes: usize,
}

impl Change {
    const fn bytes(&self) -> usize {
        match self {
            Self::Apply(_, delta) => delta.len() + ENTRY_BYTES,
            Self::Forget | Self::Whole | Self::Unknown => ENTRY_BYTES,
        }
    }
}

impl Sink {
    /// Takes a piece of the stream.
    pub(crate) fn take(
        &mut self,
        stream: (u64, u64),
        first: u64,
        fields: Fields<'_>,
        changes: &mut Vec<Change>,
    ) {
        if stream != self.stream {
            if stream < self.stream || first != 1 {
                return;
            }
            *self = Self { stream, ..Self::default() };
            changes.push(Change::Forget);
        }
        for (number, entry) in (first..).zip(message::entries(fields)) {
            let change = match entry {
                _ if number <= self.applied => continue,
                Entry::Delta(lane, delta) => Change::Apply(lane, delta.to_vec()),
                Entry::SnapshotEnd => Change::Whole,
                Entry::Unknown => Change::Unknown,
            };
            if number == self.applied + 1 {
                self.applied = number;
                self.is_whole |= change == Change::Whole;
                changes.push(change);
            } else if self.ahead_bytes + change.bytes() <= WINDOW_BYTES
                && let Vacant(place) = self.ahead.entry(number)
            {
                self.ahead_bytes += change.bytes();
                place.insert(change);
            }
        }
        while let Some(next) = self.ahead.first_entry().filter(|e| *e.key() <= self.applied + 1) {
            let (number, change) = next.remove_entry();
            self.ahead_bytes -= change.bytes();
            if number > self.applied {
                self.applied = number;
                self.is_whole |= change == Change::Whole;
                changes.push(change);
            }
        }
    }

    /// The stream has ended: what still waits for something is applied without it. Whether the
    /// snapshot has a hole by that.
    pub(crate) fn rest(&mut self, changes: &mut Vec<Change>) -> bool {
        let has_hole = !self.is_whole && !self.ahead.is_empty();
        let ahead = core::mem::take(&mut self.ahead).into_values();
        changes.extend(ahead.filter(|change| matches!(change, Change::Apply(..))));
        self.ahead_bytes = 0;
        has_hole
    }
}
