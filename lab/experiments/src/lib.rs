//! The published tables, rerun: the experiments of every report, each in the report's own crate.
//!
//! Another experiment is another file in `lab/<report>/src/` and a line in its `EXPERIMENTS`.
#![forbid(unsafe_code)]

use report::published;
pub use report::{
    Asked, Experiment, Options, Outcome, Peer, Plane, Reflection, Row, Takes, thousands,
};

const REPORTS: [&[Experiment]; 5] = [
    sbc::EXPERIMENTS,
    ss7::EXPERIMENTS,
    router::EXPERIMENTS,
    messages::EXPERIMENTS,
    hardening::EXPERIMENTS,
];

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
    use report::published::Report;
    use serde_json::{Value, json};
    use std::collections::HashSet;
    use std::fs;
    use std::time::UNIX_EPOCH;

    #[test]
    fn every_name_is_taken_once() {
        let names: HashSet<_> = list().map(|experiment| experiment.name).collect();
        assert_eq!((names.len(), list().count()), (36, 36));
    }

    /// Rows as an experiment gives them: those of its published table, or one of its own.
    fn rows(name: &str) -> Vec<Row> {
        let reports = published::all();
        let Some(table) = reports.iter().find_map(|report| report.table(name)) else {
            return vec![measured(Row::absent("a row of its own", "messages/s", None, ""))];
        };
        let mut rows: Vec<_> =
            table.rows.iter().map(|row| measured(table.absent(row, ""))).collect();
        let last = rows.len() - 1;
        rows[last] = table.absent(&table.rows[last], "needs a part | that is not there");
        rows[0].tandem = Some(61_576.4);
        rows
    }

    fn measured(mut row: Row) -> Row {
        row.peer = Some(Peer { name: "another 1.0".into(), value: 2.5 });
        row.tandem = Some(7.25);
        row.detail = json!({ "note": "in a quiet hour", "tandem": { "octets": 1_144 } });
        row
    }

    fn outcome(name: &'static str, rows: Vec<Row>, broken: &[&str]) -> Outcome {
        let broken = broken.iter().map(|what| (*what).to_owned()).collect();
        Outcome { experiment: name, host: json!({ "cpu": "a CPU", "cores": 2 }), rows, broken }
    }

    /// The rows of a report say which experiment they come from.
    fn of_report(report: &Report) -> Vec<Row> {
        let tables = report.tables.iter().filter(|table| !table.is_settings());
        let named = tables.flat_map(|table| {
            let is_listed = list().any(|experiment| experiment.name == table.id);
            let absent = table.rows.iter().map(|row| table.absent(row, "is not there yet"));
            let own = if is_listed { rows(&table.id) } else { absent.collect() };
            own.into_iter().map(|mut row| {
                row.detail["experiment"] = json!(table.id);
                row
            })
        });
        named.collect()
    }

    /// What `tandem lab run --json` prints of each experiment, and of one with its options.
    fn objects() -> Vec<Value> {
        let plain =
            Options { tandem: "tandem".into(), ..Options::of_this_executable(false).unwrap() };
        let json = |outcome: &Outcome, options: &Options| outcome.json(options, UNIX_EPOCH);
        let mut objects = Vec::new();
        for experiment in list() {
            let rows = match experiment.name {
                "sbc" => of_report(&published::sbc()),
                "ss7" => of_report(&published::ss7()),
                "router" => of_report(&published::router()),
                name => rows(name),
            };
            let broken: &[&str] =
                if experiment.name == "sbc" { &["overload: 3 failed"] } else { &[] };
            objects.push(json(&outcome(experiment.name, rows, broken), &plain));
        }
        let peer = Reflection { peer: Some("frr".into()), ..Reflection::default() };
        let beside = Options { reflection: peer, ..plain.clone() };
        for name in ["reflection-ipv4", "reflection-evpn"] {
            objects.push(json(&outcome(name, rows(name), &[]), &beside));
        }
        let live = Options { live: true, ..plain.clone() };
        objects.push(json(&outcome("sctp-failover", rows("sctp-failover"), &[]), &live));
        let full = Options { plane: Plane { full: true, ..Plane::default() }, ..plain };
        for name in ["services", "media-capacity", "high-availability"] {
            objects.push(json(&outcome(name, rows(name), &[]), &full));
        }
        objects
    }

    #[test]
    fn the_objects_that_the_page_of_figures_is_tried_with_are_what_is_printed() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/tests/figures.jsonl");
        let now = objects();
        if std::env::var_os("TANDEM_WRITE").is_some() {
            let lines: String = now.iter().map(|object| format!("{object}\n")).collect();
            fs::write(file, lines).unwrap();
        }
        let kept = fs::read_to_string(file).unwrap();
        let kept: Vec<Value> =
            kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let hint = "write it anew: TANDEM_WRITE=1 cargo test -p tandem-experiments";
        assert!(kept == now, "{file}: {hint}");
    }
}
