//! The gateway among simple models of its neighbours: flows one by one, and worlds by seed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_diameter;
mod charging;
mod config;
mod deliveries;
mod function;
mod home;
mod informed;
mod local;
mod network;
mod pairs;
mod probes;
mod registrations;
mod service_centre;
mod shards;
mod shares;
mod sip_texts;
mod submissions;
mod world;
mod worlds;
