//! TLS sessions against each other.
#![allow(clippy::unwrap_used, reason = "a test says no by panicking")]

mod session;
