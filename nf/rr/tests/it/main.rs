//! The route reflector in a simulated world.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod away;
mod feeds;
mod hostile;
mod metrics;
mod operator;
mod reflection;
mod sessions;
mod stations;
mod trails;
mod world;
