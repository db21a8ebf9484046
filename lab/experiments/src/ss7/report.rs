//! `ss7`: the tables on signalling over IP, and one page.

use crate::contract::{Options, Outcome};
use crate::published;
use crate::report::{self, Group, Part, part};

const PARTS: &[Part] = &[part(
    "sctp-failover",
    "SCTP failover under M3UA",
    "From the cut of the primary path to the failure that SCTP tells, and the longest transfer of \
     an MSU. Then the preset tandem, and what it was chosen from.",
)];

pub(crate) const GROUP: Group =
    Group { name: "ss7", title: "Signalling over IP", parts: PARTS, published: published::ss7 };

/// Runs all that exist and writes the page.
///
/// # Errors
/// When the page cannot be written. An experiment that fails is a row that says so.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    report::run(&GROUP, options)
}
