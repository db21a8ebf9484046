//! Client transactions in their table: found by the index in the branch, never by a hash.

use super::act::Act;
use super::clock::Clock;
use super::timers::Arming;
use super::{ClientId, invite_client, non_invite_client};
use sip::Method;
use std::sync::Arc;

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

/// What happens to a client transaction; the machines' own events name the timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Provisional,
    Success,
    Failure,
    Resend,
    End,
    TransportError,
}

/// One of the two client machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientMachine {
    Invite(invite_client::State),
    Other(non_invite_client::State),
}

impl ClientMachine {
    pub(super) fn new(method: Method) -> Self {
        match method {
            Method::Invite => Self::Invite(invite_client::State::Calling),
            _ => Self::Other(non_invite_client::State::Trying),
        }
    }

    pub(super) const fn step(self, signal: Signal) -> (Self, Act) {
        match self {
            Self::Invite(state) => {
                let (next, act) = state.step(invite_event(state, signal));
                (Self::Invite(next), act)
            }
            Self::Other(state) => {
                let (next, act) = state.step(non_invite_event(state, signal));
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

    /// Whether no final response came yet.
    pub(super) const fn awaits(self) -> bool {
        use {invite_client::State as I, non_invite_client::State as N};
        matches!(
            self,
            Self::Invite(I::Calling | I::Proceeding) | Self::Other(N::Trying | N::Proceeding)
        )
    }

    pub(super) const fn is_over(self) -> bool {
        matches!(
            self,
            Self::Invite(invite_client::State::Terminated)
                | Self::Other(non_invite_client::State::Terminated)
        )
    }
}

const fn invite_event(state: invite_client::State, signal: Signal) -> invite_client::Event {
    use invite_client::{Event, State};
    match signal {
        Signal::Provisional => Event::Provisional,
        Signal::Success => Event::Success,
        Signal::Failure => Event::Failure,
        Signal::Resend => Event::TimerA,
        Signal::TransportError => Event::TransportError,
        Signal::End => match state {
            State::Calling | State::Proceeding => Event::TimerB,
            State::Completed => Event::TimerD,
            State::Accepted | State::Terminated => Event::TimerM,
        },
    }
}

const fn non_invite_event(
    state: non_invite_client::State,
    signal: Signal,
) -> non_invite_client::Event {
    use non_invite_client::{Event, State};
    match signal {
        Signal::Provisional => Event::Provisional,
        Signal::Success | Signal::Failure => Event::Final,
        Signal::Resend => Event::TimerE,
        Signal::TransportError => Event::TransportError,
        Signal::End => match state {
            State::Trying | State::Proceeding => Event::TimerF,
            State::Completed | State::Terminated => Event::TimerK,
        },
    }
}

/// A slot of the client table.
#[derive(Debug)]
pub(super) enum ClientSlot<F, U> {
    /// The branch is given out, nothing was sent yet.
    Reserved,
    /// A transaction.
    Live(Client<F, U>),
}

/// A client transaction.
#[derive(Debug)]
pub(super) struct Client<F, U> {
    pub(super) machine: ClientMachine,
    pub(super) method: Method,
    /// Further 2xx that its user has answered on its own.
    pub(super) released: u8,
    pub(super) clock: Clock,
    /// Where it went, while something may still have to be sent there.
    pub(super) to: Option<Box<F>>,
    /// None for a CANCEL: its outcome is nobody's business.
    pub(super) user: Option<U>,
    /// The request, then (INVITE) the ACK; none once neither can be needed.
    pub(super) bytes: Option<Arc<[u8]>>,
    /// Of an INVITE: its CANCEL, which has the same branch.
    pub(super) cancel: Option<ClientId>,
    /// Neighbours among those that await a final response from the same bucket of far ends.
    pub(super) chain: (u32, u32),
}
