//! The session border controller's report.
#![forbid(unsafe_code)]

pub mod call_signalling;
mod compare;
pub mod ddos;
mod failover_ends;
mod failover_pair;
mod failover_scenes;
mod failover_stream;
mod failover_tracked;
pub mod generator;
pub mod header_manipulation;
mod ims;
pub mod ims_failover;
mod measure;
pub mod overload;
mod registrants;
pub mod registration;
mod rounds;
pub mod service_assurance;
pub mod session_capacity;
mod sipp;
pub mod softswitch_shielding;
pub mod ssc_failover;
pub mod tables;
mod topology;

use report::{Experiment, Takes};

pub use ddos::testbed as flood_testbed;
pub use ims::ImsGround;
pub use measure::{Measured, Plan};
pub use topology::{Load, Shape, System, Topology, site};

/// The experiments, in the order of the report.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment::new(
        "call-signalling",
        "calls per second on one core: SIP, TLS, VoLTE, VoLTE with IMS-AKA, beside Kamailio",
        call_signalling::run,
    ),
    Experiment::new(
        "registration",
        "registrations per second on one core, with IMS-AKA too, and restart storms",
        registration::run,
    ),
    media_lab::CAPACITY,
    media_lab::AVAILABILITY,
    media_lab::TRANSCODING,
    Experiment::new(
        "service-assurance",
        "every call of a full-rate run is found in the SAS by its Call-ID, none missing",
        service_assurance::run,
    ),
    Experiment::new(
        "sbc",
        "all of the report's signalling tables and their page (over an hour; --quick 10 min)",
        tables::run,
    ),
    Experiment::new(
        "session-capacity",
        "calls standing at once and what each costs in memory: SIP, TLS, VoLTE, IMS-AKA",
        session_capacity::run,
    ),
    Experiment::new(
        "ddos",
        "calls held under INVITE, REGISTER, ICMP and SYN floods of forged sources",
        ddos::run,
    ),
    Experiment::new(
        "generator",
        "the lab's own SIP generator against itself: the ceiling of every call rate",
        generator::run,
    ),
    Experiment::new(
        "compare",
        "what a call costs this binary and that of --binary, in pairs at the same rate",
        compare::run,
    )
    .taking(&[Takes::Binary]),
    Experiment::new(
        "overload",
        "calls served at twice and four times the maximum, beside Kamailio",
        overload::run,
    ),
    Experiment::new(
        "softswitch-shielding",
        "a next hop gets exactly its rate, the excess is answered 486",
        softswitch_shielding::run,
    ),
    Experiment::new(
        "header-manipulation",
        "what two changed and two added headers a message cost, beside Kamailio",
        header_manipulation::run,
    ),
    Experiment::new(
        "ssc-failover",
        "the active SSC of a pair killed under 1,000 calls/s, then a planned switchover",
        ssc_failover::run,
    ),
    Experiment::new(
        "ims-failover",
        "the active P-CSCF of a pair killed under calls and registrations of IMS phones",
        ims_failover::run,
    ),
    Experiment::new(
        "sipp",
        "SIPp's own scenarios through the SSC, every call found in the SAS",
        sipp::run,
    ),
];
