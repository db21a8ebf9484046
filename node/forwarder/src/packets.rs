//! Doors by which packets go up to functions' processes and come down from them, beside the TUN
//! device.
//!
//! ```text
//!   function ─ Request::Door { classes } ─→ main thread ─ Order::Door ─→ each worker
//!            ←─ Reply::Door, the memory beside it ──┘                        │
//!            ←═ rings up: packets of these classes, one ring for each worker ╡
//!            ═→ ring down: frames, packets to be routed, packets of features ╛
//! ```
//! A door lives as long as its connection, and a class has one door. Its process is not trusted:
//! `rings` says how.

pub(crate) mod channel;
pub(crate) mod doors;
mod open;
pub(crate) mod rings;
