//! Diameter: its rows, its codec, and the node.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
mod codec;
mod documentation;
mod failover;
mod json;
mod node;
mod random;
mod rows;
mod tshark;
mod violations;
mod world;
