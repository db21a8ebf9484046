//! How a worker tells the writer what it saw: a ring with one end each, which never waits.

use super::{Entry, MacKey};
use machine::narrow::half;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Addresses that wait for the writer at most, for each worker; the newest are dropped beyond.
pub const RING_LENGTH: usize = 16_384;
/// Addresses a worker remembers having told in this second.
const TOLD_LENGTH: usize = 4_096;

/// How the source of a frame stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    /// Known at this port.
    Known,
    /// Not known: the writer was told. Forward.
    New,
    /// Known at another port: the writer was told. Forward.
    Moved,
    /// Fixed to another port, by configuration or because it moved too often: drop.
    Misplaced,
    /// Blocked because it moved too often: drop.
    Blocked,
    /// A group address, which cannot be a source: drop.
    Group,
}

impl Source {
    #[inline(always)]
    pub(super) fn of(key: MacKey, port: u32, entry: Entry) -> Self {
        const STAYS: u32 = Entry::STATIC | Entry::FROZEN | Entry::BLOCKED;
        let same = entry.port() == port;
        match entry.0 & (STAYS | Entry::KNOWN) {
            Entry::KNOWN if same => Self::Known,
            _ if entry.is_blocked() => Self::Blocked,
            0 if key.is_group() => Self::Group,
            0 => Self::New,
            Entry::KNOWN => Self::Moved,
            _ if same => Self::Known,
            _ => Self::Misplaced,
        }
    }

    #[inline(always)]
    pub(super) fn is_to_be_learnt(self) -> bool {
        matches!(self, Self::New | Self::Moved)
    }

    /// Whether the frame goes on.
    #[inline(always)]
    #[must_use]
    pub const fn forwards(self) -> bool {
        matches!(self, Self::Known | Self::New | Self::Moved)
    }
}

/// What a learner counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Told to the writer.
    pub told: u64,
    /// Not told again within the second.
    pub repeated: u64,
    /// Dropped because the ring was full.
    pub shed: u64,
}

/// One slot: the key, and the port with the time.
struct Slot([AtomicU64; 2]);

pub(super) struct Ring {
    /// Taken by the writer so far.
    taken: AtomicUsize,
    /// Told by the worker so far.
    told: AtomicUsize,
    slots: Box<[Slot]>,
}

impl Ring {
    pub(super) fn new() -> Arc<Self> {
        let slot = |_| Slot([const { AtomicU64::new(0) }; 2]);
        let slots = (0..RING_LENGTH).map(slot).collect();
        Arc::new(Self { taken: AtomicUsize::new(0), told: AtomicUsize::new(0), slots })
    }

    /// The oldest that waits: key, port, seconds. The writer's end.
    pub(super) fn take(&self) -> Option<(MacKey, u32, u32)> {
        let taken = self.taken.load(Ordering::Relaxed);
        if taken == self.told.load(Ordering::Acquire) {
            return None;
        }
        let [key, rest] = &self.slots[taken % RING_LENGTH].0;
        let (key, rest) = (key.load(Ordering::Relaxed), rest.load(Ordering::Relaxed));
        self.taken.store(taken.wrapping_add(1), Ordering::Release);
        Some((MacKey(key), (rest >> 32) as u32, half(rest)))
    }
}

/// A worker's end of its ring to the writer ([`super::MacWriter::learner`]).
pub struct Learner {
    ring: Arc<Ring>,
    /// `ring.taken` as it was last seen.
    taken: usize,
    told: Box<[[u64; 2]]>,
    tally: Tally,
}

impl Learner {
    pub(super) fn new(ring: Arc<Ring>) -> Self {
        Self { ring, taken: 0, told: vec![[0; 2]; TOLD_LENGTH].into(), tally: Tally::default() }
    }

    /// What it counted so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Tells the writer that `key` was seen at `port`; once a second for each is enough.
    #[cold]
    pub(super) fn tell(&mut self, key: MacKey, port: u32, now_s: u32) {
        let words = [key.0, u64::from(port) << 32 | u64::from(now_s)];
        let at = (key.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as usize % TOLD_LENGTH;
        if self.told[at] == words {
            self.tally.repeated += 1;
            return;
        }
        let next = self.ring.told.load(Ordering::Relaxed);
        if next.wrapping_sub(self.taken) >= RING_LENGTH {
            self.taken = self.ring.taken.load(Ordering::Acquire);
        }
        if next.wrapping_sub(self.taken) >= RING_LENGTH {
            self.tally.shed += 1;
            return;
        }
        for (place, word) in self.ring.slots[next % RING_LENGTH].0.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        self.ring.told.store(next.wrapping_add(1), Ordering::Release);
        self.told[at] = words;
        self.tally.told += 1;
    }
}
