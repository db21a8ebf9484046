//! What a trial found.

use crate::flow::Flow;
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
    pub(crate) loss_period_max: u32,
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
    /// The most packets of a flow that were lost one after the other (RFC 3357 §5.2: the length of
    /// a loss period); one that came out of order ends none.
    pub loss_period_max: u32,
    /// Packets a second from the first to the last received.
    pub received_pps: f64,
    /// Bits a second on the wire but for preamble and gap.
    pub received_bits_per_s: f64,
    /// Their delays, duplicates left out.
    pub delays: Delays,
    /// What is told of speech besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<VoiceReport>,
}

/// What is told of speech: `sent`, `received` and `lost` beside it count all its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct VoiceReport {
    /// Packets that tell the noise of a pause, sent.
    pub noise_sent: u64,
    /// The same, received; they have no room for a signature: their order is not looked at.
    pub noise_received: u64,
    /// How much the delays of two packets of a flow differ that came one after the other.
    pub variation: Delays,
    /// The interarrival jitter of a flow at the end (RFC 3550 §6.4.1): the mean of all flows …
    pub jitter_mean_ns: f64,
    /// … and the largest.
    pub jitter_max_ns: u64,
    /// Packets of SRTP that were opened.
    pub opened: u64,
    /// Packets of SRTP whose tag was wrong.
    pub forged: u64,
    /// Packets of SRTP whose index came before, or is too old.
    pub replayed: u64,
    /// Packets of SRTP that were refused for another reason.
    pub refused: u64,
}

impl VoiceReport {
    /// With those of another stream, but for the variation of delays.
    fn add(&mut self, other: &Self, own: u64, others: u64) {
        let mean = self.jitter_mean_ns * own as f64 + other.jitter_mean_ns * others as f64;
        self.jitter_mean_ns = mean / (own + others).max(1) as f64;
        self.jitter_max_ns = self.jitter_max_ns.max(other.jitter_max_ns);
        self.noise_sent += other.noise_sent;
        self.noise_received += other.noise_received;
        self.opened += other.opened;
        self.forged += other.forged;
        self.replayed += other.replayed;
        self.refused += other.refused;
    }
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

impl Delays {
    /// Those of a histogram of nanoseconds.
    pub(crate) fn of(counted: &Histogram) -> Self {
        Self {
            min_ns: counted.least(),
            mean_ns: counted.mean(),
            p50_ns: counted.quantile(0.5),
            p99_ns: counted.quantile(0.99),
            p999_ns: counted.quantile(0.999),
            p9999_ns: counted.quantile(0.9999),
            max_ns: counted.most(),
        }
    }
}

impl StreamReport {
    /// Adds what is told of speech.
    pub(crate) fn with_voice(mut self, voice: VoiceReport) -> Self {
        self.sent += voice.noise_sent;
        self.received += voice.noise_received;
        self.lost += voice.noise_sent.saturating_sub(voice.noise_received);
        self.voice = Some(voice);
        self
    }
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
        self.loss_period_max = self.loss_period_max.max(other.loss_period_max);
        self.delays.merge(&other.delays);
    }

    fn rates(&self, seconds: f64, report: &mut StreamReport) {
        if seconds > 0.0 {
            report.received_pps = self.arrived as f64 / seconds;
            report.received_bits_per_s = self.octets as f64 * 8.0 / seconds;
        }
    }

    /// With packets sent of each flow and what came of it.
    pub(crate) fn report<'a>(
        &self,
        name: &str,
        flows: impl Iterator<Item = (u32, &'a Flow)>,
        seconds: f64,
    ) -> StreamReport {
        let mut report = StreamReport {
            name: name.to_owned(),
            duplicates: self.duplicates,
            reordered: self.reordered,
            reordered_behind_max: self.behind_max,
            discontinuities: self.discontinuities,
            too_late: self.too_late,
            loss_period_max: self.loss_period_max,
            delays: Delays::of(&self.delays),
            ..StreamReport::default()
        };
        for (sent, flow) in flows {
            let received = flow.received;
            let lost = u64::from(sent.saturating_sub(received));
            report.loss_period_max = report.loss_period_max.max(flow.missing_behind(sent));
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
            if let Some(voice) = &stream.voice {
                let own = whole.voice.get_or_insert_default();
                own.add(voice, whole.flows, stream.flows);
            }
            whole.sent += stream.sent;
            whole.received += stream.received;
            whole.lost += stream.lost;
            whole.flows += stream.flows;
            whole.flows_with_loss += stream.flows_with_loss;
            whole.flow_lost_max = whole.flow_lost_max.max(stream.flow_lost_max);
            whole.loss_period_max = whole.loss_period_max.max(stream.loss_period_max);
        }
        Self { all: whole, streams, foreign }
    }
}
