//! What a speaker is told of its connections, and what its owner is to do.

use crate::refusals::Refusal;
use bgp::codec::RefreshKind;
use bgp::family::{Family, FamilySet};
use bgp::{Cause, Negotiated};
use core::net::IpAddr;
use rib::{Neighbour, PeerId};
use runtime::Flow;

/// What happened to a connection of one of the speaker's ports, as [`runtime::In`] says it.
#[derive(Debug, Clone, Copy)]
pub enum In<'a> {
    /// It stands, opened here or accepted.
    Connected(Flow),
    /// It ended, or never stood, and why. Of a listening port, with an unspecified far end:
    /// segments were dropped that were not signed as its peers must.
    Lost(&'a Flow, &'a str),
    /// Octets came: what [`crate::frame`] cut. [`crate::Speaker::next`] wants them again.
    Octets(&'a Flow, &'a [u8]),
    /// The kernel took octets of it, the first number; those of the second still wait.
    Written(&'a Flow, u64, u64),
    /// Somebody tries to connect from that address, and what carries connections did not let him.
    Refused(IpAddr, Refusal),
}

/// What the owner of the routes is to do, in this order.
#[derive(Debug)]
pub enum Out<'a> {
    /// The session of a peer stands: routes can be exchanged with it.
    Up(PeerId, Box<Established>),
    /// It ended.
    Down(PeerId, Box<Ended>),
    /// An UPDATE came, whole and with its header. One that offends is answered by
    /// [`crate::Speaker::refuse_update`] or [`crate::Speaker::tolerate`].
    Update(PeerId, &'a [u8]),
    /// The peer asks for a family again, or says where its own routes begin and end (RFC 7313).
    Refresh(PeerId, Family, RefreshKind),
    /// Stale routes of these families are stale for long from now on (RFC 9494 §4.2).
    LongLived(PeerId, FamilySet),
    /// Routes of these families that are still stale go.
    Purge(PeerId, FamilySet),
    /// The transport took octets of the connection over which routes are exchanged; so many wait.
    Written(PeerId, u64, u64),
    /// The limits of a peer are others: [`crate::Speaker::check_limits`] is to be asked.
    Limits(PeerId),
    /// A message that manages a session was sent: any but an UPDATE and a KEEPALIVE.
    Sent(Box<Sent>),
}

/// A message that was sent. The peer itself may be gone already.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The name of the peer.
    pub name: String,
    /// The connection.
    pub flow: Flow,
    /// The whole message, with its header.
    pub message: Box<[u8]>,
}

/// What other policies mean to the sessions that stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyChange {
    /// Peers whose import and export policies have other numbers now: tables are told of them
    /// before they judge anew (`rib::Rib::renumber`).
    pub rebound: Vec<(PeerId, [u32; 2])>,
    /// The numbers of the policies that are others now.
    pub numbers: Vec<u32>,
}

/// The session of a peer that has come to stand.
#[derive(Debug, Clone)]
pub struct Established {
    /// What the peer is to the tables.
    pub neighbour: Neighbour,
    /// What was agreed on.
    pub negotiated: Negotiated,
    /// Our end of the session.
    pub local: Option<IpAddr>,
    /// The connection over which routes are exchanged.
    pub flow: Option<Flow>,
}

/// The session of a peer that has ended. The peer itself may be gone already.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Why.
    pub cause: Cause,
    /// The same for people, with what offended and what was said.
    pub reason: String,
    /// Families whose routes stay for a time (RFC 4724).
    pub retained: FamilySet,
    /// The name of the peer.
    pub name: String,
    /// The address of the peer.
    pub address: IpAddr,
    /// What had been agreed on.
    pub negotiated: Option<Box<Negotiated>>,
    /// Our end of the session.
    pub local: Option<IpAddr>,
    /// The connection over which routes were exchanged.
    pub flow: Option<Flow>,
}

/// What a speaker has counted since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Sessions that came to stand.
    pub established: u64,
    /// Those that ended.
    pub dropped: u64,
    /// Connections that ended before routes were exchanged.
    pub failed: u64,
    /// Connections that this node set out to open.
    pub attempts: u64,
    /// Connections from an address of no peer.
    pub refused: u64,
    /// Connections from a range whose group had as many peers as it may.
    pub range_full: u64,
    /// Connections from a range where too many of one /64 had said no OPEN yet.
    pub range_silent: u64,
    /// Hold timers that expired.
    pub hold_expired: u64,
    /// Send hold timers that expired.
    pub send_hold_expired: u64,
    /// Messages of peers that ended their session.
    pub offended: u64,
    /// UPDATEs that offended without ending the session.
    pub tolerated: u64,
    /// Times that a peer had more routes than it may.
    pub exceeded: u64,
    /// ROUTE-REFRESHes that came.
    pub refreshes: u64,
}

impl Counts {
    /// Adds what another speaker has counted.
    pub fn add(&mut self, other: &Self) {
        self.established += other.established;
        self.dropped += other.dropped;
        self.failed += other.failed;
        self.attempts += other.attempts;
        self.refused += other.refused;
        self.range_full += other.range_full;
        self.range_silent += other.range_silent;
        self.hold_expired += other.hold_expired;
        self.send_hold_expired += other.send_hold_expired;
        self.offended += other.offended;
        self.tolerated += other.tolerated;
        self.exceeded += other.exceeded;
        self.refreshes += other.refreshes;
    }
}
