//! The epochs in every order that the memory model allows:
//! `cargo test -p tandem-table --release --features loom --test loom`.
//! A program of its own: the atomics of all of it are those of loom.

#![allow(unsafe_code, reason = "loom watches the cells")]

use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;
use table::epoch::{Domain, Publisher, RetireList};

/// A value that loom watches: freeing it counts as writing it.
struct Watched(UnsafeCell<u64>);

// SAFETY: loom finds whoever breaks the rules of the cell: that is what the test is for.
unsafe impl Sync for Watched {}
// SAFETY: as above.
unsafe impl Send for Watched {}

impl Watched {
    fn new(value: u64) -> Self {
        Self(UnsafeCell::new(value))
    }

    fn read(&self) -> u64 {
        // SAFETY: loom checks that nobody writes meanwhile.
        self.0.with(|value| unsafe { *value })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: loom checks that nobody reads meanwhile.
        self.0.with_mut(|value| unsafe { *value = u64::MAX });
    }
}

/// Threads change places against their will in one run at most so often: more finds nothing new
/// and takes hours.
const PREEMPTIONS_MAX: usize = 4;

fn every_order(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS_MAX);
    builder.check(run);
}

#[test]
fn no_value_is_freed_under_a_reader() {
    every_order(|| {
        let domain = Domain::new();
        let mut publisher = Publisher::new(&domain, Watched::new(0));
        let published = publisher.published();
        let mut reader = domain.reader().unwrap();
        let worker = thread::spawn(move || {
            let mut last = 0;
            for _ in 0..2 {
                let value = published.read(&reader).read();
                assert!(value >= last && value <= 2, "never back, never freed");
                last = value;
                reader.quiesce();
            }
        });
        publisher.publish(Watched::new(1));
        publisher.publish(Watched::new(2));
        worker.join().unwrap();
    });
}

#[test]
fn one_that_comes_back_is_seen_before_it_reads() {
    every_order(|| {
        let domain = Domain::new();
        let mut publisher = Publisher::new(&domain, Watched::new(0));
        let published = publisher.published();
        let mut reader = domain.reader().unwrap();
        reader.leave();
        let worker = thread::spawn(move || {
            reader.quiesce();
            let value = published.read(&reader).read();
            assert!(value <= 1, "never freed");
            reader.leave();
        });
        publisher.publish(Watched::new(1));
        worker.join().unwrap();
    });
}

/// As the tables do it: a slot leads to one of a few cells; a cell that was retired is written
/// again only when no reader can hold it.
#[test]
fn no_cell_is_used_again_under_a_reader() {
    every_order(|| {
        let domain = Domain::new();
        let cells = Arc::new([Watched::new(10), Watched::new(11)]);
        let slot = Arc::new(loom::sync::atomic::AtomicUsize::new(0));
        let mut reader = domain.reader().unwrap();
        let worker = {
            let (cells, slot) = (Arc::clone(&cells), Arc::clone(&slot));
            thread::spawn(move || {
                for _ in 0..2 {
                    let at = slot.load(loom::sync::atomic::Ordering::Acquire);
                    assert!([10, 11, 12].contains(&cells[at].read()));
                    reader.quiesce();
                }
            })
        };
        let mut retired = RetireList::new(&domain);
        slot.store(1, loom::sync::atomic::Ordering::Release);
        retired.retire(0_usize);
        let mut free = Vec::new();
        retired.free(|cell| free.push(cell));
        if let Some(cell) = free.pop() {
            // SAFETY: loom checks that nobody reads meanwhile.
            cells[cell].0.with_mut(|value| unsafe { *value = 12 });
            slot.store(cell, loom::sync::atomic::Ordering::Release);
        }
        worker.join().unwrap();
    });
}
