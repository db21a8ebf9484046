//! Connections of TCP (RFC 9293) that a function carries itself, in packets that its forwarder
//! hands up: addresses of a forwarder are none of this machine's kernel. They need no addresses,
//! routes or capabilities of it, and have the routing tables of customers.
//!
//! ```text
//!   door ─ packet ─→ Arrived ─→ Streams ─→ tcp::Connection, one a stream
//!   door ←─ write ←─ Leaving ←─────┤
//!                                  └─→ Event: stands, octets, was written, is no more
//!
//!   a speaker made for the runtime's streams: Effects ─→ Carrier ─→ what it would hear of them
//! ```
//! What far ends must prove is looked at before anything else: signatures (RFC 2385), and how near
//! they are (RFC 5082).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod carrier;
mod packet;
mod streams;

pub use carrier::{Carried, Carrier, CarrierTally, Doors};
pub use packet::{Arrived, Ends, Leaving, write};
pub use streams::{Event, Streams, Terms};
