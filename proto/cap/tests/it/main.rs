//! CAP: rows and contexts, and other implementations beside them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocation;
mod documentation;
mod pycrate;
mod rows;
mod tshark;
mod values;
