//! OSPF: packets and LSAs, and networks of routers in virtual time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adjacencies;
mod areas;
mod forged;
mod lsas;
mod net;
mod packets;
mod restart;
mod silent;
mod strangers;
mod summaries;
mod tshark;
mod worlds;
