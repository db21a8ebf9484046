//! What a run of load found: counts, failures by cause, times as HDR histograms.

use crate::ladder::Side;
use hdrhistogram::Histogram;
use machine::narrow::micros;
use machine::{Duration, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Failures told in words.
const EXAMPLES_MAX: usize = 8;
/// Longest time that is told apart, microseconds: an hour.
const TIME_MAX_US: u64 = 3_600_000_000;

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nothing came within 64 x T1, or the run ended first.
    Timeout,
    /// A final status that the flow does not have.
    Status,
    /// 503: the element under test was too busy.
    Shed,
    /// A message that the flow does not have.
    Unexpected,
    /// A message that came before or after its turn in the dialog.
    Order,
    /// A CSeq that does not fit the dialog (RFC 3261 §12.2.2).
    Cseq,
    /// The transport lost the connection or refused the message.
    Transport,
    /// Bytes that are no SIP message.
    Malformed,
    /// The generator has no room for the call.
    Full,
}

/// Quantiles of one distribution, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Half are at most this.
    pub p50_us: u64,
    /// Of a hundred, 75.
    #[serde(default)]
    pub p75_us: u64,
    /// Of a hundred, 90.
    #[serde(default)]
    pub p90_us: u64,
    /// Of a hundred, 95.
    #[serde(default)]
    pub p95_us: u64,
    /// Of a hundred, 99.
    pub p99_us: u64,
    /// Of a thousand, 999.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// Where the time of requests within dialogs goes; of generator and element under test each does
/// something on its own core.
///
/// ```text
///  due ── own ── sent ──────────── elsewhere ──────────── arrived ── own ── read
///                      element │ arrived ── answering ── answer sent │ element
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InDialog {
    /// From when a request was due to when its final answer was read.
    pub whole: Times,
    /// From when it was sent to when the answer arrived in the generator's socket.
    pub elsewhere: Times,
    /// The rest of the whole: the generator's own, on the asking side.
    pub own: Times,
    /// On the answering side, which is the generator's too and within `elsewhere`: from when a
    /// request arrived in its socket to when the answer was sent.
    pub answering: Times,
}

/// When things happened to a request that has its final answer.
#[derive(Debug, Clone, Copy)]
pub struct Moments {
    /// It should have been sent.
    pub due: Time,
    /// It was sent first.
    pub sent: Time,
    /// Its answer arrived in the socket.
    pub arrived: Time,
    /// The answer was read.
    pub read: Time,
}

/// A distribution of times, as it is gathered.
#[derive(Debug)]
pub struct Timing(Histogram<u64>);

impl Default for Timing {
    fn default() -> Self {
        let three_digits = Histogram::new_with_max(TIME_MAX_US, 3);
        Self(three_digits.expect("three digits up to an hour is a valid range"))
    }
}

impl Timing {
    /// One more, microseconds; those beyond an hour count as an hour.
    pub fn record(&mut self, us: u64) {
        self.0.saturating_record(us);
    }

    /// Its quantiles.
    #[must_use]
    pub fn times(&self) -> Times {
        Times::of(&self.0)
    }
}

impl Times {
    fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |quantile| histogram.value_at_quantile(quantile);
        Self {
            count: histogram.len(),
            p50_us: at(0.5),
            p75_us: at(0.75),
            p90_us: at(0.9),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max(),
        }
    }
}

