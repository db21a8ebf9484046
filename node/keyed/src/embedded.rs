//! Rows in memory, and what writes them down behind: a journal, or a ring for the rows of one node.

use crate::pair::{CHANGE_MAX, Change, Pair, Took};
use crate::promises::Promises;
use crate::record::{KEY_MAX, Record};
use crate::table::Table;
use crate::words::{
    LOG, OPENED, REFUSED, ROW, SNAPSHOT, STOOD, SYNC_NOW, SYNC_SOON, SYNCED, TAKEN, TERM, WANTED,
    WHOLE, Words, number, number_of, refusal_of, word,
};
use crate::{Answer, Limits, Promise, Question, Status};
use channel::Connect;
use machine::{Duration, Time};
use runtime::{ChannelEvent, Effects, In, Mirrored, PortId};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// A journal that could not be opened or written is opened again so soon.
const AGAIN: Duration = Duration::from_secs(5);
/// Rows of a snapshot that are told in one turn, and their octets.
const ROWS_PER_TURN: usize = 512;
const ROW_OCTETS_PER_TURN: usize = 1 << 20;
/// Octets that are not on disk yet from which on no more of a snapshot is told.
const SNAPSHOT_AHEAD: u64 = 8 << 20;
/// Octets that are not on disk yet from which on nothing more is promised to it.
const UNSYNCED_MAX: u64 = 64 << 20;
/// Octets that are not on disk yet from which on it counts as one that cannot be written: they wait
/// in memory, and what is promised to that goes on.
const GIVEN_UP: u64 = 2 * UNSYNCED_MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Without a journal.
    Alone,
    /// To be opened then.
    Shut(Time),
    /// The thread reads what stands.
    Opening,
    Open,
}

/// Rows in memory, written down behind.
#[derive(Debug)]
pub(crate) struct Embedded {
    table: Table,
    journal: Option<Arc<dyn Connect>>,
    port: PortId,
    state: State,
    /// What stood was read once: memory knows better than the disk from then on.
    is_known: bool,
    answers: VecDeque<(u64, Answer)>,
    promises: Promises,
    /// Keys of which the disk may have rows that were refused.
    refused: BTreeSet<Box<[u8]>>,
    /// Words that the thread is told at the end of the step.
    words: Vec<u8>,
    is_urgent: bool,
    written: u64,
    synced: u64,
    /// A snapshot is wanted, or under way from behind a key.
    snapshot: Option<Option<Arc<[u8]>>>,
    trouble: Option<String>,
    /// Rows that were refused are written anew up to this mark.
    again: Option<u64>,
    unread: u64,
    /// The other node, if this is one of a pair.
    pair: Option<Box<Pair>>,
}

impl Embedded {
    /// Rows on a channel of that number; without a journal they are forgotten with the process.
    pub fn new(limits: Limits, journal: Option<Arc<dyn Connect>>, port: PortId, now: Time) -> Self {
        Self {
            table: Table::new(limits.rows_max, limits.octets_max),
            state: if journal.is_some() { State::Shut(now) } else { State::Alone },
            is_known: journal.is_none(),
            journal,
            port,
            answers: VecDeque::new(),
            promises: Promises::default(),
            refused: BTreeSet::new(),
            words: Vec::new(),
            is_urgent: false,
            written: 0,
            synced: 0,
            snapshot: None,
            trouble: None,
            again: None,
            unread: 0,
            pair: None,
        }
    }

    /// Takes other limits. What stands beyond them stays until its time is over.
    pub const fn configure(&mut self, limits: Limits) {
        (self.table.rows_max, self.table.octets_max) = (limits.rows_max, limits.octets_max);
    }

    /// Asks; the answer comes from [`Embedded::answer`]: at once, but for a put that is promised to
    /// the disk. What is asked of its key meanwhile sees it, though it may yet be refused.
    pub fn ask(&mut self, now: Time, ticket: u64, question: Question) {
        let answer = match question {
            _ if !self.is_known || self.is_standby() => Answer::Failed,
            Question::Get(key) => Answer::Row(self.table.get(now, &key).map(<[u8]>::to_vec)),
            Question::Take(key) => {
                let before = self.changes();
                let answer = (ticket, Answer::Row(self.take(now, &key)));
                match self.changes() {
                    // Whoever is told that it is gone does not find it at the other node.
                    after if after > before => return self.taken(now, after, answer),
                    _ => answer.1,
                }
            }
            Question::Put { key, row, until, promise } => {
                let is_disk = promise == Promise::Disk && self.journal.is_some();
                let before = self.table.row(&key).filter(|_| is_disk);
                let before = before.map(|(row, until)| (row.into(), until));
                if !self.put(&key, &row, until, is_disk) {
                    Answer::Failed
                } else if is_disk {
                    let marks = [self.written, self.changes()];
                    return self.promises.wait(marks, ticket, &key, before);
                } else {
                    self.promises.stays(&key);
                    return self.taken(now, self.changes(), (ticket, Answer::Row(Some(row))));
                }
            }
        };
        self.answers.push_back((ticket, answer));
    }

