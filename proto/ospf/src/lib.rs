//! OSPFv2 (RFC 2328): packets and LSAs, neighbours and interfaces, flooding, the link state
//! database with its ageing, designated routers, areas (stub, and not so stubby: RFC 3101), and
//! routes.
//!
//! ```text
//! In::Packet ─→ Instance ─→ Out::Send
//!                │  ├ Interface ─ Neighbour        state machines, designated router
//!                │  ├ Area ─ Lsdb ─ Topology       LSAs; a graph of proto/spf that follows them
//!                │  └ routes                       → Out::Route, Out::Withdraw
//! ```
//!
//! Beside it: digests (RFC 5709), opaque LSAs (RFC 5250, 7684) and segment routing in them
//! (RFC 8665), the helper of graceful restart (RFC 3623), stub routers (RFC 6987), delays of SPF
//! (RFC 8405). [`Instance`] is a machine: time is an argument, packets are what follows
//! an IP header.
//!
//! What a peer can make grow is bounded ([`Limits`]): LSAs by number, by octets and by who says
//! them, neighbours of an interface. Whatever is not believed is counted with its reason
//! ([`Discard`]); what others say in our name is taken back.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod area;
mod discard;
mod doubt;
mod instance;
mod interface;
pub mod lsa;
mod lsdb;
mod neighbour;
mod numbers;
pub mod packet;
mod repairs;
mod routes;
mod settings;
mod topology;

pub use discard::Discard;
pub use doubt::{Doubt, Doubted};
pub use instance::{
    ALL_D_ROUTERS, ALL_SPF_ROUTERS, Counts, In, Instance, Neighbouring, Out, Redistributed, Ways,
};
pub use interface::InterfaceState;
pub use neighbour::NeighbourState;
pub use packet::Authentication;
pub use repairs::{Protection, RouterRepair, RouterSegment};
pub use routes::{NextHop, Repair, Route, RouteKind};
pub use settings::{AreaKind, InterfaceSettings, Limits, LinkType, Prefix, Settings};
pub use spf::{Method, SpfDelays};
pub use topology::{Edge, EdgeChange, Vertex};

/// The IP protocol of OSPF.
pub const PROTOCOL: u8 = 89;
