//! What a client is told and what it wants done.

use crate::pdu::{ErrorCode, Intervals, Version};
use crate::table::Delta;
use machine::Duration;
use wire::Malformed;

/// Caches of one client at most.
pub const CACHES_MAX: usize = 16;
/// Router keys of one cache at most.
pub const KEYS_MAX: usize = 100_000;
/// Octets of the public key of a router at most; those of P-256 have 91.
pub const SPKI_BYTES_MAX: usize = 1_024;
/// Time after the first failure of a cache; it doubles with each up to the retry interval.
pub const BACKOFF: Duration = Duration::from_secs(1);

/// A cache: its place in the list, the most preferred first. A client has one connection with it at
/// a time; after [`Out::Close`] nothing is told of the old one any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheId(pub u8);

/// The settings of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How many caches there are, at most [`CACHES_MAX`].
    pub caches: u8,
    /// The version that is tried first.
    pub version: Version,
    /// The times where a cache does not tell any, as in version 0.
    pub intervals: Intervals,
    /// Time to wait for a connection.
    pub connect_timeout: Duration,
    /// Time to wait for the next octets of an answer.
    pub response_timeout: Duration,
}

impl Settings {
    /// Version 1, the times of RFC 8210 §6, half a minute for a connection, a minute for answers.
    #[must_use]
    pub const fn new(caches: u8) -> Self {
        Self {
            caches,
            version: Version::V1,
            intervals: Intervals::DEFAULT,
            connect_timeout: Duration::from_secs(30),
            response_timeout: Duration::from_secs(60),
        }
    }
}

/// What happened, or what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum In {
    /// Records are wanted.
    Start,
    /// No longer.
    Stop,
    /// Ask now, and try now what would wait.
    Refresh,
    /// The connection is there.
    Connected(CacheId),
    /// It could not be had.
    ConnectFailed(CacheId),
    /// It ended by itself.
    Closed(CacheId),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Open a connection; answered by [`In::Connected`] or [`In::ConnectFailed`].
    Connect(CacheId),
    /// Send octets.
    Send(CacheId, Vec<u8>),
    /// Close the connection behind what was sent, or give up opening it.
    Close(CacheId),
    /// The table is another one: routes of these prefixes are to be validated again.
    Changed(Delta),
    /// Tell the owner.
    Indicate(Indication),
}

/// Why a cache is given up for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The connection could not be had, or it ended.
    Lost,
    /// No connection or no answer in time.
    Timeout,
    /// It reported an error: the number, and its text.
    Reported(u16, String),
    /// It offended: what we reported, and why.
    Offended(ErrorCode, Malformed),
    /// It speaks version 0 only; it is asked again at once.
    Downgraded,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indication {
    /// The table is that of this cache, at this serial number.
    Synchronised(CacheId, u32),
    /// A cache is given up for a while.
    Failed(CacheId, Cause),
    /// No cache confirmed the records for too long: they are gone.
    Expired,
}

/// What a client counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Connections that were asked for.
    pub connects: u64,
    /// Answers that were taken up.
    pub loads: u64,
    /// Failures of a cache.
    pub failures: u64,
    /// Error Reports that were sent.
    pub errors_sent: u64,
    /// How often the records expired.
    pub expired: u64,
}
