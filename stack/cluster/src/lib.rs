//! A function with dialogues as one of several nodes: which partitions of them it serves, what
//! crosses to the others, and what waits until a standby has it.
//!
//! ```text
//!   SCCP ─→ TCAP message ─┬─ a partition served here → Transactions ─→ deltas ─→ standby
//!                         └─ of another node ─ Post ─→ there                 │
//!   SCCP, instances ←── a batch ←─────── all marks reached ←── Followed ←────┘
//! ```
//! A partition is a group of [`replica::Groups`], told by the leading bits of the transaction
//! identifier; who serves it, who follows and who may speak is known there alone. [`Clustered`] is
//! what a node knows of its cluster: the function asks it where something belongs, and tells it
//! what has changed.
//!
//! - A dialogue that begins is served where it comes, if an instance of its application is
//!   connected here and a partition is; else it crosses to a node of which both is so.
//! - Of a dialogue that goes on the transaction identifier says the partition, of a connection of
//!   SCCP its local reference.
//! - What a message leads to is a *batch*. One that tells the standby nothing leaves at once; any
//!   other waits, with what came before it of its partitions, until the standby has it.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod alarms;
mod batch;
pub mod config;
pub mod connection;
mod copies;
mod crossing;
mod early;
mod member;
mod nodes;
mod noticing;
mod partition;
mod peers;
pub mod post;
mod reading;
mod rows;
mod segments;

pub use batch::{Batch, Batches};
pub use copies::{Change, Copies, Copy, CopyOfConnection};
pub use member::{Announced, Clustered, Counts, Settings};
pub use nodes::{Joined, Nodes};
pub use partition::{
    PartitionSet, group, partition_of, partition_of_reference, parts, placements, wishes,
};
pub use peers::{Peers, Stands, Way, Ways};
pub use post::Post;
pub use reading::{abort_of, aborted, is_status};
pub use rows::{ClusterRow, LinkRow, PartitionRow};
pub use segments::Segment;
