//! Who begins dialogues: an application of the gateway, in an open loop or a closed one. It stands
//! in for the simulator of scenarios: a flow, a pace, times; and what was found.

use super::flow::{Flow, over};
use super::nodes::{ASKS, NAME};
use anyhow::Context;
use hdrhistogram::Histogram;
use sccp::codec::Address;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use tcu::{Client, ClientEvent, Hello, Indication, Request, Spelling};

/// Octets that are read at a time.
const READ_OCTETS: usize = 262_144;
/// Octets that wait to be written before no more dialogues are begun.
const WAITING_MAX: usize = 1 << 20;
/// Dialogues that begin at once where they are to stand.
const BEGINNING_MAX: u64 = 1_000;
/// For what was said last to come, before what is used is read.
const SETTLE: Duration = Duration::from_millis(500);
/// Sleep when there is nothing to do: what a response may wait for unseen.
const IDLE: Duration = Duration::from_micros(20);
/// For the last dialogues to end.
const DRAIN: Duration = Duration::from_secs(20);
const TIME_MAX_US: u64 = 60_000_000;

/// How dialogues begin.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    /// So many at once, one when another ends.
    Window(usize),
    /// So many a second, whatever comes of them.
    PerSecond(f64),
    /// So many in all that are answered and stand: their releases never come.
    Standing(usize),
}

/// What is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) flow: Flow,
    pub(super) pace: Pace,
    /// This long nothing is measured.
    pub(super) warm: Duration,
    pub(super) measured: Duration,
}

/// What was found while it was measured.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) ended: u64,
    pub(super) failed: u64,
    pub(super) per_s: f64,
    /// Response times from submission, and from when they were due, microseconds.
    pub(super) sent: Histogram<u64>,
    pub(super) due: Histogram<u64>,
    /// The first failure in words.
    pub(super) why: Option<String>,
}

/// A dialogue that stands.
#[derive(Debug, Clone, Copy)]
struct Begun {
    due: Instant,
    sent: Instant,
    is_answered: bool,
}

/// An application that begins dialogues.
pub(super) struct Generator {
    stream: UnixStream,
    client: Client,
    out: Vec<u8>,
    begin: Request,
    load: Load,
    asked: HashMap<u64, Begun>,
    dialogues: HashMap<u64, Begun>,
    later: BinaryHeap<Reverse<(Instant, u64, bool)>>,
    next: u64,
    answered: u64,
    measures_from: Instant,
    found: Found,
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(TIME_MAX_US, 3).expect("three digits up to a minute is a valid range")
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(TIME_MAX_US).min(TIME_MAX_US)
}

impl Generator {
    /// Greets as the application [`NAME`] at `socket`; asks `far` from its subsystem.
    pub(super) fn new(socket: &Path, far: Address, load: Load) -> anyhow::Result<Self> {
        let mut stream = UnixStream::connect(socket).context("the gateway's socket")?;
        let client = Client::new(Hello::new(NAME, "", "generator"), Spelling::Tagged, None);
        stream.write_all(&client.greeting())?;
        stream.set_nonblocking(true)?;
        let found = Found {
            ended: 0,
            failed: 0,
            per_s: 0.0,
            sent: histogram(),
            due: histogram(),
            why: None,
        };
        Ok(Self {
            stream,
            client,
            out: Vec::new(),
            begin: load.flow.begin(ASKS, far),
            load,
            asked: HashMap::new(),
            dialogues: HashMap::new(),
            later: BinaryHeap::new(),
            next: 0,
            answered: 0,
            measures_from: Instant::now(),
            found,
        })
    }

    /// Runs the load; `standing` is called at its end, before dialogues are over.
    pub(super) fn run(mut self, standing: &mut dyn FnMut()) -> anyhow::Result<Found> {
        let begun = Instant::now();
        self.measures_from = begun + self.load.warm;
        let until = self.measures_from + self.load.measured;
        let mut buffer = vec![0; READ_OCTETS];
        loop {
            let now = Instant::now();
            let is_over = match self.load.pace {
                Pace::Standing(count) => self.over() >= count as u64,
                _ => now >= until,
            };
            if is_over || now >= until + DRAIN {
                break;
            }
            self.begin_due(begun, now);
            self.report_due(now);
            if !self.turn(&mut buffer)? {
                std::thread::sleep(IDLE);
            }
        }
        let measured = self.load.measured.as_secs_f64();
        self.found.per_s = self.found.ended as f64 / measured;
        let settles = if self.load_stands() { SETTLE } else { Duration::ZERO };
        let settled = Instant::now() + settles;
        while Instant::now() < settled {
            self.report_due(Instant::now());
            if !self.turn(&mut buffer)? {
                std::thread::sleep(IDLE);
            }
        }
        standing();
        let end = Instant::now() + DRAIN;
        while self.open() > 0 && self.load_ends() && Instant::now() < end {
            self.report_due(Instant::now());
            if !self.turn(&mut buffer)? {
                std::thread::sleep(IDLE);
            }
        }
        if self.load_ends() {
            self.found.failed += self.open() as u64;
        }
        Ok(self.found)
    }

    fn open(&self) -> usize {
        self.asked.len() + self.dialogues.len()
    }

