//! One end of the socket between a control and its forwarder: never waits, keeps what the other
//! side is slow to take up to a limit.

use crate::ipc::{self, Broken, LENGTH_OCTETS, Message};
use driver::{Timed, unix_socket};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Octets that wait for the other side at most; past that the connection ends.
pub const WAITING_OCTETS_MAX: usize = 512 << 20;
/// Octets read at once.
const READ_OCTETS: usize = 256 << 10;
/// Octets at the front of a buffer that were used, before it is moved up.
const USED_OCTETS_MAX: usize = 1 << 20;

/// Why a connection is over.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// The other side closed it.
    #[error("the other side closed the connection")]
    Closed,
    /// The kernel says so.
    #[error(transparent)]
    Kernel(#[from] io::Error),
    /// The other side says what nobody understands.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The other side may not control this forwarder.
    #[error("it was refused")]
    Refused,
    /// The other side said nothing within its time.
    #[error("the other side says nothing")]
    Silent,
    /// The other side has so many wait at its socket that waking it takes too long.
    #[error("waking the other side takes too long")]
    Costly,
    /// The other side takes nothing.
    #[error("{WAITING_OCTETS_MAX} octets wait for the other side")]
    Slow,
}

/// A connection.
pub struct Stream {
    socket: UnixStream,
    /// Calls that wake the other side: writing does, and reading, which makes room for it.
    timed: Timed,
    read: Vec<u8>,
    used: usize,
    write: Vec<u8>,
    sent: usize,
}

impl Stream {
    /// Takes over a connected socket.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let timed = Timed::default();
        Ok(Self { socket, timed, read: Vec::new(), used: 0, write: Vec::new(), sent: 0 })
    }

    /// Sends a message, or keeps it until the other side takes it.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn send<T: Message>(&mut self, message: &T) -> Result<(), Lost> {
        ipc::write(message, &mut self.write)?;
        self.flush()
    }

    /// Sends a message with descriptors beside it. Nothing may wait for the other side.
    ///
    /// # Errors
    /// The kernel's; what waits is `WouldBlock`.
    pub fn send_beside<T: Message>(
        &mut self,
        message: &T,
        beside: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        if self.waiting() > 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        ipc::write(message, &mut self.write).map_err(io::Error::other)?;
        self.sent += unix_socket::send_beside(&self.socket, &self.write[self.sent..], beside)?;
        self.flush().map_err(io::Error::other)
    }

    /// Sends messages that were written already; what waits already goes first.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn push(&mut self, messages: Vec<u8>) -> Result<(), Lost> {
        if self.waiting() == 0 && !messages.is_empty() {
            (self.write, self.sent) = (messages, 0);
        } else {
            self.write.extend_from_slice(&messages);
        }
        self.flush()
    }

    /// Sends of what waits as much as the other side takes.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn flush(&mut self) -> Result<(), Lost> {
        while self.sent < self.write.len() {
            match self.timed.call(|| (&self.socket).write(&self.write[self.sent..])) {
                Ok(0) => return Err(Lost::Closed),
                Ok(octets) => self.sent += octets,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.waiting() > WAITING_OCTETS_MAX {
            return Err(Lost::Slow);
        }
        shift(&mut self.write, &mut self.sent);
        Ok(())
    }

    /// Octets that wait for the other side.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.write.len() - self.sent
    }

    /// Whether waking the other side takes too long.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.timed.is_over()
    }

    /// Reads what has come.
    ///
    /// # Errors
    /// When the connection is over; messages that came before are still there.
    pub fn fill(&mut self) -> Result<(), Lost> {
        self.fill_by(|socket, octets| Read::read(&mut &*socket, octets))
    }

    /// Reads what has come, and takes the descriptors beside it.
    ///
    /// # Errors
    /// When the connection is over; messages that came before are still there.
    pub fn fill_beside(&mut self, beside: &mut Vec<OwnedFd>) -> Result<(), Lost> {
        self.fill_by(|socket, octets| unix_socket::receive_beside(socket, octets, beside))
    }

    fn fill_by(
        &mut self,
        read: impl FnOnce(&UnixStream, &mut [u8]) -> io::Result<usize>,
    ) -> Result<(), Lost> {
        shift(&mut self.read, &mut self.used);
        let start = self.read.len();
        self.read.resize(start + READ_OCTETS, 0);
        let got = self.timed.call(|| read(&self.socket, &mut self.read[start..]));
        self.read.truncate(start + got.as_ref().copied().unwrap_or(0));
        match got {
            Ok(0) => Err(Lost::Closed),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The next message that has come whole.
    ///
    /// # Errors
    /// When it is none.
    pub fn next<T: Message>(&mut self) -> Result<Option<T>, Lost> {
        let Some((message, octets)) = ipc::read(&self.read[self.used..])? else { return Ok(None) };
        self.used += octets;
        Ok(Some(message))
    }

    /// The octets of the next message that has come whole, with its length before it.
    ///
    /// # Errors
    /// When it is too long to be one.
    pub fn next_message(&mut self) -> Result<Option<&[u8]>, Lost> {
        let Some(octets) = ipc::whole(&self.read[self.used..])? else { return Ok(None) };
        self.used += octets;
        Ok(Some(&self.read[self.used - octets..self.used]))
    }

    /// Octets of the message that comes next, its length included, once that is known.
    #[must_use]
    pub fn next_octets(&self) -> usize {
        ipc::announced(&self.read[self.used..]).map_or(0, |octets| octets + LENGTH_OCTETS)
    }

    /// Whether a message waits whole.
    #[must_use]
    pub fn has_message(&self) -> bool {
        ipc::is_whole(&self.read[self.used..])
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Moves what is left to the front, when that is little or what was used is much.
fn shift(buffer: &mut Vec<u8>, used: &mut usize) {
    if *used == buffer.len() {
        buffer.clear();
        *used = 0;
    } else if *used > USED_OCTETS_MAX && *used > buffer.len() / 2 {
        buffer.drain(..*used);
        *used = 0;
    }
}
