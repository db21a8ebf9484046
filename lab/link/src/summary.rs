//! What an emulator has done, for people and programs.

use crate::Counts;
use hdrhistogram::Histogram;
use serde::Serialize;

/// All links of an emulator.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// Where chance came from.
    pub seed: u64,
    /// When it began, microseconds since 1970: schedules count from here.
    pub began_at_us: u64,
    /// How long it has run.
    pub seconds: f64,
    /// The links, as in the plan.
    pub links: Vec<LinkSummary>,
}

/// A link.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LinkSummary {
    /// Its name.
    pub name: String,
    /// Its ends.
    pub between: [String; 2],
    /// From the first end to the second.
    pub forward: WaySummary,
    /// From the second end to the first.
    pub reverse: WaySummary,
}

/// One way of a link.
#[derive(Debug, Clone, Default, Serialize)]
pub struct WaySummary {
    /// What became of the packets.
    #[serde(flatten)]
    pub counts: Counts,
    /// Packets that wait for the wire.
    pub waiting: u64,
    /// Packets that wait, are on the wire or on their way.
    pub standing: u64,
    /// Whether it is cut.
    pub is_cut: bool,
    /// Frames that the sender's kernel had joined; they are counted as the packets that they are.
    pub joined: u64,
    /// Frames that found the socket's receive buffer full: the emulator was too slow.
    pub missed: u64,
    /// Frames that the kernel could not hand over (joined inside a tunnel), and times that the
    /// interface went down.
    pub unreadable: u64,
    /// Frames that the far interface did not take: it was down, or they were too long for it.
    pub refused: u64,
    /// Time between when a packet was due and when the kernel had it; only at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_us: Option<Late>,
}

/// How late packets left, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Late {
    /// Half of them at most.
    pub p50: f64,
    /// 99 of 100 at most.
    pub p99: f64,
    /// 999 of 1000 at most.
    pub p999: f64,
    /// All.
    pub max: f64,
}

impl Late {
    /// From a histogram of nanoseconds.
    pub(crate) fn read(histogram: &Histogram<u64>) -> Option<Self> {
        let us = |ns: u64| ns as f64 / 1e3;
        let at = |quantile: f64| us(histogram.value_at_quantile(quantile));
        let max = us(histogram.max());
        let late = Self { p50: at(0.5), p99: at(0.99), p999: at(0.999), max };
        (!histogram.is_empty()).then_some(late)
    }
}
