//! Back-to-back frames (RFC 2544 §26.4 as RFC 9004 §6 amends it): the longest burst without loss,
//! many times, and the buffer that it tells of.

use super::{Measured, Method, Trial};

/// Repeated searches for the longest burst.
#[derive(Debug, Clone)]
pub struct BackToBack {
    most: u64,
    repeats: usize,
    tolerance: f64,
    found: Vec<u64>,
    /// Bounds of the search under way: the lower one held.
    lower: u64,
    upper: u64,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    /// Packets in the mean.
    pub mean: f64,
    /// The fewest and the most.
    pub range: [u64; 2],
    /// Whether no burst was too long: there is no figure then.
    pub is_unbounded: bool,
}

impl BackToBack {
    /// Bursts of at most `most` packets, `repeats` searches (RFC 9004: at least 50), and how near
    /// each shall be as a part of the length.
    #[must_use]
    pub fn new(most: u64, repeats: usize, tolerance: f64) -> Self {
        let most = most.max(1);
        Self { most, repeats, tolerance, found: Vec::new(), lower: 0, upper: most + 1 }
    }

    /// The mean of the searches that are done; `None` before the first.
    #[must_use]
    pub fn burst(&self) -> Option<Burst> {
        let (least, most) = (self.found.iter().min()?, self.found.iter().max()?);
        let mean = self.found.iter().sum::<u64>() as f64 / self.found.len() as f64;
        Some(Burst { mean, range: [*least, *most], is_unbounded: *least == self.most })
    }

    fn length(&self) -> u64 {
        // The longest first: most devices without a limit show at once.
        if self.upper > self.most { self.most } else { self.lower.midpoint(self.upper) }
    }
}

impl Burst {
    /// Seconds of buffer, less what the device forwarded meanwhile (RFC 9004 §6.4): `line_pps` is
    /// the rate within the burst, `throughput_pps` the device's.
    #[must_use]
    pub fn buffer_s(&self, line_pps: f64, throughput_pps: f64) -> f64 {
        let implied = self.mean / line_pps;
        implied - implied * (throughput_pps / line_pps).min(1.0)
    }
}

impl Method for BackToBack {
    fn next(&mut self) -> Option<Trial> {
        let is_left = self.found.len() < self.repeats;
        is_left.then(|| Trial::Burst { packets: self.length() })
    }

    fn take(&mut self, measured: &Measured) {
        let length = self.length();
        match measured.loss_ratio() <= 0.0 {
            true => self.lower = length,
            false => self.upper = length,
        }
        let near = (self.upper as f64 * self.tolerance).max(1.0);
        if self.lower == self.most || (self.upper - self.lower) as f64 <= near {
            self.found.push(self.lower);
            (self.lower, self.upper) = (0, self.most + 1);
        }
    }
}
