//! One end of the socket: whole messages, never waiting. Of what the other side does not take,
//! packets are shed first.

use channel::{Came, Channel};
use codec::message::{is_packet, whole};
use driver::unix_socket;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Octets that wait for the other side past which packets are shed: what it is behind by then is
/// longer than speech may wait.
const PACKETS_OCTETS_MAX: usize = 256 << 10;
/// Octets that wait past which the connection ends.
const WAITING_OCTETS_MAX: usize = 64 << 20;
/// Octets read at once.
const READ_OCTETS: usize = 64 << 10;

/// Why a connection is over.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// The other side closed it.
    #[error("the other side closed the connection")]
    Closed,
    /// The kernel says so.
    #[error(transparent)]
    Kernel(#[from] io::Error),
    /// The other side says what is no message.
    #[error("{0}")]
    Broken(String),
    /// The other side takes nothing.
    #[error("{WAITING_OCTETS_MAX} octets wait for the other side")]
    Slow,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    socket: UnixStream,
    came: Vec<u8>,
    waits: Vec<u8>,
    sent: usize,
    /// Packets that were shed.
    shed: u64,
}

impl Connection {
    /// Connects to the socket of a process.
    ///
    /// # Errors
    /// Nobody is there.
    pub(crate) fn to(socket: &Path) -> io::Result<Self> {
        Self::new(unix_socket::connect(socket)?)
    }

    /// Takes over a socket that is connected.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, came: Vec::new(), waits: Vec::new(), sent: 0, shed: 0 })
    }

    /// Octets that wait for the other side.
    pub(crate) const fn waiting(&self) -> usize {
        self.waits.len() - self.sent
    }

    /// Packets that were shed because the other side is slow.
    pub(crate) const fn shed(&self) -> u64 {
        self.shed
    }

    /// Sends messages, or keeps them until the other side takes them.
    ///
    /// # Errors
    /// When the connection is over.
    pub(crate) fn push(&mut self, messages: &[u8]) -> Result<(), Lost> {
        if self.waiting() + messages.len() <= PACKETS_OCTETS_MAX {
            self.waits.extend_from_slice(messages);
        } else {
            self.push_some(messages)?;
        }
        self.flush()
    }

    fn push_some(&mut self, messages: &[u8]) -> Result<(), Lost> {
        let mut rest = messages;
        while !rest.is_empty() {
            let octets = whole(rest).map_err(|it| Lost::Broken(it.to_string()))?;
            let Some(octets) = octets else {
                return Err(Lost::Broken("a message is cut off".to_owned()));
            };
            let (message, tail) = rest.split_at(octets);
            if is_packet(message) && self.waiting() > PACKETS_OCTETS_MAX {
                self.shed += 1;
            } else {
                self.waits.extend_from_slice(message);
            }
            rest = tail;
        }
        Ok(())
    }

    /// Sends of what waits as much as the other side takes.
    ///
    /// # Errors
    /// When the connection is over.
    pub(crate) fn flush(&mut self) -> Result<(), Lost> {
        while self.sent < self.waits.len() {
            match self.socket.write(&self.waits[self.sent..]) {
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
        self.waits.drain(..self.sent);
        self.sent = 0;
        Ok(())
    }

    /// Reads some of what has come, and gives each whole message to `take`, its length included.
    ///
    /// # Errors
    /// When the connection is over; every message that came before was given.
    pub(crate) fn fill(&mut self, mut take: impl FnMut(&[u8])) -> Result<(), Lost> {
        let start = self.came.len();
        self.came.resize(start + READ_OCTETS, 0);
        let got = self.socket.read(&mut self.came[start..]);
        self.came.truncate(start + got.as_ref().copied().unwrap_or(0));
        let mut used = 0;
        let broken = loop {
            match whole(&self.came[used..]) {
                Ok(Some(octets)) => {
                    take(&self.came[used..used + octets]);
                    used += octets;
                }
                Ok(None) => break None,
                Err(it) => break Some(Lost::Broken(it.to_string())),
            }
        };
        self.came.drain(..used);
        match (broken, got) {
            (Some(broken), _) => Err(broken),
            (None, Ok(0)) => Err(Lost::Closed),
            (None, Ok(_)) => Ok(()),
            (None, Err(error)) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(()),
                _ => Err(error.into()),
            },
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Channel for Connection {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn read(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        self.fill(|message| take(Came::Message(message))).map_err(|lost| lost.to_string())
    }

    fn write(&mut self, messages: Vec<u8>) -> Result<(), String> {
        self.push(&messages).map_err(|lost| lost.to_string())
    }

    fn waits(&self) -> bool {
        self.waiting() > 0
    }
}
