//! What flows ask of the home subscriber server and of other peers, and what they are told.

use crate::destinations::Place;
use core::fmt;
use mapsms::argument::Argument;
use mapsms::identity::Msisdn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asked of the home subscriber server by Sh (TS 29.328).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HomeKeys {
    /// Its realm; absent: that of `[ipsmgw.diameter]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realm: Option<String>,
    /// Its host, where it is one; absent: whichever the realm's peers choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// It is asked for the number of an identity that registers, where neither that identity nor
    /// the service information has one.
    pub numbers: bool,
    /// It is asked to tell when a subscriber can be reached over IP again who did not answer: what
    /// waits is tried then.
    pub reachability: bool,
    /// How long that is waited for, seconds.
    pub reachability_s: u32,
}

impl Default for HomeKeys {
    fn default() -> Self {
        let (realm, host) = (None, None);
        Self { realm, host, numbers: true, reachability: true, reachability_s: 86_400 }
    }
}

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
pub struct Caller {
    /// Comes back with the answer.
    pub ticket: u64,
    /// The trail of the flow that asks.
    pub trail: Option<u64>,
}

/// Dialogues and references from here on are those of peers of Diameter; signalling gateways and
/// flows count from 0.
const FIRST: u64 = 1 << 63;

/// Whether a dialogue or a reference is one of Diameter's.
#[must_use]
pub const fn is_by_diameter(number: u64) -> bool {
    number & FIRST != 0
}

/// The reference of a question that goes by Diameter.
#[must_use]
pub const fn by_diameter(reference: u64) -> u64 {
    reference | FIRST
}

/// What a flow asks of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerQuestion {
    /// Comes back with [`crate::Event::Replied`].
    pub reference: u64,
    /// What is asked.
    pub argument: Argument,
    /// Whom.
    pub place: Place,
}
