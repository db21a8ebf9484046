//! What a core with terminals sends to both nodes of a pair, and what it is owed: who was answered,
//! which messages were acknowledged, how often each was delivered.

use crate::map_texts::{Heard, heard, session_of, submission_to};
use crate::sip_texts::{body, digits_of, message, number_of, ok, register};
use sip::{Header, Message, Method};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// A request that is not answered is said again so soon (RFC 3261 T1), and so often.
const AGAIN: Duration = Duration::from_millis(500);
const TRIES_MAX: u8 = 12;
/// What need not be on disk at once is there within this.
const ON_DISK: Duration = Duration::from_millis(50);
const DATAGRAM_MAX: usize = 65_536;
/// Datagrams that one turn takes.
const PER_TURN: usize = 4_096;

/// What a request is.
#[derive(Debug, Clone)]
enum What {
    Register(String),
    Submit,
    /// The delivery report of a message.
    Report(u64),
}

#[derive(Debug)]
struct Waiting {
    what: What,
    octets: Vec<u8>,
    first: Instant,
    again: Instant,
    tries: u8,
}

/// A message.
#[derive(Debug, Default)]
struct Text {
    is_acknowledged: bool,
    /// MESSAGEs that brought it.
    deliveries: u32,
    /// When a report of it was answered, and whether another one brought it after that.
    reported: Option<Instant>,
    came_reported: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Book {
    waiting: HashMap<u64, Waiting>,
    registered: BTreeSet<String>,
    texts: BTreeMap<u64, Text>,
    /// Submissions by the numbers of their requests.
    submitted: HashMap<u64, u64>,
    killed: Option<Instant>,
    served: Option<Instant>,
    /// From when on both nodes were killed, and when both were gone.
    all_killed: Option<(Instant, Instant)>,
}

impl Book {
    /// A node was killed then.
    pub(crate) fn killed(&mut self, at: Instant) {
        (self.killed, self.served) = (Some(at), None);
    }

    /// Both were, from then until now.
    pub(crate) fn all_killed(&mut self, from: Instant) {
        let gone = Instant::now();
        self.all_killed = Some((from, gone));
        self.killed(gone);
    }

    /// From then until a request was answered that was sent later.
    pub(crate) fn pause(&self) -> Option<Duration> {
        Some(self.served?.duration_since(self.killed?))
    }

    /// Requests that are not answered.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Those who were told that they are registered.
    pub(crate) fn registered(&self) -> impl Iterator<Item = &String> {
        self.registered.iter()
    }

    fn acknowledged(&self) -> impl Iterator<Item = &Text> {
        self.texts.values().filter(|it| it.is_acknowledged)
    }

    /// Messages that were acknowledged.
    pub(crate) fn answered(&self) -> usize {
        self.acknowledged().count()
    }

    /// Those that never came.
    pub(crate) fn undelivered(&self) -> usize {
        self.acknowledged().filter(|it| it.deliveries == 0).count()
    }

    /// Messages that came more than once, and those whose report had been answered before.
    pub(crate) fn twice(&self) -> (usize, usize) {
        let twice = self.texts.values().filter(|it| it.deliveries > 1);
        (twice.clone().count(), twice.filter(|it| it.came_reported).count())
    }

    /// A request was answered for good.
    fn ends(&mut self, now: Instant, number: u64, status: u16) {
        let Some(it) = self.waiting.remove(&number) else { return };
        if self.killed.is_some_and(|killed| it.first > killed) && self.served.is_none() {
            self.served = Some(now);
        }
        match it.what {
            What::Register(digits) if status == 200 => drop(self.registered.insert(digits)),
            What::Report(text) if status < 300 => {
                self.texts.entry(text).or_default().reported = Some(now);
            }
            What::Register(_) | What::Report(_) | What::Submit => {}
        }
    }

