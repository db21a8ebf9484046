//! Packet ports against the kernel, a namespace on each side of a veth pair.
#![allow(clippy::unwrap_used, reason = "a test says no by panicking")]

mod bypass;
mod echo;
mod field;
mod memif;
mod packet;
mod shared;
mod tap;
mod xdp;
