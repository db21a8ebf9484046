//! One cache: where its connection stands, and the answer that is coming in.

use crate::effects::{BACKOFF, Settings};
use crate::pdu::{ErrorCode, Intervals, RouterKey, Version, Vrp4, Vrp6};
use crate::table::Change;
use machine::{Duration, Time};

/// Doublings of the time after a failure at most.
const DOUBLINGS_MAX: u32 = 16;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// There is none.
    Idle,
    /// It is being opened.
    Connecting,
    /// A query was sent.
    Asked,
    /// The answer comes.
    Loading,
    /// The answer was taken up.
    Synchronised,
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Query {
    Reset,
    Serial,
}

/// The records of an answer.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    pub ipv4: Vec<Change<Vrp4>>,
    pub ipv6: Vec<Change<Vrp6>>,
    pub keys: Vec<(RouterKey, bool)>,
}

/// A cache.
#[derive(Debug)]
pub(crate) struct Cache {
    pub phase: Phase,
    pub version: Version,
    /// The cache has answered in that version.
    pub is_agreed: bool,
    /// Session and serial number of the table, while it is this cache's.
    pub known: Option<(u16, u32)>,
    /// The session of the answer that comes.
    pub answering: u16,
    pub query: Query,
    pub intervals: Intervals,
    /// In Idle when to try again, else when to give up, or to ask again.
    pub deadline: Option<Time>,
    pub failures: u32,
    pub stage: Stage,
}

impl Cache {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            phase: Phase::Idle,
            version: settings.version,
            is_agreed: false,
            known: None,
            answering: 0,
            query: Query::Reset,
            intervals: settings.intervals.clamped(),
            deadline: None,
            failures: 0,
            stage: Stage::default(),
        }
    }

    /// Time until the next attempt.
    pub(crate) fn backoff(&self) -> Duration {
        let doubled = BACKOFF * (1 << self.failures.min(DOUBLINGS_MAX));
        doubled.min(Duration::from_secs(self.intervals.retry_s.into()))
    }

    pub(crate) fn enter(&mut self, phase: Phase, deadline: Option<Time>) {
        self.phase = phase;
        self.deadline = deadline;
    }

    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.deadline.is_some_and(|at| at <= now)
    }
}

/// What the changes come to, in the order of the records; `was` says what was there before.
///
/// # Errors
/// A record that came twice, or went without having been there (RFC 8210 §5.6, §12).
pub(crate) fn audit<V: Ord + Clone>(
    mut changes: Vec<(V, bool)>,
    was: impl Fn(&V) -> bool,
) -> Result<Vec<(V, bool)>, (V, bool, ErrorCode)> {
    changes.sort_by(|one, other| one.0.cmp(&other.0));
    let mut net = Vec::with_capacity(changes.len());
    for group in changes.chunk_by(|one, other| one.0 == other.0) {
        let before = was(&group[0].0);
        let mut is_there = before;
        for (record, comes) in group {
            if *comes == is_there {
                let code = match comes {
                    true => ErrorCode::DuplicateAnnouncement,
                    false => ErrorCode::WithdrawalOfUnknown,
                };
                return Err((record.clone(), *comes, code));
            }
            is_there = *comes;
        }
        if is_there != before {
            net.push((group[0].0.clone(), is_there));
        }
    }
    Ok(net)
}
