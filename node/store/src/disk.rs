//! The disk thread: takes batches, compresses, writes, makes them durable, indexes, deletes.
//!
//! Everything that waits in the queue goes into one write and one `fdatasync`, so the queue's
//! length sets the batch. A failed write is tried again for ever: what was accepted is kept, and
//! the full queue makes the writer refuse, which its owner reports.
//!
//! A panic costs what was at hand, not the store: a block that cannot be packed leaves an empty
//! one in its place, so that those behind it keep their numbers; a step that panics is tried
//! again, then left out. Each is counted, logged and an alarm of the owner.

use crate::block::{self, Kind, Label};
use crate::metrics::Metric;
use crate::partition::Partition;
use crate::record::{Place, Record};
use crate::store::Shared;
use crate::{PARTITIONS_MAX, StoreError};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use event::Metrics;
use std::any::Any;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
/// Times that a step may panic before it is left out.
const PANICS_MAX: u32 = 3;
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
    metrics: Metrics<Metric>,
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
        metrics: Metrics<Metric>,
        seq: u32,
    ) -> Result<Self, StoreError> {
        let (partition, file) = Partition::create(&shared.options.directory, seq)?;
        let partition = Arc::new(partition);
        shared.add(Arc::clone(&partition));
        let (batch, end) = (Batch::default(), 0);
        let (now_us, retained_us) = (0, 0);
        let it =
            Self { shared, work, spare, metrics, partition, file, end, batch, now_us, retained_us };
        it.gauges();
        Ok(it)
    }

    /// Runs until the writer is gone and everything is on disk, or until the store stops.
    pub fn run(mut self) {
        loop {
            match self.work.recv_timeout(NAP) {
                Ok(work) => {
                    // What the steps do not catch themselves: the rest of the queue goes on.
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.take_all(work))) {
                        self.panicked(panic.as_ref());
                    }
                }
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
                    self.keep(kind, count, (first_us, last_us), &raw, heads);
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
            self.keep(kind, count, (first_us, last_us), &raw, heads);
        } else if let Some(work) = next {
            self.take_all(work);
        }
        self.persist(Self::write);
        if self.partition.fresh_len() >= RUN_RECORDS_MAX {
            self.persist(Self::index);
        }
        self.retain();
    }

    /// Packs a block; when that panics, an empty one stands in its place.
    fn keep(
        &mut self,
        kind: Kind,
        count: u16,
        span_us: (u64, u64),
        raw: &[u8],
        heads: Vec<Record>,
    ) {
        let batch = &self.batch;
        let before = (batch.bytes.len(), batch.offsets.len(), batch.records.len(), batch.entries);
        let filled = catch_unwind(AssertUnwindSafe(|| self.fill(kind, count, span_us, raw, heads)));
        if let Err(panic) = filled {
            let batch = &mut self.batch;
            batch.bytes.truncate(before.0);
            batch.offsets.truncate(before.1);
            batch.records.truncate(before.2);
            batch.entries = before.3;
            self.panicked(panic.as_ref());
            self.fill(kind, 0, span_us, &[], Vec::new());
        }
    }

    /// Counts and tells a panic.
    fn panicked(&mut self, panic: &(dyn Any + Send)) {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no reason given");
        self.metrics.add(Metric::Panics, 1);
        self.shared.panicked(text);
        tracing::error!(panic = text, "the store's thread goes on without what it had at hand");
    }

    fn fill(
        &mut self,
        kind: Kind,
        count: u16,
        span_us: (u64, u64),
        raw: &[u8],
        heads: Vec<Record>,
    ) {
        #[cfg(test)]
        trap::spring(raw);
        let batch = &mut self.batch;
        let ahead = u32::try_from(batch.offsets.len()).expect("a write has a few hundred blocks");
        let block = self.partition.blocks() + ahead;
        batch.offsets.push(self.end + batch.bytes.len() as u64);
        let label = Label { kind, number: block, count, first_us: span_us.0 };
        block::seal(label, raw, &mut batch.bytes);
        let partition = self.partition.seq;
        let places = (0..=u16::MAX).map(|entry| Place { partition, block, entry });
        batch.records.extend(heads.into_iter().zip(places));
        let (first, last) = batch.span_us.unwrap_or(span_us);
        batch.span_us = Some((first.min(span_us.0), last.max(span_us.1)));
        batch.raw_bytes += raw.len() as u64;
        batch.entries += if kind == Kind::Entries { u64::from(count) } else { 0 };
        self.now_us = self.now_us.max(span_us.1);
    }

    /// Does `step` until it succeeds or the store stops.
    fn persist(&mut self, step: impl Fn(&mut Self) -> Result<(), StoreError>) {
        let mut panics = 0;
        loop {
            let error = match catch_unwind(AssertUnwindSafe(|| step(self))) {
                Ok(Ok(())) => break,
                Ok(Err(error)) => error,
                Err(panic) => {
                    self.panicked(panic.as_ref());
                    panics += 1;
                    if panics >= PANICS_MAX {
                        break;
                    }
                    continue;
                }
            };
            self.metrics.add(Metric::WriteErrors, 1);
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
        let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.metrics.observe(Metric::SyncTime, took_us);
        let mut batch = core::mem::take(&mut self.batch);
        self.end += batch.bytes.len() as u64;
        self.metrics.add(Metric::StoredBytes, batch.bytes.len() as u64);
        self.metrics.add(Metric::RawBytes, batch.raw_bytes);
        self.metrics.add(Metric::Entries, batch.entries);
        self.metrics.add(Metric::Records, batch.records.len() as u64);
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
        self.metrics.add(Metric::Runs, u64::from(indexed));
        Ok(())
    }

    fn seal(&mut self) -> Result<(), StoreError> {
        let indexed = self.partition.seal()?;
        self.metrics.add(Metric::Runs, u64::from(indexed));
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
        let horizon = self.now_us.saturating_sub(crate::micros(options.age_max));
        loop {
            let (oldest, count, bytes) = self.shared.oldest();
            let Some(oldest) = oldest.filter(|p| p.seq != self.partition.seq) else { break };
            let old = oldest.span_us().is_none_or(|(_, last)| last < horizon);
            if !old && bytes <= options.size_max_bytes && count <= PARTITIONS_MAX {
                break;
            }
            self.shared.remove(oldest.seq);
            match std::fs::remove_dir_all(&oldest.directory) {
                Ok(()) => self.metrics.add(Metric::Deleted, 1),
                Err(error) => tracing::error!(%error, "an old partition cannot be deleted"),
            }
        }
        self.gauges();
    }

    fn gauges(&self) {
        let (_, count, bytes) = self.shared.oldest();
        self.metrics.set(Metric::Partitions, count as u64);
        self.metrics.set(Metric::DiskBytes, bytes);
        self.metrics.set(Metric::Queue, self.work.len() as u64);
    }
}

