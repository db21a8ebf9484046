//! The standby's end of the stream: what comes in order is applied, anything else is dropped and
//! comes again.

use crate::field::Fields;
use crate::message::{self, Entry};

/// What shall be done with the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Forget,
    Apply(u16, Vec<u8>),
    Whole,
}

/// The stream as the standby follows it.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    pub(crate) stream: (u64, u64),
    pub(crate) applied: u64,
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
            self.stream = stream;
            self.applied = 0;
            changes.push(Change::Forget);
        }
        for (number, entry) in (first..).zip(message::entries(fields)) {
            if number <= self.applied {
                continue;
            }
            if number > self.applied + 1 {
                return;
            }
            self.applied = number;
            changes.push(match entry {
                Entry::Delta(lane, delta) => Change::Apply(lane, delta.to_vec()),
                Entry::SnapshotEnd => Change::Whole,
            });
        }
    }
}
