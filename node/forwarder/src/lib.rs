//! The process that forwards packets, and the socket of whoever controls it.
//!
//! ```text
//!   control process                 forwarder
//!   stack   ── Unix socket ──→ main thread: Plane (one writer) ── tables ──→ worker: ports, graph
//!                                   │                             ←─ heard ── worker
//!                                   └ kernel: a TUN device for the router's own addresses
//! ```
//! The forwarder needs nobody: when its control dies it goes on, and keeps what the control had
//! told it for the one that comes next. A worker that panics begins anew with its ports, while the
//! others forward on; one that hangs ends the process, as soon as a control is there to start
//! another; a guard looks after the main thread in the same way.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod answer;
mod asked;
mod claims;
mod connection;
mod control;
mod control_listener;
mod guard;
mod highest;
mod launch;
mod leading;
mod life;
mod line;
mod open;
mod packets;
mod params;
mod serve;
mod spec;
mod stream;
mod tables;
#[cfg(test)]
mod tests;
mod worker;

pub use authentication::Keys;
pub use graph::{STRIDE, STRIDE_JUMBO};
pub use nodes::program::ipc;

pub use control::Control;
pub use launch::{Launch, ToAsk, ToControl};
pub use packets::channel::ToPackets;
pub use serve::{CONNECTIONS_MAX, Failed, Spec, WORKERS_MAX, serve, serve_with};
pub use stream::Lost;