    /// A change is made: it is answered when the standby has it, too.
    fn taken(&mut self, now: Time, change: u64, answer: (u64, Answer)) {
        let answer = match &mut self.pair {
            Some(pair) => pair.hold(now, change, answer),
            None => Some(answer),
        };
        self.answers.extend(answer);
    }

    /// The last change that the other node is told of.
    fn changes(&self) -> u64 {
        self.pair.as_ref().map_or(0, |it| it.changes())
    }

    /// Whether another node serves, whose rows this one keeps.
    pub fn is_standby(&self) -> bool {
        self.pair.as_ref().is_some_and(|it| !it.is_active())
    }

    fn put(&mut self, key: &[u8], row: &[u8], until: Time, is_disk: bool) -> bool {
        let is_small = key.len() <= KEY_MAX && key.len() + row.len() <= CHANGE_MAX;
        let is_late = self.written - self.synced > UNSYNCED_MAX;
        if !is_small || is_disk && (self.state != State::Open || is_late) {
            return false;
        }
        if self.pair.as_mut().is_some_and(|it| it.refuses()) {
            return false;
        }
        if !self.table.put(key, row, until) {
            return false;
        }
        self.note(&Record::Put { key, row, until });
        self.is_urgent |= is_disk;
        true
    }

    fn take(&mut self, now: Time, key: &[u8]) -> Option<Vec<u8>> {
        let stands = self.table.get(now, key).is_some();
        self.promises.stays(key);
        let taken = self.table.take(key)?;
        self.note(&Record::Take { key });
        Some(taken.into_vec()).filter(|_| stands)
    }

    /// Writes a change down, and tells the other node of it.
    fn note(&mut self, record: &Record<'_>) {
        self.log(record);
        self.pair.iter_mut().for_each(|it| it.tell(record));
    }

    fn log(&mut self, record: &Record<'_>) {
        if self.state != State::Open {
            return;
        }
        let before = self.words.len();
        word(&mut self.words, LOG, |out| record.write(out));
        self.written += (self.words.len() - before) as u64;
    }

    /// The next answer.
    pub fn answer(&mut self) -> Option<(u64, Answer)> {
        self.answers.pop_front()
    }

    /// Takes what came on its channel; false if it is another's.
    pub fn takes(&mut self, now: Time, input: &In<'_>) -> bool {
        let In::Channel { port, event } = input else { return false };
        if *port != self.port {
            return false;
        }
        match event {
            ChannelEvent::Message(words) => {
                Words(words).for_each(|(letter, content)| self.heard(now, letter, content));
            }
            ChannelEvent::Absent(why) => {
                self.shut(now, why.unwrap_or("it is being opened").to_owned());
            }
            ChannelEvent::Down(why) => self.shut(now, (*why).to_owned()),
            ChannelEvent::Up | ChannelEvent::Packet(..) | ChannelEvent::Shed(_) => {}
        }
        true
    }

    fn heard(&mut self, now: Time, letter: u8, content: &[u8]) {
        match letter {
            // Memory knows better what stood, if it has read it once.
            STOOD if !self.is_known => self.stood(content),
            OPENED => self.opened(number_of(content)),
            SYNCED => self.synced(now, number_of(content)),
            REFUSED => self.refused(content),
            WANTED if self.snapshot.is_none() => {
                self.snapshot = Some(None);
                word(&mut self.words, SNAPSHOT, |_| {});
            }
            TAKEN => self.unread = 0,
            _ => {}
        }
    }

