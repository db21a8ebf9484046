//! What packets are looked up in. Each table has one writer and any number of workers that read
//! it while it changes: no lock, no atomic read-modify-write, no wait on the path of a packet.
//!
//! ```text
//!   writer: build the new piece → publish it (one store) → retire the old piece
//!   worker: look up a vector of packets → quiesce → look up the next vector → …
//!   a retired piece is freed once every worker has quiesced since   (epoch::Domain)
//! ```
//! A packet's destination is looked up in the table of its VRF ([`vrf`], [`lpm`]); the answer is
//! the number of a next hop, which leads to a line ready for rewriting ([`hop`]).
#![allow(unsafe_code, reason = "readers share memory with a writer; each use says why it is sound")]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod classifier;
pub mod epoch;
pub mod hop;
pub mod lanes;
pub mod lpm;
pub mod mac;
mod memory;
mod pages;
pub mod policer;
pub mod session;
pub mod vrf;

pub use memory::{Full, Region};
