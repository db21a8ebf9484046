//! What a session is told and what it wants done.

use super::negotiate::Negotiated;
use super::settings::Settings;
use crate::codec::{Cease, Notice, RefreshKind, Violation};
use crate::family::{Family, FamilySet};
use core::ops::Range;

wire::rows! {
    /// The states of the session.
    pub enum State {
        /// Nothing is wanted, or a failure is being waited out.
        Idle = "Idle", "RFC 4271 §8.2.2";
        /// A connection is being opened.
        Connect = "Connect", "RFC 4271 §8.2.2";
        /// The peer may open a connection; the next attempt waits.
        Active = "Active", "RFC 4271 §8.2.2";
        /// Our OPEN was sent.
        OpenSent = "OpenSent", "RFC 4271 §8.2.2";
        /// Both OPENs are there.
        OpenConfirm = "OpenConfirm", "RFC 4271 §8.2.2";
        /// Routes are exchanged.
        Established = "Established", "RFC 4271 §8.2.2";
    }
}

/// A TCP connection, numbered by the owner: no number is used again while a session knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// What happened, or what is wanted.
#[derive(Debug, Clone)]
pub enum In {
    /// The session is wanted.
    Start,
    /// It is no longer wanted: for which reason, and what the operator says.
    Stop(Cease, Option<String>),
    /// It shall begin anew: for which reason, and what the operator says.
    Reset(Cease, Option<String>),
    /// The connection that [`Out::Connect`] asked for is there.
    Connected(ConnectionId),
    /// It could not be had.
    ConnectFailed,
    /// The peer opened a connection.
    Accepted(ConnectionId),
    /// A connection ended by itself.
    Closed(ConnectionId),
    /// The owner does not want to go on with an established connection: the NOTIFICATION and its
    /// data. An UPDATE offended, the peer has too many prefixes, or the like.
    Refuse(ConnectionId, Notice, Vec<u8>),
    /// That many UPDATEs were handed to the transport: no KEEPALIVE is needed for a while.
    Sent(ConnectionId, u64),
    /// The transport takes nothing more for now.
    Blocked(ConnectionId),
    /// The transport took something that had waited; whether more waits.
    Written(ConnectionId, bool),
    /// The End-of-RIB of a family came.
    EndOfRib(Family),
    /// A ROUTE-REFRESH is to be sent, if the peer understands it.
    Refresh(Family, RefreshKind),
    /// Other settings, from the next connection on.
    SetSettings(Box<Settings>),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Open a connection to the peer; answered by [`In::Connected`] or [`In::ConnectFailed`].
    Connect,
    /// Do not open it any more; no answer is awaited.
    Abandon,
    /// Send octets, behind whole messages only.
    Send(ConnectionId, Vec<u8>),
    /// Close the connection when what was to be sent is sent, or can not be. It is no longer
    /// known.
    Close(ConnectionId),
    /// The octets of that range of what was received are whole UPDATEs.
    Updates(ConnectionId, Range<usize>),
    /// Tell the owner.
    Indicate(Indication),
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// We sent a NOTIFICATION.
    Sent(Notice),
    /// The peer sent a NOTIFICATION, and what its operator said.
    Received(Notice, Option<String>),
    /// The transport ended.
    Lost,
    /// The peer opened another connection, as after its restart (RFC 4724 §4.2).
    Replaced,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indication {
    /// The session is in another state.
    State(State),
    /// Routes may be exchanged over that connection.
    Up(ConnectionId, Box<Negotiated>),
    /// No more: routes of these families are stale now, all others of the peer go.
    Down(Cause, FamilySet),
    /// A connection ended before routes were exchanged.
    Failed(Cause),
    /// The peer sent what it must not; a NOTIFICATION followed.
    Offended(Violation),
    /// A ROUTE-REFRESH of a family that was negotiated.
    Refresh(Family, RefreshKind),
    /// Stale routes of these families are stale for long from now on (RFC 9494 §4.2).
    LongLived(FamilySet),
    /// Routes of these families that are still stale go.
    Purge(FamilySet),
}

/// What a session counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages that came, by type: OPEN, UPDATE, NOTIFICATION, KEEPALIVE, ROUTE-REFRESH.
    pub received: [u64; 5],
    /// Messages that were sent, by type.
    pub sent: [u64; 5],
    /// Octets of messages that came.
    pub received_bytes: u64,
    /// How often routes could be exchanged.
    pub established: u64,
    /// How often that ended.
    pub dropped: u64,
    /// Attempts to connect.
    pub connects: u64,
    /// Connections that lost against another one of the same peer.
    pub collisions: u64,
    /// Connections that were refused at once.
    pub refused: u64,
    /// How often the hold timer expired.
    pub hold_expired: u64,
    /// How often the send hold timer expired.
    pub send_hold_expired: u64,
}
