//! One TCP connection of a session, with its timers (RFC 4271 §8.2.2 from Connect on).

use super::effects::ConnectionId;
use super::negotiate::Negotiated;
use crate::codec::MESSAGE_BYTES_MAX;
use machine::Time;

/// Who opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// We did.
    Outgoing,
    /// The peer did.
    Incoming,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The peer's OPEN is awaited before ours is sent: DelayOpenTimer runs.
    DelayOpen,
    /// OpenSent.
    OpenSent,
    /// OpenConfirm.
    OpenConfirm,
    /// Established.
    Established,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub id: ConnectionId,
    pub way: Way,
    pub phase: Phase,
    /// Octets of a message that the peer may send: what our OPEN said.
    pub message_max: usize,
    /// From OpenConfirm on.
    pub negotiated: Option<Box<Negotiated>>,
    /// When routes could be exchanged.
    pub established_at: Time,
    pub delay_open: Option<Time>,
    pub hold: Option<Time>,
    pub keepalive: Option<Time>,
    pub send_hold: Option<Time>,
}

/// What a timer of a connection is for, in the order in which they count when several are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Hold,
    SendHold,
    DelayOpen,
    Keepalive,
}

impl Connection {
    pub(super) const fn new(id: ConnectionId, way: Way) -> Self {
        Self {
            id,
            way,
            phase: Phase::DelayOpen,
            message_max: MESSAGE_BYTES_MAX,
            negotiated: None,
            established_at: Time::ZERO,
            delay_open: None,
            hold: None,
            keepalive: None,
            send_hold: None,
        }
    }

    const fn timers(&self) -> [(Due, Option<Time>); 4] {
        [
            (Due::Hold, self.hold),
            (Due::SendHold, self.send_hold),
            (Due::DelayOpen, self.delay_open),
            (Due::Keepalive, self.keepalive),
        ]
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.timers().into_iter().filter_map(|(_, at)| at).min()
    }

    /// The first timer that is due at `now`.
    pub(super) fn due(&self, now: Time) -> Option<Due> {
        let is_due = |(_, at): &(Due, Option<Time>)| at.is_some_and(|at| at <= now);
        self.timers().into_iter().find(is_due).map(|(due, _)| due)
    }

    /// The peer lives: the hold timer begins anew.
    pub(super) fn lives(&mut self, now: Time) {
        let time = self.negotiated.as_ref().map(|it| it.hold_time);
        if let Some(time) = time.filter(|time| !time.is_zero()) {
            self.hold = Some(now + time);
        }
    }

    /// Something waits to be taken by the transport; `anew` when something was taken.
    pub(super) fn waits(&mut self, now: Time, anew: bool) {
        let time = self.negotiated.as_ref().map(|it| it.send_hold_time);
        let Some(time) = time.filter(|time| !time.is_zero()) else { return };
        if anew || self.send_hold.is_none() {
            self.send_hold = Some(now + time);
        }
    }
}
