//! What every experiment takes and gives: options, rows, one JSON object, one table.

use crate::{host, published};
use comfy_table::{Cell, CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// How to run an experiment.
#[derive(Debug, Clone)]
pub struct Options {
    /// A minute or two on two cores (a report: ten), at the price of coarser figures.
    pub quick: bool,
    /// The `tandem` binary that is measured.
    pub tandem: PathBuf,
    /// Only the scenarios with these names; empty means all.
    pub scenarios: Vec<String>,
    /// Directory for a report's page and its data; absent: the report's own choice.
    pub output: Option<PathBuf>,
    /// With real packets in namespaces, where it would be a simulation.
    pub live: bool,
    /// Sizes of the experiments on route reflection.
    pub reflection: Reflection,
    /// Sizes of the experiments on the packet plane.
    pub plane: Plane,
    /// Names that [`Options::wants`] was asked for: those that the experiment has.
    pub asked: Asked,
}

/// Names of scenarios, shared by what is cloned of one run.
pub type Asked = Arc<Mutex<BTreeSet<String>>>;

/// Sizes of the experiments on the packet plane; what is absent is their own choice.
#[derive(Debug, Clone, Default)]
pub struct Plane {
    /// All services of the report at their full number.
    pub full: bool,
    /// IPv4 routes; a quarter as many of IPv6.
    pub routes: Option<usize>,
    /// Flows, in turn.
    pub flows: Vec<u32>,
}

/// Sizes of the experiments on route reflection; what is absent is their own choice.
#[derive(Debug, Clone, Default)]
pub struct Reflection {
    /// The reflector that runs beside Tandem's: `bird`, `frr`, `gobgp`, `openbgpd`.
    pub peer: Option<String>,
    /// How many clients, in turn.
    pub clients: Vec<usize>,
    /// Prefixes of the Internet-like table.
    pub prefixes: Option<usize>,
    /// MACs.
    pub macs: Option<usize>,
    /// An MRT file whose IPv4 table is announced in place of the Internet-like one.
    pub mrt: Option<std::path::PathBuf>,
}

impl Options {
    /// Options that measure the running executable.
    ///
    /// # Errors
    /// When the executable's own path cannot be told.
    pub fn of_this_executable(quick: bool) -> anyhow::Result<Self> {
        let (tandem, scenarios) = (std::env::current_exe()?, Vec::new());
        let (reflection, plane) = (Reflection::default(), Plane::default());
        let asked = Asked::default();
        Ok(Self { quick, tandem, scenarios, output: None, live: false, reflection, plane, asked })
    }

    /// The options of the command line that make a run another one than that of the bare name: what
    /// stands behind `tandem lab run NAME`, but for how its answer is printed. A file is its name,
    /// which says enough.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let flags = [("quick", self.quick), ("live", self.live), ("full", self.plane.full)];
        words.extend(flags.iter().filter(|(_, is)| *is).map(|(name, _)| format!("--{name}")));
        let mut with = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [format!("--{name}"), value]));
        };
        let list = |numbers: Vec<String>| (!numbers.is_empty()).then(|| numbers.join(","));
        let Reflection { peer, clients, prefixes, macs, mrt } = &self.reflection;
        with("peer", peer.clone());
        with("clients", list(clients.iter().map(usize::to_string).collect()));
        with("prefixes", prefixes.map(|it| it.to_string()));
        with("macs", macs.map(|it| it.to_string()));
        let name = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
        with("mrt", mrt.as_ref().and_then(name));
        with("routes", self.plane.routes.map(|it| it.to_string()));
        with("flows", list(self.plane.flows.iter().map(u32::to_string).collect()));
        for scenario in &self.scenarios {
            with("scenario", Some(scenario.clone()));
        }
        words
    }

    /// Whether a scenario was asked for.
    #[must_use]
    pub fn wants(&self, scenario: &str) -> bool {
        if self.scenarios.is_empty() {
            return true;
        }
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(scenario.to_owned());
        self.scenarios.iter().any(|name| name == scenario)
    }

    /// After a run: in words, which scenarios were asked for that it does not have, and which it
    /// has.
    #[must_use]
    pub fn unknown(&self) -> Option<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_unknown = |name: &&String| !asked.is_empty() && !asked.contains(*name);
        let name = self.scenarios.iter().find(is_unknown)?;
        let names: Vec<_> = asked.iter().map(|name| format!("`{name}`")).collect();
        Some(format!("there is no scenario `{name}`; there are {}", names.join(", ")))
    }
}

