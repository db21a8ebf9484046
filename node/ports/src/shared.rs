//! Memory that two processes share, and the rings in it.
//!
//! ```text
//!   ring   cookie 4 │ flags 2 │ head 2 │ … │ tail 2 at 64 │ … │ descriptors of 16 from 128 on
//! ```
//! Nothing that the other process writes is believed: each descriptor is read once, and its place
//! checked against the mapping, which its sealed file cannot shrink under.

use super::bell::Interrupt;
use driver::call::check;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU16, AtomicU32, fence};

/// The first word of each ring.
const COOKIE: u32 = 0x03e3_1f20;
const FLAGS_AT: usize = 4;
const HEAD_AT: usize = 6;
const TAIL_AT: usize = 64;
const DESCRIPTORS_AT: usize = 128;
/// The reader of the ring polls: no interrupts.
const MASK_INTERRUPTS: u16 = 1;
/// Octets of a mapping at most, and of all of one connection: offsets have 32 bits.
pub(super) const SEGMENT_MAX: u64 = 4 << 30;

/// The packet goes on in the next descriptor.
pub const NEXT: u16 = 1;

/// Where a piece of a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Descriptor {
    /// [`NEXT`] or nothing.
    pub flags: u16,
    /// The segment that it is in, by number.
    pub region: u16,
    /// Octets.
    pub length: u32,
    /// Where in its segment.
    pub offset: u32,
    /// Of the other side.
    pub metadata: u32,
}

const _: () = assert!(size_of::<Descriptor>() == 16, "as the peers have it");

/// A mapping of shared memory.
#[derive(Debug)]
pub struct Segment {
    start: NonNull<u8>,
    octets: usize,
}

