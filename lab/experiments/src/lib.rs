//! The published tables, rerun: the experiments of every report, each in the report's own crate.
//!
//! Another experiment is another file in `lab/<report>/src/` and a line in its `EXPERIMENTS`.

use report::published;
pub use report::{
    Asked, Experiment, Options, Outcome, Peer, Plane, Reflection, Row, Takes, thousands,
};

const REPORTS: [&[Experiment]; 4] =
    [sbc::EXPERIMENTS, ss7::EXPERIMENTS, router::EXPERIMENTS, hardening::EXPERIMENTS];

/// Every experiment, in the order of the reports.
pub fn list() -> impl Iterator<Item = &'static Experiment> {
    REPORTS.into_iter().flatten()
}

/// Runs the experiment with this name. Progress goes to standard error.
///
/// # Errors
/// When there is no such experiment, or it could not be set up. A check that did not hold is no
/// error: see [`Outcome::held`].
pub fn run(name: &str, options: &Options) -> anyhow::Result<Outcome> {
    let experiment = list().find(|experiment| experiment.name == name);
    let experiment = experiment
        .ok_or_else(|| anyhow::anyhow!("no experiment `{name}`; see `tandem lab list`"))?;
    let mut outcome = (experiment.run)(options)?;
    if let Some(table) = published::all().iter().find_map(|report| report.table(name)) {
        published::annotate(&mut outcome, table);
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_name_is_taken_once() {
        let names: HashSet<_> = list().map(|experiment| experiment.name).collect();
        assert_eq!((names.len(), list().count()), (23, 23));
    }
}
