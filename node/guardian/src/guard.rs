//! The guardian itself: it hears what the process leaves, and waits for its death.

use crate::send::{Sockets, Unsent};
use crate::words::{HELD_MAX, LastWord, MESSAGE_OCTETS_MAX, Word};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd as _;

/// How a guardian ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The process ended in order.
    InOrder,
    /// It died: what was left was sent.
    Died(Unsent),
}

/// What is held.
#[derive(Debug, Default)]
struct Held {
    words: BTreeMap<(u32, u64), LastWord>,
    rests: bool,
}

impl Held {
    fn take(&mut self, word: Word) {
        match word {
            Word::Hold(holder, key, last) => {
                let is_known = self.words.contains_key(&(holder, key));
                if is_known || self.words.len() < HELD_MAX {
                    self.words.insert((holder, key), last);
                }
            }
            Word::Release(holder, key) => drop(self.words.remove(&(holder, key))),
            Word::Forget(holder) => self.words.retain(|it, _| it.0 != holder),
            Word::Rest => self.rests = true,
        }
    }

    /// Reads all that has come; whether more may come.
    fn hear(&mut self, socket: BorrowedFd<'_>) -> bool {
        let mut message = [0u8; MESSAGE_OCTETS_MAX];
        loop {
            match recv(socket, &mut message[..], RecvFlags::DONTWAIT) {
                // Nobody is at the other end: no message is empty.
                Ok((_, 0)) => return false,
                Ok((_, count)) => {
                    if let Some(word) = message.get(..count).and_then(Word::read) {
                        self.take(word);
                    }
                }
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

/// The number of the process that a pidfd is of, as long as it lives.
///
/// # Errors
/// The descriptor is no pidfd, or `/proc` is not there.
pub fn process_of(pidfd: impl AsFd) -> io::Result<Option<u32>> {
    let path = format!("/proc/self/fdinfo/{}", pidfd.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(path)?;
    let found = text.lines().find_map(|line| line.strip_prefix("Pid:"));
    let found = found.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no pidfd"))?;
    // Of one that is gone it is -1.
    Ok(found.trim().parse().ok())
}

/// Waits until the process that `process` (a pidfd) is of has died, and sends what it has left by
/// `socket`.
///
/// # Errors
/// `EBADF` for what is no pidfd: such a descriptor would say of no process that it has died; the
/// kernel's, when it does not let the process be watched. Nothing is sent then.
pub fn guard(socket: impl AsFd, process: impl AsFd, sockets: &Sockets) -> Result<Ended, Errno> {
    let (socket, process) = (socket.as_fd(), process.as_fd());
    process_of(process).map_err(|_| Errno::BADF)?;
    let mut held = Held::default();
    let mut is_open = true;
    loop {
        let mut watched = vec![PollFd::new(&process, PollFlags::IN)];
        if is_open {
            watched.push(PollFd::new(&socket, PollFlags::IN));
        }
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        }
        let has_died = watched.first().is_some_and(|it| it.revents().contains(PollFlags::IN));
        is_open = is_open && held.hear(socket);
        if !has_died {
            continue;
        }
        return Ok(match held.rests {
            true => Ended::InOrder,
            false => Ended::Died(sockets.send(held.words.values())),
        });
    }
}
