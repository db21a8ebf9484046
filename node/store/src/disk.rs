//! The disk thread: takes batches, compresses, writes, makes them durable, indexes, deletes.
//!
//! Everything that waits in the queue goes into one write and one `fdatasync`, so the queue's
//! length sets the batch. A failed write is tried again for ever: what was accepted is kept, and
//! the full queue makes the writer refuse, which its owner reports.

use crate::block::{self, Kind};
use crate::facts::Fact;
use crate::partition::Partition;
use crate::record::{Place, Record};
use crate::store::Shared;
use crate::{PARTITIONS_MAX, StoreError};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use event::Sheet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Batches that may wait for the disk: 64 MB, some 400 ms at full rate.
pub(crate) const QUEUE_MAX: usize = 640;
/// Batches that go into one write.
const BATCHES_PER_WRITE: usize = 64;
/// Records in one index file.
pub(crate) const RUN_RECORDS_MAX: usize = 65_536;
/// Pause before a failed write is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// Longest sleep, so that a stop is seen.
const NAP: Duration = Duration::from_millis(200);
/// Pause between two looks at age and size.
const RETAIN_EVERY_US: u64 = 1_000_000;

/// What the writer hands over.
#[derive(Debug)]
pub(crate) enum Work {
    /// A filled block.
    Block { kind: Kind, count: u16, first_us: u64, last_us: u64, raw: Vec<u8>, heads: Vec<Record> },
    /// A new partition begins.
    Roll(u32),
    /// Nothing came; time passes.
    Tick(u64),
}

/// What one write adds to a partition.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    offsets: Vec<u64>,
    records: Vec<(Record, Place)>,
    span_us: Option<(u64, u64)>,
    entries: u64,
    raw_bytes: u64,
}

pub(crate) struct Disk {
    shared: Arc<Shared>,
    work: Receiver<Work>,
    spare: Sender<Vec<u8>>,
    sheet: Sheet<Fact>,
    partition: Arc<Partition>,
    file: File,
    end: u64,
    batch: Batch,
    now_us: u64,
    retained_us: u64,
}

impl Disk {
    /// A disk that begins partition `seq`.
    pub fn new(
        shared: Arc<Shared>,
        work: Receiver<Work>,
        spare: Sender<Vec<u8>>,
        sheet: Sheet<Fact>,
        seq: u32,
    ) -> Result<Self, StoreError> {
        let (partition, file) = Partition::create(&shared.options.directory, seq)?;
        let partition = Arc::new(partition);
        shared.add(Arc::clone(&partition));
        let (batch, end) = (Batch::default(), 0);
        let (now_us, retained_us) = (0, 0);
        let it =
            Self { shared, work, spare, sheet, partition, file, end, batch, now_us, retained_us };
        it.gauges();
        Ok(it)
    }

