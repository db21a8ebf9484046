//! Chunks: the generic table (EEP rev. 3 §4, vendor 0) and a walk over the chunks of a packet.

use crate::{CHUNKS_MAX, HEADER_BYTES};
use wire::Malformed;

const SPEC: &str = "EEP rev. 3 §3.2";
pub(crate) const CHUNK_HEADER_BYTES: usize = 6;

wire::rows! {
    /// The generic chunks, those of vendor 0.
    pub enum Generic {
        /// 2 for IPv4, 10 for IPv6.
        IpFamily = "IP protocol family", "EEP rev. 3 §4 0x0001";
        /// Number of the protocol above IP.
        IpProtocol = "IP protocol ID", "EEP rev. 3 §4 0x0002";
        /// Source.
        SourceV4 = "IPv4 source address", "EEP rev. 3 §4 0x0003";
        /// Destination.
        DestinationV4 = "IPv4 destination address", "EEP rev. 3 §4 0x0004";
        /// Source.
        SourceV6 = "IPv6 source address", "EEP rev. 3 §4 0x0005";
        /// Destination.
        DestinationV6 = "IPv6 destination address", "EEP rev. 3 §4 0x0006";
        /// Port of the source.
        SourcePort = "source port", "EEP rev. 3 §4 0x0007";
        /// Port of the destination.
        DestinationPort = "destination port", "EEP rev. 3 §4 0x0008";
        /// Seconds since the UNIX epoch.
        Seconds = "timestamp, seconds", "EEP rev. 3 §4 0x0009";
        /// Microseconds of that second.
        Micros = "timestamp, microseconds", "EEP rev. 3 §4 0x000a";
        /// What the payload is: 1 SIP, 5 RTCP, 100 log.
        Kind = "protocol type", "EEP rev. 3 §4 0x000b";
        /// Who captured.
        CaptureId = "capture agent ID", "EEP rev. 3 §4 0x000c";
        /// Seconds.
        KeepAlive = "keep-alive timer", "EEP rev. 3 §4 0x000d";
        /// The agent's password, in the clear.
        AuthKey = "authenticate key", "EEP rev. 3 §4 0x000e";
        /// The captured message.
        Payload = "captured packet payload", "EEP rev. 3 §4 0x000f";
        /// The captured message, deflated.
        CompressedPayload = "captured compressed payload", "EEP rev. 3 §4 0x0010";
        /// What belongs together.
        Correlation = "internal correlation ID", "EEP rev. 3 §4 0x0011";
        /// VLAN.
        Vlan = "VLAN ID", "EEP rev. 3 §4 0x0012";
        /// Agents of one group.
        Group = "group ID", "EEP rev. 3 §4 0x0013";
        /// MAC address.
        SourceMac = "source MAC", "EEP rev. 3 §4 0x0014";
        /// MAC address.
        DestinationMac = "destination MAC", "EEP rev. 3 §4 0x0015";
        /// Ethernet type.
        EtherType = "Ethernet type", "EEP rev. 3 §4 0x0016";
        /// TCP flags.
        TcpFlags = "TCP flags", "EEP rev. 3 §4 0x0017";
        /// Type of service.
        IpTos = "IP TOS", "EEP rev. 3 §4 0x0018";
        /// Mean opinion score.
        Mos = "MOS value", "EEP rev. 3 §4 0x001f";
        /// R factor.
        RFactor = "R-Factor", "EEP rev. 3 §4 0x0020";
        /// Where.
        GeoLocation = "geo location", "EEP rev. 3 §4 0x0021";
        /// Jitter.
        Jitter = "jitter", "EEP rev. 3 §4 0x0022";
        /// Kind of transaction.
        TransactionType = "transaction type", "EEP rev. 3 §4 0x0023";
        /// Keys of a JSON payload.
        JsonKeys = "payload JSON keys", "EEP rev. 3 §4 0x0024";
        /// Values of tags.
        TagValues = "tags' values", "EEP rev. 3 §4 0x0025";
        /// Kind of tag.
        TagType = "type of tag", "EEP rev. 3 §4 0x0026";
    }
}

impl Generic {
    /// The type number.
    #[must_use]
    pub const fn number(self) -> u16 {
        let row = self as u16;
        if row < Self::Mos as u16 { row + 1 } else { row - Self::Mos as u16 + 0x1f }
    }

