//! What is recorded of a message: which way it went, and what became of it.

use crate::identity::Msisdn;

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a terminal.
    Originated,
    /// To a terminal.
    Terminated,
}

/// How a message reached the subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By SIP.
    PacketSwitched,
    /// By an MSC, an SGSN or an MME.
    CircuitSwitched,
}

impl Way {
    /// As the configuration says it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PacketSwitched => "ps",
            Self::CircuitSwitched => "cs",
        }
    }
}

/// A way that was tried, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The way.
    pub way: Way,
    /// What came of it, in a word.
    pub result: &'static str,
    /// RP-Cause, where the terminal told one.
    pub cause: Option<u8>,
}

/// What is recorded of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Which way it went.
    pub direction: Direction,
    /// The subscriber's number.
    pub subscriber: Option<Msisdn>,
    /// The other end, as the message has it.
    pub other: Option<String>,
    /// Octets of its TPDU.
    pub octets: usize,
    /// The service centre.
    pub centre: Option<Msisdn>,
    /// The way of delivery, where it was delivered.
    pub way: Option<Way>,
    /// RP-Cause, where it failed.
    pub cause: Option<u8>,
    /// It is not over: it waits on, and why.
    pub postponed: Option<&'static str>,
    /// What was tried, in its order.
    pub attempts: Vec<Attempt>,
    /// Its trail in the service assurance.
    pub trail: u64,
}
