//! Rows that the nodes of a ring share, as a shard has them: what is asked of the ring, and what
//! becomes of it while that is slow or away.
//!
//! ```text
//!   ask ─→ lane of its key, one at a time ── question ─→ ring ── told ─→ answer
//!                    │ the ring is away, has too much, or fails                ↑
//!                    └─→ by what this node knows itself: copies ───────────────┘
//!                          └─→ late: told to the ring when it is there again
//! ```
//! - Each change is of a time, which the ring compares: what is told late never takes the place of
//!   what another node wrote after it.
//! - Without the ring, a put that is promised to memory stands at this node and is late; a put that
//!   is promised to the disk is refused; a question has what this node wrote itself, and fails
//!   where it wrote nothing.

use crate::asked::{Asked, Reply, What};
use crate::record::{BODY_MAX, KEY_MAX};
use crate::table::Table;
use crate::words::{ASKED, word};
use crate::{Answer, Limits, Promise, Question};
use machine::{Duration, Time};
use runtime::{Effects, PortId};
use std::collections::{BTreeMap, VecDeque};

/// Questions that the ring has not answered, at most, and their octets.
const ASKED_MAX: usize = 16_384;
const OCTETS_MAX: usize = 64 << 20;
/// What is late is told so often, so much at once.
const AGAIN: Duration = Duration::from_secs(1);
const LATE_AT_ONCE: usize = 256;
/// A failure after which nothing failed for so long is over.
const OVER: Duration = Duration::from_secs(30);

/// How the shared rows are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedStatus {
    /// Rows that this node knows.
    pub rows: usize,
    /// Octets of memory that they have.
    pub octets: usize,
    /// Questions that the ring has not answered yet.
    pub under_way: usize,
    /// Rows that the ring has yet to be told.
    pub late: usize,
    /// Questions that it has answered.
    pub answered: u64,
    /// Questions that it has not answered in time, or could not.
    pub failed: u64,
    /// Why it does not answer.
    pub trouble: Option<String>,
}

/// A question that waits in the lane of its key, or is under way at its front.
#[derive(Debug)]
struct Waiting {
    /// Nobody's: a row that is late.
    ticket: Option<u64>,
    question: Question,
    stamp: u64,
    /// In the order in which they were asked.
    serial: u64,
    /// Its number, if the ring has it.
    number: Option<u64>,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Shared {
    /// How keys of rows begin that are this node's alone.
    own: Vec<Vec<u8>>,
    port: PortId,
    copies: Table,
    lanes: BTreeMap<Vec<u8>, VecDeque<Waiting>>,
    /// The key of each question that the ring has.
    under_way: BTreeMap<u64, Vec<u8>>,
    numbers: u64,
    /// How long a question waits, whether in front or behind others of its key.
    answer_time: Duration,
    /// Until when each waits, by serial and key; some are over.
    due: VecDeque<(Time, u64, Vec<u8>)>,
    serials: u64,
    waiting: usize,
    waiting_octets: usize,
    stamp: u64,
    /// Changes that the ring has not been told: a copy, or none any more.
    late: BTreeMap<Vec<u8>, u64>,
    again: Time,
    failed_at: Time,
    words: Vec<u8>,
    answers: VecDeque<(u64, Answer)>,
    is_up: bool,
    status: SharedStatus,
}

impl Shared {
    pub fn new(limits: Limits, own: Vec<Vec<u8>>, answer_time: Duration, port: PortId) -> Self {
        Self {
            own,
            port,
            answer_time,
            due: VecDeque::new(),
            serials: 0,
            copies: Table::new(limits.rows_max, limits.octets_max),
            lanes: BTreeMap::new(),
            under_way: BTreeMap::new(),
            numbers: 0,
            waiting: 0,
            waiting_octets: 0,
            stamp: 0,
            late: BTreeMap::new(),
            again: Time::ZERO,
            failed_at: Time::ZERO,
            words: Vec::new(),
            answers: VecDeque::new(),
            is_up: false,
            status: SharedStatus::default(),
        }
    }

