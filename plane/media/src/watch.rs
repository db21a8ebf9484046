//! What is told of flows, and when: each is looked at once in [`ROUND`], and at once when a worker
//! noted something. What a flow has to tell is one notice, however much it is; what there is no
//! budget for waits in the flow, and becomes part of a later notice. A flow that is said again
//! tells what passed there: so a control asks for figures of now.

use crate::cell::Known;
use crate::peer::Peer;
use crate::program::StreamStatistics;
use crate::program::{FEATURE, FlowSaid, Name, Notice, Place, Snapshot, Statistics};
use crate::rows::Rows;
use crate::table::Table;
use core::net::SocketAddr;
use machine::{Duration, Time, narrow};
use nodes::Out;
use nodes::program::Item;
use srtp::{Past, Sender, StreamState};

/// The time in which every flow is looked at once.
pub const ROUND: Duration = Duration::from_secs(1);
/// Time between two notices with what passed; in its first seconds a flow is told of with each
/// [`ROUND`], and so is every flow while there are few.
pub const STATISTICS: Duration = Duration::from_secs(5);
/// Flows of which a person may look at each: rates of their packets are of single seconds.
const FEW: usize = 200;
/// Notices that are told in a second at most.
pub const NOTICES_PER_S: u32 = 4_000;
/// Of them, those that have nothing for a standby: the others come before them.
const OTHERS_PER_S: u32 = NOTICES_PER_S / 2;
/// Flows whose statistics are told in a second: with more flows they are told less often.
const STATISTICS_PER_S: u64 = 1_000;
/// Indices after which a standby is told at once how far a sender is. Further than
/// `srtp::UNAPPLIED_MAX`, four times as many, one of a pair does not go before that is applied.
pub const STEP: u32 = srtp::UNAPPLIED_MAX / 4;
/// Packets that come one way only, for so long.
pub const ONE_WAY: Duration = Duration::from_secs(5);
/// Flows that are looked at in one tick at most.
const LOOKS_MAX: usize = 4_096;

/// What was told of a flow.
#[derive(Debug, Clone)]
struct Reported {
    /// Milliseconds without a packet that are told; 0: never.
    timeout_ms: u32,
    /// Since when packets are awaited.
    since: Time,
    counted: Time,
    packets: u64,
    unprotected: u64,
    latched: Option<Peer>,
    /// What a standby knows of SRTP; `None`: nothing.
    far: Option<Box<Far>>,
    /// A control that was told nothing is there: it has to know all at once.
    is_forgotten: bool,
    is_timed_out: bool,
    is_one_way: bool,
    /// It was said again: what passed is told at once.
    is_asked: bool,
}

/// How far SRTP is, as a standby knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Far {
    /// The sum of all indices, and of how many streams.
    indices: (u64, usize),
    past: Option<Past>,
}

/// How many notices may be told in this second.
#[derive(Debug, Clone, Copy, Default)]
struct Budget {
    began: Time,
    told: u32,
}

impl Budget {
    fn renew(&mut self, now: Time) {
        if now.since(self.began) >= Duration::from_secs(1) {
            *self = Self { began: now, told: 0 };
        }
    }

    const fn is_left(&self) -> bool {
        self.told < NOTICES_PER_S
    }

    /// Whether something may be told that no standby has to know.
    const fn is_left_for_others(&self) -> bool {
        self.told < OTHERS_PER_S
    }
}

/// Who looks at flows.
#[derive(Default)]
pub(crate) struct Watch {
    /// By number.
    told: Vec<Option<Reported>>,
    flows: usize,
    /// The next number to be looked at.
    next: usize,
    looked: Time,
    budget: Budget,
    /// The number of the last notice with something for a standby.
    number: u64,
    /// Up to which number they are applied there; `None`: nobody follows.
    applied: Option<u64>,
    /// Flows whose source is another one.
    turned: Vec<u32>,
    /// Flows that were said again.
    asked: Vec<u32>,
    /// What is told of flows that are gone.
    last: Vec<(Place, Notice)>,
}

/// Notices of flows that are gone that may wait.
const LAST_MAX: usize = 1 << 16;
/// Flows that were said again and are looked at before the others; more wait for their round.
const ASKED_MAX: usize = 1 << 10;

