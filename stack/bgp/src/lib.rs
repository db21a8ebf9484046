//! A BGP speaker for any function: peers, their connections and sessions (RFC 4271), policies,
//! limits, and its part of the configuration. It owns no routes. What an operator asks of it and of
//! its owner's tables is here as well ([`ask`]).
//!
//! ```text
//!             ┌───────────────────────── Speaker ─────────────────────────┐
//!   ports ─In→│ connections ───→ bgp::Session, one a peer ───→ received   │─ next: Out → owner
//!             │      ↑                 ↑        │              UPDATEs    │  Up, Update, Down …
//!    Effects ←│      │               clock      │ OPEN, KEEPALIVE …       │
//!             │      └──────────────────────────┘                         │← send_updates,
//!             └───────────────────────────────────────────────────────────┘  refuse_update …
//! ```
//! - A function keeps the keys of its section and lends them as a [`config::Section`]: that checks
//!   them, and says which ports the runtime shall open and what peers must prove (TCP MD5, RFC
//!   2385; GTSM, RFC 5082).
//! - It gives what happens on these ports to [`Speaker::step`], cuts streams by [`frame`], and
//!   then takes everything from [`Speaker::next`], in order: an [`Out::Update`] comes only while
//!   the session of its peer stands, and after all that the one before has led to.
//! - [`Speaker::policies`] is what tables ask for their verdicts (`rib::Policy`), by the numbers
//!   that an [`Out::Up`] names.
//! - All sessions live on the first shard.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod alarms;
pub mod ask;
mod clock;
pub mod config;
mod configure;
mod connections;
mod deferral;
mod departed;
mod effects;
mod framing;
mod limits;
mod metrics;
mod operator;
mod peers;
mod policy_table;
mod received;
mod refusals;
mod sessions;
mod speaker;
mod tables;

pub use alarms::alarm;
pub use departed::{DEPARTED_MAX, Departed};
pub use effects::{Counts, Ended, Established, In, Out, PolicyChange, Sent};
pub use framing::frame;
pub use metrics::{PeerMetric, PeerMetrics, PeerTable, RouteCounts, peer_table};
pub use peers::{Connection, Ending, EndingSource, Held, Peer, Peers};
pub use policy_table::{PolicyTable, Validate};
pub use refusals::Refusal;
pub use speaker::Speaker;
pub use tables::{Beside, Tables, Taken};
