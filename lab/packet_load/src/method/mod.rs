//! Benchmarking methods as machines: a trial out, what was measured in, until there is a figure.
//! None knows the device or a clock.

mod burst;
mod latency;
mod loss;
mod search;
mod verdict;

pub use burst::{BackToBack, Burst};
pub use latency::{Latency, LatencyFigures};
pub use loss::FrameLoss;
pub use search::{Search, SearchOutcome};
pub use verdict::{Bounds, Goal};

use crate::report::{Delays, Report};
use core::time::Duration;

/// Trials of one method at most.
pub const TRIALS_MAX: usize = 1_000;

/// What shall be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trial {
    /// Packets at a constant rate.
    Rate {
        /// Packets a second.
        pps: f64,
        /// How long.
        duration: Duration,
    },
    /// So many packets back to back (RFC 2544 §26.4).
    Burst {
        /// How many.
        packets: u64,
    },
}

/// What a trial found.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// Packets that should have been sent; what the generator did not manage counts as lost
    /// (RFC 9971 §4: the intended load is what is tested).
    pub intended: u64,
    /// Different packets that came through.
    pub received: u64,
    /// How long it took in the end, for the classification.
    pub duration: Duration,
    /// Their delays.
    pub delays: Delays,
}

impl Measured {
    /// From what the analyser says.
    #[must_use]
    pub const fn new(intended: u64, report: &Report, duration: Duration) -> Self {
        let (received, delays) = (report.all.received, report.all.delays);
        Self { intended, received, duration, delays }
    }

    /// The part that was lost, 0 to 1; all if nothing was intended.
    #[must_use]
    pub fn loss_ratio(&self) -> f64 {
        if self.intended == 0 {
            return 1.0;
        }
        1.0 - self.received.min(self.intended) as f64 / self.intended as f64
    }
}

/// A method under way.
pub trait Method {
    /// The trial that it wants; `None` when it is done. Asking again gives the same.
    fn next(&mut self) -> Option<Trial>;
    /// What the trial found.
    fn take(&mut self, measured: &Measured);
}

/// Carries a method out, at most [`TRIALS_MAX`] trials; says how many there were.
///
/// # Errors
/// Those of the trial.
pub fn drive<E>(
    method: &mut dyn Method,
    mut trial: impl FnMut(Trial) -> Result<Measured, E>,
) -> Result<usize, E> {
    for count in 0..TRIALS_MAX {
        let Some(wanted) = method.next() else { return Ok(count) };
        method.take(&trial(wanted)?);
    }
    Ok(TRIALS_MAX)
}
