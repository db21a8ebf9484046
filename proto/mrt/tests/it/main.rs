//! MRT: laws, round trips, what others read and write.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bgpdump;
mod captures;
mod every;
mod laws;
mod round_trip;
