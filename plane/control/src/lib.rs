//! The packet plane's one writer: [`Plane`] takes [`program::Program`]s, keeps every table true,
//! and makes the workers' graphs of the nodes (`plane/nodes`).
//!
//! ```text
//!   control process ── Program ──→ Plane (one writer) ── tables ──→ workers' graphs
//!                   ←─── Out ────       ←──── bounded rings: Heard ────
//! ```
//! Everything is pure: time is an argument, what is to be sent comes out of [`Plane::tick`].
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod features;
mod plane;

pub use features::{FEATURES, KnownMac};
pub use plane::{
    GATEWAYS_OF_INTERFACE_MAX, Handed, NEIGHBOURS_MAX, Plane, REACHABLE, RETRANSMIT, Reason,
    Resolution, TRIES_MAX,
};
