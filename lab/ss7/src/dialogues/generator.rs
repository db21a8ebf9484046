//! Who begins dialogues: an application of the gateway, in an open loop or a closed one. A flow, a
//! pace, times; and what was found.

use super::flow::{Counts, Flow, over};
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
use tcu::{Client, ClientEvent, Component, Hello, Indication, Request, Spelling};

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
/// For the last dialogues to end, and for who answers to hear of it.
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
    pub(super) span: Span,
}

/// How long a load takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// This long nothing is measured.
    pub(super) warm: Duration,
    pub(super) measured: Duration,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Dialogues that ended while it was measured.
    pub(super) ended: u64,
    /// Those that failed, of all.
    pub(super) failed: u64,
    /// Those that were due and were never begun.
    pub(super) unbegun: u64,
    /// What this side has heard and said in all, for who answers to agree.
    pub(super) counts: Counts,
    pub(super) per_s: f64,
    /// Response times from submission, and from when they were due, microseconds.
    pub(super) sent: Histogram<u64>,
    pub(super) due: Histogram<u64>,
    /// The first failure in words.
    pub(super) why: Option<String>,
    /// When the first and the last of those that failed had been begun.
    pub(super) failed_from: Option<[Instant; 2]>,
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
    /// Dialogues that were begun and neither answered nor failed.
    unanswered: u64,
    measures_from: Instant,
    found: Found,
}

impl Found {
    pub(super) fn new() -> Self {
        Self {
            ended: 0,
            failed: 0,
            unbegun: 0,
            counts: Counts::default(),
            per_s: 0.0,
            sent: histogram(),
            due: histogram(),
            why: None,
            failed_from: None,
        }
    }

