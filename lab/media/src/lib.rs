//! Calls with media: set up by SIP or NG, spoken through, and what is heard of them.
//!
//! ```text
//!   Ng ── offer, answer ──→ controller          namespace `linux` or `tandem`, core 1
//!    └→ Calls: its ports, its keys
//!         └→ Plan: speech both ways ─→ Tester ══ in ══ controller ══ out ══   core 0
//! ```
//! The same commands and the same packets for rtpengine and for Tandem's media controller.
#![forbid(unsafe_code)]

mod anchored;
mod availability;
mod book;
mod calls;
mod capacity;
mod own;
mod signalling;
mod sites;
mod test_bed;
mod transcoding;

pub use book::Book;
pub use calls::{Access, Becomes, Calls, Phones};
pub use signalling::{Ends, Signalling};
pub use sites::{MediaSide, MediaSite, SessionSite};
pub use test_bed::{Limit, Spoken, TestBed};

use std::net::{Ipv4Addr, SocketAddrV4};

/// Where the first call of a plane that the lab tells of flows has its port at the access; those of
/// the next ones are each even one behind it.
pub const FIRST_PORT: SocketAddrV4 =
    SocketAddrV4::new(Ipv4Addr::new(10, 199, 1, 16), own::PORT_FIRST as u16);

use report::{Experiment, Takes};
/// Table 5 of the report.
pub const CAPACITY: Experiment = Experiment::new(
    capacity::NAME,
    "calls with media anchored: RTP and SRTP, a core, beside rtpengine on the same wires",
    capacity::run,
)
.taking(&[Takes::Plane]);

/// What nodes that die cost, as the report shows it.
pub const AVAILABILITY: Experiment = Experiment::new(
    availability::NAME,
    "nodes killed under calls with media: what each stream loses, and how calls are spread",
    availability::run,
)
.taking(&[Takes::Plane]);

/// Streams that are transcoded on a core.
pub const TRANSCODING: Experiment = Experiment::new(
    transcoding::NAME,
    "streams transcoded a core: G.711 to G.722, Opus and AMR, beside rtpengine",
    transcoding::run,
);
