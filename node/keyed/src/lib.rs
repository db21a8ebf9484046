//! A store of rows that change and expire. A question is an effect of whoever has it, the answer
//! comes later as an input: nobody waits for a disk or for another machine.
//!
//! ```text
//!   a shard                                           a thread of its own
//!   Store::ask ─→ rows in memory ── records, marks ─→ log.N ── fdatasync ─┐
//!   Store::answer ←─ at once, or when it is on disk ←──── synced ─────────┘
//!                 ←──────────── rows that stood ───── snapshot.N, log.N …   when it is opened
//!                 ── every row, a few in each turn ─→ snapshot.N+1          when logs are long
//!
//!                   rows of this node: the same words ─→ own_rows ┐ Apache Cassandra, in place
//!   Store::ask ─→ rows of all nodes ── questions ──────→ shared_rows ┘ of the files
//!
//!   rows of a pair: each change ─→ the other node, which writes its own log; answers to puts wait
//!                   until that one has them (`pair.rs`)
//! ```
//! - A row is octets under a key of octets, until a time of the clock. Beyond limits in number and
//!   in octets nothing more is taken; what stands stays.
//! - [`Promise`] says when a row counts as taken: as soon as it is in memory (the journal has it
//!   within [`SYNC_TIME`]), or when it is on disk.
//! - While the journal cannot be written, or is too slow, what was promised to memory goes on, and
//!   what was promised to the disk is refused: the row that stood before stands again. It is opened
//!   again and again, and then told everything.
//! - What cannot be read fails closed: a damaged snapshot, a log that is missing, or damaged in
//!   what was promised, are not passed over, the store stays shut. The end of a log that was cut
//!   off by a crash was promised to nobody; it is kept beside.
//! - A ring ([`Ring`]) holds two kinds of rows: those whose keys begin as its settings say are this
//!   node's alone, in its memory and written to the ring as to a journal; all others are shared by
//!   its nodes, and asked of the ring each time ([`SharedStatus`] says what happens without it).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod asked;
pub mod config;
mod ear;
mod embedded;
mod files;
mod journal;
mod pair;
mod promises;
mod record;
mod ring;
mod shared;
mod store;
mod table;
mod words;
#[cfg(test)]
mod worlds;
mod writer;

pub use journal::Journal;
pub use pair::PairStatus;
pub use ring::{Ring, Written};
pub use shared::SharedStatus;
pub use store::{Backend, Limits, Status, Store, StoreRow};
pub use writer::SYNC_TIME;

use machine::Time;

/// When a row counts as taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// When it is in memory.
    Memory,
    /// When it is on disk, or in the ring.
    Disk,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// The row of a key.
    Get(Vec<u8>),
    /// A row in place of what was there.
    Put {
        /// Its key.
        key: Vec<u8>,
        /// It.
        row: Vec<u8>,
        /// How long it stands.
        until: Time,
        /// When it counts as taken.
        promise: Promise,
    },
    /// No row there any more; the answer has what was there.
    Take(Vec<u8>),
}

impl Question {
    /// Which row it is about.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        match self {
            Self::Get(key) | Self::Put { key, .. } | Self::Take(key) => key,
        }
    }

    /// Octets of its key and its row.
    fn octets(&self) -> usize {
        match self {
            Self::Get(key) | Self::Take(key) => key.len(),
            Self::Put { key, row, .. } => key.len() + row.len(),
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The row, if there is one; of a put, the row that stands now.
    Row(Option<Vec<u8>>),
    /// There is no room, or it cannot be promised.
    Failed,
}
