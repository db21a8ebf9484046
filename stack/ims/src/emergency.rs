//! Emergency calls of phones without an agreement (TS 24.229 §5.2.10): which dialogs go on in the
//! clear.

use crate::sources::number as number_of;
use core::cmp::Reverse;
use core::ops::Bound::{Excluded, Unbounded};
use machine::{Duration, Time};
use replica::field::{self, Fields};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Calls of one source at most: an IPv4 address, an IPv6 /64.
const OF_SOURCE_MAX: usize = 16;
/// Calls at most.
const CALLS_MAX: usize = 8_192;
/// How long the function may say nothing of a call: a transaction's.
const ASKED: Duration = Duration::from_secs(32);
/// How long nobody may answer.
const UNANSWERED: Duration = Duration::from_secs(300);
/// How long a call may last.
const ANSWERED: Duration = Duration::from_secs(43_200);
/// By how much the clock of another node may be ahead.
const AHEAD: Duration = Duration::from_secs(10);
/// How long copies of the last messages may come (64 x T1).
const OVER: Duration = Duration::from_secs(32);

mod tag {
    // 1 is the number.
    pub const SOURCE: u8 = 2;
    pub const UNTIL: u8 = 3;
    pub const STATE: u8 = 4;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The function has not said whether it takes it.
    Asked,
    /// Nobody has answered.
    Begun,
    Answered,
    /// It has ended, and does not begin again by copies of its answer.
    Over,
}

impl State {
    /// Whether nothing rings in such a call: it makes way before others.
    const fn is_idle(self) -> bool {
        matches!(self, Self::Asked | Self::Over)
    }
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
    /// Those in which nothing rings: not taken, or over. The first to end first.
    idle: BTreeSet<(Time, u64)>,
    /// The others, the first to end first.
    others: BTreeSet<(Time, u64)>,
}

/// How many calls of a source are not answered; of equals the one whose call ends first is the
/// heavier.
type Weight = (usize, Reverse<Time>, u64);

impl Source {
    fn count(&self) -> usize {
        self.answered + self.idle.len() + self.others.len()
    }

    fn weight(&self, number: u64) -> Option<Weight> {
        let (first, _) = self.others.first()?;
        Some((self.others.len(), Reverse(*first), number))
    }
}

/// The calls, each by a number of its Call-ID and its phone's address. One in which nothing rings
/// makes way first: the function has not taken it or has refused it, or it is over; then one that
/// nobody has answered: of its source where that has as many as it may, else of the source that has
/// most of these.
#[derive(Debug, Default)]
pub(crate) struct Emergencies {
    calls: BTreeMap<u64, Call>,
    ends: BTreeSet<(Time, u64)>,
    /// Those in which nothing rings, the first to end first.
    idle: BTreeSet<(Time, u64)>,
    sources: BTreeMap<u64, Source>,
    /// Those that have calls that are not answered, the heaviest last.
    heaviest: BTreeSet<Weight>,
    /// Those that changed since they were told, while anybody is told.
    changed: Vec<u64>,
    is_watched: bool,
}

impl Emergencies {
    pub fn knows(&self, number: u64) -> bool {
        self.calls.contains_key(&number)
    }

    /// A call is asked for; `false`: there are as many as may be.
    pub fn begin(&mut self, now: Time, number: u64, source: IpAddr) -> bool {
        let source = number_of(source);
        let own = self.sources.get(&source).filter(|it| it.count() >= OF_SOURCE_MAX);
        let is_full = self.calls.len() >= CALLS_MAX;
        if own.is_some() || is_full {
            let heaviest = self.heaviest.last().map(|(_, _, heaviest)| *heaviest);
            let first = match own {
                Some(own) => own.idle.first().or(own.others.first()),
                None => self.idle.first().or_else(|| self.sources.get(&heaviest?)?.others.first()),
            };
            let Some((_, first)) = first.copied() else { return false };
            let _ = self.remove(first);
        }
        self.put(number, Call { source, until: now + ASKED, state: State::Asked });
        true
    }

