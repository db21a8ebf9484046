//! `router`: every table of the virtual service router's report, and one page.

use report::contract::{Options, Outcome};
use report::group::{self, Group, Part, part};
use report::published;

const ROUTING: &str = "needs routing protocols on the edge, which Tandem does not have yet";

const PARTS: &[Part] = &[
    part("throughput", "Throughput", "Packets a second of one core, 20 ppm of loss."),
    part("services", "Services", "IP VPNs, VPWS and VPLS all at once."),
    Part { absent: ROUTING, ..part("redundancy", "Redundancy", "A part of the edge fails.") },
    part("denial-of-service", "Denial of service", "A flood at the router itself."),
    part("reflection-ipv4", "Route reflection", "A table to 100 to 1,000 clients."),
    part("reflection-evpn", "Route reflection, EVPN", "MAC addresses to 200 clients."),
];

const GROUP: Group = Group {
    name: "router",
    title: "Virtual service router",
    experiments: crate::EXPERIMENTS,
    parts: PARTS,
    published: published::router,
};

/// Runs all that exist and writes the page.
///
/// # Errors
/// When the page cannot be written. An experiment that fails is a row that says so.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    group::run(&GROUP, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_table_has_its_place() {
        assert_eq!(GROUP.without_place(), Vec::<String>::new());
    }
}
