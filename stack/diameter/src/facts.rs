//! What is known of each peer, for a table of metrics.

use crate::peers::Peers;
use diameter::State;
use event::Table;

event::facts! {
    /// The facts of one peer; its label is `peer`.
    pub enum PeerFact {
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

/// A table of [`PeerFact`]s.
pub type PeerTable = Table<PeerFact, 1>;

/// A table without rows.
#[must_use]
pub fn peer_table() -> PeerTable {
    Table::new(&["peer"])
}

impl Peers {
    /// Shows each peer in `table`.
    pub fn show(&self, table: &PeerTable) {
        table.show(self.node.peers().filter_map(|(id, status)| {
            let row = self.rows.get(&id)?;
            let is_open = status.state == State::Open;
            let counts = status.counts;
            let facts = [
                (PeerFact::Open, is_open.into()),
                (PeerFact::Lacking, (!is_open && row.connect).into()),
                (PeerFact::Received, counts.messages_in),
                (PeerFact::Sent, counts.messages_out),
                (PeerFact::Outstanding, counts.outstanding),
                (PeerFact::FailedOver, counts.failed_over),
                (PeerFact::Lost, counts.losses),
            ];
            Some(([&row.name], facts))
        }));
    }
}
