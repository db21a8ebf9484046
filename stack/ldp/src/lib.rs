//! LDP for any function that has packets forwarded: the machine of `proto/ldp` bound to interfaces
//! of a forwarder, its sessions carried by `stack/streams`.
//!
//! ```text
//!   the function: section, links, routes ─→ Labels
//!   channel ─→ datagrams of UDP 646 ─────────→ ldp::Speaker ─→ labels of prefixes ─→ the function
//!           ─→ segments of TCP 646 ─→ Streams ─→ octets ↗ ↘ octets ─→ Streams ─→ channel
//! ```
//! Addresses of the forwarder are none of this machine's kernel: connections are made here, packet
//! by packet, and need no addresses, routes or capabilities of it.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod ask;
pub mod config;
mod echo;
mod labels;
mod metrics;

pub use echo::{LSP, LspStepRow, QUESTIONS};
pub use labels::{Forward, Labels, Start, classes};
pub use ldp::{IMPLICIT_NULL, LabelHop, NextHop, Prefix};
pub use metrics::{DiscardMetric, Metric, Shown, empty_tables};
