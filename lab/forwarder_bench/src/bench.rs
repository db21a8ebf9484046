//! The search for what a forwarder reaches on a ground.

use crate::memory::RING;
use crate::testbed::{LEFT, LEFT_MAC, RIGHT, Testbed};
use crate::tester::{CELLS, Found, TRIAL_MAX, Tester, WIRE_CELLS};
use anyhow::Context;
use graph::{Pool, STRIDE};
use packet_load::{Bounds, Delays, Goal, Latency, Plan, Search, Trial, drive};
use ports::{MemifPort, PacketPort, Port, XdpPort, memif, packet, xdp};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Entries of the rings of the tester's ends of wires.
const ENTRIES: u32 = 8_192;
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
/// Time for the other ends of memifs, and between two looks.
const MEET_MAX: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(10);
/// The first trials of a search, the last, and their sum.
const LONG: [Duration; 3] = [Duration::from_millis(250), TRIAL_MAX, Duration::from_millis(3_150)];
const QUICK: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(250), Duration::from_millis(250)];
/// A trial in which the tester was away from its ports for longer says what kept it away: it is
/// not among those of delays, and repeated if packets were lost, so often in a search as there are
/// trials of delays.
const AWAY_MAX: Duration = Duration::from_micros(500);
/// Trials of delays (RFC 8219 §7.2: at least 20), and in a quick run.
const LATENCY_TRIALS: usize = 20;
const LATENCY_TRIALS_QUICK: usize = 5;
/// A rate that is not borne at nine tenths of it was found in a better moment than there is now:
/// so often the search is done again, below it.
const SEARCHES_MAX: usize = 3;

/// How long trials are.
#[derive(Debug, Clone, Copy)]
pub struct Bench {
    /// The tester's core, and that of what is tested.
    pub cores: (usize, usize),
    /// Loss that is borne, a part of one.
    pub loss: f64,
    /// Short trials, coarser figures.
    pub is_quick: bool,
    /// Packets that the ring of a memif holds, a power of two.
    pub ring: usize,
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
    /// What the trial at nine tenths of the rate found, of several that of the median mean.
    pub at_load: Found,
    /// Of each of these trials: the longest delay, and how long tester and worker were away.
    pub longest: Vec<[Duration; 3]>,
    /// Trials of the search.
    pub trials: usize,
    /// Trials that were repeated because the tester was away.
    pub repeats: usize,
    /// Searches, until one found what was borne at nine tenths, too.
    pub searches: usize,
    /// Whether the tester itself could not do more.
    pub is_testers_limit: bool,
}