    fn fails(&mut self, sent: Instant) {
        self.failed += 1;
        let [first, last] = self.failed_from.unwrap_or([sent; 2]);
        self.failed_from = Some([first.min(sent), last.max(sent)]);
    }
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
        let instance = load.flow.name();
        let client = Client::new(Hello::new(NAME, "", instance), Spelling::Tagged, None);
        stream.write_all(&client.greeting())?;
        stream.set_nonblocking(true)?;
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
            unanswered: 0,
            measures_from: Instant::now(),
            found: Found::new(),
        })
    }

    /// Runs the load. `mark` is called when what is measured begins, and when it ends with all
    /// dialogues standing; `agrees` says whether who answers has counted the same.
    pub(super) fn run(
        mut self,
        mark: &mut dyn FnMut(),
        agrees: &dyn Fn(&Counts) -> bool,
    ) -> anyhow::Result<Found> {
        let begun = Instant::now();
        self.measures_from = begun + self.load.span.warm;
        let until = self.measures_from + self.load.span.measured;
        let (mut buffer, mut is_marked) = (vec![0; READ_OCTETS], false);
        loop {
            let now = Instant::now();
            let is_over = match self.load.pace {
                Pace::Standing(count) => self.over() >= count as u64,
                _ => now >= until,
            };
            if is_over || now >= until + DRAIN {
                break;
            }
            if !is_marked && now >= self.measures_from {
                is_marked = true;
                mark();
            }
            self.begin_due(begun, now);
            self.report_due(now);
            self.pass(&mut buffer)?;
        }
        if let Pace::PerSecond(rate) = self.load.pace {
            self.begin_due(begun, until);
            let due = ((until - begun).as_secs_f64() * rate) as u64;
            self.found.unbegun = due.saturating_sub(self.next);
        }
        self.found.per_s = self.found.ended as f64 / self.load.span.measured.as_secs_f64();
        let settles = if self.load_stands() { SETTLE } else { Duration::ZERO };
        let settled = Instant::now() + settles;
        while Instant::now() < settled {
            self.report_due(Instant::now());
            self.pass(&mut buffer)?;
        }
        mark();
        let end = Instant::now() + DRAIN;
        while !(self.has_settled() && agrees(&self.found.counts)) && Instant::now() < end {
            // Calls that pause for longer are left where they are.
            if self.load_ends() {
                self.report_due(Instant::now());
            }
            self.pass(&mut buffer)?;
        }
        self.leave();
        Ok(self.found)
    }

    /// Lets calls stand, so many as the pace says, until `holds` says no more; then reports the
    /// release of all, `per_s` a second. `stands` is called in between.
    pub(super) fn hold(
        mut self,
        per_s: f64,
        stands: &mut dyn FnMut(),
        holds: &dyn Fn() -> bool,
        agrees: &dyn Fn(&Counts) -> bool,
    ) -> anyhow::Result<Found> {
        let Pace::Standing(count) = self.load.pace else { anyhow::bail!("nothing is to stand") };
        let mut buffer = vec![0; READ_OCTETS];
        let until = Instant::now() + self.load.span.measured;
        while self.over() < count as u64 || self.found.counts.reported < self.found.counts.answered
        {
            let now = Instant::now();
            anyhow::ensure!(now < until, "{} of {count} calls stand", self.over());
            self.begin_due(now, now);
            self.report_due(now);
            self.pass(&mut buffer)?;
        }
        stands();
        while holds() {
            self.pass(&mut buffer)?;
        }
        let (now, pause) = (Instant::now(), Duration::from_secs_f64(1.0 / per_s));
        let at = (0_u32..).map(|number| now + pause * number);
        let releases = at.zip(self.dialogues.keys());
        self.later.extend(releases.map(|(at, dialogue)| Reverse((at, *dialogue, true))));
        let end = now + pause * u32::try_from(self.dialogues.len())? + DRAIN;
        while !(self.dialogues.is_empty() && self.out.is_empty() && agrees(&self.found.counts))
            && Instant::now() < end
        {
            self.report_due(Instant::now());
            self.pass(&mut buffer)?;
        }
        Ok(self.found)
    }

    /// Those that should have come further have failed.
    fn leave(&mut self) {
        let ends = self.load_ends();
        let left = self.asked.values().chain(self.dialogues.values());
        let left: Vec<_> = left.filter(|it| ends || !it.is_answered).map(|it| it.sent).collect();
        left.into_iter().for_each(|sent| self.found.fails(sent));
    }

    fn pass(&mut self, buffer: &mut [u8]) -> anyhow::Result<()> {
        if !self.turn(buffer)? {
            std::thread::sleep(IDLE);
        }
        Ok(())
    }

    /// Dialogues that should have come further: all where they are to end, else those without an
    /// answer.
    fn left(&self) -> u64 {
        if self.load_ends() { self.open() as u64 } else { self.unanswered }
    }

    fn has_settled(&self) -> bool {
        self.out.is_empty() && self.left() == 0
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
        self.found.counts.answered + self.found.failed
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
            if let Request::Begin { reference, portion, .. } = &mut self.begin {
                *reference = self.next;
                portion.components = vec![self.load.flow.question()];
            }
            self.unanswered += 1;
            self.client.write(&self.begin, &mut self.out);
            self.asked.insert(self.next, Begun { due, sent: now, is_answered: false });
        }
    }

    fn report_due(&mut self, now: Instant) {
        while let Some(Reverse((at, dialogue, is_release))) = self.later.peek().copied() {
            if at > now || self.out.len() >= WAITING_MAX {
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
                self.found.counts.released += 1;
                self.count(now);
            } else {
                self.found.counts.reported += 1;
            }
        }
    }

    fn count(&mut self, now: Instant) {
        if now >= self.measures_from && now < self.measures_from + self.load.span.measured {
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
                ClientEvent::Malformed(it) => anyhow::bail!("{}", it.what),
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
            Indication::Continue { dialogue, portion } => {
                self.heard(now, it, *dialogue, false, &portion.components);
            }
            Indication::End { dialogue, portion } => {
                let is_answer = self.heard(now, it, *dialogue, true, &portion.components);
                if is_answer {
                    self.dialogues.remove(dialogue);
                    self.count(now);
                }
            }
            Indication::Refused { reference: Some(reference), .. } => {
                let begun = self.asked.remove(reference);
                self.failed(begun, it);
            }
            // An operation that is answered by an error alone has done what was asked when its time
            // is up (Q.771 §2.2.1.1.1, class 2); initialDP is one.
            Indication::Cancel { dialogue, .. }
                if self.dialogues.get(dialogue).is_some_and(|it| it.is_answered) => {}
            Indication::Refused { .. }
            | Indication::UAbort { .. }
            | Indication::PAbort { .. }
            | Indication::Notice { .. }
            | Indication::LocalReject { .. }
            | Indication::Cancel { .. } => {
                let begun = it.dialogue().and_then(|it| self.dialogues.remove(&it));
                self.failed(begun, it);
            }
            _ => {}
        }
    }

    /// A dialogue that was removed has failed; one that was over, or has failed before, has not.
    fn failed(&mut self, begun: Option<Begun>, it: &Indication) {
        let Some(begun) = begun else { return };
        self.unanswered -= u64::from(!begun.is_answered);
        self.found.fails(begun.sent);
        self.found.why.get_or_insert_with(|| format!("{it:?}"));
    }

    /// A message of a dialogue: the answer, once, or it has failed. Whether it was the answer.
    fn heard(
        &mut self,
        now: Instant,
        it: &Indication,
        dialogue: u64,
        is_end: bool,
        components: &[Component],
    ) -> bool {
        let Some(begun) = self.dialogues.get_mut(&dialogue) else { return false };
        if begun.is_answered || !self.load.flow.is_answer(is_end, components) {
            let begun = self.dialogues.remove(&dialogue);
            self.failed(begun, it);
            return false;
        }
        begun.is_answered = true;
        self.unanswered -= 1;
        self.found.counts.answered += 1;
        if now >= self.measures_from {
            self.found.sent.saturating_record(micros(now - begun.sent));
            self.found.due.saturating_record(micros(now - begun.due));
        }
        if let Flow::Call(answer, release) = self.load.flow {
            let pauses = match self.load.pace {
                Pace::Standing(_) => [Some(Duration::ZERO), None],
                _ => [Some(answer), Some(answer + release)],
            };
            for (is_release, pause) in [false, true].into_iter().zip(pauses) {
                self.later.extend(pause.map(|it| Reverse((now + it, dialogue, is_release))));
            }
        }
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use tcu::{Code, Portion};

    /// A generator of which nobody reads what it writes, with a dialogue that is begun.
    fn begun(flow: Flow, pace: Pace) -> (Generator, UnixListener, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("asks.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (warm, measured) = (Duration::ZERO, Duration::from_secs(1_000));
        let load = Load { flow, pace, span: Span { warm, measured } };
        let mut it = Generator::new(&socket, Address::subsystem(None, 6), load).unwrap();
        let now = Instant::now();
        it.begin_due(now, now);
        it.indicated(now, &Indication::Begun { reference: 1, dialogue: 70 });
        (it, listener, folder)
    }

    fn end(components: Vec<Component>) -> Indication {
        Indication::End { dialogue: 70, portion: Portion::of(components) }
    }

    #[test]
    fn an_end_without_the_result_is_a_failure_and_no_answer() {
        let error = Component::Error { id: 1, code: Code::Local(27), parameter: None };
        for components in [vec![], vec![error]] {
            let (mut it, ..) = begun(Flow::Routing, Pace::Window(1));
            it.indicated(Instant::now(), &end(components));
            let counts = (it.found.ended, it.found.failed, it.found.counts.answered);
            assert_eq!((counts, it.left()), ((0, 1, 0), 0));
            // What is told of it afterwards has been counted.
            it.indicated(Instant::now(), &Indication::Cancel { dialogue: 70, id: 1 });
            assert_eq!(it.found.failed, 1);
        }
    }

    #[test]
    fn who_is_never_answered_is_left_whether_or_not_calls_are_waited_for() {
        let long = Flow::Call(Duration::from_secs(10), Duration::from_secs(60));
        for (flow, pace) in
            [(long, Pace::Window(1)), (long, Pace::Standing(1)), (Flow::Routing, Pace::Window(1))]
        {
            let (it, ..) = begun(flow, pace);
            assert_eq!((it.left(), it.unanswered), (1, 1), "{flow:?} {pace:?}");
        }
    }

    #[test]
    fn what_crosses_the_end_of_a_dialogue_is_no_failure() {
        let (mut it, ..) = begun(Flow::Routing, Pace::Window(1));
        it.indicated(Instant::now(), &Indication::Cancel { dialogue: 71, id: 1 });
        let refused =
            Indication::Refused { reference: None, dialogue: Some(71), why: tcu::Refusal::Unknown };
        it.indicated(Instant::now(), &refused);
        assert_eq!((it.found.failed, it.open()), (0, 1));
    }
}
