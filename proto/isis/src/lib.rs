//! IS-IS (ISO 10589, RFC 1195, RFC 5308): PDUs, adjacencies on LANs and on links of two, two levels
//! with leaking between them, flooding, the link state databases with their ageing, designated
//! systems, and routes of IPv4 and IPv6.
//!
//! ```text
//! In::Pdu ─→ Instance ─→ Out::Send
//!              │  ├ Circuit ─ Adjacency             state machines, designated system
//!              │  ├ LevelData ─ Lsdb ─ Topology     fragments; a graph of proto/spf follows them
//!              │  └ routes                          → Out::Route, Out::Withdraw
//! ```
//!
//! Beside it: three-way adjacencies (RFC 5303), wide metrics (RFC 5305), digests (RFC 5304, 5310),
//! restart on both sides (RFC 8706), segment routing (RFC 8667), names (RFC 5301), who purged (RFC
//! 6232), delays of SPF (RFC 8405). [`Instance`] is a machine: time is an argument, PDUs are what
//! follows the octets FE FE 03 of IEEE 802.2.
//!
//! What a peer can make grow is bounded ([`Limits`]): fragments by number, by octets and by system,
//! adjacencies of a circuit. Whatever is not believed is counted with its reason ([`Discard`]);
//! what others say in our name is taken back.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod address;
mod adjacency;
mod circuit;
mod discard;
mod doubt;
mod instance;
mod lsdb;
pub mod lsp;
mod own;
pub mod pdu;
mod repairs;
mod restarting;
mod routes;
mod settings;
mod topology;

pub use address::{AreaAddress, Level, Levels, LspId, NodeId, Snpa, SystemId};
pub use adjacency::AdjacencyState;
pub use discard::Discard;
pub use doubt::{Doubt, Doubted};
pub use instance::{
    ALL_IS, ALL_L1_IS, ALL_L2_IS, Counts, In, Instance, LLC, Neighbouring, Out, Ways,
};
pub use pdu::Authentication;
pub use repairs::{Protection, SystemRepair, SystemSegment};
pub use routes::{
    EXPLICIT_NULL_IPV4, EXPLICIT_NULL_IPV6, IMPLICIT_NULL, NextHop, Repair, Route, RouteKind,
};
pub use settings::{
    Advertised, BadSetting, CircuitSettings, Leaking, Limits, LinkType, MetricStyle, Periods,
    Prefix, Settings,
};
pub use spf::{Method, SpfDelays};
pub use topology::{Edge, EdgeChange};
