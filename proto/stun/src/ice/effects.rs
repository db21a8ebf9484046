//! What an agent is told and what it wants done.

use super::credentials::Credentials;
use core::net::SocketAddr;

/// Who chooses the pair (RFC 8445 §6.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The other side: always, where that is a full agent.
    Controlled,
    /// This side: where both are lite and this one offered.
    Controlling,
}

/// The settings of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Fragment and password of this side.
    pub local: Credentials,
    /// Those of the other side, once they are known.
    pub remote: Option<Credentials>,
    /// Who chooses.
    pub role: Role,
    /// Whether the other side is asked for its consent (RFC 7675 §5.1). A lite agent need not.
    pub asks_consent: bool,
}

/// A datagram of STUN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The component whose port it came to: 1 is RTP, 2 RTCP.
    pub component: u8,
    /// The address here.
    pub local: SocketAddr,
    /// The address there.
    pub remote: SocketAddr,
    /// The octets.
    pub octets: Vec<u8>,
}

/// Two addresses between which packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The component: 1 is RTP, 2 RTCP.
    pub component: u8,
    /// The address here.
    pub local: SocketAddr,
    /// The address there.
    pub remote: SocketAddr,
}

/// What happened, or what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum In {
    /// A datagram came.
    Datagram(Datagram),
    /// The description of the other side is there, or is another one.
    Remote(Credentials),
    /// ICE begins anew with these of this side (RFC 8445 §9); those of the other side follow.
    Restart(Credentials),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Send a datagram.
    Send(Datagram),
    /// The other side chose this pair: send there from now on.
    Nominated(Pair),
    /// The other side does not consent any more: send nothing there (RFC 7675 §5.1).
    ConsentLost(Pair),
}

/// What an agent counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Checks that were answered.
    pub answered: u64,
    /// Requests that were refused with an answer.
    pub refused: u64,
    /// Requests that got none, since there were too many.
    pub shed: u64,
    /// Datagrams that were no message for this agent.
    pub ignored: u64,
    /// Requests for consent, and to pairs that have to answer before they are used.
    pub asked: u64,
    /// Checks that had come from somewhere else before.
    pub replayed: u64,
}
