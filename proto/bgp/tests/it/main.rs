//! BGP: its words, sessions, what others read and write.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod captures;
mod every;
mod families;
mod hostile;
mod laws;
mod open;
mod pack;
mod session;
mod simulation;
mod tshark;
mod tshark_run;
mod update;
mod world;
