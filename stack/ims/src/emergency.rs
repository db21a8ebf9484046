//! Emergency calls of phones without an agreement (TS 24.229 §5.2.10): which dialogs go on in the
//! clear.

use crate::sources::number as number_of;
use core::cmp::Reverse;
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Calls of one source at most: an IPv4 address, an IPv6 /64.
const OF_SOURCE_MAX: usize = 16;
/// Calls at most.
const CALLS_MAX: usize = 8_192;
/// How long nobody may answer.
const UNANSWERED: Duration = Duration::from_secs(300);
/// How long a call may last.
const ANSWERED: Duration = Duration::from_secs(43_200);
/// How long copies of the last messages may come (64 x T1).
const OVER: Duration = Duration::from_secs(32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nobody has answered.
    Begun,
    Answered,
    /// It has ended, and does not begin again by copies of its answer.
    Over,
}

#[derive(Debug)]
struct Call {
    source: u64,
    until: Time,
    state: State,
}

/// The calls of a source.
#[derive(Debug, Default)]
struct Source {
    answered: usize,
    /// The others, the first to end first: those that are over, then the oldest.
    others: BTreeSet<(Time, u64)>,
}

/// How many calls of a source are not answered; of equals the one whose call ends first is the
/// heavier.
type Weight = (usize, Reverse<Time>, u64);

impl Source {
    fn weight(&self, number: u64) -> Option<Weight> {
        let (first, _) = self.others.first()?;
        Some((self.others.len(), Reverse(*first), number))
    }
}

/// The calls, each by a number of its Call-ID and its phone's address. One that nobody has
/// answered, or that is over, makes way: of its source where that has as many as it may, else of
/// the source that has most of these.
#[derive(Debug, Default)]
pub(crate) struct Emergencies {
    calls: BTreeMap<u64, Call>,
    ends: BTreeSet<(Time, u64)>,
    sources: BTreeMap<u64, Source>,
    /// Those that have calls that are not answered, the heaviest last.
    heaviest: BTreeSet<Weight>,
}

impl Emergencies {
    pub fn knows(&self, number: u64) -> bool {
        self.calls.contains_key(&number)
    }

    /// A call begins; `false`: there are as many as may be.
    pub fn begin(&mut self, now: Time, number: u64, source: IpAddr) -> bool {
        let source = number_of(source);
        let own = self.sources.get(&source);
        let is_full = own.is_some_and(|it| it.answered + it.others.len() >= OF_SOURCE_MAX);
        let way = match (is_full, self.calls.len() >= CALLS_MAX) {
            (true, _) => Some(source),
            (false, true) => self.heaviest.last().map(|(_, _, heaviest)| *heaviest),
            (false, false) => None,
        };
        if is_full || self.calls.len() >= CALLS_MAX {
            let first = way.and_then(|way| self.sources.get(&way)?.others.first().copied());
            let Some((_, first)) = first else { return false };
            let _ = self.remove(first);
        }
        self.put(number, Call { source, until: now + UNANSWERED, state: State::Begun });
        true
    }

    /// Its INVITE comes again: one that was refused begins anew, with credentials perhaps.
    pub fn again(&mut self, now: Time, number: u64) {
        self.advance(number, |call| {
            if call.state == State::Over {
                (call.state, call.until) = (State::Begun, now + UNANSWERED);
            }
        });
    }

    /// It was answered.
    pub fn answered(&mut self, now: Time, number: u64) {
        self.advance(number, |call| {
            if call.state == State::Begun {
                (call.state, call.until) = (State::Answered, now + ANSWERED);
            }
        });
    }

    /// An INVITE was refused: the call is over, unless it was answered before.
    pub fn failed(&mut self, now: Time, number: u64) {
        if self.calls.get(&number).is_some_and(|call| call.state != State::Answered) {
            self.over(now, number);
        }
    }

    /// It is over.
    pub fn over(&mut self, now: Time, number: u64) {
        self.advance(number, |call| {
            (call.state, call.until) = (State::Over, call.until.min(now + OVER));
        });
    }

    fn advance(&mut self, number: u64, change: impl FnOnce(&mut Call)) {
        if let Some(mut call) = self.remove(number) {
            change(&mut call);
            self.put(number, call);
        }
    }

