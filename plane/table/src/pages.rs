//! A slice that begins as zeros, on huge pages where it is large: what a lookup goes through at
//! random waits for page tables otherwise.

use crate::memory::{Full, LINE_BYTES, Region};
use std::ops::Deref;

/// From this size on the last page is a huge one, too.
const WHOLE_FROM: usize = 256 << 10;
const HUGE_BYTES: usize = 2 << 20;

/// A type of which all zeros are a value.
///
/// # Safety
/// All zeros are a value of it, it needs an alignment of at most a cache line, and nothing is to
/// be done when it is dropped.
pub(crate) unsafe trait Zeros: Sync {}

// SAFETY: an integer.
unsafe impl Zeros for u64 {}

/// The slice.
pub(crate) struct Pages<T> {
    region: Region,
    length: usize,
    holds: std::marker::PhantomData<T>,
}

impl<T: Zeros> Pages<T> {
    /// A slice of zeros.
    pub(crate) fn new(length: usize) -> Result<Self, Full> {
        let bytes = length.checked_mul(size_of::<T>()).ok_or(Full)?;
        let whole = cfg!(not(miri)) && bytes >= WHOLE_FROM;
        let bytes = if whole { bytes.next_multiple_of(HUGE_BYTES) } else { bytes };
        let region = Region::new(bytes.div_ceil(LINE_BYTES))?;
        Ok(Self { region, length, holds: std::marker::PhantomData })
    }

    /// Its first element, with the right to reach all of them.
    pub(crate) fn first(&self) -> *mut T {
        self.region.base().cast()
    }

    /// All of them, to be written before others see them.
    pub(crate) fn as_mut(&mut self) -> &mut [T] {
        // SAFETY: the region has room for `length`, is aligned to a line, and began as zeros.
        unsafe { std::slice::from_raw_parts_mut(self.first(), self.length) }
    }
}

impl<T: Zeros> Deref for Pages<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: as for `as_mut`.
        unsafe { std::slice::from_raw_parts(self.first(), self.length) }
    }
}