    pub const fn configure(&mut self, limits: Limits) {
        (self.copies.rows_max, self.copies.octets_max) = (limits.rows_max, limits.octets_max);
    }

    /// Whether a key is of a row of this node alone.
    pub fn is_own(&self, key: &[u8]) -> bool {
        self.own.iter().any(|it| key.starts_with(it))
    }

    pub fn ask(&mut self, now: Time, ticket: u64, question: Question) {
        self.stamp = (self.stamp + 1).max(now.as_micros());
        let asked =
            Waiting { ticket: Some(ticket), question, stamp: self.stamp, serial: 0, number: None };
        if asked.question.key().len() > KEY_MAX || asked.question.octets() > BODY_MAX - KEY_MAX {
            return self.answers.push_back((ticket, Answer::Failed));
        }
        let is_full = self.waiting >= ASKED_MAX || self.waiting_octets >= OCTETS_MAX;
        if !self.is_up || is_full {
            return self.by_itself(now, asked);
        }
        // What is late of the key comes before it.
        let key = asked.question.key();
        if self.late.contains_key(key) && !self.lanes.contains_key(key) {
            let key = key.to_vec();
            self.tell_late(now, &key);
        }
        self.wait(now, asked);
    }

    /// Puts a question into the lane of its key, and asks it if none is in front.
    fn wait(&mut self, now: Time, mut asked: Waiting) {
        let key = asked.question.key().to_vec();
        self.serials += 1;
        asked.serial = self.serials;
        self.due.push_back((now + self.answer_time, self.serials, key.clone()));
        self.waiting += 1;
        self.waiting_octets += asked.question.octets();
        let lane = self.lanes.entry(key.clone()).or_default();
        lane.push_back(asked);
        if lane.len() == 1 {
            self.begin(&key);
        }
    }

    /// Asks the ring what is in front of a lane.
    fn begin(&mut self, key: &[u8]) {
        let lane = self.lanes.get_mut(key);
        let Some(asked) = lane.and_then(VecDeque::front_mut) else { return };
        self.numbers += 1;
        asked.number = Some(self.numbers);
        let what = match &asked.question {
            Question::Get(key) => What::Get(key),
            Question::Take(key) => What::Take(key),
            Question::Put { key, row, until, .. } => What::Put { key, row, until: *until },
        };
        let asked = Asked { number: self.numbers, stamp: asked.stamp, what };
        word(&mut self.words, ASKED, |out| asked.write(out));
        self.under_way.insert(self.numbers, key.to_vec());
    }

    /// Nothing waits for longer than a question may: what is over it is answered without the ring,
    /// and an answer that comes later is nobody's.
    fn give_up(&mut self, now: Time) {
        while self.due.front().is_some_and(|it| it.0 <= now) {
            let Some((_, serial, key)) = self.due.pop_front() else { return };
            let is_over = |it: &Waiting| it.serial <= serial;
            // Those of a lane stand in the order of their serials.
            if !self.lanes.get(&key).and_then(VecDeque::front).is_some_and(is_over) {
                continue;
            }
            let Some(asked) = self.front(&key) else { continue };
            asked.number.inspect(|it| drop(self.under_way.remove(it)));
            self.status.failed += 1;
            self.status.trouble = Some("it does not answer in time".to_owned());
            (self.again, self.failed_at) = (now + AGAIN, now);
            self.by_itself(now, asked);
            self.begin(&key);
        }
    }

    /// The ring has answered.
    pub fn answered(&mut self, now: Time, content: &[u8]) {
        let Some((number, told)) = Reply::read(content) else { return };
        let Some(key) = self.under_way.remove(&number) else { return };
        let Some(asked) = self.front(&key) else { return };
        match told {
            Reply::Row(row) => {
                self.status.answered += 1;
                self.status.trouble = None;
                self.done(now, asked, row);
            }
            Reply::Failed(why) => {
                self.status.failed += 1;
                self.status.trouble = Some(why.to_owned());
                (self.again, self.failed_at) = (now + AGAIN, now);
                self.by_itself(now, asked);
            }
        }
        self.begin(&key);
    }

