//! The common header (RFC 7854 §4.1).

/// The version of the protocol.
pub const VERSION: u8 = 3;
/// Octets of the common header.
pub const HEADER_BYTES: usize = 6;
/// Octets of a message at most: two OPENs of 65,535 octets fit.
pub const MESSAGE_BYTES_MAX: usize = 1 << 18;

wire::rows! {
    /// The messages.
    pub enum MessageType: u8 {
        /// An UPDATE of a peer.
        RouteMonitoring = 0, "Route Monitoring", "RFC 7854 §4.6";
        /// Counters of a peer.
        StatisticsReport = 1, "Statistics Report", "RFC 7854 §4.8";
        /// A session ended.
        PeerDown = 2, "Peer Down Notification", "RFC 7854 §4.9";
        /// A session is there.
        PeerUp = 3, "Peer Up Notification", "RFC 7854 §4.10";
        /// Who speaks.
        Initiation = 4, "Initiation Message", "RFC 7854 §4.3";
        /// Why nobody speaks any more.
        Termination = 5, "Termination Message", "RFC 7854 §4.5";
        /// Messages of a peer as they came.
        RouteMirroring = 6, "Route Mirroring Message", "RFC 7854 §4.7";
    }
}

/// Begins a message whose length [`end`] sets; gives the offset where it begins.
pub(crate) fn begin(kind: MessageType, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[VERSION, 0, 0, 0, 0, kind.number()]);
    start
}

/// Sets the length of the message that began at `start` and ends where `out` does.
pub(crate) fn end(start: usize, out: &mut [u8]) {
    // A message holds two of BGP and some TLVs; what it could not tell, no reader takes.
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}