    /// The function has taken it; whether it had not before.
    pub fn taken(&mut self, now: Time, number: u64) -> bool {
        let is_asked = self.calls.get(&number).is_some_and(|call| call.state == State::Asked);
        if is_asked {
            self.advance(number, |call| {
                (call.state, call.until) = (State::Begun, now + UNANSWERED);
            });
        }
        is_asked
    }

    /// Its INVITE comes again: one that was refused begins anew, with credentials perhaps.
    pub fn again(&mut self, now: Time, number: u64) {
        self.advance(number, |call| {
            if call.state == State::Over {
                (call.state, call.until) = (State::Asked, now + ASKED);
            }
        });
    }

    /// It was answered.
    pub fn answered(&mut self, now: Time, number: u64) {
        self.advance(number, |call| {
            if matches!(call.state, State::Asked | State::Begun) {
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
        self.note(number, call.state);
        self.ends.insert((call.until, number));
        if call.state.is_idle() {
            self.idle.insert((call.until, number));
        }
        self.weigh(call.source, |source| match call.state {
            State::Answered => source.answered += 1,
            State::Asked | State::Over => {
                source.idle.insert((call.until, number));
            }
            State::Begun => {
                source.others.insert((call.until, number));
            }
        });
        self.calls.insert(number, call);
    }

    fn remove(&mut self, number: u64) -> Option<Call> {
        let call = self.calls.remove(&number)?;
        self.note(number, call.state);
        self.ends.remove(&(call.until, number));
        self.idle.remove(&(call.until, number));
        self.weigh(call.source, |source| match call.state {
            State::Answered => source.answered -= 1,
            State::Asked | State::Over => {
                source.idle.remove(&(call.until, number));
            }
            State::Begun => {
                source.others.remove(&(call.until, number));
            }
        });
        Some(call)
    }

    /// Of calls that the function has not taken nobody is told: their INVITE comes again.
    fn note(&mut self, number: u64, state: State) {
        if self.is_watched && state != State::Asked {
            self.changed.push(number);
        }
    }

    /// Notes which calls change from now on, or no more.
    pub fn watch(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
        self.changed.clear();
    }

    /// Those that changed since this was asked last, each once.
    pub fn take_changed(&mut self) -> Vec<u64> {
        let mut changed = core::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// As many after that one count as changed; the last of them.
    pub fn touch(&mut self, after: Option<u64>, most: usize) -> Option<u64> {
        let from = after.map_or(Unbounded, Excluded);
        let before = self.changed.len();
        self.changed.extend(self.calls.range((from, Unbounded)).take(most).map(|(it, _)| *it));
        self.changed.get(before..).and_then(|added| added.last().copied())
    }

    /// Appends a call; `false`: there is none.
    pub fn write(&self, number: u64, out: &mut Vec<u8>) -> bool {
        let call = self.calls.get(&number).filter(|call| call.state != State::Asked);
        let Some(call) = call else { return false };
        field::number(out, tag::SOURCE, call.source);
        field::number(out, tag::UNTIL, call.until.as_nanos());
        field::number(out, tag::STATE, call.state as u64);
        true
    }

    /// Takes a call as another node has written it; without a source it is gone. Of more than there
    /// may be the last ones are not taken, and none lasts longer than it may.
    pub fn read(&mut self, now: Time, number: u64, fields: &[u8]) {
        self.remove(number);
        let find = |wanted| Fields::new(fields).find(|(tag, _)| *tag == wanted);
        let [source, until, state] = [tag::SOURCE, tag::UNTIL, tag::STATE]
            .map(|tag| find(tag).map(|(_, value)| field::read(value)));
        let (Some(source), Some(until)) = (source, until) else { return };
        if self.calls.len() >= CALLS_MAX {
            return;
        }
        let states = [State::Asked, State::Begun, State::Answered, State::Over];
        let state = states.into_iter().find(|it| Some(*it as u64) == state);
        let state = state.unwrap_or(State::Over);
        let until = Time::from_nanos(until).min(now + ANSWERED + AHEAD);
        self.put(number, Call { source, until, state });
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self { is_watched: self.is_watched, ..Self::default() };
    }

    /// Changes a source, and its place among the others.
    fn weigh(&mut self, number: u64, change: impl FnOnce(&mut Source)) {
        let source = self.sources.entry(number).or_default();
        if let Some(weight) = source.weight(number) {
            self.heaviest.remove(&weight);
        }
        change(source);
        let weight = source.weight(number);
        let is_empty = source.count() == 0;
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
        assert!(calls.idle.is_empty());
    }

    #[test]
    fn calls_that_the_function_has_not_taken_push_out_none_that_ring() {
        let mut calls = Emergencies::default();
        for number in 0..3 {
            assert!(calls.begin(Time::ZERO, number, address(0)));
            assert!(calls.taken(Time::ZERO, number) && !calls.taken(Time::ZERO, number));
        }
        for number in 10..10 + 2 * CALLS_MAX as u64 {
            let source = IpAddr::from([11, 0, (number >> 8) as u8, number as u8]);
            assert!(calls.begin(Time::ZERO, number, source));
        }
        for number in 20_000..20_020 {
            assert!(calls.begin(Time::ZERO, number, address(0)), "of its own source, too");
        }
        assert!((0..3).all(|number| calls.knows(number)));
        calls.tick(Time::ZERO + ASKED);
        assert_eq!(calls.calls.len(), 3, "and they are soon forgotten");
    }

    #[test]
    fn calls_that_were_refused_or_are_over_push_out_none_that_ring() {
        let mut calls = Emergencies::default();
        for number in 0..3 {
            assert!(calls.begin(Time::ZERO, number, address(0)));
            assert!(calls.taken(Time::ZERO, number));
        }
        for number in 10..10 + 2 * CALLS_MAX as u64 {
            let source = IpAddr::from([11, 0, (number >> 8) as u8, number as u8]);
            assert!(calls.begin(Time::ZERO, number, source));
            assert!(number % 2 == 0 || calls.taken(Time::ZERO, number));
            calls.failed(Time::ZERO, number);
        }
        for number in 20_000..20_020 {
            assert!(calls.begin(Time::ZERO, number, address(0)), "of its own source, too");
            calls.failed(Time::ZERO, number);
        }
        assert!((0..3).all(|number| calls.knows(number)));
        assert!(calls.knows(20_019), "its ACK comes through");
    }

    #[test]
    fn what_another_node_tells_is_bounded_in_number_and_in_time() {
        let told = |number: u64| {
            let mut calls = Emergencies::default();
            let until = Time::MAX;
            calls.put(number, Call { source: number, until, state: State::Answered });
            let mut fields = Vec::new();
            assert!(calls.write(number, &mut fields));
            fields
        };
        let (mut calls, now) = (Emergencies::default(), Time::from_millis(5));
        for number in 0..CALLS_MAX as u64 + 9 {
            calls.read(now, number, &told(number));
        }
        assert_eq!(calls.calls.len(), CALLS_MAX);
        calls.read(now, 3, &told(3));
        assert!(calls.knows(3), "of one that it has it hears more");
        calls.tick(now + ANSWERED + AHEAD);
        assert_eq!(calls.calls.len(), 0);
    }

    #[test]
    fn the_heaviest_source_makes_way_and_an_ipv6_network_is_one() {
        let mut calls = Emergencies::default();
        let inside = |host: u64| {
            let network = 0x2001_0db8_u128 << 96;
            IpAddr::from((network | u128::from(host)).to_be_bytes())
        };
        assert!(calls.begin(Time::ZERO, 1, address(1)) && calls.taken(Time::ZERO, 1), "it rings");
        for number in 100..200 {
            assert!(calls.begin(Time::from_millis(number), number, inside(number)));
        }
        assert_eq!(calls.calls.len(), 17, "one network has no more than another source");
        for number in 0..CALLS_MAX as u64 {
            let source = IpAddr::from([11, 0, (number >> 9) as u8, (number >> 1) as u8]);
            assert!(calls.begin(Time::from_millis(1_000), 1_000 + number, source));
            assert!(calls.taken(Time::from_millis(1_000), 1_000 + number));
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
