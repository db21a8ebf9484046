//! What is known of other nodes: those that are not named are thought well of.

use crate::codec::ReturnCause;
use m3ua::codec::{Affected, PointCode};
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Subsystems of a node of which something is known, at most.
const SUBSYSTEMS_MAX: usize = 32;
/// Tests that are sent at once, at most, and when those go on that are due then.
const TESTS_MAX: usize = 64;
const TESTS_PAUSE: Duration = Duration::from_millis(100);
/// The same node is told the same after that, and so many within it.
const ANSWER_AGAIN: Duration = Duration::from_secs(1);
const ANSWERED_MAX: usize = 256;

/// A test of a subsystem's status (Q.714 §5.3.4).
#[derive(Debug, Clone, Copy)]
pub(super) struct Test {
    pub(super) due: Time,
    pub(super) interval: Duration,
}

/// A node of which something is known that is not as it should be.
#[derive(Debug, Default)]
struct Remote {
    is_paused: bool,
    /// Subsystems that are prohibited; SSN 1 is SCCP itself.
    prohibited: BTreeMap<u8, Option<Test>>,
}

/// What is known of a node that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteStatus {
    /// Which.
    pub point_code: PointCode,
    /// MTP3 has no way to it.
    pub is_paused: bool,
    /// Subsystems of it that are out of service; SSN 1 is its SCCP.
    pub prohibited: Vec<u8>,
}

/// When nodes were told last of a subsystem here that is out of service, in answer to a message
/// for it (§5.3.2.1): which node, at which point code, and which subsystem.
#[derive(Debug, Default)]
pub(super) struct Answered {
    at: BTreeMap<(PointCode, PointCode, u8), Time>,
}

impl Answered {
    /// Whether it is time to tell so; it is told then.
    pub(super) fn is_due(&mut self, now: Time, key: (PointCode, PointCode, u8)) -> bool {
        if self.at.get(&key).is_some_and(|at| now.since(*at) < ANSWER_AGAIN) {
            return false;
        }
        if self.at.len() >= ANSWERED_MAX {
            self.at.retain(|_, at| now.since(*at) < ANSWER_AGAIN);
        }
        let has_room = self.at.len() < ANSWERED_MAX;
        if has_room {
            self.at.insert(key, now);
        }
        has_room
    }
}

#[derive(Debug, Default)]
pub(super) struct Remotes {
    nodes: BTreeMap<PointCode, Remote>,
    /// The tests of all, by when they are due.
    due: BTreeSet<(Time, PointCode, u8)>,
    /// No test is sent before.
    pause: Option<Time>,
}

impl Remotes {
    pub(super) fn iter(&self) -> impl Iterator<Item = RemoteStatus> {
        self.nodes.iter().map(|(point_code, remote)| RemoteStatus {
            point_code: *point_code,
            is_paused: remote.is_paused,
            prohibited: remote.prohibited.keys().copied().collect(),
        })
    }

    /// Whether a message can go to a node, and to a subsystem of it.
    pub(super) fn can_reach(
        &self,
        point_code: PointCode,
        subsystem: Option<u8>,
    ) -> Result<(), ReturnCause> {
        let Some(remote) = self.nodes.get(&point_code) else { return Ok(()) };
        let is_prohibited = |it: u8| remote.prohibited.contains_key(&it);
        match () {
            () if remote.is_paused => Err(ReturnCause::MtpFailure),
            () if is_prohibited(crate::codec::MANAGEMENT_SSN) => Err(ReturnCause::SccpFailure),
            () if subsystem.is_some_and(is_prohibited) => Err(ReturnCause::SubsystemFailure),
            () => Ok(()),
        }
    }

    /// Notes that a node cannot be reached; tests end. `None` without room, and whether it is news.
    pub(super) fn pause(&mut self, point_code: PointCode, most: usize) -> Option<bool> {
        let remote = self.entry(point_code, most)?;
        let was_paused = core::mem::replace(&mut remote.is_paused, true);
        let tests = remote.prohibited.iter_mut();
        let tests = tests.filter_map(|(it, test)| Some((test.take()?.due, point_code, *it)));
        for test in tests.collect::<Vec<_>>() {
            self.due.remove(&test);
        }
        Some(!was_paused)
    }

