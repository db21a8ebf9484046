//! What a core with terminals sends to both nodes of a pair, or to several that share a ring, and
//! what it is owed: who was answered,
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
const DATAGRAM_MAX: usize = 65_536;
/// Datagrams that one turn takes.
const PER_TURN: usize = 4_096;

/// What a request is.
#[derive(Debug, Clone)]
enum What {
    Register(String),
    Submit,
    /// The delivery report of a message, and the node that had sent that.
    Report(u64, SocketAddr),
}

#[derive(Debug)]
struct Waiting {
    what: What,
    octets: Vec<u8>,
    /// Whom it goes to; none: to all.
    to: Option<SocketAddr>,
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
    /// A report of it was answered by the node that had sent it, in the same life; and another
    /// MESSAGE brought it after that.
    is_reported: bool,
    came_reported: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Book {
    waiting: HashMap<u64, Waiting>,
    registered: BTreeSet<String>,
    texts: BTreeMap<u64, Text>,
    /// Submissions by the numbers of their requests: when they began.
    submitted: HashMap<u64, Instant>,
    /// When sessions began that were refused, or that nobody answered.
    failed: Vec<Instant>,
    killed: Option<Instant>,
    served: Option<Instant>,
}

impl Book {
    /// A node was killed then.
    pub(crate) fn killed(&mut self, at: Instant) {
        (self.killed, self.served) = (Some(at), None);
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

    /// Sessions that were refused or that nobody answered, of those that began before `from`, and
    /// of those that began then or later.
    pub(crate) fn failed(&self, from: Instant) -> (usize, usize) {
        let later = self.failed.iter().filter(|it| **it >= from).count();
        (self.failed.len() - later, later)
    }

    /// A request was answered for good.
    fn ends(&mut self, now: Instant, number: u64, status: u16, by: SocketAddr) {
        let Some(it) = self.waiting.remove(&number) else { return };
        if self.killed.is_some_and(|killed| it.first > killed) && self.served.is_none() {
            self.served = Some(now);
        }
        match it.what {
            What::Register(digits) if status == 200 => drop(self.registered.insert(digits)),
            What::Register(_) => self.failed.push(it.first),
            What::Submit if status >= 300 => self.failed.push(it.first),
            // Else it was under way when a node died.
            What::Report(text, from)
                if status < 300
                    && from == by
                    && self.killed.is_none_or(|killed| it.first > killed) =>
            {
                self.texts.entry(text).or_default().is_reported = true;
            }
            What::Report(..) | What::Submit => {}
        }
    }

    fn comes(&mut self, text: u64) {
        let it = self.texts.entry(text).or_default();
        it.deliveries += 1;
        it.came_reported |= it.is_reported;
    }
}

/// The core.
pub(crate) struct Core {
    pub(crate) book: Book,
    socket: UdpSocket,
    own: SocketAddr,
    nodes: Vec<SocketAddr>,
    /// Each request goes to one of them, in turn.
    is_spread: bool,
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
    /// One whose requests go to both nodes of a pair.
    pub(crate) fn new(
        socket: UdpSocket,
        nodes: [SocketAddr; 2],
        subscribers: u32,
    ) -> anyhow::Result<Self> {
        Self::of(socket, nodes.to_vec(), subscribers)
    }

    /// One whose requests go to nodes that share their rows, to each in turn.
    pub(crate) fn spread(
        socket: UdpSocket,
        nodes: Vec<SocketAddr>,
        subscribers: u32,
    ) -> anyhow::Result<Self> {
        Ok(Self { is_spread: true, ..Self::of(socket, nodes, subscribers)? })
    }

    fn of(socket: UdpSocket, nodes: Vec<SocketAddr>, subscribers: u32) -> anyhow::Result<Self> {
        Ok(Self {
            book: Book::default(),
            own: socket.local_addr()?,
            socket,
            nodes,
            is_spread: false,
            subscribers,
            newcomers: 0,
            numbers: 0,
            known: HashMap::new(),
            buffer: vec![0; DATAGRAM_MAX],
            look_at: Instant::now(),
        })
    }

    fn digits(number: u32) -> String {
        format!("4477009{number:07}")
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn ask(&mut self, number: u64, what: What, octets: Vec<u8>) {
        let first = Instant::now();
        let at = usize::try_from(number).unwrap_or_default() % self.nodes.len();
        let to = match what {
            _ if !self.is_spread => None,
            What::Report(_, from) => Some(from),
            What::Register(_) | What::Submit => Some(self.nodes[at]),
        };
        self.says(&octets, to);
        let again = first + AGAIN;
        self.book.waiting.insert(number, Waiting { what, octets, to, first, again, tries: 1 });
    }

    /// To one, or to both of a pair: the one that stands by takes nothing.
    fn says(&self, octets: &[u8], to: Option<SocketAddr>) {
        let all = self.nodes.iter().filter(|it| to.is_none_or(|to| to == **it));
        for node in all {
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
        self.book.submitted.insert(number, Instant::now());
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
        let Book { waiting, failed, .. } = &mut self.book;
        waiting.retain(|_, it| {
            let is_over = it.tries >= TRIES_MAX && it.again <= now;
            if is_over {
                failed.push(it.first);
            }
            !is_over
        });
        let due = self.book.waiting.values_mut().filter(|it| it.again <= now);
        let again: Vec<_> = due
            .map(|it| {
                (it.again, it.tries) = (now + AGAIN, it.tries + 1);
                (it.octets.clone(), it.to)
            })
            .collect();
        again.iter().for_each(|(octets, to)| self.says(octets, *to));
    }

    fn hears(&mut self, octets: &[u8], from: SocketAddr) {
        let Ok(read) = Message::parse(octets) else { return };
        if let Some(status) = read.status() {
            let number = read.header(Header::CallId).and_then(number_of);
            if let Some(number) = number.filter(|_| status >= 200) {
                self.book.ends(Instant::now(), number, status, from);
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
                let Some((text, began)) = answers.and_then(|it| {
                    let began = self.book.submitted.get(&it)?;
                    Some((it, *began))
                }) else {
                    return;
                };
                match is_taken {
                    true => self.book.texts.entry(text).or_default().is_acknowledged = true,
                    false => self.book.failed.push(began),
                }
            }
            Some(Heard::Message(report)) => {
                let digits = digits_of(octets.split(|it| *it == b'\r').next().unwrap_or_default());
                let Some((text, digits)) = session_of(rp).zip(digits) else { return };
                self.book.comes(text);
                let (number, mut out) = (self.number(), Vec::new());
                message(number, self.own, digits, Some(&call_id), &report, &mut out);
                self.ask(number, What::Report(text, from), out);
            }
            None => {}
        }
    }
}
