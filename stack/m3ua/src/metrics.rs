//! What is known of each peer, for a table of metrics.

use crate::links::{Link, Links, State, Way};
use event::Table;
use m3ua::PeerId;
use sctp::PathState;

event::metrics! {
    /// The metrics of one peer; its label is `peer`.
    pub enum PeerMetric {
        /// 1 while the association with a peer stands.
        Associated = Gauge, "m3ua_peer_associated";
        /// 1 while the association with a peer should stand and does not.
        Lacking = Gauge, "m3ua_peer_without_association";
        /// Application Servers for which a peer is active.
        Active = Gauge, "m3ua_peer_active_servers";
        /// Associations with a peer that ended.
        Lost = Counter, "m3ua_peer_associations_lost_total";
        /// MSUs (DATA) that came from a peer.
        Received = Counter, "m3ua_peer_msus_received_total";
        /// MSUs (DATA) that a peer was sent.
        Sent = Counter, "m3ua_peer_msus_sent_total";
        /// Level of congestion of the association with a peer, 0 to 3.
        Congestion = Gauge, "m3ua_peer_congestion_level";
        /// Chunks of user data sent again over the present SCTP association with a peer, but for
        /// one that is the kernel's.
        Retransmitted = Counter, "m3ua_peer_sctp_retransmissions_total";
        /// Paths of the SCTP association with a peer.
        Paths = Gauge, "m3ua_peer_sctp_paths";
        /// Paths of the SCTP association with a peer that are active.
        PathsActive = Gauge, "m3ua_peer_sctp_paths_active";
    }
}

/// A table of [`PeerMetric`]s.
pub type PeerTable = Table<PeerMetric, 1>;

/// A table without rows.
#[must_use]
pub fn peer_table() -> PeerTable {
    Table::new(&["peer"])
}

impl Links {
    /// Shows each peer in `table`; `process` says for how many Application Servers one is active,
    /// and whether its association is wanted.
    pub fn show(&self, table: &PeerTable, process: impl Fn(PeerId) -> (u64, bool)) {
        table.show(self.iter().map(|(id, link)| {
            let (active, is_wanted) = process(id);
            let is_up = link.state == State::Up;
            let status = match (link.way, self.sctp()) {
                (Some(Way::Association(id)), Some(endpoint)) => endpoint.status(id),
                _ => None,
            };
            let paths = status.iter().flat_map(|it| &it.paths);
            let of = |state| paths.clone().filter(|path| path.state == state).count() as u64;
            let Link { config, congestion, msus_in, msus_out, losses, .. } = link;
            let metrics = [
                (PeerMetric::Associated, is_up.into()),
                (PeerMetric::Lacking, (!is_up && is_wanted).into()),
                (PeerMetric::Active, active),
                (PeerMetric::Lost, *losses),
                (PeerMetric::Received, *msus_in),
                (PeerMetric::Sent, *msus_out),
                (PeerMetric::Congestion, (*congestion).into()),
                (PeerMetric::Retransmitted, status.as_ref().map_or(0, |it| it.retransmitted)),
                (PeerMetric::Paths, paths.clone().count() as u64),
                (PeerMetric::PathsActive, of(PathState::Active)),
            ];
            ([&config.name], metrics)
        }));
    }
}
