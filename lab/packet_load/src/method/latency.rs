//! Delay at a rate (RFC 2544 §26.2) as RFC 8219 §7.2 and §7.3.1 report it: medians of repeated
//! trials. Every packet carries its time, which is more than the five hundred that are asked for.

use super::{Measured, Method, Trial};
use core::time::Duration;

/// Repeated trials at a rate, the throughput that was found or a part of it.
#[derive(Debug, Clone)]
pub struct Latency {
    pps: f64,
    duration: Duration,
    repeats: usize,
    found: Vec<Measured>,
}

/// What they found, nanoseconds; each the median over the trials with the 1st and the 99th
/// percentile.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LatencyFigures {
    /// The median of a trial's delays (typical latency).
    pub typical_ns: [f64; 3],
    /// Their 99.9th percentile (worst case latency).
    pub worst_case_ns: [f64; 3],
    /// The mean.
    pub mean_ns: [f64; 3],
    /// What lies between the shortest and the 99.9th percentile (packet delay variation).
    pub variation_ns: [f64; 3],
    /// The longest of all.
    pub max_ns: u64,
    /// The part of all packets that was lost meanwhile.
    pub loss_ratio: f64,
}

impl Latency {
    /// `repeats` trials of a `duration` (RFC 8219: at least 20 of 60 s).
    #[must_use]
    pub const fn new(pps: f64, duration: Duration, repeats: usize) -> Self {
        Self { pps, duration, repeats, found: Vec::new() }
    }

    /// What was found so far; `None` before the first trial.
    #[must_use]
    pub fn figures(&self) -> Option<LatencyFigures> {
        if self.found.is_empty() {
            return None;
        }
        let of = |value: fn(&Measured) -> f64| {
            let mut all: Vec<f64> = self.found.iter().map(value).collect();
            all.sort_by(f64::total_cmp);
            [0.5, 0.01, 0.99].map(|share| {
                let last = all.len() - 1;
                all[((last as f64 * share).round() as usize).min(last)]
            })
        };
        let lost: f64 = self.found.iter().map(Measured::loss_ratio).sum();
        Some(LatencyFigures {
            typical_ns: of(|found| found.delays.p50_ns as f64),
            worst_case_ns: of(|found| found.delays.p999_ns as f64),
            mean_ns: of(|found| found.delays.mean_ns),
            variation_ns: of(|found| (found.delays.p999_ns - found.delays.min_ns) as f64),
            max_ns: self.found.iter().map(|found| found.delays.max_ns).max().unwrap_or_default(),
            loss_ratio: lost / self.found.len() as f64,
        })
    }
}

impl Method for Latency {
    fn next(&mut self) -> Option<Trial> {
        let is_left = self.found.len() < self.repeats;
        is_left.then_some(Trial::Rate { pps: self.pps, duration: self.duration })
    }

    fn take(&mut self, measured: &Measured) {
        self.found.push(*measured);
    }
}
