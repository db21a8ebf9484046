//! The INVITE client transaction (RFC 3261 §17.1.1 as corrected by RFC 6026 §7.2, Figure 5).
//!
//! ```text
//!            A: resend         1xx
//! Calling ──────────────┐  ┌─────────┐
//!    │  └───── 1xx ───→ Proceeding ←─┘
//!    │ 2xx                │ 2xx   │ 300-699: ACK
//!    ├──→ Accepted ←──────┘       └──→ Completed ←── 300-699 ── Calling
//!    │ B, error │ M                       │ D
//!    └────→ Terminated ←──────────────────┘
//! ```

use super::act::Act;
use super::timers::{Arming, Timer};

/// Where the transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The INVITE is out; nobody answered yet.
    Calling,
    /// A provisional response came.
    Proceeding,
    /// A final response other than 2xx came and was acknowledged.
    Completed,
    /// A 2xx came; more may come, from forks or as retransmissions.
    Accepted,
    /// Over.
    Terminated,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A 1xx.
    Provisional,
    /// A 2xx.
    Success,
    /// A 300 to 699.
    Failure,
    /// Time to send again.
    TimerA,
    /// Nobody answered; or nobody answered a CANCEL (§9.1).
    TimerB,
    /// Retransmissions of the final response are over.
    TimerD,
    /// Retransmissions of the 2xx are over.
    TimerM,
    /// The transport could not deliver.
    TransportError,
}

impl State {
    /// The machine: the next state, and what to do on the way.
    #[must_use]
    pub const fn step(self, event: Event) -> (Self, Act) {
        match self {
            Self::Calling => self.calling(event),
            Self::Proceeding => self.proceeding(event),
            Self::Completed => match event {
                Event::Failure => (self, Act::ACK),
                Event::TimerD => (Self::Terminated, Act::NOTHING),
                Event::TransportError => (Self::Terminated, Act::ERROR),
                _ => (self, Act::NOTHING),
            },
            Self::Accepted => match event {
                Event::Success => (self, Act::PASS),
                Event::TimerM => (Self::Terminated, Act::NOTHING),
                _ => (self, Act::NOTHING),
            },
            Self::Terminated => (self, Act::NOTHING),
        }
    }

    const fn calling(self, event: Event) -> (Self, Act) {
        match event {
            Event::TimerA => (self, Act::RESEND),
            Event::TransportError => (Self::Terminated, Act::ERROR),
            Event::TimerD | Event::TimerM => (self, Act::NOTHING),
            _ => self.proceeding(event),
        }
    }

    const fn proceeding(self, event: Event) -> (Self, Act) {
        match event {
            Event::Provisional => (Self::Proceeding, Act::PASS),
            Event::Success => (Self::Accepted, Act::PASS.and(Act::FORGET)),
            Event::Failure => (Self::Completed, Act::PASS.and(Act::ACK)),
            Event::TimerB => (Self::Terminated, Act::TIMEOUT),
            _ => (self, Act::NOTHING),
        }
    }

    /// The timers set on entering the state.
    #[must_use]
    pub const fn arming(self) -> Arming {
        match self {
            Self::Calling => Arming::both(Timer::A, Timer::B),
            Self::Proceeding | Self::Terminated => Arming::NONE,
            Self::Completed => Arming::end(Timer::D),
            Self::Accepted => Arming::end(Timer::M),
        }
    }
}
