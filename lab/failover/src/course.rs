//! What one run is given, and what it found.

use crate::configuration::{Condition, Test};
use crate::ledger::Ledger;
use machine::Duration;
use sctp::Parameters;
use serde::Serialize;

/// Traffic of the source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// MSUs a second, evenly spaced.
    pub per_s: u32,
    /// Octets of user data in each.
    pub octets: usize,
}

impl Load {
    /// The report names neither rate nor size: those of a loaded 64 kbit/s signalling link.
    pub const REPORT: Self = Self { per_s: 200, octets: 100 };

    /// Time between two MSUs.
    pub fn gap(self) -> Duration {
        Duration::from_nanos(1_000_000_000 / u64::from(self.per_s.max(1)))
    }
}

/// Time before the cut of a run of the report, and of all of it.
pub const CUT: Duration = Duration::from_secs(30);
/// As above.
pub const LENGTH: Duration = Duration::from_secs(120);

/// One run.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Of both endpoints.
    pub parameters: Parameters,
    /// Of both paths, one way.
    pub delay: Duration,
    /// Traffic.
    pub load: Load,
    /// What the paths do beside delaying.
    pub condition: Condition,
    /// How long traffic runs until the primary path is cut; `None`: it is not.
    pub cut: Option<Duration>,
    /// How long traffic runs in all.
    pub length: Duration,
    /// Where chance comes from.
    pub seed: u64,
}

impl Case {
    /// The run of a test of the report with a seed.
    #[must_use]
    pub const fn of(test: &Test, load: Load, seed: u64) -> Self {
        let (configuration, delay_ms) = test;
        Self {
            parameters: configuration.parameters,
            delay: Duration::from_millis(*delay_ms),
            load,
            condition: Condition::QUIET,
            cut: Some(CUT),
            length: LENGTH,
            seed,
        }
    }
}

/// What became of a run. Times of path events are counted from the cut.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Course {
    /// The primary was told INACTIVE: the failover time of the report.
    pub failover: Option<Duration>,
    /// Data had left it: it was told POTENTIALLY FAILED or INACTIVE.
    pub diverted: Option<Duration>,
    /// The time-outs of the primary until then, each with the RTO that had run out.
    pub time_outs: Vec<(Duration, Duration)>,
    /// The longest time from the sending M3UA user to the receiving one; MSUs of the first and the
    /// last second left out.
    pub max_transfer: Duration,
    /// The mean of them.
    pub mean_transfer: Duration,
    /// MSUs sent.
    pub sent: u64,
    /// MSUs that took longer than 600 ms and than 1,000 ms.
    pub late: [u64; 2],
    /// Spurious failovers: a path became INACTIVE (more than Path.Max.Retrans time-outs in a row)
    /// although its link was not cut.
    pub spurious: u64,
    /// A path became POTENTIALLY FAILED although its link was not cut.
    pub excursions: u64,
    /// The association was lost: more time-outs in a row on all paths than
    /// Association.Max.Retrans.
    pub lost: bool,
    /// What may not happen: MSUs lost, twice, out of order while the association stood.
    pub violations: Vec<String>,
}

impl Course {
    /// What the source saw, and of the sink what may happen at either end.
    pub fn together(source: Self, sink: Self) -> Self {
        let mut violations = source.violations;
        violations.extend(sink.violations);
        Self {
            spurious: source.spurious + sink.spurious,
            excursions: source.excursions + sink.excursions,
            lost: source.lost || sink.lost,
            violations,
            ..source
        }
    }

    /// With what the sink's ledger says, of so many MSUs that were sent.
    pub fn settled(mut self, sink: &Ledger, sent: u64) -> Self {
        self.max_transfer = sink.longest;
        self.mean_transfer = sink.mean();
        self.sent = sent;
        self.late = sink.late;
        if !self.lost && (sink.arrived != sent || sink.disorder > 0) {
            let (came, disorder) = (sink.arrived, sink.disorder);
            let what = format!("{sent} MSUs sent, {came} came, {disorder} not in their order");
            self.violations.push(what);
        }
        self
    }
}
