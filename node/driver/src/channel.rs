//! Channels: how a function speaks with another process of this machine, in whole messages. The
//! shard that runs the function owns the channel; whoever implements these traits does the IO.

use std::fmt;
use std::os::fd::BorrowedFd;

/// The way to another process.
pub trait Connect: fmt::Debug + Send + Sync {
    /// Connects, without ever waiting.
    ///
    /// # Errors
    /// Nobody is at the other end.
    fn connect(&self) -> Result<Box<dyn Channel>, Absent>;
}

/// A channel that stands. Nothing here waits.
pub trait Channel: Send {
    /// Can be read when the other side has said something.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Reads some of what has come, and gives each whole message to `take`.
    ///
    /// # Errors
    /// Why the channel is over, in words; every message that came before was given.
    fn read(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<(), String>;

    /// Writes messages, and what waited before them; keeps what the other side does not take yet.
    ///
    /// # Errors
    /// Why the channel is over, in words.
    fn write(&mut self, messages: Vec<u8>) -> Result<(), String>;

    /// Whether something waits for the other side.
    fn waits(&self) -> bool;
}

/// Why there is no channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// Nobody is there yet: the process is being started.
    Starting,
    /// In words.
    Failed(String),
}
