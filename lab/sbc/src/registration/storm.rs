//! The restart storm: a system that knows nobody gets every subscriber at once.
//!
//! ```text
//!   system starts ─→ calls stand ─→ all REGISTER at once, open loop; who is refused comes again
//!                                   after his Retry-After; the calls end meanwhile, one by one
//!                ─→ all stand ─→ each refreshes once: his binding answers, not the core
//! ```

use super::super::registrants::{self, Subscribers};
use super::super::topology::{Load, System, Topology};
use report::progress::Progress;
use runtime::Transport;
use serde_json::{Value, json};
use sip_load::{Ladder, Report, Trial};
use std::path::Path;
use std::time::{Duration, Instant};

/// Nobody is waited for any longer.
const STORM_MAX: Duration = Duration::from_secs(90);
/// Until then everybody stands: each is told to wait for ten seconds at most, once or twice.
const STOOD_MAX: Duration = Duration::from_secs(45);
/// Share of the highest rate of first registrations that is held while they come.
const GOODPUT_MIN: f64 = 0.9;
/// What the short storm of a quick run may be off by.
const QUICK_SLACK: f64 = 0.4;
/// In-dialog requests are answered within this, 99 of 100.
const IN_DIALOG_P99_MAX_US: u64 = 100_000;
const HOLD: Duration = Duration::from_secs(3_600);
const DRAIN: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// How hard it blows.
#[derive(Debug, Clone, Copy)]
pub struct Storm {
    /// Subscribers, each of whom registers.
    pub subscribers: u32,
    /// All of them come within this.
    pub within: Duration,
    /// Calls that stand when it begins.
    pub calls: u32,
    /// They end within this.
    pub calls_end_within: Duration,
    /// Refreshes per second when it is over.
    pub refresh_rate: f64,
    /// Seconds that a refused one is told to wait at least; at most twice as many.
    pub retry_after_s: u32,
    /// Whether the short storm is judged more mildly.
    pub quick: bool,
}

impl Storm {
    /// All at once: more in a second than any system takes.
    pub const fn full(subscribers: u32, is_tls: bool) -> Self {
        Self {
            subscribers,
            within: Duration::from_secs(if is_tls { 6 } else { 4 }),
            calls: 2_000,
            calls_end_within: Duration::from_secs(10),
            refresh_rate: if is_tls { 25_000.0 } else { 80_000.0 },
            retry_after_s: 5,
            quick: false,
        }
    }

    /// The same in a few seconds, with shorter waits.
    pub const fn quick(subscribers: u32) -> Self {
        Self {
            subscribers,
            within: Duration::from_millis(250),
            calls: 200,
            calls_end_within: Duration::from_secs(1),
            refresh_rate: 30_000.0,
            retry_after_s: 1,
            quick: true,
        }
    }
}

/// What it did.
#[derive(Debug)]
pub struct StormResult {
    /// Name and version of the system.
    pub name: String,
    storm: Storm,
    report: Report,
    /// Registrations, and the time, until all had come.
    first: (u64, Duration),
    /// Registrations of each second.
    by_second: Vec<u64>,
    grown_bytes: u64,
    standing: Option<u64>,
    /// The refreshes afterwards.
    refreshed: Option<Report>,
    calls: Option<Report>,
}

/// Blows over a fresh Tandem, with calls that stand.
///
/// # Errors
/// When it does not start or the generators do not answer.
pub fn over_tandem(
    storm: Storm,
    topology: &Topology,
    load: &Subscribers,
    binary: &Path,
    progress: &Progress,
) -> anyhow::Result<StormResult> {
    let calls_ground = Topology::new()?;
    let callers =
        Load::start_without_sink(&calls_ground, Ladder::built_in("SIP")?, Transport::Udp)?;
    let system =
        registrants::tandem_with_calls(topology, binary, &calls_ground, storm.retry_after_s)?;
    stand(&callers, storm)?;
    let release = f64::from(storm.calls) / storm.calls_end_within.as_secs_f64();
    let mut seen = blow(storm, load, &system, || callers.release(release))?;
    seen.calls = Some(ended(&callers)?);
    seen.standing = registrants::standing(topology);
    let length = Duration::from_secs_f64((f64::from(storm.subscribers) - 0.5) / storm.refresh_rate);
    let refresh = Trial {
        rate: storm.refresh_rate,
        length,
        subscribers: storm.subscribers,
        ..Trial::default()
    };
    seen.refreshed = Some(load.run(refresh, DRAIN)?);
    progress.say(&seen.sentence());
    Ok(seen)
}

/// The same over the peer, which has no calls and no core.
///
/// # Errors
/// When it does not start or the generator does not answer.
pub fn over_peer(
    storm: Storm,
    topology: &Topology,
    load: &Subscribers,
    is_tls: bool,
    progress: &Progress,
) -> anyhow::Result<StormResult> {
    let system = registrants::kamailio(topology, is_tls)?;
    let seen = blow(storm, load, &system, || Ok(()))?;
    progress.say(&seen.sentence());
    Ok(seen)
}

