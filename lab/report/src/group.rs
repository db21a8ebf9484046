//! Every table of a published report, one after the other, and one page.
//!
//! Each experiment runs as a process of its own, so that one that fails takes nothing with it; its
//! JSON object is kept beside the page. `--scenario NAME` reruns the experiment of that name only
//! and shows the others as they were last measured.

use crate::contract::{Options, Outcome, Row};
use crate::experiment::Experiment;
use crate::host;
use crate::page::{self, Chapter};
use crate::published::{PublishedRow, Report, Table};
use anyhow::Context;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Where the page goes unless `--output` names another directory.
const DIRECTORY: &str = "target/lab";
/// Longest time of one experiment.
const QUICK_MAX: Duration = Duration::from_secs(300);
/// The same when it is not quick.
const FULL_MAX: Duration = Duration::from_secs(3_600);
const POLL: Duration = Duration::from_millis(100);
/// Octets of one experiment's answer.
const ANSWER_MAX: u64 = 16 << 20;

/// A table of the report and the experiment of the same name that reruns it.
pub struct Part {
    /// The experiment's name, which is the table's.
    pub experiment: &'static str,
    /// The heading of its chapter.
    pub title: &'static str,
    /// A sentence below the heading.
    pub text: &'static str,
    /// Why it cannot run while no such experiment is listed.
    pub absent: &'static str,
}

const NOT_BUILT: &str = "the experiment is not part of this build";
const NOT_GIVEN: &str = "the experiment gave no such row";

/// The experiment of that name, its heading and a sentence below it.
#[must_use]
pub const fn part(experiment: &'static str, title: &'static str, text: &'static str) -> Part {
    Part { experiment, title, text, absent: NOT_BUILT }
}

/// A report.
pub struct Group {
    /// The experiment that stands for all of it: names its page and its data.
    pub name: &'static str,
    /// The heading of its page.
    pub title: &'static str,
    /// What this build can run.
    pub experiments: &'static [Experiment],
    /// A line for each table.
    pub parts: &'static [Part],
    /// What it prints.
    pub published: fn() -> Report,
}

impl Group {
    /// The published tables that have no place in it.
    #[must_use]
    pub fn without_place(&self) -> Vec<String> {
        let has = |table: &Table| self.parts.iter().any(|part| part.experiment == table.id);
        let tables = (self.published)().tables.into_iter();
        tables.filter(|table| !has(table) && !table.is_settings()).map(|table| table.id).collect()
    }
}

/// Runs all that exist and writes the page.
///
/// # Errors
/// When the page cannot be written. An experiment that fails is a row that says so.
pub fn run(group: &Group, options: &Options) -> anyhow::Result<Outcome> {
    let directory = options.output.clone().unwrap_or_else(|| PathBuf::from(DIRECTORY));
    fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    let report = (group.published)();
    let mut outcome = Outcome {
        experiment: group.name,
        host: host::describe(),
        rows: Vec::new(),
        broken: Vec::new(),
    };
    let file_of = |end: &str| directory.join(format!("{}.{end}", group.name));
    let mut chapters = Vec::new();
    for part in group.parts {
        let file = directory.join(format!("{}.json", part.experiment));
        let listed = group.experiments.iter().any(|experiment| experiment.name == part.experiment);
        let wanted = listed && options.wants(part.experiment);
        if wanted {
            eprintln!("{}", part.experiment);
            let answer = measure(part.experiment, options).unwrap_or_else(|error| {
                let broken = [format!("{error:#}")];
                json!({ "experiment": part.experiment, "quick": options.quick, "rows": [],
                    "broken": broken })
            });
            fs::write(&file, format!("{answer:#}\n"))?;
            take(&mut outcome, part, Some(&answer), report.table(part.experiment));
        } else if !listed && options.wants(part.experiment) {
            take(&mut outcome, part, None, report.table(part.experiment));
        }
        chapters.push(chapter(part, listed, &file, report.table(part.experiment)));
        // After each one: a run that is interrupted leaves what it has.
        let page = page::write(group.title, &report.source, &outcome.host, &chapters);
        fs::write(file_of("html"), page)?;
    }
    fs::write(file_of("json"), format!("{:#}\n", outcome.json(options, SystemTime::now())))?;
    eprintln!("{}", file_of("html").display());
    Ok(outcome)
}

