//! The generator as a function on a shard: both ends of all calls, and the sink of captures.
//!
//! Asked `trial/start` it places calls at the rate it is told; `trial` tells what happened so
//! far; `trial/more` places further calls beside those that stand; `trial/release` with a `rate`
//! ends the hold time of calls that stand; `trial/abandon` ends it all; `call-ids` names every call
//! of all trials. What is to be sent gathers for [`Trial::grain`] and leaves grouped by kind, as a
//! network card's interrupt coalescing would do it.

use crate::arrivals::{Arrivals, Spread};
use crate::description::Descriptions;
use crate::end::{End, Endpoint};
use crate::ladder::{Ladder, Side};
use crate::report::{Cause, Tally};
use crate::scan::Scan;
use machine::{Duration, Time};
use runtime::{
    Ask, AskError, Effects, Flow, Frame, Function, In, PortId, Running, RuntimeError, Seed,
    ShardSpec,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Calls started in one go; the rest is due at once.
const ARRIVALS_AT_ONCE_MAX: usize = 1_024;
/// Octets of a HEP3 header: `HEP3` and the length of the whole packet.
const HEP_HEADER: usize = 6;
/// Chunks of a packet that are looked at.
const HEP_CHUNKS_MAX: usize = 32;

/// What a generator runs.
#[derive(Debug, Clone)]
pub struct LoadConfig {
    /// The flow of every call.
    pub ladder: Arc<Ladder>,
    /// Where calls come from, in turn.
    pub callers: Vec<Endpoint>,
    /// Where they are answered.
    pub answerers: Vec<Endpoint>,
    /// The port on which captures arrive, to be counted and thrown away.
    pub capture: Option<PortId>,
    /// Who describes their media; `None`: every call says the same, which nobody looks at.
    pub descriptions: Option<Arc<dyn Descriptions>>,
}

/// One run of load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Calls per second.
    pub rate: f64,
    /// How long calls are placed.
    pub length: Duration,
    /// How long each answered call stands.
    pub hold: Duration,
    /// Subscribers that call in rotation.
    pub subscribers: u32,
    /// How arrivals are spread.
    pub spread: Spread,
    /// How long messages gather before they leave together.
    pub grain: Duration,
    /// Whether the callers take overload control feedback (RFC 7339).
    pub obeys: bool,
    /// Whether subscribers who are refused or not answered come again until they are registered;
    /// calls never do.
    pub again: bool,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            rate: 1_000.0,
            length: Duration::from_secs(1),
            hold: Duration::ZERO,
            subscribers: 1_000_000,
            spread: Spread::Uniform,
            grain: Duration::from_micros(200),
            obeys: false,
            again: false,
        }
    }
}

impl Trial {
    /// The parameters of `trial/start`.
    #[must_use]
    pub fn ask(&self) -> Ask {
        let us = |time: Duration| time.as_micros().to_string();
        let poisson = self.spread == Spread::Poisson;
        let params = [
            ("rate", self.rate.to_string()),
            ("length_us", us(self.length)),
            ("hold_us", us(self.hold)),
            ("subscribers", self.subscribers.to_string()),
            ("poisson", poisson.to_string()),
            ("grain_us", us(self.grain)),
            ("again", self.again.to_string()),
            ("obeys", self.obeys.to_string()),
        ];
        let params = params.into_iter().map(|(name, value)| (name.to_owned(), value));
        Ask { path: "trial/start".into(), params: params.collect() }
    }

    pub(crate) fn read(params: &BTreeMap<String, String>) -> Result<Self, AskError> {
        fn parse<T: std::str::FromStr>(
            params: &BTreeMap<String, String>,
            name: &str,
        ) -> Result<T, AskError> {
            let value = params.get(name).and_then(|text| text.parse().ok());
            value.ok_or_else(|| AskError::BadParameter(format!("{name} is missing or no number")))
        }
        let us = |name| parse(params, name).map(Duration::from_micros);
        let subscribers: u32 = parse(params, "subscribers")?;
        let poisson: bool = parse(params, "poisson")?;
        Ok(Self {
            rate: parse(params, "rate")?,
            length: us("length_us")?,
            hold: us("hold_us")?,
            subscribers: subscribers.max(1),
            spread: if poisson { Spread::Poisson } else { Spread::Uniform },
            grain: us("grain_us")?,
            again: parse(params, "again")?,
            obeys: parse(params, "obeys")?,
        })
    }
}

/// Whether a HEP3 packet holds a SIP message (chunk 11 is 1) and not a line of a log.
fn is_sip(packet: &[u8]) -> bool {
    const PROTOCOL_TYPE: u16 = 11;
    const SIP: u8 = 1;
    let word =
        |at: usize| packet.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    let mut at = HEP_HEADER;
    for _ in 0..HEP_CHUNKS_MAX {
        let (Some(kind), Some(length)) = (word(at + 2), word(at + 4)) else { return false };
        if kind == PROTOCOL_TYPE {
            return packet.get(at + 6) == Some(&SIP);
        }
        at += usize::from(length.max(1));
    }
    false
}

