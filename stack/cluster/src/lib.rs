//! A cluster: 2 to 16 nodes that share the partitions of a function's state, so that each carries
//! load and none is missed when it dies.
//!
//! ```text
//!   function ─ record ─→ Cluster ══ stream: records, work ══→ Cluster ─ Activate ─→ function
//!       ↑     is_open?      │    heartbeats, votes, leases  ⇅    │
//!       └──── Out::Work ────┘         tables of the coordinator  └ copies of partitions
//! ```
//! A *partition* is served by one node, its *active* one; a *standby* has everything of it that
//! stands. The *coordinator* says who ([`Table`]); a majority of the nodes elects it, and a table
//! holds when a majority has it. Two nodes without a third cannot tell a dead one from a cut link:
//! each serves everything then, until the link is back, and the later coordinator's table holds.
//! A third node of weight zero votes and serves nothing.
//!
//! - **No partition has two owners.** A node serves while it has a lease: the coordinator gives
//!   one from the node's own stamp on, and takes what a silent node has when none can last.
//! - **What was said is not forgotten.** What a function tells by [`Cluster::record`] has a
//!   [`Hold`]: octets that follow from it leave when it is open, which is when the standby has it,
//!   or the table is without that standby. So who is promoted knows all that was ever said.
//! - **One stream between two nodes**, in both directions, carries records and forwarded work in
//!   one order; heartbeats acknowledge it.
//! - A partition that is moved is filled first; then both change places: the one that has served
//!   keeps what it has, as the standby, and hands over by the stream.
//!
//! Everything is a machine: time is an argument, datagrams go in and out, and who has sent one is
//! known ([`Door`]: each direction between two nodes has a key of its own).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod cluster;
mod copies;
mod door;
mod effects;
mod election;
mod filling;
pub mod message;
mod node;
pub mod placement;
mod status;
mod stream;
mod table;

pub use cluster::{Cluster, Counts, Hold, Settings};
pub use door::Door;
pub use effects::{In, Out};
pub use node::{NODES_MAX, NodeId, NodeSet, PARTITIONS, Partition, PartitionSet};
pub use status::NodeStatus;
pub use stream::ENTRY_OCTETS_MAX;
pub use table::{Row, Table, Version};
