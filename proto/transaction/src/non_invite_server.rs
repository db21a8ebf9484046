//! The non-INVITE server transaction (RFC 3261 §17.2.2, Figure 8).
//!
//! ```text
//! Trying ── 1xx ──→ Proceeding (request: resend)
//!    │ 200-699         │ 200-699
//!    └──→ Completed ←──┘ (request: resend)
//!             │ J
//!         Terminated
//! ```

use super::act::Act;
use super::timers::{Arming, Timer};

/// Where the transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The request was passed to the user, which has not answered yet.
    Trying,
    /// A provisional response was sent.
    Proceeding,
    /// The final response was sent.
    Completed,
    /// Over.
    Terminated,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The request came again.
    Request,
    /// The user sent a 1xx.
    Provisional,
    /// The user sent a 200 to 699.
    Final,
    /// Retransmissions of the request are over.
    TimerJ,
    /// The transport could not deliver.
    TransportError,
}

impl State {
    /// The machine: the next state, and what to do on the way.
    #[must_use]
    pub const fn step(self, event: Event) -> (Self, Act) {
        match (self, event) {
            (Self::Trying | Self::Proceeding, Event::Provisional) => (Self::Proceeding, Act::STORE),
            (Self::Trying | Self::Proceeding, Event::Final) => (Self::Completed, Act::STORE),
            (Self::Proceeding | Self::Completed, Event::Request) => (self, Act::RESEND),
            (Self::Proceeding | Self::Completed, Event::TransportError) => {
                (Self::Terminated, Act::ERROR)
            }
            (Self::Completed, Event::TimerJ) => (Self::Terminated, Act::NOTHING),
            _ => (self, Act::NOTHING),
        }
    }

    /// The timers set on entering the state.
    #[must_use]
    pub const fn arming(self) -> Arming {
        match self {
            Self::Trying | Self::Proceeding | Self::Terminated => Arming::NONE,
            Self::Completed => Arming::end(Timer::J),
        }
    }
}
