//! Connections of TCP (RFC 9293) that a function carries itself, in packets that its forwarder
//! hands up: addresses of a forwarder are none of this machine's kernel. They need no addresses,
//! routes or capabilities of it, and have the routing tables of customers.
//!
//! ```text
//!   channel ─ packet ─→ Arrived ─→ Streams ─→ tcp::Connection, one a stream
//!   channel ←─ write ←─ Leaving ←─────┤
//!                                     └─→ Event: stands, octets, was written, is no more
//!
//!   a speaker made for the runtime's streams: Effects ─→ Carrier ─→ what it would hear of them
//! ```
//! What far ends must prove is looked at before anything else: signatures (RFC 2385), and how near
//! they are (RFC 5082).
//!
//! SYNs that nobody follows up keep nobody away: those of a share of their own are remembered, more
//! are answered by numbers that prove themselves when they come back. What stands, or was asked for
//! here, makes way for nothing. Each segment costs a few searches, however many connections there
//! are.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod carrier;
mod numbers;
mod packet;
mod shares;
mod stream;
mod streams;
mod waiting;

pub use carrier::{Carried, Carrier, CarrierTally, ListenTerms};
pub use packet::{Arrived, Ends, Leaving, write};
pub use stream::{Refused, Terms, Unmet};
pub use streams::{Event, Streams, Tally, WAITING_ALL_MAX};
