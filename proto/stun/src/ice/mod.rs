//! The lite side of ICE (RFC 8445 §2.5): answers checks, takes the pair that the other side
//! chooses, and asks whether it still wants what is sent.

mod agent;
mod candidate;
mod consent;
mod credentials;
mod effects;
mod pairs;
mod seen;

pub use agent::Agent;
pub use candidate::{Candidate, CandidateType, Host, Transport, host_priority};
pub use consent::{CONSENT_INTERVAL, CONSENT_TIMEOUT};
pub use credentials::{Credentials, FRAGMENT_CHARACTERS, PASSWORD_CHARACTERS};
pub use effects::{Counters, Datagram, In, Out, Pair, Role, Settings};
pub use pairs::{COMPONENTS_MAX, STALE_AFTER};
