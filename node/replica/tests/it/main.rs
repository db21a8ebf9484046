//! Pairs in a simulated world, and strangers at a real port.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changed;
mod cluster;
mod groups;
mod late;
mod recalled;
mod stranger;
mod worlds;
