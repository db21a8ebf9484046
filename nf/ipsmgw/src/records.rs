//! Records of messages as lines of files, for whoever charges and counts (TS 32.240 §4.2): one line
//! a message, when it is dealt with; no text of it.
//!
//! ```text
//!   Out::Record ─→ add ─→ flush ─→ append::RecordFiles ─→ NAME-SECONDS-NUMBER.jsonl
//! ```
//! While the files cannot be written, lines wait, as many as there is room for; the others are lost
//! and counted, and messages go on.

use crate::config::{Ipsmgw, RECORD_PORT};
use crate::effects::{Attempt, Direction, Record};
use append::{COUNTS_OCTETS, RecordFiles};
use config::Issue;
use event::Metrics;
use machine::{Duration, Time};
use mapsms::identity::Msisdn;
use mapsms::outcomes::Outcomes;
use runtime::{ChannelEvent, Effects, In};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Files that cannot be written are tried again so soon.
const AGAIN: Duration = Duration::from_secs(5);
/// Octets of lines that wait for files.
const WAITING_OCTETS_MAX: usize = 4 << 20;
/// The version of the lines.
const VERSION: u8 = 1;

/// Records of messages in files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CdrKeys {
    /// Their directory, relative to the site's; absent: the function's name and `.cdr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// A file is finished beyond so many megabytes.
    pub file_max_mb: u32,
    /// A file is finished after so many seconds.
    pub file_max_s: u32,
    /// Megabytes of finished files beyond which records are lost: who collects them deletes them.
    pub directory_max_mb: u32,
}

impl Default for CdrKeys {
    fn default() -> Self {
        Self { directory: None, file_max_mb: 64, file_max_s: 900, directory_max_mb: 4_096 }
    }
}

event::metrics! {
    /// What is counted of records.
    pub enum RecordMetric {
        /// Records in files.
        Written = Counter, "ipsmgw_cdr_written_total";
        /// Records that found no room: they are in no file.
        Lost = Counter, "ipsmgw_cdr_lost_total";
        /// Octets of records that wait for a file.
        Waiting = Gauge, "ipsmgw_cdr_waiting_octets";
    }
}

impl Ipsmgw {
    /// Finds what is wrong with the keys of records.
    pub(crate) fn validate_records(&self, issues: &mut Vec<Issue>) {
        let Some(keys) = &self.cdr else { return };
        let checks = [
            ("cdr.file_max_mb", keys.file_max_mb, 1, 4_096),
            ("cdr.file_max_s", keys.file_max_s, 1, 86_400),
            ("cdr.directory_max_mb", keys.directory_max_mb, keys.file_max_mb, 1 << 20),
        ];
        for (path, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use {least} to {most}")));
            }
        }
    }

    /// The directory of records, as the section says it; none without them.
    #[must_use]
    pub fn cdr_directory(&self) -> Option<String> {
        let made = || format!("{}.cdr", self.name);
        self.cdr.as_ref().map(|it| it.directory.clone().unwrap_or_else(made))
    }

    fn record_files(&self) -> Option<RecordFiles> {
        let (keys, folder) = self.cdr.as_ref().zip(self.cdr_folder.as_ref())?;
        let octets = |mb: u32| u64::from(mb) << 20;
        Some(RecordFiles {
            folder: PathBuf::clone(folder),
            name: self.name.clone(),
            header: header(&self.name, &self.number),
            file_octets_max: octets(keys.file_max_mb),
            file_time_max: core::time::Duration::from_secs(keys.file_max_s.into()),
            folder_octets_max: octets(keys.directory_max_mb),
        })
    }
}

#[derive(Serialize)]
struct Header<'a> {
    format: &'static str,
    version: u8,
    function: &'a str,
    number: &'a str,
}

fn header(function: &str, number: &str) -> Vec<u8> {
    line(&Header { format: "tandem-sms-records", version: VERSION, function, number })
}

fn line(of: &impl Serialize) -> Vec<u8> {
    let mut octets = serde_json::to_vec(of).unwrap_or_default();
    octets.push(b'\n');
    octets
}

#[derive(Serialize)]
struct Line<'a> {
    time: f64,
    kind: &'static str,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subscriber: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    centre: Option<&'a str>,
    octets: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attempts: Vec<Tried>,
    trail: String,
}

#[derive(Serialize)]
struct Tried {
    way: &'static str,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<u8>,
}

impl Tried {
    const fn of(attempt: &Attempt) -> Self {
        let Attempt { way, result, cause } = *attempt;
        Self { way: way.name(), result, cause }
    }
}