/// Both ends of all calls.
#[derive(Debug)]
pub struct Generator {
    config: Arc<LoadConfig>,
    caller: End,
    answerer: End,
    arrivals: Option<Arrivals>,
    /// Calls that stand are released at these times, from this slot on.
    releases: Option<(Arrivals, u32)>,
    trial: Trial,
    subscriber: u32,
    flushed: Time,
    /// How long the messages that come now have waited to be read.
    waited: Duration,
    tally: Tally,
    seed: u64,
}

fn ends(config: &LoadConfig, seed: u64, now: Time) -> Result<(End, End), crate::FlowError> {
    let end = |side, endpoints: &[Endpoint]| {
        let end = End::new(side, Arc::clone(&config.ladder), endpoints.to_vec(), seed as u32, now)?;
        Ok(end.describing(config.descriptions.clone()))
    };
    Ok((end(Side::Caller, &config.callers)?, end(Side::Answerer, &config.answerers)?))
}

impl Generator {
    /// A generator that rests.
    ///
    /// # Errors
    /// When the ladder's header lines hold a brace that names nothing.
    pub fn new(seed: Seed, config: Arc<LoadConfig>) -> Result<Self, crate::FlowError> {
        let random = seed.random.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (caller, answerer) = ends(&config, random, seed.now)?;
        Ok(Self {
            config,
            caller,
            answerer,
            arrivals: None,
            releases: None,
            trial: Trial::default(),
            subscriber: 0,
            flushed: seed.now,
            waited: Duration::ZERO,
            tally: Tally::default(),
            seed: random,
        })
    }

    /// Starts a trial; what the one before left over is forgotten.
    pub fn start(&mut self, now: Time, trial: Trial) {
        self.abandon();
        self.tally = Tally::default();
        self.trial = trial;
        (self.caller.hold, self.answerer.hold) = (trial.hold, trial.hold);
        self.caller.obey(trial.obeys);
        self.seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        self.arrivals = Some(Arrivals::new(now, trial.rate, trial.length, trial.spread, self.seed));
    }

    /// Places further calls beside those that stand, which are counted with them.
    pub fn add(&mut self, now: Time, trial: Trial) {
        self.trial = trial;
        (self.caller.hold, self.answerer.hold) = (trial.hold, trial.hold);
        self.arrivals = Some(Arrivals::new(now, trial.rate, trial.length, trial.spread, self.seed));
    }

    /// Releases the calls that stand, at `rate` per second, whatever their hold time.
    pub fn release(&mut self, now: Time, rate: f64) {
        let ever = Duration::from_secs(u64::from(u32::MAX));
        self.releases = Some((Arrivals::new(now, rate, ever, Spread::Uniform, self.seed), 0));
    }

    fn hang_up(&mut self, now: Time) {
        for _ in 0..ARRIVALS_AT_ONCE_MAX {
            let Some((releases, slot)) = &mut self.releases else { return };
            let Some(due) = releases.due(now) else { return };
            match self.caller.hang_up(now, due, *slot, &mut self.tally) {
                Some(next) => *slot = next,
                None => self.releases = None,
            }
        }
    }

    fn abandon(&mut self) {
        self.arrivals = None;
        self.releases = None;
        self.caller.abandon(&mut self.tally);
        self.answerer.abandon(&mut self.tally);
    }

    /// What happened so far.
    #[must_use]
    pub fn report(&self) -> crate::Report {
        let mut report = self.tally.report();
        report.live = self.caller.live;
        let placing = self.arrivals.as_ref().is_some_and(|a| a.peek().is_some());
        report.running = placing || self.caller.live > 0 || self.answerer.live > 0;
        report
    }

    fn arrive(&mut self, now: Time) {
        let Some(arrivals) = &mut self.arrivals else { return };
        for _ in 0..ARRIVALS_AT_ONCE_MAX {
            let Some(at) = arrivals.due(now) else { break };
            let report = &mut self.tally.report;
            report.started += 1;
            report.lag_max_us = report.lag_max_us.max(now.since(at).as_micros() as u64);
            if self.caller.restraint.withholds(now) {
                report.withheld += 1;
                continue;
            }
            self.caller.call(now, at, self.subscriber, &mut self.tally);
            self.subscriber = (self.subscriber + 1) % self.trial.subscribers;
        }
        let report = &mut self.tally.report;
        report.live_max = report.live_max.max(self.caller.live);
    }

    fn message(&mut self, now: Time, flow: Flow, bytes: &[u8], out: &mut Effects) {
        if Some(flow.port) == self.config.capture {
            self.tally.report.captured += u64::from(is_sip(bytes));
            return;
        }
        let answers = self.config.answerers.iter().any(|endpoint| endpoint.port == flow.port);
        let end = if answers { &mut self.answerer } else { &mut self.caller };
        match Scan::read(bytes) {
            Some(scan) => {
                end.waited = self.waited;
                end.receive(now, flow, &scan, out, &mut self.tally);
            }
            None if bytes.iter().all(u8::is_ascii_whitespace) => {} // keep-alive
            None => {
                let side = if answers { Side::Answerer } else { Side::Caller };
                let head: Vec<u8> = bytes.iter().take(60).copied().collect();
                self.tally
                    .fail(side, Cause::Malformed, || String::from_utf8_lossy(&head).into_owned());
            }
        }
    }
}

