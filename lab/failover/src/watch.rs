//! What one endpoint is told of its paths, before and after the primary is cut.

use crate::course::Course;
use crate::end::End;
use machine::{Duration, Time};
use sctp::PathState;
use std::net::IpAddr;

/// Eyes on one endpoint.
#[derive(Debug)]
pub struct Watch {
    /// The peer's address on the primary path.
    primary: IpAddr,
    /// The source: what becomes of the primary after the cut counts.
    is_source: bool,
    cut_at: Option<Time>,
    /// Changes that were looked at.
    seen: usize,
    /// RTO of the primary and its time-outs in a row.
    rto: (Duration, u16),
    course: Course,
}

impl Watch {
    /// Eyes on the source, or on the sink.
    pub fn new(primary: IpAddr, is_source: bool) -> Self {
        let (cut_at, seen, rto) = (None, 0, (Duration::ZERO, 0));
        Self { primary, is_source, cut_at, seen, rto, course: Course::default() }
    }

    /// What was told until now is of the set-up and does not count.
    pub fn begin(&mut self, end: &End) {
        self.seen = end.changes.len();
    }

    /// The primary is cut.
    pub fn cut(&mut self, at: Time, end: &End) {
        self.look(end);
        self.cut_at = Some(at);
        self.step(at, end);
    }

    /// Whether something is still to come after the cut.
    pub const fn is_waiting(&self) -> bool {
        self.cut_at.is_some() && self.is_source && self.course.failover.is_none()
    }

    /// Notes a time-out of the primary that has happened by `now`; to be called after every step of
    /// the endpoint while [`Watch::is_waiting`].
    pub fn step(&mut self, now: Time, end: &End) {
        let Some(cut_at) = self.cut_at else { return };
        if let Some(status) = end.status()
            && let Some(primary) = status.paths.iter().find(|path| path.address == self.primary)
        {
            let (rto, errors) = self.rto;
            if primary.errors > errors {
                self.course.time_outs.push((now.since(cut_at), rto));
            }
            self.rto = (primary.rto, primary.errors);
        }
        self.look(end);
    }

    /// What was seen of an endpoint that has ended.
    pub fn observed(mut self, end: End) -> Course {
        self.look(&end);
        Course { lost: end.is_lost, violations: end.violations, ..self.course }
    }

    /// Goes through what SCTP told.
    fn look(&mut self, end: &End) {
        for &(at, address, state) in &end.changes[self.seen..] {
            let cut_at = self.cut_at.filter(|&cut| cut <= at && address == self.primary);
            let course = &mut self.course;
            let Some(cut_at) = cut_at else {
                course.spurious += u64::from(state == PathState::Inactive);
                course.excursions += u64::from(state == PathState::PotentiallyFailed);
                continue;
            };
            let after = at.since(cut_at);
            if matches!(state, PathState::PotentiallyFailed | PathState::Inactive) {
                course.diverted.get_or_insert(after);
            }
            if state == PathState::Inactive {
                course.failover.get_or_insert(after);
            }
        }
        self.seen = end.changes.len();
    }
}
