//! RPKI to Router: laws, a client, StayRTR.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;
mod every;
mod laws;
mod stayrtr;
