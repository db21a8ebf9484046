//! The end of the store that a shard holds: it fills blocks in memory and hands them to the disk
//! thread. It never waits; when the disk lags behind, it refuses, and its owner counts that.

use crate::block::{ITEMS_MAX, Kind, RAW_BYTES_AIM, push_item};
use crate::disk::Work;
use crate::record::{self, BODY_BYTES_MAX, CLASSES, KEYS_MAX, Place, Record};
use crate::store::Shared;
use crossbeam_channel::{Receiver, Sender, TrySendError};
use std::sync::Arc;

/// Longest time that an accepted entry waits for its block to fill, microseconds.
pub const LINGER_US: u64 = 50_000;
/// Blocks that a partition may have.
const BLOCKS_MAX: u32 = 1 << 28;

/// Why a record is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The disk lags behind: later it may be.
    Full,
    /// It has more than a record may have, now and for ever.
    Unsound,
}

/// A block that fills.
#[derive(Debug, Default)]
struct Filling {
    raw: Vec<u8>,
    /// Items; a block that has [`ITEMS_MAX`] of them is handed over.
    count: u16,
}

/// Fills blocks and hands them to the disk. One per store.
#[derive(Debug)]
pub struct Writer {
    work: Sender<Work>,
    spare: Receiver<Vec<u8>>,
    shared: Arc<Shared>,
    partition: u32,
    /// Number of the block that fills: those before it were handed over.
    block: u32,
    began_us: u64,
    first_us: Option<u64>,
    last_us: u64,
    entries: Filling,
    records: Filling,
    heads: Vec<Record>,
    open: Filling,
    /// Work that the disk had no room for yet, oldest first.
    waiting: std::collections::VecDeque<Work>,
}

/// Blocks that may wait in the writer itself when the queue is full: one of each kind.
const WAITING_MAX: usize = 4;

impl Writer {
    pub(crate) fn new(
        work: Sender<Work>,
        spare: Receiver<Vec<u8>>,
        shared: Arc<Shared>,
        partition: u32,
    ) -> Self {
        Self {
            work,
            spare,
            shared,
            partition,
            block: 0,
            began_us: 0,
            first_us: None,
            last_us: 0,
            entries: Filling::default(),
            records: Filling::default(),
            heads: Vec::new(),
            open: Filling::default(),
            waiting: std::collections::VecDeque::new(),
        }
    }

