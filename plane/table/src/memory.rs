//! Memory of cache lines that readers share with one writer: reserved at once and filled by the
//! kernel as it is touched, on huge pages where the kernel has them, so that a lookup seldom waits
//! for a page table. Lines are taken by size and come back through [`RetireList`].

use crate::epoch::{Domain, RetireList};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32};

/// Octets of a cache line.
pub(crate) const LINE_BYTES: usize = 64;
/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = LINE_BYTES / 4;
const _: () = assert!(usize::BITS == 64, "tables are larger than smaller machines have memory");

/// A number that is a place in memory or a count of what is there.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "64 bits, asserted")]
pub(crate) const fn count(number: u64) -> usize {
    number as usize
}

/// Retired pieces between two looks at what the readers have left behind.
const RETIRED_STEP: usize = 256;
/// From this size on a region asks for huge pages.
#[cfg(not(miri))]
const HUGE_BYTES: usize = 2 << 20;

/// A table has no memory left: its limit is reached, or the kernel gives no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the table's memory is full")
    }
}

impl std::error::Error for Full {}

/// Zeroed lines at a fixed address, at the beginning of a huge page if there are enough for one.
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    lines: usize,
}

// SAFETY: a region is plain memory; what is written while others read is written atomically.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves lines; they cost nothing until they are touched.
    ///
    /// # Errors
    /// [`Full`] when the kernel gives no memory.
    pub fn new(lines: usize) -> Result<Self, Full> {
        let bytes = lines.max(1) * LINE_BYTES;
        Ok(Self { base: reserve(bytes).ok_or(Full)?, lines: lines.max(1) })
    }

    /// One word.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at < self.lines * LINE_WORDS, "the word is in the region");
        // SAFETY: the word lies in the region, is aligned, and is read and written atomically
        // while it can be found by more than one thread.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().cast::<u32>().add(at)) }
    }

    /// One word, where its place is known to be good.
    ///
    /// # Safety
    /// The word is in the region.
    #[inline]
    pub(crate) unsafe fn known_word(&self, at: usize) -> &AtomicU32 {
        debug_assert!(at < self.lines * LINE_WORDS);
        // SAFETY: as for a word.
        unsafe { AtomicU32::from_ptr(self.base.as_ptr().cast::<u32>().add(at)) }
    }

    /// Two octets, counted in twos.
    #[inline]
    pub(crate) fn half(&self, at: usize) -> &AtomicU16 {
        assert!(at < self.lines * LINE_BYTES / 2, "the octets are in the region");
        // SAFETY: as for a word; a region is used by words, by twos or by octets.
        unsafe { AtomicU16::from_ptr(self.base.as_ptr().cast::<u16>().add(at)) }
    }

    /// One octet.
    #[inline]
    pub(crate) fn octet(&self, at: usize) -> &AtomicU8 {
        assert!(at < self.lines * LINE_BYTES, "the octet is in the region");
        // SAFETY: as for a word; a region is used by words, by twos or by octets.
        unsafe { AtomicU8::from_ptr(self.base.as_ptr().add(at)) }
    }

    /// The first octet.
    #[must_use]
    pub const fn start(&self) -> NonNull<u8> {
        self.base
    }

    /// The first octet.
    #[inline]
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }
}

#[cfg(not(miri))]
fn reserve(bytes: usize) -> Option<NonNull<u8>> {
    // Room to begin at a huge page.
    let room = bytes + if bytes >= HUGE_BYTES { HUGE_BYTES } else { 0 };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping without a wish for its address touches nothing that exists.
    let mapped = unsafe { libc::mmap(std::ptr::null_mut(), room, access, kind, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    let mapped = NonNull::new(mapped.cast::<u8>())?;
    if room == bytes {
        return Some(mapped);
    }
    let before = mapped.align_offset(HUGE_BYTES);
    // SAFETY: `before` is below HUGE_BYTES; the parts that are given back are in the mapping and
    // nobody has them; the advice changes no content.
    unsafe {
        let start = mapped.add(before);
        if before > 0 {
            libc::munmap(mapped.as_ptr().cast(), before);
        }
        if HUGE_BYTES > before {
            libc::munmap(start.add(bytes).as_ptr().cast(), HUGE_BYTES - before);
        }
        libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
        Some(start)
    }
}

#[cfg(not(miri))]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is this region's own, and nobody borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.lines * LINE_BYTES) };
    }
}

