//! The plane in memory: in turn with the tester on one core, only its own time counted, and over
//! rings between two cores.

use crate::testbed::{IN_MAC, LEFT_MAC, OUT_MAC};
use crate::tester::{CELLS, Tester, entry};
use anyhow::Context;
use driver::Clock;
use graph::{Graph, Outbox, Pool, STRIDE, Slot};
use machine::Time;
use nodes::Program;
use packet_load::{Analyser, Plan};
use plane_control::Plane;
use ports::{Port, RingPort, VECTOR};
use scheduler::Schedulers;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The node where packets enter.
const ENTRY: &str = "ethernet-input";
/// The plane's ports.
const PORTS: usize = 2;
/// Packets that wait in a ring.
pub(crate) const RING: usize = 2_048;
/// Seed of flow hashes.
const SEED: u32 = 1;
/// Vectors before the time is counted.
const WARM: usize = 2_000;

/// Vectors between two looks of the plane at what its worker noticed …
const TICK: usize = 4;
/// … and the time between two over rings, as the forwarder has it.
const PAUSE: Duration = Duration::from_millis(5);
/// Time without a packet after which the worker sleeps for a while: between trials.
const IDLE_MAX: Duration = Duration::from_millis(1);
const NAP: Duration = Duration::from_micros(60);

/// A plane and the graph of its one worker.
pub struct Memory {
    plane: Plane,
    graph: Graph,
    schedulers: Schedulers,
    entry: usize,
    /// How long the programs took.
    pub applied_s: f64,
}

/// What the plane did in memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct InMemory {
    /// Packets a second of the plane's own time.
    pub pps: f64,
    /// Clocks of the time-stamp counter for a packet, in the nodes alone.
    pub clocks: f64,
    /// Packets sent.
    pub sent: u64,
    /// Packets that did not come out.
    pub lost: u64,
    /// What is told of speech besides.
    pub voice: Option<packet_load::VoiceReport>,
}

impl Memory {
    /// A plane that was told `programs`, and of its two ports.
    ///
    /// # Errors
    /// When it refuses one, or has no graph.
    pub fn new(programs: &[Program]) -> anyhow::Result<Self> {
        let mut plane = Plane::new(SEED)?;
        let mut graph = plane.graph()?;
        let begun = Instant::now();
        for program in crate::programs::ports().iter().chain(programs) {
            plane.apply(program)?;
        }
        plane.publish();
        let applied_s = begun.elapsed().as_secs_f64();
        // What is due after a change, and the workers' quiescence that frees old tables.
        plane.tick(Time::from_millis(1), &mut Vec::new());
        let entry = graph.entry(ENTRY).with_context(|| format!("the graph has no {ENTRY}"))?;
        graph.leave();
        let schedulers = Schedulers::new(plane.queues(), SEED);
        Ok(Self { plane, graph, schedulers, entry, applied_s })
    }

    /// Takes each flow's first packet of `plan`; what becomes of them does not matter.
    ///
    /// # Errors
    /// When the plan cannot be carried out.
    pub fn learn(&mut self, plan: &Plan) -> anyhow::Result<()> {
        let mut generator = plan.generator().context("the plan")?;
        let (mut pool, mut out) = (Pool::new(CELLS, STRIDE), Outbox::default());
        let mut cells = [Slot::default(); VECTOR];
        for turn in 0..plan.flows().div_ceil(VECTOR as u64) {
            let now = Time::from_millis(turn);
            let count = pool.take_all(&mut cells);
            generator.fill(now, &mut pool, &cells[..count]);
            self.push(&cells[..count], &mut pool);
            self.graph.run(&mut pool, &mut out, now);
            out.clear(&mut pool);
            self.plane.tick(now, &mut Vec::new());
        }
        self.plane.publish();
        Ok(())
    }

    /// Frames enter by the port that they are for.
    fn push(&mut self, slots: &[Slot], pool: &mut Pool) {
        for slot in slots {
            pool.meta_mut(*slot).port = entry(pool.bytes(*slot)) as u16;
        }
        self.graph.push(self.entry, slots, pool);
    }

    /// Clocks that the nodes took so far.
    fn clocks(&self) -> u64 {
        self.graph.counters().iter().map(|node| node.clocks).sum()
    }