    /// Takes out what is in front of a lane.
    fn front(&mut self, key: &[u8]) -> Option<Waiting> {
        let lane = self.lanes.get_mut(key)?;
        let asked = lane.pop_front()?;
        if lane.is_empty() {
            self.lanes.remove(key);
        }
        self.waiting -= 1;
        self.waiting_octets -= asked.question.octets();
        if self.lanes.is_empty() {
            self.due.clear();
        }
        Some(asked)
    }

    fn done(&mut self, now: Time, asked: Waiting, found: Option<(&[u8], Time)>) {
        let found = found.filter(|it| it.1 > now);
        let is_later = |late: &u64| *late <= asked.stamp;
        let key = asked.question.key();
        if !matches!(asked.question, Question::Get(_)) && self.late.get(key).is_some_and(is_later) {
            self.late.remove(key);
        }
        let Some(ticket) = asked.ticket else {
            if self.under_way.len() < LATE_AT_ONCE / 2 {
                self.again = now;
            }
            return;
        };
        // What this node wrote meanwhile without the ring is later than what that has.
        if matches!(&asked.question, Question::Get(key) if self.late.contains_key(key)) {
            return self.by_itself(now, asked);
        }
        let row = match asked.question {
            Question::Put { key, row, until, .. } => {
                if !self.copies.put(&key, &row, until) {
                    self.copies.take(&key);
                }
                Some(row)
            }
            Question::Take(key) => {
                self.copies.take(&key);
                found.map(|it| it.0.to_vec())
            }
            Question::Get(key) => {
                // What another node has changed is known no longer, or anew.
                let is_known = self.copies.row(&key).is_some();
                match found {
                    None => drop(self.copies.take(&key)),
                    Some((row, until)) if is_known && !self.copies.put(&key, row, until) => {
                        self.copies.take(&key);
                    }
                    Some(_) => {}
                }
                found.map(|it| it.0.to_vec())
            }
        };
        self.answers.push_back((ticket, Answer::Row(row)));
    }

    /// Answers by what this node knows itself.
    fn by_itself(&mut self, now: Time, asked: Waiting) {
        let Some(ticket) = asked.ticket else { return };
        let has_room = self.late.len() < self.copies.rows_max;
        let answer = match asked.question {
            Question::Put { promise: Promise::Disk, .. } => Answer::Failed,
            Question::Put { key, row, until, .. } => {
                if has_room && self.copies.put(&key, &row, until) {
                    self.late.insert(key, asked.stamp);
                    Answer::Row(Some(row))
                } else {
                    Answer::Failed
                }
            }
            Question::Get(key) => match self.copies.get(now, &key) {
                Some(row) => Answer::Row(Some(row.to_vec())),
                None if self.late.contains_key(&key) => Answer::Row(None),
                None => Answer::Failed,
            },
            Question::Take(key) => {
                let stands = self.copies.get(now, &key).is_some();
                let is_known = stands || self.late.contains_key(&key);
                match has_room && is_known {
                    true => {
                        let row = self.copies.take(&key).filter(|_| stands);
                        self.late.insert(key, asked.stamp);
                        Answer::Row(row.map(<[u8]>::into_vec))
                    }
                    false => Answer::Failed,
                }
            }
        };
        self.answers.push_back((ticket, answer));
    }

    /// The ring is away: all that waits for it is answered without it.
    pub fn alone(&mut self, now: Time, why: &str) {
        self.is_up = false;
        self.words.clear();
        self.under_way.clear();
        self.due.clear();
        (self.waiting, self.waiting_octets) = (0, 0);
        self.status.trouble = Some(why.to_owned());
        for asked in core::mem::take(&mut self.lanes).into_values().flatten() {
            self.status.failed += u64::from(asked.ticket.is_some());
            self.by_itself(now, asked);
        }
    }

