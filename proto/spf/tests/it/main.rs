//! Shortest paths and repairs, held against slow references on graphs by seed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod backoff;
mod lfa;
mod microloop;
mod protection;
mod reference;
mod runs;
mod ti_lfa;
mod world;