#[cfg(test)]
mod trap {
    /// A payload with this in it makes the disk thread panic.
    pub const WORD: &[u8] = b"this payload makes the disk thread panic";

    pub fn spring(raw: &[u8]) {
        assert!(!raw.windows(WORD.len()).any(|part| part == WORD), "sprung");
    }
}

#[cfg(test)]
mod tests {
    use super::trap;
    use crate::{Head, KeyRange, Options, Query, Record, Store};
    use std::time::Duration;

    #[test]
    fn a_panic_of_the_disk_thread_costs_its_block_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let options = || Options::new(directory.path(), Duration::from_secs(3_600), 1 << 30);
        let mut opened = Store::open(options()).unwrap();
        let mut places = Vec::new();
        for id in 1..=5u64 {
            let body = if id == 3 { trap::WORD.to_vec() } else { id.to_le_bytes().to_vec() };
            let place = opened.writer.append(7, id, |out| out.extend_from_slice(&body)).unwrap();
            places.push((id, place));
            opened.writer.flush(8); // a block of its own
        }
        let head = Head { id: 9, start_us: 7, tags: [0; 4] };
        let key = crate::Key { class: 1, value: 9 };
        assert!(
            opened.writer.record(9, Record { head, keys: vec![key], body: Vec::new() }).is_ok()
        );
        let end = opened.writer.flush(10);
        assert!(opened.store.wait(end, Duration::from_secs(20)));
        let panics = opened.store.cells().samples().find(|(r, _)| r.name == "store_panics_total");
        assert_eq!(panics.map(|(_, reading)| reading), Some(event::Sample::Value(1)));
        assert_eq!(opened.store.status().panicked.as_deref(), Some("sprung"));
        for again in [false, true] {
            if again {
                drop(opened);
                opened = Store::open(options()).unwrap();
            }
            for (id, place) in &places {
                let mut reader = opened.store.reader();
                let entry = reader.entry(*place).unwrap().map(|(id, _)| id);
                assert_eq!(entry, (*id != 3).then_some(*id), "again: {again}");
            }
            let all_of = vec![vec![KeyRange::exactly(1, 9)]];
            let query = Query { all_of, limit: 9, ..Query::default() };
            assert_eq!(opened.store.search(&query).unwrap().len(), 1);
        }
    }
}
