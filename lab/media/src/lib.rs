//! Calls with media: set up by NG, spoken through, and what is heard of them.
//!
//! ```text
//!   Ng ── offer, answer ──→ controller          namespace `linux` or `tandem`, core 1
//!    └→ Calls: its ports, its keys
//!         └→ Plan: speech both ways ─→ Tester ══ in ══ controller ══ out ══   core 0
//! ```
//! The same commands and the same packets for rtpengine and for Tandem's media controller.
#![forbid(unsafe_code)]

mod calls;
mod capacity;
mod stand;

pub use calls::{Access, Calls, Phones};
pub use stand::{Limit, Spoken, Stand};

use report::{Experiment, Takes};

/// The experiments, in the order of the report.
pub const EXPERIMENTS: &[Experiment] = &[Experiment::new(
    capacity::NAME,
    "calls with media anchored: RTP and SRTP, a core, beside rtpengine on the same wires",
    capacity::run,
)
.taking(Takes::Plane)];
