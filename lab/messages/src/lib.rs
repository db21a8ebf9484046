//! The report on the IP short message gateway: nodes between an S-CSCF and an SS7 network, one
//! experiment a file.
//!
//! ```text
//!   Load: S-CSCF with terminals ══ SIP, UDP ══ node 1, 2, 3 ══ links ══ signalling gateway
//!         HLR, service centre, MSC ══ Unix sockets ═══════════════════════╝
//!   core 0, the lab                            core 1                   core 0
//!
//!   Core: S-CSCF with terminals ══ SIP, UDP ══ node a ⇄ node b: a pair with its own centre
//!                               ══ SIP, UDP ══ gateways with a ring of Cassandra
//! ```
#![forbid(unsafe_code)]

mod application;
mod book;
mod failover;
mod figures;
mod gateway;
mod load;
mod map_texts;
mod nodes;
mod ring;
mod sip_texts;

use report::{Experiment, Takes};

/// The experiments, in the order of the report.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment::new(
        "ipsmgw",
        "sessions a second of short messages and registrations, and how long each takes",
        gateway::run,
    )
    .taking(&[Takes::Plane, Takes::Binary]),
    Experiment::new(
        "ipsmgw-failover",
        "what a pair of short message gateways keeps when a node, or both, are killed",
        failover::run,
    )
    .taking(&[Takes::Plane, Takes::Binary]),
    Experiment::new(
        "ipsmgw-ring",
        "what gateways with a ring of Cassandra keep when a node of the ring is killed",
        ring::run,
    )
    .taking(&[Takes::Plane, Takes::Binary]),
];
