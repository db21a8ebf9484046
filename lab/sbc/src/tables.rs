//! `sbc`: every table of the report's signalling part, one after the other, and one page.

use report::contract::{Options, Outcome};
use report::group::{self, Group, Part, part};
use report::published;

const PARTS: &[Part] = &[
    part("call-signalling", "Call signalling", "Calls a second without a failure, on one core."),
    part("header-manipulation", "Header manipulation", "What changing four headers costs."),
    part("overload", "Overload", "Goodput when twice the maximum is offered."),
    part("registration", "Registration", "First registrations and refreshes a second."),
    part("session-capacity", "Standing calls", "Calls that stand at once, and their memory."),
    part("softswitch-shielding", "Shielding", "A rate limit before the softswitch."),
    part("ddos", "Floods", "Good calls while an attack runs."),
    part("ssc-failover", "Failover", "The active SSC is killed under load."),
    part("ims-failover", "IMS failover", "The active P-CSCF is killed under phones with AKA."),
    part("service-assurance", "Service assurance", "Every call is found in the SAS."),
    part("media-capacity", "Media", "Calls with media anchored."),
    part("high-availability", "Media failover", "One of three media controllers fails."),
];

const GROUP: Group = Group {
    name: "sbc",
    title: "Session border controller",
    experiments: crate::EXPERIMENTS,
    parts: PARTS,
    published: published::sbc,
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
