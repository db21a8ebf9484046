//! Primitives of connections (Q.711 §6.2): what users want, and what they are told.

use crate::codec::{Address, ConnectionClass, LocalReference};
use bytes::Bytes;

/// N-CONNECT request (Q.711 §6.2.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connect {
    /// What the user knows it by, until it has a reference.
    pub tag: u64,
    /// Where to.
    pub called: Address,
    /// Where from.
    pub calling: Option<Address>,
    /// The class that is wanted.
    pub class: ConnectionClass,
    /// Importance, 0 to 7.
    pub importance: Option<u8>,
    /// The user's data, up to 128 octets; none: no such parameter.
    pub data: Bytes,
}

/// N-CONNECT response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// The class: that of the indication, or 2.
    pub class: ConnectionClass,
    /// The responding address.
    pub responding: Option<Address>,
    /// The user's data, up to 128 octets.
    pub data: Bytes,
}

/// N-DISCONNECT request (Q.711 §6.2.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disconnect {
    /// The number of the refusal cause before the connection is there, of the release cause then.
    pub cause: u8,
    /// The user's data, up to 128 octets.
    pub data: Bytes,
}

/// What a user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionInput {
    /// A subsystem here takes connections, or no more; those that are there go on.
    Serve(u8, bool),
    /// N-CONNECT request: [`ConnectionEvent::Begun`] has its reference.
    Connect(Connect),
    /// N-CONNECT response.
    Accept(LocalReference, Accept),
    /// N-DATA request.
    Data(LocalReference, Bytes),
    /// N-EXPEDITED-DATA request, class 3: up to 32 octets.
    Expedited(LocalReference, Bytes),
    /// N-RESET request, class 3, with the number of the reset cause.
    Reset(LocalReference, u8),
    /// N-RESET response.
    ResetResponse(LocalReference),
    /// The user takes no more for a while, or does again: in class 3 what came is not acknowledged
    /// meanwhile, so that the other side's window closes (Q.714 §3.5.2).
    Busy(LocalReference, bool),
    /// N-DISCONNECT request.
    Disconnect(LocalReference, Disconnect),
}

/// Why a connection is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnected {
    /// It was refused, with the number of the refusal cause.
    Refused(u8),
    /// It was released, with the number of the release cause.
    Released(u8),
}

/// N-INFORM: what happened to the way (Q.711 §6.2.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inform {
    /// Network service failure: MTP3 has no way to the other node. The connection stays until its
    /// timers end it.
    Failure,
    /// Network service return.
    Return,
}

/// What the user of a connection is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// An N-CONNECT request with that tag has this reference.
    Begun(u64),
    /// N-CONNECT indication: to be accepted, or disconnected.
    Offered {
        /// Where to: its subsystem is the user.
        called: Address,
        /// Where from.
        calling: Option<Address>,
        /// The class that is proposed.
        class: ConnectionClass,
        /// Importance, 0 to 7.
        importance: Option<u8>,
        /// The user's data.
        data: Bytes,
    },
    /// N-CONNECT confirm.
    Confirmed {
        /// The class that was agreed.
        class: ConnectionClass,
        /// The responding address.
        responding: Option<Address>,
        /// The user's data.
        data: Bytes,
    },
    /// N-DATA indication, whole.
    Data(Bytes),
    /// N-EXPEDITED-DATA indication.
    Expedited(Bytes),
    /// N-RESET indication, with the number of the cause: to be responded. Data on the way are lost.
    Reset(u8),
    /// N-RESET confirm: data may be sent again.
    ResetConfirmed,
    /// N-DISCONNECT indication: the reference is no more.
    Disconnected {
        /// Why.
        why: Disconnected,
        /// The user's data.
        data: Bytes,
    },
    /// N-INFORM indication.
    Inform(Inform),
    /// Data of a request were not sent: too long, of the wrong class, without room, or of a
    /// connection that is not there. The connection goes on as it was.
    NotSent(Bytes),
}
