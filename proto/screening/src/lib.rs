//! Screening of SS7 signalling: what may come from other networks, by rules over TCAP operations,
//! application contexts, titles, point codes, subscribers and the places where these were last.
//!
//! ```text
//!   Rule, Operator ──Screen::new──→ Screen ←── LastPlaces
//!                                     │judge
//!   SCCP data ──Subject::read──→ Subject ──→ Verdict ──answer──→ TCAP back to the sender
//! ```
//! - A rule stands in a table under the digits that it names, by operation: a message is looked up,
//!   not compared, however many rules there are.
//! - All that a message invokes is judged, whatever the type of the message, and whether its
//!   dialogue portion says a context or not. What cannot be read is not guessed: it is
//!   [`Unreadable`], for who asks to refuse.
//! - The categories are those of GSMA FS.11; the rules themselves are configuration.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod answer;
mod asked;
mod compile;
pub mod config;
mod imsi;
mod index;
mod names;
mod reach;
mod rule;
mod screen;
mod subject;
mod velocity;

pub use answer::{abort, answer};
pub use names::{ContextId, OperationId};
pub use rule::{Action, ReadCodes, Violation};
pub use screen::{OPERATORS_MAX, RULES_MAX, Screen, Verdict};
pub use subject::{Subject, Unreadable, Way};
pub use velocity::{LastPlaces, Seen};