#[cfg(miri)]
fn reserve(bytes: usize) -> Option<NonNull<u8>> {
    let layout = std::alloc::Layout::from_size_align(bytes, LINE_BYTES).ok()?;
    // SAFETY: the size is not zero.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })
}

#[cfg(miri)]
impl Drop for Region {
    fn drop(&mut self) {
        let layout = std::alloc::Layout::from_size_align(self.lines * LINE_BYTES, LINE_BYTES);
        // SAFETY: it was allocated with this layout.
        unsafe { std::alloc::dealloc(self.base.as_ptr(), layout.expect("as it was taken")) };
    }
}

/// Which of the sizes that its user has.
pub(crate) type Size = usize;

/// The writer's half of a region: which lines are taken.
pub(crate) struct Lines {
    region: Arc<Region>,
    /// Lines of each size.
    sizes: &'static [u32],
    free: Vec<Vec<u32>>,
    /// The first line that was never taken.
    fresh: usize,
    retired: RetireList<(u32, Size)>,
    taken: usize,
}

impl Lines {
    /// All lines of a new region but the first are to be had: 0 is nobody's.
    pub(crate) fn new(
        domain: &Arc<Domain>,
        lines: usize,
        sizes: &'static [u32],
    ) -> Result<Self, Full> {
        let region = Arc::new(Region::new(lines)?);
        let free = vec![Vec::new(); sizes.len()];
        Ok(Self { region, sizes, free, fresh: 1, retired: RetireList::new(domain), taken: 0 })
    }

    /// The memory.
    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// Whether as many lines were never taken.
    pub(crate) fn has(&self, lines: usize) -> bool {
        self.region.lines - self.fresh >= lines
    }

    /// Lines of a size, with any content.
    pub(crate) fn take(&mut self, size: Size) -> Result<u32, Full> {
        let lines = self.sizes[size] as usize;
        let line = match self.free[size].pop() {
            Some(line) => line,
            None if self.has(lines) => {
                self.fresh += lines;
                u32::try_from(self.fresh - lines).map_err(|_| Full)?
            }
            None => return Err(Full),
        };
        self.taken += lines;
        Ok(line)
    }

    /// Gives back what readers may still hold.
    pub(crate) fn retire(&mut self, line: u32, size: Size) {
        self.taken -= self.sizes[size] as usize;
        self.retired.retire((line, size));
        if self.retired.len().is_multiple_of(RETIRED_STEP) {
            self.recycle();
        }
    }

    /// Gives back what no reader has seen.
    pub(crate) fn give_back(&mut self, line: u32, size: Size) {
        self.taken -= self.sizes[size] as usize;
        self.free[size].push(line);
    }

    /// Makes what no reader can hold any more free to be taken.
    pub(crate) fn recycle(&mut self) {
        let free = &mut self.free;
        self.retired.free(|(line, size)| free[size].push(line));
    }

    /// Octets that are taken now.
    pub(crate) fn bytes(&self) -> usize {
        self.taken * LINE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_again_once_no_reader_can_hold_it() {
        let domain = Domain::new();
        let mut reader = domain.reader().unwrap();
        let mut lines = Lines::new(&domain, 64, &[1, 3]).unwrap();
        let (one, three) = (lines.take(0).unwrap(), lines.take(1).unwrap());
        assert_eq!((one, three, lines.bytes()), (1, 2, 256));
        lines.retire(three, 1);
        lines.recycle();
        assert_eq!(lines.take(1), Ok(5), "a reader may hold it");
        reader.quiesce();
        lines.recycle();
        assert_eq!(lines.take(1), Ok(2));
        assert!(lines.has(56) && !lines.has(57));
        assert_eq!((0..57).filter(|_| lines.take(0).is_ok()).count(), 56);
        lines.give_back(one, 0);
        assert_eq!(lines.take(0), Ok(one));
    }
}
