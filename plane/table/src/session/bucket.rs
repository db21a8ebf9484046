//! A bucket of seven slots, and the arrays of buckets that the directory points to.

use super::MISS;
use super::key::Key;
use crate::lanes::prefetch;
use crate::memory::Full;
use crate::memory::count;
use crate::pages::{Pages, Zeros};
use machine::narrow::half;
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

// SAFETY: integers only, aligned to a line.
unsafe impl<const W: usize> Zeros for Bucket<W> {}

impl<const W: usize> Bucket<W> {
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
                place = in(reg) std::ptr::from_ref(self),
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
                place = in(reg) std::ptr::from_ref(self),
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

    /// Asks for the key of the first slot that may hold it.
    #[inline(always)]
    pub(super) fn prefetch_key(&self, slots: u32) {
        let key = self.keys.as_ptr().wrapping_add(slots.trailing_zeros() as usize % SLOTS);
        prefetch(key);
        // Keys do not begin at lines: the last word may stand in the next one.
        if W > 1 {
            prefetch(key.cast::<u64>().wrapping_add(W - 1));
        }
    }

    /// The value of `key` in the chain that begins at `place`, [`MISS`] if it is not there;
    /// `slots` is what `tagged` said of the first bucket.
    ///
    /// # Safety
    /// `place` points into an array of a shard that is not freed during the call.
    #[inline(always)]
    pub(super) unsafe fn value(
        mut place: *const Self,
        mut slots: u32,
        key: &Key<W>,
        tag: u32,
        tagged: &impl Fn(&Self, u32) -> u32,
    ) -> u32 {
        loop {
            // SAFETY: the caller's promise; links stay inside the array.
            let bucket = unsafe { &*place };
            while slots != 0 {
                let slot = slots.trailing_zeros() as usize % SLOTS;
                let head = bucket.heads[slot].load(Ordering::Acquire);
                if (head >> 32) as u32 == tag && bucket.key(slot) == *key {
                    return half(head);
                }
                slots &= slots - 1;
            }
            let link = bucket.link.load(Ordering::Acquire);
            if link == 0 {
                return MISS;
            }
            // SAFETY: a link leads to a later bucket of the same array.
            unsafe {
                place = place.add(count(link));
                slots = tagged(&*place, tag);
            }
        }
    }
}

/// The buckets of a shard and the bits of the number of its primary ones.
pub(super) struct Array<const W: usize> {
    buckets: Pages<Bucket<W>>,
    bits: u32,
}

/// An array taken out of the directory. Dropped, it leaks: only [`Retired::free`] frees it.
pub(super) struct Retired<const W: usize>(*mut Array<W>);

// SAFETY: whoever has it is the only one that may free it; buckets are atomics.
unsafe impl<const W: usize> Send for Retired<W> {}

impl<const W: usize> Retired<W> {
    /// Frees the array.
    ///
    /// # Safety
    /// No reader can hold a bucket of it.
    pub(super) unsafe fn free(self) {
        // SAFETY: the pointer came from a Box, and `Retired` is not copied.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// The most bits of a shard's primary part.
pub(super) const BITS_MAX: u32 = 17;
/// Bits that a pointer to a bucket leaves free by its alignment.
const FREE_BITS: usize = 63;

/// Overflow buckets behind the primary part of `1 << bits`.
pub(super) const fn overflow(bits: u32) -> usize {
    (1 << bits) / 8 + 2
}

impl<const W: usize> Array<W> {
    /// Empty buckets, `1 << bits` primary ones.
    pub(super) fn new(bits: u32) -> Result<Box<Self>, Full> {
        let buckets = Pages::new((1 << bits) + overflow(bits))?;
        Ok(Box::new(Self { buckets, bits }))
    }

    /// All buckets, and the bits of the primary part.
    pub(super) fn buckets(&self) -> (&[Bucket<W>], u32) {
        (&self.buckets, self.bits)
    }

    /// The first bucket, the bits in the free bits of the pointer.
    fn tagged(&self) -> *mut Bucket<W> {
        self.buckets.first().map_addr(|address| address | self.bits as usize)
    }
}

/// The place of a shard in the directory.
pub(super) struct Root<const W: usize> {
    /// What readers go by: [`Array::tagged`], so that one load finds buckets and their number.
    first: AtomicPtr<Bucket<W>>,
    array: AtomicPtr<Array<W>>,
}

impl<const W: usize> Root<W> {
    /// A shard with this array.
    pub(super) fn new(array: Box<Array<W>>) -> Self {
        let first = AtomicPtr::new(array.tagged());
        Self { first, array: AtomicPtr::new(Box::into_raw(array)) }
    }

    /// The bucket of a hash.
    #[inline(always)]
    pub(super) fn bucket(&self, hash: u64) -> *const Bucket<W> {
        let tagged = self.first.load(Ordering::Acquire);
        let at = (hash >> 32) as usize & ((1 << (tagged.addr() & FREE_BITS)) - 1);
        // SAFETY: the array has at least `1 << bits` buckets.
        unsafe { tagged.map_addr(|address| address & !FREE_BITS).add(at) }
    }

    /// The array, for the writer.
    ///
    /// # Safety
    /// Only the writer of the table calls it, and drops the borrow before it replaces the array.
    pub(super) unsafe fn array(&self) -> &Array<W> {
        // SAFETY: the pointer came from a Box, and only the writer replaces it.
        unsafe { &*self.array.load(Ordering::Relaxed) }
    }

    /// Publishes a new array, and hands out the one that stood here.
    pub(super) fn replace(&self, new: Box<Array<W>>) -> Retired<W> {
        self.first.store(new.tagged(), Ordering::Release);
        Retired(self.array.swap(Box::into_raw(new), Ordering::Relaxed))
    }
}

impl<const W: usize> Drop for Root<W> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: nobody reads any more.
        unsafe { Retired(*self.array.get_mut()).free() };
    }
}
