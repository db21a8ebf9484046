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
/// Parts that a load is seen in over time, at most, and the shortest.
const SAMPLES_MAX: u32 = 120;
const SAMPLE_MIN: Duration = Duration::from_secs(1);

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
    /// This long a rate rises from nothing, evenly.
    pub(super) ramp: Duration,
    /// This long nothing is measured, after it.
    pub(super) warm: Duration,
    pub(super) measured: Duration,
    /// The last dialogues end within it, and who answers hears of it.
    pub(super) drain: Duration,
}

impl Span {
    /// One whose rate is there at once.
    pub(super) const fn steady(warm: Duration, measured: Duration) -> Self {
        Self { ramp: Duration::ZERO, warm, measured, drain: DRAIN }
    }

    /// Until the measurement is over.
    fn whole(&self) -> Duration {
        self.ramp + self.warm + self.measured
    }

    /// How long what is seen over time is put together.
    pub(super) fn sample(&self) -> Duration {
        (self.whole() / SAMPLES_MAX).max(SAMPLE_MIN)
    }

    /// When the dialogue of that number is due at a rate, from the beginning on.
    fn due(&self, rate: f64, number: u64) -> Duration {
        let (ramp, number) = (self.ramp.as_secs_f64(), number as f64);
        let rising = rate * ramp / 2.0;
        Duration::from_secs_f64(match number < rising {
            true => (2.0 * ramp * number / rate).sqrt(),
            false => ramp + (number - rising) / rate,
        })
    }

    /// Dialogues that are due until the measurement is over.
    fn count(&self, rate: f64) -> u64 {
        ((self.whole().as_secs_f64() - self.ramp.as_secs_f64() / 2.0) * rate) as u64
    }
}

/// A part of a load as it was seen: its end, from the beginning on.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) at: Duration,
    /// Dialogues that ended a second.
    pub(super) per_s: f64,
    /// Response times from submission, milliseconds: those of [`PARTS`].
    pub(super) ms: [f64; PARTS.len()],
}

/// The parts of the times that the report prints.
pub(super) const PARTS: [f64; 5] = [0.5, 0.75, 0.9, 0.95, 0.99];

/// The times of these parts, milliseconds.
pub(super) fn times(of: &Histogram<u64>) -> [f64; PARTS.len()] {
    PARTS.map(|part| of.value_at_quantile(part) as f64 / 1e3)
}

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Dialogues that ended while it was measured.
    pub(super) ended: u64,
    /// Those that failed, of all.
    pub(super) failed: u64,
    /// Those of them that had been answered before.
    pub(super) lost: u64,
    /// Those that were due and were never begun.
    pub(super) unbegun: u64,
    /// What this side has heard and said in all.
    pub(super) counts: Counts,
    /// What who answers should have counted of it.
    pub(super) should_hear: Counts,
    pub(super) per_s: f64,
    /// Response times from submission, and from when they were due, microseconds.
    pub(super) sent: Histogram<u64>,
    pub(super) due: Histogram<u64>,
    /// The first failure in words.
    pub(super) why: Option<String>,
    /// When the first and the last of those that failed had been begun.
    pub(super) failed_from: Option<[Instant; 2]>,
    /// What was seen over time, part by part.
    pub(super) samples: Vec<Sample>,
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
    begun: Instant,
    measures_from: Instant,
    /// The part that is seen now: since when, and how many dialogues ended in it.
    seen: (Instant, u64),
    seen_sent: Histogram<u64>,
    found: Found,
}

impl Found {
    pub(super) fn new() -> Self {
        Self {
            ended: 0,
            failed: 0,
            lost: 0,
            unbegun: 0,
            counts: Counts::default(),
            should_hear: Counts::default(),
            per_s: 0.0,
            sent: histogram(),
            due: histogram(),
            why: None,
            failed_from: None,
            samples: Vec::new(),
        }
    }

