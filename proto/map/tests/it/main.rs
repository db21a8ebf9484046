//! MAP: rows, contexts and their negotiation, and other implementations beside them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocation;
mod documentation;
mod negotiation;
mod pycrate;
mod rows;
mod tshark;
mod values;
