//! Workers that watch their neighbours: two routers in memory and the wires between them.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod hostile;
mod lives;
mod repairs;
mod sessions;
mod tshark;
mod world;
