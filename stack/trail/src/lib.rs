//! Trails: every message and event of a function leaves as HEP3 for the service assurance, which
//! puts together what belongs together.
//!
//! ```text
//!  function ──message (its protocol's number)──┐
//!           ──Event, fields (JSON)─────────────┴─→ Capture ── batches ──→ collector
//!                                                    └ down, or full: counted as shed
//! ```
//! A function embeds one [`Capture`] in each shard, gives it the [`Settings`] of its section,
//! passes on what happens to the collector's connection, and flushes it at the end of every step.
//! Events are rows of one table, [`Event`]: the function writes a row's name and fields, the
//! service assurance reads what the row means.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod capture;
mod collector;
mod event;
mod json;
mod section;

pub use capture::{Capture, Seen, Settings, protocol_of};
pub use collector::{flow_to, objection, port_of, settings};
pub use event::{Event, Meaning};
pub use json::Field;
pub use section::Section;
