//! Speakers of LDP in a simulated world: packet channels, packets of IPv4 with datagrams and
//! segments, links that lose them, and time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echoes;
mod section;
mod sessions;
mod world;
