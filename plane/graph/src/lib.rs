//! Packets by the vector through a graph of small nodes, run to completion on one worker.
//!
//! ```text
//!   ports ──→ Pool ──→ entry node ──→ … ──→ Outbox ──→ ports
//!                         │ vectors of at most 256 packets, one node at a time
//!                         └ Context: packets · next · reader of the tables · now
//! ```
#![allow(unsafe_code, reason = "cells of packets are memory that drivers write into")]

pub mod meta;
mod pool;

pub use meta::Meta;
pub use pool::{HEADROOM, Pool, Region, SLOTS_MAX, STRIDE, STRIDE_JUMBO, Slot, room};
