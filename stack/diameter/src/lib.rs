//! Diameter peers for any function: a [`diameter::Node`] bound to ports, its connections over TCP,
//! TLS and SCTP, and their part of the configuration.
//!
//! ```text
//!   ports ─→ step ─┬→ SCTP: sctp_stack::SctpEndpoint ─┐
//!                  └→ TCP, TLS: by frame ────────┴→ Connection ─→ Node ─→ next ─→ function
//!   Effects ←─ flush, step, tick ←────────────────────────────────┘   ↑ request, answer
//! ```
//! - A connection is a peer's when its CER says so, it comes from an address of that peer, and its
//!   certificate, where clients must show one, carries the peer's host.
//! - Connections that have not said who they are have a share of their number by source.
//! - A function keeps the keys of its section and lends them as a [`config::Section`]. All
//!   connections live on the first shard.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod alarm;
mod association;
pub mod config;
mod metrics;
mod passed;
mod passing;
mod peers;
mod show;
mod stream;
mod trace;

pub use metrics::{ConnectionMetric, PeerMetric, PeerTable, empty_tables, peer_table};
pub use passed::Passed;
pub use peers::{Counts, Peers};
pub use show::{DiameterActRow, DiameterConnectionRow, DiameterPeerRow};
pub use trace::{DiameterTraceRow, LIMIT, PEER, TRACED_MAX};

use diameter::codec::Framing;
use runtime::Frame;

/// The message that the buffer of a connection begins with.
#[must_use]
pub fn frame(buffer: &[u8]) -> Frame {
    match diameter::codec::frame(buffer) {
        Framing::Partial => Frame::Partial,
        Framing::Message(octets) => Frame::Message(octets),
        Framing::Broken(what) => Frame::Broken(what),
    }
}
