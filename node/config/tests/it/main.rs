//! The store and what it says of a mistake.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod diagnostics;
mod store;
mod world;
