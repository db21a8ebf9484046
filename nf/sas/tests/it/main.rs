//! The SAS driven by hand, and its examples in their small form.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/bench.rs"]
mod bench;
mod dialogues;
mod diameter;
mod interface;
mod kamailio;
mod measure;
mod media;
mod rtpengine;
mod secrets;
mod shards;
mod strangers;
mod streams;
mod trails;
