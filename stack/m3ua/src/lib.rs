//! M3UA links for any function: the associations of its peers over SCTP and over TCP, and their
//! part of the configuration. What happens to them becomes an input of the M3UA process (`m3ua`),
//! which knows of peers and nothing of addresses.
//!
//! ```text
//!   ports ─→ step ─┬→ SCTP: sctp_stack::SctpEndpoint ─┐
//!                  └→ TCP: streams, by frame ────┴→ Link, one a peer ─ next → m3ua::Process
//!   Effects ←─ flush, step, tick ←────────────────── send, abort ←──────────────┘
//! ```
//! - An association from an address that the far end has shown to be its own belongs to the peer
//!   with that address; one that claims a peer whose own association stands waits until that one
//!   has left its heartbeats unanswered.
//! - Where this node connects, it opens what was lost again after a pause.
//! - A function keeps the keys of its section and lends them as a [`config::Section`]. All links
//!   live on the first shard.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod association;
mod challenge;
pub mod config;
mod links;
mod metrics;
mod stream;

pub use links::{Counts, Link, Links, State, Way};
pub use metrics::{PeerMetric, PeerTable, peer_table};

use m3ua::codec::Framing;
use runtime::Frame;

/// The message that the buffer of a TCP connection begins with.
#[must_use]
pub fn frame(buffer: &[u8]) -> Frame {
    match m3ua::codec::frame(buffer) {
        Framing::Partial => Frame::Partial,
        Framing::Message(octets) => Frame::Message(octets),
        Framing::Padding(octets) => Frame::Skip(octets),
        Framing::Broken(violation) => Frame::Broken(violation.malformed.what),
    }
}