/// What a program that others wrote reached.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Peer {
    /// Name and version.
    pub name: String,
    /// In the row's unit.
    pub value: f64,
}

/// One line of a published table, rerun.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Row {
    /// The name that the published table gives it.
    pub scenario: String,
    /// Unit of all three values.
    pub unit: String,
    /// What the report prints.
    pub published: Option<f64>,
    /// What a peer reached in this run.
    pub peer: Option<Peer>,
    /// What Tandem reached in this run; `None` when it cannot run, and `detail.why` says why.
    pub tandem: Option<f64>,
    /// Everything else that was measured.
    pub detail: Value,
}

impl Row {
    /// A row that cannot run yet.
    #[must_use]
    pub fn absent(scenario: &str, unit: &str, published: Option<f64>, why: &str) -> Self {
        Self {
            scenario: scenario.into(),
            unit: unit.into(),
            published,
            peer: None,
            tandem: None,
            detail: json!({ "why": why }),
        }
    }
}

/// What an experiment found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The experiment's name.
    pub experiment: &'static str,
    /// The machine.
    pub host: Value,
    /// One row per row of the published table.
    pub rows: Vec<Row>,
    /// What did not hold, in words; empty when every check of the run itself held.
    pub broken: Vec<String>,
}

impl Outcome {
    /// That of an experiment which this machine does not let run: the rows of its table with the
    /// reason, and nothing was checked.
    #[must_use]
    pub fn without_namespaces(
        experiment: &'static str,
        table: &published::Table,
        options: &Options,
        error: &anyhow::Error,
    ) -> Self {
        let why = format!("needs root, network namespaces and ip(8): {error:#}");
        let rows = table.rows.iter().filter(|row| options.wants(&row.scenario));
        let rows = rows.map(|row| table.absent(row, &why)).collect();
        Self { experiment, host: host::describe(), rows, broken: vec![why] }
    }

    /// Whether every check held: the exit status.
    #[must_use]
    pub const fn held(&self) -> bool {
        self.broken.is_empty()
    }

    /// The one object that `--json` prints: how it was run, when (UNIX time), and what was found.
    #[must_use]
    pub fn json(&self, options: &Options, measured_at: SystemTime) -> Value {
        let since = measured_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut object = json!({
            "experiment": self.experiment,
            "options": options.words(),
            "quick": options.quick,
            "measured_at_s": since.as_secs(),
            "host": self.host,
            "rows": self.rows,
        });
        if !self.broken.is_empty() {
            object["broken"] = json!(self.broken);
        }
        object
    }

    /// The table for people: published, peer and Tandem side by side.
    #[must_use]
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_FULL_CONDENSED);
        table.set_header(["scenario", "unit", "published", "peer", "Tandem", "x peer", "notes"]);
        for row in &self.rows {
            let value = |value: Option<f64>| {
                Cell::new(value.map_or_else(|| "-".into(), thousands))
                    .set_alignment(CellAlignment::Right)
            };
            let factor = match (&row.peer, row.tandem) {
                (Some(peer), Some(tandem)) if peer.value > 0.0 => {
                    format!("{:.1}", tandem / peer.value)
                }
                _ => "-".into(),
            };
            table.add_row([
                Cell::new(&row.scenario),
                Cell::new(&row.unit),
                value(row.published),
                value(row.peer.as_ref().map(|peer| peer.value)),
                value(row.tandem),
                Cell::new(factor).set_alignment(CellAlignment::Right),
                Cell::new(notes(row)),
            ]);
        }
        let mut peers: Vec<_> =
            self.rows.iter().filter_map(|row| Some(&*row.peer.as_ref()?.name)).collect();
        peers.dedup();
        let peer = peers.iter().map(|name| format!("peer: {name}\n")).collect::<String>();
        let broken: String = self.broken.iter().map(|b| format!("NOT HELD: {b}\n")).collect();
        format!("{}\n{table}\n{peer}{broken}", self.experiment)
    }
}

