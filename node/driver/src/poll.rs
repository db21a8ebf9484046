//! Waiting: epoll with nanosecond deadlines, and a waker for other threads.

use crate::call::check;
use machine::narrow::at_most;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// Descriptors reported by one wait.
const EVENTS_MAX: usize = 256;

/// What to be told about a descriptor. Errors and hang-ups are always told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Something can be read.
    Read,
    /// Something can be read or written.
    ReadWrite,
    /// Something can be written.
    Write,
}

impl Interest {
    const fn bits(self) -> u32 {
        (match self {
            Self::Read => libc::EPOLLIN | libc::EPOLLRDHUP,
            Self::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP,
            Self::Write => libc::EPOLLOUT,
        }) as u32
    }
}

/// A descriptor that has something.
#[derive(Debug, Clone, Copy)]
pub struct Ready {
    /// What the descriptor was registered under.
    pub token: u64,
    /// Reading will not block (data, end of stream, or an error to fetch).
    pub readable: bool,
    /// Writing will not block.
    pub writable: bool,
    /// An error is pending (for UDP: something in the error queue).
    pub error: bool,
}

/// Level-triggered epoll.
#[derive(Debug)]
pub struct Poll {
    fd: OwnedFd,
    events: Box<[libc::epoll_event; EVENTS_MAX]>,
    ready: Vec<Ready>,
}

impl Poll {
    /// An empty set.
    ///
    /// # Errors
    /// The kernel's (out of descriptors).
    pub fn new() -> io::Result<Self> {
        // SAFETY: a plain system call; the descriptor that it returns is ours alone.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let events = Box::new([libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX]);
        Ok(Self { fd, events, ready: Vec::with_capacity(EVENTS_MAX) })
    }

    fn change(&self, what: i32, fd: BorrowedFd<'_>, token: u64, bits: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: bits, u64: token };
        // SAFETY: both descriptors are open (borrowed); the event lives over the call.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), what, fd.as_raw_fd(), &raw mut event) })
            .map(drop)
    }

    /// Watches a descriptor. Closing it ends that.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add(&self, fd: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.change(libc::EPOLL_CTL_ADD, fd.as_fd(), token, interest.bits())
    }

    /// Changes what is watched for.
    ///
    /// # Errors
    /// The kernel's.
    pub fn modify(&self, fd: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.change(libc::EPOLL_CTL_MOD, fd.as_fd(), token, interest.bits())
    }

    /// Stops watching.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, fd: &impl AsFd) -> io::Result<()> {
        self.change(libc::EPOLL_CTL_DEL, fd.as_fd(), 0, 0)
    }

    /// Waits until something is ready or `timeout` passed (`None`: without end). A signal ends
    /// the wait early, with nothing ready.
    ///
    /// # Errors
    /// The kernel's; none in normal life.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<&[Ready]> {
        self.ready.clear();
        let count = match wait_ns(self.fd.as_raw_fd(), &mut self.events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            other => other?,
        };
        self.ready.extend(self.events[..count].iter().map(|event| {
            let bits = event.events as i32;
            let error = bits & (libc::EPOLLERR | libc::EPOLLHUP) != 0;
            Ready {
                token: event.u64,
                readable: error || bits & (libc::EPOLLIN | libc::EPOLLRDHUP) != 0,
                writable: error || bits & libc::EPOLLOUT != 0,
                error,
            }
        }));
        Ok(&self.ready)
    }
}

fn wait_ns(
    fd: i32,
    events: &mut [libc::epoll_event; EVENTS_MAX],
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let room = at_most(EVENTS_MAX as u64, libc::c_int::MAX);
    let coarse = match timeout {
        None => -1,
        Some(time) if time.is_zero() => 0,
        Some(time) => {
            let spec = libc::timespec {
                tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
                tv_nsec: libc::c_long::from(time.subsec_nanos()),
            };
            // SAFETY: the kernel writes at most `room` events and reads one timespec; the null
            // signal mask changes no signals.
            let count = unsafe {
                libc::syscall(
                    libc::SYS_epoll_pwait2,
                    fd,
                    events.as_mut_ptr(),
                    room,
                    &raw const spec,
                    std::ptr::null::<libc::sigset_t>(),
                    0usize,
                )
            };
            if let Ok(count) = usize::try_from(count) {
                return Ok(count);
            }
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::ENOSYS) {
                return Err(error);
            }
            i32::try_from(time.as_millis() + 1).unwrap_or(i32::MAX) // before Linux 5.11
        }
    };
    // SAFETY: the kernel writes at most `room` events.
    check(unsafe { libc::epoll_wait(fd, events.as_mut_ptr(), room, coarse) }).map(|n| n as usize)
}

/// Readable when something in the set is: a set may be in another.
impl AsFd for Poll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Wakes a thread that sleeps in [`Poll::wait`], from any thread; costs no system call while
/// that thread is awake.
///
/// The sleeper calls [`Waker::doze`], looks into its queues once more, and only then waits.
#[derive(Debug)]
pub struct Waker {
    fd: OwnedFd,
    dozing: AtomicBool,
}

impl Waker {
    /// A waker; register it for reading.
    ///
    /// # Errors
    /// The kernel's (out of descriptors).
    pub fn new() -> io::Result<Self> {
        // SAFETY: a plain system call; the descriptor that it returns is ours alone.
        let fd = unsafe {
            let fd = check(libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC))?;
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Self { fd, dozing: AtomicBool::new(false) })
    }

    /// The owner is about to sleep: from now on [`Waker::wake`] writes.
    pub fn doze(&self) {
        self.dozing.store(true, SeqCst);
    }

    /// The owner is awake: from now on wakes cost nothing.
    pub fn rise(&self) {
        self.dozing.store(false, SeqCst);
    }

    /// Forgets the wakes that were written; call it when the waker is reported readable.
    pub fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: an eventfd reads eight bytes into the integer; empty is EAGAIN.
        let _: isize = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), 8) };
    }

    /// Wakes the owner if it sleeps. Put what it shall find into its queue before.
    pub fn wake(&self) {
        if self.dozing.swap(false, SeqCst) {
            let one = 1u64;
            // SAFETY: an eventfd takes eight bytes. It cannot be full: that takes 2^64 wakes
            // without a read.
            let _: isize = unsafe { libc::write(self.fd.as_raw_fd(), (&raw const one).cast(), 8) };
        }
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_wait_ends_at_its_timeout_when_nothing_happens() {
        let mut poll = Poll::new().unwrap();
        assert!(poll.wait(Some(Duration::from_micros(300))).unwrap().is_empty());
        assert!(poll.wait(Some(Duration::ZERO)).unwrap().is_empty());
    }

    #[test]
    fn a_sleeper_is_woken_from_another_thread_and_only_when_it_dozes() {
        let waker = Arc::new(Waker::new().unwrap());
        let mut poll = Poll::new().unwrap();
        poll.add(&*waker, 7, Interest::Read).unwrap();
        waker.wake();
        assert!(poll.wait(Some(Duration::ZERO)).unwrap().is_empty(), "awake: no wake is written");
        waker.doze();
        let other = Arc::clone(&waker);
        let thread = std::thread::spawn(move || other.wake());
        let ready = poll.wait(None).unwrap();
        assert_eq!(ready.iter().map(|r| (r.token, r.readable)).collect::<Vec<_>>(), [(7, true)]);
        thread.join().unwrap();
        waker.rise();
        waker.clear();
        assert!(poll.wait(Some(Duration::ZERO)).unwrap().is_empty(), "a cleared wake is forgotten");
    }
}
