//! TCAP: its words and dialogues.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod codec;
mod dialogues;
mod every;
mod partitions;
mod tshark;
