//! What the parts of one memif, each of another worker, have in common.

use super::control::{Connection, Spec};
use super::queue::Queue;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rings of one part.
#[derive(Debug, Default)]
pub(super) struct Rings {
    /// Nobody else's.
    pub receive: Vec<Queue>,
    /// Others' as well, where there are fewer rings than parts.
    pub send: Vec<Arc<Mutex<Queue>>>,
}

/// What the parts of one memif have in common.
#[derive(Debug)]
pub struct Hub {
    spec: Spec,
    parts: usize,
    /// Another one for each connection, and for its end.
    generation: AtomicU64,
    is_up: AtomicBool,
    is_broken: AtomicBool,
    is_slow: AtomicBool,
    /// By part, until it takes them.
    dealt: Mutex<Vec<Option<Rings>>>,
}

impl Hub {
    /// For so many parts, of which there is one at least. Nothing is opened yet.
    #[must_use]
    pub fn new(spec: &Spec, parts: usize) -> Arc<Self> {
        Arc::new(Self {
            spec: spec.clone(),
            parts: parts.max(1),
            generation: AtomicU64::new(0),
            is_up: AtomicBool::new(false),
            is_broken: AtomicBool::new(false),
            is_slow: AtomicBool::new(false),
            dealt: Mutex::default(),
        })
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }

    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Acquire)
    }

    /// Whether some part found that the other end does what it must not.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    /// The connection is to end.
    pub(super) fn break_off(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
    }

    /// The same because the other end's interrupts take too long.
    pub(super) fn give_up(&self) {
        self.is_slow.store(true, Ordering::Relaxed);
        self.break_off();
    }

    pub(super) fn is_slow(&self) -> bool {
        self.is_slow.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Rings>>> {
        self.dealt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present generation, and the part's rings in it: taken once.
    pub(super) fn take(&self, part: usize) -> (u64, Option<Rings>) {
        let mut dealt = self.lock();
        let rings = dealt.get_mut(part).and_then(Option::take);
        (self.generation(), rings)
    }

    /// Deals out the rings of a connection.
    pub(super) fn deal(&self, connection: Connection) {
        let mut dealt: Vec<Rings> = Vec::new();
        dealt.resize_with(self.parts, Rings::default);
        for (at, queue) in connection.receive.into_iter().enumerate() {
            dealt[at % self.parts].receive.push(queue);
        }
        let send: Vec<_> =
            connection.send.into_iter().map(|queue| Arc::new(Mutex::new(queue))).collect();
        // Every ring has a part, and every part a ring, if there is any.
        let turns = if send.is_empty() { 0 } else { self.parts.max(send.len()) };
        for at in 0..turns {
            dealt[at % self.parts].send.push(Arc::clone(&send[at % send.len()]));
        }
        self.change(dealt.into_iter().map(Some).collect(), true);
    }

    /// The connection is over.
    pub(super) fn end(&self) {
        self.change(Vec::new(), false);
    }

    fn change(&self, rings: Vec<Option<Rings>>, is_up: bool) {
        let mut dealt = self.lock();
        *dealt = rings;
        self.is_broken.store(false, Ordering::Relaxed);
        self.is_slow.store(false, Ordering::Relaxed);
        self.is_up.store(is_up, Ordering::Release);
        self.generation.fetch_add(1, Ordering::Release);
    }
}
