//! Active and standby: a pair of nodes of which at most one speaks.
//!
//! ```text
//!  shards ──deltas──→ Pair (active) ══numbered, acknowledged══→ Pair (standby) ──apply──→ shards
//!                      │  heartbeats, votes, leases  ⇅                │
//!                      └────────── requests ──→ Arbiter ←─────────────┘
//! ```
//! [`Pair`] and [`Arbiter`] are machines: time is an argument, datagrams go in and out. [`Node`]
//! is the edge: a UDP socket, a thread, virtual addresses, and the gate that shards look at
//! before they send. A function sees none of it but [`runtime::Mirrored`].
//!
//! **Who may speak.** An active node holds a *lease*: until when nobody else can have become
//! active. Whoever gives one promises to elect nobody else for `detect`; the lease that comes
//! from it is shorter, and is counted from before the promise was made.
//!
//! - With an arbiter two of three rule (node, peer, arbiter): the active node renews its lease
//!   with both others and falls silent, and steps down, when it has lost both. Never do two speak.
//! - Without one, two nodes cannot tell a dead peer from a cut cable. Then availability rules: a
//!   node that has not heard its peer for `detect` presumes it dead. While the link between them
//!   is cut both may be active; when it heals the one with the lower epoch steps down at once.
//!   Give the link two paths, or name an arbiter.
//!
//! **Who is heard.** With keys every datagram is sealed and encrypted ([`guard`]): what nobody of
//! the pair has sealed, or what comes a second time, is dropped and counted. Without keys whoever
//! can send from the peer's address is the peer: good for one machine, and refused for more.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod address;
mod arbiter;
mod backlog;
pub mod cluster;
pub mod config;
mod election;
pub mod flow;
mod freshness;
pub mod groups;
pub mod guard;
pub mod held;
mod locking;
mod message;
mod metrics;
mod node;
mod pair;
pub mod record;
mod reports;
mod server;
mod sink;
mod source;
pub mod track;
mod tracker;

pub use arbiter::{Arbiter, Declined, PAIRS_MAX, Served, Terms};
pub use authentication::{Keys, Refused};
pub use config::Replica;
pub use election::{Name, Role};
pub use groups::{ClusterMetric, Groups};
pub use message::envelope;
pub use metrics::{ArbiterMetric, ReplicaMetric};
pub use node::Node;
pub use pair::{In, Out, PROTOCOL, Pace, Pair, Params, Standing};
pub use reports::{NodeRow, TrackRow};
pub use server::ArbiterServer;
pub use source::DELTA_BYTES_MAX;
pub use wire::field;
