//! Signalling over IP: SCTP under M3UA, as two signalling endpoints on two paths, one experiment a
//! file; and what runs on top of it ([`dialogues`]).
//!
//! ```text
//!   ledger: MSUs ─→ End (M3UA, SCTP) ─┬─ path 0, cut ──┬─→ End (SCTP, M3UA) ─→ ledger: times
//!                                     └─ path 1 ───────┘
//!                                     Field: link::Pipe, virtual time
//!                                     live: namespaces, link::Emulator, UDP or IP
//! ```
#![forbid(unsafe_code)]

pub mod dialogues;
mod failover_live;
mod failover_rows;
mod failover_search;
pub mod path_max_retrans;
pub mod sctp_failover;
pub mod sctp_throughput;
mod side_by_side;
pub mod tables;

use report::{Experiment, Takes};

/// The experiments, in the order of the report.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment::new(
        "sctp-throughput",
        "messages a second over one SCTP association, UDP and IP, beside usrsctp",
        sctp_throughput::run,
    ),
    Experiment::new(
        "sctp-failover",
        "SCTP's failover under M3UA: the report's 110 runs in virtual time, or --live",
        sctp_failover::run,
    )
    .taking(&[Takes::Live]),
    Experiment::new(
        "sctp-path-max-retrans",
        "what Path.Max.Retrans costs in failover: Telecom(2) to (5), in virtual time",
        path_max_retrans::run,
    ),
    Experiment::new(
        "cap-call-monitoring",
        "calls a second that a gsmSCF monitors, SCTP to CAP; beside jSS7 over TCP",
        dialogues::calls,
    )
    .taking(&[Takes::Plane]),
    Experiment::new(
        "map-sri-for-sm",
        "sendRoutingInfoForSM a second, SCTP to MAP; beside jSS7 over TCP",
        dialogues::routing,
    )
    .taking(&[Takes::Plane]),
    Experiment::new(
        "sgc-failover",
        "a cluster of two gateways, one of which dies or is drained amid standing dialogues",
        dialogues::failover::run,
    )
    .taking(&[Takes::Plane]),
    Experiment::new(
        "sgc-overload",
        "twice the calls that a gateway can serve: goodput, and that those which stand go first",
        dialogues::overload::run,
    ),
    Experiment::new(
        "gtt-commit",
        "a million rules for global titles committed while questions pass: what is lost",
        dialogues::commit::run,
    ),
    Experiment::new(
        "ss7",
        "all tables of the reports on signalling over IP, and their page",
        tables::run,
    ),
];
