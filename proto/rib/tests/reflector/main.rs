//! A reflector in simulated worlds.

mod crowd;
mod roles;
mod seeds;
mod world;
