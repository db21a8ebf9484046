//! `service-assurance`: every call of a full-rate run is found in the SAS by its Call-ID.
//!
//! | what | how |
//! |---|---|
//! | site | SSC and SAS in one process, as `tandem run` starts it; the SSC on a core of its own |
//! | load | open-loop calls over UDP; the generator and the SAS share the other core |
//! | criterion | no failed call, nothing shed on the way to the SAS or before its disk |
//! | count | every call's Call-ID among what the API lists; 200 more asked for one by one |

use super::topology::{self, Load, Shape, Topology};
use crate::sipp::look_up;
use peers::Priority;
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::published;
use report::site::Site;
use runtime::Transport;
use serde_json::{Value, json};
use sip_load::{Found, Purpose, Search};
use sip_load::{Ladder, Report, Trial};
use std::time::{Duration, Instant};

const NAME: &str = "service-assurance";
/// What still runs this long after the last call was due to end has failed.
const DRAIN: Duration = Duration::from_millis(1_500);
const HOLD: Duration = Duration::from_millis(100);
/// The share of calls that took longer is 1 %: a queue that grows is no rate that holds.
const SETUP_P99_MAX_US: u64 = 100_000;
/// Longest time until the SAS has taken the last message.
const SETTLE_MAX: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(100);
/// Calls that are asked for one by one, beside the reading of all.
const ASKED_MAX: usize = 200;
/// Messages of a call that are captured: both legs, but a 100 belongs to one leg only.
const LEGS: u64 = 2;

struct Plan {
    first_rate: f64,
    factor: f64,
    precision: f64,
    trial: Duration,
    confirm: Duration,
    budget: Option<Duration>,
}

impl Plan {
    const QUICK: Self = Self {
        first_rate: 3_000.0,
        factor: 1.6,
        precision: 1.3,
        trial: Duration::from_millis(1_000),
        confirm: Duration::from_secs(3),
        budget: Some(Duration::from_secs(20)),
    };
    const FULL: Self = Self {
        first_rate: 4_000.0,
        factor: 1.3,
        precision: 1.05,
        trial: Duration::from_secs(4),
        confirm: Duration::from_secs(12),
        budget: None,
    };
}

/// One run at one rate.
#[derive(Debug, Clone)]
struct Traced {
    report: Report,
    /// Messages that the SAS must have and has not taken.
    untaken: u64,
    shed: u64,
    /// Calls that were looked up, those not found, some of these.
    looked_up: Option<(u64, u64, Vec<String>)>,
    stored: Value,
    look_up_s: f64,
}

impl Traced {
    fn held(&self) -> bool {
        let report = &self.report;
        report.started > 0
            && report.completed == report.started
            && report.failed() == 0
            && report.setup.p99_us <= SETUP_P99_MAX_US
            && self.shed == 0
            && self.untaken == 0
            && self.looked_up.as_ref().is_none_or(|(_, missing, _)| *missing == 0)
    }

    fn json(&self) -> Value {
        let (calls, missing, examples) = self.looked_up.clone().unwrap_or_default();
        let messages = self.stored["messages"].as_u64().unwrap_or_default();
        let bytes = self.stored["bytes"].as_u64().unwrap_or_default();
        json!({
            "calls": calls,
            "missing": missing,
            "examples": examples,
            "messages_stored": messages,
            "events_stored": self.stored["events"],
            "bytes_per_message": bytes as f64 / messages.max(1) as f64,
            "disk_mb": bytes as f64 / 1e6,
            "shed": self.shed,
            "failed": self.report.failures,
            "setup_p99_us": self.report.setup.p99_us,
            "look_up_s": self.look_up_s,
        })
    }
}

/// A fresh site with the load that it gets.
struct Stage {
    load: Load,
    site: Site,
    /// SIP messages that the SAS must have by now.
    expected: u64,
    _ground: Topology,
}

impl Stage {
    fn start(options: &Options) -> anyhow::Result<Self> {
        let topology = Topology::new()?;
        let load = Load::start_without_sink(&topology, Ladder::built_in("SIP")?, Transport::Udp)?;
        let spec = Site::spec(&options.tandem, topology.directory());
        let site = Site::start(&spec, &site(&topology), topology.api)?;
        Ok(Self { load, site, expected: 0, _ground: topology })
    }

    fn run(&mut self, rate: f64, purpose: Purpose, plan: &Plan) -> anyhow::Result<Traced> {
        let confirm = purpose == Purpose::Confirm;
        let length = if confirm { plan.confirm } else { plan.trial };
        let trial = Trial { rate, length, hold: HOLD, ..Trial::default() };
        let report = self.load.run(trial, DRAIN, 0)?;
        let per_call = LEGS * self.load.ladder().messages() as u64 - 1;
        self.expected += report.completed * per_call;
        let taken = self.settle()?;
        let mut traced = Traced {
            untaken: self.expected.saturating_sub(taken),
            shed: self.shed()?,
            report,
            looked_up: None,
            stored: Value::Null,
            look_up_s: 0.0,
        };
        if confirm && traced.held() {
            let begun = Instant::now();
            let ids = self.load.call_ids()?;
            let (found, mut examples) = look_up(&self.site, &ids)?;
            let unfound = self.ask_for(&ids)?;
            let calls = ids.len() as u64;
            let missing = (calls - found).max(unfound.len() as u64);
            examples.extend(unfound);
            traced.looked_up = Some((calls, missing, examples));
            traced.look_up_s = begun.elapsed().as_secs_f64();
            traced.stored = self.site.get("sas/status")?;
        }
        Ok(traced)
    }

