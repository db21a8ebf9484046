//! The tester at work: packets out by one port, back by another, or both ways, on one core.

use crate::testbed::OUT_MAC;
use anyhow::Context;
use driver::Clock;
use graph::{Pool, STRIDE, Slot};
use machine::Time;
use packet_load::{Analyser, Generator, Layer, Measured, Plan, Report, Schedule, Trial};
use ports::{Port, VECTOR};
use std::collections::HashMap;
use std::fs;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// MetricCells of the tester's pool; on wires more, so that its queues last for a scheduler's tick.
pub(super) const CELLS: usize = 8_192;
pub(super) const WIRE_CELLS: usize = 32_768;
/// After the last packet was sent: so long none may come before the trial is over …
const SILENCE: Duration = Duration::from_millis(50);
/// … and so long it takes at most.
const DRAIN_MAX: Duration = Duration::from_secs(1);
/// How much later than it should a trial may end before the rest counts as not sent.
const LATE: Duration = Duration::from_millis(5);
/// Between two looks at a port's link and counters.
const ATTEND: Duration = Duration::from_millis(50);
/// The rate of a burst: as fast as the port takes it.
const BURST_PPS: f64 = 1e9;
/// The longest burst's time.
const BURST_MAX: Duration = Duration::from_secs(10);
/// Before a trial whoever waits for the core may have it, rather than in its middle.
/// The kernel takes a thread that is urgent for 950 ms of a second off its core (`sched(7)`): with
/// this, trials of up to [`TRIAL_MAX`] never come so far.
const REST: Duration = Duration::from_millis(80);
/// The longest trial of a tester that runs before others.
pub(super) const TRIAL_MAX: Duration = Duration::from_millis(450);
/// A longer trial of one that runs before others rests so long, so often: more than the part of its
/// time that the kernel would take in one piece, and less than rings hold.
const NAP: Duration = Duration::from_micros(60);
const WORK: Duration = Duration::from_millis(1);
/// Time for the answers of those whose link-layer addresses are asked for, and between two
/// requests.
const ANSWERED_MAX: Duration = Duration::from_secs(3);
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// Time of packets before a trial, and the bounds of their rate.
const WAKE: Duration = Duration::from_millis(20);
const WAKE_PPS_MIN: f64 = 50_000.0;
const WAKE_PPS_MAX: f64 = 5e6;
/// Between two looks at a guest's packets.
const GUEST: Duration = Duration::from_micros(200);

/// What a trial found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// What methods look at.
    pub measured: Measured,
    /// What the analyser found.
    pub report: Report,
    /// Packets that the tester should have sent and did not: it, not the forwarder, was too slow.
    pub unsent: u64,
    /// The share of its time that the core of what is tested was busy.
    pub busy: f64,
    /// The longest that the tester did not look at its ports.
    pub away: Duration,
    /// The longest that the worker did not, where it tells: over rings.
    pub worker_away: Duration,
    /// Whether the tester ran before all other threads of its core.
    pub is_urgent: bool,
}

/// Generator and analyser at two ports.
pub struct Tester {
    out: Port,
    back: Port,
    pool: Pool,
    generator: Generator,
    analyser: Analyser,
    clock: Clock,
    slots: Vec<Slot>,
    trials: u64,
    sut_core: usize,
    attended: Time,
    is_both_ways: bool,
    is_woken: bool,
    guest: Option<Port>,
    met_guest: Time,
    worker_away_ns: Arc<AtomicU64>,
    /// Link-layer addresses of what is tested, where they are looked up by address.
    neighbours: HashMap<Ipv4Addr, [u8; 6]>,
    /// Where plans come from that streams follow.
    plans: Option<Receiver<Plan>>,
}

/// The port that a frame leaves the tester by: what is for the router's right end enters there.
pub(crate) fn entry(frame: &[u8]) -> usize {
    usize::from(frame.starts_with(&OUT_MAC))
}

