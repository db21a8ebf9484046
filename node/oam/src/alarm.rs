//! Alarms: what is wrong now and what was wrong before (ITU-T X.733).
//!
//! An alarm is one per (function, name, subject). Raised again while it stands, it counts and
//! takes the new text and severity; raised after it was cleared, it is a new one.
//!
//! What has been configured and has not failed yet is starting: a function says so of a condition,
//! which becomes an alarm when it is no longer so or after [`STARTING`].

use machine::{Duration, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use utoipa::ToSchema;

/// Alarms that stand at the same time at most.
pub const ACTIVE_MAX: usize = 1_000;
/// Cleared alarms that are remembered.
pub const HISTORY_MAX: usize = 1_000;
/// A condition of what is only starting becomes an alarm when it was reported for so long.
pub const STARTING: Duration = Duration::from_secs(30);
/// Longest text of an alarm, octets; the rest is cut.
pub const TEXT_BYTES_MAX: usize = 1_024;

/// How bad it is (X.733 §8.1.2.3), worst first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Service is lost.
    Critical,
    /// Service is degraded; act now.
    Major,
    /// Act before it becomes worse.
    Minor,
    /// Look at it.
    Warning,
}

impl Severity {
    /// As it is written.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Major => "major",
            Self::Minor => "minor",
            Self::Warning => "warning",
        }
    }
}

/// Which alarm: one stands per identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The function it belongs to; `oam` for the site itself.
    pub function: String,
    /// Its kind: `next-hop-down`.
    pub name: String,
    /// What it is about: `softswitch`.
    pub subject: String,
}

/// What a function says about an alarm; a row of its answer to `ask("alarms")`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Its kind: `next-hop-down`.
    pub name: String,
    /// What it is about: `softswitch`.
    #[serde(default)]
    pub subject: String,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence for a person.
    pub text: String,
    /// Probable cause as X.733 §8.1.2.2 names it: `communicationsSubsystemFailure`.
    #[serde(default)]
    pub probable_cause: String,
    /// What it is about has been configured and has not failed yet.
    #[serde(default)]
    pub starting: bool,
}

/// An alarm as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alarm {
    /// Number since the start of the process.
    pub id: u64,
    /// How bad it is.
    pub severity: Severity,
    /// The function it belongs to.
    pub function: String,
    /// Its kind.
    pub name: String,
    /// What it is about.
    pub subject: String,
    /// One sentence for a person.
    pub text: String,
    /// Probable cause (X.733).
    pub probable_cause: String,
    /// When it was raised first, microseconds since the UNIX epoch.
    pub raised_at_us: u64,
    /// When it was cleared; null while it stands.
    pub cleared_at_us: Option<u64>,
    /// How often it was raised while it stood.
    pub count: u64,
}

/// What a change did, for log and counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new alarm stands.
    Raised(Alarm),
    /// An alarm stands no more.
    Cleared(Alarm),
    /// The list is full: the alarm is not kept.
    Shed(Identity),
}

/// How many alarms stand, by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct Standing {
    /// Service is lost.
    pub critical: u64,
    /// Service is degraded.
    pub major: u64,
    /// Act before it becomes worse.
    pub minor: u64,
    /// Look at it.
    pub warning: u64,
}

/// The alarms of a site.
#[derive(Debug, Default)]
pub struct Alarms {
    active: BTreeMap<Identity, Alarm>,
    history: VecDeque<Alarm>,
    /// Conditions of what is starting, and when they were reported first.
    starting: BTreeMap<Identity, Time>,
    next_id: u64,
}

impl Alarms {
    /// No alarm.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises an alarm, or counts it if it stands.
    pub fn raise(&mut self, now: Time, function: &str, mut condition: Condition) -> Option<Change> {
        cut(&mut condition.text);
        let identity = identity(function, &condition);
        if let Some(alarm) = self.active.get_mut(&identity) {
            alarm.count += 1;
            alarm.severity = condition.severity;
            alarm.text = condition.text;
            return None;
        }
        if self.active.len() >= ACTIVE_MAX {
            return Some(Change::Shed(identity));
        }
        self.next_id += 1;
        let alarm = Alarm {
            id: self.next_id,
            severity: condition.severity,
            function: function.to_owned(),
            name: condition.name,
            subject: condition.subject,
            text: condition.text,
            probable_cause: condition.probable_cause,
            raised_at_us: now.as_micros(),
            cleared_at_us: None,
            count: 1,
        };
        self.active.insert(identity, alarm.clone());
        Some(Change::Raised(alarm))
    }

