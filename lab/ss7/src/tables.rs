//! `ss7`: the tables on signalling over IP, and one page.

use report::contract::{Options, Outcome};
use report::group::{self, Group, Part, part};
use report::published;

const UPPER: &str = "needs SCCP, TCAP, MAP and CAP, which Tandem does not have yet";

const PARTS: &[Part] = &[
    part(
        "sctp-failover",
        "SCTP failover under M3UA",
        "From the cut of the primary path to the failure that SCTP tells, and the longest transfer \
         of an MSU. Then the preset tandem, and what it was chosen from.",
    ),
    part(
        "sctp-path-max-retrans",
        "Path.Max.Retrans",
        "What one more retransmission before a path is given up costs: Figure 4 in its words.",
    ),
    Part { absent: UPPER, ..part("cap-call-monitoring", "CAP", "Four messages a call.") },
    Part { absent: UPPER, ..part("map-sri-for-sm", "MAP", "Where a short message goes.") },
];

const GROUP: Group = Group {
    name: "ss7",
    title: "Signalling over IP",
    experiments: crate::EXPERIMENTS,
    parts: PARTS,
    published: published::ss7,
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
