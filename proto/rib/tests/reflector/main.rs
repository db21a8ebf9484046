//! A reflector in simulated worlds.

mod crowd;
mod edge;
mod gone;
mod hostile;
mod roles;
mod seeds;
mod world;
