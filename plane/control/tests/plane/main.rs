//! The nodes together, as a router in memory: packets in, packets out.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod advertisement;
mod changes;
mod drawn;
mod feature;
mod forwarding;
mod fragments;
mod hostile;
mod labels;
mod lives;
mod llc;
mod neighbours;
mod protection;
mod races;
mod reference;
mod resolution;
mod routed_side;
mod scoped;
mod sweep;
mod tally;
mod traffic;
mod wires;
mod witness;
mod world;
