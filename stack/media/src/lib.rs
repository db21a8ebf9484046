//! The client of media controllers, for any element of SIP: which of them a call gets, the ports
//! that are leased of each, and the streams that each is told.
//!
//! ```text
//!   description of A ─→ Client::cross ─→ description for B, at once: ports are leased ahead
//!                          │
//!   call ── session ───────┤ Put, Remove, Play: in the same flush as the message of SIP
//!                          ↓
//!   controller: connection · leases · load          controller …          one for each
//!                          ↓
//!                       Notice: what the media controller said of a stream; calls that must move
//! ```
//! What holds:
//!
//! - **Nothing waits.** A description is answered from what was leased; a call without a free port
//!   is refused (503), and more is leased.
//! - **A media controller that does not answer gets no new calls.** It is spoken to once a second,
//!   and not there after 3 s without a word. What it was told comes again with the next connection:
//!   `Begin … Put … End`, under the same names.
//! - **Bounded.** Nothing is kept for a connection that is not up. One whose far end does not read
//!   gets no new calls with 4 MiB waiting and ends with 16 MiB; no row is left out of it.
//! - **No port twice.** A pair that a standing call has is claimed before a lease gives any of its
//!   block; pairs rest between two calls.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod body;
mod client;
pub mod config;
mod connection;
mod controller;
pub mod digits;
mod leases;
mod metrics;
pub mod realm;
mod replica;
mod session;
mod show;

pub use client::{Client, Demand, Notice, Refused, Settings, Verdict};
pub use connection::frame;
pub use metrics::MediaMetric;
pub use replica::{KINDS, KINDS_FROM};
pub use session::{Crossing, Part};
pub use show::ControllerRow;