/// Calls are set up and stand.
fn stand(callers: &Load, storm: Storm) -> anyhow::Result<()> {
    let rate = f64::from(storm.calls).min(1_000.0);
    let length = Duration::from_secs_f64((f64::from(storm.calls) - 0.5) / rate);
    callers.begin(Trial { rate, length, hold: HOLD, ..Trial::default() })?;
    let until = Instant::now() + length + DRAIN;
    while Instant::now() < until {
        if callers.report()?.setup.count >= u64::from(storm.calls) {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
    anyhow::bail!("before the storm not all of {} calls stand", storm.calls)
}

/// The report of the calls once all have ended.
fn ended(callers: &Load) -> anyhow::Result<Report> {
    let until = Instant::now() + DRAIN;
    loop {
        let report = callers.report()?;
        if !report.running || Instant::now() > until {
            return Ok(report);
        }
        std::thread::sleep(POLL);
    }
}

/// Everybody at once, until all stand or it takes too long.
fn blow(
    storm: Storm,
    load: &Subscribers,
    system: &System,
    begun: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<StormResult> {
    let (all, before) = (u64::from(storm.subscribers), system.usage().resident_bytes);
    let rate = f64::from(storm.subscribers) / storm.within.as_secs_f64();
    let length = storm.within.mul_f64((all as f64 - 0.5) / all as f64);
    let subscribers = storm.subscribers;
    load.begin(Trial { rate, length, subscribers, again: true, ..Trial::default() })?;
    let start = Instant::now();
    begun()?;
    let (mut first, mut by_second) = ((0, Duration::ZERO), Vec::new());
    let mut counted = 0;
    let report = loop {
        std::thread::sleep(POLL);
        let report = load.report()?;
        let spent = start.elapsed();
        if report.started < all {
            first = (report.completed, spent);
        }
        if spent.as_secs() as usize > by_second.len() {
            by_second.push(report.completed - counted);
            counted = report.completed;
        }
        if !report.running || spent > STORM_MAX {
            break report;
        }
    };
    Ok(StormResult {
        name: system.name(),
        storm,
        first,
        by_second,
        grown_bytes: system.usage().resident_bytes.saturating_sub(before),
        standing: None,
        refreshed: None,
        calls: None,
        report,
    })
}

impl StormResult {
    fn all(&self) -> u64 {
        u64::from(self.storm.subscribers)
    }

    /// Seconds until the last one stood, if all do.
    fn stood_s(&self) -> Option<f64> {
        (self.report.completed == self.all()).then(|| self.report.last_us as f64 / 1e6)
    }

    /// Registrations per second until all stood.
    pub fn value(&self) -> Option<f64> {
        self.stood_s().map(|seconds| self.all() as f64 / seconds)
    }

    /// The same while they came, when more was offered than any system takes, as a share of the
    /// highest rate.
    fn share(&self, maximum: Option<f64>) -> Option<f64> {
        let (registered, time) = self.first;
        Some(registered as f64 / time.as_secs_f64().max(f64::EPSILON) / maximum?)
    }

    fn sentence(&self) -> String {
        let report = &self.report;
        format!(
            "{}: of {} who came within {:.1} s {} stand after {:.1} s, {} refused, {} unanswered, \
            {} failed; in-dialog p99 {:.1} ms",
            self.name,
            self.all(),
            self.first.1.as_secs_f64(),
            report.completed,
            report.last_us as f64 / 1e6,
            report.refused(),
            report.unanswered,
            report.failed(),
            self.calls.as_ref().map_or(f64::NAN, |calls| in_dialog_p99_us(calls) as f64 / 1e3),
        )
    }

    /// For the row's notes.
    pub fn note(&self) -> String {
        let (all, refused, seconds) = (self.all(), self.report.refused(), self.stood_s());
        let stand = seconds.map_or("not all stand".into(), |s| format!("all stand after {s:.1} s"));
        format!("{all} subscribers at once: {stand}, {refused} times refused at first")
    }

    /// For the row's detail; `maximum` is the highest rate of first registrations.
    pub fn json(&self, maximum: Option<f64>) -> Value {
        let report = &self.report;
        json!({
            "subscribers": self.storm.subscribers,
            "came_within_s": self.storm.within.as_secs_f64(),
            "stood_after_s": self.stood_s(),
            "all_had_come_after_s": self.first.1.as_secs_f64(),
            "goodput_share_of_max": self.share(maximum),
            "generator_lag_max_us": report.lag_max_us,
            "by_second": self.by_second,
            "refused": report.refused(),
            "came_again": report.again,
            "unanswered": report.unanswered,
            "retransmissions": report.retransmissions,
            "failed": report.failures,
            "examples": report.examples,
            "retry_after_s": [self.storm.retry_after_s, 2 * self.storm.retry_after_s],
            "bytes_per_binding": self.grown_bytes / self.all().max(1),
            "standing": self.standing,
            "refreshed_without_the_core": self.refreshed.as_ref()
                .map(|refreshed| refreshed.completed.saturating_sub(refreshed.answered)),
            "calls_that_stood": self.calls.as_ref().map(|_| self.storm.calls),
            "calls_ended_well": self.calls.as_ref().map(|calls| calls.completed),
            "in_dialog_p99_us": self.calls.as_ref().map(in_dialog_p99_us),
            "in_dialog_retransmissions": self.calls.as_ref().map(|calls| calls.retransmissions),
        })
    }

    /// What did not hold.
    pub fn violations(&self, scenario: &str, maximum: Option<f64>) -> Vec<String> {
        let mut violations = Vec::new();
        let mut offend = |words: String| violations.push(format!("{scenario}: {words}"));
        let seconds = self.stood_s();
        if seconds.is_some_and(|seconds| seconds > STOOD_MAX.as_secs_f64()) {
            offend(format!("all stand after {seconds:?} s only"));
        }
        if seconds.is_none() || self.standing != Some(self.all()) {
            let (stood, all) = (self.report.completed, self.all());
            let standing = self.standing.unwrap_or_default();
            offend(format!("{stood} of {all} registered, {standing} bindings stand"));
        }
        if self.report.failed() > 0 {
            offend(format!("{} failed: {:?}", self.report.failed(), self.report.examples));
        }
        let slack = if self.storm.quick { QUICK_SLACK } else { 0.0 };
        if let (Some(_), share) = (maximum, self.share(maximum).unwrap_or_default())
            && share < GOODPUT_MIN - slack
        {
            offend(format!("goodput was {share:.2} of the highest rate"));
        }
        let refreshed = self.refreshed.as_ref();
        if !refreshed.is_some_and(|r| r.completed == self.all() && r.answered == 0) {
            let words =
                refreshed.map(|r| format!("{} refreshed, {} asked", r.completed, r.answered));
            offend(format!("bindings are lost: {}", words.unwrap_or_default()));
        }
        let calls = self.calls.as_ref();
        let ended = calls.is_some_and(|calls| {
            calls.failed() == 0
                && calls.completed >= u64::from(self.storm.calls)
                && in_dialog_p99_us(calls) <= IN_DIALOG_P99_MAX_US
        });
        if !ended {
            let failures = calls.map(|calls| (calls.completed, &calls.examples));
            offend(format!("the calls did not end as they should: {failures:?}"));
        }
        violations
    }
}

/// The slowest of the methods inside a dialog.
fn in_dialog_p99_us(report: &Report) -> u64 {
    let inside = report.responses.iter().filter(|(method, _)| *method != "INVITE");
    inside.map(|(_, times)| times.p99_us).max().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sip_load::Times;

    const STORM: Storm = Storm {
        subscribers: 1_000,
        within: Duration::from_secs(1),
        calls: 10,
        calls_end_within: Duration::from_secs(1),
        refresh_rate: 1_000.0,
        retry_after_s: 1,
        quick: false,
    };

    fn storm_result() -> StormResult {
        let served = Report { completed: 1_000, last_us: 2_000_000, ..Report::default() };
        let times = Times { count: 10, p99_us: 900, ..Times::default() };
        let responses = [("BYE".to_owned(), times)].into();
        StormResult {
            name: "tandem".into(),
            storm: STORM,
            first: (900, Duration::from_secs(1)),
            by_second: vec![900],
            grown_bytes: 400_000,
            standing: Some(1_000),
            refreshed: Some(served.clone()),
            calls: Some(Report { completed: 10, responses, ..Report::default() }),
            report: served,
        }
    }

    #[test]
    fn a_storm_is_judged_by_all_that_it_touched() {
        let broken = |change: &dyn Fn(&mut StormResult)| {
            let mut seen = storm_result();
            change(&mut seen);
            seen.violations("storm", Some(1_000.0)).len()
        };
        assert_eq!(broken(&|_| {}), 0);
        assert_eq!(broken(&|seen| seen.report.completed = 999), 1);
        assert_eq!(broken(&|seen| seen.standing = None), 1);
        assert_eq!(broken(&|seen| seen.first.0 = 890), 1);
        assert_eq!(broken(&|seen| seen.report.last_us = 46_000_000), 1);
        assert_eq!(broken(&|seen| seen.refreshed.as_mut().unwrap().answered = 1), 1);
        assert_eq!(broken(&|seen| seen.calls.as_mut().unwrap().completed = 9), 1);
        assert_eq!(broken(&|seen| seen.calls.as_mut().unwrap().responses.clear()), 1);
    }

    #[test]
    fn the_value_counts_until_the_last_one_stands() {
        assert_eq!(storm_result().value(), Some(500.0));
        assert_eq!(storm_result().json(Some(1_000.0))["goodput_share_of_max"], 0.9);
    }
}