/// What a table says beside the values.
pub(crate) fn notes(row: &Row) -> String {
    let parts = [measured(row), spread(row), reported(row)];
    parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("; ")
}

/// How far apart the runs lie that the value is the median of.
fn spread(row: &Row) -> String {
    let runs = row.detail["runs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let runs: Vec<f64> = runs.iter().filter_map(Value::as_f64).collect();
    match runs.as_slice() {
        [least, .., most] => {
            format!("median of {}, {} to {}", runs.len(), exact(*least), exact(*most))
        }
        _ => String::new(),
    }
}

/// What the report prints beside its value.
fn reported(row: &Row) -> String {
    let Some(further) = row.detail["report"].as_object() else { return String::new() };
    let words = further.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Array(all) => all.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        };
        match name.as_str() {
            "value" | "note" => value,
            _ => format!("{} {value}", name.replace('_', " ")),
        }
    });
    format!("report: {}", words.collect::<Vec<_>>().join(", "))
}

/// What the run itself says.
fn measured(row: &Row) -> String {
    if let Some(why) = row.detail["why"].as_str() {
        return why.to_owned();
    }
    if let Some(note) = row.detail["note"].as_str() {
        return note.to_owned();
    }
    let tandem = &row.detail["tandem"];
    let Some(cpu) = tandem["cpu_us_per_call"].as_f64() else { return String::new() };
    let p99 = tandem["setup_p99_us"].as_f64().unwrap_or_default() / 1_000.0;
    format!("{cpu:.0} us CPU a call, set-up p99 {p99:.1} ms")
}

/// A number for people: rounded, with a space between thousands.
#[must_use]
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// A figure with as many digits as say something.
#[must_use]
pub fn exact(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size < 1.0 => format!("{value:.3}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => thousands(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(thousands(7.0), "7");
        assert_eq!(thousands(700.4), "700");
        assert_eq!(thousands(20_123.0), "20 123");
        assert_eq!(thousands(-1_234_567.0), "-1 234 567");
    }

    #[test]
    fn a_median_says_how_far_apart_its_runs_lie() {
        let mut row = Row::absent("p99", "ms", None, "");
        row.detail = json!({ "note": "a closed loop" });
        Spread::of([1.5, 1.25, 2.0]).put(&mut row.detail);
        assert_eq!(notes(&row), "a closed loop; median of 3, 1.2 to 2.0");
    }

    #[test]
    fn a_row_that_cannot_run_is_listed_with_its_reason() {
        let outcome = Outcome {
            experiment: "call-signalling",
            host: json!({}),
            rows: vec![Row::absent("VoLTE+IMS-AKA", "calls/s", Some(228.0), "needs IPsec")],
            broken: Vec::new(),
        };
        let options = Options { live: true, ..Options::of_this_executable(true).unwrap() };
        let json = outcome.json(&options, UNIX_EPOCH + std::time::Duration::from_secs(7));
        assert_eq!(
            (json["quick"].as_bool(), json["measured_at_s"].as_u64()),
            (Some(true), Some(7))
        );
        assert_eq!(json["options"], json!(["--quick", "--live"]));
        assert_eq!(json["rows"][0]["tandem"], Value::Null);
        assert_eq!(json["rows"][0]["detail"]["why"], "needs IPsec");
        assert!(outcome.table().contains("needs IPsec") && outcome.held());
    }
}
