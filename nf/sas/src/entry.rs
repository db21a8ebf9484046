//! One captured message as it stands in the store.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The message is a repetition of an earlier one of the same trail.
pub const RETRANSMISSION: u8 = 1;
/// The message could not be parsed as SIP.
pub const MALFORMED: u8 = 2;

/// In the store: tags stand behind the correlation.
const TAGGED: u8 = 0x80;

/// A captured message and what is known about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// When, microseconds since the UNIX epoch.
    pub at_us: u64,
    /// What carried it: [`hep::UDP`], [`hep::TCP`], [`hep::TLS`], [`hep::SCTP`].
    pub protocol: u8,
    /// [`hep::KIND_SIP`], [`hep::KIND_LOG`] or a kind of [`hep::signalling`].
    pub kind: u8,
    /// [`RETRANSMISSION`], [`MALFORMED`].
    pub flags: u8,
    /// Who captured it.
    pub capture_id: u32,
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// What the agent said belongs together; kept so that a trail can be taken up again.
    pub correlation: &'a [u8],
    /// What the agent said of it beside that, for people: the associations of ESP that it came by.
    pub tags: &'a [u8],
    /// The message.
    pub payload: &'a [u8],
}

const FIXED_BYTES: usize = 16;

impl<'a> Entry<'a> {
    /// Appends it to `out`. Correlation and tags beyond 255 octets are cut.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let length = u8::try_from(self.correlation.len()).unwrap_or(u8::MAX);
        let correlation = &self.correlation[..usize::from(length)];
        out.extend_from_slice(&self.at_us.to_le_bytes());
        let tagged = if self.tags.is_empty() { 0 } else { TAGGED };
        let flags = self.flags & !TAGGED | tagged;
        out.extend_from_slice(&[self.protocol, self.kind, flags, length]);
        out.extend_from_slice(&self.capture_id.to_le_bytes());
        push_address(out, self.source);
        push_address(out, self.destination);
        out.extend_from_slice(correlation);
        if tagged != 0 {
            let length = u8::try_from(self.tags.len()).unwrap_or(u8::MAX);
            out.push(length);
            out.extend_from_slice(&self.tags[..usize::from(length)]);
        }
        out.extend_from_slice(self.payload);
    }

    /// Reads what [`Entry::encode`] wrote; `None` when it is not that.
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (fixed, rest) = bytes.split_at_checked(FIXED_BYTES)?;
        let (source, rest) = address(rest)?;
        let (destination, rest) = address(rest)?;
        let (correlation, rest) = rest.split_at_checked(usize::from(fixed[11]))?;
        let (tags, payload) = match fixed[10] & TAGGED {
            0 => (&b""[..], rest),
            _ => {
                let (&length, rest) = rest.split_first()?;
                rest.split_at_checked(usize::from(length))?
            }
        };
        Some(Self {
            at_us: u64::from_le_bytes(fixed[..8].try_into().ok()?),
            protocol: fixed[8],
            kind: fixed[9],
            flags: fixed[10] & !TAGGED,
            capture_id: u32::from_le_bytes(fixed[12..16].try_into().ok()?),
            source,
            destination,
            correlation,
            tags,
            payload,
        })
    }

    /// Whether it is a repetition.
    #[must_use]
    pub const fn is_retransmission(&self) -> bool {
        self.flags & RETRANSMISSION != 0
    }
}

/// Appends an address: family, octets, port.
pub fn push_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend_from_slice(&ip.octets());
        }
    }
    out.extend_from_slice(&address.port().to_le_bytes());
}

/// Reads what [`push_address`] wrote and what follows it.
#[must_use]
pub fn address(bytes: &[u8]) -> Option<(SocketAddr, &[u8])> {
    let (&family, rest) = bytes.split_first()?;
    let (ip, rest): (IpAddr, _) = if family == 4 {
        let (octets, rest) = rest.split_first_chunk::<4>()?;
        (Ipv4Addr::from(*octets).into(), rest)
    } else {
        let (octets, rest) = rest.split_first_chunk::<16>()?;
        (Ipv6Addr::from(*octets).into(), rest)
    };
    let (port, rest) = rest.split_first_chunk::<2>()?;
    Some((SocketAddr::new(ip, u16::from_le_bytes(*port)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is written is read back; what is cut is refused or shorter, never more.
        #[test]
        fn an_entry_survives_the_round_trip(
            at_us: u64, protocol: u8, kind: u8, flags: u8, capture_id: u32,
            a in any::<[u8; 4]>(), b in any::<[u8; 16]>(), p: u16, q: u16,
            correlation in prop::collection::vec(any::<u8>(), 0..40),
            tags in prop::collection::vec(any::<u8>(), 0..40),
            payload in prop::collection::vec(any::<u8>(), 0..200),
            cut in 0usize..100,
        ) {
            let (source, destination) = ((a, p).into(), (b, q).into());
            let flags = flags & !TAGGED;
            let entry = Entry {
                at_us, protocol, kind, flags, capture_id, source, destination,
                correlation: &correlation, tags: &tags, payload: &payload,
            };
            let mut bytes = Vec::new();
            entry.encode(&mut bytes);
            prop_assert_eq!(Entry::decode(&bytes), Some(entry));
            let shorter = Entry::decode(&bytes[..cut.min(bytes.len())]);
            prop_assert!(shorter.is_none_or(|e| e.payload.len() <= payload.len()));
        }
    }
}
