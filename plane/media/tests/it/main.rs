//! Media packets: from where they may come, which of them pass, what is counted.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod flow;
mod graph;
mod latch;
mod lives;
mod program;
mod takeover;
mod tshark;
mod workers;
#[allow(dead_code, reason = "a part of what the tests of the plane have")]
#[path = "../../../control/tests/plane/world.rs"]
mod world;
