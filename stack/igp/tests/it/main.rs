//! Routers in simulated worlds: packet channels, packets of IPv4, links and time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod config;
mod long;
mod networks;
mod of_isis;
mod operator;
mod repairs;
mod restart;
mod tshark;
mod watched;
mod watcher;
mod world;