    /// Runs until the writer is gone and everything is on disk, or until the store stops.
    pub fn run(mut self) {
        loop {
            match self.work.recv_timeout(NAP) {
                Ok(work) => self.take_all(work),
                Err(RecvTimeoutError::Timeout) if self.shared.is_stopping() => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.persist(Self::write);
    }

    fn take_all(&mut self, first: Work) {
        let mut next = Some(first);
        for _ in 0..BATCHES_PER_WRITE {
            match next.take() {
                Some(Work::Block { kind, count, first_us, last_us, raw, heads }) => {
                    self.fill(kind, count, (first_us, last_us), &raw, heads);
                    // A full return queue only means that the writer has spares enough.
                    let _ = self.spare.try_send(raw);
                }
                Some(Work::Roll(seq)) => {
                    self.persist(Self::write);
                    self.persist(Self::seal);
                    self.persist(|disk| disk.begin(seq));
                }
                Some(Work::Tick(now_us)) => self.now_us = self.now_us.max(now_us),
                None => break,
            }
            next = self.work.try_recv().ok();
        }
        if let Some(Work::Block { kind, count, first_us, last_us, raw, heads }) = next {
            self.fill(kind, count, (first_us, last_us), &raw, heads);
        } else if let Some(work) = next {
            self.take_all(work);
        }
        self.persist(Self::write);
        if self.partition.fresh_len() >= RUN_RECORDS_MAX {
            self.persist(Self::index);
        }
        self.retain();
    }

    fn fill(
        &mut self,
        kind: Kind,
        count: u16,
        span_us: (u64, u64),
        raw: &[u8],
        heads: Vec<Record>,
    ) {
        let batch = &mut self.batch;
        let block = self.partition.blocks() + batch.offsets.len() as u32;
        batch.offsets.push(self.end + batch.bytes.len() as u64);
        block::seal(kind, count, span_us.0, raw, &mut batch.bytes);
        let place =
            |entry: usize| Place { partition: self.partition.seq, block, entry: entry as u16 };
        batch.records.extend(heads.into_iter().enumerate().map(|(n, r)| (r, place(n))));
        let (first, last) = batch.span_us.unwrap_or(span_us);
        batch.span_us = Some((first.min(span_us.0), last.max(span_us.1)));
        batch.raw_bytes += raw.len() as u64;
        batch.entries += if kind == Kind::Entries { u64::from(count) } else { 0 };
        self.now_us = self.now_us.max(span_us.1);
    }

    /// Does `step` until it succeeds or the store stops.
    fn persist(&mut self, step: impl Fn(&mut Self) -> Result<(), StoreError>) {
        while let Err(error) = step(self) {
            self.sheet.add(Fact::WriteErrors, 1);
            self.shared.failing(Some(error.to_string()));
            tracing::error!(%error, "the store cannot write; it tries again");
            if self.shared.is_stopping() {
                return;
            }
            // Room may come from the oldest partition.
            self.retained_us = 0;
            self.retain();
            std::thread::sleep(RETRY);
        }
        self.shared.failing(None);
    }

    fn write(&mut self) -> Result<(), StoreError> {
        if self.batch.offsets.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        self.file.write_all_at(&self.batch.bytes, self.end)?;
        self.file.sync_data()?;
        self.sheet.observe(Fact::SyncTime, began.elapsed().as_micros() as u64);
        let mut batch = core::mem::take(&mut self.batch);
        self.end += batch.bytes.len() as u64;
        self.sheet.add(Fact::StoredBytes, batch.bytes.len() as u64);
        self.sheet.add(Fact::RawBytes, batch.raw_bytes);
        self.sheet.add(Fact::Entries, batch.entries);
        self.sheet.add(Fact::Records, batch.records.len() as u64);
        self.partition.extend(&batch.offsets, batch.records, self.end, batch.span_us);
        let (partition, block) = (self.partition.seq, self.partition.blocks());
        self.shared.durable(Place { partition, block, entry: 0 });
        batch.bytes.clear();
        self.batch.bytes = batch.bytes;
        self.gauges();
        Ok(())
    }

    fn index(&mut self) -> Result<(), StoreError> {
        let indexed = self.partition.index()?;
        self.sheet.add(Fact::Runs, u64::from(indexed));
        Ok(())
    }

    fn seal(&mut self) -> Result<(), StoreError> {
        let indexed = self.partition.seal()?;
        self.sheet.add(Fact::Runs, u64::from(indexed));
        Ok(())
    }

    fn begin(&mut self, seq: u32) -> Result<(), StoreError> {
        let (partition, file) = Partition::create(&self.shared.options.directory, seq)?;
        self.partition = Arc::new(partition);
        (self.file, self.end) = (file, 0);
        self.shared.add(Arc::clone(&self.partition));
        self.shared.durable(Place { partition: seq, block: 0, entry: 0 });
        self.gauges();
        Ok(())
    }

    /// Deletes the oldest partitions while they are too old, too large together or too many. The
    /// one that is written stays.
    fn retain(&mut self) {
        if self.now_us < self.retained_us + RETAIN_EVERY_US {
            return;
        }
        self.retained_us = self.now_us;
        let options = &self.shared.options;
        let horizon = self.now_us.saturating_sub(options.age_max.as_micros() as u64);
        loop {
            let (oldest, count, bytes) = self.shared.oldest();
            let Some(oldest) = oldest.filter(|p| p.seq != self.partition.seq) else { break };
            let old = oldest.span_us().is_none_or(|(_, last)| last < horizon);
            if !old && bytes <= options.size_max_bytes && count <= PARTITIONS_MAX {
                break;
            }
            self.shared.remove(oldest.seq);
            match std::fs::remove_dir_all(&oldest.directory) {
                Ok(()) => self.sheet.add(Fact::Deleted, 1),
                Err(error) => tracing::error!(%error, "an old partition cannot be deleted"),
            }
        }
        self.gauges();
    }

    fn gauges(&self) {
        let (_, count, bytes) = self.shared.oldest();
        self.sheet.set(Fact::Partitions, count as u64);
        self.sheet.set(Fact::DiskBytes, bytes);
        self.sheet.set(Fact::Queue, self.work.len() as u64);
    }
}
