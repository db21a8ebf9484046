//! Packets as octets, for whoever reads or writes them: nodes of the plane, features, and functions
//! whose packets come up to them.
//!
//! ```text
//!   header ─→ flow: hashes         datagram: UDP over IPv4 and IPv6
//!          └→ notes: traces
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod datagram;
pub mod flow;
pub mod header;
pub mod notes;
