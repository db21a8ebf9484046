//! `reflection-ipv4`: a table reflected to 100, 250, 500 and 1,000 clients; every client's routes
//! are verified.
//!
//! | phase | what |
//! |---|---|
//! | feed | one client announces the table; until every other one holds all of it: the rate |
//! | standing | the reflector's resident memory two seconds later |
//! | change | a newcomer gets the table while one route changes: until all others have the change |
//! | again | all of it with other attributes; then once more while one client reads nothing |
//! | withdrawal | until nobody holds anything |

use super::setup::{Setup, Who, detail_of, peer};
use anyhow::Context;
use bgp::family::Family;
use bgp_load::{Convergence, Course, Criterion, InternetShape, Recorded, Table};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, PublishedRow};
use serde_json::{Value, json};
use std::path::Path;

const NAME: &str = "reflection-ipv4";
const CLIENTS: [usize; 4] = [100, 250, 500, 1_000];
const QUICK_CLIENTS: [usize; 2] = [100, 250];
const QUICK_PREFIXES: usize = 50_000;
/// Synthetic prefixes for each one of the Internet-like table, and prefixes of a set.
const SYNTHETIC_FACTOR: usize = 8;
const SYNTHETIC_PER_SET: usize = 4_000;
/// Clients of the synthetic table.
const SYNTHETIC_CLIENTS: usize = 100;
/// Rows of the published table.
const SYNTHETIC: &str = "synthetic, 40 M prefixes x 100 clients";
const SYNTHETIC_RANGE: &str = "synthetic, range";
const SYNTHETIC_CONVERGED: &str = "synthetic, 40 M prefixes x 100 clients, converged";
const SYNTHETIC_MEMORY: &str = "synthetic, 40 M prefixes x 100 clients, memory";
const INTERNET: &str = "Internet table, 515 858 prefixes, 71 900 paths, 100..1000 clients";
const INTERNET_MEMORY: &str = "Internet table, 250 clients, memory";
const INTERNET_CONVERGED: &str = "Internet table, 1000 clients, converged";
const CORES: &str = "cores used, each";
/// Prefixes of the report's tables.
const SYNTHETIC_PREFIXES: usize = 40_000_000;
const INTERNET_PREFIXES: usize = 515_858;
/// Clients of the report's figure of memory.
const MEMORY_CLIENTS: usize = 250;

/// The table again takes at most so many times what it took first, or what is too short to compare.
const AGAIN_MAX: f64 = 2.0;
const AGAIN_MIN_S: f64 = 0.5;

/// What one reflector did with one table.
#[derive(Debug)]
struct Found {
    who: String,
    convergence: Convergence,
    standing_mb: f64,
    change_ms: f64,
    /// The table again, without and with a client that reads nothing.
    again_s: [f64; 2],
    detail: Value,
}

impl Found {
    fn peer(&self, value: f64) -> Peer {
        Peer { name: self.who.clone(), value }
    }
}

/// One table for so many clients.
#[derive(Debug, Clone, Copy)]
struct Trial<'a> {
    table: &'a Table,
    clients: usize,
    /// All phases, or the first two.
    is_whole: bool,
}

fn trial(who: Who, options: &Options, trial: Trial<'_>) -> anyhow::Result<Found> {
    let Trial { table, clients, is_whole } = trial;
    let mut stand = Setup::start(who, options, &[Family::Ipv4Unicast], clients + 2)?;
    stand.connect(0..clients + 1)?;
    let course = Course::new(table, clients, stand.plan.cluster);
    let feed = course.prepare(&mut stand.field);
    stand.begin();
    let convergence = course.feed(&mut stand.field, &feed).with_context(|| stand.log_end())?;
    let cpu = stand.cpu();
    let standing_mb = stand.standing_mb()?;
    let mut detail = detail_of(&convergence, cpu, standing_mb);
    let (mut change_ms, mut again_s) = (0.0, [0.0; 2]);
    if is_whole {
        let change = course.change(&mut stand.field).context("a route that changes")?;
        change_ms = change.seconds * 1e3;
        let meanwhile = change.is_meanwhile;
        detail["change"] = json!({ "ms": change_ms, "while_the_newcomer_had_not_all": meanwhile });
        again_s = course.stalled(&mut stand.field).context("a client that stalls")?;
        let [without, with] = again_s;
        detail["stalled"] = json!({ "seconds_without": without, "seconds_with": with });
        let gone = course.withdraw(&mut stand.field).context("the withdrawal")?;
        let rate = gone.rate().round();
        detail["withdrawal"] = json!({ "seconds": gone.seconds, "updates_per_s": rate });
    }
    Ok(Found { who: stand.name(), convergence, standing_mb, change_ms, again_s, detail })
}

