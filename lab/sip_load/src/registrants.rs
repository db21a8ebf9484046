//! Subscribers that register: REGISTERs at a set rate, and the core that accepts them.
//!
//! ```text
//! subscriber n: REGISTER, Call-ID and Contact his own, CSeq the number of the rotation
//!      ──→ element under test ──→ core side: 200 with the Contact as it came
//!      ←── 200 with his Contact, in time
//! ```
//! Subscribers come in rotation; nothing is kept of one between two rotations, so that a million
//! of them cost nothing. Only requests under way take memory. Asked `trial/start`, `trial` and
//! `trial/abandon` as the [`crate::Generator`] is.
//!
//! In a trial with [`Trial::again`] a subscriber who is refused comes again after the Retry-After
//! (RFC 3261 §20.33), one who hears nothing after a while (RFC 5626 §4.5), until he stands.

use crate::arrivals::Arrivals;
use crate::end::Endpoint;
use crate::generator::Trial;
use crate::ladder::Side;
use crate::leg::repeat;
use crate::report::{Cause, Tally};
use crate::scan::Scan;
use crate::template::{ID_DIGITS, Id, Names, Template};
use machine::{Duration, Time, Wheel};
use memchr::memmem;
use runtime::{
    Ask, AskError, Effects, Flow, Frame, Function, In, PortId, Running, RuntimeError, Seed,
    ShardSpec, Transport,
};
use sip::Method;
use std::sync::Arc;

/// REGISTERs under way at once; more are counted as failures of the generator.
pub const UNDER_WAY_MAX: usize = 4 << 20;
/// REGISTERs started in one go; the rest is due at once.
const ARRIVALS_AT_ONCE_MAX: usize = 1_024;
/// RFC 3261 Table 4.
const T1_MS: u32 = 500;
/// RFC 3261 Table 4.
const T2_MS: u32 = 4_000;
/// Timer F: 64 x T1.
const PATIENCE: Duration = Duration::from_millis(64 * T1_MS as u64);
/// Who heard nothing rests for a half of this up to all of it (RFC 5626 §4.5, base-time-all-fail).
const SILENCE_MS: u64 = 30_000;
/// A 503 without Retry-After counts as one with this.
const RETRY_AFTER_S: u64 = 5;
/// Longest Retry-After that a subscriber heeds.
const RETRY_AFTER_MAX_S: u64 = 600;
/// CSeq of the first rotation: ten digits, as all that follow.
const FIRST_CSEQ: u32 = 1_000_000_000;
/// What a branch begins with (RFC 3261 §8.1.1.7).
const COOKIE: &[u8] = b"z9hG4bK";

/// What registers, and where.
#[derive(Debug, Clone)]
pub struct RegistrantsConfig {
    /// Where REGISTERs come from, in turn; of one transport.
    pub clients: Vec<Endpoint>,
    /// Where the core takes them, if the element under test passes them on.
    pub core: Option<PortId>,
    /// Seconds that subscribers ask for.
    pub expires_s: u32,
}

/// A REGISTER under way.
#[derive(Debug)]
struct Waiting {
    generation: u32,
    live: bool,
    /// Whether it was refused, or not answered, and comes again when it is due.
    rests: bool,
    subscriber: u32,
    cseq: u32,
    interval_ms: u32,
    scheduled: Time,
    sent: Time,
    due: Time,
    /// The earliest entry of the slot in the wheel.
    armed: Time,
}

/// All subscribers and their core.
#[derive(Debug)]
pub struct Registrants {
    config: Arc<RegistrantsConfig>,
    head: Template,
    tail: Template,
    locals: Vec<Vec<u8>>,
    waiting: Vec<Waiting>,
    free: Vec<u32>,
    live: u64,
    wheel: Wheel<u32>,
    due: Vec<u32>,
    again: Vec<u32>,
    arrivals: Option<Arrivals>,
    trial: Trial,
    subscriber: u32,
    rotation: u32,
    /// How many rotations further the next one begins: who came again has used their CSeq.
    ahead: u32,
    began: Time,
    flushed: Time,
    tally: Tally,
    seed: u64,
    answer: Vec<u8>,
}

