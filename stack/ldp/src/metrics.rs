//! What is counted, and shown as metrics.

use crate::labels::Labels;
use event::{MetricCells, Metrics, Table};
use ldp::Discard;

event::metrics! {
    /// The metrics of LDP in a function.
    pub enum Metric {
        /// Neighbours that are heard.
        Neighbours = Gauge, "ldp_neighbours";
        /// Sessions that stand.
        Sessions = Gauge, "ldp_sessions";
        /// Sessions that were lost.
        Lost = Counter, "ldp_sessions_lost_total";
        /// Prefixes that have a label.
        Bindings = Gauge, "ldp_bindings";
        /// Prefixes whose packets leave with a label of a next router, or as it wants them without.
        Labelled = Gauge, "ldp_prefixes_labelled";
        /// Connections of TCP.
        Connections = Gauge, "ldp_connections";
        /// Packets of LDP that the forwarder handed up.
        Received = Counter, "ldp_packets_received_total";
        /// Packets of LDP that were sent.
        Sent = Counter, "ldp_packets_sent_total";
        /// Packets of LDP that found no way to the forwarder.
        Shed = Counter, "ldp_packets_shed_total";
        /// Packets that were none of LDP, cut, or of no connection.
        Unread = Counter, "ldp_packets_unread_total";
    }
}

event::metrics! {
    /// What was not believed, by its reason; its label is `reason`.
    pub enum DiscardMetric {
        /// Datagrams, connections and messages of LDP that were discarded.
        Discarded = Counter, "ldp_discarded_total";
    }
}

/// What is shown, which may come and go.
pub struct Shown {
    all: Metrics<Metric>,
    discards: Table<DiscardMetric, 1>,
}

impl Default for Shown {
    fn default() -> Self {
        Self { all: Metrics::new(), discards: Table::new(&["reason"]) }
    }
}

/// What is so now, and nothing where nobody speaks.
const GAUGES: [Metric; 5] =
    [Metric::Neighbours, Metric::Sessions, Metric::Bindings, Metric::Labelled, Metric::Connections];

/// Tables without rows, for the page of all metrics.
#[must_use]
pub fn empty_tables() -> Vec<MetricCells> {
    Shown::default().cells()
}

impl Shown {
    /// Shows what is counted; none is there: nothing of it.
    pub fn show(&self, labels: Option<&Labels>) {
        let Some(it) = labels else {
            GAUGES.into_iter().for_each(|metric| self.all.set(metric, 0));
            return;
        };
        let all = Discard::ALL.iter().map(|why| (why.name(), it.speaker.discarded(*why)));
        let all = all.filter(|(_, count)| *count > 0);
        self.discards.show(all.map(|(why, count)| ([why], [(DiscardMetric::Discarded, count)])));
        let is_used = |it: &&crate::Forward| it.hops.iter().any(|hop| hop.label.is_some());
        let values = [
            (Metric::Neighbours, it.speaker.sessions().count() as u64),
            (Metric::Sessions, it.since.len() as u64),
            (Metric::Lost, it.tally.lost),
            (Metric::Bindings, it.speaker.bindings().count() as u64),
            (Metric::Labelled, it.forwards.values().filter(is_used).count() as u64),
            (Metric::Connections, it.streams.len() as u64),
            (Metric::Received, it.tally.received),
            (Metric::Sent, it.tally.sent),
            (Metric::Shed, it.channel.tally().shed),
            (Metric::Unread, it.tally.unread),
        ];
        values.into_iter().for_each(|(metric, value)| self.all.set(metric, value));
    }

    /// All of them.
    #[must_use]
    pub fn cells(&self) -> Vec<MetricCells> {
        vec![self.all.cells(), self.discards.cells()]
    }
}
