//! The virtual service router's report: route reflection, and the packet plane.
//!
//! ```text
//!   this process, one thread: bgp_load::Clients, clients 127.16.x.y ──tcp──→ Tandem, or a peer
//! ```
#![forbid(unsafe_code)]

pub mod denial_of_service;
pub mod reflection_evpn;
pub mod reflection_ipv4;
pub mod services;
mod setup;
pub mod tables;
pub mod throughput;

use report::{Experiment, Takes};

/// The experiments, in the order of the report.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment::new(
        "reflection-ipv4",
        "updates/s of the route reflector to 100 to 1,000 clients, beside --peer",
        reflection_ipv4::run,
    )
    .taking(&[Takes::Reflection, Takes::Binary]),
    Experiment::new(
        "reflection-evpn",
        "a million MACs to 200 clients, with and without route-target constraint",
        reflection_evpn::run,
    )
    .taking(&[Takes::Reflection, Takes::Binary]),
    Experiment::new(
        "throughput",
        "packets/s a core by size and flows, 20 ppm of loss, beside Linux forwarding",
        throughput::run,
    )
    .taking(&[Takes::Plane, Takes::Binary]),
    Experiment::new(
        "services",
        "IP VPNs, VPWS and VPLS all at once, with filters and policers; --full: all 2,250",
        services::run,
    )
    .taking(&[Takes::Plane]),
    Experiment::new(
        "denial-of-service",
        "what forwarded packets lose by a flood of echo requests at the router itself",
        denial_of_service::run,
    )
    .taking(&[Takes::Plane]),
    Experiment::new(
        "router",
        "all tables of the virtual service router's report, and their page",
        tables::run,
    ),
];

/// The peer's name.
fn linux_name() -> String {
    let host = report::host::describe();
    format!("Linux {} forwarding", host["kernel"].as_str().unwrap_or_default())
}
