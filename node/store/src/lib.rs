//! The durable store: many small entries a second, found again by keys, bounded by age and size.
//!
//! An *id* groups entries (the messages of a call). While it runs, its entries are appended to
//! the journal of the present *partition*; when it ends, its *record* with the keys it is found
//! by follows. Retention deletes whole partitions.
//!
//! ```text
//!  shard ── Writer ──▶ bounded queue ──▶ disk thread: lz4, checksum, append, fdatasync
//!  (never waits; refuses                    └▶ 65,536 records later: sorted, immutable index file
//!   when the queue is full)                 └▶ age or size: delete the oldest partition
//!  any thread ── Store::search, Reader ──▶ partitions, newest first
//! ```
//!
//! *Acknowledged* is what [`Store::durable`] has passed: written and synced, whole batches at a
//! time. After `kill -9` or a power cut [`Store::open`] cuts the torn tail of the last journal
//! (every block has a checksum), passes over damaged blocks, rebuilds the index of what follows
//! the last index file, and [`Recovery`] tells which ids still ran.
//!
//! # Why not all of it in fjall
//! fjall 3.1 was the first choice (see the table of engines in the project's metrics). Measured on
//! one pinned core, 300,000 records of ten 21-byte keys each, batches of 1,000 records, synced:
//! 302,000 keys/s, 3.3 us of CPU a key once compaction runs. A seven-message call has some ten
//! keys: 33 us, of the 47 us that 150,000 messages/s on one core allow for all seven messages
//! with parsing, correlation, compression and disk. The same keys as sorted immutable files
//! (below) cost 0.26 us each, and that is with everything: encoding, compressing, journal, sort
//! and sync of ten million records of seventeen keys in 45 s of CPU. They need no compaction,
//! because a partition is only ever deleted whole, and no second copy in a write-ahead log,
//! because the journal is one. A point or range search reads one page of each file: a number
//! among ten million records is found in 2 ms.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod block;
mod disk;
mod files;
mod journal;
mod metrics;
mod partition;
mod query;
mod record;
mod run;
mod store;
mod writer;

pub use metrics::Metric;
pub use query::{Hit, KeyRange, LIMIT_MAX, Query};
pub use record::{BODY_BYTES_MAX, CLASSES, Head, KEYS_MAX, Key, Place, Record, TAGS};
pub use store::{Opened, Reader, Recovery, Replayed, Status, Store};
pub use writer::{LINGER_US, Refused, Writer};

use std::path::PathBuf;
use std::time::Duration;

/// Partitions that one store may have; the oldest is deleted above it.
pub const PARTITIONS_MAX: usize = 16_384;
/// Largest journal of one partition, whatever the size of the store.
const PARTITION_BYTES_MAX: u64 = 1 << 30;

/// What bounds a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it is.
    pub directory: PathBuf,
    /// Partitions whose newest entry is older are deleted.
    pub age_max: Duration,
    /// Octets on disk above which the oldest partition is deleted.
    pub size_max_bytes: u64,
    /// Time that one partition covers at most.
    pub partition_age: Duration,
}

impl Options {
    /// A store with partitions of an hour, or a twenty-fourth of `age_max` when that is shorter.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, age_max: Duration, size_max_bytes: u64) -> Self {
        let partition_age =
            (age_max / 24).clamp(Duration::from_secs(60), Duration::from_secs(3_600));
        Self { directory: directory.into(), age_max, size_max_bytes, partition_age }
    }

    /// Octets after which a partition ends, so that deleting one frees a sixteenth.
    #[must_use]
    pub fn partition_bytes(&self) -> u64 {
        (self.size_max_bytes / 16).clamp(1 << 20, PARTITION_BYTES_MAX)
    }
}

/// Microseconds; 584,000 years fit.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Why the store cannot do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk says no.
    #[error("disk: {0}")]
    Io(#[from] std::io::Error),
    /// Another process has it open.
    #[error("{0} is used by another process")]
    InUse(String),
    /// A file is not what was written.
    #[error("{0} is damaged")]
    Damaged(String),
}
