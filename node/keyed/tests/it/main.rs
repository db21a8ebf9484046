//! What every backend does, and what a journal does besides.

mod backends;
mod crashes;
mod laws;
mod world;
