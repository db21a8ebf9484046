//! The generator against itself.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod direct;
mod phones;
mod registrants;
