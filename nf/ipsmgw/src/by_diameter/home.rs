//! What flows ask of the home subscriber server and of other peers, and what they are told.

use super::destinations::{DestinationKeys, Place};
use core::fmt;
use mapsms::argument::Argument;
use mapsms::identity::Msisdn;

/// A question.
#[derive(Clone, PartialEq, Eq)]
pub enum HomeQuestion {
    /// The number of a public user identity.
    Number(String),
    /// Word of when the terminal of a public user identity can be reached over IP.
    Reachability {
        /// The identity.
        identity: String,
        /// The subscriber's number.
        msisdn: Msisdn,
    },
}

// Identities are nothing for logs.
impl fmt::Debug for HomeQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(_) => f.write_str("the number of an identity"),
            Self::Reachability { msisdn, .. } => write!(f, "reachability of {msisdn:?}"),
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HomeAnswer {
    /// The number, if there is one.
    Number(Option<Msisdn>),
    /// Nobody has answered, or cannot for now.
    Failed,
}

/// Who asks: what comes back with the answer, and the trail that both are legs of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub ticket: u64,
    pub trail: Option<u64>,
}

/// What flows may ask by Diameter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Home {
    /// For numbers.
    pub numbers: bool,
    /// For word of who can be reached.
    pub reachability: bool,
    /// Whether messages of terminals are charged (Ro).
    pub charges: bool,
    /// Of whom in place of MAP.
    pub destinations: Vec<DestinationKeys>,
    /// How long a peer that asks is answered in, before its node here gives the answer up; absent:
    /// whenever the flow ends.
    pub answer_time: Option<machine::Duration>,
}

/// Dialogues and references from here on are those of peers of Diameter; signalling gateways and
/// flows count from 0.
const FIRST: u64 = 1 << 63;

/// Whether a dialogue or a reference is one of Diameter's.
pub(crate) const fn is_by_diameter(number: u64) -> bool {
    number & FIRST != 0
}

/// The reference of a question that goes by Diameter.
pub(crate) const fn by_diameter(reference: u64) -> u64 {
    reference | FIRST
}

/// What a flow asks of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerQuestion {
    /// Comes back with [`crate::In::PeerReplied`].
    pub reference: u64,
    /// What is asked.
    pub argument: Argument,
    /// Whom.
    pub place: Place,
}
