//! What a sender is told and what it wants done.

use machine::Duration;

/// Peers of one sender at most: tables of peers, each with a per-peer header of its own.
pub const PEERS_MAX: usize = 65_536;
/// Octets that wait in a sender at most, beside what the transport has taken. A station that lets
/// more come together is disconnected and begins anew.
pub const QUEUE_BYTES_MAX: usize = 16 << 20;

/// A peer, numbered by the owner: what has a Peer Up of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

/// Which question a piece answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// The settings of a sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The system's description, as Initiation tells it.
    pub description: String,
    /// The system's name, as Initiation tells it.
    pub name: String,
    /// Time until the next attempt after the first failure; it doubles with each.
    pub retry: Duration,
    /// Time until the next attempt at most.
    pub retry_max: Duration,
    /// Time to wait for a connection.
    pub connect_timeout: Duration,
    /// Time for which the station may take nothing while something waits for it.
    pub stall: Duration,
    /// Time between statistics; `None` for none.
    pub statistics: Option<Duration>,
}

impl Settings {
    /// Half a minute to twelve minutes between attempts (RFC 7854 §3.2), half a minute for a
    /// connection, two minutes for a station that takes nothing, no statistics.
    #[must_use]
    pub const fn new(description: String, name: String) -> Self {
        Self {
            description,
            name,
            retry: Duration::from_secs(30),
            retry_max: Duration::from_secs(720),
            connect_timeout: Duration::from_secs(30),
            stall: Duration::from_secs(120),
            statistics: None,
        }
    }
}

/// What happened, or what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum In {
    /// The station is to be told.
    Start,
    /// No longer: the text of the Termination.
    Stop(String),
    /// The connection is there.
    Connected,
    /// It could not be had.
    ConnectFailed,
    /// It ended by itself.
    Closed,
    /// The transport takes nothing more for now.
    Blocked,
    /// The transport took something that had waited; whether more waits.
    Written(bool),
    /// A peer is there: the owner will be asked for its Peer Up and its routes.
    PeerUp(PeerId),
    /// A peer is no more: its Peer Down.
    PeerDown(PeerId, Vec<u8>),
    /// Messages about a peer that is there: an UPDATE came, statistics. They are left out if the
    /// station has not been told of the peer yet: the answer to [`Out::Ask`] will know them.
    Live(PeerId, Vec<u8>),
    /// The answer to [`Out::Ask`]: whole messages, and whether more of them follow.
    Piece(Token, Vec<u8>, bool),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Open a connection; answered by [`In::Connected`] or [`In::ConnectFailed`].
    Connect,
    /// Send octets.
    Send(Vec<u8>),
    /// Close the connection behind what was sent, or give up opening it. Nothing is told of it
    /// any more.
    Close,
    /// Give the next piece of a peer, as [`In::Piece`]: the first, which begins with its Peer Up
    /// (`true`), or the one behind that which was given last. What is asked is forgotten when
    /// something else is asked, and when the peer goes.
    Ask(Token, PeerId, bool),
    /// Every table was told for the first time since the connection is there.
    Complete,
    /// Give statistics of the peers, as [`In::Live`].
    Statistics,
    /// The station was too slow: it was disconnected, and will begin anew.
    Overflowed,
}

/// What a sender counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Connections that were asked for.
    pub connects: u64,
    /// Connections that were there.
    pub established: u64,
    /// Octets that were sent.
    pub sent_bytes: u64,
    /// Stations that were too slow.
    pub overflows: u64,
    /// Peers that were not told of, because there were too many.
    pub refused_peers: u64,
}
