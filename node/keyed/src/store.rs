//! The store as a shard has it.

use crate::journal::Journal;
use crate::record::{BODY_MAX, KEY_MAX, Record};
use crate::table::Table;
use crate::words::{
    LOG, OPENED, ROW, SNAPSHOT, STOOD, SYNC_NOW, SYNC_SOON, SYNCED, TAKEN, WANTED, WHOLE, Words,
    number, number_of, word,
};
use crate::{Answer, Promise, Question};
use machine::{Duration, Time};
use runtime::{ChannelEvent, Effects, In, PortId};
use std::collections::VecDeque;
use std::sync::Arc;

/// A journal that could not be opened or written is opened again so soon.
const AGAIN: Duration = Duration::from_secs(5);
/// Rows of a snapshot that are told in one turn.
const ROWS_PER_TURN: usize = 512;
/// Octets that are not on disk yet, at most; nothing more is promised to it beyond them.
const UNSYNCED_MAX: u64 = 64 << 20;

/// How much a store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Rows.
    pub rows_max: usize,
    /// Octets of memory for them.
    pub octets_max: usize,
}

/// How a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Rows that stand.
    pub rows: usize,
    /// Octets of memory that they have.
    pub octets: usize,
    /// Whether questions are answered: what stood was read.
    pub is_open: bool,
    /// Octets of records that are not on disk yet.
    pub unsynced: u64,
    /// Why the journal cannot be read or written.
    pub trouble: Option<String>,
    /// Octets of logs that could not be read when it was opened.
    pub unread: u64,
}

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

/// A row that counts as taken when it is on disk.
#[derive(Debug)]
struct Promised {
    mark: u64,
    ticket: u64,
    key: Vec<u8>,
}

/// A store.
#[derive(Debug)]
pub struct Store {
    table: Table,
    journal: Option<Arc<Journal>>,
    port: PortId,
    state: State,
    /// What stood was read once: memory knows better than the disk from then on.
    is_known: bool,
    answers: VecDeque<(u64, Answer)>,
    promised: VecDeque<Promised>,
    /// Words that the thread is told at the end of the step.
    words: Vec<u8>,
    is_urgent: bool,
    written: u64,
    synced: u64,
    /// A snapshot is wanted, or under way from behind a key.
    snapshot: Option<Option<Arc<[u8]>>>,
    trouble: Option<String>,
    unread: u64,
}

impl Store {
    /// A store on a channel of that number; without a journal it forgets all when its process ends.
    #[must_use]
    pub fn new(limits: Limits, journal: Option<Journal>, port: PortId, now: Time) -> Self {
        Self {
            table: Table::new(limits.rows_max, limits.octets_max),
            state: if journal.is_some() { State::Shut(now) } else { State::Alone },
            is_known: journal.is_none(),
            journal: journal.map(Arc::new),
            port,
            answers: VecDeque::new(),
            promised: VecDeque::new(),
            words: Vec::new(),
            is_urgent: false,
            written: 0,
            synced: 0,
            snapshot: None,
            trouble: None,
            unread: 0,
        }
    }

    /// Takes other limits. What stands beyond them stays until its time is over.
    pub const fn configure(&mut self, limits: Limits) {
        (self.table.rows_max, self.table.octets_max) = (limits.rows_max, limits.octets_max);
    }

    /// Asks; the answer comes from [`Store::answer`], of one key in the order of its questions.
    pub fn ask(&mut self, now: Time, ticket: u64, question: Question) {
        let answer = match question {
            _ if !self.is_known => Answer::Failed,
            Question::Get(key) => Answer::Row(self.table.get(now, &key).map(<[u8]>::to_vec)),
            Question::Take(key) => Answer::Row(self.take(now, &key)),
            Question::Put { key, row, until, promise } => {
                let is_disk = promise == Promise::Disk && self.journal.is_some();
                if !self.put(&key, &row, until, is_disk) {
                    Answer::Failed
                } else if is_disk {
                    let mark = self.written;
                    return self.promised.push_back(Promised { mark, ticket, key });
                } else {
                    Answer::Row(Some(row))
                }
            }
        };
        self.answers.push_back((ticket, answer));
    }

    fn put(&mut self, key: &[u8], row: &[u8], until: Time, is_disk: bool) -> bool {
        let is_small = key.len() <= KEY_MAX && row.len() <= BODY_MAX - 2 * KEY_MAX;
        let is_late = self.written - self.synced > UNSYNCED_MAX;
        if !is_small || is_disk && (self.state != State::Open || is_late) {
            return false;
        }
        if !self.table.put(key, row, until) {
            return false;
        }
        self.log(&Record::Put { key, row, until });
        self.is_urgent |= is_disk;
        true
    }

