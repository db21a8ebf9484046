//! STUN and ICE: messages, an agent, consent, what tshark reads of it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent;
mod candidates;
mod consent;
mod messages;
mod peer;
mod random;
mod tshark;
mod vectors;
