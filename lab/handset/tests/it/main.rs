//! Phones, a P-CSCF and a home network with a bad network between the first two.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test program")]

mod bypass;
mod core_and_nat;
mod guest;
mod hostile;
mod identity;
mod inside;
mod key_log;
mod live;
mod metrics;
mod pair;
mod pair_world;
mod reg_event;
mod scscf;
mod seeds;
mod trails;
mod upgrade;
mod world;