    fn stood(&mut self, content: &[u8]) {
        let Some((record, _)) = Record::read(content) else { return };
        let (Record::Put { key, .. } | Record::Take { key }) = record else { return };
        match record {
            _ if self.pair.as_ref().is_some_and(|it| it.knows_better(key)) => {}
            Record::Put { key, row, until } => self.table.set(key, row, until),
            _ => drop(self.table.take(key)),
        }
    }

    fn opened(&mut self, unread: u64) {
        self.state = State::Open;
        self.trouble = None;
        self.unread = unread;
        self.pair.iter_mut().for_each(|it| it.tell_term_again());
        // What the other node has told meanwhile is not on disk.
        let has_replica = self.pair.as_ref().is_some_and(|it| it.has_replica());
        if core::mem::replace(&mut self.is_known, true) || has_replica {
            // Until there is a snapshot, the log says at least that what was refused does not
            // stand.
            core::mem::take(&mut self.refused).iter().for_each(|key| self.log_anew(key));
            self.snapshot = Some(None);
            word(&mut self.words, SNAPSHOT, |_| {});
        }
    }

    /// Says again what stands under a key.
    fn log_anew(&mut self, key: &[u8]) {
        let stands = self.table.row(key).map(|(row, until)| (row.to_vec(), until));
        match &stands {
            Some((row, until)) => self.log(&Record::Put { key, row, until: *until }),
            None => self.log(&Record::Take { key }),
        }
    }

    /// Tells the other node again what stands under a key.
    fn tell_anew(&mut self, key: &[u8]) {
        let Some(pair) = &mut self.pair else { return };
        match self.table.row(key) {
            Some((row, until)) => pair.tell(&Record::Put { key, row, until }),
            None => pair.tell(&Record::Take { key }),
        }
    }

    /// One row was not taken, while others are: what was promised of it is not kept, and what
    /// stands now is said again until it is taken.
    fn refused(&mut self, content: &[u8]) {
        let Some((key, why)) = refusal_of(content).filter(|_| self.state == State::Open) else {
            return;
        };
        let tickets = self.promises.refused(key, &mut self.table);
        self.answers.extend(tickets.into_iter().map(|ticket| (ticket, Answer::Failed)));
        self.log_anew(key);
        self.tell_anew(key);
        self.trouble = Some(format!("a row is not taken: {why}"));
        self.again = Some(self.written);
    }

    fn synced(&mut self, now: Time, mark: u64) {
        self.synced = mark;
        if self.again.is_some_and(|again| again <= mark) {
            (self.again, self.trouble) = (None, None);
        }
        // What is on disk is kept by it once all that stood before is, too.
        if self.pair.as_ref().is_some_and(|it| !it.is_kept(mark)) {
            return;
        }
        while let Some((ticket, key, change)) = self.promises.kept(mark) {
            let row = self.table.get(Time::ZERO, &key).map(<[u8]>::to_vec);
            self.taken(now, change, (ticket, Answer::Row(row)));
        }
    }

    /// Takes what the pair wants.
    pub fn mirrored(&mut self, now: Time, input: Mirrored<'_>) {
        let pair = self.pair.get_or_insert_with(|| Box::new(Pair::new()));
        match input {
            Mirrored::Activate { .. } => pair.serve(),
            Mirrored::Deactivate => {
                pair.stand_by();
                // Whoever asked is gone. What stands stays until the other node has told more.
                self.promises.forget();
                self.answers.clear();
            }
            Mirrored::Delta(delta) => self.replicate(now, delta),
            Mirrored::Snapshot(_)
            | Mirrored::Forget
            | Mirrored::Followed(_)
            | Mirrored::Paced(_)
            | Mirrored::Term(_) => pair.hear(input, &mut self.answers),
        }
    }

    /// The other node, which serves, has changed something.
    fn replicate(&mut self, now: Time, delta: &[u8]) {
        let Some(mut pair) = self.pair.take_if(|it| !it.is_active()) else { return };
        let is_reading = !self.is_known;
        pair.take(delta, is_reading, &mut |it| self.apply(now, it));
        // What was told whole is known better than by the journal.
        self.is_known |= pair.is_whole();
        self.pair = Some(pair);
    }