impl Tester {
    /// Packets of `plan` out by `out`; `back` is where they come back. Both ports live in `pool`.
    ///
    /// # Errors
    /// When the plan cannot be carried out.
    pub fn new(
        ports: (Port, Port),
        pool: Pool,
        plan: &Plan,
        sut_core: usize,
    ) -> anyhow::Result<Self> {
        let (out, back) = ports;
        let generator = plan.generator().context("the plan")?;
        anyhow::ensure!(generator.longest() <= graph::room(STRIDE), "packets longer than a cell");
        let analyser = generator.analyser();
        Ok(Self {
            out,
            back,
            pool,
            generator,
            analyser,
            clock: Clock::start(),
            slots: Vec::with_capacity(VECTOR),
            trials: 0,
            sut_core,
            attended: Time::ZERO,
            is_both_ways: plan.streams.iter().any(|stream| {
                matches!(stream.layers.first(), Some(Layer::Ethernet { destination, .. })
                    if *destination == OUT_MAC)
            }),
            is_woken: true,
            guest: None,
            met_guest: Time::ZERO,
            worker_away_ns: Arc::default(),
            neighbours: HashMap::new(),
            plans: None,
        })
    }

    /// From now on nothing is sent before a trial: what is tested sees the rate of trials alone.
    pub const fn never_wake(&mut self) {
        self.is_woken = false;
    }

    /// From now on both ends are heard, and answer who asks for whoever is behind them, although
    /// packets of the plan leave by one of them alone.
    pub const fn hear_both_ends(&mut self) {
        self.is_both_ways = true;
    }

    /// From now on packets are those of the plan that came last, in the middle of a trial too: the
    /// same streams and flows, to other addresses and ports or under other keys.
    ///
    /// # Panics
    /// Trials do when a plan that comes has other streams, or flows.
    pub fn follow(&mut self, plans: Receiver<Plan>) {
        self.plans = Some(plans);
    }

    fn take_plan(&mut self) {
        let Some(plans) = &self.plans else { return };
        if let Some(plan) = plans.try_iter().last() {
            let followed = self.generator.follow(&plan, &mut self.analyser);
            followed.expect("who sends plans keeps streams and flows");
        }
    }

    /// From now on packets go to the link-layer addresses that these addresses have, by their own
    /// word: asked for now, and followed as they are announced elsewhere (RFC 5227 §3).
    ///
    /// # Errors
    /// When one of them does not answer.
    pub fn resolve(&mut self, addresses: &[Ipv4Addr]) -> anyhow::Result<()> {
        const UNKNOWN: [u8; 6] = [0; 6];
        self.neighbours.extend(addresses.iter().map(|address| (*address, UNKNOWN)));
        let (start, mut asked) = (self.now(), None);
        loop {
            let now = self.now();
            let unknown = self.neighbours.iter().filter(|(_, mac)| **mac == UNKNOWN);
            let unknown: Vec<Ipv4Addr> = unknown.map(|(address, _)| *address).collect();
            let Some(first) = unknown.first() else { return Ok(()) };
            anyhow::ensure!(now.since(start) < ANSWERED_MAX, "{first} does not answer");
            if asked.is_none_or(|at| now.since(at) > ASK_AGAIN) {
                asked = Some(now);
                unknown.iter().for_each(|address| self.ask_for(*address));
                self.attend(now);
            }
            self.receive();
        }
    }

    fn ask_for(&mut self, address: Ipv4Addr) {
        let Some((end, frame)) = crate::arp::request(address) else { return };
        let mut slots: Vec<Slot> = self.pool.put(&frame).into_iter().collect();
        let port = if end == 0 { &mut self.out } else { &mut self.back };
        port.send(&mut self.pool, &mut slots);
    }

    /// Lets somebody else's TCP through at the left end: its packets leave there, and what comes
    /// back there is for it.
    pub fn host(&mut self, guest: Port) {
        self.guest = Some(guest);
        self.attend(self.now());
    }

    /// Whether both ends are up, after a look at them.
    pub(crate) fn is_up(&mut self) -> bool {
        self.attend(self.now());
        self.out.is_up() && self.back.is_up()
    }