    fn take(&mut self, now: Time, key: &[u8]) -> Option<Vec<u8>> {
        let stands = self.table.get(now, key).is_some();
        let taken = self.table.take(key)?;
        self.log(&Record::Take { key });
        Some(taken.into_vec()).filter(|_| stands)
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
                Words(words).for_each(|(letter, content)| self.heard(letter, content));
            }
            ChannelEvent::Absent(why) => {
                self.shut(now, why.unwrap_or("it is being opened").to_owned());
            }
            ChannelEvent::Down(why) => self.shut(now, (*why).to_owned()),
            ChannelEvent::Up | ChannelEvent::Packet(..) | ChannelEvent::Shed(_) => {}
        }
        true
    }

    fn heard(&mut self, letter: u8, content: &[u8]) {
        match letter {
            // Memory knows better what stood, if it has read it once.
            STOOD if !self.is_known => match Record::read(content) {
                Some((Record::Put { key, row, until }, _)) => self.table.set(key, row, until),
                Some((Record::Take { key }, _)) => drop(self.table.take(key)),
                Some((Record::End { .. }, _)) | None => {}
            },
            OPENED => {
                self.state = State::Open;
                self.trouble = None;
                self.unread = number_of(content);
                if self.is_known {
                    self.snapshot = Some(None);
                    word(&mut self.words, SNAPSHOT, |_| {});
                }
                self.is_known = true;
            }
            SYNCED => self.synced(number_of(content)),
            WANTED if self.snapshot.is_none() => {
                self.snapshot = Some(None);
                word(&mut self.words, SNAPSHOT, |_| {});
            }
            TAKEN => self.unread = 0,
            _ => {}
        }
    }

    fn synced(&mut self, mark: u64) {
        self.synced = mark;
        while let Some(it) = self.promised.pop_front_if(|it| it.mark <= mark) {
            let row = self.table.get(Time::ZERO, &it.key).map(<[u8]>::to_vec);
            self.answers.push_back((it.ticket, Answer::Row(row)));
        }
    }

    /// The journal is gone: what was promised to it is not taken.
    fn shut(&mut self, now: Time, why: String) {
        self.state = State::Shut(now + AGAIN);
        self.trouble = Some(why);
        self.words.clear();
        (self.is_urgent, self.synced, self.snapshot) = (false, self.written, None);
        for it in core::mem::take(&mut self.promised) {
            self.table.take(&it.key);
            self.answers.push_back((it.ticket, Answer::Failed));
        }
    }

    /// What every step ends with: the thread is told what there is for it.
    pub fn flush(&mut self, now: Time, out: &mut Effects) {
        if let (State::Shut(at), Some(journal)) = (self.state, &self.journal)
            && at <= now
        {
            self.state = State::Opening;
            let journal: Arc<Journal> = Arc::clone(journal);
            out.connect(self.port, journal);
        }
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

    /// Lets time pass: rows whose time is over go, a snapshot goes on.
    pub fn tick(&mut self, now: Time) {
        if self.is_known {
            self.table.tick(now);
        }
        let Some(behind) = self.snapshot.take() else { return };
        let mut last = None;
        let rows = self.table.behind(behind.as_deref(), ROWS_PER_TURN);
        let mut count = 0;
        for (key, row, until) in rows {
            word(&mut self.words, ROW, |out| Record::Put { key, row, until }.write(out));
            last = Some(Arc::clone(key));
            count += 1;
        }
        if count < ROWS_PER_TURN {
            word(&mut self.words, WHOLE, |_| {});
        } else {
            self.snapshot = Some(last);
        }
    }

    /// When time has to pass next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if self.snapshot.is_some() {
            return Some(Time::ZERO);
        }
        let again = match self.state {
            State::Shut(at) => Some(at),
            State::Alone | State::Opening | State::Open => None,
        };
        let due = self.table.deadline().filter(|_| self.is_known);
        due.into_iter().chain(again).min()
    }

    /// Rows whose keys begin so, in their order, of those that stand.
    pub fn beginning<'a>(
        &'a self,
        now: Time,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8], Time)> {
        self.table.beginning(prefix).filter(move |it| it.2 > now)
    }

    /// How it is.
    #[must_use]
    pub fn status(&self) -> Status {
        let (rows, octets) = self.table.len();
        Status {
            rows,
            octets,
            is_open: self.is_known,
            unsynced: self.written - self.synced,
            trouble: self.trouble.clone(),
            unread: self.unread,
        }
    }
}
