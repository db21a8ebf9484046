//! Files of rules for what peers send: read, compiled, doubted; and tried on recorded messages.

use crate::site_text;
use client::{Client, Exit, Output, output, query, segment};
use config::Issue;
use pcap::Payload;
use screening::config::RuleFile;
use screening_stack::{Compiled, Recorded, RuleSet, Trial};
use serde_json::{Value, json};
use sgc::config::Sgc;
use show::sgc as listings;
use std::path::{Path, PathBuf};

use super::{Kind as _, files};

/// Files of recorded messages are read in pieces of so many trails.
const TRAILS_MAX: usize = 1_000;

/// The rules of a set and of its file, compiled.
fn compiled(section: &Sgc, n: usize, directory: &Path) -> Result<Compiled, Issue> {
    let set = &section.screening[n];
    let at = format!("screening[{n}]");
    let file = set.file.as_ref().map(|name| read(directory, name));
    let file =
        file.transpose().map_err(|(what, hint)| Issue::new(format!("{at}.file"), what, hint))?;
    let own = set.rule.len();
    set.compile(&|text| section.point_code_format.read_range(text), file).map_err(|faults| {
        let first = faults.into_iter().next();
        let (place, what, hint) =
            first.map_or_else(Default::default, |it| (it.at, it.what, it.hint));
        match placed(&place, own) {
            // What stands in the section is refused there.
            Some(place) => Issue::new(format!("{at}.{place}"), what, hint),
            None => {
                Issue::new(format!("{at}.file"), format!("{}: {what}", of_file(&place, own)), hint)
            }
        }
    })
}

/// The place of a fault, where it is in the section.
fn placed(place: &str, own: usize) -> Option<&str> {
    match number(place) {
        Some(n) if n >= own => None,
        Some(_) => Some(place),
        None => place.starts_with("own").then_some(place),
    }
}

/// The place of a fault in the file, behind the rules of the section.
fn of_file(place: &str, own: usize) -> String {
    match (number(place), place.split_once(']')) {
        (Some(n), Some((_, rest))) => format!("rule[{}]{rest}", n.saturating_sub(own)),
        _ => place.to_owned(),
    }
}

fn number(place: &str) -> Option<usize> {
    place.strip_prefix("rule[")?.split_once(']')?.0.parse().ok()
}

fn read(directory: &Path, name: &str) -> Result<RuleFile, (String, String)> {
    let (shown, text) = files::text(directory, name, files::OCTETS_MAX, "name a file of rules")?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(0, |at| text[..at.start.min(text.len())].lines().count());
        (format!("{shown}, line {line}: {}", error.message()), String::new())
    })
}

/// Reads and compiles the rules of all sets.
pub(super) fn load(section: &mut Sgc, directory: &Path) -> Result<(), Issue> {
    for n in 0..section.screening.len() {
        section.screening[n].compiled = compiled(section, n, directory)?;
    }
    Ok(())
}

/// What the author of the rules may want to know; what is wrong with them is said elsewhere.
pub(super) fn doubts(section: &Sgc, directory: &Path, found: &mut Vec<Issue>) {
    for (n, set) in section.screening.iter().enumerate() {
        let Ok(compiled) = compiled(section, n, directory) else { continue };
        RuleSet::doubts(set, &format!("screening[{n}]"), &compiled, found);
    }
}

/// What is tried, on what.
#[derive(Debug, clap::Args)]
pub struct Try {
    /// The site file with the rules, which need not be that of a running site.
    pub candidate: PathBuf,
    /// Name of the function; absent: the only signalling gateway of the file.
    #[arg(long)]
    pub function: Option<String>,
    /// Files of recorded messages (pcapng, pcap); absent: the trails of the service assurance.
    #[arg(long, value_name = "FILE")]
    pub read: Vec<PathBuf>,
    /// Of the service assurance only the trails that this finds.
    #[arg(long, conflicts_with = "read")]
    pub query: Option<String>,
    /// Trails at most.
    #[arg(long, default_value_t = TRAILS_MAX, conflicts_with = "read")]
    pub limit: usize,
}

