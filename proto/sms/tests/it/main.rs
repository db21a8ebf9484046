//! Short messages: rows, JSON, vectors, and other implementations beside them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocation;
mod alphabets;
mod documentation;
mod messages;
mod peer;
mod pycrate;
mod rows;
mod tshark;
mod vectors;
