//! SIP bound to ports, for any function that speaks it: whom it speaks with, over what, and how
//! what it says is turned towards them.
//!
//! ```text
//!  section of the site file ─ Settings ─→ Border ┬ realms      listeners: transports at addresses
//!                                                ├ routes ──→ hops ──→ Way: realm, flow, more
//!  In::Resolved ────→ resolved ─→ lookups ───────┤            └ health by probes, feedback
//!  In::Proved ──────→ proved ───→ proofs ────────┘   who far ends are, what they may assert
//!
//!  a message and a Way ─→ trust, topology_hiding, write, Leg ─→ octets
//! ```
//! A function embeds a [`border::Border`] in each shard, keeps a [`leg::Leg`] of each dialog, and
//! owns transactions and what it makes of requests. Whoever sends probes asks
//! [`next_hop::NextHops::due`] and tells [`next_hop::NextHops::probed`] what came of them.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod border;
pub mod config;
pub mod egress;
pub mod leg;
mod lookup;
pub mod next_hop;
pub mod probe;
mod proof;
pub mod realm;
pub mod realm_map;
pub mod route;
pub mod session;
mod settings;
mod shown;
pub mod size;
pub mod source;
pub mod steer;
pub mod topology_hiding;
pub mod trust;
pub mod upstream;
pub mod write;

pub use realm::RealmId;
pub use settings::{HopSettings, RealmSettings, Settings};
pub use shown::NextHopRow;
