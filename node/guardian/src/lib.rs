//! The guardian: a small process beside another one, that sends packets for it when it has died.
//!
//! ```text
//!   the process: Holder ── hold, release ──→ socket pair ──→ guardian: Held
//!        │                                                      ↑ pidfd: the process is gone
//!        └── dies ──────────────────────────────────────────────┘ every packet leaves
//! ```
//! The kernel ends connections of TCP, and its own of SCTP, when their process dies; nobody does it
//! for a protocol that the process speaks itself. What says so to the other side is a packet that
//! can be written beforehand: the guardian knows no protocol, it holds octets and where they go.
//!
//! - Only the process itself speaks to it: the socket pair has no name, and the guardian inherits
//!   its end. Nothing that comes by it makes the guardian send: that the process is dead does, as
//!   the kernel says (`pidfd_open(2)`).
//! - It holds no rights: sockets that need one are opened before it gives all up, and by them leave
//!   only the packets that it is there for ([`Packets`]), so that who has taken over the process
//!   gets no right by letting it die.
//! - A process that ends in order says so ([`Handle::rest`]); then nothing is sent. What a shard
//!   has left is released when the shard is made anew.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod guard;
mod handle;
mod send;
mod words;

pub use guard::{Ended, guard, process_of};
pub use handle::{Handle, Holder, install, installed, spawn};
pub use send::{Packets, Sockets, Unsent};
pub use words::{Carrier, HELD_MAX, LastWord, OCTETS_MAX, ROUTES_MAX, Route, Word};
