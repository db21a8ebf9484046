//! M3UA: its words, procedures, networks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod codec;
mod conformance;
mod errors;
mod every;
mod flows;
mod network;
mod operated;
mod procedures;
mod registration;
mod simulation;
mod tshark;
mod world;