    fn put(&mut self, number: u64, call: Call) {
        self.ends.insert((call.until, number));
        self.weigh(call.source, |source| match call.state {
            State::Answered => source.answered += 1,
            State::Begun | State::Over => {
                source.others.insert((call.until, number));
            }
        });
        self.calls.insert(number, call);
    }

    fn remove(&mut self, number: u64) -> Option<Call> {
        let call = self.calls.remove(&number)?;
        self.ends.remove(&(call.until, number));
        self.weigh(call.source, |source| match call.state {
            State::Answered => source.answered -= 1,
            State::Begun | State::Over => {
                source.others.remove(&(call.until, number));
            }
        });
        Some(call)
    }

    /// Changes a source, and its place among the others.
    fn weigh(&mut self, number: u64, change: impl FnOnce(&mut Source)) {
        let source = self.sources.entry(number).or_default();
        if let Some(weight) = source.weight(number) {
            self.heaviest.remove(&weight);
        }
        change(source);
        let weight = source.weight(number);
        let is_empty = source.answered == 0 && weight.is_none();
        self.heaviest.extend(weight);
        if is_empty {
            self.sources.remove(&number);
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

    fn address(number: u64) -> IpAddr {
        IpAddr::from([10, 0, (number >> 8) as u8, number as u8])
    }

    #[test]
    fn calls_are_bounded_by_source_and_in_all_and_answered_ones_stay() {
        let mut calls = Emergencies::default();
        for number in 0..17 {
            assert!(calls.begin(Time::ZERO, number, address(0)), "its oldest makes way");
        }
        assert!(!calls.knows(0) && calls.calls.len() == 16);
        for number in 1..17 {
            calls.answered(Time::ZERO, number);
        }
        assert!(!calls.begin(Time::ZERO, 99, address(0)), "answered ones make no way");
        let begin = 1_000;
        for number in begin..begin + 20_000 {
            assert!(calls.begin(Time::from_millis(number), number, address(number)));
        }
        assert!((1..17).all(|number| calls.knows(number)) && !calls.knows(begin));
        assert_eq!(calls.calls.len(), CALLS_MAX);
        calls.over(Time::from_millis(30_000), 3);
        calls.answered(Time::from_millis(30_000), 3);
        calls.tick(Time::from_millis(330_000));
        assert_eq!(calls.calls.len(), 15, "one that is over is not answered again");
        assert!(calls.begin(Time::from_millis(330_000), 30, address(30)));
        calls.failed(Time::from_millis(330_000), 30);
        calls.again(Time::from_millis(330_000), 30);
        calls.answered(Time::from_millis(330_000), 30);
        calls.tick(Time::from_millis(700_000));
        assert!(calls.knows(30), "unless its INVITE has come again");
        calls.tick(Time::from_millis(44_000_000));
        assert!(calls.sources.is_empty() && calls.ends.is_empty() && calls.heaviest.is_empty());
    }

    #[test]
    fn the_heaviest_source_makes_way_and_an_ipv6_network_is_one() {
        let mut calls = Emergencies::default();
        let inside = |host: u64| {
            let network = 0x2001_0db8_u128 << 96;
            IpAddr::from((network | u128::from(host)).to_be_bytes())
        };
        assert!(calls.begin(Time::ZERO, 1, address(1)), "this one rings");
        for number in 100..200 {
            assert!(calls.begin(Time::from_millis(number), number, inside(number)));
        }
        assert_eq!(calls.calls.len(), 17, "one network has no more than another source");
        for number in 0..CALLS_MAX as u64 {
            let source = IpAddr::from([11, 0, (number >> 9) as u8, (number >> 1) as u8]);
            assert!(calls.begin(Time::from_millis(1_000), 1_000 + number, source));
        }
        assert!(calls.knows(1), "who calls once makes no way for who calls often");
        // Though an answered one is the next to end, others make way.
        for number in 0..CALLS_MAX as u64 {
            calls.answered(Time::ZERO, 1_000 + number);
        }
        calls.begin(Time::from_millis(43_000_000), 7, address(7));
        assert!(calls.begin(Time::from_millis(43_000_000), 8, address(8)));
    }
}
