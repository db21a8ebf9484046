//! Calls by SIP: both ends of each in one generator, which describes the media of a [`Book`].

use crate::book::Book;
use anyhow::Context;
use runtime::{Ask, Carrier, PortId, PortSpec, Running, ShardSpec, StreamSpec, Transport};
use sip_load::{Endpoint, Generator, Ladder, LoadConfig, Report, Trial};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls end when they are released.
const HOLD: Duration = Duration::from_secs(24 * 3_600);
/// What is not set up, or has not ended, this long after it was due has failed: longer than a
/// transaction takes that was lost in a failover.
const DRAIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
const CALLER: PortId = PortId(0);
const ANSWERER: PortId = PortId(1);

/// Where calls go.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    /// Of those who call.
    pub caller: SocketAddr,
    /// Of those who answer.
    pub answerer: SocketAddr,
    /// Of the session controller, where calls come in.
    pub access: SocketAddr,
    /// The generator's core.
    pub core: usize,
}

/// The generator. Dropping it ends it.
pub struct Signalling {
    running: Running<Generator>,
    /// Calls of the book.
    calls: u32,
}

impl Signalling {
    /// Starts it in the namespace of the calling thread.
    ///
    /// # Errors
    /// When its addresses are taken.
    pub fn start(ends: Ends, book: Arc<Book>) -> anyhow::Result<Self> {
        let Ends { caller, answerer, access, core } = ends;
        let calls = book.count();
        let carrier = Carrier::of(Transport::Udp, false, StreamSpec::default());
        let port = |id, name: &str, listen| PortSpec {
            id,
            name: name.into(),
            listen,
            carrier: carrier.clone(),
            ..PortSpec::default()
        };
        let ports = vec![port(CALLER, "caller", caller), port(ANSWERER, "answerer", answerer)];
        let endpoint =
            |port, local, remote| Endpoint { port, transport: Transport::Udp, local, remote };
        let config = LoadConfig {
            ladder: Arc::new(Ladder::built_in("SIP")?),
            callers: vec![endpoint(CALLER, caller, access)],
            answerers: vec![endpoint(ANSWERER, answerer, answerer)],
            capture: None,
            descriptions: Some(book),
        };
        let spec =
            ShardSpec { name: "calls".into(), cores: vec![core], ports, ..ShardSpec::default() };
        let running = runtime::start(spec, Arc::new(config), |seed, config| {
            Generator::new(seed, config).expect("the ladder comes with the program")
        })?;
        Ok(Self { running, calls })
    }

    /// Sets so many calls up, `rate` a second, and waits until all stand.
    ///
    /// # Errors
    /// When one of them does not.
    pub fn set_up(&self, calls: u32, rate: f64) -> anyhow::Result<Report> {
        let length = Duration::from_secs_f64((f64::from(calls) - 0.5) / rate);
        let trial = Trial { rate, length, hold: HOLD, subscribers: self.calls, ..Trial::default() };
        self.ask(trial.ask())?;
        self.stand(calls.into(), length + DRAIN)
    }

    /// The same beside those that stand.
    ///
    /// # Errors
    /// When one of them does not stand.
    pub fn add(&self, calls: u32, rate: f64) -> anyhow::Result<Report> {
        let length = Duration::from_secs_f64((f64::from(calls) - 0.5) / rate);
        let before = self.report()?.setup.count;
        let trial = Trial { rate, length, hold: HOLD, subscribers: self.calls, ..Trial::default() };
        self.ask(Ask { path: "trial/more".into(), ..trial.ask() })?;
        self.stand(before + u64::from(calls), length + DRAIN)
    }

    /// Waits until so many calls were set up in all.
    fn stand(&self, calls: u64, limit: Duration) -> anyhow::Result<Report> {
        let report = self.until(limit, |report| {
            report.failed() + report.refused() > 0 || report.setup.count >= calls
        })?;
        anyhow::ensure!(
            report.failed() + report.refused() == 0 && report.setup.count >= calls,
            "{} of {calls} calls were set up, {} failed, {} were refused{}",
            report.setup.count,
            report.failed(),
            report.refused(),
            example(&report),
        );
        Ok(report)
    }

    /// Ends all that stand by a BYE, `rate` a second.
    ///
    /// # Errors
    /// When the generator does not answer.
    pub fn release(&self, rate: f64) -> anyhow::Result<Report> {
        let live = self.report()?.live;
        let params = [("rate".to_owned(), rate.to_string())].into();
        self.ask(Ask { path: "trial/release".into(), params })?;
        self.until(Duration::from_secs_f64(live as f64 / rate) + DRAIN, |report| !report.running)
    }

    /// What happened so far.
    ///
    /// # Errors
    /// When the generator does not answer.
    pub fn report(&self) -> anyhow::Result<Report> {
        self.ask(Ask { path: "trial".into(), ..Ask::default() })
    }

    fn ask(&self, ask: Ask) -> anyhow::Result<Report> {
        let answer = self.running.ask(ask).context("the generator does not answer")?;
        Ok(serde_json::from_value(answer)?)
    }

    fn until(&self, limit: Duration, wanted: impl Fn(&Report) -> bool) -> anyhow::Result<Report> {
        let end = Instant::now() + limit;
        loop {
            let report = self.report()?;
            if wanted(&report) || Instant::now() > end {
                return Ok(report);
            }
            std::thread::sleep(POLL);
        }
    }
}

/// The first failure of a report, in brackets.
pub(crate) fn example(report: &Report) -> String {
    report.examples.first().map(|first| format!(" ({first})")).unwrap_or_default()
}
