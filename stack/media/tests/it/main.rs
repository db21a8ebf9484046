//! The client of media controllers between calls and simulated media controllers.

mod keyed;
mod msc;
mod pair;
mod seeds;
mod world;
