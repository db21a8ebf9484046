//! Interrupts of the other process's rings, without ever waiting for it.
//!
//! An eventfd of another process is an open file description that both have: it may fill the
//! counter and take `O_NONBLOCK` away at any time, and `write(2)` would then wait for ever. The
//! kernel's own way to ring an eventfd does not wait (`eventfd_signal`): the end of an asynchronous
//! read that names it does so (`aio_resfd`, io_submit(2)). The read is one octet of our own memory.
//!
//! What those reads need the kernel makes when somebody is rung for the first time: of a process
//! that has it and is killed it undoes that before anything else, which takes some 30 ms, and its
//! connections stand meanwhile as if it lived.

use driver::Timed;
use driver::call::check;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Ends of reads that the kernel is asked to keep until they are taken, and that are taken at once.
const EVENTS: usize = 32;
const READ: u16 = 0;
/// `resfd` is valid.
const RINGS: u32 = 1;

/// `struct iocb` of the kernel.
#[repr(C)]
#[derive(Debug, Default)]
#[cfg(target_endian = "little")]
struct Request {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    octets: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    resfd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct End {
    _data: u64,
    _request: u64,
    _result: i64,
    _more: i64,
}

const _: () = assert!(size_of::<Request>() == 64 && size_of::<End>() == 32);

/// Rings eventfds, of several threads at once: none waits for another's call, which takes as long
/// as whoever waits at the eventfd likes.
#[derive(Debug)]
pub struct Bell {
    context: OnceLock<libc::c_ulong>,
    /// Held while that is made.
    making: Mutex<()>,
    source: OwnedFd,
    /// Where the octet goes; in a place of its own, which stays as long as the context.
    octet: Box<AtomicU8>,
}

impl Bell {
    /// A bell for any number of eventfds.
    ///
    /// # Errors
    /// The kernel's: no descriptor is left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: plain system calls on a descriptor that is ours alone.
        let source = unsafe {
            let source = check(libc::memfd_create(c"bell".as_ptr(), libc::MFD_CLOEXEC))?;
            let source = OwnedFd::from_raw_fd(source);
            check(libc::ftruncate(source.as_raw_fd(), 1))?;
            source
        };
        let (context, making) = (OnceLock::new(), Mutex::default());
        Ok(Self { context, making, source, octet: Box::default() })
    }

