//! Screening of SS7 that a function embeds: sets of rules by peer and network, what becomes of a
//! message that one refuses, and trials on recorded messages.
//!
//! ```text
//!   RuleSet (a section) ──→ RuleSets ──rule──→ nothing: it goes on; or what is sent in its place
//!                              └─ take_refused, alarms, totals ──→ trail, alarms, metrics
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod config;
mod sets;
mod trial;

pub use self::config::{Compiled, RuleSet, Unasked};
pub use sets::{Course, Judged, Refused, RuleSets, Ruled, Set, Totals};
pub use trial::{Recorded, Refusal, Trial};
