//! What flows ask of the home subscriber server, and what they are told.

use mapsms::identity::Msisdn;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HomeAnswer {
    /// The number, if there is one.
    Number(Option<Msisdn>),
    /// Nobody has answered, or cannot for now.
    Failed,
}

/// What flows may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Home {
    /// For numbers.
    pub numbers: bool,
    /// For word of who can be reached.
    pub reachability: bool,
}
