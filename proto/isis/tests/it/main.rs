//! IS-IS: PDUs and fragments, and networks of systems in virtual time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adjacencies;
mod authentication;
mod forged;
mod levels;
mod net;
mod pdus;
mod restart;
mod tshark;
mod worlds;