    fn apply(&mut self, now: Time, it: Took<'_>) {
        let (before, record) = match it.change {
            Change::Record(record) => (None, Some(record)),
            Change::Row(record) => (Some(record), Some(record)),
            Change::Whole => (None, None),
        };
        let end = before.and_then(|it| match it {
            Record::Put { key, .. } => Some(key),
            _ => None,
        });
        // Between two rows that stand one behind the other stands none.
        if before.is_some() || record.is_none() {
            while let Some(key) = self.table.between(it.behind, end).cloned() {
                self.table.take(&key);
                self.log(&Record::Take { key: &key });
            }
        }
        match record {
            // One whose time is over stands nowhere.
            Some(Record::Put { key, until, .. }) if until <= now => drop(self.table.take(key)),
            Some(Record::Put { key, row, until }) => self.table.set(key, row, until),
            Some(Record::Take { key }) => drop(self.table.take(key)),
            _ => return,
        }
        record.iter().for_each(|it| self.log(it));
    }

    /// The journal is gone: what was promised to it is not taken, and what that took the place of
    /// stands again.
    fn shut(&mut self, now: Time, why: String) {
        self.state = State::Shut(now + AGAIN);
        self.trouble = Some(why);
        self.words.clear();
        (self.is_urgent, self.synced, self.snapshot) = (false, self.written, None);
        self.again = None;
        let (tickets, mut keys) = self.promises.broken(&mut self.table);
        keys.iter().for_each(|key| self.tell_anew(key));
        self.refused.append(&mut keys);
        self.answers.extend(tickets.into_iter().map(|ticket| (ticket, Answer::Failed)));
    }

    /// What every step ends with: the thread is told what there is for it.
    pub fn flush(&mut self, now: Time, out: &mut Effects) {
        if self.state == State::Open && self.written - self.synced > GIVEN_UP {
            out.hang_up(self.port);
            self.shut(now, "the disk does not keep up".to_owned());
        }
        if let (State::Shut(at), Some(journal)) = (self.state, &self.journal)
            && at <= now
        {
            self.state = State::Opening;
            // Nothing stays of an attempt that broke off, but for what the other node has told.
            if !self.is_known && !self.pair.as_ref().is_some_and(|it| it.has_replica()) {
                self.table.clear();
            }
            out.connect(self.port, Arc::clone(journal));
        }
        self.pair.iter_mut().for_each(|it| it.flush(out));
        self.tell_term();
        if self.words.is_empty() {
            return;
        }
        if self.written > self.synced {
            let letter = if self.is_urgent { SYNC_NOW } else { SYNC_SOON };
            number(&mut self.words, letter, self.written);
            self.is_urgent = false;
        }
        let words = core::mem::take(&mut self.words);
        out.write(self.port, |octets| octets.extend_from_slice(&words));
    }

    /// Tells the journal how recent the rows are, once it has been told all of them.
    fn tell_term(&mut self) {
        if self.state != State::Open || self.snapshot.is_some() {
            return;
        }
        let Some(pair) = &mut self.pair else { return };
        let Some(term) = pair.untold_term() else { return };
        let before = self.words.len();
        word(&mut self.words, TERM, |out| {
            out.extend_from_slice(&term.epoch.to_be_bytes());
            out.push(term.served.into());
        });
        self.written += (self.words.len() - before) as u64;
        pair.tells_term(self.written);
        self.is_urgent = true;
    }

    /// Lets time pass: rows whose time is over go, a snapshot goes on.
    pub fn tick(&mut self, now: Time) {
        if self.is_known {
            self.table.tick(now);
            if let Some(pair) = &mut self.pair {
                pair.tick(now, &mut self.answers);
                pair.tell_some(&self.table);
            }
        }
        if !self.has_room() {
            return;
        }
        let Some(behind) = self.snapshot.take() else { return };
        let mut last = None;
        let mut count = 0;
        let before = self.words.len();
        for (key, row, until) in self.table.behind(behind.as_deref(), ROWS_PER_TURN) {
            word(&mut self.words, ROW, |out| Record::Put { key, row, until }.write(out));
            last = Some(Arc::clone(key));
            count += 1;
            if self.words.len() - before >= ROW_OCTETS_PER_TURN {
                count = ROWS_PER_TURN;
                break;
            }
        }
        self.written += (self.words.len() - before) as u64;
        if count < ROWS_PER_TURN {
            word(&mut self.words, WHOLE, |_| {});
        } else {
            self.snapshot = Some(last);
        }
    }

    /// Whether more of a snapshot may be told: what the disk has not taken waits in memory.
    const fn has_room(&self) -> bool {
        self.written - self.synced < SNAPSHOT_AHEAD
    }

