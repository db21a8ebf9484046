//! Overload control for any function: new work is refused, or waits, before work in progress
//! suffers.
//!
//! ```text
//!             ┌── of work in progress ─────────────────────────────→ dealt with at once
//!   request ──┤                                  ┌── nothing waits ─→
//!             └── new work ──→ Admission ────────┼── else ──→ Queue ─→ a few in each turn
//!                              by class          └── refused
//!                                   then: Counters, Users, Stock ──→ counted, or in excess
//! ```
//! A function gives its classes as a constant table ([`Class`]), its kinds of limits and the answer
//! to an excess as types of its own: nothing here knows a protocol.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod admission;
mod answers;
mod counters;
mod limit;
mod queue;
mod stock;
mod users;

pub use admission::{ALL, Admission, Class, Line, Turn};
pub use answers::{AnswerBudget, Answers};
pub use counters::{COUNTERS_MAX, Counter, Counters, UNCOUNTED};
pub use limit::{Limit, Share, Violation};
pub use queue::{Queue, Queued};
pub use stock::Stock;
pub use users::{NOBODY, Refused, SHARED, USERS_MAX, Users};
