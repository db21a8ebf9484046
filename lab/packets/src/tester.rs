//! The tester at work: packets out by one port, back by another, on one core.

use anyhow::Context;
use driver::Clock;
use driver::ports::{Port, VECTOR};
use graph::{Pool, STRIDE, Slot};
use machine::Time;
use std::fs;
use std::time::Duration;
use traffic::{Analyser, Generator, Measured, Plan, Report, Schedule, Trial};

/// Cells of the tester's pool.
pub(super) const CELLS: usize = 8_192;
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
}

impl Tester {
    /// Packets of `plan` out by `out`; `back` is where they come back. Both ports live in `pool`.
    ///
    /// # Errors
    /// When the plan cannot be carried out.
    pub fn new(
        (out, back): (Port, Port),
        pool: Pool,
        plan: &Plan,
        sut_core: usize,
    ) -> anyhow::Result<Self> {
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
        })
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.clock.now_ns())
    }

    /// Carries a trial out.
    pub fn trial(&mut self, trial: Trial) -> Found {
        let (pps, packets, limit) = match trial {
            Trial::Rate { pps, duration } => {
                (pps, (pps * duration.as_secs_f64()).round() as u64, duration + LATE)
            }
            Trial::Burst { packets } => (BURST_PPS, packets, BURST_MAX),
        };
        self.trials += 1;
        self.generator.begin(self.trials);
        self.analyser.begin(self.trials);
        let (dropped, busy) = (self.dropped(), busy_ticks(self.sut_core));
        let start = self.now();
        let mut schedule = Schedule::new(start, pps, packets);
        let mut now = start;
        while schedule.taken() < packets && now.since(start) < limit {
            self.send(now, &mut schedule);
            self.receive();
            now = self.now();
            if now.since(self.attended) > ATTEND {
                self.attend(now);
            }
        }
        let took = now.since(start);
        let busy = share(busy, busy_ticks(self.sut_core));
        self.drain(schedule.taken());
        let report = self.analyser.settle(&self.generator);
        let unsent = packets - schedule.taken() + self.dropped() - dropped;
        Found { measured: Measured::new(packets, &report, took), report, unsent, busy }
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
        self.out.send(&mut self.pool, &mut self.slots);
    }

    /// Takes what came back; what came by the way out is nobody's.
    fn receive(&mut self) -> usize {
        let count = self.back.receive(&mut self.pool, &mut self.slots);
        let now = self.now();
        for slot in &self.slots {
            self.analyser.receive(now, self.pool.bytes(*slot));
        }
        self.out.receive(&mut self.pool, &mut self.slots);
        self.pool.free_all(&self.slots);
        self.slots.clear();
        count
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

/// Ticks that a core was busy, and all of them (proc(5), /proc/stat).
fn busy_ticks(core: usize) -> [u64; 2] {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let name = format!("cpu{core} ");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // User, nice, system, idle, waiting for devices, interrupts, soft interrupts, stolen.
    let all = ticks.iter().take(8).sum::<u64>();
    let idle = ticks.iter().skip(3).take(2).sum::<u64>();
    [all - idle, all]
}

fn share(before: [u64; 2], after: [u64; 2]) -> f64 {
    let [busy, all] = [0, 1].map(|at| after[at].saturating_sub(before[at]) as f64);
    if all > 0.0 { busy / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_share_of_a_core_is_read() {
        let [busy, all] = busy_ticks(0);
        assert!(all > 0 && busy <= all);
        assert!((share([10, 100], [60, 200]) - 0.5).abs() < 1e-9);
        assert!(share([1, 1], [1, 1]) <= 0.0 && busy_ticks(100_000) == [0, 0]);
    }
}