fn templates(config: &RegistrantsConfig) -> Result<(Template, Template), crate::FlowError> {
    let transport = config.clients.first().map_or(Transport::Udp, |endpoint| endpoint.transport);
    let (word, param) = match transport {
        Transport::Udp => ("UDP", ""),
        Transport::Tcp => ("TCP", ";transport=tcp"),
        Transport::Tls => ("TLS", ";transport=tls"),
    };
    let head = format!(
        "REGISTER sip:lab.example.org SIP/2.0\r\n\
         Via: SIP/2.0/{word} {{local}};rport;branch=z9hG4bK{{id}}\r\nMax-Forwards: 70\r\n\
         From: <sip:+{{user}}@lab.example.org>;tag={{user}}\r\n\
         To: <sip:+{{user}}@lab.example.org>\r\nCall-ID: {{user}}@{{local}}\r\nCSeq: "
    );
    let tail = format!(
        " REGISTER\r\nContact: <sip:+{{user}}@{{local}}{param}>\r\nExpires: {}\r\n\
         Content-Length: 0\r\n\r\n",
        config.expires_s
    );
    Ok((Template::new(&head)?, Template::new(&tail)?))
}

impl Registrants {
    /// Subscribers that rest.
    ///
    /// # Errors
    /// When the message's own template holds a brace that names nothing.
    pub fn new(seed: Seed, config: Arc<RegistrantsConfig>) -> Result<Self, crate::FlowError> {
        let (head, tail) = templates(&config)?;
        let random = seed.random.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let locals = config.clients.iter().map(|endpoint| endpoint.local.to_string().into_bytes());
        Ok(Self {
            head,
            tail,
            locals: locals.collect(),
            config,
            waiting: Vec::new(),
            free: Vec::new(),
            live: 0,
            wheel: Wheel::new(seed.now),
            due: Vec::new(),
            again: Vec::new(),
            arrivals: None,
            trial: Trial::default(),
            subscriber: 0,
            rotation: 0,
            ahead: 0,
            began: seed.now,
            flushed: seed.now,
            tally: Tally::default(),
            seed: random,
            answer: Vec::new(),
        })
    }

    /// Starts a trial with the next subscriber in rotation; what the one before left over is
    /// forgotten. Another number of subscribers begins another rotation.
    pub fn start(&mut self, now: Time, trial: Trial) {
        self.abandon();
        self.rotation += core::mem::take(&mut self.ahead);
        self.began = now;
        if trial.subscribers != self.trial.subscribers {
            (self.subscriber, self.rotation) = (0, self.rotation + 1);
        }
        self.tally = Tally::default();
        self.trial = trial;
        self.seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        self.arrivals = Some(Arrivals::new(now, trial.rate, trial.length, trial.spread, self.seed));
    }

    fn abandon(&mut self) {
        self.arrivals = None;
        self.again.clear();
        for slot in 0..self.waiting.len() as u32 {
            if self.waiting[slot as usize].live {
                self.fail(slot, Cause::Timeout, || "the run ended first".into());
            }
        }
    }

    /// What happened so far.
    #[must_use]
    pub fn report(&self) -> crate::Report {
        let mut report = self.tally.report();
        report.live = self.live;
        let placing = self.arrivals.as_ref().is_some_and(|a| a.peek().is_some());
        report.running = placing || self.live > 0;
        report
    }

    fn arrive(&mut self, now: Time, out: &mut Effects) {
        for _ in 0..ARRIVALS_AT_ONCE_MAX {
            let Some(at) = self.arrivals.as_mut().and_then(|arrivals| arrivals.due(now)) else {
                break;
            };
            let report = &mut self.tally.report;
            report.started += 1;
            report.lag_max_us = report.lag_max_us.max(now.since(at).as_micros() as u64);
            match self.open(now, at) {
                Some(slot) => self.send(slot, out),
                None => self.tally.fail(Side::Caller, Cause::Full, || {
                    format!("{UNDER_WAY_MAX} REGISTERs are under way")
                }),
            }
            self.subscriber += 1;
            if self.subscriber >= self.trial.subscribers {
                (self.subscriber, self.rotation) = (0, self.rotation + 1);
            }
        }
        let report = &mut self.tally.report;
        report.live_max = report.live_max.max(self.live);
    }