    fn comes(&mut self, text: u64) {
        let it = self.texts.entry(text).or_default();
        it.deliveries += 1;
        // What is taken out is on disk a little later: with both nodes it may be forgotten.
        let is_excused = |it: Instant| {
            self.all_killed.is_some_and(|(from, gone)| it + ON_DISK > from && it <= gone)
        };
        it.came_reported |= it.reported.is_some_and(|it| !is_excused(it));
    }
}

/// The core.
pub(crate) struct Core {
    pub(crate) book: Book,
    socket: UdpSocket,
    own: SocketAddr,
    nodes: [SocketAddr; 2],
    subscribers: u32,
    /// Those who register while messages are sent.
    newcomers: u32,
    numbers: u64,
    /// Answers to requests of the nodes, by their Call-IDs: one that comes again is said no more.
    known: HashMap<Vec<u8>, ()>,
    buffer: Vec<u8>,
    /// When those that wait are looked at.
    look_at: Instant,
}

impl Core {
    pub(crate) fn new(
        socket: UdpSocket,
        nodes: [SocketAddr; 2],
        subscribers: u32,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            book: Book::default(),
            own: socket.local_addr()?,
            socket,
            nodes,
            subscribers,
            newcomers: 0,
            numbers: 0,
            known: HashMap::new(),
            buffer: vec![0; DATAGRAM_MAX],
            look_at: Instant::now(),
        })
    }

    fn digits(number: u32) -> String {
        format!("4477009{number:06}")
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn ask(&mut self, number: u64, what: What, octets: Vec<u8>) {
        let first = Instant::now();
        self.says(&octets);
        let again = first + AGAIN;
        self.book.waiting.insert(number, Waiting { what, octets, first, again, tries: 1 });
    }

    /// To both: the one that stands by takes nothing.
    fn says(&self, octets: &[u8]) {
        for node in self.nodes {
            // One that is gone takes nothing either.
            let _ = self.socket.send_to(octets, node);
        }
    }

    pub(crate) fn register(&mut self, subscriber: u32) -> anyhow::Result<()> {
        let (number, digits) = (self.number(), Self::digits(subscriber));
        let mut octets = Vec::new();
        register(number, self.own, &digits, &mut octets);
        self.ask(number, What::Register(digits), octets);
        self.turn(Duration::ZERO)
    }

    /// Somebody writes to somebody.
    fn submit(&mut self) {
        let number = self.number();
        let among = |it: u64| u32::try_from(it % u64::from(self.subscribers)).unwrap_or_default();
        let (from, to) = (among(number * 7), among(number * 7 + 3));
        let body = submission_to(number, &Self::digits(to));
        let mut octets = Vec::new();
        message(number, self.own, &Self::digits(from), None, &body, &mut octets);
        self.book.submitted.insert(number, number);
        self.ask(number, What::Submit, octets);
    }

    /// Sessions at that rate for so long: registrations and messages, in turn.
    pub(crate) fn load(&mut self, per_s: f64, time: Duration) -> anyhow::Result<()> {
        let (begun, mut count) = (Instant::now(), 0_u32);
        while begun.elapsed() < time {
            let due = begun + Duration::from_secs_f64(f64::from(count) / per_s);
            let now = Instant::now();
            if now < due {
                self.turn((due - now).min(Duration::from_millis(5)))?;
                continue;
            }
            count += 1;
            match count % 2 {
                0 => {
                    self.newcomers += 1;
                    self.register(self.subscribers + self.newcomers)?;
                }
                _ => self.submit(),
            }
        }
        Ok(())
    }

    /// Until nothing waits, or for so long.
    pub(crate) fn settle(&mut self, most: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + most;
        while Instant::now() < until {
            self.turn(Duration::from_millis(5))?;
            if self.book.waiting.is_empty() && most > Duration::from_secs(1) {
                break;
            }
        }
        Ok(())
    }

    /// Takes what comes within that time, and says again what is due.
    pub(crate) fn turn(&mut self, wait: Duration) -> anyhow::Result<()> {
        self.socket.set_nonblocking(wait.is_zero())?;
        if !wait.is_zero() {
            self.socket.set_read_timeout(Some(wait))?;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        for turn in 0..PER_TURN {
            if turn == 1 {
                self.socket.set_nonblocking(true)?;
            }
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => self.hears(&buffer[..length], from),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    break;
                }
                // The port of a node that is gone.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.buffer = buffer;
        let now = Instant::now();
        if now >= self.look_at {
            self.look_at = now + AGAIN / 10;
            self.says_again(now);
        }
        Ok(())
    }

    fn says_again(&mut self, now: Instant) {
        self.book.waiting.retain(|_, it| it.tries < TRIES_MAX || it.again > now);
        let due = self.book.waiting.values_mut().filter(|it| it.again <= now);
        let again: Vec<Vec<u8>> = due
            .map(|it| {
                (it.again, it.tries) = (now + AGAIN, it.tries + 1);
                it.octets.clone()
            })
            .collect();
        again.iter().for_each(|it| self.says(it));
    }

    fn hears(&mut self, octets: &[u8], from: SocketAddr) {
        let Ok(read) = Message::parse(octets) else { return };
        if let Some(status) = read.status() {
            let number = read.header(Header::CallId).and_then(number_of);
            if let Some(number) = number.filter(|_| status >= 200) {
                self.book.ends(Instant::now(), number, status);
            }
            return;
        }
        let mut answer = Vec::new();
        ok(&read, &mut answer);
        let _ = self.socket.send_to(&answer, from);
        let call_id = read.header(Header::CallId).unwrap_or_default().to_vec();
        if read.method() != Method::Message || self.known.insert(call_id.clone(), ()).is_some() {
            return;
        }
        let rp = body(octets);
        match heard(rp) {
            Some(Heard::Report(is_taken)) => {
                let answers = read.first(Header::InReplyTo).and_then(number_of);
                let text = answers.and_then(|it| self.book.submitted.get(&it).copied());
                if let Some(text) = text.filter(|_| is_taken) {
                    self.book.texts.entry(text).or_default().is_acknowledged = true;
                }
            }
            Some(Heard::Message(report)) => {
                let digits = digits_of(octets.split(|it| *it == b'\r').next().unwrap_or_default());
                let Some((text, digits)) = session_of(rp).zip(digits) else { return };
                self.book.comes(text);
                let (number, mut out) = (self.number(), Vec::new());
                message(number, self.own, digits, Some(&call_id), &report, &mut out);
                self.ask(number, What::Report(text), out);
            }
            None => {}
        }
    }
}
