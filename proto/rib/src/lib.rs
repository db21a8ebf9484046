//! BGP's routing information base: tables by family, the decision process, and update groups whose
//! UPDATEs are encoded once for all their peers.
//!
//! ```text
//!  UPDATE ─→ Rib::update ─→ Sets: attributes interned by octets
//!                           Table: entry ─→ paths, the best one first     (one for each family)
//!                           Changes: entries in the order of their last change
//!                                │  position of each cohort, and of each reader
//!                                ↓
//!  octets ←─ Rib::next ←──── Group ─→ Cohort: peers that stand at one place
//! ```
//! - A route that changes is put into one log, once, however many groups there are. A cohort reads
//!   the log from where it stands and tells the state of *now*: what changed twice is told once.
//! - A peer that comes walks over the attribute sets first, with others that came together with it,
//!   and is taken into the cohort of its group when it has caught up. A peer that is
//!   too far behind leaves its cohort, and comes back the same way.
//! - Readers stand in the same log: they are told what was chosen, with the paths that are equal to
//!   it and the next best one.
//! - Octets are written into one buffer, which all peers of a cohort are sent. Where route targets
//!   are constrained (RFC 4684), each is sent the parts that concern it.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod adj_rib_in;
mod adj_rib_out;
mod announced;
mod changes;
mod classes;
mod cohort;
mod core_attributes;
mod decide;
mod export;
mod following;
mod gone;
mod hash;
mod imported;
mod interest;
mod key;
mod membership;
mod metrics;
mod neighbour;
mod next_hops;
mod output;
mod own;
mod payload;
mod peers;
mod policy;
mod reader;
mod reading;
mod rib;
mod sets;
mod soft_reconfiguration;
mod source;
mod sweep;
mod table;
mod view;
mod watch;

pub use adj_rib_in::Read;
pub use decide::Rank;
pub use imported::Imported;
pub use metrics::{Location, Metrics};
pub use neighbour::{Audience, Customer, Kind, Neighbour, PeerId, Terms};
pub use next_hops::{NEXT_HOPS_OF_PEER_MAX, NextHopView};
pub use output::Sending;
pub use own::OwnRoute;
pub use peers::PeerCounters;
pub use policy::{Changed, Policy, Subject, Verdict};
pub use reader::ReaderId;
pub use reading::{Change, Choice, EQUAL_MAX, PathRef};
pub use rib::{Bounds, Counters, Rib, Settings};
pub use soft_reconfiguration::Reevaluation;
pub use table::Taken;
pub use view::{GroupView, Page, PathView, RouteView, Wanted};

use machine::Duration;

/// The number of a place in a table, a list or a set of bits: fewer than 2^32 of them fit into
/// what a process has, by far.
#[inline]
pub(crate) fn number(place: usize) -> u32 {
    u32::try_from(place).expect("a table has fewer than 2^32 places")
}

/// Peers of one base.
pub const PEERS_MAX: usize = 1 << 16;
/// Cohorts of a group that begin to walk over everything while others do; who comes later waits.
pub const WALKS_MAX: usize = 4;
/// It waits no longer than this.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// No index.
const NONE: u32 = u32::MAX;
