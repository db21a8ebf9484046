//! Packets by the vector through a graph of small nodes, run to completion on one worker.
//!
//! ```text
//!   ports ──→ Pool ──→ entry node ──→ … ──→ Outbox ──→ ports
//!                         │ vectors of at most 256 packets, one node at a time, each node
//!                         │ after all that lead to it: vectors gather on their way
//!                         └ Context: packets · next · out · reader of the tables · now
//! ```
//! A node is a short file: a [`Row`] says its name, who may follow, why it drops; `process` hands
//! each packet on. A feature joins a path by configuration ([`ChainsWriter`]). Each worker has a
//! [`Graph`] and a [`Pool`] of its own; what workers share stands in tables (crate `table`).
#![allow(unsafe_code, reason = "cells of packets are memory that drivers write into")]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod chains;
mod graph;
mod groups;
mod lines;
pub mod meta;
mod next;
mod node;
mod outbox;
mod plan;
mod pool;
mod trace;

pub use chains::{ARCS_MAX, ArcId, ArcRow, Chains, ChainsWriter, INTERFACES_MAX, Refused};
pub use graph::{Counters, Graph, PASSES_MAX};
pub use groups::{Group, Groups};
pub use lines::prefetch;
pub use meta::Meta;
pub use next::{NODES_MAX, Next};
pub use node::{Context, Edge, Node, Reason, Row, VECTOR_MAX, Verdict};
pub use outbox::{NoPort, Outbox, PORTS_MAX};
pub use plan::{FEATURES_MAX, Plan, PlanError};
pub use pool::{HEADROOM, Pool, Region, SLOTS_MAX, STRIDE, STRIDE_JUMBO, Slot, room};
pub use trace::{Choice, STEPS_MAX, Step, TRACES_MAX};
