//! The rows that outlive a flow, and the questions to whoever keeps them. A question is an effect,
//! its answer an input: nothing here waits, and the keeper may be elsewhere.

use crate::centre::{Retry, Stored};
use crate::identity::{Imsi, Msisdn, canonical};
use core::fmt;
use machine::{Duration, Time};
use sms::RpAddress;
use std::collections::{BTreeMap, BTreeSet};

/// What names a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A subscriber who is registered.
    Subscriber(Msisdn),
    /// Whose a public user identity is.
    Identity(String),
    /// What a correlation IMSI stands for.
    Correlation(Imsi),
    /// Who waits to hear of a subscriber.
    Waiting(Msisdn),
    /// A message that the centre of the gateway's own has taken.
    Message(u64),
    /// How that message was sent whose report is to come.
    Flight(u64),
    /// How often the messages for a subscriber were tried in vain.
    Retry(Msisdn),
    /// What became of a message of a terminal, by its sum.
    Submission(u64),
    /// How much of a limit somebody has used.
    Used(Limit, Msisdn),
}

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// A subscriber's who sends.
    Sender,
    /// A service centre's that begins to wait for subscribers.
    Waiter,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subscriber(it) => write!(f, "subscriber {it:?}"),
            Self::Identity(_) => f.write_str("an identity"),
            Self::Correlation(it) => write!(f, "correlation {it:?}"),
            Self::Waiting(it) => write!(f, "who waits for {it:?}"),
            Self::Message(number) => write!(f, "message {number}"),
            Self::Flight(number) => write!(f, "message {number} under way"),
            Self::Retry(it) => write!(f, "how {it:?} is tried"),
            Self::Submission(_) => f.write_str("a message of a terminal"),
            Self::Used(limit, it) => write!(f, "what {it:?} used as {limit:?}"),
        }
    }
}

impl Key {
    /// That of a public user identity, however it is written.
    #[must_use]
    pub fn identity(uri: &str) -> Self {
        Self::Identity(canonical(uri))
    }
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A subscriber who is registered.
    Subscriber(Subscriber),
    /// Whose a public user identity is.
    Identity(Msisdn),
    /// What a correlation IMSI stands for.
    Correlation(Correlation),
    /// Who waits to hear of a subscriber.
    Waiting(Waiting),
    /// A message that the centre of the gateway's own has taken.
    Message(Stored),
    /// How a message was sent whose report is to come.
    Flight(Flight),
    /// In the place of a message: it is dealt with, and may come again.
    Done(Done),
    /// How often the messages for a subscriber were tried in vain.
    Retry(Retry),
    /// What became of a message of a terminal.
    Submission(Submitted),
    /// Until when what is used of a limit counts.
    Used(Time),
}

/// A message of a terminal that a service centre elsewhere was asked to take: should it come again,
/// it is known.
#[derive(Clone, PartialEq, Eq)]
pub struct Submitted {
    /// When it came.
    pub received: Time,
    /// It is debited, and to be refunded where it is not taken.
    pub is_debited: bool,
    /// How it was reported (TS 24.011 §7.3); none: the service centre has not answered yet.
    pub report: Option<Vec<u8>>,
}

impl fmt::Debug for Submitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitted")
            .field("received", &self.received)
            .field("is_debited", &self.is_debited)
            .field("is_reported", &self.report.is_some())
            .finish()
    }
}

/// A message that is dealt with: should it come again, it is not taken again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// [`Stored::sum`].
    pub sum: u64,
    /// When it was taken.
    pub received: Time,
}

/// How a message was sent whose report is to come: another node can go on with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flight {
    /// The flow that its Call-ID names.
    pub flow: u64,
    /// The proof in that Call-ID.
    pub proof: u64,
    /// RP-Message-Reference.
    pub reference: u8,
    /// The public user identity that it was sent to.
    pub identity: String,
    /// It is debited, and to be refunded where it is not delivered.
    pub is_debited: bool,
}

/// How a subscriber's terminal takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// As RP messages (TS 24.341).
    #[default]
    ShortMessage,
    /// As text (RFC 3428).
    Text,
}

/// A subscriber whose terminal takes short messages over IP.
#[derive(Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// The public user identity that messages go to.
    pub identity: String,
    /// The S-CSCF that serves it.
    pub s_cscf: String,
    /// The IMSI, where it is known.
    pub imsi: Option<Imsi>,
    /// Contacts that take short messages; none where that was not told.
    pub contacts: Vec<String>,
    /// How it takes messages.
    pub form: Form,
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber")
            .field("imsi", &self.imsi)
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

