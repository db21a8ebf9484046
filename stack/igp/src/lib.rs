//! OSPF and IS-IS for any function that has packets forwarded: the machines of `proto/ospf` and
//! `proto/isis` bound to interfaces of a forwarder, with BFD beside them.
//!
//! ```text
//!   the function: sections, keys, links, other routes ─→ Router::configure ─┐
//!   channel: packets of OSPF and BFD ─→ ip4 ─→ by_ospf, watch ────────→ wishes ─→ channel
//!            frames of IS-IS ─→ frame ─→ by_isis ──────────────────────↗
//!                                           └─→ changed prefixes ─→ the function's routes
//! ```
//! The function has the plane and its routes; of several learnt routes to one prefix the lowest
//! distance holds. When a control is started anew beside a forwarder that went on, neighbours are
//! asked for patience (RFC 3623, RFC 8706), and no route is said until all is known again.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod alarms;
mod around;
pub mod ask;
mod by_isis;
mod by_ospf;
pub mod config;
mod doubts;
mod fragments;
pub mod frame;
mod history;
pub mod ip4;
mod metrics;
mod paths;
mod repairs;
mod route;
mod router;
mod rows;
mod topology;
mod watch;
mod wishes;

pub use around::{External, Link, LinkState, Protocol, Sections, Start, Surroundings};
pub use isis::Prefix;
pub use metrics::{DiscardMetric, InterfaceMetric, Metric, Shown, empty_tables};
pub use route::{Guard, Repair, Route, Way};
pub use router::Router;
