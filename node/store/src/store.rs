//! Opening, searching and reading a store; what its threads share.

use crate::block::{self, Kind};
use crate::disk::{Disk, QUEUE_MAX};
use crate::files;
use crate::metrics::Metric;
use crate::partition::Partition;
use crate::query::{Hit, Newest, Query};
use crate::record::{Place, Record, decode, u64_at};
use crate::writer::Writer;
use crate::{Options, StoreError};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::{Duration, Instant};

// What stands behind these locks is whole at any time: a thread that panics while it holds one
// ends itself, not the questions of all others.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// How long a panic of the disk thread is told after it happened.
const PANIC_SHOWN: Duration = Duration::from_secs(3_600);

/// What the writer, the disk thread and the readers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub options: Options,
    partitions: RwLock<Vec<Arc<Partition>>>,
    durable: Mutex<Place>,
    moved: Condvar,
    failing: Mutex<Option<String>>,
    /// The last panic of the disk thread.
    panic: Mutex<Option<(Instant, String)>>,
    /// The last thing that could not be read.
    unreadable: Mutex<Option<(Instant, String)>>,
    stopping: AtomicBool,
}

impl Shared {
    fn list(&self) -> Vec<Arc<Partition>> {
        read(&self.partitions).clone()
    }

    pub fn add(&self, partition: Arc<Partition>) {
        write(&self.partitions).push(partition);
    }

    pub fn remove(&self, seq: u32) {
        write(&self.partitions).retain(|p| p.seq != seq);
    }

    fn find(&self, seq: u32) -> Option<Arc<Partition>> {
        let list = read(&self.partitions);
        let at = list.binary_search_by_key(&seq, |p| p.seq).ok()?;
        Some(Arc::clone(&list[at]))
    }

    pub fn partition_bytes(&self, seq: u32) -> u64 {
        self.find(seq).map_or(0, |p| p.bytes())
    }

    /// The oldest partition, the number of partitions, the octets of all.
    pub fn oldest(&self) -> (Option<Arc<Partition>>, usize, u64) {
        let list = self.list();
        (list.first().cloned(), list.len(), list.iter().map(|p| p.bytes()).sum())
    }

    /// Everything before `place` is safe now.
    pub fn durable(&self, place: Place) {
        *lock(&self.durable) = place;
        self.moved.notify_all();
    }

    pub fn failing(&self, why: Option<String>) {
        *lock(&self.failing) = why;
    }

    pub fn panicked(&self, why: &str) {
        *lock(&self.panic) = Some((Instant::now(), why.to_owned()));
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// What [`Store::open`] gives to the shard that writes.
#[derive(Debug)]
pub struct Opened {
    /// To write with; dropped before the store, so that what it holds is written.
    pub writer: Writer,
    /// To search and read with, from any thread.
    pub store: Arc<Store>,
    /// What still ran when the last process ended.
    pub recovery: Recovery,
}

/// Ids that had no record when the last process ended: their last open record and the entries
/// since.
#[derive(Debug, Default)]
pub struct Recovery {
    partitions: Vec<Arc<Partition>>,
    open: HashMap<u64, Record>,
    finished: HashSet<u64>,
    /// Octets cut from a torn journal.
    pub torn_bytes: u64,
    /// Octets of damaged blocks that good ones follow; they are passed over.
    pub damaged_bytes: u64,
}

/// A store that is open; dropping the last handle stops it.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    cells: event::MetricCells,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    opened_at: Instant,
    damaged_bytes: u64,
    /// Held as long as the store is open, so that no second process writes into it.
    _lock: File,
}

/// What a store looks like from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Partitions on disk.
    pub partitions: usize,
    /// Octets on disk.
    pub bytes: u64,
    /// Octets allowed.
    pub size_max_bytes: u64,
    /// Earliest and latest time kept, microseconds since the UNIX epoch.
    pub span_us: Option<(u64, u64)>,
    /// Why writing fails, while it does.
    pub failing: Option<String>,
    /// What the disk thread said when it panicked, for an hour.
    pub panicked: Option<String>,
    /// What could not be read by a search, for an hour.
    pub unreadable: Option<String>,
    /// Octets of damaged blocks that were passed over when the store was opened.
    pub damaged_bytes: u64,
}

