//! TCAP: its words.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod codec;
mod every;
mod tshark;
