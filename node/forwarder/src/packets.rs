//! Packet channels by which packets go up to functions' processes and come down from them, beside
//! the TUN device.
//!
//! ```text
//!   function ─ Request::PacketChannel ─→ main thread ─ Order::PacketChannel ─→ each worker
//!            ←─ Reply::PacketChannel, its memory beside it ─┘              │
//!            ←═ rings up: packets of these classes, one ring for each worker ╡
//!            ═→ ring down: frames, packets to be routed, packets of features ╛
//! ```
//! A packet channel lives as long as its connection, and a class has one. Its process is not
//! trusted: `rings` says how.

pub(crate) mod channel;
pub(crate) mod channels;
mod open;
pub(crate) mod rings;
