//! SCTP bound to ports: carriers and the doorway.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod carriers;
mod namespace;
mod sctp_endpoint;