impl Watch {
    pub fn begin(&mut self, number: u32, said: &FlowSaid, now: Time) {
        let number = number as usize;
        if self.told.len() <= number {
            if self.told.len() == self.told.capacity() {
                // By less than twice as much: there may be very many.
                self.told.reserve_exact(self.told.len() / 8 + 64);
            }
            self.told.resize(number + 1, None);
        }
        self.flows += 1;
        self.told[number] = Some(Reported {
            timeout_ms: timeout_ms(said),
            since: now,
            counted: now,
            packets: 0,
            unprotected: 0,
            latched: said.resume.as_ref().and_then(|it| it.latched).map(Peer::from),
            far: None,
            is_forgotten: false,
            is_timed_out: false,
            is_one_way: false,
            is_asked: false,
        });
    }

    /// Who may take over has applied all notices up to a number; `None`: nobody may.
    pub const fn applied(&mut self, number: Option<u64>) {
        self.applied = number;
    }

    /// Nobody knows what was told.
    pub fn forget_reports(&mut self) {
        for told in self.told.iter_mut().flatten() {
            told.is_forgotten = true;
            (told.is_timed_out, told.is_one_way) = (false, false);
        }
    }

    pub fn change(&mut self, number: u32, said: &FlowSaid) {
        if let Some(Some(told)) = self.told.get_mut(number as usize) {
            told.timeout_ms = timeout_ms(said);
            if let Some(source) = said.resume.as_ref().and_then(|it| it.latched) {
                told.latched = Some(source.into());
            }
            if !told.is_asked && self.asked.len() < ASKED_MAX {
                told.is_asked = true;
                self.asked.push(number);
            }
        }
    }

    /// Packets come here from now on, that came to another forwarder before.
    pub fn take_over(&mut self, table: &Table, now: Time) {
        while let Some(number) = table.noted() {
            forget(table, number);
        }
        self.last.clear();
        for told in self.told.iter_mut().flatten() {
            (told.since, told.counted) = (now, now);
            (told.is_timed_out, told.is_one_way) = (false, false);
        }
    }

    /// A flow is gone: what passed is told a last time.
    pub fn end(&mut self, number: u32, at: Place, known: Option<Known>, now: Time) {
        let told = self.told.get_mut(number as usize).and_then(Option::take);
        let (Some(told), Some(mut known)) = (told, known) else { return };
        self.flows -= 1;
        if self.last.len() < LAST_MAX {
            let statistics = Some(statistics(&known, told.since, now));
            let mut notice = Notice { statistics, ..Notice::default() };
            notice.unprotected = known.unprotected() - told.unprotected;
            if let Some(extras) = &mut known.extras {
                extras.tick(Time::MAX, known.flow.settings().clock);
                notice.digits = std::mem::take(&mut extras.dialled);
            }
            self.last.push((at, notice));
        }
    }

    /// Looks at what is due; the flows whose source is another one since.
    pub fn tick(&mut self, table: &Table, rows: &Rows, now: Time, out: &mut Vec<Out>) -> Vec<u32> {
        self.budget.renew(now);
        while let Some(number) = table.noted() {
            if !self.budget.is_left() {
                // The round comes by it.
                forget(table, number);
                break;
            }
            self.look(table, rows, number as usize, now, out);
        }
        while self.budget.is_left_for_others()
            && let Some((at, notice)) = self.last.pop()
        {
            self.tell(at, &notice, out);
        }
        while self.budget.is_left_for_others()
            && let Some(number) = self.asked.pop()
        {
            self.look(table, rows, number as usize, now, out);
        }
        for _ in 0..self.due(now) {
            if !self.budget.is_left() {
                // The round goes on here when there is more.
                break;
            }
            let number = self.next;
            self.next = (number + 1) % self.told.len().max(1);
            self.look(table, rows, number, now, out);
        }
        std::mem::take(&mut self.turned)
    }

    fn tell(&mut self, at: Place, notice: &Notice, out: &mut Vec<Out>) {
        if !notice.is_empty() {
            self.budget.told += 1;
            let key = Name::Flow(at).key();
            out.push(Out::Item(Item { feature: FEATURE.to_owned(), key, value: notice.value() }));
        }
    }

    /// How many numbers are to be looked at now.
    fn due(&mut self, now: Time) -> usize {
        let passed = now.since(self.looked).min(ROUND);
        let share = narrow::nanos(passed).saturating_mul(self.told.len() as u64);
        let due = usize::try_from(share / narrow::nanos(ROUND)).unwrap_or(LOOKS_MAX);
        if due > 0 || self.told.is_empty() {
            self.looked = now;
        }
        due.min(LOOKS_MAX)
    }

