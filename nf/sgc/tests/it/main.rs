//! The signalling gateway in a simulated world, and its carriers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod applications;
mod carriers;
mod facts;
#[path = "../../../../stack/sctp/tests/it/namespace/mod.rs"]
mod namespace;
mod operator;
mod relay;
mod sccp;
mod trails;
mod world;