    /// Clears an alarm, if it stands.
    pub fn clear(&mut self, now: Time, identity: &Identity) -> Option<Change> {
        let mut alarm = self.active.remove(identity)?;
        alarm.cleared_at_us = Some(now.as_micros());
        if self.history.len() >= HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(alarm.clone());
        Some(Change::Cleared(alarm))
    }

    /// Takes the whole list of conditions that a function reports now: what is new is raised,
    /// what is gone is cleared, what stands takes the new text and is not counted again.
    pub fn report(&mut self, now: Time, function: &str, mut found: Vec<Condition>) -> Vec<Change> {
        let mut changes = Vec::new();
        self.hold_starting(now, function, &mut found);
        let standing: Vec<Identity> =
            self.active.keys().filter(|id| id.function == function).cloned().collect();
        let reported: Vec<Identity> = found.iter().map(|c| identity(function, c)).collect();
        for gone in standing.iter().filter(|id| !reported.contains(id)) {
            changes.extend(self.clear(now, gone));
        }
        for (mut condition, identity) in found.into_iter().zip(reported) {
            match self.active.get_mut(&identity) {
                Some(alarm) => {
                    cut(&mut condition.text);
                    alarm.severity = condition.severity;
                    alarm.text = condition.text;
                }
                None => changes.extend(self.raise(now, function, condition)),
            }
        }
        changes
    }

    /// Takes the conditions out that are no alarms yet.
    fn hold_starting(&mut self, now: Time, function: &str, found: &mut Vec<Condition>) {
        let mut known = BTreeMap::new();
        found.retain(|condition| {
            let identity = identity(function, condition);
            if !condition.starting || self.active.contains_key(&identity) {
                return true;
            }
            let first = self.starting.get(&identity).copied().unwrap_or(now);
            known.insert(identity, first);
            now >= first + STARTING
        });
        self.starting.retain(|identity, _| identity.function != function);
        self.starting.extend(known);
    }

    /// The alarms that stand, worst first, then newest; with `history` the cleared ones after
    /// them, newest first.
    #[must_use]
    pub fn list(&self, history: bool) -> Vec<Alarm> {
        let mut list: Vec<Alarm> = self.active.values().cloned().collect();
        list.sort_by_key(|alarm| (alarm.severity, std::cmp::Reverse(alarm.id)));
        if history {
            list.extend(self.history.iter().rev().cloned());
        }
        list
    }

    /// Whether an alarm stands.
    #[must_use]
    pub fn stands(&self, function: &str, name: &str, subject: &str) -> bool {
        let same =
            |id: &Identity| id.function == function && id.name == name && id.subject == subject;
        self.active.keys().any(same)
    }

    /// How many alarms stand, by kind and severity.
    #[must_use]
    pub fn kinds(&self) -> BTreeMap<(String, &'static str), u64> {
        let mut kinds = BTreeMap::new();
        for alarm in self.active.values() {
            *kinds.entry((alarm.name.clone(), alarm.severity.word())).or_insert(0) += 1;
        }
        kinds
    }

    /// How many alarms stand.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let mut standing = Standing::default();
        for alarm in self.active.values() {
            *match alarm.severity {
                Severity::Critical => &mut standing.critical,
                Severity::Major => &mut standing.major,
                Severity::Minor => &mut standing.minor,
                Severity::Warning => &mut standing.warning,
            } += 1;
        }
        standing
    }
}

fn identity(function: &str, condition: &Condition) -> Identity {
    Identity {
        function: function.to_owned(),
        name: condition.name.clone(),
        subject: condition.subject.clone(),
    }
}

