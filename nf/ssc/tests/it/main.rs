//! The signalling controller in a simulated world.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod border;
mod call;
mod call_more;
mod empty_lists;
mod feedback;
mod handover;
mod hostile;
mod ims;
mod ipsec;
mod kamailio;
mod live_change;
mod media;
mod metrics;
mod other;
mod overload;
mod overload_queue;
mod refusals;
mod reg_event;
mod register;
mod replica;
mod rules;
mod secure;
mod session_pool;
mod shield;
mod soak;
mod sources;
mod storm;
mod takeover;
mod transfer;
mod world;
