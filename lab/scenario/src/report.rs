//! What a run found: plays by how they ended, and times of the measurement.

use serde::Serialize;
use sip_load::{Times, Timing};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Failures told in words.
const EXAMPLES_MAX: usize = 8;

/// Why a play failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// What was waited for did not come in time.
    Timeout,
    /// A message, or a component, that the scenario does not have here.
    Unexpected,
    /// Something else stands where something was to stand.
    Check,
    /// The peer's user aborted.
    Aborted,
    /// TCAP aborted.
    ProviderAborted,
    /// A message came back.
    Returned,
    /// A component was rejected here.
    Rejected,
    /// The endpoint did not carry out what was asked for.
    Refused,
    /// A value that is sent is not there, or none of its type.
    Value,
    /// All steps are done and a dialogue stands.
    Open,
    /// The connection of a role is gone.
    Lost,
    /// There is no room for another play.
    Full,
    /// The run ended first.
    Unfinished,
}

impl Cause {
    /// Its name, as `--json` has it.
    #[must_use]
    pub fn name(self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        value.as_str().unwrap_or_default().to_owned()
    }
}

/// Where in the run the time stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The rate rises.
    Ramp,
    /// What is due is measured.
    Measurement,
    /// None begins, those under way end.
    Drain,
    /// All is over.
    Over,
}

/// What became of one scenario.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioReport {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Whether it answers.
    pub answers: bool,
    /// Plays that were begun, or answered.
    pub begun: u64,
    /// Those that did all their steps.
    pub completed: u64,
    /// Those that run.
    pub running: u64,
    /// Those that failed, by cause.
    pub failures: BTreeMap<Cause, u64>,
    /// Plays that were due in the measurement.
    pub measured: u64,
    /// From when a play was due to the first answer.
    pub response_due: Times,
    /// From when its first message was sent to the first answer.
    pub response_sent: Times,
    /// From when a play was due to its end, pauses and all.
    pub whole: Times,
    /// What steps measure by a name.
    pub times: BTreeMap<String, Times>,
}

/// What a run found so far.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The file's name for it.
    pub name: String,
    /// Where the time stands.
    pub phase: Phase,
    /// Plays a second that were asked for.
    pub rate: f64,
    /// Seconds since the begin.
    pub seconds: f64,
    /// By scenario.
    pub scenarios: Vec<ScenarioReport>,
    /// Messages that roles here were told.
    pub messages_in: u64,
    /// Messages that they sent.
    pub messages_out: u64,
    /// Begins that no scenario fits; they were refused.
    pub unanswered: u64,
    /// Messages of dialogues that were over.
    pub late: u64,
    /// Dialogues that stand.
    pub dialogues: u64,
    /// The most plays that ran at once.
    pub running_max: u64,
    /// The longest that a play waited for this program itself, microseconds.
    pub lag_max_us: u64,
    /// The first failures, told.
    pub examples: Vec<String>,
    /// Why the run ended before it was over: a gateway ended a connection, or what it sends cannot
    /// be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// What ends of SIP have counted, by role.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sip: BTreeMap<String, sip_load::Report>,
}

impl ScenarioReport {
    /// Failed plays, whatever the cause.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }
}

