//! `tandem lab list` and `run`: the experiments of the reports.

use crate::command::{Plane, Reflection, Trial};
use client::{Exit, output};
use experiments::{Options, Takes};
use std::time::SystemTime;

/// Names the experiments.
///
/// # Errors
/// Nobody reads them.
pub fn list() -> Result<(), Exit> {
    let name = |experiment: &experiments::Experiment| experiment.name.len();
    let width = experiments::list().map(name).max().unwrap_or_default();
    let line = |e: &experiments::Experiment| format!("{:width$}  {}\n", e.name, e.line);
    output::text(&experiments::list().map(line).collect::<String>())
}

/// Names of the experiments, and a line of each.
#[must_use]
pub fn named() -> Vec<(String, String)> {
    experiments::list().map(|e| (e.name.to_owned(), e.line.to_owned())).collect()
}

/// What is said of a name that no experiment has: those that have it in theirs, else the nearest.
fn unknown(name: &str) -> String {
    let all = || experiments::list().map(|experiment| experiment.name);
    let alike: Vec<&str> = all().filter(|it| it.contains(name) && !name.is_empty()).collect();
    let hint = match alike.is_empty() {
        true => config::meant(name, all(), ""),
        false => format!("did you mean {}?", alike.join(", ")),
    };
    format!("no experiment is called `{name}`: {hint} (`tandem lab list` names them all)")
}

/// Runs one.
///
/// # Errors
/// There is no such experiment, it has no such choice, or not everything held.
pub fn run(trial: Trial) -> Result<(), Exit> {
    let Some(name) = trial.name.clone() else {
        list()?;
        return Err(Exit::Usage("name one of these: `tandem lab run NAME`".into()));
    };
    let Trial { quick, json, scenarios, output, live, binary, reflection, plane, .. } = trial;
    let known = experiments::list().find(|experiment| experiment.name == name);
    let Some(experiment) = known else {
        return Err(Exit::Usage(unknown(&name)));
    };
    if live && !experiment.takes(Takes::Live) {
        return Err(Exit::Usage(format!("--live: `{name}` is no simulation")));
    }
    if binary.is_some() && !experiment.takes(Takes::Binary) {
        return Err(Exit::Usage(format!("--binary: `{name}` has no such choice")));
    }
    let reflection = sizes(reflection);
    if reflection.is_some() && !experiment.takes(Takes::Reflection) {
        let flags = "--peer, --clients, --prefixes, --macs, --mrt";
        return Err(Exit::Usage(format!("{flags}: `{name}` has no such choice")));
    }
    let reflection = reflection.unwrap_or_default();
    let plane = plane_sizes(plane);
    if plane.is_some() && !experiment.takes(Takes::Plane) {
        let flags = "--full, --routes, --flows";
        return Err(Exit::Usage(format!("{flags}: `{name}` has no such choice")));
    }
    let plane = plane.unwrap_or_default();
    let options = Options::of_this_executable(quick)?;
    let tandem = match binary {
        Some(path) => std::path::absolute(path)?,
        None => options.tandem.clone(),
    };
    let options = Options { scenarios, output, live, reflection, plane, tandem, ..options };
    let outcome = experiments::run(&name, &options)?;
    if outcome.rows.is_empty()
        && let Some(what) = options.unknown()
    {
        return Err(Exit::Usage(format!("--scenario: {what}")));
    }
    let printed = match json {
        true => format!("{}\n", outcome.json(&options, SystemTime::now())),
        false => outcome.table(),
    };
    output::text(&printed)?;
    if let Some(what) = options.unknown() {
        return Err(Exit::Usage(format!("--scenario: {what}")));
    }
    if outcome.held() {
        return Ok(());
    }
    Err(Exit::Failed(format!("{} checks did not hold", outcome.broken.len())))
}

/// The sizes that were asked for; `None`: none was.
fn sizes(asked: Reflection) -> Option<experiments::Reflection> {
    let Reflection { peer, clients, prefixes, macs, mrt } = asked;
    let has_sizes = prefixes.is_some() || macs.is_some() || mrt.is_some();
    if peer.is_none() && clients.is_empty() && !has_sizes {
        return None;
    }
    let clients = clients.into_iter().map(usize::from).collect();
    let [prefixes, macs] = [prefixes, macs].map(|size| size.map(|size| size as usize));
    Some(experiments::Reflection { peer, clients, prefixes, macs, mrt })
}

/// The sizes of the packet plane that were asked for; `None`: none was.
fn plane_sizes(asked: Plane) -> Option<experiments::Plane> {
    let Plane { full, routes, flows } = asked;
    let is_asked = full || routes.is_some() || !flows.is_empty();
    let routes = routes.map(|routes| routes as usize);
    is_asked.then_some(experiments::Plane { full, routes, flows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_experiment_has_leads_to_those_that_are_like_it() {
        assert!(unknown("shielding").contains("did you mean softswitch-shielding?"));
        assert!(unknown("sctp-failovr").contains("did you mean `sctp-failover`?"));
    }
}