    /// The next subscriber's REGISTER.
    fn open(&mut self, now: Time, scheduled: Time) -> Option<u32> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.waiting.len() < UNDER_WAY_MAX => {
                let never = Time::MAX;
                self.waiting.push(Waiting {
                    generation: self.seed as u32,
                    live: false,
                    rests: false,
                    subscriber: 0,
                    cseq: 0,
                    interval_ms: 0,
                    scheduled: now,
                    sent: now,
                    due: never,
                    armed: never,
                });
                (self.waiting.len() - 1) as u32
            }
            None => return None,
        };
        let one = &mut self.waiting[slot as usize];
        (one.live, one.rests) = (true, false);
        (one.subscriber, one.cseq) = (self.subscriber, FIRST_CSEQ + self.rotation);
        one.scheduled = scheduled;
        self.live += 1;
        self.attempt(now, slot);
        Some(slot)
    }

    /// A transaction begins.
    fn attempt(&mut self, now: Time, slot: u32) {
        let one = &mut self.waiting[slot as usize];
        (one.sent, one.interval_ms) = (now, T1_MS);
        let is_reliable = self.config.clients[0].transport.is_stream();
        let first = if is_reliable { PATIENCE } else { Duration::from_millis(T1_MS.into()) };
        self.wait(slot, now + first);
    }

    /// This transaction is over; the next one begins after a rest.
    fn rest(&mut self, now: Time, slot: u32, rest: Duration) {
        let one = &mut self.waiting[slot as usize];
        one.rests = true;
        one.generation = one.generation.wrapping_add(1);
        self.wait(slot, now + rest);
    }

    /// Who rested begins anew, with the next number (RFC 3261 §8.1.3.5).
    fn come_again(&mut self, now: Time, slot: u32) {
        let one = &mut self.waiting[slot as usize];
        one.rests = false;
        one.cseq += 1;
        let next = FIRST_CSEQ + self.rotation;
        self.ahead = self.ahead.max((one.cseq + 1).saturating_sub(next));
        self.tally.report.again += 1;
        self.again.push(slot);
        self.attempt(now, slot);
    }

    fn wait(&mut self, slot: u32, at: Time) {
        let one = &mut self.waiting[slot as usize];
        one.due = at;
        if at < one.armed {
            one.armed = at;
            self.wheel.arm(at, slot);
        }
    }

    /// Writes the REGISTER in a slot, for the first time or again.
    fn send(&mut self, slot: u32, out: &mut Effects) {
        let one = &self.waiting[slot as usize];
        let number = one.subscriber as usize % self.config.clients.len();
        let endpoint = &self.config.clients[number];
        let flow = Flow::to(endpoint.port, endpoint.transport, endpoint.local, endpoint.remote);
        let id = Id { slot, generation: one.generation };
        let names = Names { subscriber: one.subscriber, id, local: &self.locals[number] };
        let (head, tail, cseq) = (&self.head, &self.tail, one.cseq);
        out.send(flow, |buffer| {
            head.fill(buffer, &names);
            sip::decimal(buffer, cseq.into());
            tail.fill(buffer, &names);
        });
        self.tally.report.messages_out += 1;
    }

    fn release(&mut self, slot: u32) {
        let one = &mut self.waiting[slot as usize];
        (one.live, one.due) = (false, Time::MAX);
        one.generation = one.generation.wrapping_add(1);
        self.free.push(slot);
        self.live -= 1;
    }

    fn fail(&mut self, slot: u32, cause: Cause, words: impl FnOnce() -> String) {
        let subscriber = self.waiting[slot as usize].subscriber;
        self.tally.fail(Side::Caller, cause, || format!("subscriber {subscriber}: {}", words()));
        self.release(slot);
    }

    fn expire(&mut self, now: Time) {
        let mut due = core::mem::take(&mut self.due);
        self.wheel.expire(now, &mut due);
        for slot in due.drain(..) {
            let one = &mut self.waiting[slot as usize];
            one.armed = Time::MAX;
            let at = one.due;
            match one.live {
                false => {}
                true if at > now => self.wait(slot, at),
                true => self.on_time(now, slot),
            }
        }
        self.due = due;
    }

    /// Timer E or F.
    fn on_time(&mut self, now: Time, slot: u32) {
        let one = &mut self.waiting[slot as usize];
        if one.rests {
            return self.come_again(now, slot);
        }
        if now.since(one.sent) >= PATIENCE && self.trial.again {
            self.tally.report.unanswered += 1;
            self.seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            let rest_ms = SILENCE_MS / 2 + (self.seed >> 33) % (SILENCE_MS / 2);
            return self.rest(now, slot, Duration::from_millis(rest_ms));
        }
        if now.since(one.sent) >= PATIENCE {
            return self.fail(slot, Cause::Timeout, || "nothing came".into());
        }
        one.interval_ms = (2 * one.interval_ms).min(T2_MS);
        let next = now + Duration::from_millis(one.interval_ms.into());
        let at = next.min(one.sent + PATIENCE);
        self.tally.report.retransmissions += 1;
        self.again.push(slot);
        self.wait(slot, at);
    }

    fn message(&mut self, now: Time, flow: Flow, bytes: &[u8], out: &mut Effects) {
        self.tally.report.messages_in += 1;
        if Some(flow.port) == self.config.core {
            self.accept(flow, bytes, out);
        } else if bytes.starts_with(b"SIP/2.0 1") || bytes.iter().all(u8::is_ascii_whitespace) {
            // A provisional response, or a keep-alive.
        } else {
            self.answered(now, bytes);
        }
    }

    /// The core: every REGISTER is accepted with the Contact as it came.
    fn accept(&mut self, flow: Flow, bytes: &[u8], out: &mut Effects) {
        let scan = Scan::read(bytes).filter(|scan| scan.status == 0);
        let Some(scan) = scan else {
            return self.tally.fail(Side::Answerer, Cause::Malformed, || words(bytes));
        };
        repeat(&mut self.answer, &scan, Some(Id { slot: 1, generation: 1 }), &[]);
        out.send(flow, |buffer| {
            buffer.extend_from_slice(b"SIP/2.0 200 OK\r\n");
            buffer.extend_from_slice(&self.answer);
            if scan.method == Method::Register {
                for line in scan.lines_named("Contact") {
                    buffer.extend_from_slice(line);
                    buffer.extend_from_slice(b"\r\n");
                }
            }
            buffer.extend_from_slice(b"Content-Length: 0\r\n\r\n");
        });
        self.tally.report.answered += 1;
    }

    /// A final answer to a REGISTER: 200, and the subscriber's contact is bound.
    fn answered(&mut self, now: Time, bytes: &[u8]) {
        let id = memmem::find(bytes, COOKIE)
            .and_then(|at| Id::read(bytes.get(at + COOKIE.len()..)?.get(..ID_DIGITS)?));
        let Some(id) = id else {
            return self.tally.fail(Side::Caller, Cause::Malformed, || words(bytes));
        };
        let one = self.waiting.get(id.slot as usize);
        let is_this = |one: &&Waiting| one.live && !one.rests && one.generation == id.generation;
        let Some(one) = one.filter(is_this) else {
            self.tally.report.late += 1;
            return;
        };
        let status = bytes.get(8..11).unwrap_or_default();
        let cause = match status {
            b"200" if is_bound(bytes, one.subscriber) => {
                let us = now.since(one.scheduled).as_micros() as u64;
                self.tally.set_up(us);
                self.tally.report.completed += 1;
                self.tally.report.last_us = now.since(self.began).as_micros() as u64;
                return self.release(id.slot);
            }
            b"503" if self.trial.again => {
                self.tally.reject(503, now.since(one.sent).as_micros() as u64);
                return self.rest(now, id.slot, Duration::from_secs(retry_after_s(bytes)));
            }
            b"200" => Cause::Unexpected,
            b"503" => Cause::Shed,
            _ => Cause::Status,
        };
        self.fail(id.slot, cause, || words(bytes));
    }
}

