//! Quiescent-state reclamation: a worker says between two vectors that it holds nothing, and what
//! the writer took out of a table is freed once every worker has said so since.
//!
//! ```text
//!   epoch     7      8      9            writer: retire(old) in epoch 8, then epoch := 9
//!   worker a  ···7···8·········9···      a quiesces: "I have seen 9"
//!   worker b  ···7····8·········9··      b quiesces: now `old` is freed
//! ```
//! A parked worker is *away* ([`Reader::leave`]) and holds up nothing.

#[cfg(feature = "loom")]
use loom::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
#[cfg(not(feature = "loom"))]
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

/// Workers that read the tables of one plane at most.
pub const READERS_MAX: usize = if cfg!(feature = "loom") { 2 } else { 64 };

/// What a reader's place holds while the reader is away.
const AWAY: u64 = u64::MAX;
/// What a place holds that nobody took.
const FREE: u64 = u64::MAX - 1;

/// A place on a cache line of its own: written by one worker, read by the writer.
#[repr(align(64))]
struct Place(AtomicU64);

/// The epoch that all tables of one plane share. Cheap to read, changed by writers only.
pub struct Domain {
    epoch: Place,
    places: [Place; READERS_MAX],
}

impl Domain {
    /// A domain without readers.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            epoch: Place(AtomicU64::new(0)),
            places: std::array::from_fn(|_| Place(AtomicU64::new(FREE))),
        })
    }

    /// A reader for one worker; `None` if [`READERS_MAX`] are out.
    #[must_use]
    pub fn reader(self: &Arc<Self>) -> Option<Reader> {
        let at = self.places.iter().position(|place| {
            let taken = place.0.compare_exchange(FREE, AWAY, Ordering::SeqCst, Ordering::Relaxed);
            taken.is_ok()
        })?;
        let mut reader = Reader { domain: Arc::clone(self), at, is_away: true };
        reader.quiesce();
        Some(reader)
    }

    /// Ends the present epoch and returns its number: whatever was taken out of a table before
    /// this call is free once [`Domain::passed`] says so of that number.
    pub fn end_epoch(&self) -> u64 {
        self.epoch.0.fetch_add(1, Ordering::SeqCst)
    }

    /// Whether every reader has quiesced since `epoch` ended.
    #[must_use]
    pub fn passed(&self, epoch: u64) -> bool {
        self.oldest() > epoch
    }

    /// Every epoch before this one has passed.
    fn oldest(&self) -> u64 {
        fence(Ordering::SeqCst);
        let places = self.places.iter().map(|place| place.0.load(Ordering::Acquire));
        places.min().unwrap_or(AWAY)
    }
}

/// One worker's right to read. Everything it borrows from a table lives at most until its next
/// [`Reader::quiesce`]: the borrow checker sees to that.
pub struct Reader {
    domain: Arc<Domain>,
    at: usize,
    is_away: bool,
}

impl Reader {
    /// Holds nothing any more; sees everything that was published before. Between two vectors.
    pub fn quiesce(&mut self) {
        let epoch = self.domain.epoch.0.load(Ordering::Acquire);
        self.domain.places[self.at].0.store(epoch, Ordering::Release);
        // One that comes back from away must be seen before it looks anything up.
        fence(Ordering::SeqCst);
        self.is_away = false;
    }

    /// Goes away: holds nothing, and holds up nothing, until the next [`Reader::quiesce`]. Until
    /// then it cannot read.
    pub fn leave(&mut self) {
        self.is_away = true;
        self.domain.places[self.at].0.store(AWAY, Ordering::Release);
    }

    /// Whether it may read what belongs to the domain: it is the domain's own, and not away.
    #[must_use]
    pub fn reads(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain) && !self.is_away
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.domain.places[self.at].0.store(FREE, Ordering::Release);
    }
}

/// What was retired and when its epoch ended; freed by [`RetireList::free`]. One writer owns it.
/// What still waits when the list is dropped is dropped with it: if it is memory that readers may
/// hold, its owner must see to it before ([`RetireList::take`]).
pub struct RetireList<T> {
    domain: Arc<Domain>,
    waiting: std::collections::VecDeque<(u64, T)>,
}

impl<T> RetireList<T> {
    /// Nothing is waiting.
    #[must_use]
    pub fn new(domain: &Arc<Domain>) -> Self {
        Self { domain: Arc::clone(domain), waiting: std::collections::VecDeque::new() }
    }

    /// Keeps `what`, which no reader can find any more, until no reader can still hold it.
    pub fn retire(&mut self, what: T) {
        self.waiting.push_back((self.domain.end_epoch(), what));
    }

    /// Hands every piece to `freed` that no reader can hold any more.
    pub fn free(&mut self, mut freed: impl FnMut(T)) {
        if self.waiting.is_empty() {
            return;
        }
        let oldest = self.domain.oldest();
        while self.waiting.front().is_some_and(|(epoch, _)| *epoch < oldest) {
            self.waiting.pop_front().into_iter().for_each(|(_, what)| freed(what));
        }
    }

    /// Everything that waits, oldest first, whether readers may hold it or not.
    pub fn take(&mut self) -> impl Iterator<Item = T> + '_ {
        self.waiting.drain(..).map(|(_, what)| what)
    }

    /// Pieces that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// A value that a writer replaces whole while workers read it: configuration of nodes, chains of
