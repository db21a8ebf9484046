//! Where server transactions are: by hash, open addressing with linear probing.
//!
//! Beside the places stands an octet for each, free or seven bits of the hash, which answers for
//! nearly every request that is new: eight times as many of them fit the processor's caches. The
//! place itself holds all 32 bits of the hash beside the index, so that a look into the
//! transactions, which are elsewhere in memory, is seldom in vain.
//! Removing moves the followers up (Knuth, The Art of Computer Programming 3, §6.4, algorithm R).

use machine::narrow::half;

/// Places of an empty table.
const PLACES_MIN: usize = 1024;
/// The octet of a place that is free.
const FREE: u8 = 0;

/// Index and hash of each transaction.
#[derive(Debug)]
pub(super) struct Places {
    /// [`FREE`], or seven bits of the hash. A power of two of them.
    marks: Box<[u8]>,
    /// Hash in the upper half, index in the lower.
    places: Box<[u64]>,
    len: usize,
}

/// The octet of a hash: of its upper bits, for the lower ones say where it is.
const fn mark(hash: u32) -> u8 {
    (hash >> 25) as u8 | 0x80
}

impl Places {
    pub(super) fn new() -> Self {
        Self::of(PLACES_MIN)
    }

    fn of(count: usize) -> Self {
        Self { marks: vec![FREE; count].into(), places: vec![0; count].into(), len: 0 }
    }

    const fn mask(&self) -> usize {
        self.marks.len() - 1
    }

    /// The first index under `hash` that `is_it` knows.
    #[inline]
    pub(super) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = hash as usize & self.mask();
        loop {
            match self.marks[at] {
                FREE => return None,
                there if there == mark(hash) => {
                    let place = self.places[at];
                    let index = half(place);
                    if (place >> 32) as u32 == hash && is_it(index) {
                        return Some(index);
                    }
                }
                _ => {}
            }
            at = (at + 1) & self.mask();
        }
    }

    pub(super) fn insert(&mut self, hash: u32, index: u32) {
        if 4 * (self.len + 1) > 3 * self.places.len() {
            self.double();
        }
        self.put(u64::from(hash) << 32 | u64::from(index));
    }

    fn put(&mut self, place: u64) {
        let hash = (place >> 32) as u32;
        let mut at = hash as usize & self.mask();
        while self.marks[at] != FREE {
            at = (at + 1) & self.mask();
        }
        self.marks[at] = mark(hash);
        self.places[at] = place;
        self.len += 1;
    }

    /// Some 10 ns for each transaction, once for each time that their number doubles.
    fn double(&mut self) {
        let twice = Self::of(2 * self.places.len());
        let old = core::mem::replace(self, twice);
        for (_, &place) in old.marks.iter().zip(&old.places).filter(|(mark, _)| **mark != FREE) {
            self.put(place);
        }
    }

    pub(super) fn remove(&mut self, hash: u32, index: u32) {
        let sought = u64::from(hash) << 32 | u64::from(index);
        let mut hole = hash as usize & self.mask();
        while self.marks[hole] != mark(hash) || self.places[hole] != sought {
            if self.marks[hole] == FREE {
                return;
            }
            hole = (hole + 1) & self.mask();
        }
        self.len -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask();
            if self.marks[at] == FREE {
                break;
            }
            let home = (self.places[at] >> 32) as usize & self.mask();
            // One that would stand before its home if it moved up stays.
            if at.wrapping_sub(home) & self.mask() >= at.wrapping_sub(hole) & self.mask() {
                (self.marks[hole], self.places[hole]) = (self.marks[at], self.places[at]);
                hole = at;
            }
        }
        self.marks[hole] = FREE;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// A number from another (splitmix64).
    fn mixed(n: u64) -> u64 {
        let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ n >> 31
    }

    #[test]
    fn what_was_put_in_is_found_until_it_is_taken_out() {
        let mut places = Places::new();
        let mut model: HashMap<u32, u32> = HashMap::new();
        for step in 0..200_000u64 {
            let index = (mixed(step) % 5_000) as u32;
            // Few hashes, some at the very end of the table: long chains that wrap around.
            let hash = (mixed(index.into()) % 1_500) as u32 | (0xffff_fc00 * (index % 2));
            if model.remove(&index).is_some() {
                places.remove(hash, index);
            } else {
                places.insert(hash, index);
                model.insert(index, hash);
            }
            assert_eq!(places.find(hash, |at| at == index).is_some(), model.contains_key(&index));
        }
        for (index, hash) in &model {
            assert_eq!(places.find(*hash, |at| at == *index), Some(*index));
        }
        assert_eq!((places.len, places.find(7, |_| false)), (model.len(), None));
        model.drain().for_each(|(index, hash)| places.remove(hash, index));
        assert!(places.len == 0 && places.marks.iter().all(|&mark| mark == FREE));
    }
}
