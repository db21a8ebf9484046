//! The process' own end: what it leaves with its guardian.

use crate::words::{LastWord, Word};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// How often, and after which pause, an end in order is told.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// A process' end of the socket pair.
#[derive(Debug)]
pub struct Handle {
    socket: OwnedFd,
    holders: AtomicU32,
    /// Nobody listens any more, and that was said or is meant.
    is_lost: AtomicBool,
}

/// The guardian of this process.
static INSTALLED: OnceLock<Handle> = OnceLock::new();

/// Makes a guardian that of this process; a second one is dropped, and so ends.
pub fn install(handle: Handle) {
    let _ = INSTALLED.set(handle);
}

/// The guardian of this process, if it has one.
#[must_use]
pub fn installed() -> Option<&'static Handle> {
    INSTALLED.get()
}

/// Starts `command` as the guardian of this process: its standard input is the socket, its standard
/// output the pidfd of this process. It is in a group of its own, so that no terminal ends it.
///
/// # Errors
/// The kernel's.
pub fn spawn(mut command: Command) -> io::Result<(Handle, Child)> {
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    command.stdin(Stdio::from(theirs)).stdout(Stdio::from(own)).process_group(0);
    let child = command.spawn()?;
    let (holders, is_lost) = (AtomicU32::new(0), AtomicBool::new(false));
    Ok((Handle { socket: ours, holders, is_lost }, child))
}

impl Handle {
    /// A holder of its own: what it has left is released when it is dropped.
    #[must_use]
    pub fn holder(&'static self) -> Holder {
        Holder { handle: self, number: self.holders.fetch_add(1, Relaxed) }
    }

    /// The process ends in order from here on: nothing is sent when it is gone.
    pub fn rest(&self) {
        // Who ends has a moment; a guardian that is gone sends nothing either.
        self.is_lost.store(true, Relaxed);
        for _ in 0..TRIES {
            if self.say(&Word::Rest) {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Says a word without waiting; whether it was taken.
    fn say(&self, word: &Word) -> bool {
        let Some(octets) = word.write() else { return true };
        match send(&self.socket, &octets, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(_) => true,
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => false,
            Err(error) => {
                self.lost(&error.to_string());
                true
            }
        }
    }

    /// The guardian has ended before this process; said once.
    pub fn lost(&self, why: &str) {
        if !self.is_lost.swap(true, Relaxed) {
            let what = "the guardian is gone: nobody ends associations for this process";
            tracing::error!(target: "guardian", why, "{what}: restart the site");
        }
    }
}

/// Who leaves last words: a part of the process whose state ends as one.
#[derive(Debug)]
pub struct Holder {
    handle: &'static Handle,
    number: u32,
}

impl Holder {
    /// Leaves a last word, in the place of that under the same key; `false`: the guardian is
    /// behind, say it again later.
    #[must_use]
    pub fn hold(&self, key: u64, word: LastWord) -> bool {
        self.handle.say(&Word::Hold(self.number, key, word))
    }

    /// Takes it back; `false` as above.
    #[must_use]
    pub fn release(&self, key: u64) -> bool {
        self.handle.say(&Word::Release(self.number, key))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Where the guardian is behind, words may stay that nobody needs: the other side knows
        // their tags no more, and passes them over.
        let _ = self.handle.say(&Word::Forget(self.number));
    }
}
