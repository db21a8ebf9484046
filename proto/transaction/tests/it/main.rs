//! SIP transactions: the machines as tables, and the table that owns them in virtual time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod machines;
mod tables;