fn cut(text: &mut String) {
    let end = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    text.truncate(end.unwrap_or(0));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(subject: &str, severity: Severity) -> Condition {
        Condition {
            name: "next-hop-down".into(),
            subject: subject.into(),
            severity,
            text: format!("{subject} does not answer"),
            probable_cause: "communicationsSubsystemFailure".into(),
            starting: false,
        }
    }

    fn at(s: u64) -> Time {
        Time::from_millis(s * 1000)
    }

    #[test]
    fn an_alarm_raised_twice_stands_once_and_counts() {
        let mut alarms = Alarms::new();
        assert!(alarms.raise(at(1), "ssc1", condition("a", Severity::Minor)).is_some());
        assert!(alarms.raise(at(2), "ssc1", condition("a", Severity::Major)).is_none());
        assert!(alarms.raise(at(3), "ssc2", condition("a", Severity::Major)).is_some());
        let list = alarms.list(false);
        assert_eq!(list.len(), 2);
        let first = list.iter().find(|alarm| alarm.function == "ssc1").unwrap();
        assert_eq!(
            (first.count, first.severity, first.raised_at_us),
            (2, Severity::Major, 1_000_000)
        );
    }

    #[test]
    fn a_cleared_alarm_moves_to_the_history_and_a_new_one_gets_a_new_number() {
        let mut alarms = Alarms::new();
        let Some(Change::Raised(alarm)) = alarms.raise(at(1), "f", condition("a", Severity::Minor))
        else {
            panic!("a new alarm is raised")
        };
        let identity = Identity { function: "f".into(), name: alarm.name, subject: alarm.subject };
        assert!(matches!(alarms.clear(at(5), &identity), Some(Change::Cleared(_))));
        assert!(alarms.clear(at(6), &identity).is_none());
        alarms.raise(at(7), "f", condition("a", Severity::Minor));
        let list = alarms.list(true);
        assert_eq!(list.iter().map(|a| a.id).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(list[1].cleared_at_us, Some(5_000_000));
    }

    #[test]
    fn a_report_raises_what_is_new_and_clears_what_is_gone() {
        let mut alarms = Alarms::new();
        alarms.raise(at(0), "oam", condition("site", Severity::Warning));
        let both = vec![condition("a", Severity::Minor), condition("b", Severity::Critical)];
        assert_eq!(alarms.report(at(1), "f", both).len(), 2);
        assert_eq!(alarms.report(at(2), "f", vec![condition("b", Severity::Critical)]).len(), 1);
        let standing = alarms.standing();
        assert_eq!((standing.critical, standing.minor, standing.warning), (1, 0, 1));
        assert_eq!(alarms.list(false)[0].count, 1, "a report is no second raise");
        assert_eq!(alarms.report(at(3), "f", vec![]).len(), 1);
        assert_eq!(alarms.list(false).len(), 1, "other functions' alarms stay");
    }

    #[test]
    fn what_is_starting_is_no_alarm_before_it_fails_or_its_time_is_over() {
        let mut alarms = Alarms::new();
        let starting =
            |subject: &str| Condition { starting: true, ..condition(subject, Severity::Critical) };
        assert_eq!(alarms.report(at(1), "f", vec![starting("a"), starting("b")]), []);
        assert_eq!(alarms.report(at(1), "g", vec![starting("a")]), []);
        // The first attempt of one has failed; the other one stands before its time is over.
        let failed = condition("a", Severity::Critical);
        assert_eq!(alarms.report(at(3), "f", vec![failed, starting("b")]).len(), 1);
        assert_eq!(alarms.report(at(30), "f", vec![starting("a")]), [], "it stands");
        assert_eq!(alarms.report(at(30), "g", vec![starting("a")]), []);
        assert_eq!(alarms.report(at(31), "g", vec![starting("a")]).len(), 1);
        assert_eq!(alarms.report(at(32), "f", vec![starting("a"), starting("b")]), []);
        assert_eq!(alarms.report(at(62), "f", vec![starting("a"), starting("b")]).len(), 1);
        assert_eq!(alarms.standing().critical, 3);
        for function in ["f", "g"] {
            alarms.report(at(70), function, vec![]);
        }
        assert!(alarms.starting.is_empty(), "nothing is kept of what is no more");
    }

    #[test]
    fn both_lists_are_bounded() {
        let mut alarms = Alarms::new();
        for n in 0..ACTIVE_MAX + 5 {
            let change = alarms.raise(at(1), "f", condition(&n.to_string(), Severity::Minor));
            assert_eq!(matches!(change, Some(Change::Shed(_))), n >= ACTIVE_MAX);
        }
        for _ in 0..3 {
            alarms.report(at(2), "f", vec![]);
            alarms.report(at(3), "f", vec![condition("x", Severity::Minor)]);
        }
        assert_eq!(alarms.list(true).len(), 1 + HISTORY_MAX);
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let mut alarms = Alarms::new();
        let mut long = condition("a", Severity::Minor);
        long.text = "ä".repeat(TEXT_BYTES_MAX);
        alarms.raise(at(1), "f", long);
        assert_eq!(alarms.list(false)[0].text.len(), TEXT_BYTES_MAX);
    }
}