/// What was known when routing information was given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correlation {
    /// Whom it is about.
    pub msisdn: Msisdn,
    /// Which service centre asked: it alone delivers by it.
    pub centre: Option<Msisdn>,
    /// Whose limit it counts for, by the title of the dialogue.
    pub asker: Option<Msisdn>,
    /// The subscriber's own IMSI, where the HLR was asked.
    pub imsi: Option<Imsi>,
    /// Where the subscriber is in the circuit-switched network or its like: MSC, SGSN, in the
    /// order in which the HLR said them.
    pub nodes: Vec<Msisdn>,
}

impl Correlation {
    /// Whether it was given to that service centre: one whose number is no international one was
    /// given none.
    #[must_use]
    pub fn is_of(&self, centre: RpAddress) -> bool {
        let centre = Msisdn::of_address_string(centre.octets());
        centre.is_some() && centre == self.centre
    }
}

/// Service centres that wait to hear that a subscriber can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Their addresses, each once, at most [`Waiting::CENTRES_MAX`].
    pub centres: Vec<Msisdn>,
    /// The terminal had no memory, and has to say so itself that it has some.
    pub is_full: bool,
}

impl Waiting {
    /// Centres that are kept of a subscriber.
    pub const CENTRES_MAX: usize = 16;

    /// One more; one that waits already changes nothing.
    pub fn add(&mut self, centre: Msisdn) {
        if self.centres.len() < Self::CENTRES_MAX && !self.centres.contains(&centre) {
            self.centres.push(centre);
        }
    }
}

/// A question. Each is answered, in any order among different keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// The row of a key.
    Get(Key),
    /// A row in place of what was there, for so long.
    Put(Key, Row, Duration),
    /// No row there any more; the answer has what was there.
    Take(Key),
}

impl Question {
    /// Which row it is about.
    #[must_use]
    pub const fn key(&self) -> &Key {
        match self {
            Self::Get(key) | Self::Put(key, ..) | Self::Take(key) => key,
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The row, if there is one; of a put, the row that stands now.
    Row(Option<Row>),
    /// The keeper has no room, or cannot be reached.
    Failed,
}

/// Rows in memory, within a limit: what forgets them all when its process ends.
#[derive(Debug)]
pub struct Memory {
    rows: BTreeMap<Key, (Row, Time)>,
    due: BTreeSet<(Time, Key)>,
    max: usize,
}

impl Memory {
    /// At most so many rows.
    #[must_use]
    pub const fn new(max: usize) -> Self {
        Self { rows: BTreeMap::new(), due: BTreeSet::new(), max }
    }

    /// Answers a question.
    pub fn ask(&mut self, now: Time, question: Question) -> Answer {
        self.tick(now);
        match question {
            Question::Get(key) => Answer::Row(self.rows.get(&key).map(|it| it.0.clone())),
            Question::Take(key) => Answer::Row(self.take(&key)),
            Question::Put(key, row, time) => {
                let before = self.take(&key);
                if before.is_none() && self.rows.len() >= self.max {
                    return Answer::Failed;
                }
                let due = now + time;
                self.due.insert((due, key.clone()));
                self.rows.insert(key, (row.clone(), due));
                Answer::Row(Some(row))
            }
        }
    }

    fn take(&mut self, key: &Key) -> Option<Row> {
        let (row, due) = self.rows.remove(key)?;
        self.due.remove(&(due, key.clone()));
        Some(row)
    }

    /// Lets go of rows whose time is over.
    pub fn tick(&mut self, now: Time) {
        while self.due.first().is_some_and(|it| it.0 <= now)
            && let Some((_, key)) = self.due.pop_first()
        {
            self.rows.remove(&key);
        }
    }

    /// When the next row's time is over.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.due.first().map(|it| it.0)
    }

    /// Rows that stand.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none stands.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Every row.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.rows.iter().map(|(key, it)| (key, &it.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_until_its_time_is_over_and_no_more_than_the_limit() {
        let key = |n: u8| Key::Identity(format!("sip:{n}@x"));
        let row = || Row::Identity(Msisdn::of("44").unwrap());
        let put = |n, s| Question::Put(key(n), row(), Duration::from_secs(s));
        let (mut memory, now) = (Memory::new(2), Time::ZERO);
        assert_eq!(memory.ask(now, put(1, 5)), Answer::Row(Some(row())));
        assert_eq!(memory.ask(now, put(2, 9)), Answer::Row(Some(row())));
        assert_eq!(memory.ask(now, put(3, 9)), Answer::Failed);
        assert_eq!(memory.ask(now, put(1, 7)), Answer::Row(Some(row())), "it stands already");
        assert_eq!(memory.deadline(), Some(now + Duration::from_secs(7)));
        let later = now + Duration::from_secs(8);
        assert_eq!(memory.ask(later, Question::Get(key(1))), Answer::Row(None));
        assert_eq!(memory.ask(later, Question::Take(key(2))), Answer::Row(Some(row())));
        assert!(memory.is_empty() && memory.deadline().is_none());
    }
}
