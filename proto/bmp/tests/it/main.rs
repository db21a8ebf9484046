//! BMP: its words, a sender, what others read and write.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod captures;
mod codec;
mod every;
mod sender;
mod tshark;
#[path = "../../../bgp/tests/it/tshark_run/mod.rs"]
mod tshark_run;
