//! The search for what a forwarder reaches on a ground.

use crate::ground::{Ground, LEFT, RIGHT};
use crate::tester::{CELLS, Found, Tester};
use anyhow::Context;
use driver::ports::{PacketPort, Port, XdpPort, packet, xdp};
use graph::{Pool, STRIDE};
use serde_json::{Value, json};
use std::time::Duration;
use traffic::{Bounds, Delays, Goal, Latency, Plan, Search, Trial, drive};

/// Loss that is borne, as in the report.
pub const LOSS: f64 = 20e-6;
/// How near the bounds are in the end.
const WIDTH: f64 = 0.02;
/// The rates between which is searched, packets a second.
const LEAST_PPS: f64 = 1_000.0;
/// A smaller share of time is not told well by ticks of 10 ms.
const BUSY_MIN: f64 = 0.1;
/// Part of the throughput at which delays are measured.
const LATENCY_LOAD: f64 = 0.9;
/// Trials of delays.
const LATENCY_TRIALS: usize = 5;

/// How long trials are.
#[derive(Debug, Clone, Copy)]
pub struct Bench {
    /// The tester's core, and that of what is tested.
    pub cores: (usize, usize),
    /// Short trials, coarser figures.
    pub is_quick: bool,
}

/// What a forwarder reached.
#[derive(Debug, Clone)]
pub struct Reached {
    /// The highest rate with a loss that is borne, packets a second; 0 if there is none.
    pub pps: f64,
    /// Where the search ended.
    pub bounds: Bounds,
    /// What the last trial at that rate found.
    pub at_best: Found,
    /// Delays at nine tenths of the rate.
    pub delays: Delays,
    /// Trials of the search.
    pub trials: usize,
    /// Whether the tester itself could not do more.
    pub is_testers_limit: bool,
}

/// The tester's ends by AF_XDP.
fn by_xdp(pool: &Pool) -> anyhow::Result<(Port, Port)> {
    let mut umem = xdp::Umem::new(pool, true)?;
    let mut open = |name: &str| -> anyhow::Result<Port> {
        let before = xdp::Redirect::attach(name).with_context(|| name.to_owned())?;
        Ok(Port::Xdp(XdpPort::open(&before, 0, xdp::ENTRIES, &mut umem)?))
    };
    Ok((open(LEFT)?, open(RIGHT)?))
}

/// The tester's ends by AF_PACKET.
fn by_packet() -> anyhow::Result<(Port, Port)> {
    let open = |name: &str| {
        let spec = packet::Spec { offloads_off: true, ..packet::Spec::new(name) };
        PacketPort::open(&spec).map(Port::Packet).with_context(|| name.to_owned())
    };
    Ok((open(LEFT)?, open(RIGHT)?))
}

impl Bench {
    /// The tester on the first of so many cores, what is tested on the second.
    #[must_use]
    pub fn new(cores: usize, is_quick: bool) -> Self {
        Self { cores: (0, 1.min(cores.saturating_sub(1))), is_quick }
    }

    /// How long the trials of a search are.
    pub fn goal(&self) -> Goal {
        let times = if self.is_quick { [100, 250, 250] } else { [250, 1_000, 3_000] };
        let [initial, last, sum] = times.map(Duration::from_millis);
        Goal { width: WIDTH, ..Goal::noisy(LOSS) }.within(initial, last, sum)
    }

    /// Opens the tester's ends of the ground's wires in a thread of their own, on the tester's
    /// core, and lets `work` have the tester.
    ///
    /// # Errors
    /// When ports cannot be opened, and those of `work`.
    pub fn on_wires<T: Send>(
        &self,
        ground: &Ground,
        plan: &Plan,
        work: impl FnOnce(&mut Tester) -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        let (own, sut) = self.cores;
        let run = || -> anyhow::Result<T> {
            attack::enter(ground.side.name())?;
            peers::pin(own)?;
            let pool = Pool::new(CELLS, STRIDE);
            // Where there is no AF_XDP, AF_PACKET does, more slowly.
            let ports = by_xdp(&pool).or_else(|_| by_packet())?;
            let mut tester = Tester::new(ports, pool, plan, sut)?;
            work(&mut tester)
        };
        std::thread::scope(|scope| {
            let thread = scope.spawn(run);
            thread.join().map_err(|_| anyhow::anyhow!("the tester failed"))?
        })
    }

