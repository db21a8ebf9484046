//! SCTP: its words, associations, networks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod addresses;
mod association;
mod codec_laws;
mod conformance;
mod hostile;
mod partial;
mod rules;
mod scale;
mod simulation;
mod tshark;
mod world;
