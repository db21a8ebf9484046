//! The VPNs of an edge in simulated worlds.

mod bounds;
mod seeds;
mod world;