    /// Looks at a flow, and tells what there is.
    fn look(&mut self, table: &Table, rows: &Rows, number: usize, now: Time, out: &mut Vec<Out>) {
        let which = narrow::place(number);
        let Some(Some(told)) = self.told.get_mut(number) else { return };
        let (Some(cell), Some(row)) = (table.cell(which), rows.row(which)) else { return };
        let mut held = cell.hold();
        let Some(known) = held.as_mut() else { return };
        known.is_noted = false;
        let mut notice = Notice::default();
        // What waits becomes part of a later notice.
        let is_whole = self.budget.is_left_for_others();
        if is_whole {
            told.rest(known, now, Pace::of(self.flows), &mut notice);
        }
        let passed = *known.flow.passed();
        let receiver = known.receiver.as_deref();
        let receive: Vec<StreamState> =
            receiver.into_iter().flat_map(srtp::Receiver::streams).collect();
        let latched = known.flow.latched().source();
        let sender = known.sender;
        let other = known.way.map(|way| way.to);
        let is_new = latched != told.latched || told.is_forgotten;
        notice.latched = latched.filter(|_| is_new).map(SocketAddr::from);
        let is_heard = passed.packets > 0 && now.since(passed.last) < ONE_WAY;
        drop(held);
        let (send, past, untold) = streams(table, sender, self.applied);
        let is_taken = latched != told.latched;
        told.latched = latched;
        let latched = latched.map(SocketAddr::from);
        let is_due = is_taken || untold >= STEP;
        told.snapshot(Snapshot { latched, receive, send, past }, is_due, &mut notice);
        if notice.snapshot.is_some() {
            self.number += 1;
            notice.number = self.number;
            with_sender(table, sender, |sender| sender.reported(self.number, untold));
        }
        match (is_whole, is_heard) {
            (true, true) => told.one_way(table, other, now, &mut notice),
            (true, false) => told.is_one_way = false,
            (false, _) => {}
        }
        self.turned.extend(notice.latched.map(|_| which));
        self.tell(row.at, &notice, out);
    }
}

fn timeout_ms(said: &FlowSaid) -> u32 {
    said.timeout.map_or(0, |timeout| narrow::at_most(narrow::millis(timeout), u32::MAX))
}

/// How far the streams of a sender are, its past, and how much of it was not told.
fn streams(
    table: &Table,
    sender: u32,
    applied: Option<u64>,
) -> (Vec<StreamState>, Option<Past>, u32) {
    let all = |it: &mut Sender| {
        it.applied(applied.unwrap_or(u64::MAX));
        // Who is looked at now may want to be looked at again.
        it.unnoted();
        (it.streams().collect(), it.past(), it.untold())
    };
    with_sender(table, sender, all).unwrap_or_default()
}

/// Does something with a sender, if there is one of that number.
fn with_sender<T>(table: &Table, sender: u32, with: impl FnOnce(&mut Sender) -> T) -> Option<T> {
    if sender >= crate::cell::CLEAR {
        return None;
    }
    table.sender(sender)?.as_mut().map(with)
}

/// A flow is noted no more though it was not told.
fn forget(table: &Table, number: u32) {
    let Some(cell) = table.cell(number) else { return };
    let mut held = cell.hold();
    let Some(known) = held.as_mut() else { return };
    known.is_noted = false;
    let sender = known.sender;
    drop(held);
    with_sender(table, sender, Sender::unnoted);
}

/// Time between two notices with what passed.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Of a flow in its first seconds.
    young: Duration,
    settled: Duration,
}

impl Pace {
    fn of(flows: usize) -> Self {
        let young = Duration::from_secs(flows as u64 / STATISTICS_PER_S).max(ROUND);
        Self { young, settled: if flows <= FEW { ROUND } else { young.max(STATISTICS) } }
    }
}

impl Reported {
    /// What no standby has to know.
    fn rest(&mut self, known: &mut Known, now: Time, pace: Pace, notice: &mut Notice) {
        self.silence(known, now, notice);
        notice.unprotected = known.unprotected() - self.unprotected;
        self.unprotected = known.unprotected();
        if let Some(extras) = &mut known.extras {
            extras.tick(now, known.flow.settings().clock);
            notice.digits = std::mem::take(&mut extras.dialled);
        }
        let passed = known.flow.passed();
        let count = passed.packets + passed.reports + passed.dropped;
        // What a flow begins with is told at once, for a call may be short or be looked at.
        let every = match () {
            () if self.packets == 0 => ROUND,
            () if now.since(self.since) < STATISTICS => pace.young,
            () => pace.settled,
        };
        let is_due = self.packets != count && now.since(self.counted) >= every;
        if is_due {
            (self.packets, self.counted) = (count, now);
        }
        if std::mem::take(&mut self.is_asked) || is_due {
            notice.statistics = Some(statistics(known, self.since, now));
        }
    }

