//! What a node is told, and what it wants done.

use crate::codec::{ResultCode, Violation};
use crate::settings::{Connection, PeerId};
use bytes::Bytes;
use machine::Duration;
use machine::slots::Key;
use std::net::IpAddr;

/// What happened.
#[derive(Debug, Clone)]
pub enum In {
    /// The connection that [`Out::Connect`] wanted stands; this node's addresses on it.
    Connected(PeerId, Connection, Vec<IpAddr>),
    /// It does not, and why.
    NotConnected(PeerId, &'static str),
    /// Somebody has connected; this node's addresses on it.
    Accepted(Connection, Vec<IpAddr>),
    /// A connection is no more, and why.
    Lost(Connection, &'static str),
    /// A whole message came.
    Message(Connection, Bytes),
    /// The application asks.
    Request(Outgoing),
    /// The application answers: a whole message, whose identifiers the node fills in.
    Answer(RequestId, Vec<u8>),
    /// A peer shall be connected to, as if its time had come.
    Start(PeerId),
    /// A peer shall be disconnected, and not connected to until [`In::Start`].
    Stop(PeerId, DisconnectCause),
}

/// A request of the application.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// What its answer is told by.
    pub token: u64,
    /// The whole message (see [`crate::codec::Writer::request`]): Destination-Realm,
    /// Destination-Host and the header say where it goes; the node fills in the identifiers.
    pub message: Vec<u8>,
    /// How long it may take; `None`: as [`crate::Parameters::t_request`] says.
    pub timeout: Option<Duration>,
}

/// A request that the application has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(pub(crate) Key);

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Open a connection to a peer.
    Connect(PeerId),
    /// Send a message.
    Send(Connection, Bytes),
    /// End a connection, when what was sent before is out. Nothing of it is told any more.
    Close(Connection),
    /// Something that the application or the operator is told.
    Indicate(Indication),
}

/// What the application or the operator is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indication {
    /// A peer asks: a message that passed the check.
    Request(RequestId, PeerId, Bytes),
    /// A request of the application has come to its end; told once for each.
    Answer(u64, Outcome),
    /// A peer can be sent requests.
    PeerUp(PeerId),
    /// It cannot any more, and why.
    PeerDown(PeerId, &'static str),
    /// What a peer sent offends.
    Complaint(Option<PeerId>, Violation),
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered, by a message that passed the check.
    Answer(Bytes),
    /// It was answered by one that did not.
    Malformed(Bytes, Violation),
    /// It was not sent, with the code that a peer would have answered.
    NotSent(ResultCode),
    /// Nobody has answered in time.
    Expired,
}

/// Why a peer is disconnected (RFC 6733 §5.4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisconnectCause {
    /// This node is about to begin anew: the peer may connect again.
    Rebooting,
    /// It has too much to do.
    Busy,
    /// It sees no need for the connection.
    DoNotWantToTalkToYou,
}

impl DisconnectCause {
    /// The value of Disconnect-Cause.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Rebooting => 0,
            Self::Busy => 1,
            Self::DoNotWantToTalkToYou => 2,
        }
    }
}