impl Function for Generator {
    type Config = LoadConfig;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Message { flow, bytes } => self.message(now, flow, bytes, out),
            In::Down { flow, why } if Some(flow.port) != self.config.capture => {
                self.caller.lost(&flow, why, &mut self.tally);
                self.answerer.lost(&flow, why, &mut self.tally);
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

    fn waited(&mut self, _now: Time, delay: Duration) {
        self.waited = delay;
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.caller.expire(now, &mut self.tally);
        self.answerer.expire(now, &mut self.tally);
        self.arrive(now);
        self.hang_up(now);
        self.caller.flush(now, out, &mut self.tally);
        self.answerer.flush(now, out, &mut self.tally);
        self.flushed = now;
    }

    fn deadline(&self) -> Option<Time> {
        let work = self.caller.has_work() || self.answerer.has_work();
        let arrival = self.arrivals.as_ref().and_then(Arrivals::peek);
        let release = self.releases.as_ref().and_then(|(releases, _)| releases.peek());
        let times = [
            self.caller.deadline(),
            self.answerer.deadline(),
            arrival.map(|at| at.max(self.flushed + self.trial.grain)),
            release.map(|at| at.max(self.flushed + self.trial.grain)),
            work.then(|| self.flushed + self.trial.grain),
        ];
        times.into_iter().flatten().min()
    }

    fn configure(&mut self, now: Time, config: Arc<LoadConfig>, _out: &mut Effects) {
        self.abandon();
        self.seed = self.seed.wrapping_add(1 << 20); // identities must not come again
        if let Ok((caller, answerer)) = ends(&config, self.seed, now) {
            (self.caller, self.answerer, self.config) = (caller, answerer, config);
        }
    }

    fn frame(_port: PortId, buffer: &[u8]) -> Frame {
        if buffer.starts_with(b"HEP3") {
            let Some(&[.., high, low]) = buffer.first_chunk::<HEP_HEADER>() else {
                return Frame::Partial;
            };
            return match usize::from(u16::from_be_bytes([high, low])) {
                0..HEP_HEADER => Frame::Broken("a HEP packet shorter than its header"),
                length => Frame::Message(length),
            };
        }
        match sip::frame(buffer) {
            sip::Framing::Partial => Frame::Partial,
            sip::Framing::Skip(bytes) => Frame::Skip(bytes),
            sip::Framing::Message(bytes) => Frame::Message(bytes),
            sip::Framing::Broken(malformed) => Frame::Broken(malformed.what),
        }
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        _out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        match ask.path.as_str() {
            "trial/start" => self.start(now, Trial::read(&ask.params)?),
            "trial/more" => self.add(now, Trial::read(&ask.params)?),
            "trial/release" => {
                let rate = ask.params.get("rate").and_then(|rate| rate.parse().ok());
                let wrong = || AskError::BadParameter("rate is missing or no number".into());
                self.release(now, rate.ok_or_else(wrong)?);
            }
            "trial/abandon" => self.abandon(),
            "trial" => {}
            "call-ids" => {
                let ids = self.caller.call_ids();
                return ids.map(|ids| serde_json::json!(ids)).ok_or_else(|| {
                    AskError::BadParameter("the calls went through several endpoints".into())
                });
            }
            other => return Err(AskError::NotFound(other.to_owned())),
        }
        serde_json::to_value(self.report()).map_err(|_| AskError::Unreachable)
    }

    fn is_idle(&self) -> bool {
        self.caller.live == 0 && self.answerer.live == 0
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

impl Generator {
    /// Starts one. The loop of its shard is compiled here, with this crate's optimisation.
    ///
    /// # Errors
    /// As [`runtime::start`].
    pub fn launch(spec: ShardSpec, config: Arc<LoadConfig>) -> Result<Running<Self>, RuntimeError> {
        runtime::start(spec, config, |seed, config| {
            Self::new(seed, config).expect("the ladder was read before it was given")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_message_is_told_from_a_captured_log_line() {
        let packet = |kind: u8| {
            let mut bytes = b"HEP3\0\x14".to_vec();
            bytes.extend([0, 0, 0, 1, 0, 7, 2, 0, 0, 0, 11, 0, 7, kind]);
            bytes
        };
        assert!(is_sip(&packet(1)) && !is_sip(&packet(100)));
        for end in 0..packet(1).len() {
            assert!(!is_sip(&packet(1)[..end]));
        }
        assert_eq!(Generator::frame(PortId(1), &packet(1)), Frame::Message(20));
        assert!(matches!(Generator::frame(PortId(1), b"HEP3\0\x02"), Frame::Broken(_)));
    }
}