    /// Whether packets come.
    fn silence(&mut self, known: &Known, now: Time, notice: &mut Notice) {
        let passed = known.flow.passed();
        let last = passed.last.max(self.since);
        let timeout = Duration::from_millis(self.timeout_ms.into());
        let is_silent = self.timeout_ms > 0 && now.since(last) >= timeout;
        notice.timed_out = is_silent && !self.is_timed_out;
        notice.is_back = !is_silent && self.is_timed_out;
        self.is_timed_out = is_silent;
    }

    /// Whether none comes to the flow of the other side.
    fn one_way(&mut self, table: &Table, other: Option<u32>, now: Time, notice: &mut Notice) {
        let held = other.and_then(|other| table.cell(other)).map(crate::cell::Cell::hold);
        let other = held.as_ref().and_then(|held| held.as_ref());
        let is_one_way = other.is_some_and(|other| {
            let passed = other.flow.passed();
            let is_silent = now.since(passed.last.max(self.since)) >= ONE_WAY;
            other.flow.settings().is_active && is_silent
        });
        notice.one_way = is_one_way && !self.is_one_way;
        self.is_one_way = is_one_way;
    }

    /// What a standby has to know, if it changed by enough.
    fn snapshot(&mut self, snapshot: Snapshot, is_due: bool, notice: &mut Notice) {
        let of = |stream: &StreamState| {
            stream
                .highest
                .map_or(0, |it| it.number())
                .saturating_add(stream.rtcp.unwrap_or(0).into())
        };
        let all = || snapshot.receive.iter().chain(&snapshot.send);
        let sum = all().map(of).fold(0, u64::saturating_add);
        let indices = (sum, all().count());
        let (before, past) = self.far.as_ref().map_or(((0, 0), &None), |it| (it.indices, &it.past));
        let is_far = sum >= before.0.saturating_add(STEP.into()) || sum < before.0;
        let is_new = indices.1 != before.1 || snapshot.past != *past;
        let is_forgotten =
            std::mem::take(&mut self.is_forgotten) && snapshot != Snapshot::default();
        if is_due || is_far || is_new || is_forgotten {
            let far = Far { indices, past: snapshot.past.clone() };
            self.far = (far != Far::default()).then(|| Box::new(far));
            notice.snapshot = Some(snapshot);
        }
    }
}

/// What passed at a flow.
fn statistics(known: &Known, since: Time, now: Time) -> Statistics {
    let passed = known.flow.passed();
    let has_passed = passed.packets + passed.reports > 0;
    let stream = known.flow.stream().map(|stream| {
        let figures = stream.figures();
        StreamStatistics {
            ssrc: stream.ssrc(),
            expected: figures.expected,
            received: figures.received,
            lost: figures.lost,
            duplicates: figures.duplicates,
            reordered: figures.reordered,
            jitter: figures.jitter,
            round_trip_us: figures
                .round_trip
                .map_or(0, |it| narrow::at_most(narrow::micros(it), u32::MAX)),
        }
    });
    Statistics {
        packets: passed.packets,
        octets: passed.octets,
        reports: passed.reports,
        dropped: passed.dropped,
        unprotected: known.unprotected(),
        idle_ms: has_passed.then(|| narrow::millis(now.since(passed.last))),
        age_ms: narrow::millis(now.since(since)),
        stream,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_goes_on_where_its_budget_ended() {
        let now = Time::from_millis(1_000);
        let budget = |told| Budget { began: now, told };
        let mut watch = Watch { told: vec![None; 10], looked: now, ..Watch::default() };
        let table = Table::new();
        watch.budget = budget(NOTICES_PER_S);
        watch.tick(&table, &Rows::default(), now + Duration::from_millis(500), &mut Vec::new());
        assert_eq!(watch.next, 0);
        watch.budget = budget(NOTICES_PER_S - 1);
        watch.tick(&table, &Rows::default(), now + Duration::from_millis(900), &mut Vec::new());
        assert_eq!(watch.next, 4);
    }
}