// SAFETY: an address and a length; what stands there is only reached by copies and atomically.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// New memory and the file to share it by, sealed against shrinking.
    ///
    /// # Errors
    /// The kernel's.
    pub fn create(octets: usize) -> io::Result<(Self, OwnedFd)> {
        let flags = libc::MFD_ALLOW_SEALING | libc::MFD_CLOEXEC;
        // SAFETY: plain system calls on a descriptor that is ours alone.
        let fd = unsafe {
            let fd = OwnedFd::from_raw_fd(check(libc::memfd_create(c"memif".as_ptr(), flags))?);
            check(libc::ftruncate(fd.as_raw_fd(), octets as libc::off_t))?;
            check(libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK))?;
            fd
        };
        Ok((Self::map(&fd, octets as u64)?, fd))
    }

    /// Maps memory of another process.
    ///
    /// # Errors
    /// The kernel's; `InvalidData`: it could shrink under us, is smaller than said, or is no file
    /// of tmpfs: of huge pages, a hole that the other process punches may find no page to be filled
    /// with, and who reads there gets SIGBUS.
    pub fn map(fd: &OwnedFd, octets: u64) -> io::Result<Self> {
        let raw = fd.as_raw_fd();
        // SAFETY: a structure of integers, for which all-zero is a value.
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut kind: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes one `stat` and one `statfs`; the third call returns a number.
        let seals = unsafe {
            check(libc::fstat(raw, &raw mut about))?;
            check(libc::fstatfs(raw, &raw mut kind))?;
            check(libc::fcntl(raw, libc::F_GET_SEALS))?
        };
        if kind.f_type != libc::TMPFS_MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let fits = (1..=SEGMENT_MAX).contains(&octets) && about.st_size as u64 >= octets;
        if !fits || seals & libc::F_SEAL_SHRINK == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let octets = usize::try_from(octets).map_err(io::Error::other)?;
        // SAFETY: a new mapping of a file that is as long and stays so.
        let map = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), octets, access, libc::MAP_SHARED, raw, 0)
        };
        let found = NonNull::new(map.cast::<u8>()).filter(|_| map != libc::MAP_FAILED);
        Ok(Self { start: found.ok_or_else(io::Error::last_os_error)?, octets })
    }

    /// Octets of it.
    pub fn octets(&self) -> u64 {
        self.octets as u64
    }

    fn place(&self, offset: u32, octets: usize) -> Option<NonNull<u8>> {
        let end = (offset as usize).checked_add(octets)?;
        // SAFETY: inside the mapping, as was just checked.
        (end <= self.octets).then(|| unsafe { self.start.add(offset as usize) })
    }

    /// Copies octets out; false when they are not inside.
    #[inline]
    pub fn read(&self, offset: u32, into: &mut [u8]) -> bool {
        let Some(place) = self.place(offset, into.len()) else { return false };
        // SAFETY: inside the mapping, and `into` is memory of this process only. The other side
        // may write meanwhile: then the packet is garbled, which it could have sent as well.
        unsafe { std::ptr::copy_nonoverlapping(place.as_ptr(), into.as_mut_ptr(), into.len()) };
        true
    }

    /// Copies octets in; false when they would not be inside.
    #[inline]
    pub fn write(&self, offset: u32, from: &[u8]) -> bool {
        let Some(place) = self.place(offset, from.len()) else { return false };
        // SAFETY: inside the mapping, and `from` is memory of this process only.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), place.as_ptr(), from.len()) };
        true
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`; nothing borrows it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.octets) };
    }
}

/// A ring in shared memory.
#[derive(Debug)]
pub struct Ring {
    start: NonNull<u8>,
    log2_size: u8,
    interrupt: Arc<Interrupt>,
    _segment: Arc<Segment>,
}

// SAFETY: an address in a segment that it holds on to.
unsafe impl Send for Ring {}

impl Ring {
    /// Octets that a ring takes.
    pub const fn octets(log2_size: u8) -> usize {
        DESCRIPTORS_AT + (size_of::<Descriptor>() << log2_size)
    }

    /// The ring at a place of a segment; `None` if it does not lie inside, on whole lines.
    pub fn at(
        segment: &Arc<Segment>,
        offset: u32,
        log2_size: u8,
        interrupt: &Arc<Interrupt>,
    ) -> Option<Self> {
        let start = segment.place(offset, Self::octets(log2_size))?;
        let (interrupt, _segment) = (Arc::clone(interrupt), Arc::clone(segment));
        offset.is_multiple_of(64).then_some(Self { start, log2_size, interrupt, _segment })
    }

    /// Makes fresh memory an empty ring.
    pub fn format(segment: &Segment, offset: u32) -> bool {
        segment.write(offset, &COOKIE.to_ne_bytes())
    }

    /// Descriptors of the ring.
    pub fn size(&self) -> u16 {
        1 << self.log2_size
    }

    fn half(&self, at: usize) -> &AtomicU16 {
        // SAFETY: inside the ring and aligned; both processes change it atomically.
        unsafe { AtomicU16::from_ptr(self.start.add(at).as_ptr().cast()) }
    }

    fn cookie(&self) -> &AtomicU32 {
        // SAFETY: inside the ring and aligned; both processes change it atomically.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().cast()) }
    }

    /// Whether its first word is that of a ring.
    pub fn is_ring(&self) -> bool {
        self.cookie().load(Acquire) == COOKIE
    }

    /// Where the one who fills the ring is, as it stands now.
    #[inline]
    pub fn head(&self) -> u16 {
        self.half(HEAD_AT).load(Acquire)
    }

    /// Where the one who empties it is, as it stands now.
    #[inline]
    pub fn tail(&self) -> u16 {
        self.half(TAIL_AT).load(Acquire)
    }

    /// Says how far it is filled.
    #[inline]
    pub fn set_head(&self, head: u16) {
        self.half(HEAD_AT).store(head, Release);
    }

    /// Says how far it is emptied.
    #[inline]
    pub fn set_tail(&self, tail: u16) {
        self.half(TAIL_AT).store(tail, Release);
    }

    fn slot(&self, number: u16) -> NonNull<Descriptor> {
        let at = usize::from(number & (self.size() - 1));
        // SAFETY: inside the ring, which has `size` descriptors from there on.
        unsafe { self.start.add(DESCRIPTORS_AT).cast::<Descriptor>().add(at) }
    }

    /// A descriptor as it is now.
    #[inline]
    pub fn descriptor(&self, number: u16) -> Descriptor {
        // SAFETY: inside the ring; any octets are a descriptor. Read once: the other process may
        // change it at any time.
        unsafe { self.slot(number).read_volatile() }
    }

    /// Writes a descriptor.
    #[inline]
    pub fn set_descriptor(&self, number: u16, descriptor: Descriptor) {
        // SAFETY: inside the ring.
        unsafe { self.slot(number).write_volatile(descriptor) };
    }

    /// The reader wants an interrupt for what comes from now on, or polls.
    pub fn want_interrupts(&self, wanted: bool) {
        self.half(FLAGS_AT).store(if wanted { 0 } else { MASK_INTERRUPTS }, SeqCst);
        fence(SeqCst);
    }

    /// What wakes the reader, if it wants that.
    #[inline]
    pub fn wanted_interrupt(&self) -> Option<&Arc<Interrupt>> {
        fence(SeqCst);
        let is_masked = self.half(FLAGS_AT).load(Relaxed) & MASK_INTERRUPTS != 0;
        (!is_masked).then_some(&self.interrupt)
    }

    /// Wakes the reader, if it wants that.
    #[inline]
    pub fn interrupt(&self) {
        if let Some(interrupt) = self.wanted_interrupt() {
            // It was an eventfd when the ring was agreed on, and descriptors do not change.
            let _ = interrupt.ring();
        }
    }

    /// What is rung when something comes.
    pub fn interrupts(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }
}

/// A new counter of interrupts.
///
/// # Errors
/// The kernel's.
pub fn eventfd() -> io::Result<OwnedFd> {
    let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
    // SAFETY: a plain system call; the descriptor that it gives is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::eventfd(0, flags))?)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bell::Bell;

    #[test]
    fn what_lies_outside_of_a_segment_is_neither_read_nor_written() {
        let (segment, fd) = Segment::create(4_096).unwrap();
        let other = Segment::map(&fd, 4_096).unwrap();
        assert!(segment.write(4_090, &[1, 2, 3, 4, 5, 6]));
        let mut got = [0; 6];
        assert!(other.read(4_090, &mut got));
        assert_eq!(got, [1, 2, 3, 4, 5, 6]);
        assert!(!segment.write(4_091, &[0; 6]) && !other.read(u32::MAX, &mut got));
        assert_eq!(Segment::map(&fd, 4_097).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn memory_of_huge_pages_is_refused() {
        let flags = libc::MFD_ALLOW_SEALING | libc::MFD_HUGETLB;
        // SAFETY: plain system calls on a descriptor that is the test's alone.
        let fd = unsafe {
            let fd = libc::memfd_create(c"test".as_ptr(), flags);
            if fd < 0 {
                return eprintln!("this kernel has no huge pages");
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: takes numbers.
        unsafe {
            assert_eq!(libc::ftruncate(fd.as_raw_fd(), 2 << 20), 0);
            assert_eq!(libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK), 0);
        }
        assert_eq!(Segment::map(&fd, 2 << 20).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn memory_that_may_shrink_is_refused() {
        // SAFETY: plain system calls on a descriptor that is the test's alone.
        let fd = unsafe {
            let fd = libc::memfd_create(c"test".as_ptr(), libc::MFD_ALLOW_SEALING);
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: takes numbers.
        assert_eq!(unsafe { libc::ftruncate(fd.as_raw_fd(), 8_192) }, 0);
        assert_eq!(Segment::map(&fd, 4_096).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_ring_lies_inside_of_its_segment_on_whole_lines() {
        let (segment, fd) = Segment::create(4_096).unwrap();
        let interrupt = Interrupt::new(fd, &Arc::new(Bell::new().unwrap()));
        let segment = Arc::new(segment);
        let ring = |offset, log2| Ring::at(&segment, offset, log2, &interrupt);
        assert!(ring(0, 7).is_some() && ring(1_920, 7).is_some());
        assert!(ring(1_984, 7).is_none() && ring(8, 7).is_none() && ring(0, 8).is_none());
        let ring = ring(64, 7).unwrap();
        assert!(!ring.is_ring());
        assert!(Ring::format(&segment, 64) && ring.is_ring());
    }
}