impl Store {
    /// Opens or makes the store in `options.directory`: repairs the journal that was written
    /// last, indexes what it holds, begins a new partition and starts the disk thread.
    ///
    /// # Errors
    /// The directory cannot be used, or another process uses it. A damaged index file is made
    /// again from its journal.
    pub fn open(options: Options) -> Result<Opened, StoreError> {
        files::folder(&options.directory)?;
        let lock = held(&options.directory)?;
        let found = partitions_in(&options.directory)?;
        let next = found.last().map_or(1, |p| p.seq + 1);
        let recovery = Recovery::read(&found)?;
        let metrics = event::Metrics::<Metric>::new();
        metrics.add(Metric::RepairedBytes, recovery.torn_bytes);
        let mut damaged_bytes = recovery.damaged_bytes;
        for partition in found.iter().filter(|p| !p.is_sealed()) {
            if partition.blocks() == 0 {
                // Its index was damaged; recovery had no reason to read it.
                damaged_bytes += partition.scan(false, |_, _, _| {})?.damaged_bytes;
            }
            let indexed = partition.seal()?;
            metrics.add(Metric::Runs, u64::from(indexed));
        }
        metrics.add(Metric::DamagedBytes, damaged_bytes);
        if damaged_bytes > 0 {
            tracing::error!(damaged_bytes, "damaged blocks were passed over");
        }
        let start = Place { partition: next, block: 0, entry: 0 };
        let shared = Arc::new(Shared {
            options,
            partitions: RwLock::new(found),
            durable: Mutex::new(start),
            moved: Condvar::new(),
            failing: Mutex::new(None),
            panic: Mutex::new(None),
            unreadable: Mutex::new(None),
            stopping: AtomicBool::new(false),
        });
        let (work, queue) = crossbeam_channel::bounded(QUEUE_MAX);
        let (spare_in, spare) = crossbeam_channel::bounded(QUEUE_MAX / 8);
        let cells = metrics.cells();
        let disk = Disk::new(Arc::clone(&shared), queue, spare_in, metrics, next)?;
        let thread =
            std::thread::Builder::new().name("store".to_owned()).spawn(move || disk.run())?;
        let writer = Writer::new(work, spare, Arc::clone(&shared), next);
        let (thread, opened_at) = (Mutex::new(Some(thread)), Instant::now());
        let store = Arc::new(Self { shared, cells, thread, opened_at, damaged_bytes, _lock: lock });
        Ok(Opened { store, writer, recovery })
    }

    /// The newest records that match. A partition that cannot be read is passed over and shows in
    /// [`Status::unreadable`].
    ///
    /// # Errors
    /// No partition can be read.
    pub fn search(&self, query: &Query) -> Result<Vec<Hit>, StoreError> {
        let mut newest = Newest::new(query.limit);
        let partitions = self.shared.list();
        let mut failed = 0;
        for partition in partitions.iter().rev() {
            let Err(error) = partition.search(query, &mut newest) else { continue };
            failed += 1;
            let text = format!("{}: {error}", partition.directory.display());
            tracing::error!(%text, "a partition cannot be searched");
            *lock(&self.shared.unreadable) = Some((Instant::now(), text));
            if failed == partitions.len() {
                return Err(error);
            }
        }
        Ok(newest.hits)
    }

