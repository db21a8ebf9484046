//! Frame loss rate (RFC 2544 §26.3): from the maximum down in steps of a tenth, until two trials
//! one after the other lose nothing.

use super::{Measured, Method, Trial};
use core::time::Duration;

/// Steps from the maximum to nothing.
const STEPS: usize = 10;

/// The curve of loss over rate.
#[derive(Debug, Clone)]
pub struct FrameLoss {
    most_pps: f64,
    duration: Duration,
    found: Vec<(f64, f64)>,
}

impl FrameLoss {
    /// From `most_pps` on, with trials of a `duration`.
    #[must_use]
    pub const fn new(most_pps: f64, duration: Duration) -> Self {
        Self { most_pps, duration, found: Vec::new() }
    }

    /// Rates, packets a second, and the part that was lost there, the highest first.
    #[must_use]
    pub fn curve(&self) -> &[(f64, f64)] {
        &self.found
    }

    fn rate(&self) -> f64 {
        self.most_pps * (STEPS - self.found.len().min(STEPS)) as f64 / STEPS as f64
    }
}

impl Method for FrameLoss {
    fn next(&mut self) -> Option<Trial> {
        let is_clean = |(_, loss): &(f64, f64)| *loss <= 0.0;
        let is_done = match self.found.as_slice() {
            [.., one, two] => is_clean(one) && is_clean(two),
            _ => false,
        };
        let is_done = is_done || self.found.len() == STEPS;
        (!is_done).then(|| Trial::Rate { pps: self.rate(), duration: self.duration })
    }

    fn take(&mut self, measured: &Measured) {
        self.found.push((self.rate(), measured.loss_ratio()));
    }
}