/// The tester's ends by AF_XDP.
fn by_xdp(pool: &Pool) -> anyhow::Result<(Port, Port)> {
    let mut umem = xdp::Umem::new(pool, true)?;
    let mut open = |name: &str| -> anyhow::Result<Port> {
        let before = driver::Redirect::attach(name).with_context(|| name.to_owned())?;
        Ok(Port::Xdp(XdpPort::open(&before, 0, ENTRIES, &mut umem)?))
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
        Self { cores: (0, 1.min(cores.saturating_sub(1))), loss: LOSS, is_quick, ring: RING }
    }

    /// Whether a trial lost no more than is borne.
    fn tolerable(&self, found: &Found) -> bool {
        found.measured.loss_ratio() <= self.loss
    }

    /// How long the trials of a search are.
    pub fn goal(&self) -> Goal {
        let [initial, last, sum] = if self.is_quick { QUICK } else { LONG };
        Goal { width: WIDTH, ..Goal::noisy(self.loss) }.within(initial, last, sum)
    }

    /// Opens the tester's ends of two memifs in a directory, waits until somebody is at their other
    /// ends, and lets `work` have the tester.
    ///
    /// # Errors
    /// When nobody comes or nothing passes, and those of `work`.
    pub fn on_memifs<T: Send>(
        &self,
        directory: &Path,
        plan: &Plan,
        work: impl FnOnce(&mut Tester) -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        let (own, sut) = self.cores;
        let run = || -> anyhow::Result<T> {
            peers::pin(own)?;
            let open = |name: &str| -> anyhow::Result<Port> {
                let (socket, role) = (directory.join(name), memif::Role::Slave);
                let log2_size = self.ring.ilog2() as u8;
                let spec = memif::Spec::new(&socket, 0, role, LEFT_MAC);
                let spec = memif::Spec { log2_size, ..spec };
                Ok(Port::Memif(MemifPort::open(&spec).with_context(|| name.to_owned())?))
            };
            let ports = (open(LEFT)?, open(RIGHT)?);
            let mut tester =
                Tester::new(ports, Pool::new(CELLS.max(2 * self.ring), STRIDE), plan, sut)?;
            let begun = Instant::now();
            while !tester.is_up() {
                anyhow::ensure!(begun.elapsed() < MEET_MAX, "nobody is at the other ends");
                std::thread::sleep(PAUSE);
            }
            // The other end may still have to offer its memory.
            while tester.trial(Trial::Burst { packets: 1 }).measured.received == 0 {
                anyhow::ensure!(begun.elapsed() < MEET_MAX, "nothing passes");
            }
            work(&mut tester)
        };
        std::thread::scope(|scope| {
            let thread = scope.spawn(run);
            thread.join().map_err(|_| anyhow::anyhow!("the tester failed"))?
        })
    }

    /// Opens the tester's ends of the ground's wires in a thread of their own, on the tester's
    /// core, and lets `work` have the tester.
    ///
    /// # Errors
    /// When ports cannot be opened, and those of `work`.
    pub fn on_wires<T: Send>(
        &self,
        ground: &Testbed,
        plan: &Plan,
        work: impl FnOnce(&mut Tester) -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        self.in_place(ground.side.name(), plan, work)
    }

    /// The same with ends that are in the namespace of this name.
    ///
    /// # Errors
    /// Those of [`Bench::on_wires`].
    pub fn in_place<T: Send>(
        &self,
        place: &str,
        plan: &Plan,
        work: impl FnOnce(&mut Tester) -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        let (own, sut) = self.cores;
        let run = || -> anyhow::Result<T> {
            attack::enter(place)?;
            peers::pin(own)?;
            let pool = Pool::new(WIRE_CELLS, STRIDE);
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

    /// Searches the highest rate below `most_pps`, then measures delays at nine tenths of it, and
    /// searches again where that is not borne.
    pub fn search(&self, tester: &mut Tester, most_pps: f64) -> Reached {
        let mut reached = self.search_once(tester, most_pps);
        while !self.tolerable(&reached.at_load) && reached.searches < SEARCHES_MAX {
            let searches = reached.searches + 1;
            reached = Reached { searches, ..self.search_once(tester, reached.pps) };
        }
        reached
    }

    fn search_once(&self, tester: &mut Tester, most_pps: f64) -> Reached {
        // Caches, neighbours and page tables are not what is searched for.
        let warm = Trial::Rate { pps: most_pps / 10.0, duration: Duration::from_millis(100) };
        tester.trial(warm);
        let mut search = Search::new(vec![self.goal()], LEAST_PPS, most_pps);
        let mut held: Vec<(f64, Found)> = Vec::new();
        let mut at_worst = (f64::INFINITY, Found::default());
        let mut repeats = 0;
        let never: Result<usize, std::convert::Infallible> = drive(&mut search, |trial| {
            let mut found = tester.trial(trial);
            while found.away > AWAY_MAX
                && !self.tolerable(&found)
                && repeats < self.latency_trials()
            {
                repeats += 1;
                found = tester.trial(trial);
            }
            if let Trial::Rate { pps, .. } = trial {
                if self.tolerable(&found) {
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
        let (at_load, longest) = self.delays(tester, pps * LATENCY_LOAD);
        let searches = 1;
        Reached {
            pps,
            bounds,
            at_best,
            at_load,
            longest,
            trials,
            repeats,
            searches,
            is_testers_limit,
        }
    }

    const fn latency_trials(&self) -> usize {
        if self.is_quick { LATENCY_TRIALS_QUICK } else { LATENCY_TRIALS }
    }

    /// Delays at a rate: of repeated trials in which the tester was never away the one with the
    /// median of means, and of each the longest.
    pub fn delays(&self, tester: &mut Tester, pps: f64) -> (Found, Vec<[Duration; 3]>) {
        let duration = self.goal().final_duration;
        let trials = self.latency_trials();
        let mut method = Latency::new(pps.max(1.0), duration, trials);
        let mut all = Vec::with_capacity(trials);
        let never: Result<usize, std::convert::Infallible> = drive(&mut method, |trial| {
            let found = tester.trial(trial);
            let measured = found.measured;
            all.push(found);
            Ok(measured)
        });
        let _: usize = never.unwrap_or_default();
        let longest = |found: &Found| {
            let max = Duration::from_nanos(found.measured.delays.max_ns);
            [max, found.away, found.worker_away]
        };
        let longest = all.iter().map(longest).collect();
        if all.iter().any(|found| found.away <= AWAY_MAX) {
            all.retain(|found| found.away <= AWAY_MAX);
        }
        let mean = |found: &Found| found.measured.delays.mean_ns;
        all.sort_by(|one, other| mean(one).total_cmp(&mean(other)));
        let middle = all.len() / 2;
        (all.into_iter().nth(middle).unwrap_or_default(), longest)
    }
}

impl Reached {
    /// Packets a second that a core that is busy all the time would reach.
    pub fn pps_a_core(&self) -> f64 {
        let busy = self.at_best.busy;
        if busy >= BUSY_MIN { self.pps / busy.min(1.0) } else { self.pps }
    }

    /// Delays at nine tenths of the rate.
    #[must_use]
    pub fn delays(&self) -> Delays {
        self.at_load.measured.delays
    }

    /// What a table says beside the value.
    pub fn note(&self) -> String {
        let Delays { mean_ns, max_ns, .. } = self.delays();
        let worst = self.longest.iter().map(|[max, ..]| max.as_micros()).max().unwrap_or(0);
        let delays = format!(
            "at 90 % mean {:.0} us, max {:.0} us, of all trials {worst} us",
            mean_ns / 1e3,
            max_ns as f64 / 1e3
        );
        if self.is_testers_limit { format!("the tester's limit; {delays}") } else { delays }
    }

    /// As a row's detail has it.
    pub fn detail(&self) -> Value {
        let micros = |ns: f64| (ns / 10.0).round() / 100.0;
        let (all, delays) = (&self.at_best.report.all, self.delays());
        let away = |time: Duration| micros(time.as_secs_f64() * 1e9);
        let of_each =
            |which: usize| self.longest.iter().map(|of| away(of[which])).collect::<Vec<_>>();
        json!({
            "pps": self.pps.round(),
            "upper_pps": self.bounds.upper_pps,
            "bits_per_s": all.received_bits_per_s.round(),
            "core_busy": (self.at_best.busy * 1e3).round() / 1e3,
            "pps_a_busy_core": self.pps_a_core().round(),
            "testers_limit": self.is_testers_limit,
            "trials": self.trials,
            "repeats": self.repeats,
            "searches": self.searches,
            "real_time": self.at_load.is_urgent,
            "reordered": all.reordered,
            "duplicates": all.duplicates,
            "latency_us_at_90_percent": {
                "min": micros(delays.min_ns as f64),
                "mean": micros(delays.mean_ns),
                "p50": micros(delays.p50_ns as f64),
                "p99": micros(delays.p99_ns as f64),
                "p999": micros(delays.p999_ns as f64),
                "p9999": micros(delays.p9999_ns as f64),
                "max": micros(delays.max_ns as f64),
                "tester_away_max": away(self.at_load.away),
                "worker_away_max": away(self.at_load.worker_away),
                "max_of_each": of_each(0),
                "tester_away_of_each": of_each(1),
                "worker_away_of_each": of_each(2),
            },
        })
    }
}