/// Whether a 200 lists the subscriber's contact with time left.
fn is_bound(bytes: &[u8], subscriber: u32) -> bool {
    let Some(at) = memmem::find(bytes, b"\r\nContact: ") else { return false };
    let contacts = &bytes[at..];
    let user = crate::template::caller(subscriber);
    memmem::find(contacts, &user).is_some()
        && memmem::find(contacts, b";expires=")
            .is_some_and(|at| contacts.get(at + 9).is_some_and(|digit| *digit != b'0'))
}

/// Seconds after which a refused request may come again.
fn retry_after_s(bytes: &[u8]) -> u64 {
    const NAME: &[u8] = b"\r\nRetry-After: ";
    let Some(at) = memmem::find(bytes, NAME) else { return RETRY_AFTER_S };
    let digits = bytes[at + NAME.len()..].iter().take_while(|byte| byte.is_ascii_digit()).take(9);
    let value = digits.fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    value.min(RETRY_AFTER_MAX_S)
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned()
}

impl Function for Registrants {
    type Config = RegistrantsConfig;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Message { flow, bytes } => self.message(now, flow, bytes, out),
            In::Down { flow, why } if Some(flow.port) != self.config.core => {
                self.tally.fail(Side::Caller, Cause::Transport, || why.to_owned());
            }
            In::Drain => self.arrivals = None,
            In::Up { .. }
            | In::Proved { .. }
            | In::Written { .. }
            | In::Down { .. }
            | In::Returned { .. }
            | In::Ready { .. }
            | In::Channel { .. }
            | In::Resolved { .. }
            | In::Work { .. }
            | In::HandedBack { .. } => {}
        }
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.expire(now);
        let mut again = core::mem::take(&mut self.again);
        again.drain(..).for_each(|slot| self.send(slot, out));
        self.again = again;
        self.arrive(now, out);
        self.flushed = now;
    }

    fn deadline(&self) -> Option<Time> {
        let arrival = self.arrivals.as_ref().and_then(Arrivals::peek);
        let arrival = arrival.map(|at| at.max(self.flushed + self.trial.grain));
        self.wheel.deadline().into_iter().chain(arrival).min()
    }

    fn configure(&mut self, _now: Time, config: Arc<RegistrantsConfig>, _out: &mut Effects) {
        self.abandon();
        if let Ok((head, tail)) = templates(&config) {
            let locals =
                config.clients.iter().map(|endpoint| endpoint.local.to_string().into_bytes());
            (self.head, self.tail, self.locals) = (head, tail, locals.collect());
            (self.config, self.rotation) = (config, self.rotation + 1);
        }
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        crate::Generator::frame(port, buffer)
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        _out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        match ask.path.as_str() {
            "trial/start" => self.start(now, Trial::read(&ask.params)?),
            "trial/abandon" => self.abandon(),
            "trial" => {}
            other => return Err(AskError::NotFound(other.to_owned())),
        }
        serde_json::to_value(self.report()).map_err(|_| AskError::Unreachable)
    }

    fn is_idle(&self) -> bool {
        self.live == 0
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

impl Registrants {
    /// Starts one. The loop of its shard is compiled here, with this crate's optimisation.
    ///
    /// # Errors
    /// As [`runtime::start`].
    pub fn launch(
        spec: ShardSpec,
        config: Arc<RegistrantsConfig>,
    ) -> Result<Running<Self>, RuntimeError> {
        runtime::start(spec, config, |seed, config| {
            Self::new(seed, config).expect("the REGISTER's template names what it has")
        })
    }
}
