//! SCCP: its words and procedures.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aliases;
mod circles;
mod codec;
mod connection_codec;
mod connection_refusals;
mod connection_seeds;
mod connections;
mod coupling;
mod every;
mod flows;
mod forged;
mod management;
mod segments;
mod translation;
mod tshark;
mod world;