    /// Nodes among `affected` that could not be reached can be again, and all is well with them
    /// (§5.2.3): returns them with the subsystems that were prohibited.
    pub(super) fn resume(&mut self, affected: Affected) -> Vec<(PointCode, Vec<u8>)> {
        let (first, last) = affected.bounds();
        let paused = self.nodes.range(first..=last).filter(|it| it.1.is_paused);
        let back: Vec<PointCode> = paused.map(|it| *it.0).collect();
        let take = |point_code: PointCode| Some((point_code, self.remove(point_code)?));
        back.into_iter().filter_map(take).collect()
    }

    /// Forgets a node with its tests; its subsystems that were prohibited.
    fn remove(&mut self, point_code: PointCode) -> Option<Vec<u8>> {
        let remote = self.nodes.remove(&point_code)?;
        for (subsystem, test) in &remote.prohibited {
            if let Some(test) = test {
                self.due.remove(&(test.due, point_code, *subsystem));
            }
        }
        Some(remote.prohibited.into_keys().collect())
    }

    /// Forgets the nodes that do not matter any more.
    pub(super) fn retain(&mut self, matters: impl Fn(PointCode) -> bool) {
        let gone: Vec<PointCode> = self.nodes.keys().copied().filter(|it| !matters(*it)).collect();
        for point_code in gone {
            self.remove(point_code);
        }
    }

    /// Notes that a subsystem is prohibited; whether it is news, `None` without room.
    pub(super) fn prohibit(
        &mut self,
        point_code: PointCode,
        subsystem: u8,
        test: Test,
        most: usize,
    ) -> Option<bool> {
        let remote = self.entry(point_code, most)?;
        if remote.prohibited.contains_key(&subsystem) {
            return Some(false);
        }
        if remote.prohibited.len() >= SUBSYSTEMS_MAX {
            return None;
        }
        // What cannot be reached is not tested.
        let test = (!remote.is_paused).then_some(test);
        remote.prohibited.insert(subsystem, test);
        self.due.extend(test.map(|test| (test.due, point_code, subsystem)));
        Some(true)
    }

    /// Notes that a subsystem is allowed; whether it is news.
    pub(super) fn allow(&mut self, point_code: PointCode, subsystem: u8) -> bool {
        let Some(remote) = self.nodes.get_mut(&point_code) else { return false };
        let before = remote.prohibited.remove(&subsystem);
        let is_news = before.is_some();
        if let Some(test) = before.flatten() {
            self.due.remove(&(test.due, point_code, subsystem));
        }
        if !remote.is_paused && remote.prohibited.is_empty() {
            self.nodes.remove(&point_code);
        }
        is_news
    }

    fn entry(&mut self, point_code: PointCode, most: usize) -> Option<&mut Remote> {
        if self.nodes.len() >= most && !self.nodes.contains_key(&point_code) {
            return None;
        }
        Some(self.nodes.entry(point_code).or_default())
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let first = self.due.first().map(|(due, ..)| *due);
        first.map(|due| self.pause.map_or(due, |pause| due.max(pause)))
    }

    /// The tests that are due, so many at once; others go on after a pause.
    pub(super) fn take_due(&mut self, now: Time, most: Duration) -> Vec<(PointCode, u8)> {
        if self.pause.is_some_and(|pause| pause > now) {
            return Vec::new();
        }
        let due = (0..TESTS_MAX).map_while(|_| self.next_due(now, most)).collect::<Vec<_>>();
        self.pause = (due.len() == TESTS_MAX).then(|| now + TESTS_PAUSE);
        due
    }

    /// The next test that is due; it is due again after twice the interval, `most` at most.
    fn next_due(&mut self, now: Time, most: Duration) -> Option<(PointCode, u8)> {
        let (due, point_code, subsystem) = *self.due.first()?;
        if due > now {
            return None;
        }
        self.due.pop_first();
        let remote = self.nodes.get_mut(&point_code);
        let test = remote.and_then(|it| it.prohibited.get_mut(&subsystem)?.as_mut());
        if let Some(test) = test {
            test.interval = (test.interval * 2).min(most);
            test.due = now + test.interval;
            self.due.insert((test.due, point_code, subsystem));
        }
        Some((point_code, subsystem))
    }
}
