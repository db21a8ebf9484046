//! Two endpoints and two paths in virtual time. Each way of a path is a `link::Pipe` of 100 Mbit/s
//! that carries our packets and, where it is asked for, bursts of competing traffic.

use crate::configuration::RATE;
use crate::course::{Case, Course};
use crate::end::End;
use crate::ledger::Ledger;
use crate::watch::Watch;
use link::{Arrival, Change, Packet, Pipe, PipeSpec, Queue, Random, Rate, Schedule};
use machine::{Duration, Machine, Time};
use sctp::Transmit;
use std::net::IpAddr;

/// Octets of IPv4 header, Ethernet header, check sequence, preamble and gap beside each packet.
const OVERHEAD: u32 = 20 + 38;
/// What may wait at a link: 20 ms at its rate.
const QUEUE: Queue = Queue { packets: 1_000, octets: 250_000 };
/// When traffic begins: the association and M3UA are up, every path is confirmed and measured.
pub const SETTLED: Duration = Duration::from_secs(2);
/// The source begins up to so much later, by the seed.
const PHASE: Duration = Duration::from_secs(1);
/// The first and the last second of traffic are not judged.
pub const EDGE: Duration = Duration::from_secs(1);
/// After the end of traffic what is on its way may still arrive for so long.
const DRAIN: Duration = Duration::from_secs(5);
const PATHS: usize = 2;
/// Steps of time in one run.
const STEPS_MAX: u64 = 1_000_000_000;

/// What a link carries.
#[derive(Debug, Clone)]
enum LinkPayload {
    /// A packet of ours: to which side, over which path.
    Ours(usize, usize, Vec<u8>),
    /// So many octets of others, back to back.
    Burst(u32),
}

impl Packet for LinkPayload {
    fn octets(&self) -> usize {
        match self {
            Self::Ours(.., bytes) => bytes.len(),
            Self::Burst(octets) => *octets as usize,
        }
    }

    fn flip(&mut self, bit: usize) {
        if let Self::Ours(.., bytes) = self {
            bytes.flip(bit);
        }
    }
}

/// One way of a path.
struct Way {
    pipe: Pipe<LinkPayload>,
    /// When the next burst of others comes.
    burst: Option<Time>,
}

/// Address of a side on a path.
fn address(path: usize, side: usize) -> IpAddr {
    [10, path as u8, 0, 1 + side as u8].into()
}

/// The path that an address belongs to.
fn path_of(address: IpAddr) -> Option<usize> {
    let IpAddr::V4(address) = address else { return None };
    Some(usize::from(address.octets()[1])).filter(|&path| path < PATHS)
}

struct Simulation {
    now: Time,
    case: Case,
    ends: [End; 2],
    /// By path, then by the side that sends.
    ways: [[Way; 2]; PATHS],
    chance: Random,
    arrivals: Vec<Arrival<LinkPayload>>,
    ledger: Ledger,
    next_msu: Time,
    last_msu: Time,
    watches: [Watch; 2],
}

/// Runs one case.
///
/// # Errors
/// When the endpoints cannot be set up.
pub fn run(case: &Case) -> anyhow::Result<Course> {
    let mut field = Simulation::new(case)?;
    field.ends[0].associate(field.now, (address(0, 1), 0).into())?;
    field.launch(0);
    let begin = field.now + SETTLED;
    field.pass(begin);
    anyhow::ensure!(field.ends[0].is_active, "M3UA is not up: {:?}", field.ends[0].violations);
    field.begin(begin);
    if let Some(cut) = case.cut {
        field.pass(begin + cut);
        field.cut();
    }
    field.pass(begin + case.length + DRAIN);
    Ok(field.found())
}

impl Simulation {
    fn new(case: &Case) -> anyhow::Result<Self> {
        let mut chance = Random::new(case.seed);
        let mut end = |side: usize| {
            let addresses = (0..PATHS).map(|path| address(path, side)).collect();
            End::new(side, addresses, case.parameters, chance.seed())
        };
        let ends = [end(0)?, end(1)?];
        let now = Time::from_millis(1);
        let spec = PipeSpec {
            rate: Rate::new(RATE),
            overhead: OVERHEAD,
            queue: QUEUE,
            delay: case.delay,
            jitter: case.condition.jitter,
            loss: case.condition.loss,
            ..PipeSpec::default()
        };
        let mut way = || Way {
            pipe: Pipe::new(chance.number(), spec, Schedule::default()),
            burst: case.condition.competing.map(|_| now),
        };
        let ways = [[way(), way()], [way(), way()]];
        Ok(Self {
            now,
            case: *case,
            ends,
            ways,
            chance,
            arrivals: Vec::new(),
            ledger: Ledger::new(case.load.octets),
            next_msu: Time::MAX,
            last_msu: Time::MAX,
            watches: [0, 1].map(|side| Watch::new(address(0, 1 - side), side == 0)),
        })
    }

