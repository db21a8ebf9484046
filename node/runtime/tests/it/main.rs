//! Shards at real sockets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod channels;
mod dns;
mod echo;
mod feeder;
mod guards;
mod paced;
mod shards;
mod tcp;
mod tls;
mod udp;
mod work;
