//! The process that forwards packets, and the doorway of whoever controls it.
//!
//! ```text
//!   control process                 forwarder
//!   Control ── Unix socket ──→ main thread: Plane (one writer) ── tables ──→ worker: ports, graph
//!                                   │                             ←─ heard ── worker
//!                                   └ kernel: a TUN device for the router's own addresses
//! ```
//! The forwarder needs nobody: when its control dies it goes on, and keeps what the control had
//! told it for the one that comes next.

mod answer;
mod control;
mod open;
mod serve;
mod stream;
pub mod wire;
mod worker;

pub use graph::{STRIDE, STRIDE_JUMBO};

pub use control::{Control, Launch, ask};
pub use serve::{CONNECTIONS_MAX, Failed, Spec, WORKERS_MAX, serve};
pub use stream::Lost;
