//! A reflector in simulated worlds.

mod crowd;
mod gone;
mod hostile;
mod roles;
mod seeds;
mod world;