/// What happened so far, as the controller reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Whether calls are still placed or still running.
    pub running: bool,
    /// Calls placed.
    pub started: u64,
    /// Calls that ended as the flow says, on the caller's side.
    pub completed: u64,
    /// The same on the answerer's side.
    pub answered: u64,
    /// Calls that run, on the caller's side.
    pub live: u64,
    /// The most that ran at once.
    pub live_max: u64,
    /// Failures by cause, both sides.
    pub failures: BTreeMap<Cause, u64>,
    /// Calls that the element under test refused by status, with its 503 or 486 to the request that
    /// opens them: no failures.
    #[serde(default)]
    pub rejected: BTreeMap<u16, u64>,
    /// Calls counted as placed that were not, because the element under test asked for fewer
    /// ([`crate::Trial::obeys`]).
    #[serde(default)]
    pub withheld: u64,
    /// The first failures, told.
    pub examples: Vec<String>,
    /// Messages sent again for want of an answer.
    pub retransmissions: u64,
    /// Attempts after a refusal or a silence ([`crate::Trial::again`]).
    #[serde(default)]
    pub again: u64,
    /// Attempts to which nothing came within 64 x T1.
    #[serde(default)]
    pub unanswered: u64,
    /// From the begin of the trial to the last registration, microseconds.
    #[serde(default)]
    pub last_us: u64,
    /// Messages that came again.
    pub duplicates: u64,
    /// Mandatory messages that never came although the call succeeded (lost datagrams).
    pub missing: u64,
    /// Messages of calls that had already ended.
    pub late: u64,
    /// Messages received.
    pub messages_in: u64,
    /// Messages sent.
    pub messages_out: u64,
    /// SIP messages in the capture packets received and thrown away.
    pub captured: u64,
    /// The longest that an arrival waited for the generator itself.
    pub lag_max_us: u64,
    /// From the arrival's scheduled time to the final answer.
    pub setup: Times,
    /// From the arrival's scheduled time to the refusal.
    #[serde(default)]
    pub refusal: Times,
    /// From a request to its final answer, by method.
    pub responses: BTreeMap<String, Times>,
    /// Where the time of requests within dialogs goes.
    #[serde(default)]
    pub in_dialog: InDialog,
}

impl Report {
    /// Failed calls, whatever the cause.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Refused calls, whatever the status.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.rejected.values().sum()
    }
}

/// Counts as they happen.
#[derive(Debug, Default)]
pub struct Tally {
    /// Plain counts.
    pub report: Report,
    setup: Timing,
    refusal: Timing,
    responses: Vec<(sip::Method, Timing)>,
    /// As in [`InDialog`].
    in_dialog: [Timing; 4],
}

impl Tally {
    /// Counts a failure and keeps the words of the first ones.
    pub fn fail(&mut self, side: Side, cause: Cause, words: impl FnOnce() -> String) {
        *self.report.failures.entry(cause).or_default() += 1;
        if self.report.examples.len() < EXAMPLES_MAX {
            self.report.examples.push(format!("{side:?} {cause:?}: {}", words()));
        }
    }

    /// A call was refused.
    pub fn reject(&mut self, status: u16, us: u64) {
        *self.report.rejected.entry(status).or_default() += 1;
        self.refusal.record(us);
    }

    /// A call stands.
    pub fn set_up(&mut self, us: u64) {
        self.setup.record(us);
    }

    /// A request was answered for good.
    pub fn responded(&mut self, method: sip::Method, us: u64) {
        let known = self.responses.iter_mut().find(|(m, _)| *m == method);
        if let Some((_, times)) = known {
            times.record(us);
            return;
        }
        let mut times = Timing::default();
        times.record(us);
        self.responses.push((method, times));
    }

    /// A request within a dialog was answered for good.
    pub fn responded_within(&mut self, at: &Moments) {
        let whole = at.read.since(at.due);
        let elsewhere = at.arrived.since(at.sent);
        let own = whole.saturating_sub(elsewhere);
        for (timing, time) in self.in_dialog.iter_mut().zip([whole, elsewhere, own]) {
            timing.record(micros(time));
        }
    }

    /// A request within a dialog got its final answer, so long after it had arrived.
    pub fn answered_within(&mut self, time: Duration) {
        self.in_dialog[3].record(micros(time));
    }

    /// The report with its quantiles.
    #[must_use]
    pub fn report(&self) -> Report {
        let mut report = self.report.clone();
        report.setup = self.setup.times();
        report.refusal = self.refusal.times();
        let [whole, elsewhere, own, answering] = &self.in_dialog;
        let [whole, elsewhere, own, answering] =
            [whole, elsewhere, own, answering].map(Timing::times);
        report.in_dialog = InDialog { whole, elsewhere, own, answering };
        let responses = self.responses.iter();
        report.responses =
            responses.map(|(m, times)| (m.name().to_owned(), times.times())).collect();
        report
    }
}
