//! Media packets: from where they may come, which of them pass, what is counted.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod flow;
mod latch;
mod program;
