//! SCTP bound to ports: carriers and the endpoint.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod carriers;
mod namespace;
mod sctp_endpoint;
