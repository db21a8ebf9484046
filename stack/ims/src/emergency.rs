//! Emergency calls of phones without an agreement (TS 24.229 §5.2.10): which dialogs go on in the
//! clear.

use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Calls of one address at most.
const OF_SOURCE_MAX: u32 = 16;
/// Calls at most; one that nobody has answered makes way.
const CALLS_MAX: usize = 8_192;
/// How long nobody may answer.
const UNANSWERED: Duration = Duration::from_secs(300);
/// How long a call may last.
const ANSWERED: Duration = Duration::from_secs(43_200);
/// How long copies of the last messages may come (64 x T1).
const OVER: Duration = Duration::from_secs(32);

#[derive(Debug)]
struct Call {
    source: IpAddr,
    until: Time,
    is_answered: bool,
}

/// The calls, each by a number of its Call-ID and its phone's address.
#[derive(Debug, Default)]
pub(crate) struct Emergencies {
    calls: BTreeMap<u64, Call>,
    ends: BTreeSet<(Time, u64)>,
    sources: BTreeMap<IpAddr, u32>,
}

impl Emergencies {
    pub fn knows(&self, number: u64) -> bool {
        self.calls.contains_key(&number)
    }

    /// A call begins; `false`: there are as many as may be.
    pub fn begin(&mut self, now: Time, number: u64, source: IpAddr) -> bool {
        if self.sources.get(&source).is_some_and(|count| *count >= OF_SOURCE_MAX) {
            return false;
        }
        if self.calls.len() >= CALLS_MAX {
            let first = self.ends.first().map(|(_, first)| *first);
            let is_answered = |it: &u64| self.calls.get(it).is_some_and(|call| call.is_answered);
            match first.filter(|first| !is_answered(first)) {
                Some(first) => self.remove(first),
                None => return false,
            }
        }
        let until = now + UNANSWERED;
        self.calls.insert(number, Call { source, until, is_answered: false });
        self.ends.insert((until, number));
        *self.sources.entry(source).or_default() += 1;
        true
    }

    /// It was answered.
    pub fn answered(&mut self, now: Time, number: u64) {
        if let Some(call) = self.calls.get_mut(&number).filter(|call| !call.is_answered) {
            call.is_answered = true;
            self.ends.remove(&(core::mem::replace(&mut call.until, now + ANSWERED), number));
            self.ends.insert((now + ANSWERED, number));
        }
    }

    /// An INVITE was refused: the call is over, unless it was answered before.
    pub fn failed(&mut self, now: Time, number: u64) {
        if self.calls.get(&number).is_some_and(|call| !call.is_answered) {
            self.over(now, number);
        }
    }

    /// It is over.
    pub fn over(&mut self, now: Time, number: u64) {
        if let Some(call) = self.calls.get_mut(&number) {
            let until = call.until.min(now + OVER);
            call.is_answered = false;
            self.ends.remove(&(core::mem::replace(&mut call.until, until), number));
            self.ends.insert((until, number));
        }
    }

    fn remove(&mut self, number: u64) {
        let Some(call) = self.calls.remove(&number) else { return };
        self.ends.remove(&(call.until, number));
        if let Some(count) = self.sources.get_mut(&call.source) {
            *count -= 1;
            if *count == 0 {
                self.sources.remove(&call.source);
            }
        }
    }

    pub fn tick(&mut self, now: Time) {
        while let Some((_, number)) = self.ends.first().copied().filter(|(at, _)| *at <= now) {
            self.remove(number);
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.ends.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_bounded_by_source_and_in_all_and_answered_ones_stay() {
        let mut calls = Emergencies::default();
        let source = |number: u64| IpAddr::from([10, 0, (number >> 8) as u8, number as u8]);
        for number in 0..u64::from(OF_SOURCE_MAX) {
            assert!(calls.begin(Time::ZERO, number, source(0)));
        }
        assert!(!calls.begin(Time::ZERO, 99, source(0)));
        for number in 0..16 {
            calls.answered(Time::ZERO, number);
        }
        let begin = 1_000;
        for number in begin..begin + 20_000 {
            assert!(calls.begin(Time::from_millis(1_000), number, source(number)));
        }
        assert!((0..16).all(|number| calls.knows(number)) && !calls.knows(begin));
        assert_eq!(calls.calls.len(), CALLS_MAX);
        calls.over(Time::from_millis(2_000), 3);
        calls.tick(Time::from_millis(302_000));
        assert_eq!(calls.calls.len(), 15);
        calls.tick(Time::from_millis(43_300_000));
        assert!(calls.sources.is_empty() && calls.ends.is_empty());
    }
}
