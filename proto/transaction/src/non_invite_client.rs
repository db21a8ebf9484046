//! The non-INVITE client transaction (RFC 3261 §17.1.2, Figure 6).
//!
//! ```text
//!          E: resend        E: resend, 1xx
//! Trying ──── 1xx ───→ Proceeding
//!    │ 200-699            │ 200-699
//!    ├──→ Completed ←─────┤
//!    │ F, error │ K       │ F, error
//!    └────→ Terminated ←──┘
//! ```

use super::act::Act;
use super::timers::{Arm, Arming, Timer};

/// Where the transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The request is out; nobody answered yet.
    Trying,
    /// A provisional response came; the request is still sent again, every T2.
    Proceeding,
    /// The final response came.
    Completed,
    /// Over.
    Terminated,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A 1xx.
    Provisional,
    /// A 200 to 699.
    Final,
    /// Time to send again.
    TimerE,
    /// No final response came.
    TimerF,
    /// Retransmissions of the final response are over.
    TimerK,
    /// The transport could not deliver.
    TransportError,
}

impl State {
    /// The machine: the next state, and what to do on the way.
    #[must_use]
    pub const fn step(self, event: Event) -> (Self, Act) {
        match (self, event) {
            (Self::Trying | Self::Proceeding, Event::Provisional) => (Self::Proceeding, Act::PASS),
            (Self::Trying | Self::Proceeding, Event::Final) => {
                (Self::Completed, Act::PASS.and(Act::FORGET))
            }
            (Self::Trying | Self::Proceeding, Event::TimerE) => (self, Act::RESEND),
            (Self::Trying | Self::Proceeding, Event::TimerF) => (Self::Terminated, Act::TIMEOUT),
            (Self::Trying | Self::Proceeding, Event::TransportError) => {
                (Self::Terminated, Act::ERROR)
            }
            (Self::Completed, Event::TimerK) => (Self::Terminated, Act::NOTHING),
            _ => (self, Act::NOTHING),
        }
    }

    /// The timers set on entering the state. E and F run on into Proceeding.
    #[must_use]
    pub const fn arming(self) -> Arming {
        match self {
            Self::Trying => Arming::both(Timer::E, Timer::F),
            Self::Proceeding => Arming { resend: Arm::Keep, end: Arm::Keep },
            Self::Completed => Arming::end(Timer::K),
            Self::Terminated => Arming::NONE,
        }
    }
}
