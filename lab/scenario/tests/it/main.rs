//! Scenarios as they are played, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod built_in;
mod choice;
mod documentation;
mod laws;
mod load;
mod mistakes;
mod screening;
mod sip;
mod tshark;
mod world;
mod worlds;
