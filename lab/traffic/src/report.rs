//! What a trial found.

use crate::histogram::Histogram;
use serde::Serialize;

/// What is counted of a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) arrived: u64,
    pub(crate) octets: u64,
    pub(crate) duplicates: u64,
    pub(crate) reordered: u64,
    pub(crate) discontinuities: u64,
    pub(crate) too_late: u64,
    pub(crate) behind_max: u32,
    pub(crate) delays: Histogram,
}

/// Delays, nanoseconds; quantiles within [`crate::PRECISION`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Delays {
    /// The shortest.
    pub min_ns: u64,
    /// The mean.
    pub mean_ns: f64,
    /// Half of the packets had no more.
    pub p50_ns: u64,
    /// Of a hundred, 99.
    pub p99_ns: u64,
    /// Of a thousand, 999 (RFC 8219 §7.2: worst case latency).
    pub p999_ns: u64,
    /// Of ten thousand, 9,999.
    pub p9999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// What became of a stream, or of all of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StreamReport {
    /// The stream's name.
    pub name: String,
    /// Packets sent.
    pub sent: u64,
    /// Different packets received.
    pub received: u64,
    /// Packets that did not come, or too late.
    pub lost: u64,
    /// Packets that came once more (RFC 5560).
    pub duplicates: u64,
    /// Packets after one with a higher number of their flow (RFC 4737 §3: Type-P-Reordered).
    pub reordered: u64,
    /// The furthest that one of them was behind the next expected one.
    pub reordered_behind_max: u32,
    /// Packets before which others were missing at that time (RFC 4737 §3.4).
    pub discontinuities: u64,
    /// Packets further behind than [`crate::WINDOW`]; they count as lost.
    pub too_late: u64,
    /// Flows that packets were sent of.
    pub flows: u64,
    /// Flows that lost some.
    pub flows_with_loss: u64,
    /// What the flow lost that lost most.
    pub flow_lost_max: u64,
    /// Packets a second from the first to the last received.
    pub received_pps: f64,
    /// Bits a second on the wire but for preamble and gap.
    pub received_bits_per_s: f64,
    /// Their delays, duplicates left out.
    pub delays: Delays,
}

/// What became of the packets of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// All streams together.
    pub all: StreamReport,
    /// Each.
    pub streams: Vec<StreamReport>,
    /// Packets that were not of this trial.
    pub foreign: u64,
}

impl Tally {
    pub(crate) fn clear(&mut self) {
        let mut delays = std::mem::take(&mut self.delays);
        delays.clear();
        *self = Self { delays, ..Self::default() };
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.octets += other.octets;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.discontinuities += other.discontinuities;
        self.too_late += other.too_late;
        self.behind_max = self.behind_max.max(other.behind_max);
        self.delays.merge(&other.delays);
    }

    fn delays(&self) -> Delays {
        Delays {
            min_ns: self.delays.least(),
            mean_ns: self.delays.mean(),
            p50_ns: self.delays.quantile(0.5),
            p99_ns: self.delays.quantile(0.99),
            p999_ns: self.delays.quantile(0.999),
            p9999_ns: self.delays.quantile(0.9999),
            max_ns: self.delays.most(),
        }
    }

    fn rates(&self, seconds: f64, report: &mut StreamReport) {
        if seconds > 0.0 {
            report.received_pps = self.arrived as f64 / seconds;
            report.received_bits_per_s = self.octets as f64 * 8.0 / seconds;
        }
    }

    /// With packets sent and received of each flow.
    pub(crate) fn report(
        &self,
        name: &str,
        flows: impl Iterator<Item = (u32, u32)>,
        seconds: f64,
    ) -> StreamReport {
        let mut report = StreamReport {
            name: name.to_owned(),
            duplicates: self.duplicates,
            reordered: self.reordered,
            reordered_behind_max: self.behind_max,
            discontinuities: self.discontinuities,
            too_late: self.too_late,
            delays: self.delays(),
            ..StreamReport::default()
        };
        for (sent, received) in flows {
            let lost = u64::from(sent.saturating_sub(received));
            report.sent += u64::from(sent);
            report.received += u64::from(received);
            report.lost += lost;
            report.flows += u64::from(sent > 0);
            report.flows_with_loss += u64::from(lost > 0);
            report.flow_lost_max = report.flow_lost_max.max(lost);
        }
        self.rates(seconds, &mut report);
        report
    }
}

impl Report {
    pub(crate) fn new(streams: Vec<StreamReport>, all: &Tally, foreign: u64, seconds: f64) -> Self {
        let mut whole = all.report("all", std::iter::empty(), seconds);
        for stream in &streams {
            whole.sent += stream.sent;
            whole.received += stream.received;
            whole.lost += stream.lost;
            whole.flows += stream.flows;
            whole.flows_with_loss += stream.flows_with_loss;
            whole.flow_lost_max = whole.flow_lost_max.max(stream.flow_lost_max);
        }
        Self { all: whole, streams, foreign }
    }
}