    pub fn flush(&mut self, now: Time, is_up: bool, out: &mut Effects) {
        match (self.is_up, is_up) {
            (true, false) => self.alone(now, "it is being opened again"),
            (false, true) => {
                self.is_up = true;
                self.status.trouble = None;
                self.again = now;
            }
            _ => {}
        }
        if !self.words.is_empty() {
            let words = core::mem::take(&mut self.words);
            out.write(self.port, |octets| octets.extend_from_slice(&words));
        }
    }

    /// Tells the ring something of what is late.
    fn tell_late(&mut self, now: Time, key: &[u8]) {
        let Some(stamp) = self.late.get(key).copied() else { return };
        let question = match self.copies.row(key) {
            None => Question::Take(key.to_vec()),
            Some((row, until)) => Question::Put {
                key: key.to_vec(),
                row: row.to_vec(),
                until,
                promise: Promise::Memory,
            },
        };
        self.wait(now, Waiting { ticket: None, question, stamp, serial: 0, number: None });
    }

    pub fn tick(&mut self, now: Time) {
        self.copies.tick(now);
        self.give_up(now);
        if self.is_up && self.failed_at + OVER <= now {
            self.status.trouble = None;
        }
        if !self.is_up || self.late.is_empty() || self.again > now {
            return;
        }
        self.again = now + AGAIN;
        let is_idle = |it: &&Vec<u8>| !self.lanes.contains_key(*it);
        let keys = self.late.keys().filter(is_idle).take(LATE_AT_ONCE);
        for key in keys.cloned().collect::<Vec<_>>() {
            self.tell_late(now, &key);
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        if !self.answers.is_empty() || !self.words.is_empty() {
            return Some(Time::ZERO);
        }
        let again = (self.is_up && !self.late.is_empty()).then_some(self.again);
        let over = (self.is_up && self.status.trouble.is_some()).then(|| self.failed_at + OVER);
        let due = self.due.front().map(|it| it.0);
        self.copies.deadline().into_iter().chain(again).chain(over).chain(due).min()
    }

    pub fn answer(&mut self) -> Option<(u64, Answer)> {
        self.answers.pop_front()
    }

    /// Rows that this node wrote whose keys begin so.
    pub fn beginning<'a>(
        &'a self,
        now: Time,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8], Time)> {
        self.copies.beginning(prefix).filter(move |it| it.2 > now)
    }

