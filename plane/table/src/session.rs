//! Exact-match tables for millions of sessions: a key of one to five words finds a `u32`.
//!
//! ```text
//!   hash ─┬ bits 48… ─→ shard (directory, grows on its own: at most some 70,000 entries move)
//!         ├ bits 32… ─→ bucket: one line of 7 heads (tag, value) and a link, then 7 keys
//!         └ bits  0… ─→ tag
//! ```
//! One writer changes it in place. A slot that was cleared is used again only when every reader
//! has quiesced since, so a reader that matched a key holds this key's value, whatever happens
//! meanwhile; a shard that grows is built beside the old one and published whole, so a key that
//! stays is found at every moment.

mod bucket;
mod key;
mod writer;

pub use key::Key;
pub use writer::{ENTRIES_MAX, Refused, SessionWriter};

use crate::epoch::{Domain, Reader};
use crate::lanes::{Lanes, prefetch};
use bucket::{Bucket, Retired, Root};
use key::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// What a lookup answers for a key that is not there; no entry may have this value.
pub const MISS: u32 = u32::MAX;

/// Keys whose lines are fetched together.
const BATCH: usize = 64;

/// A table as workers see it. `W` is the length of the key in words of 64 bits.
pub struct Sessions<const W: usize> {
    domain: Arc<Domain>,
    hash: Hash,
    lanes: Lanes,
    shards: Box<[Root<W>]>,
    /// What the writer left when it was dropped, and readers may still hold.
    left: Mutex<Vec<Retired<W>>>,
}

impl<const W: usize> Drop for Sessions<W> {
    fn drop(&mut self) {
        for array in self.left.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: `&mut self`: nobody reads any more.
            unsafe { array.free() };
        }
    }
}

impl<const W: usize> Sessions<W> {
    /// The value of one key.
    ///
    /// # Panics
    /// When the reader belongs to another domain.
    #[must_use]
    pub fn find(&self, reader: &Reader, key: &Key<W>) -> Option<u32> {
        let mut value = [MISS];
        self.lookup(reader, std::slice::from_ref(key), &mut value);
        (value[0] != MISS).then_some(value[0])
    }

