//! What a node is told, and what it wants: the primitives of Q.711.

use crate::codec::{Address, Class, LocalReference, ReturnCause};
use crate::connection::{ConnectionEvent, ConnectionInput};
use bytes::Bytes;
use m3ua::codec::{Affected, PointCode};

/// N-UNITDATA (Q.711 §6.3.2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unitdata {
    /// Where to.
    pub called: Address,
    /// Where from.
    pub calling: Address,
    /// Sequence control and return option.
    pub class: Class,
    /// In class 1: messages with the same one keep their order.
    pub sls: u8,
    /// Importance, 0 to 7.
    pub importance: Option<u8>,
    /// The user's data.
    pub data: Bytes,
}

/// What happened, or what a user wants.
#[derive(Debug, Clone)]
pub enum In {
    /// MTP-TRANSFER: an MSU with Service Indicator 3 for this point code.
    Transfer(m3ua::Transfer),
    /// The same by that association: what it makes wait for segments counts as its own.
    TransferBy(m3ua::PeerId, m3ua::Transfer),
    /// MTP-PAUSE.
    Pause(Affected),
    /// MTP-RESUME.
    Resume(Affected),
    /// MTP-STATUS.
    Status(Affected, m3ua::Cause),
    /// N-UNITDATA request.
    Unitdata(Unitdata),
    /// N-STATE request: a subsystem here is in service or out of service.
    State(u8, bool),
    /// N-COORD request: may a subsystem here go out of service? Those that have it as well are
    /// asked.
    Coordinate(u8, Vec<PointCode>),
    /// SST to a subsystem elsewhere, now: [`Indication::Tested`] follows where it is answered
    /// (Q.714 §5.3.4).
    Test(PointCode, u8),
    /// An MSU that this node wanted sent found no way: it comes back when it asks for it.
    Undeliverable(m3ua::Transfer),
    /// What a user wants of a connection.
    Connection(ConnectionInput),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// MTP-TRANSFER request. One for a point code of this node itself, as connections between its
    /// own subsystems lead to, comes back by [`In::Transfer`].
    Transfer(m3ua::Transfer),
    /// A primitive for the users.
    Indicate(Indication),
}

/// What the users are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indication {
    /// N-UNITDATA, and the point code that the MSU came from; none: from here.
    Unitdata(Option<PointCode>, Unitdata),
    /// N-NOTICE: data that could not be delivered (Q.711 §6.3.2.2).
    Notice {
        /// Where they were sent to.
        called: Address,
        /// Where they were sent from: who is told.
        calling: Address,
        /// The number of the return cause.
        cause: u8,
        /// The data, or their first segment.
        data: Bytes,
    },
    /// For the management: a message could not be delivered, whether or not it comes back.
    Undelivered {
        /// The point code that it came from; none: from here.
        from: Option<PointCode>,
        /// Where it was sent to.
        called: Address,
        /// Who sent it.
        calling: Address,
        /// Why.
        cause: ReturnCause,
    },
    /// N-STATE: a subsystem elsewhere is in service or out of service.
    State(PointCode, u8, bool),
    /// N-PCSTATE: a point code is accessible or not (Q.711 §6.3.3.3).
    PointCode(PointCode, bool),
    /// N-PCSTATE: the SCCP there is available or not.
    Sccp(PointCode, bool),
    /// N-PCSTATE: a point code is congested to that level; zero: no more.
    Congested(PointCode, u8),
    /// What a node answered to [`In::Test`]: SSA, or SSP.
    Tested(PointCode, u8, bool),
    /// N-COORD: a replicated subsystem elsewhere asks whether it may go out of service.
    Coordinate(PointCode, u8),
    /// N-COORD confirm: all that were asked agree, or not all have within T(coord chg).
    Coordinated(u8, bool),
    /// What happened to a connection, by its local reference.
    Connection(LocalReference, ConnectionEvent),
    /// N-DISCONNECT of an N-CONNECT request with that tag, which got no reference: the number of
    /// the refusal cause.
    NotConnected(u64, u8),
}
