//! Requests that leave, and the replies to them: a ping sends the same again, a traceroute one for
//! each hop that it may go.

use crate::codec::{Code, Fec, Kind, Message};
use core::net::Ipv4Addr;
use machine::{Duration, KeyedHash, Time};
use std::collections::BTreeMap;

/// Runs at once.
pub const RUNS_MAX: usize = 16;
/// Requests of a ping.
pub const PROBES_MAX: u8 = 20;
/// Hops of a traceroute.
pub const HOPS_MAX: u8 = 32;
/// From one request to the next.
const PACE: Duration = Duration::from_millis(20);
/// The last one is waited for so long: whoever asks waits two seconds.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// The hop limit of a ping.
const FAR: u8 = 255;

/// What is to be found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Whether packets come to the end of the path: so many requests.
    Ping(u8),
    /// Which routers they pass: so many hops at most.
    Trace(u8),
}

/// A request that leaves behind the labels of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Send {
    /// The prefix whose path it is.
    pub to: (Ipv4Addr, u8),
    /// Hops that its label may go.
    pub hops: u8,
    /// The message.
    pub octets: Vec<u8>,
}

/// What came of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Hops that it could go.
    pub hops: u8,
    /// Who answered what, and after which time.
    pub reply: Option<(Ipv4Addr, u8, Duration)>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its number.
    pub number: u64,
    /// Its requests.
    pub steps: Vec<Step>,
}

#[derive(Debug)]
struct Run {
    to: (Ipv4Addr, u8),
    is_trace: bool,
    handle: u32,
    /// Requests, and when each left.
    steps: Vec<(Step, Option<Time>)>,
    next: usize,
    /// When the next one leaves, or the last one is given up.
    due: Time,
}

/// The runs that are not over.
#[derive(Debug)]
pub struct Probes {
    runs: BTreeMap<u64, Run>,
    secret: KeyedHash,
}

impl Run {
    /// Whether all is known that can be.
    fn is_known(&self) -> bool {
        self.has_end() || self.steps.iter().all(|(step, _)| step.reply.is_some())
    }

    fn is_over(&self, now: Time) -> bool {
        self.is_known() || self.next == self.steps.len() && now >= self.due
    }

    /// Whether a traceroute knows all hops up to its end.
    fn has_end(&self) -> bool {
        let known = self.steps.iter().map_while(|(step, _)| step.reply);
        self.is_trace && known.last().is_some_and(|it| it.1 != Code::Switched.number())
    }

    fn outcome(self, number: u64) -> Outcome {
        let steps = self.steps.into_iter().map(|it| it.0);
        let mut steps: Vec<Step> = steps.collect();
        if self.is_trace {
            let is_end = |it: &Step| it.reply.is_some_and(|it| it.1 != Code::Switched.number());
            let last = steps.iter().position(is_end).or_else(|| {
                // Behind the last that answered one shows that nobody does.
                steps.iter().rposition(|it| it.reply.is_some()).map(|it| it + 1)
            });
            steps.truncate(last.unwrap_or(0) + 1);
        }
        Outcome { number, steps }
    }
}

impl Probes {
    /// Nothing yet; `secret` is known to nobody else.
    #[must_use]
    pub fn new(secret: &[u8; 16]) -> Self {
        Self { runs: BTreeMap::new(), secret: KeyedHash::new(secret) }
    }

    /// Begins a run of that number; `false`: there are too many, or it is one of them.
    pub fn begin(&mut self, now: Time, number: u64, to: (Ipv4Addr, u8), wanted: Wanted) -> bool {
        if self.runs.len() >= RUNS_MAX || self.runs.contains_key(&number) {
            return false;
        }
        let hops: Vec<u8> = match wanted {
            Wanted::Ping(count) => vec![FAR; count.clamp(1, PROBES_MAX).into()],
            Wanted::Trace(hops) => (1..=hops.clamp(1, HOPS_MAX)).collect(),
        };
        let steps = hops.into_iter().map(|hops| (Step { hops, reply: None }, None)).collect();
        let handle = self.secret.number(&number.to_be_bytes()) >> 32;
        let handle = u32::try_from(handle).unwrap_or(0);
        let is_trace = matches!(wanted, Wanted::Trace(_));
        self.runs.insert(number, Run { to, is_trace, handle, steps, next: 0, due: now });
        true
    }

    /// A reply came.
    pub fn heard(&mut self, now: Time, from: Ipv4Addr, it: &Message) {
        if it.kind != Kind::Reply {
            return;
        }
        let Some(run) = self.runs.values_mut().find(|run| run.handle == it.handle) else { return };
        let at = usize::try_from(it.sequence).ok().and_then(|at| at.checked_sub(1));
        let Some((step, sent)) = at.and_then(|at| run.steps.get_mut(at)) else { return };
        if let Some(sent) = sent.filter(|_| step.reply.is_none()) {
            step.reply = Some((from, it.code.0, now.since(sent)));
        }
    }

    /// When [`Probes::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let due = |run: &Run| if run.is_known() { Time::ZERO } else { run.due };
        self.runs.values().map(due).min()
    }

    /// Lets time pass: what leaves, by the clock `ntp`, and what is over.
    pub fn tick(&mut self, now: Time, ntp: u64) -> (Vec<Send>, Vec<Outcome>) {
        let mut leaving = Vec::new();
        for run in self.runs.values_mut() {
            while !run.is_known() && run.next < run.steps.len() && run.due <= now {
                let (step, sent) = &mut run.steps[run.next];
                run.next += 1;
                let sequence = u32::try_from(run.next).unwrap_or(0);
                let fec = Fec::Ldp4(run.to.0, run.to.1);
                let octets = Message::request(fec, run.handle, sequence, ntp).write();
                leaving.push(Send { to: run.to, hops: step.hops, octets });
                *sent = Some(now);
                let is_last = run.next == run.steps.len();
                run.due = now + if is_last { PATIENCE } else { PACE };
            }
        }
        let over = self.runs.extract_if(.., |_, run| run.is_over(now));
        let over = over.map(|(number, run)| run.outcome(number)).collect();
        (leaving, over)
    }
}