    /// Asks for single calls by their Call-ID, evenly over all; those that were not found.
    fn ask_for(&self, ids: &[String]) -> anyhow::Result<Vec<String>> {
        let mut unfound = Vec::new();
        for id in ids.iter().step_by(ids.len().div_ceil(ASKED_MAX).max(1)) {
            if self.site.trail(id)?.is_none() {
                unfound.push(id.clone());
            }
        }
        Ok(unfound)
    }

    /// Waits until the SAS has taken what it must; how many SIP messages it has.
    fn settle(&self) -> anyhow::Result<u64> {
        let until = Instant::now() + SETTLE_MAX;
        loop {
            let taken = self.site.counter("sas_messages_total")?;
            if taken >= self.expected || Instant::now() > until {
                return Ok(taken);
            }
            std::thread::sleep(POLL);
        }
    }

    fn shed(&self) -> anyhow::Result<u64> {
        let names = ["ssc_capture_shed_total", "sas_shed_messages_total"];
        names.iter().map(|name| self.site.counter(name)).sum()
    }
}

/// Runs it.
///
/// # Errors
/// When the site does not start.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::sbc();
    let table = report.table(NAME).expect("the published table is part of the program and tested");
    let plan = if options.quick { Plan::QUICK } else { Plan::FULL };
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    for row in table.rows.iter().filter(|row| options.wants(&row.scenario)) {
        let progress = Progress::new(NAME, 1);
        let found = search(&plan, options, &progress)?;
        let best = found.best.as_ref();
        match best {
            None => outcome.broken.push("at no rate was every call traced".into()),
            Some((_, traced)) if !traced.held() => outcome.broken.push("calls are missing".into()),
            Some(_) => {}
        }
        let mut detail = best.map_or_else(|| json!({}), |(_, traced)| traced.json());
        detail["trials"] = json!(found.trials);
        detail["first_failure"] = json!(found.first_failure.as_ref().map(|(_, f)| f.json()));
        detail["priority"] = json!(priority.granted);
        outcome.rows.push(Row {
            scenario: row.scenario.clone(),
            unit: table.unit.clone(),
            published: row.value,
            peer: None,
            tandem: best.map(|(rate, _)| *rate),
            detail,
        });
    }
    Ok(outcome)
}

/// The highest rate at which every call is traced; a fresh site after each failure.
fn search(plan: &Plan, options: &Options, progress: &Progress) -> anyhow::Result<Found<Traced>> {
    let search = Search {
        start: plan.first_rate,
        factor: plan.factor,
        precision: plan.precision,
        step_back: 0.85,
        budget: plan.budget,
    };
    let mut stage: Option<Stage> = None;
    search.run(|rate, purpose| {
        if stage.is_none() || purpose == Purpose::Confirm {
            stage = None; // the addresses are free before the next one takes its own
            stage = Some(Stage::start(options)?);
        }
        let Some(present) = stage.as_mut() else { anyhow::bail!("no site") };
        let traced = present.run(rate, purpose, plan)?;
        let held = traced.held();
        progress.say(&sentence(rate, &traced));
        if !held {
            stage = None;
        }
        Ok((held, traced))
    })
}

fn sentence(rate: f64, traced: &Traced) -> String {
    let verdict = if traced.held() { "holds" } else { "fails" };
    let report = &traced.report;
    let looked_up = traced.looked_up.as_ref();
    let looked_up = looked_up.map(|(calls, missing, _)| {
        format!("; {calls} looked up in {:.1} s, {missing} missing", traced.look_up_s)
    });
    format!(
        "{rate:.0} calls/s {verdict}: {} failed, {} shed, {} not taken, p99 {:.1} ms{}",
        report.failed(),
        traced.shed,
        traced.untaken,
        report.setup.p99_us as f64 / 1e3,
        looked_up.unwrap_or_default(),
    )
}

fn site(topology: &Topology) -> String {
    let (_, other) = Topology::cores();
    let capture = format!("capture = \"tcp:{}\"", topology.capture);
    let sas = format!("[sas]\nlisten = [\"tcp:{}\"]\ncores = [{other}]", topology.capture);
    let limits = "capture_octets_max = 67108864";
    let shape = Shape { ssc: &capture, limits, ..Shape::default() };
    topology::site(topology, &shape).with(sas).text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(missing: u64) -> Traced {
        let report = Report { started: 10, completed: 10, ..Report::default() };
        let stored = json!({"messages": 130, "events": 20, "bytes": 13_000});
        let looked_up = Some((10, missing, Vec::new()));
        Traced { report, untaken: 0, shed: 0, looked_up, stored, look_up_s: 0.1 }
    }

    #[test]
    fn one_call_that_is_not_found_breaks_the_rate() {
        assert!(traced(0).held() && !traced(1).held());
        let shed = Traced { shed: 1, ..traced(0) };
        let untaken = Traced { untaken: 1, ..traced(0) };
        assert!(!shed.held() && !untaken.held());
    }

    #[test]
    fn the_row_says_what_a_stored_message_costs() {
        let detail = traced(0).json();
        assert_eq!(detail["bytes_per_message"], 100.0);
        assert_eq!((&detail["calls"], &detail["missing"]), (&json!(10), &json!(0)));
    }
}