    /// Searches the highest rate below `most_pps`, then measures delays at nine tenths of it.
    pub fn search(&self, tester: &mut Tester, most_pps: f64) -> Reached {
        // Caches, neighbours and page tables are not what is searched for.
        let warm = Trial::Rate { pps: most_pps / 10.0, duration: Duration::from_millis(100) };
        tester.trial(warm);
        let mut search = Search::new(vec![self.goal()], LEAST_PPS, most_pps);
        let mut held: Vec<(f64, Found)> = Vec::new();
        let mut at_worst = (f64::INFINITY, Found::default());
        let tolerable = |found: &Found| found.measured.loss_ratio() <= LOSS;
        let never: Result<usize, std::convert::Infallible> = drive(&mut search, |trial| {
            let found = tester.trial(trial);
            if let Trial::Rate { pps, .. } = trial {
                if tolerable(&found) {
                    held.push((pps, found.clone()));
                } else if pps < at_worst.0 {
                    at_worst = (pps, found.clone());
                }
            }
            Ok(found.measured)
        });
        let trials = never.unwrap_or_default();
        let bounds = search.outcome().bounds[0];
        let pps = bounds.lower_pps.unwrap_or_default();
        held.retain(|(tried, _)| *tried <= pps);
        held.sort_by(|one, other| one.0.total_cmp(&other.0));
        let at_best = held.pop().map(|(_, found)| found).unwrap_or_default();
        let lost = at_worst.1.report.all.lost + at_worst.1.unsent;
        let is_testers_limit = at_worst.1.unsent * 2 > lost;
        let delays = self.delays(tester, pps * LATENCY_LOAD);
        Reached { pps, bounds, at_best, delays, trials, is_testers_limit }
    }

    /// Delays at a rate: of repeated trials the one with the median of means.
    fn delays(&self, tester: &mut Tester, pps: f64) -> Delays {
        let duration = self.goal().final_duration;
        let mut method = Latency::new(pps.max(1.0), duration, LATENCY_TRIALS);
        let mut all = Vec::with_capacity(LATENCY_TRIALS);
        let never: Result<usize, std::convert::Infallible> = drive(&mut method, |trial| {
            let measured = tester.trial(trial).measured;
            all.push(measured.delays);
            Ok(measured)
        });
        let _: usize = never.unwrap_or_default();
        all.sort_by(|one, other| one.mean_ns.total_cmp(&other.mean_ns));
        all.get(all.len() / 2).copied().unwrap_or_default()
    }
}

impl Reached {
    /// Packets a second that a core that is busy all the time would reach.
    pub fn pps_a_core(&self) -> f64 {
        let busy = self.at_best.busy;
        if busy >= BUSY_MIN { self.pps / busy.min(1.0) } else { self.pps }
    }

    /// What a table says beside the value.
    pub fn note(&self) -> String {
        let delays = format!("mean {:.0} us at 90 %", self.delays.mean_ns / 1e3);
        if self.is_testers_limit { format!("the tester's limit; {delays}") } else { delays }
    }

    /// As a row's detail has it.
    pub fn told(&self) -> Value {
        let micros = |ns: f64| (ns / 10.0).round() / 100.0;
        let all = &self.at_best.report.all;
        json!({
            "pps": self.pps.round(),
            "upper_pps": self.bounds.upper_pps,
            "bits_per_s": all.received_bits_per_s.round(),
            "core_busy": (self.at_best.busy * 1e3).round() / 1e3,
            "pps_a_busy_core": self.pps_a_core().round(),
            "testers_limit": self.is_testers_limit,
            "trials": self.trials,
            "reordered": all.reordered,
            "duplicates": all.duplicates,
            "latency_us_at_90_percent": {
                "min": micros(self.delays.min_ns as f64),
                "mean": micros(self.delays.mean_ns),
                "p50": micros(self.delays.p50_ns as f64),
                "p99": micros(self.delays.p99_ns as f64),
                "p999": micros(self.delays.p999_ns as f64),
                "max": micros(self.delays.max_ns as f64),
            },
        })
    }
}