    /// When time has to pass next.
    pub fn deadline(&self) -> Option<Time> {
        if !self.answers.is_empty() || self.snapshot.is_some() && self.has_room() {
            return Some(Time::ZERO);
        }
        let again = match self.state {
            State::Shut(at) => Some(at),
            State::Alone | State::Opening | State::Open => None,
        };
        let due = self.table.deadline().filter(|_| self.is_known);
        let pair = self.pair.as_ref().filter(|_| self.is_known).and_then(|it| it.deadline());
        due.into_iter().chain(again).chain(pair).min()
    }

    /// Rows whose keys begin so, in their order, of those that stand.
    pub fn beginning<'a>(
        &'a self,
        now: Time,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8], Time)> {
        self.table.beginning(prefix).filter(move |it| it.2 > now)
    }

    /// Whether what writes them down stands.
    pub fn is_up(&self) -> bool {
        self.state == State::Open
    }

    /// Whether it should stand, and does not.
    pub const fn is_away(&self) -> bool {
        self.trouble.is_some()
    }

    /// How it is.
    pub fn status(&self) -> Status {
        let (rows, octets) = self.table.len();
        Status {
            rows,
            octets,
            is_open: self.is_known,
            unsynced: self.written - self.synced,
            trouble: self.trouble.clone(),
            unread: self.unread,
            shared: None,
            pair: self.pair.as_ref().map(|it| it.status()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Journal;
    use runtime::ChannelOrder;
    use std::path::PathBuf;

    const NOW: Time = Time::from_millis(1_000);
    const LATER: Time = Time::from_millis(99_000);
    const LIMITS: Limits = Limits { rows_max: 100_000, octets_max: 1 << 30 };

    /// A store whose journal stands and takes what this test says that it takes.
    fn opened() -> Embedded {
        let journal = Journal { directory: PathBuf::from("/nowhere") };
        let mut store = Embedded::new(LIMITS, Some(Arc::new(journal)), PortId(1), NOW);
        assert_eq!(flushed(&mut store).0, 1, "it connects");
        store.heard(NOW, OPENED, &[0; 8]);
        store
    }

    /// Orders that are none to write, and what is written.
    fn flushed(store: &mut Embedded) -> (usize, Vec<u8>) {
        let mut out = Effects::default();
        store.flush(NOW, &mut out);
        let (mut others, mut written) = (0, Vec::new());
        for (_, order) in out.channels.drain(..) {
            match order {
                ChannelOrder::Write(octets) => written.extend(octets),
                _ => others += 1,
            }
        }
        (others, written)
    }

    fn put(store: &mut Embedded, key: &[u8], row: &[u8], promise: Promise) {
        let (key, row) = (key.to_vec(), row.to_vec());
        store.ask(NOW, 7, Question::Put { key, row, until: LATER, promise });
    }

    fn row(store: &mut Embedded, key: &[u8]) -> Option<Vec<u8>> {
        store.ask(NOW, 8, Question::Get(key.to_vec()));
        match store.answers.pop_back() {
            Some((8, Answer::Row(row))) => row,
            other => panic!("{other:?}"),
        }
    }

    fn letters(words: &[u8]) -> Vec<u8> {
        Words(words).map(|it| it.0).collect()
    }

    #[test]
    fn a_row_that_was_kept_stands_again_when_the_disk_does_not_take_the_one_in_its_place() {
        let mut store = opened();
        put(&mut store, b"a", b"1", Promise::Disk);
        let _ = flushed(&mut store);
        store.synced(NOW, store.written);
        assert_eq!(store.answer(), Some((7, Answer::Row(Some(b"1".to_vec())))));
        for key in [b"a", b"b"] {
            put(&mut store, key, b"2", Promise::Disk);
        }
        put(&mut store, b"c", b"2", Promise::Disk);
        put(&mut store, b"c", b"3", Promise::Memory);
        assert_eq!(store.answer(), Some((7, Answer::Row(Some(b"3".to_vec())))));
        let _ = flushed(&mut store);
        store.shut(NOW, "it is full".to_owned());
        let failed = || Some((7, Answer::Failed));
        assert_eq!(
            [store.answer(), store.answer(), store.answer()],
            [failed(), failed(), failed()]
        );
        let rows = [b"a", b"b", b"c"].map(|key| row(&mut store, key));
        assert_eq!(rows, [Some(b"1".to_vec()), None, Some(b"3".to_vec())]);
        // The disk may have what was refused: it is told at once that it does not stand.
        store.heard(NOW, OPENED, &[0; 8]);
        let (_, words) = flushed(&mut store);
        let told: Vec<_> = Words(&words)
            .filter(|it| it.0 == LOG)
            .map(|it| Record::read(it.1).expect("it is whole").0)
            .collect();
        let expected =
            [Record::Put { key: b"a", row: b"1", until: LATER }, Record::Take { key: b"b" }];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_row_that_is_not_taken_alone_holds_up_no_other_and_is_said_until_it_is() {
        let mut store = opened();
        put(&mut store, b"a", b"1", Promise::Disk);
        let _ = flushed(&mut store);
        store.synced(NOW, store.written);
        store.answers.clear();
        put(&mut store, b"a", b"2", Promise::Disk);
        put(&mut store, b"b", b"2", Promise::Disk);
        put(&mut store, b"c", b"2", Promise::Memory);
        store.answers.clear();
        let _ = flushed(&mut store);
        let mark = store.written;
        let refuse = |store: &mut Embedded, key: &[u8]| {
            let mut word = Vec::new();
            crate::words::refused(key, "nodes are away", &mut word);
            store.heard(NOW, REFUSED, &word);
        };
        for key in [b"a", b"c"] {
            refuse(&mut store, key);
        }
        assert_eq!(store.answer(), Some((7, Answer::Failed)));
        store.synced(NOW, mark);
        assert_eq!(store.answer(), Some((7, Answer::Row(Some(b"2".to_vec())))), "the other one");
        assert!(store.is_up() && store.is_away());
        let told = flushed(&mut store).1;
        let told: Vec<_> = Words(&told).filter(|it| it.0 == LOG).collect();
        let told: Vec<_> = told.iter().filter_map(|it| Some(Record::read(it.1)?.0)).collect();
        let stands =
            |key: &'static [u8], row: &'static [u8]| Record::Put { key, row, until: LATER };
        assert_eq!(told, [stands(b"a", b"1"), stands(b"c", b"2")]);
        // It is not taken again, and then it is.
        let mark = store.written;
        refuse(&mut store, b"c");
        store.synced(NOW, mark);
        assert!(store.is_away());
        let _ = flushed(&mut store);
        store.synced(NOW, store.written);
        assert!(!store.is_away());
    }

    #[test]
    fn what_waits_for_a_disk_that_takes_nothing_is_bounded_and_memory_goes_on() {
        let mut store = opened();
        let (mut octets, mut hung_up) = (0, 0);
        for n in 0..3_000u32 {
            put(&mut store, &n.to_be_bytes(), &vec![1; 58_000], Promise::Memory);
            let (others, words) = flushed(&mut store);
            octets += words.len();
            hung_up += others;
        }
        assert_eq!(hung_up, 1);
        assert!(octets < 140 << 20, "{octets}");
        assert!(store.status().trouble.is_some_and(|it| it.contains("keep up")));
        assert_eq!(store.status().rows, 3_000);
        put(&mut store, b"a", b"1", Promise::Disk);
        assert_eq!(store.answers.pop_back(), Some((7, Answer::Failed)));
    }

    #[test]
    fn a_snapshot_is_told_as_fast_as_the_disk_takes_it() {
        let mut store = opened();
        for n in 0..3_000u32 {
            put(&mut store, &n.to_be_bytes(), &[1; 8 << 10], Promise::Memory);
        }
        store.answers.clear();
        let _ = flushed(&mut store);
        store.synced(NOW, store.written);
        store.heard(NOW, WANTED, &[]);
        let (mut rows, mut rounds) = (0, 0);
        loop {
            rounds += 1;
            let mut octets = 0;
            let mut is_whole = false;
            while store.deadline() == Some(Time::ZERO) {
                store.tick(NOW);
                let (_, words) = flushed(&mut store);
                assert!(words.len() < 2 << 20, "a turn tells {} octets", words.len());
                octets += words.len();
                rows += letters(&words).iter().filter(|it| **it == ROW).count();
                is_whole |= letters(&words).contains(&WHOLE);
            }
            assert!(octets < 10 << 20, "{octets} wait for the disk");
            if is_whole {
                break;
            }
            store.synced(NOW, store.written);
        }
        assert_eq!((rows, rounds), (3_000, 3));
    }
}
