//! Service assurance server: every captured message kept for a while and found again.
//!
//! HEP3 comes in over UDP and TCP; messages are joined into [`trail::Trail`]s over all legs of a
//! call, kept in a [`store::Store`] and found by number, URI, Call-ID, address, time, method,
//! status and outcome. This is the one place where identities are shown in full; they are never
//! logged.
//!
//! ```text
//!  HEP ─▶ receiver ─▶ correlator (table, live) ─▶ store ◀─ archive ◀─ api ◀─ console, tandem ctl
//!         every shard  the first shard └─────────── ask: what is still in memory ──┘
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod answer;
pub mod api;
pub mod archive;
pub mod config;
mod correlator;
pub mod detail;
pub mod entry;
mod function;
pub mod import;
mod keys;
pub mod ladder;
mod line;
mod live;
mod live_search;
mod losses;
pub mod media;
mod metrics;
mod operation;
pub mod pcapng;
mod progress;
mod protocol;
mod receiver;
mod recover;
mod redact;
mod search;
mod sources;
mod table;
pub mod tail;
pub mod trail;

pub use answer::questions;
pub use archive::{Archive, AskFn, SasError, SearchMetric};
pub use function::{Sas, start};
pub use metrics::Metric;

/// The record that a trail leaves in the store, for those who fill a store without capturing.
#[must_use]
pub fn record_of(trail: &trail::Trail) -> store::Record {
    store::Record { head: trail.head(), keys: keys::of(trail), body: trail.encode() }
}