    fn context(&self) -> io::Result<libc::c_ulong> {
        if let Some(context) = self.context.get() {
            return Ok(*context);
        }
        let _alone = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = self.context.get() {
            return Ok(*context);
        }
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one number.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, EVENTS, &raw mut context) };
        if made != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(*self.context.get_or_init(|| context))
    }

    /// Rings one.
    ///
    /// # Errors
    /// The kernel's: it is no eventfd; there are no asynchronous reads, or no more of them
    /// (`fs.aio-max-nr`).
    pub fn ring(&self, eventfd: &OwnedFd) -> io::Result<()> {
        let context = self.context()?;
        for _ in 0..EVENTS {
            match self.submit(context, eventfd) {
                // It keeps as many ends of reads as it can.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => take_ends(context),
                done => return done,
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn submit(&self, context: libc::c_ulong, eventfd: &OwnedFd) -> io::Result<()> {
        let descriptor = |fd: &OwnedFd| u32::try_from(fd.as_raw_fd()).unwrap_or(u32::MAX);
        let mut request = Request {
            opcode: READ,
            descriptor: descriptor(&self.source),
            buffer: self.octet.as_ptr().expose_provenance() as u64,
            octets: 1,
            flags: RINGS,
            resfd: descriptor(eventfd),
            ..Request::default()
        };
        let mut list = [&raw mut request];
        // SAFETY: one request, which the kernel copies; the octet that it reads into stands as long
        // as the context. A read of memory is over when the call returns.
        let done = unsafe { libc::syscall(libc::SYS_io_submit, context, 1_i64, list.as_mut_ptr()) };
        if done == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Takes the ends of reads that the kernel keeps.
fn take_ends(context: libc::c_ulong) {
    let mut ends = [End::default(); EVENTS];
    let mut at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes as many ends as there is room for at most, and waits for none.
    unsafe {
        libc::syscall(
            libc::SYS_io_getevents,
            context,
            0_i64,
            EVENTS,
            ends.as_mut_ptr(),
            &raw mut at_once,
        )
    };
}

impl Drop for Bell {
    fn drop(&mut self) {
        let Some(context) = self.context.get() else { return };
        // SAFETY: takes a number; no read is under way.
        unsafe { libc::syscall(libc::SYS_io_destroy, *context) };
    }
}

/// An eventfd that another process has as well.
#[derive(Debug)]
pub struct Interrupt {
    eventfd: OwnedFd,
    bell: Arc<Bell>,
    timed: Timed,
}

impl Interrupt {
    /// Rings by this bell.
    #[must_use]
    pub fn new(eventfd: OwnedFd, bell: &Arc<Bell>) -> Arc<Self> {
        Arc::new(Self { eventfd, bell: Arc::clone(bell), timed: Timed::default() })
    }

    /// Rings it.
    ///
    /// # Errors
    /// The kernel's: it is no eventfd.
    pub fn ring(&self) -> io::Result<()> {
        self.timed.call(|| self.bell.ring(&self.eventfd))
    }

    /// Forgets the interrupts so far.
    pub fn forget(&self) {
        let mut count = 0u64;
        let into = libc::iovec { iov_base: (&raw mut count).cast(), iov_len: 8 };
        let fd = self.eventfd.as_raw_fd();
        // SAFETY: reads at most eight octets into an integer; none are there is EAGAIN. The other
        // process may take `O_NONBLOCK` away: this read does not wait all the same.
        self.timed.call(|| unsafe {
            libc::preadv2(fd, &raw const into, 1, -1, libc::RWF_NOWAIT);
        });
    }

    /// Whether the other process has so many wait at it that ringing and reading take too long:
    /// the connection ends.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.timed.is_over()
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eventfd(flags: libc::c_int) -> OwnedFd {
        // SAFETY: a plain system call; a descriptor that it returns is ours alone.
        unsafe { OwnedFd::from_raw_fd(check(libc::eventfd(0, flags)).unwrap()) }
    }

    fn count(fd: &OwnedFd) -> u64 {
        let mut count = 0_u64;
        // SAFETY: reads eight octets into an integer.
        unsafe { libc::read(fd.as_raw_fd(), (&raw mut count).cast(), 8) };
        count
    }

    #[test]
    fn a_bell_rings_as_often_as_it_is_rung() {
        let (bell, fd) = (Bell::new().unwrap(), eventfd(libc::EFD_NONBLOCK));
        for _ in 0..1_000 {
            bell.ring(&fd).unwrap();
        }
        assert_eq!((count(&fd), count(&fd)), (1_000, 0));
    }

    #[test]
    fn a_process_that_rang_nobody_has_nothing_that_the_kernel_takes_long_to_undo() {
        let (bell, fd) = (Bell::new().unwrap(), eventfd(libc::EFD_NONBLOCK));
        assert_eq!(bell.context.get(), None);
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| bell.ring(&fd).unwrap())));
        });
        assert_eq!((bell.context.get().is_some(), count(&fd)), (true, 4));
    }

    #[test]
    fn a_counter_that_is_full_and_blocks_holds_nobody_up() {
        let (bell, fd) = (Bell::new().unwrap(), eventfd(0));
        let full = u64::MAX - 1;
        // SAFETY: writes eight octets of an integer.
        unsafe { libc::write(fd.as_raw_fd(), (&raw const full).cast(), 8) };
        for _ in 0..100 {
            bell.ring(&fd).unwrap();
        }
        assert!(count(&fd) >= full);
    }

    #[test]
    fn what_is_no_eventfd_is_not_rung() {
        let bell = Bell::new().unwrap();
        let (_, pipe) = std::io::pipe().unwrap();
        assert!(bell.ring(&OwnedFd::from(pipe)).is_err());
        let fd = eventfd(libc::EFD_NONBLOCK);
        bell.ring(&fd).unwrap();
        assert_eq!(count(&fd), 1);
    }
}