    /// A reader that keeps the blocks it opened.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader { store: self, blocks: Vec::new() }
    }

    /// Waits until everything before `place` is safe on disk; `false` when that takes longer
    /// than `patience`.
    #[must_use]
    pub fn wait(&self, place: Place, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut durable = lock(&self.shared.durable);
        while *durable < place {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.moved.wait_timeout(durable, left);
            durable = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Everything before this place is safe on disk.
    #[must_use]
    pub fn durable(&self) -> Place {
        *lock(&self.shared.durable)
    }

    /// What the store looks like.
    #[must_use]
    pub fn status(&self) -> Status {
        let (_, partitions, bytes) = self.shared.oldest();
        let spans = self.shared.list().iter().filter_map(|p| p.span_us()).collect::<Vec<_>>();
        let first = spans.iter().map(|s| s.0).min();
        let last = spans.iter().map(|s| s.1).max();
        Status {
            partitions,
            bytes,
            size_max_bytes: self.shared.options.size_max_bytes,
            span_us: first.zip(last),
            failing: lock(&self.shared.failing).clone(),
            panicked: of_late(&self.shared.panic),
            unreadable: of_late(&self.shared.unreadable),
            damaged_bytes: self.damaged_bytes,
        }
    }

    /// Microseconds since it was opened, for measuring how long something took.
    #[must_use]
    pub fn clock_us(&self) -> u64 {
        crate::micros(self.opened_at.elapsed())
    }

    /// The store's metrics.
    #[must_use]
    pub fn cells(&self) -> event::MetricCells {
        self.cells.clone()
    }

    /// Ends the disk thread once everything that was handed over is on disk. Call it after the
    /// writer is dropped; with the writer alive, what it hands over later is lost.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // A panic of the disk thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// What happened within the last hour.
fn of_late(event: &Mutex<Option<(Instant, String)>>) -> Option<String> {
    let event = lock(event);
    let (_, text) = event.as_ref().filter(|(when, _)| when.elapsed() < PANIC_SHOWN)?;
    Some(text.clone())
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Opened blocks that a reader keeps.
const BLOCKS_KEPT: usize = 16;

/// Reads entries and records; keeps the last blocks, because neighbours are read together.
#[derive(Debug)]
pub struct Reader<'a> {
    store: &'a Store,
    blocks: Vec<((u32, u32), Vec<u8>)>,
}

impl Reader<'_> {
    /// The item at `place`; `None` when its partition was deleted or its block is damaged.
    fn item(&mut self, place: Place) -> Result<Option<&[u8]>, StoreError> {
        let key = (place.partition, place.block);
        let held = self.blocks.iter().position(|(k, _)| *k == key);
        let at = match held {
            Some(at) => at,
            None => {
                let Some(partition) = self.store.shared.find(place.partition) else {
                    return Ok(None);
                };
                let Some(raw) = partition.block(place.block)? else { return Ok(None) };
                if self.blocks.len() >= BLOCKS_KEPT {
                    self.blocks.remove(0);
                }
                self.blocks.push((key, raw));
                self.blocks.len() - 1
            }
        };
        Ok(block::items(&self.blocks[at].1).nth(usize::from(place.entry)))
    }

    /// The id and the octets of the entry at `place`; `None` when it was deleted.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn entry(&mut self, place: Place) -> Result<Option<(u64, &[u8])>, StoreError> {
        let item = self.item(place)?;
        Ok(item.and_then(|item| item.split_at_checked(8)).map(|(id, body)| (u64_at(id, 0), body)))
    }

    /// The record of a hit; `None` when it was deleted.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn record(&mut self, place: Place) -> Result<Option<Record>, StoreError> {
        Ok(self.item(place)?.and_then(decode))
    }
}

/// Longest wait for a store in the same directory that is about to end: a reader may still have
/// it in hand.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// Between two tries to take the directory.
const LOCK_LOOK: Duration = Duration::from_millis(10);

