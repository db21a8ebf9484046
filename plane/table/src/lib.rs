//! What packets are looked up in. Each table has one writer and any number of workers that read
//! it while it changes: no lock, no atomic read-modify-write, no wait on the path of a packet.
//!
//! ```text
//!   writer: build the new piece → publish it (one store) → retire the old piece
//!   worker: look up a vector of packets → quiesce → look up the next vector → …
//!   a retired piece is freed once every worker has quiesced since   (epoch::Domain)
//! ```
#![allow(unsafe_code, reason = "readers share memory with a writer; each use says why it is sound")]

pub mod classifier;
pub mod epoch;
pub mod lanes;
pub mod mac;
pub mod policer;
pub mod session;
