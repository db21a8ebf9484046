//! SCTP's failover, by seeds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sctp_failover;