    pub fn status(&self) -> SharedStatus {
        let (rows, octets) = self.copies.len();
        SharedStatus {
            rows,
            octets,
            under_way: self.waiting,
            late: self.late.len(),
            ..self.status.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Words;
    use runtime::ChannelOrder;

    const PORT: PortId = PortId(1);
    const LIMITS: Limits = Limits { rows_max: 4, octets_max: 4_000 };
    const ANSWER: Duration = Duration::from_millis(500);
    const LATER: Time = Time::from_millis(900_000);

    /// When it is from, and what it is.
    type Standing = (u64, Option<(Vec<u8>, Time)>);

    /// A ring that does at once what it is asked, if it is there.
    #[derive(Default)]
    struct Ring {
        rows: BTreeMap<Vec<u8>, Standing>,
        is_slow: bool,
    }

    impl Ring {
        fn change(&mut self, key: &[u8], stamp: u64, row: Option<(Vec<u8>, Time)>) {
            let stands = self.rows.entry(key.to_vec()).or_default();
            if stamp >= stands.0 {
                *stands = (stamp, row);
            }
        }

        fn row(&self, key: &[u8]) -> Option<(&[u8], Time)> {
            let (row, until) = self.rows.get(key)?.1.as_ref()?;
            Some((row, *until))
        }

        /// What it says to questions.
        fn answers(&mut self, words: &[u8]) -> Vec<Vec<u8>> {
            let asked = Words(words).map(|it| Asked::read(it.1).expect("it is whole"));
            let mut answers = Vec::new();
            for asked in asked.collect::<Vec<_>>() {
                let mut out = Vec::new();
                if self.is_slow {
                    Reply::Failed("it is slow").write(asked.number, &mut out);
                } else {
                    let (What::Get(key) | What::Put { key, .. } | What::Take(key)) = asked.what;
                    let before = self.row(key).map(|it| (it.0.to_vec(), it.1));
                    let told = before.as_ref().map(|it| (&*it.0, it.1));
                    match asked.what {
                        What::Put { row, until, .. } => {
                            self.change(key, asked.stamp, Some((row.to_vec(), until)));
                            Reply::Row(None).write(asked.number, &mut out);
                        }
                        What::Take(_) => {
                            Reply::Row(told).write(asked.number, &mut out);
                            self.change(key, asked.stamp, None);
                        }
                        What::Get(_) => Reply::Row(told).write(asked.number, &mut out),
                    }
                }
                answers.push(out);
            }
            answers
        }
    }

    fn written(shared: &mut Shared, now: Time, is_up: bool) -> Vec<u8> {
        let mut out = Effects::default();
        shared.flush(now, is_up, &mut out);
        let orders = out.channels.drain(..).map(|it| match it.1 {
            ChannelOrder::Write(octets) => octets,
            other => panic!("{other:?}"),
        });
        orders.flatten().collect()
    }

    /// Lets both speak until nothing is under way.
    fn settle(shared: &mut Shared, ring: &mut Ring, now: Time) {
        loop {
            let words = written(shared, now, true);
            if words.is_empty() {
                return;
            }
            ring.answers(&words).iter().for_each(|it| shared.answered(now, it));
        }
    }

    fn put(key: &[u8], row: u8, promise: Promise) -> Question {
        Question::Put { key: key.to_vec(), row: vec![row], until: LATER, promise }
    }

    /// Questions at random of a ring that comes, goes and is slow: each is answered once, a row is
    /// what this node wrote last, and in the end the ring has it too.
    #[test]
    fn whatever_the_ring_does_each_question_is_answered_and_it_has_in_the_end_what_was_taken() {
        for seed in 1..400u64 {
            let (mut shared, mut ring) =
                (Shared::new(LIMITS, Vec::new(), ANSWER, PORT), Ring::default());
            let (mut state, mut model) = (seed, BTreeMap::<Vec<u8>, Option<Vec<u8>>>::new());
            let mut random = |most: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % most
            };
            let (mut is_up, mut asked) = (true, 0u64);
            for step in 0..60u64 {
                let now = Time::from_millis(1_000 + step * 50);
                match random(12) {
                    0 => is_up = !is_up,
                    1 => ring.is_slow = !ring.is_slow,
                    _ => {}
                }
                if is_up {
                    settle(&mut shared, &mut ring, now);
                } else {
                    let _ = written(&mut shared, now, false);
                }
                let key = vec![b'a' + u8::try_from(random(4)).unwrap_or_default()];
                let row = u8::try_from(step).unwrap_or_default();
                let promise = if random(2) == 0 { Promise::Memory } else { Promise::Disk };
                let question = match random(3) {
                    0 => Question::Get(key.clone()),
                    1 => Question::Take(key.clone()),
                    _ => put(&key, row, promise),
                };
                asked += 1;
                shared.ask(now, asked, question.clone());
                if is_up {
                    settle(&mut shared, &mut ring, now);
                }
                let (ticket, answer) = shared.answer().expect("it is answered");
                assert_eq!((ticket, shared.answer()), (asked, None), "seed {seed}");
                let stands = model.get(&key).cloned().flatten();
                match (question, answer) {
                    (_, Answer::Failed) => {}
                    (Question::Get(_), Answer::Row(row)) => assert_eq!(row, stands, "seed {seed}"),
                    (Question::Take(key), Answer::Row(row)) => {
                        assert_eq!(row, stands, "seed {seed}");
                        model.insert(key, None);
                    }
                    (Question::Put { key, row, .. }, Answer::Row(_)) => {
                        drop(model.insert(key, Some(row)));
                    }
                }
                shared.tick(now);
            }
            ring.is_slow = false;
            for step in 0..10 {
                let now = Time::from_millis(10_000 + step * 1_100);
                settle(&mut shared, &mut ring, now);
                shared.tick(now);
            }
            assert_eq!(shared.status().late, 0);
            for (key, row) in model {
                assert_eq!(ring.row(&key).map(|it| it.0.to_vec()), row, "seed {seed}");
            }
        }
    }

    #[test]
    fn what_is_told_late_does_not_take_the_place_of_what_another_node_wrote_after_it() {
        let (mut shared, mut ring) =
            (Shared::new(LIMITS, Vec::new(), ANSWER, PORT), Ring::default());
        let now = Time::from_millis(1_000);
        shared.ask(now, 1, put(b"a", 1, Promise::Memory));
        assert_eq!(shared.answer(), Some((1, Answer::Row(Some(vec![1])))));
        let after = now.as_micros() + 5;
        ring.change(b"a", after, Some((vec![9], LATER)));
        settle(&mut shared, &mut ring, now);
        shared.tick(now);
        settle(&mut shared, &mut ring, now);
        assert_eq!((ring.row(b"a"), shared.status().late), (Some((&[9][..], LATER)), 0));
        shared.ask(now, 2, Question::Get(b"a".to_vec()));
        settle(&mut shared, &mut ring, now);
        assert_eq!(shared.answer(), Some((2, Answer::Row(Some(vec![9])))));
    }

    #[test]
    fn nothing_waits_longer_than_an_answer_may_take_however_many_ask_for_one_row() {
        let mut shared = Shared::new(LIMITS, Vec::new(), ANSWER, PORT);
        let now = Time::from_millis(1_000);
        let _ = written(&mut shared, now, true);
        for n in 0..50 {
            shared.ask(now, n, Question::Get(b"a".to_vec()));
        }
        shared.ask(now, 50, put(b"a", 1, Promise::Memory));
        let words = written(&mut shared, now, true);
        assert_eq!(shared.deadline(), Some(now + ANSWER));
        shared.tick(now + ANSWER);
        let answers: Vec<_> = core::iter::from_fn(|| shared.answer()).collect();
        assert_eq!(answers.len(), 51);
        assert_eq!(answers[50], (50, Answer::Row(Some(vec![1]))), "it is told late");
        // What the ring says then is nobody's.
        let mut ring = Ring::default();
        ring.answers(&words).iter().for_each(|it| shared.answered(now + ANSWER, it));
        assert_eq!((shared.answer(), shared.status().under_way), (None, 0));
        settle(&mut shared, &mut ring, now + ANSWER + AGAIN);
        shared.tick(now + ANSWER + AGAIN);
        settle(&mut shared, &mut ring, now + ANSWER + AGAIN);
        assert_eq!(ring.row(b"a"), Some((&[1][..], LATER)));
    }

    #[test]
    fn what_waits_for_the_ring_is_bounded_and_so_is_what_it_is_told_late() {
        let mut shared = Shared::new(LIMITS, Vec::new(), ANSWER, PORT);
        let now = Time::from_millis(1_000);
        let _ = written(&mut shared, now, true);
        for n in 0..ASKED_MAX + 9 {
            shared.ask(now, n as u64, Question::Get(n.to_be_bytes().to_vec()));
        }
        assert_eq!((shared.status().under_way, shared.answers.len()), (ASKED_MAX, 9));
        shared.alone(now, "it is away");
        assert_eq!((shared.status().under_way, shared.answers.len()), (0, ASKED_MAX + 9));
        shared.answers.clear();
        for n in 0..9 {
            shared.ask(now, u64::from(n), put(&[n], n, Promise::Memory));
        }
        let taken = shared.answers.iter().filter(|it| it.1 != Answer::Failed).count();
        assert_eq!((taken, shared.status().late), (4, 4));
    }
}
