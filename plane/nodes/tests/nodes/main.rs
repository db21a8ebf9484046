//! The nodes together, as a router in memory: packets in, packets out.

mod forwarding;
mod neighbours;
mod protection;
mod reference;
mod sweep;
mod world;
