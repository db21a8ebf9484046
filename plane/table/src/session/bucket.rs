//! A bucket of seven slots, and the arrays of buckets that the directory points to.

use super::MISS;
use super::key::Key;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Slots of a bucket; the eighth head is the link to an overflow bucket.
pub(super) const SLOTS: usize = 7;

/// One line of heads, then the keys. A head is `tag << 32 | value`, 0 while the slot is empty.
#[repr(C, align(64))]
pub(super) struct Bucket<const W: usize> {
    pub(super) heads: [AtomicU64; SLOTS],
    /// How many buckets further in the array the chain goes on; 0 at its end.
    pub(super) link: AtomicU64,
    pub(super) keys: [[AtomicU64; W]; SLOTS],
}

impl<const W: usize> Bucket<W> {
    pub(super) fn empty() -> Self {
        Self {
            heads: [const { AtomicU64::new(0) }; SLOTS],
            link: AtomicU64::new(0),
            keys: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
        }
    }

    /// The key of a slot whose head was seen set.
    #[inline(always)]
    pub(super) fn key(&self, slot: usize) -> Key<W> {
        Key(std::array::from_fn(|word| self.keys[slot][word].load(Ordering::Relaxed)))
    }

    /// Fills a slot that no reader can be looking at: the key first, then the head.
    pub(super) fn fill(&self, slot: usize, key: &Key<W>, head: u64) {
        for (place, word) in self.keys[slot].iter().zip(key.0) {
            place.store(word, Ordering::Relaxed);
        }
        self.heads[slot].store(head, Ordering::Release);
    }

    /// The slots whose head has this tag, as bits. What is found is only a hint: the head is
    /// read again before it counts.
    #[inline(always)]
    pub(super) fn tagged(&self, tag: u32) -> u32 {
        let heads = self.heads.iter().enumerate();
        heads.fold(0, |bits, (slot, head)| {
            bits | u32::from((head.load(Ordering::Relaxed) >> 32) as u32 == tag) << slot
        })
    }

    /// As [`Bucket::tagged`], in one comparison.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2")]
    #[inline]
    pub(super) fn tagged_avx512(&self, tag: u32) -> u32 {
        use std::arch::asm;
        use std::arch::x86_64::{_mm512_cmpeq_epi64_mask, _mm512_set1_epi64, _mm512_srli_epi64};
        let line;
        // SAFETY: reads the 64 bytes of heads and link, aligned. It is assembly because a writer
        // may store to them meanwhile: each word is read whole, as by eight relaxed loads.
        unsafe {
            asm!(
                "vmovdqa64 {line}, [{place}]",
                line = out(zmm_reg) line,
                place = in(reg) self.heads.as_ptr(),
                options(nostack, preserves_flags, readonly),
            );
        }
        let same = _mm512_cmpeq_epi64_mask(
            _mm512_srli_epi64::<32>(line),
            _mm512_set1_epi64(i64::from(tag)),
        );
        u32::from(same) & 0x7F
    }

    /// As [`Bucket::tagged`], in two comparisons.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    pub(super) fn tagged_avx2(&self, tag: u32) -> u32 {
        use std::arch::asm;
        use std::arch::x86_64::{
            _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_movemask_pd, _mm256_set1_epi64x,
            _mm256_srli_epi64,
        };
        let (low, high);
        // SAFETY: as for AVX-512, in two halves.
        unsafe {
            asm!(
                "vmovdqa {low}, [{place}]",
                "vmovdqa {high}, [{place} + 32]",
                low = out(ymm_reg) low,
                high = out(ymm_reg) high,
                place = in(reg) self.heads.as_ptr(),
                options(nostack, preserves_flags, readonly),
            );
        }
        let tag = _mm256_set1_epi64x(i64::from(tag));
        let same = |half| {
            let same = _mm256_cmpeq_epi64(_mm256_srli_epi64::<32>(half), tag);
            _mm256_movemask_pd(_mm256_castsi256_pd(same)) as u32
        };
        (same(low) | same(high) << 4) & 0x7F
    }

    /// The value of `key` in the chain that begins at `place`, [`MISS`] if it is not there.
    ///
    /// # Safety
    /// `place` points into an array of a shard that is not freed during the call.
    #[inline(always)]
    pub(super) unsafe fn value(
        mut place: *const Self,
        key: &Key<W>,
        tag: u32,
        tagged: &impl Fn(&Self, u32) -> u32,
    ) -> u32 {
        loop {
            // SAFETY: the caller's promise; links stay inside the array.
            let bucket = unsafe { &*place };
            let mut slots = tagged(bucket, tag);
            while slots != 0 {
                let slot = slots.trailing_zeros() as usize % SLOTS;
                let head = bucket.heads[slot].load(Ordering::Acquire);
                if (head >> 32) as u32 == tag && bucket.key(slot) == *key {
                    return head as u32;
                }
                slots &= slots - 1;
            }
            let link = bucket.link.load(Ordering::Acquire);
            if link == 0 {
                return MISS;
            }
            // SAFETY: a link leads to a later bucket of the same array.
            place = unsafe { place.add(link as usize) };
        }
    }
}