/// All that is measured in a call.
struct Campaign<'a> {
    options: &'a Options,
    progress: Progress,
    broken: Vec<String>,
    bars: Vec<Criterion>,
    /// The rate to 1,000 clients shall not be below it.
    rate_to_100: Option<f64>,
}

impl Campaign<'_> {
    /// Tandem, and the peer that was asked for.
    fn both(&mut self, name: &str, of: Trial<'_>) -> anyhow::Result<[Result<Found, String>; 2]> {
        self.progress.say(&format!("{name}, {} clients", of.clients));
        let ours = trial(Who::Tandem, self.options, of).map_err(|error| format!("{error:#}"));
        if let Err(why) = &ours {
            self.broken.push(format!("{name}, {} clients: {why}", of.clients));
        }
        let theirs = match peer(self.options)? {
            Some(kind) => {
                trial(Who::Peer(kind), self.options, of).map_err(|error| format!("{error:#}"))
            }
            None => Err(String::new()),
        };
        for found in ours.iter().chain(&theirs) {
            let (rate, seconds) = (found.convergence.rate(), found.convergence.seconds);
            self.progress.say(&format!("  {}: {rate:.0} updates/s, {seconds:.2} s", found.who));
        }
        Ok([ours, theirs])
    }

    /// The bars of the full table, in a full run.
    fn judge(&mut self, clients: usize, found: &Found) {
        let rate = found.convergence.rate();
        let first = found.convergence.seconds.max(AGAIN_MIN_S);
        for (what, seconds) in [("again", found.again_s[0]), ("while one stalls", found.again_s[1])]
        {
            let what = format!("times the first table: {what}, to {clients}");
            self.bars.push(Criterion::at_most(&what, seconds / first, AGAIN_MAX));
        }
        match clients {
            100 => {
                self.rate_to_100 = Some(rate);
                self.bars.push(Criterion::at_least("updates/s to 100", rate, 25e6));
            }
            MEMORY_CLIENTS => {
                self.bars.push(Criterion::at_most("MB at 250 clients", found.standing_mb, 170.0));
            }
            1_000 => {
                let bound = self.rate_to_100.map_or(60e6, |rate| rate.max(60e6));
                self.bars.push(Criterion::at_least("updates/s to 1,000", rate, bound));
                let what = "ms until 1,000 clients had a change";
                self.bars.push(Criterion::at_most(what, found.change_ms, 20.0));
            }
            _ => {}
        }
    }
}

/// Runs it.
///
/// # Errors
/// When the peer that was asked for does not exist. A reflector that does not run is a row that
/// says so.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::router();
    let published = report.table(NAME).context("the published table is part of the program")?;
    let full = InternetShape::REPORT.prefixes;
    let usual = if options.quick { QUICK_PREFIXES } else { full };
    let recorded = options.reflection.mrt.as_deref().map(recorded).transpose()?;
    let asked = options.reflection.prefixes.or(recorded.as_ref().map(Table::len));
    let prefixes = asked.unwrap_or(usual);
    let clients = match &options.reflection.clients[..] {
        [] if options.quick => QUICK_CLIENTS.to_vec(),
        [] => CLIENTS.to_vec(),
        asked => asked.to_vec(),
    };
    let progress = Progress::new(NAME, 2);
    let (broken, bars) = (Vec::new(), Vec::new());
    let mut campaign = Campaign { options, progress, broken, bars, rate_to_100: None };
    let mut out = Vec::new();
    let is_wanted = |names: &[&str]| names.iter().filter(|name| options.wants(name)).count() > 0;
    if is_wanted(&[SYNTHETIC, SYNTHETIC_CONVERGED, SYNTHETIC_MEMORY, CORES]) {
        out.extend(synthetic(&mut campaign, prefixes, published)?);
    }
    campaign.progress.step();
    if options.wants(SYNTHETIC_RANGE) {
        let row = published.row(SYNTHETIC_RANGE)?;
        out.push(published.absent(row, "the range of the report's runs: see the first row"));
    }
    if is_wanted(&[INTERNET, INTERNET_MEMORY, INTERNET_CONVERGED]) {
        let table = match &recorded {
            Some(table) => table.clone(),
            None => InternetShape::scaled(prefixes).table(),
        };
        out.extend(internet(&mut campaign, &table, &clients, published)?);
    }
    out.retain(|row| options.wants(&row.scenario));
    let is_full = prefixes == full && !options.quick && recorded.is_none();
    if is_full {
        campaign.broken.extend(campaign.bars.iter().filter_map(Criterion::broken));
    }
    for row in &mut out {
        row.detail["priority"] = json!(priority.granted);
        row.detail["bars_judged"] = json!(is_full);
    }
    let broken = campaign.broken;
    Ok(Outcome { experiment: NAME, host: host::describe(), rows: out, broken })
}

