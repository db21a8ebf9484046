//! Bidirectional Forwarding Detection: packets, sessions between two machines in virtual time, and
//! what tshark reads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod authentication;
mod demultiplexing;
mod field;
mod packets;
mod sessions;
mod timers;
mod tshark;
mod worlds;
