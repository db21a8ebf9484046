//! A vector in groups of one key each (a port), so that what is done for a key is done once
//! for all its packets.

use crate::{Meta, Pool, Slot, VECTOR_MAX};
use table::lanes::Lanes;

/// A group of fewer packets costs more to gather than to tell packet by packet.
const FEW: usize = 8;
/// So many groups of fewer than [`FEW`] packets, and the rest of the vector is told packet by
/// packet: it is one of many keys.
const FEW_MAX: usize = 3;
/// Packets that one instruction looks at.
const WIDTH: usize = 16;

/// A vector that is told group by group.
pub struct Groups {
    lanes: Lanes,
    keys: [u32; VECTOR_MAX],
    slots: [Slot; VECTOR_MAX],
    /// Those that no group had yet, a bit each.
    left: [u16; VECTOR_MAX / WIDTH],
    /// Words of it that are done.
    done: usize,
    /// Groups of few so far.
    few: usize,
    /// The slots of the group that is told; room for a whole vector register behind them.
    same: [Slot; VECTOR_MAX + WIDTH],
}

/// Packets of one key, in the order in which they stood in the vector.
#[derive(Debug, PartialEq, Eq)]
pub struct Group<'a> {
    /// Their key.
    pub key: u32,
    /// Their cells.
    pub slots: &'a [Slot],
}

impl Default for Groups {
    fn default() -> Self {
        Self::with_lanes(Lanes::best())
    }
}

impl Groups {
    /// With these instructions, which the processor must have ([`Lanes::all`]).
    ///
    /// # Panics
    /// When it has not.
    #[must_use]
    pub fn with_lanes(lanes: Lanes) -> Self {
        assert!(Lanes::all().contains(&lanes), "the machine has such vectors");
        Self {
            lanes,
            keys: [0; VECTOR_MAX],
            slots: [Slot(0); VECTOR_MAX],
            left: [0; VECTOR_MAX / WIDTH],
            done: 0,
            few: 0,
            same: [Slot(0); VECTOR_MAX + WIDTH],
        }
    }

    /// Takes a vector, and the key of each packet. What was left of the one before is forgotten.
    ///
    /// # Panics
    /// When it holds more than [`VECTOR_MAX`] packets.
    #[inline]
    pub fn take(&mut self, batch: &[Slot], packets: &Pool, key: impl Fn(&Meta) -> u32) {
        self.slots[..batch.len()].copy_from_slice(batch);
        for (slot, place) in batch.iter().zip(&mut self.keys) {
            *place = key(packets.meta(*slot));
        }
        for (at, left) in self.left.iter_mut().enumerate() {
            let here = batch.len().saturating_sub(at * WIDTH).min(WIDTH);
            // WIDTH lanes, a bit each.
            *left = if here == WIDTH { u16::MAX } else { (1 << here) - 1 };
        }
        (self.done, self.few) = (0, 0);
    }

    /// The next group: that of the first packet that none had yet.
    #[inline]
    pub fn next_group(&mut self) -> Option<Group<'_>> {
        while *self.left.get(self.done)? == 0 {
            self.done += 1;
        }
        let word = self.done;
        let at = word * WIDTH + self.left[word].trailing_zeros() as usize;
        let key = self.keys[at];
        if self.few == FEW_MAX {
            self.left[word] &= self.left[word] - 1;
            return Some(Group { key, slots: &self.slots[at..=at] });
        }
        let count = match self.lanes {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: `with_lanes` saw that the processor has AVX-512 F.
            Lanes::Avx512 => unsafe { self.gather_avx512(key) },
            _ => self.gather(key),
        };
        self.few += usize::from(count < FEW);
        Some(Group { key, slots: &self.same[..count] })
    }

    /// Moves what has the key into `same`: how many.
    fn gather(&mut self, key: u32) -> usize {
        let mut count = 0;
        for word in self.done..self.left.len() {
            let mut left = self.left[word];
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                let at = word * WIDTH + bit;
                // Without a branch: whose the next one is is anybody's guess.
                let is_same = u16::from(self.keys[at] == key);
                self.same[count] = self.slots[at];
                count += usize::from(is_same);
                self.left[word] &= !(is_same << bit);
            }
        }
        count
    }

    /// As [`Self::gather`].
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx512f,popcnt")]
    fn gather_avx512(&mut self, key: u32) -> usize {
        use std::arch::x86_64::{
            _mm512_cmpeq_epi32_mask, _mm512_loadu_si512, _mm512_maskz_compress_epi32,
            _mm512_set1_epi32, _mm512_storeu_si512,
        };
        let wanted = _mm512_set1_epi32(key.cast_signed());
        let mut count = 0;
        for word in self.done..self.left.len() {
            let at = word * WIDTH;
            // SAFETY: sixteen words from `at` on, which is below 256 in steps of sixteen; `count`
            // is at most 256, and `same` has sixteen places more.
            unsafe {
                let keys = _mm512_loadu_si512(self.keys.as_ptr().add(at).cast());
                let same = _mm512_cmpeq_epi32_mask(keys, wanted) & self.left[word];
                let slots = _mm512_loadu_si512(self.slots.as_ptr().add(at).cast());
                let slots = _mm512_maskz_compress_epi32(same, slots);
                _mm512_storeu_si512(self.same.as_mut_ptr().add(count).cast(), slots);
                self.left[word] &= !same;
                count += same.count_ones() as usize;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::STRIDE;

    /// What a list of lists would tell.
    fn naive(mut left: Vec<(u32, Slot)>) -> Vec<(u32, Vec<Slot>)> {
        let (mut told, mut few) = (Vec::new(), 0);
        while let Some((key, slot)) = left.first().copied() {
            if few == FEW_MAX {
                told.push((key, vec![slot]));
                left.remove(0);
                continue;
            }
            let same: Vec<_> = left.extract_if(.., |it| it.0 == key).collect();
            few += usize::from(same.len() < FEW);
            told.push((key, same.iter().map(|it| it.1).collect()));
        }
        told
    }

    #[test]
    fn groups_are_those_of_lists() {
        let mut state = 1_u64;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32 % below
        };
        let mut pool = Pool::new(VECTOR_MAX, STRIDE);
        for lanes in Lanes::all() {
            let mut groups = Groups::with_lanes(lanes);
            for _ in 0..500 {
                let (count, keys) = (1 + random(VECTOR_MAX as u32), 1 + random(40));
                let batch: Vec<Slot> = (0..count).filter_map(|_| pool.take()).collect();
                let vector: Vec<_> = batch.iter().map(|slot| (random(keys), *slot)).collect();
                for (key, slot) in &vector {
                    pool.meta_mut(*slot).transmit = *key;
                }
                groups.take(&batch, &pool, |meta| meta.transmit);
                let mut told = Vec::new();
                while let Some(group) = groups.next_group() {
                    told.push((group.key, group.slots.to_vec()));
                }
                assert_eq!(told, naive(vector), "{lanes:?}");
                pool.free_all(&batch);
            }
        }
    }
}
