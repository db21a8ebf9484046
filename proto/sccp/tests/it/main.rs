//! SCCP: its words and procedures.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aliases;
mod circles;
mod codec;
mod every;
mod flows;
mod forged;
mod management;
mod segments;
mod translation;
mod tshark;
mod world;