    /// The values of `keys` into `values`, [`MISS`] for what is not there.
    ///
    /// # Panics
    /// When the reader belongs to another domain, or the slices differ in length.
    pub fn lookup(&self, reader: &Reader, keys: &[Key<W>], values: &mut [u32]) {
        assert!(reader.reads(&self.domain), "the reader belongs to this table's domain");
        assert_eq!(keys.len(), values.len(), "a value for each key");
        for (keys, values) in keys.chunks(BATCH).zip(values.chunks_mut(BATCH)) {
            match self.lanes {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                // SAFETY: `Lanes` says that this processor has AVX-512.
                Lanes::Avx512 => unsafe { self.batch_avx512(keys, values) },
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                // SAFETY: `Lanes` says that this processor has AVX2.
                Lanes::Avx2 => unsafe { self.batch_avx2(keys, values) },
                _ => self.batch(keys, values, Bucket::tagged),
            }
        }
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2")]
    fn batch_avx512(&self, keys: &[Key<W>], values: &mut [u32]) {
        self.batch(keys, values, |bucket, tag| bucket.tagged_avx512(tag));
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn batch_avx2(&self, keys: &[Key<W>], values: &mut [u32]) {
        self.batch(keys, values, |bucket, tag| bucket.tagged_avx2(tag));
    }

    /// Finds the lines of all keys first, so that the misses of the cache overlap.
    #[inline(always)]
    fn batch(&self, keys: &[Key<W>], values: &mut [u32], tagged: impl Fn(&Bucket<W>, u32) -> u32) {
        let mut places = [(std::ptr::null::<Bucket<W>>(), 0_u32, 0_u32); BATCH];
        for (key, place) in keys.iter().zip(&mut places) {
            let hash = self.hash.of(key);
            // The directory has a power of two of shards.
            let shard = &self.shards[(hash >> 48) as usize & (self.shards.len() - 1)];
            let bucket = shard.bucket(hash);
            prefetch(bucket);
            if W == 1 {
                // All keys of a bucket stand in its second line.
                prefetch(bucket.cast::<u64>().wrapping_add(8));
            }
            *place = (bucket, Hash::tag(hash), 0);
        }
        for (bucket, tag, slots) in &mut places[..keys.len()] {
            // SAFETY: the bucket belongs to a shard that was published when this batch began; it
            // is freed only after this reader quiesces, and `&Reader` is borrowed meanwhile.
            let bucket = unsafe { &**bucket };
            *slots = tagged(bucket, *tag);
            if W > 1 {
                bucket.prefetch_key(*slots);
            }
        }
        for ((key, (bucket, tag, slots)), value) in keys.iter().zip(places).zip(values) {
            // SAFETY: as above.
            *value = unsafe { Bucket::value(bucket, slots, key, tag, &tagged) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A small generator of numbers, so that a seed says everything.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mixed = (*state ^ (*state >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        mixed ^ (mixed >> 29)
    }

    fn key<const W: usize>(number: u64) -> Key<W> {
        Key(std::array::from_fn(|word| if word + 1 == W { number } else { number % 7 }))
    }

    fn follows_a_map<const W: usize>(lanes: Lanes, seed: u64) {
        let domain = Domain::new();
        let mut reader = domain.reader().unwrap();
        let steps = if cfg!(miri) { 400 } else { 60_000 };
        let mut writer = SessionWriter::<W>::with_lanes(&domain, steps / 4, seed, lanes);
        let (sessions, mut map, mut state) = (writer.sessions(), BTreeMap::new(), seed);
        for step in 0..steps {
            let key = key::<W>(next(&mut state) % (steps as u64 / 2));
            let value = next(&mut state) as u32 >> 1;
            if next(&mut state).is_multiple_of(3) {
                assert_eq!(writer.remove(&key), map.remove(&key));
            } else if map.len() < steps / 4 || map.contains_key(&key) {
                assert_eq!(writer.insert(&key, value), Ok(map.insert(key, value)));
            } else {
                assert_eq!(writer.insert(&key, value), Err(Refused::Full));
            }
            if step % 500 == 0 {
                reader.quiesce();
            }
        }
        assert_eq!(writer.len(), map.len());
        let keys: Vec<_> = (0..steps as u64 / 2).map(key::<W>).collect();
        let mut values = vec![0; keys.len()];
        sessions.lookup(&reader, &keys, &mut values);
        for (key, value) in keys.iter().zip(values) {
            assert_eq!(value, map.get(key).copied().unwrap_or(MISS));
            assert_eq!(sessions.find(&reader, key), map.get(key).copied());
        }
        let mut walked = BTreeMap::new();
        writer.for_each(|key, value| assert_eq!(walked.insert(*key, value), None));
        assert_eq!(walked, map);
    }

    #[test]
    fn a_table_says_what_a_map_says_whatever_is_done_to_it() {
        for lanes in Lanes::all() {
            for seed in 0..if cfg!(miri) { 1 } else { 4 } {
                follows_a_map::<1>(lanes, seed);
                follows_a_map::<2>(lanes, seed);
                follows_a_map::<3>(lanes, seed);
                follows_a_map::<5>(lanes, seed);
            }
        }
    }

    #[test]
    fn no_entry_may_have_the_value_that_means_none() {
        let mut writer = SessionWriter::<1>::new(&Domain::new(), 8, 1);
        assert_eq!(writer.insert(&key(1), MISS), Err(Refused::Value));
    }

    /// Keys below `STAY` never leave; the others come, change and go under the readers' eyes.
    fn races<const W: usize>(lanes: Lanes, seed: u64) {
        const STAY: u64 = 50;
        let rounds = if cfg!(miri) { 60 } else { 100_000 };
        let domain = Domain::new();
        let mut writer = SessionWriter::<W>::with_lanes(&domain, 100_000, seed, lanes);
        for number in 0..STAY {
            writer.insert(&key(number), number as u32).unwrap();
        }
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for at in 0..2 {
                let (sessions, mut reader) = (writer.sessions(), domain.reader().unwrap());
                let done = &done;
                scope.spawn(move || {
                    let mut state = seed ^ at;
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        let numbers: [u64; 32] = std::array::from_fn(|at| {
                            next(&mut state) % if at < 16 { STAY } else { 4 * rounds }
                        });
                        let mut values = [0; 32];
                        sessions.lookup(&reader, &numbers.map(key::<W>), &mut values);
                        for (number, value) in numbers.iter().zip(values) {
                            let right = u64::from(value) % (4 * rounds) == *number;
                            assert!(right || value == MISS && *number >= STAY, "{number} {value}");
                        }
                        reader.quiesce();
                    }
                });
            }
            let mut state = seed;
            for _ in 0..rounds {
                let number = STAY + next(&mut state) % (4 * rounds - STAY);
                // The value says the key, and which time it was set.
                let value = number + 4 * rounds * (next(&mut state) % 3);
                if next(&mut state).is_multiple_of(4) {
                    writer.remove(&key(number));
                } else {
                    match writer.insert(&key(number), value as u32) {
                        Ok(_) | Err(Refused::Waiting) => {}
                        Err(refused) => panic!("{refused:?}"),
                    }
                }
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn readers_never_miss_a_key_that_stays_nor_see_the_value_of_another() {
        for lanes in Lanes::all() {
            races::<1>(lanes, 7);
            races::<2>(lanes, 8);
            races::<5>(lanes, 9);
        }
    }
}
