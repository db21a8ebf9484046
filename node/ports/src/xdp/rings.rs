//! The rings between this process and the kernel (Documentation/networking/af_xdp.rst): one side
//! writes entries and moves the producer, the other reads them and moves the consumer.

use driver::call::{check, octets_of};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Which of a socket's rings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Receive,
    Send,
    Fill,
    Completion,
}

impl Which {
    const fn option(self) -> libc::c_int {
        match self {
            Self::Receive => libc::XDP_RX_RING,
            Self::Send => libc::XDP_TX_RING,
            Self::Fill => libc::XDP_UMEM_FILL_RING,
            Self::Completion => libc::XDP_UMEM_COMPLETION_RING,
        }
    }

    const fn page(self) -> libc::off_t {
        match self {
            Self::Receive => libc::XDP_PGOFF_RX_RING,
            Self::Send => libc::XDP_PGOFF_TX_RING,
            Self::Fill => libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t,
            Self::Completion => libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t,
        }
    }

    const fn offsets(self, all: &libc::xdp_mmap_offsets) -> libc::xdp_ring_offset {
        match self {
            Self::Receive => all.rx,
            Self::Send => all.tx,
            Self::Fill => all.fr,
            Self::Completion => all.cr,
        }
    }
}

/// A ring of entries of one kind: `u64` (addresses) or `xdp_desc`.
#[derive(Debug)]
struct Ring<T> {
    map: NonNull<u8>,
    octets: usize,
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
    count: u32,
    kind: PhantomData<T>,
}

// SAFETY: the mapping is reached through this value alone.
unsafe impl<T> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// Sets its size, a power of two, and maps it.
    fn new(socket: &OwnedFd, which: Which, count: u32) -> io::Result<Self> {
        let raw = socket.as_raw_fd();
        driver::call::set(raw, libc::SOL_XDP, which.option(), count as libc::c_int)?;
        // SAFETY: a structure of integers, for which all-zero is a value.
        let mut all: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        let mut length = octets_of::<libc::xdp_mmap_offsets>();
        // SAFETY: the kernel writes at most `length` bytes into the structure.
        check(unsafe {
            let out = (&raw mut all).cast();
            libc::getsockopt(raw, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, out, &raw mut length)
        })?;
        let offsets = which.offsets(&all);
        let place = |at: u64| usize::try_from(at).map_err(io::Error::other);
        let (producer, consumer) = (place(offsets.producer)?, place(offsets.consumer)?);
        let (flags, entries) = (place(offsets.flags)?, place(offsets.desc)?);
        let octets = entries + count as usize * size_of::<T>();
        // SAFETY: a new mapping of the ring, of the length that its offsets say.
        let map = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let how = libc::MAP_SHARED | libc::MAP_POPULATE;
            libc::mmap(std::ptr::null_mut(), octets, access, how, raw, which.page())
        };
        let found = NonNull::new(map.cast::<u8>()).filter(|_| map != libc::MAP_FAILED);
        Ok(Self {
            map: found.ok_or_else(io::Error::last_os_error)?,
            octets,
            producer,
            consumer,
            flags,
            entries,
            count,
            kind: PhantomData,
        })
    }

    #[inline]
    fn number(&self, at: usize) -> &AtomicU32 {
        // SAFETY: an aligned place inside the mapping that both sides change atomically.
        unsafe { AtomicU32::from_ptr(self.map.add(at).as_ptr().cast()) }
    }

    #[inline]
    fn entry(&self, number: u32) -> NonNull<T> {
        let at = (number & (self.count - 1)) as usize;
        // SAFETY: inside the mapping, which has `count` entries from there on.
        unsafe { self.map.add(self.entries).cast::<T>().add(at) }
    }

    #[inline]
    fn needs_wakeup(&self) -> bool {
        self.number(self.flags).load(Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`; nothing borrows it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.octets) };
    }
}

/// A ring that this process writes into: fill, send.
#[derive(Debug)]
pub(super) struct Producer<T> {
    ring: Ring<T>,
    head: u32,
    tail: u32,
}

impl<T: Copy> Producer<T> {
    pub fn new(socket: &OwnedFd, which: Which, count: u32) -> io::Result<Self> {
        Ok(Self { ring: Ring::new(socket, which, count)?, head: 0, tail: 0 })
    }

    /// Entries that can be written, as of the kernel's last word.
    #[inline]
    pub fn room(&mut self) -> usize {
        self.tail = self.ring.number(self.ring.consumer).load(Acquire);
        (self.ring.count - self.head.wrapping_sub(self.tail)) as usize
    }

    /// Writes an entry; there must be room. The kernel sees it after [`Producer::publish`].
    #[inline]
    pub fn write(&mut self, value: T) {
        debug_assert!(self.head.wrapping_sub(self.tail) < self.ring.count);
        // SAFETY: the entry lies between consumer and producer: the kernel does not look at it.
        unsafe { self.ring.entry(self.head).write(value) };
        self.head = self.head.wrapping_add(1);
    }

    #[inline]
    pub fn publish(&self) {
        self.ring.number(self.ring.producer).store(self.head, Release);
    }

    /// Entries that the kernel has not read yet.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.head.wrapping_sub(self.ring.number(self.ring.consumer).load(Acquire))
    }

    #[inline]
    pub fn needs_wakeup(&self) -> bool {
        self.ring.needs_wakeup()
    }
}

/// A ring that this process reads from: receive, completion.
#[derive(Debug)]
pub(super) struct Consumer<T> {
    ring: Ring<T>,
    tail: u32,
}

impl<T: Copy> Consumer<T> {
    pub fn new(socket: &OwnedFd, which: Which, count: u32) -> io::Result<Self> {
        Ok(Self { ring: Ring::new(socket, which, count)?, tail: 0 })
    }

    /// Entries that can be read.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.ring.number(self.ring.producer).load(Acquire).wrapping_sub(self.tail) as usize
    }

    /// Reads an entry; one must wait. The kernel may write there after [`Consumer::release`].
    #[inline]
    pub fn read(&mut self) -> T {
        // SAFETY: the entry lies between consumer and producer: the kernel has written it and does
        // not touch it any more; entries are integers.
        let value = unsafe { self.ring.entry(self.tail).read() };
        self.tail = self.tail.wrapping_add(1);
        value
    }

    #[inline]
    pub fn release(&self) {
        self.ring.number(self.ring.consumer).store(self.tail, Release);
    }
}
