//! What an endpoint counts.

use esp::Dropped;

event::metrics! {
    /// The metrics of one endpoint.
    pub enum Metric {
        /// Sets of security associations that stand.
        SetsLive = Gauge, "ipsec_sets";
        /// Sets that came to stand.
        SetsInstalled = Counter, "ipsec_sets_installed_total";
        /// Sets that were wanted while there were as many as there may be.
        SetsRefused = Counter, "ipsec_sets_refused_total";
        /// Packets that were opened.
        PacketsIn = Counter, "ipsec_packets_in_total";
        /// Packets that were protected.
        PacketsOut = Counter, "ipsec_packets_out_total";
        /// Packets dropped because no association has their SPI.
        UnknownSpi = Counter, "ipsec_dropped_unknown_spi_total";
        /// Packets dropped because their number came before, or is left of the window.
        Replayed = Counter, "ipsec_dropped_replayed_total";
        /// Packets dropped because their ICV is wrong.
        Forged = Counter, "ipsec_dropped_icv_total";
        /// Packets dropped before their ICV because they came from elsewhere than their
        /// association's peer.
        Elsewhere = Counter, "ipsec_dropped_source_total";
        /// Packets in UDP dropped because their source has tried too often.
        Limited = Counter, "ipsec_dropped_limited_total";
        /// Packets dropped because their association does not carry what is in them.
        Policy = Counter, "ipsec_dropped_policy_total";
        /// Packets dropped because they are malformed, or of no kind that is carried.
        Malformed = Counter, "ipsec_dropped_malformed_total";
        /// Packets that came in the clear to a protected port, and were dropped.
        Clear = Counter, "ipsec_dropped_clear_total";
        /// Keepalives of ESP in UDP.
        Keepalives = Counter, "ipsec_keepalives_total";
        /// Peers that a NAT has moved to another address or port.
        Moved = Counter, "ipsec_peers_moved_total";
        /// Blocks of sequence numbers that were granted to associations: the other node of the pair
        /// knows them, or could not be current.
        BlocksGranted = Counter, "ipsec_blocks_granted_total";
        /// Packets that were not sent because the other node of the pair did not know their
        /// sequence numbers yet.
        Unpromised = Counter, "ipsec_unsent_not_promised_total";
        /// Packets that could not be protected: their set is gone, or their numbers are used up.
        Unsent = Counter, "ipsec_unsent_total";
        /// Connections of TCP inside of ESP.
        StreamsLive = Gauge, "ipsec_tcp_connections";
        /// Connections of TCP that phones have opened, or this node.
        StreamsOpened = Counter, "ipsec_tcp_opened_total";
        /// Connections of TCP that were refused or reset by the phone, or that it answers no more.
        StreamsFailed = Counter, "ipsec_tcp_failed_total";
        /// Connections of TCP that made way: those of their source, or all, held as many octets as
        /// they may.
        StreamsMadeWay = Counter, "ipsec_tcp_made_way_total";
    }
}

impl Metric {
    /// What counts a packet that was dropped.
    pub(crate) const fn of(why: Dropped) -> Self {
        match why {
            Dropped::Replayed | Dropped::Old => Self::Replayed,
            Dropped::Forged => Self::Forged,
            Dropped::Policy => Self::Policy,
            Dropped::NoAssociation | Dropped::OtherSpi => Self::UnknownSpi,
            _ => Self::Malformed,
        }
    }
}
