//! OSPF for any function that has packets forwarded: the machine of `proto/ospf` bound to
//! interfaces of a forwarder.
//!
//! ```text
//!   the function: section, keys, links, other routes ─→ configure ─┐
//!   door: packets of OSPF and BFD ─→ ip4 ─→ ospf::Instance, bfd::Sessions ─→ ip4 ─→ door
//!                                              └─→ changed prefixes ─→ the function's routes
//! ```
//! The function has the plane and its routes, and says which of several to one prefix holds; this
//! crate never sees them. When a control is started anew beside a forwarder that went on, the
//! instance asks its neighbours for patience (RFC 3623), and says no route until it knows all.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod alarms;
pub mod ask;
pub mod config;
mod fragments;
pub mod ip4;
mod metrics;
mod reconcile;
mod router;
mod sending;
mod watch;

pub use metrics::{DiscardMetric, InterfaceMetric, Metric, Shown, empty_tables};
pub use ospf::{NextHop, Prefix, Route, RouteKind};
pub use router::{External, Link, Router, Start, Surroundings};

/// The classes of the door, with their shares of its rings.
#[must_use]
pub fn classes() -> Vec<(String, u16)> {
    SHARES.map(|(name, share)| (name.to_owned(), share)).into()
}

/// Databases come in bursts of updates, and BFD's packets must find a place beside them.
const SHARES: [(&str, u16); 2] = [("ospf", 384), ("bfd", 96)];