/// Runs one experiment as a process and reads the object that it prints.
fn measure(name: &str, options: &Options) -> anyhow::Result<Value> {
    // It ends with this process; a group of its own it leaves for a session (`Priority`).
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(&options.tandem);
    command.args(["lab", "run", name, "--json"]).stdout(Stdio::piped()).stdin(Stdio::null());
    if options.quick {
        command.arg("--quick");
    }
    let mut child = command.spawn().with_context(|| options.tandem.display().to_string())?;
    let pipe = child.stdout.take().context("no standard output")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        pipe.take(ANSWER_MAX).read_to_string(&mut text).map(|_| text)
    });
    let until = Instant::now() + if options.quick { QUICK_MAX } else { FULL_MAX };
    loop {
        if child.try_wait()?.is_some() {
            break;
        }
        if Instant::now() > until {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("it did not end in time");
        }
        std::thread::sleep(POLL);
    }
    let text = reader.join().map_err(|_| anyhow::anyhow!("its answer was not read"))??;
    serde_json::from_str(&text).context("it printed no result; its log says why")
}

/// The rows of one experiment become rows of the whole, with its name in their detail. A published
/// row that an experiment of this build did not give is a violation.
fn take(outcome: &mut Outcome, part: &Part, answer: Option<&Value>, table: Option<&Table>) {
    for mut row in rows(part, answer, table, part.absent) {
        if !row.detail.is_object() {
            row.detail = json!({});
        }
        row.detail["experiment"] = json!(part.experiment);
        if row.detail["why"] == NOT_GIVEN {
            outcome.broken.push(format!("{}: no row `{}`", part.experiment, row.scenario));
        }
        outcome.rows.push(row);
    }
    let broken = answer.into_iter().flat_map(broken);
    outcome.broken.extend(broken.map(|what| format!("{}: {what}", part.experiment)));
}

fn broken(answer: &Value) -> impl Iterator<Item = String> {
    let list = answer["broken"].as_array().cloned().unwrap_or_default();
    list.into_iter().filter_map(|what| what.as_str().map(str::to_owned))
}

/// What an experiment measured; published rows that it did not give are listed with the reason.
fn rows(part: &Part, answer: Option<&Value>, table: Option<&Table>, why: &str) -> Vec<Row> {
    let given = answer.and_then(|answer| answer["rows"].as_array().cloned()).unwrap_or_default();
    let mut rows: Vec<Row> =
        given.into_iter().filter_map(|row| serde_json::from_value(row).ok()).collect();
    let why = match answer {
        Some(_) if part.absent == why => NOT_GIVEN,
        _ => why,
    };
    if let Some(table) = table {
        let given = |row: &PublishedRow| rows.iter().any(|given| given.scenario == row.scenario);
        let missing: Vec<_> = table.rows.iter().filter(|row| !given(row)).collect();
        rows.extend(missing.into_iter().map(|row| table.absent(row, why)));
    }
    rows
}

fn chapter(part: &Part, listed: bool, file: &Path, table: Option<&Table>) -> Chapter {
    let kept = fs::read_to_string(file).ok().filter(|_| listed);
    let answer: Option<Value> = kept.and_then(|text| serde_json::from_str(&text).ok());
    let why = if listed { "not measured yet" } else { part.absent };
    Chapter {
        name: part.experiment,
        title: part.title,
        text: part.text,
        rows: rows(part, answer.as_ref(), table, if answer.is_some() { part.absent } else { why }),
        broken: answer.iter().flat_map(broken).collect(),
        measured_at_s: answer.as_ref().and_then(|answer| answer["measured_at_s"].as_u64()),
        quick: answer.is_some_and(|answer| answer["quick"] == true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;

    const CALLS: Part = part("call-signalling", "", "");
    const HEADERS: Part = part("header-manipulation", "", "");

    #[test]
    fn a_published_row_that_an_experiment_did_not_give_is_listed_with_the_reason() {
        let report = published::sbc();
        let table = report.table("call-signalling");
        let given = json!({ "rows": [{ "scenario": "SIP", "unit": "calls/s", "published": 700.0,
            "peer": null, "tandem": 20_000.0, "detail": {} }] });
        let measured = rows(&CALLS, Some(&given), table, NOT_BUILT);
        let tandem: Vec<_> = measured.iter().map(|row| row.tandem).collect();
        assert_eq!(tandem, [Some(20_000.0), None, None, None]);
        assert_eq!(measured[1].detail["why"], NOT_GIVEN);
        let absent = rows(&CALLS, None, table, NOT_BUILT);
        assert!(absent.iter().all(|row| row.detail["why"] == NOT_BUILT) && absent.len() == 4);
    }

    #[test]
    fn rows_of_the_whole_say_which_experiment_they_come_from() {
        let mut outcome =
            Outcome { experiment: "sbc", host: json!({}), rows: Vec::new(), broken: Vec::new() };
        let answer = json!({ "rows": [], "broken": ["a call failed"] });
        take(&mut outcome, &HEADERS, Some(&answer), published::sbc().table("header-manipulation"));
        assert_eq!(outcome.rows[0].detail["experiment"], "header-manipulation");
        let broken = [
            "header-manipulation: no row `baseline`",
            "header-manipulation: no row `with rules`",
            "header-manipulation: a call failed",
        ];
        assert_eq!(outcome.broken, broken);
    }
}
