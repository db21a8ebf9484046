//! Phones of IMS and their home on one shard: they register with AKA and IPsec (TS 33.203), and
//! place the calls of a [`Generator`] by their associations.
//!
//! ```text
//!  Fleet: phones ──clear, ESP──→ P-CSCF under test ──udp──→ core: REGISTER → Home (S-CSCF, HSS)
//!    ↑ its callers, one endpoint a phone                          the rest → answerer
//!  Generator ───────────────────────────────────────────────────────────────────┘
//! ```
//! Asked `phones/start` with `act` (`attach`, `again`, `off`) and what a [`Trial`] says, phones in
//! rotation attach as if they had been switched off and on, register again by what they have, or
//! de-register, open loop, and come again where the trial says so; `phones` tells what happened,
//! `phones/abandon` ends it. All else is asked of the generator.

use crate::arrivals::Arrivals;
use crate::end::Endpoint;
use crate::generator::{Generator, LoadConfig, Trial};
use crate::ladder::{Ladder, Side};
use crate::report::{Cause, Tally};
use handset::{Came, Event, Fleet, FleetConfig, Home, Subscriber};
use machine::{Duration, Time, Wheel};
use runtime::{
    Ask, AskError, Diverted, Effects, Flow, Frame, Function, In, PortId, Running, RuntimeError,
    Seed, ShardSpec, Transport,
};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

/// The generator's port of callers, which no socket stands behind.
const CALLERS: PortId = PortId(u16::MAX);
/// Phones that act in one go; the rest is due at once.
const ARRIVALS_AT_ONCE_MAX: usize = 256;
/// Who was refused, or heard nothing, comes again after this up to twice as long.
const REST_MS: u64 = 2_000;
/// A phone that nothing is awaited of.
const NEVER: Time = Time::MAX;

/// What phones do in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Attach, as if they had been switched off and on.
    Attach,
    /// Register again, by the associations that they have.
    Again,
    /// De-register.
    Off,
}

impl Act {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Attach, "attach"), (Self::Again, "again"), (Self::Off, "off")];

    /// The question that starts a trial of it.
    #[must_use]
    pub fn ask(self, trial: &Trial) -> Ask {
        let Ask { mut params, .. } = trial.ask();
        let name = Self::ALL.iter().find(|(act, _)| *act == self).map_or("attach", |it| it.1);
        params.insert("act".to_owned(), name.to_owned());
        Ask { path: "phones/start".to_owned(), params }
    }
}

/// What phones call, register at, and belong to.
#[derive(Debug, Clone)]
pub struct PhonesConfig {
    /// The phones.
    pub fleet: FleetConfig,
    /// The protected server port of the P-CSCF.
    pub server_port: u16,
    /// Numbers of the subscriptions that the home has ([`Subscriber::number`]).
    pub cards: Range<u64>,
    /// Where the core takes requests, and its address.
    pub core: (PortId, SocketAddr),
    /// The flow of every call.
    pub ladder: Arc<Ladder>,
    /// The port on which captures arrive, to be counted and thrown away.
    pub capture: Option<PortId>,
}

/// Phones, their home, and their calls.
#[derive(Debug)]
pub struct Phones {
    config: Arc<PhonesConfig>,
    fleet: Fleet,
    home: Home,
    generator: Generator,
    arrivals: Option<Arrivals>,
    act: Act,
    trial: Trial,
    /// The phone that acts next.
    next: u32,
    /// When each that is waited for was due to act.
    scheduled: Vec<Time>,
    live: u64,
    /// Phones that come again.
    rests: Wheel<u32>,
    tally: Tally,
    began: Time,
    flushed: Time,
    seed: u64,
}