/// The place of a shard in the directory: a pointer to its buckets, with the number of bits of
/// its primary part in the low bits that the alignment leaves free.
pub(super) struct Root<const W: usize>(AtomicPtr<Bucket<W>>);

/// A shard's array taken out of the directory. Dropped, it leaks: only [`Retired::free`] frees.
pub(super) struct Retired<const W: usize>(*mut Bucket<W>, u32);

// SAFETY: whoever has it is the only one that may free it; buckets are atomics.
unsafe impl<const W: usize> Send for Retired<W> {}

/// The most bits of a shard's primary part: 65,536 buckets.
pub(super) const BITS_MAX: u32 = 16;

/// Overflow buckets behind the primary part of `1 << bits`.
pub(super) const fn overflow(bits: u32) -> usize {
    (1 << bits) / 8 + 2
}

impl<const W: usize> Retired<W> {
    /// Frees the array.
    ///
    /// # Safety
    /// No reader can hold a bucket of it.
    pub(super) unsafe fn free(self) {
        let length = (1 << self.1) + overflow(self.1);
        let slice = std::ptr::slice_from_raw_parts_mut(self.0, length);
        // SAFETY: the pointer came from a Box of this length, and `Retired` is not copied.
        drop(unsafe { Box::from_raw(slice) });
    }
}

impl<const W: usize> Root<W> {
    /// An empty shard of `1 << bits` primary buckets.
    pub(super) fn new(bits: u32) -> Self {
        Self(AtomicPtr::new(Self::array(bits)))
    }

    fn array(bits: u32) -> *mut Bucket<W> {
        let length = (1 << bits) + overflow(bits);
        let array: Box<[Bucket<W>]> = (0..length).map(|_| Bucket::empty()).collect();
        let first = Box::into_raw(array).cast::<Bucket<W>>();
        first.map_addr(|address| address | bits as usize)
    }

    fn parts(pointer: *mut Bucket<W>) -> (*mut Bucket<W>, u32) {
        let bits = pointer.addr() as u32 & 63;
        (pointer.map_addr(|address| address & !63), bits)
    }

    /// The bucket of a hash.
    #[inline(always)]
    pub(super) fn bucket(&self, hash: u64) -> *const Bucket<W> {
        let (first, bits) = Self::parts(self.0.load(Ordering::Acquire));
        let at = (hash >> 32) as usize & ((1 << bits) - 1);
        // SAFETY: the array has at least `1 << bits` buckets.
        unsafe { first.add(at) }
    }

    /// All buckets and the bits of the primary part, for the writer.
    ///
    /// # Safety
    /// Only the writer of the table calls it, and drops the borrow before it replaces the shard.
    pub(super) unsafe fn buckets(&self) -> (&[Bucket<W>], u32) {
        let (first, bits) = Self::parts(self.0.load(Ordering::Relaxed));
        // SAFETY: the array has this length; only the writer replaces it.
        (unsafe { std::slice::from_raw_parts(first, (1 << bits) + overflow(bits)) }, bits)
    }

    /// Publishes the array of `new`, and hands out the one that stood here.
    pub(super) fn replace(&self, new: Self) -> Retired<W> {
        let pointer = new.0.load(Ordering::Relaxed);
        std::mem::forget(new);
        let (first, bits) = Self::parts(self.0.swap(pointer, Ordering::AcqRel));
        Retired(first, bits)
    }
}

impl<const W: usize> Drop for Root<W> {
    fn drop(&mut self) {
        let (first, bits) = Self::parts(*self.0.get_mut());
        // SAFETY: `&mut self`: nobody reads any more.
        unsafe { Retired(first, bits).free() };
    }
}
