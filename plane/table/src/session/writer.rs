//! The one writer of a session table.

use super::bucket::{Array, BITS_MAX, Bucket, Retired, Root, SLOTS, overflow};
use super::key::{Hash, Key};
use super::{MISS, Sessions};
use crate::epoch::{Domain, RetireList};
use crate::lanes::Lanes;
use crate::memory::count;
use machine::narrow::{at_most, half, place};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// Entries that a table may be made for at most.
pub const ENTRIES_MAX: usize = 1 << 27;
/// Entries of a shard when the table is full.
const SHARD_ENTRIES: usize = 65_536;
/// Entries for each primary bucket before a shard grows.
const LOAD_MAX: usize = 4;
/// Bits of a new shard.
const BITS_FIRST: u32 = 3;
/// Cleared slots that wait for one end of an epoch together.
const CLEARED_MAX: usize = 256;
/// Arrays that may wait for readers at once: more means that a reader does not quiesce.
const WAITING_MAX: usize = 256;

/// Why an entry was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The table holds as many entries as it was made for.
    Full,
    /// Too much of what was taken out still waits for a reader that does not quiesce.
    Waiting,
    /// The value is [`MISS`], which means "not there".
    Value,
}

/// A slot that was cleared, and in which generation of its shard.
struct Cleared {
    shard: u32,
    generation: u32,
    bucket: u32,
    slot: u8,
}

/// What only the writer knows of a shard.
struct Side {
    entries: usize,
    overflows: usize,
    generation: u32,
    /// Slots of each bucket that were cleared and may still be looked at.
    held: Vec<u8>,
}

impl Side {
    fn new(bits: u32, generation: u32) -> Self {
        let held = vec![0; (1 << bits) + overflow(bits)];
        Self { entries: 0, overflows: 0, generation, held }
    }
}

/// The writer: what it changes, workers see with their next lookup.
pub struct SessionWriter<const W: usize> {
    sessions: Arc<Sessions<W>>,
    sides: Vec<Side>,
    entries: usize,
    entries_max: usize,
    cleared: Vec<Cleared>,
    waiting_slots: RetireList<Vec<Cleared>>,
    waiting_arrays: RetireList<Retired<W>>,
}

impl<const W: usize> SessionWriter<W> {
    /// An empty table for `entries_max` entries (at most [`ENTRIES_MAX`]). The seed should be
    /// secret where outsiders choose keys.
    ///
    /// # Panics
    /// When the kernel gives no memory for an empty table.
    #[must_use]
    pub fn new(domain: &Arc<Domain>, entries_max: usize, seed: u64) -> Self {
        Self::with_lanes(domain, entries_max, seed, Lanes::best())
    }

    /// As [`SessionWriter::new`], looked up by the given kind of code.
    ///
    /// # Panics
    /// When the kernel gives no memory for an empty table.
    #[must_use]
    pub fn with_lanes(domain: &Arc<Domain>, entries_max: usize, seed: u64, lanes: Lanes) -> Self {
        let entries_max = entries_max.clamp(1, ENTRIES_MAX);
        let shards = entries_max.div_ceil(SHARD_ENTRIES).next_power_of_two();
        let empty = || Array::new(BITS_FIRST).expect("memory for an empty table");
        let sessions = Sessions {
            domain: Arc::clone(domain),
            hash: Hash::new(seed),
            lanes,
            shards: (0..shards).map(|_| Root::new(empty())).collect(),
            left: Mutex::default(),
        };
        Self {
            sessions: Arc::new(sessions),
            sides: (0..shards).map(|_| Side::new(BITS_FIRST, 0)).collect(),
            entries: 0,
            entries_max,
            cleared: Vec::new(),
            waiting_slots: RetireList::new(domain),
            waiting_arrays: RetireList::new(domain),
        }
    }

    /// What workers look up in.
    #[must_use]
    pub fn sessions(&self) -> Arc<Sessions<W>> {
        Arc::clone(&self.sessions)
    }

    /// Entries in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The value of a key as the writer knows it.
    #[must_use]
    pub fn value(&self, key: &Key<W>) -> Option<u32> {
        let hash = self.sessions.hash.of(key);
        let (buckets, bucket, slot) = self.place(hash, key)?;
        Some(half(buckets[bucket].heads[slot].load(Ordering::Relaxed)))
    }