    /// Forwards packets of `plan` for a while: a vector is made, forwarded, looked at. Only the
    /// second is timed.
    ///
    /// # Errors
    /// When the plan cannot be carried out.
    pub fn run(&mut self, plan: &Plan, time: Duration) -> anyhow::Result<InMemory> {
        let mut generator = plan.generator().context("the plan")?;
        let mut analyser = generator.analyser();
        let (mut pool, mut out) = (Pool::new(CELLS, STRIDE), Outbox::default());
        let mut cells = [Slot::default(); VECTOR];
        let (clock, mut vectors, mut own) = (Clock::start(), 0usize, Duration::ZERO);
        let mut clocks_before = 0;
        let begun = Instant::now();
        while vectors < WARM || begun.elapsed() < time {
            let now = Time::from_nanos(clock.now_ns());
            let count = pool.take_all(&mut cells);
            generator.fill(now, &mut pool, &cells[..count]);
            if vectors == WARM {
                clocks_before = self.clocks();
            }
            let start = Instant::now();
            self.push(&cells[..count], &mut pool);
            self.graph.run(&mut pool, &mut out, now);
            self.schedulers.pass(now, VECTOR, &mut out, &mut pool);
            if vectors >= WARM {
                own += start.elapsed();
            }
            look(&mut analyser, now, &mut out, &mut pool);
            if vectors.is_multiple_of(TICK) {
                self.plane.tick(now, &mut Vec::new());
                self.plane.publish();
            }
            vectors += 1;
        }
        // What queues still hold.
        let now = Time::from_nanos(clock.now_ns());
        self.schedulers.pass(now, CELLS, &mut out, &mut pool);
        look(&mut analyser, now, &mut out, &mut pool);
        let report = analyser.settle(&generator);
        let clocks = self.clocks() - clocks_before;
        let timed = ((vectors - WARM) * VECTOR) as f64;
        Ok(InMemory {
            pps: timed / own.as_secs_f64().max(f64::MIN_POSITIVE),
            clocks: clocks as f64 / timed.max(1.0),
            sent: report.all.sent,
            lost: report.all.lost,
            voice: report.all.voice,
        })
    }
}

/// Shows the analyser what leaves.
fn look(analyser: &mut Analyser, now: Time, out: &mut Outbox, pool: &mut Pool) {
    for port in 0..PORTS {
        for slot in out.port(port).into_iter().flatten() {
            analyser.receive(now, pool.bytes(*slot));
        }
    }
    out.clear(pool);
}

/// The plane's worker at two rings, on the core of what is tested.
pub struct Rings {
    ports: [Port; PORTS],
    pool: Pool,
    away_ns: Arc<AtomicU64>,
}

impl Rings {
    /// The worker's ends, and the tester with the others.
    ///
    /// # Errors
    /// When the plan cannot be carried out, or there are no descriptors.
    pub fn new(plan: &Plan, sut_core: usize) -> anyhow::Result<(Self, Tester)> {
        let (pool, testers) = (Pool::new(CELLS, STRIDE), Pool::new(CELLS, STRIDE));
        let pair = |own, other| RingPort::pair(RING, (&pool, &testers), (own, other));
        let (inner, left) = pair(IN_MAC, LEFT_MAC)?;
        let (outer, right) = pair(OUT_MAC, LEFT_MAC)?;
        let ports = [Port::Ring(inner), Port::Ring(outer)];
        let ends = (Port::Ring(left), Port::Ring(right));
        let tester = Tester::new(ends, testers, plan, sut_core)?;
        let away_ns = tester.worker_away();
        Ok((Self { ports, pool, away_ns }, tester))
    }

    /// Forwards on `core` while `work` has the tester on `testers_core`.
    ///
    /// # Errors
    /// When a core is not there, and those of `work`.
    pub fn run<T: Send>(
        mut self,
        memory: &mut Memory,
        cores: (usize, usize),
        work: impl FnOnce() -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        let (testers_core, core) = cores;
        let is_over = AtomicBool::new(false);
        let Memory { plane, graph, schedulers, entry, .. } = memory;
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| -> anyhow::Result<()> {
                peers::pin(core)?;
                self.forward(graph, schedulers, *entry, &is_over);
                Ok(())
            });
            let tester = scope.spawn(|| peers::pin(testers_core).and_then(|()| work()));
            let clock = Clock::start();
            while !tester.is_finished() {
                plane.tick(Time::from_nanos(clock.now_ns()), &mut Vec::new());
                plane.publish();
                std::thread::sleep(PAUSE);
            }
            let found = tester.join();
            is_over.store(true, Relaxed);
            worker.join().map_err(|_| anyhow::anyhow!("the worker failed"))??;
            found.map_err(|_| anyhow::anyhow!("the tester failed"))?
        })
    }

    fn forward(
        &mut self,
        graph: &mut Graph,
        schedulers: &mut Schedulers,
        entry: usize,
        is_over: &AtomicBool,
    ) {
        let (mut out, mut batch) = (Outbox::default(), Vec::with_capacity(VECTOR));
        // Where it is not allowed, others have the core in between.
        let _ = driver::link::urgent();
        let clock = Clock::start();
        let mut now = Time::from_nanos(clock.now_ns());
        let mut worked = now;
        while !is_over.load(Relaxed) {
            let before = std::mem::replace(&mut now, Time::from_nanos(clock.now_ns()));
            let away_ns = now.since(before).as_nanos() as u64;
            if away_ns > self.away_ns.load(Relaxed) {
                self.away_ns.store(away_ns, Relaxed);
            }
            for (number, port) in self.ports.iter_mut().enumerate() {
                if port.receive(&mut self.pool, &mut batch) > 0 {
                    worked = now;
                }
                for slot in &batch {
                    self.pool.meta_mut(*slot).port = number as u16;
                }
                graph.push(entry, &batch, &mut self.pool);
                batch.clear();
            }
            graph.run(&mut self.pool, &mut out, now);
            schedulers.pass(now, VECTOR, &mut out, &mut self.pool);
            for (number, port) in self.ports.iter_mut().enumerate() {
                if let Some(queue) = out.port(number) {
                    port.send(&mut self.pool, queue);
                }
            }
            out.clear(&mut self.pool);
            if now.since(worked) > IDLE_MAX {
                std::thread::sleep(NAP);
            }
        }
        graph.leave();
    }
}