impl Report {
    /// Failed plays of all scenarios, and begins that nothing answers.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.scenarios.iter().map(ScenarioReport::failed).sum::<u64>() + self.unanswered
    }

    /// Plays that were begun, or answered.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.scenarios.iter().map(|it| it.begun).sum()
    }

    /// Plays that did all their steps.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.scenarios.iter().map(|it| it.completed).sum()
    }

    /// A table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let widths = |of: &dyn Fn(&ScenarioReport) -> usize| self.scenarios.iter().map(of).max();
        let name = widths(&|it| it.name.len()).unwrap_or(0).max("SCENARIO".len());
        let role = widths(&|it| it.role.len()).unwrap_or(0).max("ROLE".len());
        let mut out = format!(
            "{:name$}  {:role$}  {:>8}  {:>9}  {:>7}  {:>7}\n",
            "SCENARIO", "ROLE", "BEGUN", "COMPLETED", "FAILED", "RUNNING"
        );
        for it in &self.scenarios {
            let _ = writeln!(
                out,
                "{:name$}  {:role$}  {:>8}  {:>9}  {:>7}  {:>7}",
                it.name,
                it.role,
                it.begun,
                it.completed,
                it.failed(),
                it.running
            );
        }
        self.times(&mut out);
        for it in &self.scenarios {
            for (cause, count) in &it.failures {
                let _ = writeln!(out, "{}: {count} {}", it.name, cause.name());
            }
        }
        for (count, what) in [
            (self.unanswered, "began and no scenario fits"),
            (self.late, "messages of dialogues that were over"),
        ] {
            if count > 0 {
                let _ = writeln!(out, "{count} {what}");
            }
        }
        for (role, it) in &self.sip {
            let (calls, failed) = (it.completed + it.answered, it.failed());
            let _ = writeln!(out, "{role}: {calls} calls over, {failed} failed, {} stand", it.live);
        }
        self.examples.iter().for_each(|it| {
            let _ = writeln!(out, "  {it}");
        });
        let _ = writeln!(
            out,
            "{:.1} s, {} messages in, {} out, at most {} at once, {:.1} ms late at most",
            self.seconds,
            self.messages_in,
            self.messages_out,
            self.running_max,
            ms(self.lag_max_us)
        );
        if let Some(why) = &self.lost {
            let _ = writeln!(out, "it ended before it was over: {why}");
        }
        out
    }

    fn times(&self, out: &mut String) {
        let mut rows: Vec<(String, Times)> = Vec::new();
        for it in self.scenarios.iter().filter(|it| it.measured > 0 && !it.answers) {
            let first = [
                ("response, from sent", it.response_sent),
                ("response, from due", it.response_due),
                ("whole, from due", it.whole),
            ];
            let all = first.into_iter().map(|(what, times)| (what.to_owned(), times));
            let named = it.times.iter().map(|(what, times)| (what.clone(), *times));
            let row = |(what, times): (String, Times)| (format!("{} {what}", it.name), times);
            rows.extend(all.chain(named).map(row));
        }
        rows.retain(|it| it.1.count > 0);
        let Some(width) = rows.iter().map(|it| it.0.len()).max() else { return };
        let width = width.max("MILLISECONDS".len());
        let _ = writeln!(
            out,
            "\n{:width$}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}",
            "MILLISECONDS", "COUNT", "P50", "P75", "P90", "P95", "P99", "MAX"
        );
        for (what, times) in rows {
            let _ = write!(out, "{what:width$}  {:>8}", times.count);
            let all = [times.p50_us, times.p75_us, times.p90_us, times.p95_us, times.p99_us];
            for us in all.into_iter().chain([times.max_us]) {
                let _ = write!(out, "  {:>9.3}", ms(us));
            }
            out.push('\n');
        }
        out.push('\n');
    }
}

fn ms(us: u64) -> f64 {
    us as f64 / 1_000.0
}

/// Counts of one scenario as they happen.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) begun: u64,
    pub(crate) completed: u64,
    pub(crate) failures: BTreeMap<Cause, u64>,
    pub(crate) measured: u64,
    /// Those of what begins; the others need none.
    measures: Option<Box<Measures>>,
}

#[derive(Debug, Default)]
struct Measures {
    response_due: Timing,
    response_sent: Timing,
    whole: Timing,
    times: Vec<Timing>,
}

/// When things happened in a play, microseconds from when it was due.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    /// The first answer: from due, from sent.
    Response(u64, u64),
    /// The end.
    Whole(u64),
    /// A time with that number.
    Named(usize, u64),
}

impl Counts {
    pub(crate) fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    pub(crate) fn measure(&mut self, times: usize, moment: Moment) {
        let new = || {
            let times = (0..times).map(|_| Timing::default()).collect();
            Box::new(Measures { times, ..Measures::default() })
        };
        let measures = self.measures.get_or_insert_with(new);
        match moment {
            Moment::Response(due, sent) => {
                measures.response_due.record(due);
                measures.response_sent.record(sent);
            }
            Moment::Whole(us) => measures.whole.record(us),
            Moment::Named(at, us) => {
                if let Some(timing) = measures.times.get_mut(at) {
                    timing.record(us);
                }
            }
        }
    }

    pub(crate) fn report(&self, name: &str, role: &str, times: &[String]) -> ScenarioReport {
        let of = |pick: fn(&Measures) -> &Timing| {
            self.measures.as_ref().map(|it| pick(it).times()).unwrap_or_default()
        };
        let named = self.measures.iter().flat_map(|it| it.times.iter().map(Timing::times));
        ScenarioReport {
            name: name.to_owned(),
            role: role.to_owned(),
            answers: false,
            begun: self.begun,
            completed: self.completed,
            running: self.begun - self.completed - self.failed(),
            failures: self.failures.clone(),
            measured: self.measured,
            response_due: of(|it| &it.response_due),
            response_sent: of(|it| &it.response_sent),
            whole: of(|it| &it.whole),
            times: times.iter().cloned().zip(named).collect(),
        }
    }
}

/// Counts of all.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) scenarios: Vec<Counts>,
    pub(crate) messages_in: u64,
    pub(crate) messages_out: u64,
    pub(crate) unanswered: u64,
    pub(crate) late: u64,
    pub(crate) running: u64,
    pub(crate) running_max: u64,
    pub(crate) lag_max_us: u64,
    pub(crate) examples: Vec<String>,
}

impl Tally {
    /// Keeps the words of the first failures.
    pub(crate) fn example(&mut self, words: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(words());
        }
    }
}
