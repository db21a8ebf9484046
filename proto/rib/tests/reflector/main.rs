//! A reflector in simulated worlds.

mod roles;
mod seeds;
mod world;