    /// The source begins.
    fn begin(&mut self, at: Time) {
        for (watch, end) in self.watches.iter_mut().zip(&self.ends) {
            watch.begin(end);
        }
        self.next_msu = at + Duration::from_nanos(self.chance.below(PHASE.as_nanos() as u64));
        self.last_msu = at + self.case.length;
        self.ledger.judged = [self.next_msu + EDGE, (at + self.case.length.saturating_sub(EDGE))];
    }

    fn cut(&mut self) {
        for way in &mut self.ways[0] {
            way.pipe.change(self.now, Change::Cut);
        }
        for (watch, end) in self.watches.iter_mut().zip(&self.ends) {
            watch.cut(self.now, end);
        }
    }

    /// Time goes on until `end`.
    fn pass(&mut self, end: Time) {
        for _ in 0..STEPS_MAX {
            let next = self.next();
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            self.carry();
            for side in 0..2 {
                if self.ends[side].deadline().is_some_and(|at| at <= self.now) {
                    self.ends[side].tick(self.now);
                    self.launch(side);
                }
            }
            self.offer();
            if self.watches[0].is_waiting() {
                self.watches[0].step(self.now, &self.ends[0]);
            }
        }
        self.now = self.now.max(end);
    }

    /// When something happens next.
    fn next(&self) -> Time {
        let mut next = self.next_msu;
        let ways = self.ways.iter().flatten();
        let others = ways.flat_map(|way| [way.pipe.deadline(), way.burst]);
        for at in others.chain(self.ends.iter().map(End::deadline)).flatten() {
            next = next.min(at);
        }
        next
    }

    /// Packets arrive, bursts of others set out.
    fn carry(&mut self) {
        for path in 0..PATHS {
            for side in 0..2 {
                let way = &mut self.ways[path][side];
                if let (Some(at), Some((share, mean))) = (way.burst, self.case.condition.competing)
                    && at <= self.now
                {
                    let (octets, gap) = burst(share, mean, &mut self.chance);
                    way.burst = Some(at + gap);
                    way.pipe.step(self.now, LinkPayload::Burst(octets), &mut self.arrivals);
                }
                if way.pipe.deadline().is_some_and(|at| at <= self.now) {
                    way.pipe.tick(self.now, &mut self.arrivals);
                }
            }
        }
        while !self.arrivals.is_empty() {
            for Arrival { packet, .. } in std::mem::take(&mut self.arrivals) {
                self.arrive(packet);
            }
        }
    }

    fn arrive(&mut self, payload: LinkPayload) {
        let LinkPayload::Ours(side, path, bytes) = payload else { return };
        let source = (address(path, 1 - side), 0).into();
        let destination = address(path, side);
        let packet = sctp::Packet { source, destination, bytes: bytes.into() };
        self.ends[side].receive(self.now, packet);
        self.launch(side);
        for msu in self.ends[side].arrived.drain(..) {
            self.ledger.read(self.now, &msu);
        }
    }

    /// What an endpoint sent goes into its pipes.
    fn launch(&mut self, side: usize) {
        for Transmit { destination, bytes, .. } in self.ends[side].packets.drain(..) {
            let Some(path) = path_of(destination.ip()) else { continue };
            let payload = LinkPayload::Ours(1 - side, path, bytes);
            self.ways[path][side].pipe.step(self.now, payload, &mut self.arrivals);
        }
    }

    /// The source's MSU is due.
    fn offer(&mut self) {
        while self.next_msu <= self.now {
            let (sls, payload) = self.ledger.write(self.now);
            self.ends[0].transfer(self.now, sls, payload);
            self.launch(0);
            self.next_msu += self.case.load.gap();
            if self.next_msu > self.last_msu {
                self.next_msu = Time::MAX;
            }
        }
    }

    fn found(self) -> Course {
        let told = self.watches.into_iter().zip(self.ends).map(|(watch, end)| watch.observed(end));
        let course = told.reduce(Course::together).unwrap_or_default();
        course.settled(&self.ledger, self.ledger.sent)
    }
}

/// Octets of a burst of others, and the time until the next one: both exponential.
fn burst(share: f64, mean: u32, chance: &mut Random) -> (u32, Duration) {
    /// Octets of a burst at most: what the queue holds.
    const BURST_MAX: f64 = 200_000.0;
    let mut exponential = || -(1.0 - chance.fraction()).ln();
    let octets = (f64::from(mean) * exponential()).clamp(100.0, BURST_MAX);
    let mean_gap_s = f64::from(mean) * 8.0 / (share * RATE as f64);
    (octets as u32, Duration::from_secs_f64(mean_gap_s * exponential()))
}
