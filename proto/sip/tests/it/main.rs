//! SIP: its words and messages.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod locate;
mod smoke;
mod torture;
