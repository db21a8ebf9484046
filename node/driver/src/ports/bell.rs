//! Interrupts of the other process's rings, without ever waiting for it.
//!
//! An eventfd of another process is an open file description that both have: it may fill the
//! counter and take `O_NONBLOCK` away at any time, and `write(2)` would then wait for ever. The
//! kernel's own way to ring an eventfd does not wait (`eventfd_signal`): the end of an asynchronous
//! read that names it does so (`aio_resfd`, io_submit(2)). The read is one octet of our own memory.

use crate::socket::check;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// Ends of reads that the kernel keeps until they are taken.
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

/// Rings eventfds.
#[derive(Debug)]
pub struct Bell {
    context: Mutex<Context>,
    source: OwnedFd,
}

#[derive(Debug)]
struct Context {
    number: libc::c_ulong,
    /// Reads since their ends were taken.
    reads: usize,
    /// Where the octet goes; in a place of its own, which stays as long as the context.
    octet: Box<u8>,
}

impl Bell {
    /// A bell for any number of eventfds.
    ///
    /// # Errors
    /// The kernel's: it has no asynchronous reads, or no more of them (`fs.aio-max-nr`).
    pub fn new() -> io::Result<Self> {
        // SAFETY: plain system calls on a descriptor that is ours alone.
        let source = unsafe {
            let source = check(libc::memfd_create(c"bell".as_ptr(), libc::MFD_CLOEXEC))?;
            let source = OwnedFd::from_raw_fd(source);
            check(libc::ftruncate(source.as_raw_fd(), 1))?;
            source
        };
        let mut number: libc::c_ulong = 0;
        // SAFETY: the kernel writes one number.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, EVENTS, &raw mut number) };
        if made != 0 {
            return Err(io::Error::last_os_error());
        }
        let context = Context { number, reads: 0, octet: Box::new(0) };
        Ok(Self { context: Mutex::new(context), source })
    }

    /// Rings one.
    ///
    /// # Errors
    /// The kernel's: it is no eventfd.
    pub fn ring(&self, eventfd: &OwnedFd) -> io::Result<()> {
        let mut context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        if context.reads >= EVENTS / 2 {
            context.take_ends();
        }
        let descriptor = |fd: &OwnedFd| u32::try_from(fd.as_raw_fd()).unwrap_or(u32::MAX);
        let mut request = Request {
            opcode: READ,
            descriptor: descriptor(&self.source),
            buffer: (&raw mut *context.octet).expose_provenance() as u64,
            octets: 1,
            flags: RINGS,
            resfd: descriptor(eventfd),
            ..Request::default()
        };
        let mut list = [&raw mut request];
        // SAFETY: one request, which the kernel copies; the octet that it reads into stands as long
        // as the context. A read of memory is over when the call returns.
        let done =
            unsafe { libc::syscall(libc::SYS_io_submit, context.number, 1_i64, list.as_mut_ptr()) };
        if done != 1 {
            return Err(io::Error::last_os_error());
        }
        context.reads += 1;
        Ok(())
    }
}

impl Context {
    fn take_ends(&mut self) {
        let mut ends = [End::default(); EVENTS];
        let mut at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel writes as many ends as there is room for at most, and waits for none.
        unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.number,
                0_i64,
                EVENTS,
                ends.as_mut_ptr(),
                &raw mut at_once,
            )
        };
        self.reads = 0;
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: takes a number; no read is under way.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.number) };
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