    /// Whether the disk lags so far behind that nothing more is taken.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_MAX
    }

    /// Takes an entry of `id`. `None`: refused, because the disk lags behind or the entry is
    /// larger than [`BODY_BYTES_MAX`].
    pub fn append(
        &mut self,
        now_us: u64,
        id: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Option<Place> {
        if self.is_full() {
            self.hand_waiting();
            if self.is_full() {
                return None;
            }
        }
        let before = self.entries.raw.len();
        push_item(&mut self.entries.raw, |raw| {
            raw.extend_from_slice(&id.to_le_bytes());
            write(raw);
        });
        if self.entries.raw.len() - before > BODY_BYTES_MAX {
            self.entries.raw.truncate(before);
            return None;
        }
        let entry = self.entries.count;
        self.entries.count += 1;
        let place = Place { partition: self.partition, block: self.block, entry };
        self.touch(now_us);
        if self.entries.raw.len() >= RAW_BYTES_AIM || self.entries.count >= ITEMS_MAX {
            self.flush(now_us);
        }
        Some(place)
    }

    /// Takes the record of an id that is finished.
    ///
    /// # Errors
    /// It is not taken now, or never will be.
    pub fn record(&mut self, now_us: u64, record: Record) -> Result<(), Refused> {
        let sound = record.keys.len() <= KEYS_MAX
            && record.body.len() <= BODY_BYTES_MAX
            && record.keys.iter().all(|key| usize::from(key.class) < CLASSES);
        if !sound {
            return Err(Refused::Unsound);
        }
        if self.is_full() {
            return Err(Refused::Full);
        }
        push_item(&mut self.records.raw, |raw| record::encode(&record, raw));
        self.records.count += 1;
        self.heads.push(Record { body: Vec::new(), ..record });
        self.touch(now_us);
        if self.records.raw.len() >= RAW_BYTES_AIM || self.records.count >= ITEMS_MAX {
            self.flush(now_us);
        }
        Ok(())
    }

    /// Takes the present record of an id that still runs, for recovery; see
    /// [`Writer::snapshot_due`].
    pub fn open_record(&mut self, now_us: u64, record: &Record) -> bool {
        if self.is_full() || record.body.len() > BODY_BYTES_MAX {
            return false;
        }
        push_item(&mut self.open.raw, |raw| record::encode(record, raw));
        self.open.count += 1;
        self.touch(now_us);
        if self.open.raw.len() >= RAW_BYTES_AIM || self.open.count >= ITEMS_MAX {
            self.flush(now_us);
        }
        true
    }

    /// Says that every id that runs was given to [`Writer::open_record`] since the partition
    /// began.
    pub fn snapshot_done(&mut self, now_us: u64) {
        self.flush(now_us);
        self.hand(Kind::Complete, now_us, Filling::default(), Vec::new());
    }

    fn touch(&mut self, now_us: u64) {
        self.first_us.get_or_insert(now_us);
        self.last_us = self.last_us.max(now_us);
    }

    /// When [`Writer::tick`] wants to be called next: microseconds since the UNIX epoch.
    #[must_use]
    pub fn deadline_us(&self) -> Option<u64> {
        match (self.first_us, self.waiting.is_empty()) {
            (Some(first), true) => Some(first + LINGER_US),
            (_, false) => Some(self.last_us + LINGER_US),
            (None, true) => None,
        }
    }

    /// Hands over what waited long enough, and lets the disk delete what is too old.
    pub fn tick(&mut self, now_us: u64) {
        self.last_us = self.last_us.max(now_us);
        self.hand_waiting();
        if self.first_us.is_some_and(|first| now_us >= first + LINGER_US) {
            self.flush(now_us);
        }
        if self.work.is_empty() && self.waiting.is_empty() {
            // A tick that finds no room is not missed: the disk is awake then.
            let _ = self.work.try_send(Work::Tick(now_us));
        }
    }

    /// Hands over everything; returns the place after the last entry, to wait for with
    /// [`crate::Store::wait`].
    pub fn flush(&mut self, now_us: u64) -> Place {
        if self.entries.count > 0 {
            let block = self.replace(Kind::Entries);
            self.hand(Kind::Entries, now_us, block, Vec::new());
        }
        if self.records.count > 0 {
            let block = self.replace(Kind::Records);
            let heads = core::mem::take(&mut self.heads);
            self.hand(Kind::Records, now_us, block, heads);
        }
        if self.open.count > 0 {
            let block = self.replace(Kind::Open);
            self.hand(Kind::Open, now_us, block, Vec::new());
        }
        self.first_us = None;
        Place { partition: self.partition, block: self.block, entry: 0 }
    }

    fn replace(&mut self, kind: Kind) -> Filling {
        let mut raw = self.spare.try_recv().unwrap_or_default();
        raw.clear();
        let fresh = Filling { raw, count: 0 };
        match kind {
            Kind::Entries => core::mem::replace(&mut self.entries, fresh),
            Kind::Records => core::mem::replace(&mut self.records, fresh),
            Kind::Open | Kind::Complete => core::mem::replace(&mut self.open, fresh),
        }
    }

    fn hand(&mut self, kind: Kind, now_us: u64, block: Filling, heads: Vec<Record>) {
        if self.began_us == 0 {
            self.began_us = now_us;
        }
        let first_us = self.first_us.unwrap_or(now_us);
        let count = block.count;
        let work = Work::Block { kind, count, first_us, last_us: now_us, raw: block.raw, heads };
        self.waiting.push_back(work);
        self.block += 1;
        self.hand_waiting();
    }

    fn hand_waiting(&mut self) {
        while let Some(work) = self.waiting.pop_front() {
            match self.work.try_send(work) {
                Ok(()) => {}
                Err(TrySendError::Full(work) | TrySendError::Disconnected(work)) => {
                    self.waiting.push_front(work);
                    return;
                }
            }
        }
    }

    /// Whether the partition is old or large enough to begin a new one.
    #[must_use]
    pub fn is_roll_due(&self, now_us: u64) -> bool {
        let limits = &self.shared.options;
        let age_us = crate::micros(limits.partition_age);
        let old = self.began_us > 0 && now_us >= self.began_us + age_us;
        let large = self.shared.partition_bytes(self.partition) >= limits.partition_bytes();
        self.block > 0 && self.waiting.is_empty() && (old || large || self.block >= BLOCKS_MAX)
    }

    /// Begins a new partition. The owner then gives every id that runs to
    /// [`Writer::open_record`], at its own pace, and ends with [`Writer::snapshot_done`].
    pub fn roll(&mut self, now_us: u64) {
        self.flush(now_us);
        self.partition += 1;
        self.block = 0;
        self.began_us = 0;
        self.waiting.push_back(Work::Roll(self.partition));
        self.hand_waiting();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let now_us = self.last_us;
        self.flush(now_us);
        for work in self.waiting.drain(..) {
            if self.work.send(work).is_err() {
                return;
            }
        }
    }
}
