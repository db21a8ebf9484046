//! The nodes together, as a router in memory: packets in, packets out.

mod forwarding;
mod labels;
mod neighbours;
mod protection;
mod reference;
mod sweep;
mod traffic;
mod wires;
mod witness;
mod world;