    /// Sets the value of a key, new or not; hands out the value it had.
    ///
    /// # Errors
    /// [`Refused`] when there is no room for a new key, or the value may not be.
    pub fn insert(&mut self, key: &Key<W>, value: u32) -> Result<Option<u32>, Refused> {
        if value == MISS {
            return Err(Refused::Value);
        }
        let hash = self.sessions.hash.of(key);
        let head = u64::from(Hash::tag(hash)) << 32 | u64::from(value);
        if let Some((buckets, bucket, slot)) = self.place(hash, key) {
            let old = buckets[bucket].heads[slot].swap(head, Ordering::Release);
            return Ok(Some(half(old)));
        }
        if self.entries >= self.entries_max {
            return Err(Refused::Full);
        }
        let shard = self.shard(hash);
        // SAFETY: this is the writer; the borrow ends before the shard is replaced.
        let (_, bits) = unsafe { self.sessions.shards[shard].array() }.buckets();
        let crowded = self.sides[shard].entries >= LOAD_MAX << bits && bits < BITS_MAX;
        if crowded || !self.put(hash, key, head) {
            self.grow(shard, bits)?;
            if !self.put(hash, key, head) {
                self.grow(shard, bits + 1)?;
                if !self.put(hash, key, head) {
                    return Err(Refused::Full);
                }
            }
        }
        self.sides[shard].entries += 1;
        self.entries += 1;
        Ok(None)
    }

    /// Takes a key out; hands out the value it had.
    pub fn remove(&mut self, key: &Key<W>) -> Option<u32> {
        let hash = self.sessions.hash.of(key);
        let (buckets, bucket, slot) = self.place(hash, key)?;
        let old = buckets[bucket].heads[slot].swap(0, Ordering::Release);
        let shard = self.shard(hash);
        let side = &mut self.sides[shard];
        side.held[bucket] |= 1 << slot;
        side.entries -= 1;
        self.entries -= 1;
        let generation = side.generation;
        let (shard, bucket, slot) = (place(shard), place(bucket), at_most(slot as u64, u8::MAX));
        self.cleared.push(Cleared { shard, generation, bucket, slot });
        if self.cleared.len() >= CLEARED_MAX {
            self.reclaim();
        }
        Some(half(old))
    }

    /// Calls `each` with every entry, in no order.
    pub fn for_each(&self, mut each: impl FnMut(&Key<W>, u32)) {
        for root in &self.sessions.shards {
            // SAFETY: this is the writer, borrowed for the whole walk.
            let (buckets, _) = unsafe { root.array() }.buckets();
            for (bucket, slot) in buckets.iter().flat_map(|b| (0..SLOTS).map(move |s| (b, s))) {
                let head = bucket.heads[slot].load(Ordering::Relaxed);
                if head != 0 {
                    each(&bucket.key(slot), half(head));
                }
            }
        }
    }

    /// Makes usable again what no reader can hold any more. Inserts and removals do it now and
    /// then; a writer that rests may call it to give memory back.
    pub fn reclaim(&mut self) {
        if !self.cleared.is_empty() {
            self.waiting_slots.retire(std::mem::take(&mut self.cleared));
        }
        let sides = &mut self.sides;
        self.waiting_slots.free(|slots| {
            for slot in slots {
                let side = &mut sides[slot.shard as usize];
                if side.generation == slot.generation {
                    side.held[slot.bucket as usize] &= !(1 << slot.slot);
                }
            }
        });
        // SAFETY: the list hands out what no reader can hold any more.
        self.waiting_arrays.free(|array| unsafe { array.free() });
    }

    fn shard(&self, hash: u64) -> usize {
        (hash >> 48) as usize & (self.sides.len() - 1)
    }

    /// Where a key stands: the buckets of its shard, the bucket's place and the slot.
    fn place(&self, hash: u64, key: &Key<W>) -> Option<(&[Bucket<W>], usize, usize)> {
        // SAFETY: this is the writer, and the borrow of `self` keeps it from replacing the shard.
        let (buckets, bits) = unsafe { self.sessions.shards[self.shard(hash)].array() }.buckets();
        let mut at = (hash >> 32) as usize & ((1 << bits) - 1);
        loop {
            let bucket = &buckets[at];
            let mut slots = bucket.tagged(Hash::tag(hash));
            while slots != 0 {
                let slot = slots.trailing_zeros() as usize;
                if bucket.key(slot) == *key {
                    return Some((buckets, at, slot));
                }
                slots &= slots - 1;
            }
            match count(bucket.link.load(Ordering::Relaxed)) {
                0 => return None,
                link => at += link,
            }
        }
    }