    /// Whether dialogues are waited for at the end: not those that stand, or that pause for long.
    fn load_ends(&self) -> bool {
        let pauses = match self.load.flow {
            Flow::Call(answer, release) => answer + release,
            Flow::Routing => Duration::ZERO,
        };
        !self.load_stands() && pauses < DRAIN
    }

    const fn load_stands(&self) -> bool {
        matches!(self.load.pace, Pace::Standing(_))
    }

    /// Dialogues that were answered, or that failed.
    const fn over(&self) -> u64 {
        self.answered + self.found.failed
    }

    fn begin_due(&mut self, begun: Instant, now: Instant) {
        while self.out.len() < WAITING_MAX {
            let due = match self.load.pace {
                Pace::Window(window) if self.open() >= window => return,
                Pace::Standing(count)
                    if self.next >= count as u64 || self.next >= self.over() + BEGINNING_MAX =>
                {
                    return;
                }
                Pace::Window(_) | Pace::Standing(_) => now,
                Pace::PerSecond(rate) => {
                    let due = begun + Duration::from_secs_f64(self.next as f64 / rate);
                    if due > now {
                        return;
                    }
                    due
                }
            };
            self.next += 1;
            if let Request::Begin { reference, .. } = &mut self.begin {
                *reference = self.next;
            }
            self.client.write(&self.begin, &mut self.out);
            self.asked.insert(self.next, Begun { due, sent: now, is_answered: false });
        }
    }

    fn report_due(&mut self, now: Instant) {
        while let Some(Reverse((at, dialogue, is_release))) = self.later.peek().copied() {
            if at > now {
                return;
            }
            self.later.pop();
            if !self.dialogues.contains_key(&dialogue) {
                continue;
            }
            self.client.write(&Flow::report(dialogue, is_release), &mut self.out);
            if is_release {
                self.client.write(&over(dialogue), &mut self.out);
                self.dialogues.remove(&dialogue);
                self.count(now);
            }
        }
    }

    fn count(&mut self, now: Instant) {
        if now >= self.measures_from && now < self.measures_from + self.load.measured {
            self.found.ended += 1;
        }
    }

    /// Writes and reads what can be; whether anything was.
    fn turn(&mut self, buffer: &mut [u8]) -> anyhow::Result<bool> {
        let mut did = false;
        if !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(count) => {
                    self.out.drain(..count);
                    did = true;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        let count = match self.stream.read(buffer) {
            Ok(0) => anyhow::bail!("the gateway has closed the connection"),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(did),
            Err(error) => return Err(error.into()),
        };
        let mut events = Vec::new();
        let heard = self.client.received(&buffer[..count], &mut |event| events.push(event));
        self.out.extend(heard.map_err(anyhow::Error::msg)?);
        let now = Instant::now();
        for event in events {
            match event {
                ClientEvent::Indication(it) => self.indicated(now, &it),
                ClientEvent::Bye(why) => anyhow::bail!("{why}"),
                ClientEvent::Malformed(what, _) => anyhow::bail!("{what}"),
                ClientEvent::Unread(_) | ClientEvent::Welcome(_) => {}
            }
        }
        Ok(true)
    }

    fn indicated(&mut self, now: Instant, it: &Indication) {
        match it {
            Indication::Begun { reference, dialogue } => {
                if let Some(begun) = self.asked.remove(reference) {
                    self.dialogues.insert(*dialogue, begun);
                }
            }
            Indication::Continue { dialogue, .. } => self.answered(now, *dialogue),
            Indication::End { dialogue, .. } => {
                self.answered(now, *dialogue);
                if self.dialogues.remove(dialogue).is_some() {
                    self.count(now);
                }
            }
            Indication::Refused { reference: Some(reference), .. } => {
                self.asked.remove(reference);
                self.failed(it);
            }
            // An operation that is answered by an error alone has done what was asked when its time
            // is up (Q.771 §2.2.1.1.1, class 2); initialDP is one.
            Indication::Cancel { dialogue, .. }
                if self.dialogues.get(dialogue).is_some_and(|it| it.is_answered) => {}
            Indication::Refused { .. }
            | Indication::UAbort { .. }
            | Indication::PAbort { .. }
            | Indication::Notice { .. }
            | Indication::Cancel { .. } => {
                self.dialogues.remove(&it.dialogue().unwrap_or_default());
                self.failed(it);
            }
            _ => {}
        }
    }

    fn failed(&mut self, it: &Indication) {
        self.found.failed += 1;
        self.found.why.get_or_insert_with(|| format!("{it:?}"));
    }

    fn answered(&mut self, now: Instant, dialogue: u64) {
        let Some(begun) = self.dialogues.get_mut(&dialogue) else { return };
        if core::mem::replace(&mut begun.is_answered, true) {
            return;
        }
        self.answered += 1;
        if now >= self.measures_from {
            self.found.sent.saturating_record(micros(now - begun.sent));
            self.found.due.saturating_record(micros(now - begun.due));
        }
        let Flow::Call(answer, release) = self.load.flow else { return };
        match self.load.pace {
            Pace::Standing(_) => self.later.push(Reverse((now, dialogue, false))),
            _ => {
                self.later.push(Reverse((now + answer, dialogue, false)));
                self.later.push(Reverse((now + answer + release, dialogue, true)));
            }
        }
    }
}
