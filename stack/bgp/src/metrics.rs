//! What is known of each peer, for a table of metrics.

use crate::Speaker;
use crate::peers::Peer;
use bgp::codec::MessageType;
use event::Table;
use rib::PeerId;

event::metrics! {
    /// The metrics of one peer; its labels are `peer` and `group`.
    pub enum PeerMetric {
        /// 1 while the session with a peer stands.
        Up = Gauge, "bgp_peer_up";
        /// 1 while the session with a peer should stand and does not.
        Down = Gauge, "bgp_peer_down";
        /// Sessions with a peer that ended.
        Flaps = Counter, "bgp_peer_flaps_total";
        /// UPDATEs that came from a peer.
        UpdatesIn = Counter, "bgp_peer_updates_received_total";
        /// UPDATEs that a peer was sent.
        UpdatesOut = Counter, "bgp_peer_updates_sent_total";
        /// Routes that a peer has announced, those among them that its import policy refused.
        RoutesIn = Gauge, "bgp_peer_routes_received";
        /// Routes that a peer has announced and its import policy accepts.
        RoutesAccepted = Gauge, "bgp_peer_routes_accepted";
        /// Routes that a peer was told, its own that come back to it among them (RFC 4456 §8);
        /// where route targets are constrained (RFC 4684), those that any peer of its update cohort
        /// wanted.
        RoutesOut = Gauge, "bgp_peer_routes_sent";
        /// Octets that wait for a peer to read.
        Waiting = Gauge, "bgp_peer_waiting_octets";
    }
}

/// A table of [`PeerMetric`]s.
pub type PeerTable = Table<PeerMetric, 2>;

/// The labels of a peer, and its metrics.
pub type PeerMetrics = ([String; 2], [(PeerMetric, u64); 9]);

/// A table without rows.
#[must_use]
pub fn peer_table() -> PeerTable {
    Table::new(&["peer", "group"])
}

/// How many routes a peer has and was told, as the owner of the routes knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteCounts {
    /// Those that it has announced.
    pub received: u64,
    /// Those of them that its import policy accepts.
    pub accepted: u64,
    /// Those that it was told.
    pub sent: u64,
}

impl Speaker {
    /// The row of each peer, those from ranges that are away included. `routes` says how many
    /// routes one has.
    pub(crate) fn rows(&self, routes: impl Fn(PeerId) -> RouteCounts) -> Vec<PeerMetrics> {
        let there = self.peers.iter().map(|(id, peer)| {
            let counters = peer.session.counters();
            let routes = routes(id);
            let is_down = peer.is_missed() || self.departed.misses(peer);
            let metrics = [
                (PeerMetric::Up, peer.is_up().into()),
                (PeerMetric::Down, is_down.into()),
                (PeerMetric::Flaps, peer.flaps()),
                (PeerMetric::UpdatesIn, counters.received[MessageType::Update as usize]),
                (PeerMetric::UpdatesOut, counters.sent[MessageType::Update as usize]),
                (PeerMetric::RoutesIn, routes.received),
                (PeerMetric::RoutesAccepted, routes.accepted),
                (PeerMetric::RoutesOut, routes.sent),
                (PeerMetric::Waiting, peer.waiting()),
            ];
            let group = peer.settings.group.clone().unwrap_or_default();
            ([peer.settings.name.clone(), group], metrics)
        });
        let away = self.departed.away(&self.peers).map(|it| {
            let metrics = [
                (PeerMetric::Up, 0),
                (PeerMetric::Down, 1),
                (PeerMetric::Flaps, it.flaps),
                (PeerMetric::UpdatesIn, 0),
                (PeerMetric::UpdatesOut, 0),
                (PeerMetric::RoutesIn, 0),
                (PeerMetric::RoutesAccepted, 0),
                (PeerMetric::RoutesOut, 0),
                (PeerMetric::Waiting, 0),
            ];
            ([it.name.clone(), it.group.clone()], metrics)
        });
        there.chain(away).collect()
    }
}

impl Peer {
    /// Octets that wait for it to read.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.connections.values().map(|it| it.left).sum()
    }
}
