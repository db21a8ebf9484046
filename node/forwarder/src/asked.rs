//! What is done for who only asks, and how much of that: whoever may open the socket may ask.

use crate::serve::Forwarder;
use crate::worker::{Order, Report};
use crossbeam_channel::bounded;
use graph::Choice;
use machine::{Duration, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Time for all workers to say what they have counted: each does at its next round.
const REPORT: Duration = Duration::from_millis(500);
/// The age of a report that is good enough for who does not control: each costs every worker time.
const AGE_MAX: Duration = Duration::from_millis(100);
/// A trace of the control ends then, whether there were such packets or not: looking at each costs
/// the workers time.
const TRACE: Duration = Duration::from_secs(60);
/// One of somebody else ends then, and none of the same rank begins another before.
const TRACE_OF_OTHERS: Duration = Duration::from_secs(10);
/// Packets that a worker looks at for a trace of somebody else.
const LOOKS_OF_OTHERS: u64 = 1 << 20;
/// Time between two warnings of what somebody who connects may not do.
const WARN: Duration = Duration::from_secs(1);

/// What is warned of once in a while only: whoever connects may cause it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Warning {
    /// All places are taken.
    Room,
    /// Somebody knocks who may not come in.
    Stranger,
    /// A control is turned away.
    Control,
    /// Somebody else wants a change.
    Change,
    /// A packet channel is closed for what its other side wrote.
    PacketChannel,
}

/// Who asks for a trace: whoever stands below holds up nobody above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Another user who may open the socket.
    Other,
    /// The forwarder's own user, or root.
    Own,
    Control,
}

/// When what was done last.
#[derive(Default)]
pub(crate) struct Asked {
    /// No warning of that before then.
    warned: BTreeMap<Warning, Time>,
    /// The last reports, without and with what was traced.
    reports: [Option<(Time, Arc<[Report]>)>; 2],
    /// Whose trace it is, and until when.
    trace: Option<(u64, Rank, Time)>,
    /// Nobody of that rank, but for the control, begins one before then.
    trace_from: BTreeMap<Rank, Time>,
    /// Who was served last of those who do not control.
    pub(crate) served: u64,
}

impl Asked {
    /// Takes the place of the trace, if it is free for who asks.
    fn takes_trace(&mut self, asker: u64, rank: Rank, now: Time) -> bool {
        let is_held = self.trace.is_some_and(|(_, of, _)| of >= rank)
            || self.trace_from.get(&rank).is_some_and(|from| now < *from);
        let until = now + time_of(rank);
        let may = rank == Rank::Control || !is_held;
        if may {
            self.trace = Some((asker, rank, until));
            self.trace_from.insert(rank, until);
        }
        may
    }
}

/// How long a trace lasts at most.
const fn time_of(rank: Rank) -> Duration {
    match rank {
        Rank::Control => TRACE,
        Rank::Own | Rank::Other => TRACE_OF_OTHERS,
    }
}

impl Forwarder {
    /// Whether it is time for another warning of what is done by who connects.
    pub(crate) fn may_warn(&mut self, what: Warning) -> bool {
        let now = self.now();
        let is_due = self.asked.warned.get(&what).is_none_or(|at| now >= *at);
        if is_due {
            self.asked.warned.insert(what, now + WARN);
        }
        is_due
    }

    fn is_control(&self, number: u64) -> bool {
        self.connections.get(&number).is_some_and(|it| it.is_control)
    }

    /// What every worker has counted, a moment ago if it is not the control that asks.
    pub(crate) fn reports(&mut self, asker: u64, is_traced: bool) -> Arc<[Report]> {
        let now = self.now();
        let age_max = if self.is_control(asker) { Duration::ZERO } else { AGE_MAX };
        let last = &self.asked.reports[usize::from(is_traced)];
        if let Some((_, reports)) = last.as_ref().filter(|(at, _)| now < *at + age_max) {
            return Arc::clone(reports);
        }
        let reports: Arc<[Report]> = self.ask_workers(is_traced).into();
        self.asked.reports[usize::from(is_traced)] = Some((now, Arc::clone(&reports)));
        reports
    }

    /// A worker that opens or closes a port, that made no round lately, or that does not say within
    /// its time is left out: nobody waits for it.
    fn ask_workers(&self, is_traced: bool) -> Vec<Report> {
        let (to, from) = bounded(self.hands.len());
        let asked = self.hands.iter().filter(|it| it.life.turns() && !it.is_opening());
        let asked = asked.inspect(|hand| hand.give(Order::Report(to.clone(), is_traced))).count();
        drop(to);
        let until = std::time::Instant::now() + REPORT;
        let said = (0..asked).map_while(|_| from.recv_deadline(until).ok());
        let mut reports: Vec<_> = said.collect();
        reports.sort_by_key(|report: &Report| report.worker);
        reports
    }

    /// Traces packets at every worker, for a while.
    ///
    /// # Errors
    /// Why not: others than the control do so now and then only.
    pub(crate) fn trace(&mut self, asker: u64, choice: Choice) -> Result<(), String> {
        let rank = match self.connections.get(&asker) {
            Some(it) if it.is_control => Rank::Control,
            Some(it) if it.is_own => Rank::Own,
            _ => Rank::Other,
        };
        let now = self.now();
        if !self.asked.takes_trace(asker, rank, now) {
            return Err("another trace is under way, or was a moment ago".to_owned());
        }
        let looks = (rank != Rank::Control).then_some(LOOKS_OF_OTHERS);
        for hand in &self.hands {
            hand.give(Order::Trace(Choice { looks, ..choice.clone() }));
        }
        Ok(())
    }

    /// Ends a trace whose time is over, or whose connection is.
    pub(crate) fn end_trace(&mut self, gone: Option<u64>) {
        let now = self.now();
        let is_over = |it: &mut (u64, Rank, Time)| Some(it.0) == gone || now >= it.2;
        if self.asked.trace.take_if(is_over).is_some() {
            self.hands.iter().for_each(|hand| hand.give(Order::EndTrace));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_traces_again_and_again_keeps_nobody_above_him_from_it() {
        let (mut asked, now) = (Asked::default(), Time::from_millis(1));
        assert!(asked.takes_trace(1, Rank::Other, now));
        assert!(!asked.takes_trace(2, Rank::Other, now), "one at a time");
        assert!(asked.takes_trace(3, Rank::Own, now), "root is not held");
        assert!(!asked.takes_trace(1, Rank::Other, now + TRACE_OF_OTHERS), "one is under way");
        asked.trace = None;
        assert!(!asked.takes_trace(4, Rank::Own, now), "not at once");
        assert!(asked.takes_trace(1, Rank::Other, now + TRACE_OF_OTHERS));
        for _ in 0..2 {
            assert!(asked.takes_trace(5, Rank::Control, now), "it may at any time");
        }
    }
}
