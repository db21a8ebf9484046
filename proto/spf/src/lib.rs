//! Shortest paths of a link-state IGP, for OSPF and IS-IS alike: pure, without a clock.
//!
//! ```text
//! LSDB ─→ Graph ─ touched ─→ Tree (run · update) ─→ distances and first hops ─→ routes
//!           │                                   Distances ─→ Alternates (LFA, remote LFA)
//!           │                                                    └→ Protections of routes
//!           └──────────── Failure ──────────────────────────→ ti_lfa::repairs
//! ```
//!
//! Routers and networks (pseudo-nodes) are nodes, each direction of a link is an edge. A [`Tree`]
//! belongs to one root: a full run is Dijkstra's algorithm (RFC 2328 §16.1, ISO 10589 annex C.2),
//! an update repairs only what a change reached. Repairs are computed ahead of a failure: LFA
//! (RFC 5286), remote LFA (RFC 7490), TI-LFA (RFC 9855); [`MicroloopDelay`] is RFC 8333.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod backoff;
mod between;
mod distances;
mod failure;
mod graph;
mod hops;
pub mod lfa;
mod microloop;
mod pool;
mod protection;
pub mod ti_lfa;
mod tree;
mod update;

pub use backoff::{Backoff, SpfDelays};
pub use between::{Between, Detour};
pub use distances::{Direction, Distances};
pub use failure::Failure;
pub use graph::{COST_MAX, EdgeId, Graph, Kind, Limits, Node};
pub use hops::{Hop, PATHS_MAX};
pub use microloop::{MicroloopDelay, Verdict};
pub use pool::Arc;
pub use protection::{Method, Protection, Protections};
pub use tree::Tree;

/// The distance of what cannot be reached; no path has so high a cost.
pub const UNREACHED: u32 = u32::MAX;

/// What a path costs that goes on by `cost` from `distance`.
pub(crate) const fn further(distance: u32, cost: u32) -> u32 {
    distance.saturating_add(cost)
}
