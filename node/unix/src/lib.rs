//! A Unix socket that programs of this machine connect to: the listener and all its connections are
//! one [`channel::Channel`], so that a function has them as it has any other process.
//!
//! ```text
//!   program ──┐                       ┌── event ──→ Channel::read  ──→ the function
//!   program ──┴─ epoll in the epoll ──┴── order ←── Channel::write ←──
//! ```
//! Only root and the user of this process reach it: the socket has mode 0600, and the kernel says
//! who is at the other end (`SO_PEERCRED`).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod connection;
mod socket_listener;
mod words;

pub use words::{Event, Order};

use channel::{Absent, Channel, Connect};
use socket_listener::SocketListener;
use std::path::PathBuf;

/// What stands at the front of what a program has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Nothing whole yet.
    Partial,
    /// Octets that mean nothing.
    Skip(usize),
    /// A message of so many octets, which may not all be there.
    Message(usize),
    /// The connection is of no use.
    Broken(&'static str),
}

/// How a program's octets become messages: what stands at their front, and whether that may have
/// changed since so many of them were looked at.
#[derive(Debug, Clone, Copy)]
pub struct Framing {
    /// Finds the first message.
    pub cut: fn(&[u8]) -> Cut,
    /// Whether more may be found than in the first so many octets.
    pub ends_within: fn(&[u8], usize) -> bool,
}

/// A socket to listen at. Connecting to it is binding it.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Its path. What is left there of a process that is gone is removed.
    pub path: PathBuf,
    /// Connections at most; more are closed at once.
    pub connections_max: usize,
    /// Octets that wait for one program, at most; more end its connection.
    pub queue_octets_max: usize,
    /// How messages are told apart.
    pub framing: Framing,
}

impl Connect for Listen {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        let listener = SocketListener::open(self.clone());
        let path = self.path.display();
        let listener = listener.map_err(|error| Absent::Failed(format!("{path}: {error}")))?;
        Ok(Box::new(listener))
    }
}