/// Tries the rules of a site file on recorded messages, and prints what they would have refused.
pub(super) fn tried(client: &Client, form: Output, wanted: &Try) -> Result<(), Exit> {
    let section = section(wanted)?;
    let peers = section.peer.iter().map(|it| (it.name.clone(), it.addresses.clone()));
    let own = section.listening().into_iter().map(|it| it.2.ip());
    let codes = |text: &str| section.point_code_format.read_range(text);
    let (peers, own) = (peers.collect(), own.collect());
    let mut trial = Trial::new(&section.screening, &codes, peers, own, section.network());
    let mut payloads = Vec::new();
    for name in &wanted.read {
        let octets = std::fs::read(name)
            .map_err(|error| Exit::Usage(format!("{}: {error}", name.display())))?;
        let read = pcap::signalling(&octets)
            .map_err(|error| Exit::Failed(format!("{}: {error}", name.display())))?;
        payloads.extend(read);
    }
    if wanted.read.is_empty() {
        recorded(client, wanted, &mut payloads)?;
    }
    // Where a subscriber was last follows from all files and trails together.
    payloads.sort_by_key(|it| it.at_us);
    payloads.iter().for_each(|it| take(&mut trial, it));
    let rows: Vec<Value> = trial
        .refused
        .iter()
        .map(|it| {
            json!({
                "at_us": it.at_us, "peer": it.peer, "by": it.by, "action": it.action,
                "operation": it.operation, "calling": it.calling, "called": it.called,
            })
        })
        .collect();
    let answer = json!({
        "judged": trial.judged, "segmented": trial.segmented,
        "passed_over": trial.passed_over, "refused": rows,
    });
    output::rows(form, &answer, &rows, &listings::TRIED)?;
    let count =
        config::counted(rows.len(), "message would be refused", "messages would be refused");
    eprintln!("{count}, of {} that were judged", trial.judged);
    if trial.segmented > 0 {
        let count = config::counted(trial.segmented, "message", "messages");
        eprintln!("{count} came in segments: of those that this node relays, `segments` decides");
    }
    Ok(())
}

fn section(wanted: &Try) -> Result<Sgc, Exit> {
    let (text, site) = site_text::read(&wanted.candidate)?;
    let directory = site.directory(&wanted.candidate);
    let named = |it: &&Sgc| wanted.function.as_ref().is_none_or(|name| it.name == *name);
    let mut found = site.sgc.iter().filter(named);
    let (Some(section), None) = (found.next(), found.next()) else {
        let what = "the file has no such signalling gateway, or several: --function";
        return Err(Exit::Usage(what.into()));
    };
    section.load(&directory).map_err(|issue| {
        let shown =
            site_text::render(&wanted.candidate, &text, &config::placed(&text, vec![issue]));
        Exit::Invalid(shown)
    })
}

/// The trails of the service assurance, the oldest first.
fn recorded(client: &Client, wanted: &Try, payloads: &mut Vec<Payload>) -> Result<(), Exit> {
    let query = query(&[("q", wanted.query.clone()), ("limit", Some(wanted.limit.to_string()))]);
    let Some(found) = client.find(&format!("/api/v1/sas/trails{query}"))? else {
        let what = "no service assurance server records here: name files with --read";
        return Err(Exit::Failed(what.into()));
    };
    let trails = found["trails"].as_array().map(Vec::as_slice).unwrap_or_default();
    for id in trails.iter().rev().filter_map(|trail: &Value| trail["id"].as_str()) {
        let octets = client.octets(&format!("/api/v1/sas/trails/{}/pcapng", segment(id)))?;
        let read = pcap::signalling(&octets);
        payloads.extend(read.map_err(|error| Exit::Failed(error.to_string()))?);
    }
    Ok(())
}

fn take(trial: &mut Trial, payload: &Payload) {
    trial.take(&Recorded {
        at_us: payload.at_us,
        source: payload.source.ip(),
        destination: payload.destination.ip(),
        octets: &payload.bytes,
    });
}