impl Phones {
    /// Phones that are off.
    ///
    /// # Errors
    /// When the ladder's header lines hold a brace that names nothing.
    pub fn new(seed: Seed, config: Arc<PhonesConfig>) -> Result<Self, crate::FlowError> {
        let number = seed.random.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (now, mut own) = (seed.now, config.fleet.clone());
        own.seed ^= number;
        let fleet = Fleet::new(own, now);
        let callers = (0..u32::try_from(fleet.len()).unwrap_or(u32::MAX)).filter_map(|phone| {
            Some(Endpoint {
                port: CALLERS,
                transport: Transport::Udp,
                local: fleet.contact(phone)?,
                remote: SocketAddr::new(config.fleet.pcscf.ip(), config.server_port),
            })
        });
        let (port, local) = config.core;
        let answerer = Endpoint { port, transport: Transport::Udp, local, remote: local };
        let load = LoadConfig {
            ladder: Arc::clone(&config.ladder),
            callers: callers.collect(),
            answerers: vec![answerer],
            capture: config.capture,
            descriptions: None,
        };
        Ok(Self {
            generator: Generator::new(seed, Arc::new(load))?,
            home: Home::new(config.cards.clone().map(Subscriber::number), number),
            scheduled: vec![NEVER; fleet.len()],
            fleet,
            config,
            arrivals: None,
            act: Act::Attach,
            trial: Trial::default(),
            next: 0,
            live: 0,
            rests: Wheel::new(now),
            tally: Tally::default(),
            began: now,
            flushed: now,
            seed: number,
        })
    }

    fn start(&mut self, now: Time, act: Act, trial: Trial) {
        self.abandon();
        (self.act, self.trial, self.began) = (act, trial, now);
        self.tally = Tally::default();
        self.seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        self.arrivals = Some(Arrivals::new(now, trial.rate, trial.length, trial.spread, self.seed));
    }

    fn abandon(&mut self) {
        self.arrivals = None;
        for (number, at) in self.scheduled.iter_mut().enumerate() {
            if core::mem::replace(at, NEVER) != NEVER {
                let words = || format!("phone {number}: the run ended first");
                self.tally.fail(Side::Caller, Cause::Timeout, words);
            }
        }
        self.live = 0;
    }

    /// What happened so far.
    #[must_use]
    pub fn report(&self) -> crate::Report {
        let mut report = self.tally.report();
        let placing = self.arrivals.as_ref().is_some_and(|it| it.peek().is_some());
        (report.live, report.running) = (self.live, placing || self.live > 0);
        report.answered = self.home.counts().accepted;
        report.duplicates = self.fleet.replayed();
        report
    }

    fn arrive(&mut self, now: Time, out: &mut Effects) {
        let count = u32::try_from(self.fleet.len()).unwrap_or(u32::MAX).max(1);
        for _ in 0..ARRIVALS_AT_ONCE_MAX {
            let Some(at) = self.arrivals.as_mut().and_then(|it| it.due(now)) else { break };
            let phone = self.next;
            self.next = (phone + 1) % count.min(self.trial.subscribers);
            let report = &mut self.tally.report;
            report.started += 1;
            report.lag_max_us = report.lag_max_us.max(now.since(at).as_micros() as u64);
            let Some(scheduled) = self.scheduled.get_mut(phone as usize) else { continue };
            if core::mem::replace(scheduled, at) != NEVER {
                let words = || format!("phone {phone} was still under way");
                self.tally.fail(Side::Caller, Cause::Full, words);
            } else {
                self.live += 1;
            }
            match self.act {
                Act::Attach => self.fleet.attach(now, phone, out),
                Act::Again => self.fleet.register(now, phone, out),
                Act::Off => self.fleet.deregister(now, phone, out),
            }
        }
        self.tally.report.live_max = self.tally.report.live_max.max(self.live);
        self.settle(now);
    }

    /// Counts what became of phones.
    fn settle(&mut self, now: Time) {
        while let Some((number, event)) = self.fleet.event() {
            let Some(scheduled) = self.scheduled.get_mut(number as usize) else { continue };
            let at = *scheduled;
            if at == NEVER {
                continue;
            }
            match event {
                Event::Registered | Event::Deregistered => {
                    self.tally.set_up(now.since(at).as_micros() as u64);
                    self.tally.report.completed += 1;
                    self.tally.report.last_us = now.since(self.began).as_micros() as u64;
                }
                Event::Failed(_) if self.trial.again => {
                    self.seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
                    let rest_ms = REST_MS + (self.seed >> 33) % REST_MS;
                    self.rests.arm(now + Duration::from_millis(rest_ms), number);
                    continue;
                }
                Event::Failed(state) => {
                    let words = || format!("phone {number}: {state:?}");
                    self.tally.fail(Side::Caller, Cause::Status, words);
                }
                Event::Came(_) => continue,
            }
            *scheduled = NEVER;
            self.live -= 1;
        }
    }

