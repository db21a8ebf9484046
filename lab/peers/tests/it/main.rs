//! Tandem's stacks against those that others wrote, and that a lab leaves nothing behind.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod igp;
mod killed;
mod linux;
mod malformed;
mod node;
mod peer;
mod ring;
mod usrsctp;
mod usrsctp_ip;

#[path = "../../../../node/keyed/tests/it/laws.rs"]
mod laws;
#[path = "../../../../node/keyed/tests/it/world.rs"]
mod world;
