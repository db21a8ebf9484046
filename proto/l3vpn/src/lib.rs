//! VPNs over BGP (RFC 4364, RFC 4659): routes of VPNs are imported into the VRFs whose route
//! targets they have, and routes of VRFs are exported as those of VPNs.
//!
//! ```text
//!   core: Rib with VPNv4, VPNv6                              VRFs: a Rib each
//!     routes of other edges ─ reader ─→ Targets ─→ import ──→ paths of `PeerId::IMPORTED`
//!     own routes ←─ distinguisher, targets, label ─ export ←─ reader ─ routes of customers, own
//! ```
//! - The best path of each route of a VPN, those equal to it and its backup go into every VRF that
//!   imports one of its targets. There they take part in the decision with what customers tell,
//!   also under several distinguishers: equal ones share traffic, and the next one is the backup.
//! - What is best in a VRF and was not imported is told to other edges with the distinguisher, the
//!   export targets and the label of the VRF. Other VRFs of this edge read it as everybody does.
//! - Targets that change have only the routes judged anew that have them.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod attributes;
mod distinguishers;
mod export;
mod import;
mod key;
mod relief;
mod targets;
mod vpn;
mod vrf;

pub use relief::RELIEF_INTERVAL;
pub use vpn::{Refusal, Settings, Vpn};
pub use vrf::{Counters, VrfId, VrfSettings};

/// VRFs of one edge.
pub const VRFS_MAX: usize = 1 << 14;
/// Route targets that a VRF imports, and that it exports.
pub const TARGETS_MAX: usize = 256;