/// features, small tables.
pub struct Published<T> {
    domain: Arc<Domain>,
    value: AtomicPtr<T>,
    /// What waited when the publisher went: readers that may hold it hold this too.
    left: Mutex<Vec<Box<T>>>,
}

/// The one who may replace a [`Published`] value.
pub struct Publisher<T> {
    published: Arc<Published<T>>,
    retired: RetireList<Box<T>>,
}

impl<T: Send + Sync> Published<T> {
    /// The value as it is now, until the reader quiesces.
    ///
    /// # Panics
    /// When the reader belongs to another domain.
    #[must_use]
    pub fn read<'a>(&'a self, reader: &'a Reader) -> &'a T {
        assert!(
            reader.reads(&self.domain),
            "the reader belongs to this table's domain and is not away"
        );
        // SAFETY: the pointer came from a Box; the writer frees it only after this reader
        // quiesced, and quiescing needs `&mut Reader`, which the returned borrow excludes.
        unsafe { &*self.value.load(Ordering::Acquire) }
    }
}

impl<T> Drop for Published<T> {
    fn drop(&mut self) {
        // SAFETY: nobody reads any more (`&mut self`), and the pointer came from a Box.
        drop(unsafe { Box::from_raw(self.value.load(Ordering::Acquire)) });
    }
}

impl<T> Drop for Publisher<T> {
    fn drop(&mut self) {
        self.retired.free(drop);
        let mut left = self.published.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.extend(self.retired.take());
    }
}

impl<T: Send + Sync> Publisher<T> {
    /// Publishes a first value.
    #[must_use]
    pub fn new(domain: &Arc<Domain>, value: T) -> Self {
        let value = AtomicPtr::new(Box::into_raw(Box::new(value)));
        let left = Mutex::new(Vec::new());
        let published = Arc::new(Published { domain: Arc::clone(domain), value, left });
        Self { published, retired: RetireList::new(domain) }
    }

    /// What workers read.
    #[must_use]
    pub fn published(&self) -> Arc<Published<T>> {
        Arc::clone(&self.published)
    }

    /// The value as the writer last published it.
    #[must_use]
    pub fn value(&self) -> &T {
        // SAFETY: only this publisher replaces the value, and it is borrowed.
        unsafe { &*self.published.value.load(Ordering::Relaxed) }
    }

    /// Replaces the value; the old one is freed once no worker can hold it.
    pub fn publish(&mut self, value: T) {
        let new = Box::into_raw(Box::new(value));
        let old = self.published.value.swap(new, Ordering::AcqRel);
        // SAFETY: the old pointer came from a Box and is no longer to be found by anyone.
        self.retired.retire(unsafe { Box::from_raw(old) });
        self.retired.free(drop);
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn what_was_retired_stays_until_every_reader_has_quiesced() {
        let domain = Domain::new();
        let (mut a, mut b) = (domain.reader().unwrap(), domain.reader().unwrap());
        let mut retired = RetireList::new(&domain);
        let mut freed = Vec::new();
        retired.retire(1);
        a.quiesce();
        retired.free(|piece| freed.push(piece));
        assert!(freed.is_empty(), "b may still hold it");
        b.quiesce();
        retired.retire(2);
        retired.free(|piece| freed.push(piece));
        assert_eq!(freed, [1]);
        a.leave();
        drop(b);
        retired.free(|piece| freed.push(piece));
        assert_eq!(freed, [1, 2], "nobody reads");
    }

    #[test]
    #[should_panic(expected = "the reader belongs to this table's domain and is not away")]
    fn a_reader_that_is_away_cannot_read() {
        let domain = Domain::new();
        let publisher = Publisher::new(&domain, 1);
        let mut reader = domain.reader().unwrap();
        assert_eq!(*publisher.published().read(&reader), 1);
        reader.leave();
        let _ = publisher.published().read(&reader);
    }

    #[test]
    fn what_a_reader_holds_outlives_the_publisher() {
        let domain = Domain::new();
        let mut publisher = Publisher::new(&domain, String::from("first"));
        let (published, reader) = (publisher.published(), domain.reader().unwrap());
        let held = published.read(&reader);
        publisher.publish(String::from("second"));
        drop(publisher);
        assert_eq!((held.as_str(), published.read(&reader).as_str()), ("first", "second"));
    }

    #[test]
    fn a_published_value_is_replaced_under_its_readers() {
        let domain = Domain::new();
        let mut publisher = Publisher::new(&domain, vec![0_u64; 64]);
        let published = publisher.published();
        let mut reader = domain.reader().unwrap();
        let rounds = if cfg!(miri) { 20 } else { 1_000 };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut last = 0;
                while last < rounds {
                    let value = published.read(&reader);
                    assert!(value.iter().all(|word| *word == value[0]), "never half of each");
                    assert!(value[0] >= last, "never back");
                    last = value[0];
                    reader.quiesce();
                }
            });
            for round in 1..=rounds {
                publisher.publish(vec![round; 64]);
            }
        });
        assert_eq!(publisher.value()[0], rounds);
    }
}
