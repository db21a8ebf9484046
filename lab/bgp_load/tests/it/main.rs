//! Routes for reflectors: streams, tables, sessions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod reflectors;
mod streams;
mod tables;
