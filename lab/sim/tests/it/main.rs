//! Simulated worlds by seed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod endpoints;
mod laws;
mod m3ua;
mod pipes;
mod signalling;
mod soak;
mod ss7_laws;
mod transactions;
mod work;
