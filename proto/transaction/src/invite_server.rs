//! The INVITE server transaction (RFC 3261 §17.2.1 as corrected by RFC 6026 §7.1, Figure 7).
//!
//! ```text
//!  INVITE: resend 1xx       G, INVITE: resend
//! Proceeding ── 300-699 ──→ Completed ── ACK ──→ Confirmed
//!     │ 2xx                     │ H: no ACK          │ I
//!     └──→ Accepted ── L ──→ Terminated ←────────────┘
//! ```
//! A 100 within 200 ms is the transaction user's duty: it answers at once or never late.

use super::act::Act;
use super::timers::{Arming, Timer};

/// Where the transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No final response was sent yet.
    Proceeding,
    /// A 300 to 699 was sent and waits for its ACK.
    Completed,
    /// The ACK came; more of them are absorbed.
    Confirmed,
    /// A 2xx was sent; its retransmission belongs to the user, that of the INVITE is absorbed.
    Accepted,
    /// Over.
    Terminated,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The INVITE came again.
    Invite,
    /// An ACK came.
    Ack,
    /// The user sent a 1xx.
    Provisional,
    /// The user sent a 2xx.
    Success,
    /// The user sent a 300 to 699.
    Failure,
    /// Time to send the final response again.
    TimerG,
    /// No ACK came.
    TimerH,
    /// Retransmissions of the ACK are over.
    TimerI,
    /// Retransmissions of the INVITE are over.
    TimerL,
    /// The transport could not deliver.
    TransportError,
}

impl State {
    /// The machine: the next state, and what to do on the way.
    #[must_use]
    pub const fn step(self, event: Event) -> (Self, Act) {
        match (self, event) {
            (Self::Proceeding, Event::Invite) => (self, Act::RESEND),
            (Self::Proceeding, Event::Provisional) => (self, Act::STORE),
            (Self::Proceeding, Event::Success) => (Self::Accepted, Act::FORGET),
            (Self::Proceeding, Event::Failure) => (Self::Completed, Act::STORE),
            (Self::Completed, Event::Invite | Event::TimerG) => (self, Act::RESEND),
            (Self::Completed, Event::Ack) => (Self::Confirmed, Act::PASS.and(Act::FORGET)),
            (Self::Completed, Event::TimerH) => (Self::Terminated, Act::TIMEOUT),
            (Self::Proceeding | Self::Completed, Event::TransportError) => {
                (Self::Terminated, Act::ERROR)
            }
            (Self::Confirmed, Event::TimerI) | (Self::Accepted, Event::TimerL) => {
                (Self::Terminated, Act::NOTHING)
            }
            (Self::Accepted, Event::Ack) => (self, Act::PASS),
            _ => (self, Act::NOTHING),
        }
    }

    /// The timers set on entering the state.
    #[must_use]
    pub const fn arming(self) -> Arming {
        match self {
            Self::Proceeding | Self::Terminated => Arming::NONE,
            Self::Completed => Arming::both(Timer::G, Timer::H),
            Self::Confirmed => Arming::end(Timer::I),
            Self::Accepted => Arming::end(Timer::L),
        }
    }
}
