//! A device that forwards so many packets a second, keeps some, and now and then stands still.

use packet_load::{Delays, Measured, Random, Trial};
use std::time::Duration;

/// The rate of a burst.
pub const LINE_PPS: f64 = 10e6;

pub struct Device {
    pub capacity_pps: f64,
    pub buffer: f64,
    /// Pauses a second, in the mean, and the packets' time that each costs.
    pub pauses_per_s: f64,
    pub pause_s: f64,
    /// Packets of a thousand million that are lost without a reason.
    pub stray_ppb: f64,
    pub random: Random,
    pub trials: u64,
    pub seconds: f64,
}

impl Device {
    pub fn new(capacity_pps: f64, seed: u64) -> Self {
        Self {
            capacity_pps,
            buffer: 1_000.0,
            pauses_per_s: 0.0,
            pause_s: 0.0,
            stray_ppb: 0.0,
            random: Random::new(seed),
            trials: 0,
            seconds: 0.0,
        }
    }

    pub fn trial(&mut self, trial: Trial) -> Result<Measured, ()> {
        let (pps, duration) = match trial {
            Trial::Rate { pps, duration } => (pps, duration),
            Trial::Burst { packets } => {
                (LINE_PPS, Duration::from_secs_f64(packets as f64 / LINE_PPS))
            }
        };
        let seconds = duration.as_secs_f64();
        self.trials += 1;
        self.seconds += seconds;
        let intended = (pps * seconds).round();
        let over = ((pps - self.capacity_pps) * seconds - self.buffer).max(0.0);
        let pauses = (0..(seconds * 1_000.0) as u32)
            .filter(|_| self.random.fraction() < self.pauses_per_s / 1_000.0)
            .count();
        let paused = (pps * self.pause_s - self.buffer).max(0.0) * pauses as f64;
        let stray = (intended * self.stray_ppb / 1e9 + self.random.fraction()).floor();
        let received = (intended - over - paused - stray).max(0.0) as u64;
        let (min_ns, p50_ns) = (1_000, 1_000 + u64::from(self.random.below(1_000)));
        let (p999_ns, max_ns) = (p50_ns * 10, p50_ns * 20);
        let delays = Delays { min_ns, p50_ns, p999_ns, max_ns, ..Delays::default() };
        Ok(Measured { intended: intended as u64, received, duration, delays })
    }
}
