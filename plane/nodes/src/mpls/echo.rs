//! Which packets ask for the end of a path of labels (RFC 8029 §4.3): their destination leads
//! nowhere, so that they go no further than their labels do, and their source is a host's.

use crate::header::{IP4, UDP, word};

/// The port of echoes.
pub(crate) const PORT: u16 = 3_503;
/// Octets of a header of UDP.
const UDP_BYTES: usize = 8;

/// Whether a packet of IPv4 is an echo request.
pub(crate) fn is_request(packet: &[u8]) -> bool {
    let Some(header) = packet.first_chunk::<IP4>() else { return false };
    let octets = usize::from(header[0] & 15) * 4;
    let is_whole = word(header, 6) & 0x3fff == 0 && packet.len() >= octets + UDP_BYTES;
    let is_meant = header[0] >> 4 == 4 && octets >= IP4 && header[9] == UDP && header[16] == 127;
    let is_meant = is_meant && matches!(header[12], 1..=126 | 128..=223);
    is_meant && is_whole && word(packet, octets + 2) == PORT
}
