//! What can be seen of an association: STATUS and GET SRTT REPORT (RFC 9260 §11.1.8, §11.1.10).

use super::{Association, PathState, State};
use core::net::IpAddr;
use machine::Duration;

/// A path as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStatus {
    /// The peer's address.
    pub address: IpAddr,
    /// State.
    pub state: PathState,
    /// Whether it is the primary path.
    pub is_primary: bool,
    /// Smoothed round trip, once measured.
    pub srtt: Option<Duration>,
    /// Retransmission time-out.
    pub rto: Duration,
    /// Congestion window, octets.
    pub cwnd: usize,
    /// Slow start threshold, octets.
    pub ssthresh: usize,
    /// User data outstanding, octets.
    pub flight: usize,
    /// Time-outs in a row.
    pub errors: u16,
    /// PMTU, octets.
    pub pmtu: usize,
}

/// An association as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// State.
    pub state: State,
    /// Port of the peer.
    pub peer_port: u16,
    /// Its paths.
    pub paths: Vec<PathStatus>,
    /// Outbound and inbound streams.
    pub streams: (u16, u16),
    /// The peer's window, octets.
    pub peer_rwnd: usize,
    /// Octets of user data that wait for their first transmission.
    pub queued: usize,
    /// Octets of user data that wait for their acknowledgement.
    pub unacknowledged: usize,
    /// Octets of user data that wait for order or reassembly.
    pub held: usize,
    /// Time-outs in a row on all paths.
    pub errors: u16,
    /// Chunks of user data that were sent again since it stands.
    pub retransmitted: u64,
    /// Whether I-DATA is in use (RFC 8260).
    pub is_interleaved: bool,
    /// Whether FORWARD-TSN is in use (RFC 3758).
    pub has_partial_reliability: bool,
}

impl Status {
    pub(crate) fn of(association: &Association) -> Self {
        let path = |(index, path): (usize, &super::path::Path)| PathStatus {
            address: path.address,
            state: path.state,
            is_primary: index == association.paths.primary,
            srtt: path.srtt,
            rto: path.rto,
            cwnd: path.congestion.cwnd,
            ssthresh: path.congestion.ssthresh,
            flight: path.congestion.flight,
            errors: path.errors,
            pmtu: path.pmtu,
        };
        Self {
            state: association.state,
            peer_port: association.peer_port,
            paths: association.paths.iter().enumerate().map(path).collect(),
            streams: (association.outbound.streams, association.inbound.streams),
            peer_rwnd: association.outbound.peer_rwnd,
            queued: association.outbound.queued,
            unacknowledged: association.outbound.held,
            held: association.inbound.reassembly.held(),
            errors: association.paths.errors,
            retransmitted: association.outbound.retransmitted,
            is_interleaved: association.outbound.is_interleaved,
            has_partial_reliability: association.agreed.forward_tsn,
        }
    }
}