    fn fails(&mut self, begun: Begun) {
        self.failed += 1;
        self.lost += u64::from(begun.is_answered);
        let sent = begun.sent;
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
            begun: Instant::now(),
            measures_from: Instant::now(),
            seen: (Instant::now(), 0),
            seen_sent: histogram(),
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
        let (begun, span) = (Instant::now(), self.load.span);
        (self.begun, self.seen) = (begun, (begun, 0));
        self.measures_from = begun + span.ramp + span.warm;
        let until = self.measures_from + span.measured;
        let (mut buffer, mut is_marked) = (vec![0; READ_OCTETS], false);
        loop {
            let now = Instant::now();
            let is_over = match self.load.pace {
                Pace::Standing(count) => self.over() >= count as u64,
                _ => now >= until,
            };
            if is_over || now >= until + span.drain {
                break;
            }
            self.see(now);
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
            self.found.unbegun = span.count(rate).saturating_sub(self.next);
        }
        self.found.per_s = self.found.ended as f64 / self.load.span.measured.as_secs_f64();
        let settles = if self.load_stands() { SETTLE } else { Duration::ZERO };
        let settled = Instant::now() + settles;
        while Instant::now() < settled {
            self.report_due(Instant::now());
            self.pass(&mut buffer)?;
        }
        mark();
        let end = Instant::now() + span.drain;
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
        let end = now + pause * u32::try_from(self.dialogues.len())? + self.load.span.drain;
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
        let left: Vec<_> = left.filter(|it| ends || !it.is_answered).copied().collect();
        left.into_iter().for_each(|begun| self.found.fails(begun));
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
        !self.load_stands() && pauses < self.load.span.drain
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
                    let due = begun + self.load.span.due(rate, self.next);
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

    /// Ends the part that is seen, if its time is up.
    fn see(&mut self, now: Instant) {
        let (since, ended) = self.seen;
        let seen_for = now - since;
        if seen_for < self.load.span.sample() {
            return;
        }
        let (at, per_s) = (now - self.begun, ended as f64 / seen_for.as_secs_f64());
        self.found.samples.push(Sample { at, per_s, ms: times(&self.seen_sent) });
        self.seen_sent.reset();
        self.seen = (now, 0);
    }

    fn count(&mut self, now: Instant) {
        self.seen.1 += 1;
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
        self.found.fails(begun);
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
        self.seen_sent.saturating_record(micros(now - begun.sent));
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
        let span = Span::steady(Duration::ZERO, Duration::from_secs(1_000));
        let load = Load { flow, pace, span };
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
    fn a_rate_rises_evenly_and_stays() {
        let seconds = Duration::from_secs;
        let (ramp, warm, measured) = (seconds(10), seconds(1), seconds(20));
        let span = Span { ramp, warm, measured, drain: DRAIN };
        // 100 a second are 50 in the first ten seconds on average: after five there is a quarter.
        for (number, due) in [(0, 0.0), (125, 5.0), (500, 10.0), (600, 11.0), (2_600, 31.0)] {
            let off = span.due(100.0, number).as_secs_f64() - due;
            assert!(off.abs() < 1e-6, "{number}: {off}");
        }
        assert_eq!(span.count(100.0), 2_600);
        let steady = Span::steady(seconds(1), seconds(2));
        assert_eq!((steady.due(10.0, 5), steady.count(10.0)), (Duration::from_millis(500), 30));
    }

    #[test]
    fn what_is_seen_over_time_is_cut_into_parts() {
        let (mut it, ..) = begun(Flow::Routing, Pace::Window(1));
        let (since, part) = (it.seen.0, it.load.span.sample());
        it.count(since);
        it.see(since + part / 2);
        assert!(it.found.samples.is_empty(), "its time is not up");
        it.count(since);
        it.see(since + part);
        it.see(since + part * 2);
        let per_s: Vec<f64> = it.found.samples.iter().map(|it| it.per_s).collect();
        let wanted = 2.0 / part.as_secs_f64();
        assert!((per_s[0] - wanted).abs() < 1e-9 && per_s[1] == 0.0, "{per_s:?}");
        assert!(it.load.span.whole() <= part * (SAMPLES_MAX + 1));
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