    /// Where a worker of this process writes the longest that it did not look at its ports.
    pub(crate) fn worker_away(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.worker_away_ns)
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.clock.now_ns())
    }

    /// Carries a trial out, before all other threads of this core, where that is allowed. Not on
    /// wires: what the kernel does for them it leaves to threads of its own.
    pub fn trial(&mut self, trial: Trial) -> Found {
        std::thread::sleep(REST);
        let may_be_urgent = matches!(self.out, Port::Ring(_) | Port::Memif(_));
        let is_urgent = may_be_urgent && driver::link::urgent().is_ok();
        let (pps, packets, limit) = match trial {
            Trial::Rate { pps, duration } => {
                (pps, (pps * duration.as_secs_f64()).round() as u64, duration + LATE)
            }
            Trial::Burst { packets } => (BURST_PPS, packets, BURST_MAX),
        };
        if self.is_woken {
            self.wake(pps / 2.0);
        }
        self.begin();
        self.worker_away_ns.store(0, Relaxed);
        let (dropped, idle_before) = (self.dropped(), idle(self.sut_core));
        let mut schedule = Schedule::new(self.now(), pps, packets);
        let (took, away) = match is_urgent && limit > TRIAL_MAX + LATE {
            true => self.run_with_naps(&mut schedule, packets, limit),
            false => self.run(&mut schedule, packets, limit),
        };
        let busy = share(idle(self.sut_core).saturating_sub(idle_before), took);
        let worker_away = Duration::from_nanos(self.worker_away_ns.load(Relaxed));
        self.drain(schedule.taken());
        let report = self.analyser.settle(&self.generator);
        let unsent = packets - schedule.taken() + self.dropped() - dropped;
        let measured = Measured::new(packets, &report, took);
        Found { measured, report, unsent, busy, away, worker_away, is_urgent }
    }

    /// Packets of a trial of their own, at half its rate, so that nobody sleeps who is tested:
    /// one that has to be woken waits for its core as long as others may keep it, and then works
    /// with cold caches for some milliseconds (RFC 2544 §23 has frames before a trial, too).
    fn wake(&mut self, pps: f64) {
        self.begin();
        let pps = pps.clamp(WAKE_PPS_MIN, WAKE_PPS_MAX);
        let packets = (pps * WAKE.as_secs_f64()) as u64;
        let mut schedule = Schedule::new(self.now(), pps, packets);
        self.run(&mut schedule, packets, WAKE + LATE);
    }

    /// What is sent and received from now on is another trial's.
    fn begin(&mut self) {
        self.trials += 1;
        self.generator.begin(self.trials);
        self.analyser.begin(self.trials);
    }

    /// Sends and receives until all packets are sent or the time is over. How long that took, and
    /// the longest between two looks at the ports.
    fn run(
        &mut self,
        schedule: &mut Schedule,
        packets: u64,
        limit: Duration,
    ) -> (Duration, Duration) {
        let start = self.now();
        let (mut now, mut away) = (start, Duration::ZERO);
        while schedule.taken() < packets && now.since(start) < limit {
            self.take_plan();
            self.send(now, schedule);
            self.receive();
            let before = std::mem::replace(&mut now, self.now());
            away = away.max(now.since(before));
            if now.since(self.attended) > ATTEND {
                self.attend(now);
            }
        }
        (now.since(start), away)
    }

    /// The same in pieces, with a rest after each: the longest away is that inside of pieces.
    fn run_with_naps(
        &mut self,
        schedule: &mut Schedule,
        packets: u64,
        limit: Duration,
    ) -> (Duration, Duration) {
        let (start, mut away) = (self.now(), Duration::ZERO);
        while schedule.taken() < packets && self.now().since(start) < limit {
            away = away.max(self.run(schedule, packets, WORK).1);
            std::thread::sleep(NAP);
        }
        (self.now().since(start), away)
    }

    /// Sends what is due, at most a vector.
    fn send(&mut self, now: Time, schedule: &mut Schedule) {
        let free = self.pool.free_slots().min(VECTOR) as u64;
        let count = schedule.take(now, free) as usize;
        if count == 0 {
            return;
        }
        let mut cells = [Slot::default(); VECTOR];
        let count = self.pool.take_all(&mut cells[..count]);
        self.generator.fill(now, &mut self.pool, &cells[..count]);
        self.slots.extend_from_slice(&cells[..count]);
        if self.is_both_ways {
            let pool = &self.pool;
            let mut right: Vec<Slot> =
                self.slots.extract_if(.., |slot| entry(pool.bytes(*slot)) == 1).collect();
            if !self.neighbours.is_empty() {
                right.iter().chain(&self.slots).for_each(|slot| {
                    readdress(self.pool.bytes_mut(*slot), &self.neighbours);
                });
            }
            self.back.send(&mut self.pool, &mut right);
        }
        self.out.send(&mut self.pool, &mut self.slots);
    }

    /// Takes what came back; unless packets go both ways, what came by the way out is the
    /// guest's or nobody's.
    fn receive(&mut self) -> usize {
        let mut count = self.back.receive(&mut self.pool, &mut self.slots);
        if self.is_both_ways {
            count += self.out.receive(&mut self.pool, &mut self.slots);
        }
        if self.is_both_ways {
            self.answer();
        }
        let now = self.now();
        for slot in &self.slots {
            self.analyser.receive(now, self.pool.bytes(*slot));
        }
        self.pool.free_all(&self.slots);
        self.slots.clear();
        if !self.is_both_ways {
            self.out.receive(&mut self.pool, &mut self.slots);
            self.meet_guest(now);
            self.pool.free_all(&self.slots);
            self.slots.clear();
        }
        count
    }

    /// Answers what is tested where it asks for whoever is behind the wires.
    fn answer(&mut self) {
        let pool = &self.pool;
        let is_arp = |slot: &mut Slot| pool.bytes(*slot).get(12..14) == Some(&[8, 6]);
        let asked: Vec<Slot> = self.slots.extract_if(.., is_arp).collect();
        for slot in asked {
            if let Some((address, mac)) = crate::arp::sender(self.pool.bytes(slot))
                && let Some(known) = self.neighbours.get_mut(&address)
            {
                *known = mac;
            }
            let port = match crate::arp::answer(self.pool.bytes_mut(slot)) {
                Some(0) => &mut self.out,
                Some(_) => &mut self.back,
                None => {
                    self.pool.free_all(&[slot]);
                    continue;
                }
            };
            port.send(&mut self.pool, &mut vec![slot]);
        }
    }

    /// Hands the guest its part of what came by the way out, and sends what it has.
    fn meet_guest(&mut self, now: Time) {
        let Some(guest) = &mut self.guest else { return };
        let pool = &self.pool;
        let mut own: Vec<Slot> =
            self.slots.extract_if(.., |slot| is_tcp(pool.bytes(*slot))).collect();
        guest.send(&mut self.pool, &mut own);
        if now.since(self.met_guest) > GUEST {
            self.met_guest = now;
            guest.receive(&mut self.pool, &mut own);
            self.out.send(&mut self.pool, &mut own);
            // It runs on this core, too.
            std::thread::yield_now();
        }
    }

    /// Waits for what is under way.
    fn drain(&mut self, sent: u64) {
        let start = self.now();
        let mut last = start;
        while self.analyser.received() < sent {
            let now = self.now();
            if self.receive() > 0 {
                last = now;
            }
            if now.since(last) > SILENCE || now.since(start) > DRAIN_MAX {
                break;
            }
        }
        let now = self.now();
        self.attend(now);
    }

    fn attend(&mut self, now: Time) {
        self.out.attend(&mut self.pool);
        self.back.attend(&mut self.pool);
        if let Some(guest) = &mut self.guest {
            guest.attend(&mut self.pool);
        }
        self.attended = now;
    }

    /// Packets that the tester's own ports lost. A ring that is full is the fault of who reads it.
    fn dropped(&self) -> u64 {
        if matches!(self.out, Port::Ring(_)) {
            return 0;
        }
        let out = self.out.counters().send_drops;
        let back = self.back.counters().receive_drops;
        out.iter().chain(&back).sum()
    }
}