    /// Those who were refused or not answered come again.
    fn come_again(&mut self, now: Time, out: &mut Effects) {
        let mut due = Vec::new();
        self.rests.expire(now, &mut due);
        for number in due {
            let waits = self.scheduled.get(number as usize).is_some_and(|at| *at != NEVER);
            if waits {
                self.tally.report.again += 1;
                self.fleet.attach(now, number, out);
            }
        }
    }

    fn message(&mut self, now: Time, flow: Flow, bytes: &[u8], out: &mut Effects) {
        if flow.port == self.config.core.0 && bytes.starts_with(b"REGISTER ") {
            self.tally.report.messages_in += 1;
            if let Some(answer) = self.home.receive(now, flow.remote, bytes) {
                out.send(flow, |to| to.extend_from_slice(&answer));
            }
            return;
        }
        if !self.fleet.owns(flow.port) {
            return self.generator.step(now, In::Message { flow, bytes }, out);
        }
        let came = self.fleet.receive(now, &flow, bytes, out);
        self.settle(now);
        let Came::Message(number, range) = came else { return };
        let Some(local) = self.fleet.contact(number) else { return };
        let remote = SocketAddr::new(self.config.fleet.pcscf.ip(), self.config.server_port);
        let flow = Flow::to(CALLERS, Transport::Udp, local, remote);
        let bytes = self.fleet.octets().get(range).unwrap_or_default();
        self.generator.step(now, In::Message { flow, bytes }, out);
    }

    /// What callers have sent leaves by the associations of their phones.
    fn protect(&mut self, out: &mut Effects) {
        out.divert(|flow, bytes, packet| {
            if flow.port != CALLERS {
                return Diverted::Stays;
            }
            let phone = self.fleet.at(flow.local);
            let to = phone.and_then(|phone| self.fleet.write(phone, bytes, packet));
            to.map_or(Diverted::Dropped, |to| Diverted::Instead { to, in_parts: true })
        });
    }
}

impl Function for Phones {
    type Config = PhonesConfig;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Message { flow, bytes } => self.message(now, flow, bytes, out),
            In::Drain => {
                self.arrivals = None;
                self.generator.step(now, In::Drain, out);
            }
            // What the network says of a phone's packets: they are lost.
            In::Returned { .. } | In::Down { .. } => {}
            other => self.generator.step(now, other, out),
        }
        self.protect(out);
    }

    fn waited(&mut self, now: Time, delay: Duration) {
        self.generator.waited(now, delay);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.fleet.tick(now, out);
        self.settle(now);
        self.come_again(now, out);
        self.arrive(now, out);
        self.generator.tick(now, out);
        self.protect(out);
        self.flushed = now;
    }

    fn deadline(&self) -> Option<Time> {
        let arrival = self.arrivals.as_ref().and_then(Arrivals::peek);
        let arrival = arrival.map(|at| at.max(self.flushed + self.trial.grain));
        let own = [arrival, self.rests.deadline()];
        let times = own.into_iter().chain([self.fleet.deadline(), self.generator.deadline()]);
        times.flatten().min()
    }

    fn configure(&mut self, _now: Time, _config: Arc<PhonesConfig>, _out: &mut Effects) {
        self.abandon();
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        Generator::frame(port, buffer)
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        match ask.path.as_str() {
            "phones/start" => {
                let name = ask.params.get("act").map_or("", String::as_str);
                let act = Act::ALL.iter().find(|(_, word)| *word == name);
                let (act, _) = act.ok_or_else(|| AskError::BadParameter("no such act".into()))?;
                self.start(now, *act, Trial::read(&ask.params)?);
            }
            "phones/abandon" => self.abandon(),
            "phones" => {}
            _ => return self.generator.ask(now, ask, out),
        }
        serde_json::to_value(self.report()).map_err(|_| AskError::Unreachable)
    }

    fn is_idle(&self) -> bool {
        self.live == 0 && self.generator.is_idle()
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

impl Phones {
    /// Starts them. The loop of their shard is compiled here, with this crate's optimisation.
    ///
    /// # Errors
    /// As [`runtime::start`].
    pub fn launch(
        spec: ShardSpec,
        config: Arc<PhonesConfig>,
    ) -> Result<Running<Self>, RuntimeError> {
        runtime::start(spec, config, |seed, config| {
            Self::new(seed, config).expect("the ladder was read before it was given")
        })
    }
}
