//! A reflector in simulated worlds.

mod crowd;
mod gone;
mod roles;
mod seeds;
mod world;
