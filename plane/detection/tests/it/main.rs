//! Workers that watch their neighbours: two routers in memory and the wires between them.

mod hostile;
mod lives;
mod repairs;
mod sessions;
mod tshark;
mod world;