    /// Puts a new key into the first slot of its chain that is free, and lengthens the chain by
    /// an overflow bucket if need be; false if there is none left.
    fn put(&mut self, hash: u64, key: &Key<W>, head: u64) -> bool {
        let shard = self.shard(hash);
        // SAFETY: this is the writer; the shard is not replaced in this function.
        let (buckets, bits) = unsafe { self.sessions.shards[shard].array() }.buckets();
        let side = &mut self.sides[shard];
        put(buckets, bits, side, hash, key, head)
    }

    /// Builds a shard anew beside the old one, of `bits` at least and twice as large if it was
    /// crowded, and publishes it.
    fn grow(&mut self, shard: usize, bits: u32) -> Result<(), Refused> {
        if self.waiting_arrays.len() >= WAITING_MAX {
            self.reclaim();
        }
        if self.waiting_arrays.len() >= WAITING_MAX {
            return Err(Refused::Waiting);
        }
        // SAFETY: this is the writer; the borrow ends before the shard is replaced.
        let (old, old_bits) = unsafe { self.sessions.shards[shard].array() }.buckets();
        let entries = self.sides[shard].entries;
        // Half the load at which it grows: what fills it otherwise are slots that wait.
        let crowded = entries * 2 >= LOAD_MAX << old_bits;
        let first = if crowded { old_bits + 1 } else { old_bits };
        for bits in first.max(bits)..=BITS_MAX {
            let array = Array::new(bits).map_err(|_| Refused::Full)?;
            let mut side = Side::new(bits, self.sides[shard].generation.wrapping_add(1));
            let (new, _) = array.buckets();
            if copy(old, new, bits, &mut side, self.sessions.hash) {
                side.entries = entries;
                self.sides[shard] = side;
                let retired = self.sessions.shards[shard].replace(array);
                self.waiting_arrays.retire(retired);
                self.reclaim();
                return Ok(());
            }
        }
        Err(Refused::Full)
    }
}

impl<const W: usize> Drop for SessionWriter<W> {
    fn drop(&mut self) {
        self.reclaim();
        // What readers may still hold stays as long as the table does.
        let mut left = self.sessions.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.extend(self.waiting_arrays.take());
    }
}

/// Copies every entry of `old` into the empty array `new`; false if its overflow does not do.
fn copy<const W: usize>(
    old: &[Bucket<W>],
    new: &[Bucket<W>],
    bits: u32,
    side: &mut Side,
    hash: Hash,
) -> bool {
    let slots = old.iter().flat_map(|bucket| (0..SLOTS).map(move |slot| (bucket, slot)));
    slots.into_iter().all(|(bucket, slot)| {
        let head = bucket.heads[slot].load(Ordering::Relaxed);
        let key = bucket.key(slot);
        head == 0 || put(new, bits, side, hash.of(&key), &key, head)
    })
}

/// See [`SessionWriter::put`].
fn put<const W: usize>(
    buckets: &[Bucket<W>],
    bits: u32,
    side: &mut Side,
    hash: u64,
    key: &Key<W>,
    head: u64,
) -> bool {
    let mut at = (hash >> 32) as usize & ((1 << bits) - 1);
    loop {
        let (bucket, held) = (&buckets[at], side.held[at]);
        let empty = |slot: &usize| bucket.heads[*slot].load(Ordering::Relaxed) == 0;
        if let Some(slot) = (0..SLOTS).find(|slot| held & 1 << slot == 0 && empty(slot)) {
            bucket.fill(slot, key, head);
            return true;
        }
        let link = count(bucket.link.load(Ordering::Relaxed));
        if link != 0 {
            at += link;
        } else if side.overflows < overflow(bits) {
            let next = (1 << bits) + side.overflows;
            side.overflows += 1;
            buckets[next].fill(0, key, head);
            bucket.link.store((next - at) as u64, Ordering::Release);
            return true;
        } else {
            return false;
        }
    }
}