/// Takes the directory for this store alone; the kernel lets go of it when the process ends.
fn held(directory: &Path) -> Result<File, StoreError> {
    let file = files::create(&directory.join("lock"))?;
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(LOCK_LOOK);
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(StoreError::InUse(directory.display().to_string()));
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

/// The partitions of a directory in their order; a journal without content is removed.
fn partitions_in(root: &Path) -> Result<Vec<Arc<Partition>>, StoreError> {
    let mut found = Vec::new();
    for item in std::fs::read_dir(root)? {
        let path = item?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let Some(seq) = name.strip_prefix('p').and_then(|n| n.parse::<u32>().ok()) else {
            continue;
        };
        let empty = std::fs::metadata(path.join("journal")).map_or(true, |m| m.len() == 0);
        if empty {
            std::fs::remove_dir_all(&path)?;
        } else {
            found.push(Arc::new(Partition::open(&path, seq)?));
        }
    }
    found.sort_by_key(|p| p.seq);
    Ok(found)
}

impl Recovery {
    /// Repairs the partitions that were not sealed and gathers what still ran: back to the last
    /// partition that began with a complete list.
    fn read(found: &[Arc<Partition>]) -> Result<Self, StoreError> {
        let mut it = Self::default();
        for partition in found.iter().rev() {
            let mut open = HashMap::new();
            let scan = partition.scan(false, |kind, _, raw| {
                let records = block::items(&raw).filter_map(decode);
                match kind {
                    Kind::Records => it.finished.extend(records.map(|r| r.head.id)),
                    Kind::Open => open.extend(records.map(|r| (r.head.id, r))),
                    Kind::Entries | Kind::Complete => {}
                }
            })?;
            // A newer partition knows more of an id than an older one.
            for (id, record) in open {
                it.open.entry(id).or_insert(record);
            }
            it.torn_bytes += scan.torn_bytes;
            it.damaged_bytes += scan.damaged_bytes;
            it.partitions.insert(0, Arc::clone(partition));
            if scan.is_complete {
                break;
            }
        }
        it.open.retain(|id, _| !it.finished.contains(id));
        Ok(it)
    }

    /// The open records, then every entry of an id without a finished record, in their order.
    /// An entry may be contained in its open record already: its place says so.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn replay(self, mut each: impl FnMut(Replayed<'_>)) -> Result<(), StoreError> {
        self.open.values().for_each(|record| each(Replayed::Open(record)));
        for partition in &self.partitions {
            partition.scan(true, |kind, block, raw| {
                if kind != Kind::Entries {
                    return;
                }
                for (n, item) in block::items(&raw).enumerate() {
                    let Some((id, body)) = item.split_at_checked(8) else { continue };
                    let (id, entry) = (u64_at(id, 0), u16::try_from(n).unwrap_or(u16::MAX));
                    if !self.finished.contains(&id) {
                        let place = Place { partition: partition.seq, block, entry };
                        each(Replayed::Entry { place, id, body });
                    }
                }
            })?;
        }
        Ok(())
    }
}

/// What [`Recovery::replay`] tells.
#[derive(Debug)]
pub enum Replayed<'a> {
    /// An id that ran, as it stood when its partition began.
    Open(&'a Record),
    /// An entry of an id that has no finished record.
    Entry {
        /// Where it stands.
        place: Place,
        /// Whose it is.
        id: u64,
        /// What was written.
        body: &'a [u8],
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends a thread that holds all locks of a store.
    fn poison(store: &Arc<Store>) {
        let held = Arc::clone(store);
        let thread = std::thread::spawn(move || {
            let shared = &held.shared;
            let _guards = (lock(&shared.durable), lock(&shared.failing), lock(&shared.panic));
            let _list = write(&shared.partitions);
            panic!("a reader ends with everything in hand");
        });
        assert!(thread.join().is_err());
    }

    #[test]
    fn a_reader_that_panics_ends_itself_and_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options::new(directory.path(), Duration::from_secs(3_600), 1 << 30);
        let mut opened = Store::open(options).unwrap();
        poison(&opened.store);
        let place = opened.writer.append(7, 1, |out| out.extend_from_slice(b"body")).unwrap();
        let end = opened.writer.flush(8);
        assert!(opened.store.wait(end, Duration::from_secs(20)));
        let mut reader = opened.store.reader();
        assert_eq!(reader.entry(place).unwrap(), Some((1, &b"body"[..])));
        let query = Query { limit: 1, ..Query::default() };
        assert!(opened.store.search(&query).is_ok());
        assert_eq!(opened.store.status().failing, None);
    }
}