/// Writes where a frame goes on the link, by its destination in IPv4 (RFC 791 §3.1).
fn readdress(frame: &mut [u8], neighbours: &HashMap<Ipv4Addr, [u8; 6]>) {
    let to = frame.get(30..34).and_then(<[u8]>::first_chunk::<4>).copied();
    if let Some(mac) = to.and_then(|to| neighbours.get(&Ipv4Addr::from(to))) {
        frame[..6].copy_from_slice(mac);
    }
}

/// Whether a frame has TCP in IPv4 (RFC 894, RFC 791 §3.1).
fn is_tcp(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&[8, 0]) && frame.get(23) == Some(&6)
}

/// How long a core has been idle (proc(5), `/proc/stat`, in hundredths of a second). The kernel
/// keeps that exactly; how long it was busy it samples, and not in what wakes an idle core.
fn idle(core: usize) -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let name = format!("cpu{core} ");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or_default();
    let ticks = line.split_whitespace().map(|word| word.parse().unwrap_or(0));
    // User, nice, system, idle, waiting for devices.
    Duration::from_millis(ticks.skip(3).take(2).sum::<u64>() * 10)
}

/// The share of `time` that is not idle.
fn share(idle: Duration, time: Duration) -> f64 {
    1.0 - (idle.as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{IN_MAC, LEFT_MAC};
    use packet_load::Stream;
    use ports::RingPort;

    #[test]
    fn a_frame_goes_to_the_link_layer_address_that_its_destination_has_now() {
        let (one, other) = (Ipv4Addr::new(10, 199, 1, 16), Ipv4Addr::new(10, 199, 1, 17));
        let mut neighbours = HashMap::from([(one, [2; 6])]);
        let mut frame = vec![0; 60];
        frame[30..34].copy_from_slice(&one.octets());
        readdress(&mut frame, &neighbours);
        assert_eq!(frame[..6], [2; 6]);
        neighbours.insert(one, [4; 6]);
        readdress(&mut frame, &neighbours);
        assert_eq!(frame[..6], [4; 6]);
        frame[30..34].copy_from_slice(&other.octets());
        readdress(&mut frame, &HashMap::from([(one, [6; 6])]));
        assert_eq!(frame[..6], [4; 6], "nobody's");
        readdress(&mut [0; 33], &neighbours);
    }

    #[test]
    fn whoever_is_behind_an_end_that_nothing_leaves_by_answers_where_both_are_heard() {
        let address = |last| Ipv4Addr::new(10, 199, 2, last);
        let layers = vec![
            Layer::Ethernet { destination: IN_MAC, source: LEFT_MAC },
            Layer::Ipv4 { source: address(8), destination: address(9), class: 0, ttl: 64 },
            Layer::Udp { source: 1_024, destination: 4_000 },
        ];
        let plan = Plan::of(Stream::new("one way", layers, 64), 1);
        let (pool, mut other) = (Pool::new(64, STRIDE), Pool::new(64, STRIDE));
        let pair = || RingPort::pair(8, (&other, &pool), (IN_MAC, LEFT_MAC)).unwrap();
        let ((_left, out), (right, back)) = (pair(), pair());
        let mut right = Port::Ring(right);
        let ends = (Port::Ring(out), Port::Ring(back));
        let mut tester = Tester::new(ends, pool, &plan, 0).unwrap();
        // Who has 10.199.2.2? (RFC 826)
        let head = [&[0xff; 6][..], &OUT_MAC, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &OUT_MAC].concat();
        let asks = [&head[..], &address(1).octets(), &[0; 6], &address(2).octets()].concat();
        let mut answers = |tester: &mut Tester| {
            let mut asked = vec![other.put(&asks).unwrap()];
            right.send(&mut other, &mut asked);
            tester.receive();
            let mut told = Vec::new();
            let count = right.receive(&mut other, &mut told);
            other.free_all(&told);
            count
        };
        assert_eq!(answers(&mut tester), 0);
        tester.hear_both_ends();
        assert_eq!(answers(&mut tester), 1);
    }

    #[test]
    fn the_busy_share_of_a_core_is_read() {
        assert!(idle(0) > Duration::ZERO && idle(100_000).is_zero());
        let [part, whole] = [30, 40].map(Duration::from_millis);
        assert!((share(part, whole) - 0.25).abs() < 1e-9);
        assert!(share(whole, part) <= 0.0 && (share(Duration::ZERO, whole) - 1.0).abs() < 1e-9);
    }
}