/// The table of an MRT file.
fn recorded(file: &Path) -> anyhow::Result<Table> {
    let octets = std::fs::read(file).with_context(|| file.display().to_string())?;
    let Recorded { table, malformed, .. } = Recorded::read(&octets);
    anyhow::ensure!(!table.is_empty(), "{}: no IPv4 routes in it", file.display());
    anyhow::ensure!(malformed == 0, "{}: {malformed} malformed records", file.display());
    Ok(table)
}

/// The synthetic table: its rate, what it would take at the report's size, the reflector's core.
fn synthetic(
    campaign: &mut Campaign<'_>,
    prefixes: usize,
    published: &published::Table,
) -> anyhow::Result<Vec<Row>> {
    let mut out = Vec::new();
    let table = Table::synthetic(prefixes * SYNTHETIC_FACTOR, SYNTHETIC_PER_SET, 1);
    let of = Trial { table: &table, clients: SYNTHETIC_CLIENTS, is_whole: false };
    let [ours, theirs] = campaign.both("synthetic", of)?;
    let mut row = rate_row(published.row(SYNTHETIC)?, ours.as_ref(), theirs.as_ref());
    let (count, mut extrapolated) = (prefixes * SYNTHETIC_FACTOR, [None; 2]);
    if let Ok(found) = &ours {
        let parts = SYNTHETIC_PREFIXES as f64 / count as f64;
        let (seconds, memory_gb) =
            (found.convergence.seconds * parts, found.standing_mb * parts / 1e3);
        extrapolated = [Some(seconds), Some(memory_gb)];
        row.detail["prefixes"] = json!(count);
        row.detail["extrapolated_40m"] = json!({ "seconds": seconds, "memory_gb": memory_gb });
    }
    out.push(row);
    for (name, value) in [SYNTHETIC_CONVERGED, SYNTHETIC_MEMORY].iter().zip(extrapolated) {
        let row = published.row(name)?;
        out.push(match value {
            Some(value) if count >= SYNTHETIC_PREFIXES => {
                Row { tandem: Some(value), detail: json!({}), ..published.absent(row, "") }
            }
            Some(value) => published.absent(
                row,
                &format!("this run has {count} prefixes; {value:.1} if it went on like that"),
            ),
            None => published.absent(row, "the reflector did not run"),
        });
    }
    out.push(cores(published.row(CORES)?, &ours, &theirs));
    Ok(out)
}