/// A record as a line.
fn line_of(now: Time, record: &Record) -> Vec<u8> {
    #[allow(clippy::cast_precision_loss, reason = "milliseconds of this age are exact")]
    let time = now.as_millis() as f64 / 1_000.0;
    let (kind, done, failed) = match record.direction {
        Direction::Originated => ("submission", "taken", "refused"),
        Direction::Terminated => ("delivery", "delivered", "failed"),
    };
    line(&Line {
        time,
        kind: if record.postponed.is_some() { "attempt" } else { kind },
        result: match (record.postponed, record.cause) {
            (Some(_), _) => "postponed",
            (None, None) => done,
            (None, Some(_)) => failed,
        },
        subscriber: record.subscriber.as_ref().map(Msisdn::digits),
        other: record.other.as_deref(),
        centre: record.centre.as_ref().map(Msisdn::digits),
        octets: record.octets,
        way: record.way.map(crate::effects::Way::name),
        cause: record.cause,
        why: record.postponed,
        attempts: record.attempts.iter().map(Tried::of).collect(),
        trail: format!("{:016x}", record.trail),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Tried then.
    Shut(Time),
    Opening,
    Open,
}

/// The records of a gateway.
#[derive(Debug)]
pub(crate) struct Recorder {
    files: Option<Arc<RecordFiles>>,
    state: State,
    waiting: Vec<u8>,
    why: Option<String>,
    metrics: Metrics<RecordMetric>,
    outcomes: Outcomes,
}

impl Recorder {
    /// Those of a section.
    pub(crate) fn new(config: &Ipsmgw, now: Time) -> Self {
        let files = config.record_files().map(Arc::new);
        let (state, waiting, why) = (State::Shut(now), Vec::new(), None);
        let (metrics, outcomes) = (Metrics::new(), Outcomes::default());
        Self { files, state, waiting, why, metrics, outcomes }
    }

    /// Takes another section: the file that is written is finished if its keys are others.
    pub(crate) fn configure(&mut self, config: &Ipsmgw, now: Time, out: &mut Effects) {
        let files = config.record_files().map(Arc::new);
        if files == self.files {
            return;
        }
        self.flush(now, out);
        out.hang_up(RECORD_PORT);
        if files.is_none() {
            // Nobody wants them any more: they are none of a section's to come.
            let lost = self.waiting.drain(..).filter(|it| *it == b'\n').count();
            self.metrics.add(RecordMetric::Lost, u64::try_from(lost).unwrap_or(u64::MAX));
        }
        (self.files, self.state, self.why) = (files, State::Shut(now), None);
    }

    /// One more, which is counted, and a line where there are files.
    pub(crate) fn add(&mut self, now: Time, record: &Record) {
        self.outcomes.add(record);
        if self.files.is_none() {
            return;
        }
        match self.waiting.len() < WAITING_OCTETS_MAX {
            true => self.waiting.extend(line_of(now, record)),
            false => self.metrics.add(RecordMetric::Lost, 1),
        }
    }

    /// What every step ends with.
    pub(crate) fn flush(&mut self, now: Time, out: &mut Effects) {
        let Some(files) = &self.files else { return };
        match self.state {
            State::Shut(at) if at <= now => {
                self.state = State::Opening;
                let files: Arc<RecordFiles> = Arc::clone(files);
                out.connect(RECORD_PORT, files);
            }
            State::Open if !self.waiting.is_empty() => {
                let waiting = core::mem::take(&mut self.waiting);
                out.write(RECORD_PORT, |octets| octets.extend_from_slice(&waiting));
            }
            State::Shut(_) | State::Opening | State::Open => {}
        }
    }

    /// Takes what happened; false: it is another one's.
    pub(crate) fn takes(&mut self, now: Time, input: &In<'_>) -> bool {
        let In::Channel { port: RECORD_PORT, event } = input else { return false };
        match event {
            ChannelEvent::Up => self.state = State::Open,
            ChannelEvent::Message(counts) => self.counted(counts),
            ChannelEvent::Absent(why) => self.shut(now, why.unwrap_or("it is being opened")),
            ChannelEvent::Down(why) => self.shut(now, why),
            // Of packets, which it has none of.
            ChannelEvent::Packet(..) | ChannelEvent::Shed(_) => {}
        }
        true
    }

    fn counted(&mut self, counts: &[u8]) {
        let Some(counts) = counts.first_chunk::<COUNTS_OCTETS>() else { return };
        let (written, lost) = counts.split_at(COUNTS_OCTETS / 2);
        let of = |it: &[u8]| it.try_into().map_or(0, u64::from_be_bytes);
        self.metrics.add(RecordMetric::Written, of(written));
        self.metrics.add(RecordMetric::Lost, of(lost));
        if of(written) > 0 {
            self.why = None;
        }
    }

    fn shut(&mut self, now: Time, why: &str) {
        self.state = State::Shut(now + AGAIN);
        self.why = Some(why.to_owned());
    }

    /// When [`Recorder::flush`] wants to be called next.
    pub(crate) fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Shut(at) if self.files.is_some() => Some(at),
            _ => None,
        }
    }

    /// Why records cannot be written; none: they can, or nobody wants them.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.why.as_deref().filter(|_| self.files.is_some())
    }

    /// Brings the gauges up to date.
    pub(crate) fn publish(&self) {
        self.metrics.set(RecordMetric::Waiting, self.waiting.len() as u64);
        self.outcomes.publish();
    }

    pub(crate) fn cells(&self) -> [event::MetricCells; 2] {
        [self.metrics.cells(), self.outcomes.cells()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::Way;

    const SECTION: &str = "name = \"sms1\"\nnumber = \"447700000099\"\n\
         domain = \"ims.example.org\"\nlisten = [\"udp:127.0.0.1:5090\"]\n[cdr]\n";

    #[test]
    fn lines_that_wait_when_nobody_wants_records_any_more_are_lost_and_counted_as_such() {
        let mut config: Ipsmgw = toml::from_str(SECTION).unwrap();
        config.cdr_folder = Some("/nowhere".into());
        let (now, mut out) = (Time::from_millis(1), Effects::default());
        let mut recorder = Recorder::new(&config, now);
        let record = Record {
            direction: Direction::Originated,
            subscriber: None,
            other: None,
            octets: 0,
            centre: None,
            way: None,
            cause: None,
            postponed: None,
            attempts: Vec::new(),
            trail: 1,
        };
        (0..3).for_each(|_| recorder.add(now, &record));
        // Other files get what waits.
        config.cdr.iter_mut().for_each(|it| it.file_max_s = 60);
        recorder.configure(&config, now, &mut out);
        assert_eq!(recorder.metrics.read(RecordMetric::Lost), 0);
        assert!(!recorder.waiting.is_empty());
        config.cdr = None;
        recorder.configure(&config, now, &mut out);
        assert_eq!(recorder.metrics.read(RecordMetric::Lost), 3);
        assert!(recorder.waiting.is_empty());
    }

    #[test]
    fn a_record_is_a_line_of_what_became_of_a_message_and_nothing_of_what_it_says() {
        let record = Record {
            direction: Direction::Terminated,
            subscriber: Msisdn::of("447700900123"),
            other: Some("447700900999".into()),
            centre: Msisdn::of("447800000009"),
            octets: 37,
            way: Some(Way::CircuitSwitched),
            cause: None,
            postponed: None,
            attempts: vec![
                Attempt { way: Way::PacketSwitched, result: "absent", cause: None },
                Attempt { way: Way::CircuitSwitched, result: "delivered", cause: None },
            ],
            trail: 0xab,
        };
        let line = line_of(Time::from_millis(1_795_737_882_250), &record);
        assert_eq!(
            core::str::from_utf8(&line).unwrap(),
            "{\"time\":1795737882.25,\"kind\":\"delivery\",\"result\":\"delivered\",\
             \"subscriber\":\"447700900123\",\"other\":\"447700900999\",\
             \"centre\":\"447800000009\",\"octets\":37,\"way\":\"cs\",\"attempts\":[\
             {\"way\":\"ps\",\"result\":\"absent\"},{\"way\":\"cs\",\"result\":\"delivered\"}],\
             \"trail\":\"00000000000000ab\"}\n"
        );
        let refused = Record {
            direction: Direction::Originated,
            subscriber: None,
            other: None,
            centre: None,
            octets: 0,
            way: None,
            cause: Some(28),
            postponed: None,
            attempts: Vec::new(),
            trail: 1,
        };
        let line = line_of(Time::from_millis(0), &refused);
        assert_eq!(
            core::str::from_utf8(&line).unwrap(),
            "{\"time\":0.0,\"kind\":\"submission\",\"result\":\"refused\",\"octets\":0,\
             \"cause\":28,\"trail\":\"0000000000000001\"}\n"
        );
    }
}