    /// The row of a type number; `None` when the specification has none.
    #[must_use]
    pub fn of(number: u16) -> Option<Self> {
        let row = match number {
            0x01..=0x18 => number - 1,
            0x1f..=0x26 => number - 0x1f + Self::Mos as u16,
            _ => return None,
        };
        Self::ALL.get(usize::from(row)).copied()
    }

    /// Length of the body in octets; `None` where it is free, or where agents differ (MAC
    /// addresses have 6 octets at some and 8 at others).
    #[must_use]
    pub const fn body_bytes(self) -> Option<usize> {
        match self {
            Self::IpFamily | Self::IpProtocol | Self::Kind | Self::TcpFlags | Self::IpTos => {
                Some(1)
            }
            Self::SourcePort | Self::DestinationPort | Self::KeepAlive => Some(2),
            Self::Vlan | Self::EtherType | Self::Mos | Self::RFactor => Some(2),
            Self::SourceV4 | Self::DestinationV4 | Self::Seconds | Self::Micros => Some(4),
            Self::CaptureId => Some(4),
            Self::SourceV6 | Self::DestinationV6 => Some(16),
            _ => None,
        }
    }
}

/// One chunk of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Offset of the chunk's header in the packet.
    pub at: usize,
    /// Whose numbering `number` is of; 0 is the generic table.
    pub vendor: u16,
    /// Type of the chunk in its vendor's table.
    pub number: u16,
    /// What it says.
    pub body: &'a [u8],
}

impl Chunk<'_> {
    /// The generic row; `None` for vendors' chunks and numbers without meaning.
    #[must_use]
    pub fn generic(&self) -> Option<Generic> {
        if self.vendor == 0 { Generic::of(self.number) } else { None }
    }
}

/// The chunks of a packet whose header was checked; see [`chunks`].
#[derive(Debug, Clone)]
pub struct Chunks<'a> {
    bytes: &'a [u8],
    at: usize,
    seen: usize,
}

/// Walks the chunks of one whole packet. After an error nothing more comes.
///
/// # Errors
/// The header is not that of HEP3, or its length is not that of `bytes`.
pub fn chunks(bytes: &[u8]) -> Result<Chunks<'_>, Malformed> {
    const HEADER: &str = "EEP rev. 3 §3.1";
    if bytes.len() < HEADER_BYTES {
        return Err(Malformed::new(bytes.len(), "packet shorter than its header", HEADER));
    }
    if &bytes[..4] != b"HEP3" {
        return Err(Malformed::new(0, "packet does not begin with HEP3", HEADER));
    }
    let length = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
    if length < HEADER_BYTES || length > bytes.len() {
        return Err(Malformed::new(4, "length is not that of the packet", HEADER));
    }
    Ok(Chunks { bytes: &bytes[..length], at: HEADER_BYTES, seen: 0 })
}

impl<'a> Chunks<'a> {
    fn cut(&mut self) -> Result<Chunk<'a>, Malformed> {
        let at = self.at;
        let rest = &self.bytes[at..];
        if rest.len() < CHUNK_HEADER_BYTES {
            return Err(Malformed::new(at, "chunk header is cut short", SPEC));
        }
        if self.seen >= CHUNKS_MAX {
            return Err(Malformed::new(at, "too many chunks", SPEC));
        }
        let length = usize::from(u16::from_be_bytes([rest[4], rest[5]]));
        if length < CHUNK_HEADER_BYTES || length > rest.len() {
            return Err(Malformed::new(at + 4, "chunk length leaves the packet", SPEC));
        }
        let chunk = Chunk {
            at,
            vendor: u16::from_be_bytes([rest[0], rest[1]]),
            number: u16::from_be_bytes([rest[2], rest[3]]),
            body: &rest[CHUNK_HEADER_BYTES..length],
        };
        self.at += length;
        self.seen += 1;
        Ok(chunk)
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let chunk = self.cut();
        if chunk.is_err() {
            self.at = self.bytes.len();
        }
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generic_number_finds_its_row_and_back() {
        for &row in Generic::ALL {
            assert_eq!(Generic::of(row.number()), Some(row));
            assert!(row.spec().ends_with(&format!("{:#06x}", row.number())), "{row:?}");
        }
        assert_eq!(Generic::of(0), None);
        assert_eq!(Generic::of(0x19), None);
        assert_eq!(Generic::of(0x27), None);
    }
}
