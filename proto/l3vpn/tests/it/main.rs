//! The VPNs of an edge in simulated worlds.

mod bounds;
mod customers;
mod seeds;
mod world;
