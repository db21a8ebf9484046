//! Neighbours watched by BFD (RFC 5880, RFC 5881), by the workers that forward: who controls the
//! forwarder may die, and no session ends.
//!
//! ```text
//!   Program::Item ─→ Said ─→ Detection ─ orders ─→ Station of a worker: bfd::Sessions
//!                              ↑  │ Watched: guards ─→ hops          │ lost: the guard of the hop
//!       Out::Item: Notice ←────┘  └─ changed ←─ figures ─────────────┤
//!   local ─→ bfd-input ── policed ── of another worker: its ring     │
//!              └─ own ─→ Station ←─ time                             └→ ip4-redirect, ip6-redirect
//! ```
//! A session is one worker's; packets for it come to any. Down sets the guard of the neighbour's
//! hops in the worker itself: pairs lead to their backups from the next packet on. Then the plane's
//! writer marks the neighbour, so that groups do without it, and then the control is told.
//!
//! - No worker waits for another one or for the writer: orders, packets and news pass bounded
//!   rings, figures are plain cells.
//! - What is not believed is dropped with its reason and costs no session anything.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod datagram;
mod feature;
mod figures;
mod node;
mod policing;
pub mod program;
mod station;

pub use feature::{Detection, SESSIONS_MAX};
pub use node::BFD_INPUT;
