//! Server transactions in their table: found by a seeded hash, verified against the stored key.

use super::act::Act;
use super::clock::Clock;
use super::key::Key;
use super::timers::Arming;
use super::{invite_server, non_invite_server};
use sip::Method;
use std::sync::Arc;

/// What happens to a server transaction; the machines' own events name the timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Request,
    Ack,
    Provisional,
    Success,
    Failure,
    Resend,
    End,
    TransportError,
}

impl Signal {
    /// The user sent a response with this status.
    pub(super) const fn answer(status: u16) -> Self {
        match status {
            100..=199 => Self::Provisional,
            200..=299 => Self::Success,
            _ => Self::Failure,
        }
    }
}

/// One of the two server machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerMachine {
    Invite(invite_server::State),
    Other(non_invite_server::State),
}

impl ServerMachine {
    pub(super) fn new(method: Method) -> Self {
        match method {
            Method::Invite => Self::Invite(invite_server::State::Proceeding),
            _ => Self::Other(non_invite_server::State::Trying),
        }
    }

    pub(super) const fn step(self, signal: Signal) -> (Self, Act) {
        match self {
            Self::Invite(state) => {
                let (next, act) = state.step(invite_event(state, signal));
                (Self::Invite(next), act)
            }
            Self::Other(state) => {
                let (next, act) = state.step(non_invite_event(signal));
                (Self::Other(next), act)
            }
        }
    }

    pub(super) const fn arming(self) -> Arming {
        match self {
            Self::Invite(state) => state.arming(),
            Self::Other(state) => state.arming(),
        }
    }

    pub(super) const fn is_over(self) -> bool {
        matches!(
            self,
            Self::Invite(invite_server::State::Terminated)
                | Self::Other(non_invite_server::State::Terminated)
        )
    }

    /// Whether a final response to an INVITE was sent.
    pub(super) const fn answered(self) -> bool {
        !matches!(self, Self::Invite(invite_server::State::Proceeding))
    }

    /// Whether a 2xx was sent: an ACK belongs to the dialog, not to the transaction.
    pub(super) const fn accepted(self) -> bool {
        matches!(self, Self::Invite(invite_server::State::Accepted))
    }
}

const fn invite_event(state: invite_server::State, signal: Signal) -> invite_server::Event {
    use invite_server::{Event, State};
    match signal {
        Signal::Request => Event::Invite,
        Signal::Ack => Event::Ack,
        Signal::Provisional => Event::Provisional,
        Signal::Success => Event::Success,
        Signal::Failure => Event::Failure,
        Signal::Resend => Event::TimerG,
        Signal::TransportError => Event::TransportError,
        Signal::End => match state {
            State::Completed => Event::TimerH,
            State::Confirmed => Event::TimerI,
            State::Proceeding | State::Accepted | State::Terminated => Event::TimerL,
        },
    }
}

const fn non_invite_event(signal: Signal) -> non_invite_server::Event {
    use non_invite_server::Event;
    match signal {
        Signal::Request | Signal::Ack | Signal::Resend => Event::Request,
        Signal::Provisional => Event::Provisional,
        Signal::Success | Signal::Failure => Event::Final,
        Signal::TransportError => Event::TransportError,
        Signal::End => Event::TimerJ,
    }
}

/// A server transaction.
#[derive(Debug)]
pub(super) struct Server<F, U> {
    pub(super) key: Key,
    pub(super) machine: ServerMachine,
    pub(super) clock: Clock,
    /// Where the final response to an INVITE goes again; every other goes where the request
    /// that it repeats came from.
    pub(super) from: Option<Box<F>>,
    pub(super) user: Option<U>,
    /// The response to send again.
    pub(super) bytes: Option<Arc<[u8]>>,
    /// Where the lines go in that are made from the request again; zero when all is stored.
    pub(super) gap: u16,
    /// Octets of our tag, which stands there.
    pub(super) tag: u8,
}
