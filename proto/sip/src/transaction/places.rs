//! Where server transactions are: by hash, open addressing with linear probing.
//!
//! A place holds all 32 bits of the hash beside the index, so that a request that is new costs
//! one look into this table and none into the transactions, which are elsewhere in memory.
//! Removing moves the followers up (Knuth, The Art of Computer Programming 3, §6.4, algorithm R).

/// Places of an empty table.
const PLACES_MIN: usize = 1024;

/// Index and hash of each transaction.
#[derive(Debug)]
pub(super) struct Places {
    /// Hash in the upper half, index plus one in the lower; zero is free. A power of two of them.
    places: Box<[u64]>,
    len: usize,
}

impl Places {
    pub(super) fn new() -> Self {
        Self { places: vec![0; PLACES_MIN].into(), len: 0 }
    }

    const fn mask(&self) -> usize {
        self.places.len() - 1
    }

    /// The first index under `hash` that `is_it` knows.
    #[inline]
    pub(super) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = hash as usize & self.mask();
        loop {
            let place = self.places[at];
            let index = (place as u32).checked_sub(1)?;
            if (place >> 32) as u32 == hash && is_it(index) {
                return Some(index);
            }
            at = (at + 1) & self.mask();
        }
    }

    pub(super) fn insert(&mut self, hash: u32, index: u32) {
        if 4 * (self.len + 1) > 3 * self.places.len() {
            self.double();
        }
        self.put(u64::from(hash) << 32 | u64::from(index + 1));
        self.len += 1;
    }

    fn put(&mut self, place: u64) {
        let mut at = (place >> 32) as usize & self.mask();
        while self.places[at] != 0 {
            at = (at + 1) & self.mask();
        }
        self.places[at] = place;
    }

    /// Some 10 ns for each transaction, once for each time that their number doubles.
    fn double(&mut self) {
        let twice = vec![0; 2 * self.places.len()].into();
        for place in core::mem::replace(&mut self.places, twice) {
            if place != 0 {
                self.put(place);
            }
        }
    }

    pub(super) fn remove(&mut self, hash: u32, index: u32) {
        let sought = u64::from(hash) << 32 | u64::from(index + 1);
        let mut hole = hash as usize & self.mask();
        while self.places[hole] != sought {
            if self.places[hole] == 0 {
                return;
            }
            hole = (hole + 1) & self.mask();
        }
        self.len -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask();
            let place = self.places[at];
            if place == 0 {
                break;
            }
            let home = (place >> 32) as usize & self.mask();
            // One that would stand before its home if it moved up stays.
            if at.wrapping_sub(home) & self.mask() >= at.wrapping_sub(hole) & self.mask() {
                self.places[hole] = place;
                hole = at;
            }
        }
        self.places[hole] = 0;
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
        assert!(places.len == 0 && places.places.iter().all(|&place| place == 0));
    }
}
