//! What is known of each peer, for a table of metrics.

use crate::passed::Passages;
use crate::peers::{Counts, Peers};
use crate::trace::Trace;
use diameter::State;
use event::{MetricCells, Metrics, Table};
use sctp_stack::SctpEndpoint;

event::metrics! {
    /// The metrics of one peer; its label is `peer`.
    pub enum PeerMetric {
        /// 1 while a Diameter peer is open.
        Open = Gauge, "diameter_peer_open";
        /// 1 while a Diameter peer that this node connects to is not open.
        Lacking = Gauge, "diameter_peer_lacking";
        /// Messages that came from a Diameter peer.
        Received = Counter, "diameter_peer_messages_received_total";
        /// Messages that a Diameter peer was sent.
        Sent = Counter, "diameter_peer_messages_sent_total";
        /// Requests that a Diameter peer has and has not answered.
        Outstanding = Gauge, "diameter_peer_requests_outstanding";
        /// Requests that failed over from a Diameter peer to another one.
        FailedOver = Counter, "diameter_peer_requests_failed_over_total";
        /// Connections with a Diameter peer that ended.
        Lost = Counter, "diameter_peer_connections_lost_total";
    }
}

event::metrics! {
    /// Metrics of the connections of a node.
    pub enum ConnectionMetric {
        /// Connections with Diameter peers that this node set out to open.
        Attempts = Counter, "diameter_connection_attempts_total";
        /// Connections refused before a word: no peer's address, or too many of one source.
        Strangers = Counter, "diameter_strangers_refused_total";
        /// Connections whose CER claimed the host of another address or certificate.
        Claims = Counter, "diameter_claims_refused_total";
        /// Diameter messages for a connection that is gone.
        Unsent = Counter, "diameter_messages_unsent_total";
        /// Diameter messages that found the send buffer of an SCTP association full.
        Shed = Counter, "diameter_messages_shed_total";
        /// Requests refused since their Diameter peer is not for that application.
        Unspoken = Counter, "diameter_requests_unspoken_total";
        /// Diameter connections that stand.
        Connections = Gauge, "diameter_connections";
    }
}

/// A table of [`PeerMetric`]s.
pub type PeerTable = Table<PeerMetric, 1>;

/// A table without rows.
#[must_use]
pub fn peer_table() -> PeerTable {
    Table::new(&["peer"])
}

/// What was counted and kept of what passed.
#[derive(Debug)]
pub(crate) struct Seen {
    pub counts: Counts,
    pub traced: Trace,
    pub passages: Passages,
    metrics: Metrics<ConnectionMetric>,
    table: PeerTable,
}

impl Default for Seen {
    fn default() -> Self {
        let (counts, traced, passages) = (Counts::default(), Trace::default(), Passages::default());
        Self { counts, traced, passages, metrics: Metrics::new(), table: peer_table() }
    }
}

/// What a function with Diameter has, with nothing counted.
#[must_use]
pub fn empty_tables() -> Vec<MetricCells> {
    let node = Metrics::<diameter::Metric>::new().cells();
    vec![node, Metrics::<ConnectionMetric>::new().cells(), peer_table().cells()]
}

impl Peers {
    /// What is counted: of the node, of its connections, of each peer, of SCTP.
    #[must_use]
    pub fn cells(&self) -> Vec<MetricCells> {
        let own = [self.node.metrics().cells(), self.seen.metrics.cells(), self.seen.table.cells()];
        own.into_iter().chain(self.endpoint.as_ref().map(SctpEndpoint::cells)).collect()
    }

    /// Brings what is counted up to date.
    pub fn publish(&self) {
        let (counts, links) = (&self.seen.counts, self.links.len() as u64);
        let rows = [
            (ConnectionMetric::Attempts, counts.attempts),
            (ConnectionMetric::Strangers, counts.refused),
            (ConnectionMetric::Claims, counts.claims_refused),
            (ConnectionMetric::Unsent, counts.unsent),
            (ConnectionMetric::Shed, counts.shed),
            (ConnectionMetric::Unspoken, counts.unspoken),
            (ConnectionMetric::Connections, links),
        ];
        rows.into_iter().for_each(|(metric, count)| self.seen.metrics.set(metric, count));
        self.seen.table.show(self.node.peers().filter_map(|(id, status)| {
            let row = self.rows.get(&id)?;
            let is_open = status.state == State::Open;
            let counts = status.counts;
            let metrics = [
                (PeerMetric::Open, is_open.into()),
                (PeerMetric::Lacking, (!is_open && row.connect).into()),
                (PeerMetric::Received, counts.messages_in),
                (PeerMetric::Sent, counts.messages_out),
                (PeerMetric::Outstanding, counts.outstanding),
                (PeerMetric::FailedOver, counts.failed_over),
                (PeerMetric::Lost, counts.losses),
            ];
            Some(([&row.name], metrics))
        }));
    }
}
