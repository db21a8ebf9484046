//! `ss7`: the tables on signalling over IP, and one page.

use report::contract::{Options, Outcome};
use report::group::{self, Group, Part, part};
use report::published;

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
    part(
        "cap-call-monitoring",
        "CAP: calls that are monitored",
        "Four messages a call: it begins, goes on, is answered and released. Our rows are of one \
         node a side, the report's of two.",
    ),
    part(
        "map-sri-for-sm",
        "MAP: where a short message goes",
        "A question and its answer. Our rows are of one node a side, the report's of two.",
    ),
    part(
        "sgc-failover",
        "A cluster that loses a node",
        "Calls that stand and new questions through a cluster of two gateways, one of which dies \
         or gives its partitions away. The report has no such table.",
    ),
    part(
        "sgc-overload",
        "Twice the load that can be served",
        "Calls that stand go first, those that would begin are refused. The report has no such \
         table.",
    ),
    part(
        "gtt-commit",
        "A million rules for global titles",
        "They are committed while questions are translated. The report has no such table.",
    ),
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
