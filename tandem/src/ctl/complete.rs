//! What a shell completes: sites that run, functions of the site, peers of a function, metrics,
//! revisions, questions, scenes.
//!
//! Asked briefly, and of the site that would be asked: what does not answer completes nothing.

use super::target::quietly;
use crate::cli::{Ctl, CtlCommand};
use crate::functions::{ROWS, Row, forwarder_questions};
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter as _};
use client::complete::Name;
use client::{Client, Output, segment};
use question::Parameter;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Seconds that a shell waits for an answer at most.
const PATIENCE_S: u64 = 2;

/// Names that begin with what was typed.
pub fn known(name: Name, typed: &OsStr) -> Vec<CompletionCandidate> {
    match name {
        Name::Site => {
            let running = local::sites().into_iter().filter(|site| site.is_ours);
            let mut all = candidates(typed, running.map(|site| (site.name, "runs".to_owned())));
            all.extend(PathCompleter::file().complete(typed));
            all
        }
        Name::Function => candidates(typed, functions().into_iter()),
        Name::FunctionOrPeer => candidates(typed, functions().into_iter().chain(peers())),
        Name::Peer => candidates(typed, peers().into_iter()),
        Name::AwayPeer => {
            candidates(typed, peers().into_iter().filter(|(_, state)| state == "away"))
        }
        Name::Metric => candidates(typed, metrics().into_iter()),
        Name::Revision => candidates(typed, revisions().into_iter()),
        Name::Question => candidates(typed, asked().map(|it| (it.path, it.about))),
        Name::Parameter => candidates(typed, parameters().into_iter()),
        Name::Scene => {
            let scenes = demo::SCENES.iter();
            candidates(typed, scenes.map(|it| (it.name.to_owned(), it.line.to_owned())))
        }
        Name::Experiment => candidates(typed, lab_command::trials::named().into_iter()),
        Name::Family => words(typed, bgp::family::Family::ALL.iter().map(|family| family.name())),
        Name::TrailKind => words(typed, sas::trail::Kind::ALL.iter().map(|it| it.word())),
        Name::Outcome => words(typed, sas::trail::Outcome::ALL.iter().map(|it| it.word())),
    }
}

/// Functions of the kind that the command on the line is of, with their kinds.
fn functions() -> Vec<(String, String)> {
    let mut all = client().and_then(|client| client.functions().ok()).unwrap_or_default();
    if let Some(meant) = kind_meant() {
        all.retain(|(_, kind)| kind == meant);
    }
    all
}

/// The kind of functions that the command on the line is of, if it is of one.
fn kind_meant() -> Option<&'static str> {
    let line: Vec<String> = std::env::args().collect();
    let is_meant = |row: &&Row| (row.commands)().iter().any(|word| line.contains(word));
    ROWS.iter().find(is_meant).map(|row| row.key)
}

/// Names of metrics.
fn metrics() -> BTreeMap<String, String> {
    let all = client().and_then(|client| client.get("/api/v1/counters").ok()).unwrap_or_default();
    let rows = all.as_array().into_iter().flatten();
    rows.filter_map(|row| Some((row["name"].as_str()?.to_owned(), String::new()))).collect()
}

/// Kept revisions, and what became of each.
fn revisions() -> Vec<(String, String)> {
    let all = client().and_then(|client| client.get("/api/v1/config/history").ok());
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let row = |row: &Value| {
        let said = [word(row, "state"), word(row, "comment")];
        let said = said.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(": ");
        Some((row["revision"].as_u64()?.to_string(), said))
    };
    all.unwrap_or_default().as_array().into_iter().flatten().filter_map(row).collect()
}

/// A question to a forwarder, and the first line of what it is for.
struct Asked {
    path: String,
    about: String,
    parameters: &'static [Parameter],
}

/// The questions that a forwarder is asked.
fn asked() -> impl Iterator<Item = Asked> {
    forwarder_questions().map(|it| Asked {
        path: it.path.trim_start_matches("plane/").to_owned(),
        about: it.about.trim().lines().next().unwrap_or_default().to_owned(),
        parameters: it.parameters,
    })
}

/// `name=` for each parameter of the question that stands on the line.
fn parameters() -> Vec<(String, String)> {
    let line: Vec<String> = std::env::args().collect();
    let of = asked().find(|it| line.contains(&it.path));
    let parameters = of.map(|it| it.parameters).unwrap_or_default();
    parameters.iter().map(|it| (format!("{}=", it.name), it.about.to_owned())).collect()
}

/// Peers with their states.
fn peers() -> Vec<(String, String)> {
    let Some(client) = client() else { return Vec::new() };
    let all = functions();
    let line: Vec<String> = std::env::args().collect();
    let is_meant = |name: &String| line.contains(name);
    let has_one = all.iter().any(|(name, _)| is_meant(name));
    let mut found = Vec::new();
    for (name, kind) in all.iter().filter(|(name, _)| !has_one || is_meant(name)) {
        let listed = ROWS.iter().find(|row| row.key == kind).and_then(|row| row.peers);
        let Some((about, key)) = listed else { continue };
        let path = format!("/api/v1/functions/{}/{about}", segment(name));
        let rows = client.find(&path).ok().flatten().unwrap_or_default();
        let row = |row: &Value| {
            let state = row["state"].as_str().unwrap_or_default().to_owned();
            Some((row[key].as_str()?.to_owned(), state))
        };
        found.extend(rows.as_array().into_iter().flatten().filter_map(row));
    }
    found
}

fn words<'w>(typed: &OsStr, all: impl Iterator<Item = &'w str>) -> Vec<CompletionCandidate> {
    candidates(typed, all.map(|word| (word.to_owned(), String::new())))
}

fn candidates(
    typed: &OsStr,
    all: impl Iterator<Item = (String, String)>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    // A name with control characters would write into the terminal.
    let fits = |name: &str| name.starts_with(&*typed) && show::escaped(name) == name;
    let all = all.filter(|(name, _)| fits(name));
    all.map(|(name, help)| {
        let help = show::escaped(&help);
        CompletionCandidate::new(name).help((!help.is_empty()).then(|| help.into()))
    })
    .collect()
}

/// The site that the line so far and the environment name.
fn client() -> Option<Client> {
    let line: Vec<String> = std::env::args().collect();
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let option = |name: &str| {
        let with = format!("{name}=");
        let place = line.iter().position(|word| word == name).map(|at| at + 1);
        let next = place.and_then(|at| line.get(at)).cloned();
        next.or_else(|| line.iter().find_map(|word| word.strip_prefix(&with)).map(str::to_owned))
    };
    let ctl = Ctl {
        url: option("--url").or_else(|| variable("TANDEM_URL")),
        token: option("--token").or_else(|| variable("TANDEM_TOKEN")),
        site: option("--site").or_else(|| variable("TANDEM_SITE")).map(PathBuf::from),
        output: Output::Json,
        timeout: PATIENCE_S,
        command: CtlCommand::Site,
    };
    Some(Client::of(quietly(&ctl)?, PATIENCE_S))
}