fn internet(
    campaign: &mut Campaign<'_>,
    table: &Table,
    clients: &[usize],
    published: &published::Table,
) -> anyhow::Result<Vec<Row>> {
    let (mut all, mut last, mut memory) = (Vec::new(), None, None);
    for clients in clients.iter().copied() {
        let of = Trial { table, clients, is_whole: true };
        let [ours, theirs] = campaign.both("Internet table", of)?;
        if let Ok(found) = &ours {
            campaign.judge(clients, found);
        }
        let told = |found: &Result<Found, String>| match found {
            Ok(found) => found.detail.clone(),
            Err(why) => json!({ "why": why }),
        };
        all.push(json!({ "clients": clients, "tandem": told(&ours), "peer": told(&theirs) }));
        if clients == MEMORY_CLIENTS {
            let gigabytes = |found: &Result<Found, String>| {
                found.as_ref().ok().map(|found| (found.who.clone(), found.standing_mb / 1e3))
            };
            memory = Some([gigabytes(&ours), gigabytes(&theirs)]);
        }
        last = Some([ours, theirs]);
    }
    let Some([ours, theirs]) = last else { return Ok(Vec::new()) };
    let mut row = rate_row(published.row(INTERNET)?, ours.as_ref(), theirs.as_ref());
    let row_of_time = published.row(INTERNET_CONVERGED)?;
    let converged = match &ours {
        Ok(found) if found.convergence.clients == 1_000 && table.len() >= INTERNET_PREFIXES => {
            Row {
                peer: theirs.as_ref().ok().map(|it| it.peer(it.convergence.seconds)),
                tandem: Some(found.convergence.seconds),
                detail: json!({}),
                ..published.absent(row_of_time, "")
            }
        }
        Ok(_) => published.absent(row_of_time, "this run has fewer clients or prefixes"),
        Err(why) => published.absent(row_of_time, why),
    };
    row.detail["prefixes"] = json!(table.len());
    row.detail["paths"] = json!(table.sets.len());
    row.detail["by_clients"] = json!(all);
    row.detail["bars"] = json!(campaign.bars);
    let [ours, theirs] = memory.unwrap_or_default();
    let is_measured = ours.is_some();
    let memory = Row {
        scenario: INTERNET_MEMORY.into(),
        unit: "GB".into(),
        published: published.row(INTERNET_MEMORY)?.value,
        peer: theirs.map(|(name, value)| Peer { name, value }),
        tandem: ours.map(|(_, value)| value),
        detail: match is_measured {
            true => json!({ "note": format!("standing, at {} prefixes", table.len()) }),
            false => json!({ "why": format!("nothing ran with {MEMORY_CLIENTS} clients") }),
        },
    };
    Ok(vec![row, memory, converged])
}

/// What part of a core the reflector used while the table went out, as the report tells of each of
/// its own; here it has one.
fn cores(
    published: &PublishedRow,
    ours: &Result<Found, String>,
    theirs: &Result<Found, String>,
) -> Row {
    let share = |found: &Found| {
        let busy = found.detail["reflector_cpu_s"].as_f64().unwrap_or(f64::NAN);
        100.0 * busy / found.convergence.seconds.max(1e-3)
    };
    Row {
        scenario: published.scenario.clone(),
        unit: "%".into(),
        published: published.value,
        peer: theirs.as_ref().ok().map(|found| found.peer(share(found))),
        tandem: ours.as_ref().ok().map(share),
        detail: match ours {
            Ok(_) => json!({ "note": "of a core, until everybody had the synthetic table" }),
            Err(why) => json!({ "why": why }),
        },
    }
}

fn rate_row(
    published: &PublishedRow,
    ours: Result<&Found, &String>,
    theirs: Result<&Found, &String>,
) -> Row {
    let rate = |found: &Found| found.convergence.rate();
    let peer = theirs.ok().map(|found| Peer { name: found.who.clone(), value: rate(found) });
    let mut detail = match ours {
        Ok(found) => json!({ "tandem": found.detail, "note": format!(
            "{} clients in {:.2} s", found.convergence.clients, found.convergence.seconds) }),
        Err(why) => json!({ "why": why }),
    };
    match theirs {
        Ok(found) => detail["peer"] = found.detail.clone(),
        Err(why) if !why.is_empty() => detail["peer"] = json!({ "why": why }),
        Err(_) => {}
    }
    Row {
        scenario: published.scenario.clone(),
        unit: "route updates/s".into(),
        published: published.value,
        peer,
        tandem: ours.ok().map(rate),
        detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reflector_that_did_not_run_is_a_row_with_the_reason() {
        let why = "the site does not start".to_owned();
        let published = published::router();
        let published = published.table(NAME).unwrap().row(INTERNET).unwrap();
        let row = rate_row(published, Err(&why), Err(&String::new()));
        assert_eq!((row.tandem, row.peer), (None, None));
        assert_eq!(row.detail["why"], why);
        let convergence = Convergence { seconds: 2.0, updates: 50, ..Convergence::default() };
        let (standing_mb, change_ms, again_s) = (1.0, 1.0, [2.0; 2]);
        let who = "BIRD".to_owned();
        let found = Found { who, convergence, standing_mb, change_ms, again_s, detail: json!({}) };
        let row = rate_row(published, Ok(&found), Ok(&found));
        assert_eq!(row.tandem, Some(25.0));
        assert_eq!(row.peer, Some(Peer { name: "BIRD".into(), value: 25.0 }));
    }
}
