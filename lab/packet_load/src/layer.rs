//! The headers of a frame, from the outside in, and their octets.

use crate::sum;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Bits of an IPv6 address.
pub const ADDRESS_BITS_V6: u8 = 128;

/// A header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// Ethernet II; the type follows from what comes next, 0x88B5 (experimental) if nothing does.
    Ethernet {
        /// To whom.
        destination: [u8; 6],
        /// From whom.
        source: [u8; 6],
    },
    /// A tag of IEEE 802.1Q.
    Vlan {
        /// An S-tag (0x88A8) instead of a C-tag (0x8100).
        is_service: bool,
        /// Priority, 0 to 7.
        priority: u8,
        /// VLAN, 12 bits.
        id: u16,
    },
    /// A label stack entry (RFC 3032); the bottom of the stack is where no other follows.
    Mpls {
        /// Label, 20 bits.
        label: u32,
        /// Traffic class, 0 to 7.
        class: u8,
        /// Time to live.
        ttl: u8,
    },
    /// The control word of a pseudowire (RFC 4385), zero; Ethernet follows.
    ControlWord,
    /// IPv4 without options, don't-fragment set.
    Ipv4 {
        /// From whom.
        source: Ipv4Addr,
        /// To whom.
        destination: Ipv4Addr,
        /// The traffic class octet: DSCP and ECN.
        class: u8,
        /// Time to live.
        ttl: u8,
    },
    /// IPv6 without extension headers.
    Ipv6 {
        /// From whom.
        source: Ipv6Addr,
        /// To whom.
        destination: Ipv6Addr,
        /// Traffic class: DSCP and ECN.
        class: u8,
        /// Hop limit.
        hop_limit: u8,
    },
    /// UDP with its checksum.
    Udp {
        /// From which port.
        source: u16,
        /// To which port.
        destination: u16,
    },
    /// RTP (RFC 3550 §5.1) of a stream of speech, which writes the rest of it.
    Rtp {
        /// The source's number.
        ssrc: u32,
    },
    /// TCP: an acknowledgement with payload.
    Tcp {
        /// From which port.
        source: u16,
        /// To which port.
        destination: u16,
    },
    /// An echo request of ICMP (RFC 792) or ICMPv6 (RFC 4443), by the network header before it.
    Echo {
        /// Identifier.
        identifier: u16,
    },
}

/// Octets of headers as they stand in front of the payload, lengths and checksums zero.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    pub(crate) octets: Vec<u8>,
    /// Where each layer's own content begins.
    pub(crate) starts: Vec<usize>,
    pub(crate) network: Option<Network>,
    pub(crate) transport: Option<Transport>,
}

/// The network header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) at: usize,
    pub(crate) is_v6: bool,
}

/// The transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transport {
    pub(crate) at: usize,
    /// Where its checksum stands.
    pub(crate) sum_at: usize,
    pub(crate) is_udp: bool,
    /// IP protocol number.
    pub(crate) protocol: u8,
}

impl Layer {
    /// Whether `next` may stand inside.
    pub(crate) const fn may_hold(&self, next: &Self) -> bool {
        match self {
            Self::Ethernet { .. } | Self::Vlan { .. } => matches!(
                next,
                Self::Vlan { .. } | Self::Mpls { .. } | Self::Ipv4 { .. } | Self::Ipv6 { .. }
            ),
            Self::Mpls { .. } => !matches!(
                next,
                Self::Vlan { .. }
                    | Self::Udp { .. }
                    | Self::Tcp { .. }
                    | Self::Echo { .. }
                    | Self::Rtp { .. }
            ),
            Self::ControlWord => matches!(next, Self::Ethernet { .. }),
            Self::Ipv4 { .. } | Self::Ipv6 { .. } => {
                matches!(next, Self::Udp { .. } | Self::Tcp { .. } | Self::Echo { .. })
            }
            Self::Udp { .. } => matches!(next, Self::Rtp { .. }),
            Self::Tcp { .. } | Self::Echo { .. } | Self::Rtp { .. } => false,
        }
    }

    /// The type that Ethernet or a tag in front of it says.
    const fn ether_type(next: Option<&Self>) -> [u8; 2] {
        match next {
            Some(Self::Vlan { is_service: true, .. }) => [0x88, 0xa8],
            Some(Self::Vlan { is_service: false, .. }) => [0x81, 0x00],
            Some(Self::Mpls { .. }) => [0x88, 0x47],
            Some(Self::Ipv4 { .. }) => [0x08, 0x00],
            Some(Self::Ipv6 { .. }) => [0x86, 0xdd],
            _ => [0x88, 0xb5],
        }
    }

    const fn protocol(next: Option<&Self>, is_v6: bool) -> u8 {
        match next {
            Some(Self::Udp { .. }) => 17,
            Some(Self::Tcp { .. }) => 6,
            Some(Self::Echo { .. }) if is_v6 => 58,
            Some(Self::Echo { .. }) => 1,
            _ => 253, // RFC 3692: experiments
        }
    }
}

impl Header {
    /// The headers of `layers`.
    pub(crate) fn of(layers: &[Layer]) -> Self {
        let mut header = Self::default();
        header.write(layers);
        header
    }

    /// The same place for other layers of the same kinds.
    pub(crate) fn write(&mut self, layers: &[Layer]) {
        self.octets.clear();
        self.starts.clear();
        (self.network, self.transport) = (None, None);
        for (at, layer) in layers.iter().enumerate() {
            self.starts.push(self.octets.len());
            self.push(layer, layers.get(at + 1));
        }
    }

    fn push(&mut self, layer: &Layer, next: Option<&Layer>) {
        match layer {
            Layer::Ethernet { destination, source } => {
                self.octets.extend_from_slice(destination);
                self.octets.extend_from_slice(source);
                self.octets.extend_from_slice(&Layer::ether_type(next));
            }
            Layer::Vlan { priority, id, .. } => {
                let tag = u16::from(*priority) << 13 | id & 0xfff;
                self.octets.extend_from_slice(&tag.to_be_bytes());
                self.octets.extend_from_slice(&Layer::ether_type(next));
            }
            Layer::Mpls { label, class, ttl } => {
                let is_bottom = !matches!(next, Some(Layer::Mpls { .. }));
                let entry = label << 12 | u32::from(*class) << 9 | u32::from(is_bottom) << 8;
                self.octets.extend_from_slice(&(entry | u32::from(*ttl)).to_be_bytes());
            }
            Layer::ControlWord => self.octets.extend_from_slice(&[0; 4]),
            Layer::Ipv4 { source, destination, class, ttl } => {
                self.network = Some(Network { at: self.octets.len(), is_v6: false });
                let protocol = Layer::protocol(next, false);
                let head = [0x45, *class, 0, 0, 0, 0, 0x40, 0, *ttl, protocol, 0, 0];
                self.octets.extend_from_slice(&head);
                self.octets.extend_from_slice(&source.octets());
                self.octets.extend_from_slice(&destination.octets());
            }
            Layer::Ipv6 { source, destination, class, hop_limit } => {
                self.network = Some(Network { at: self.octets.len(), is_v6: true });
                let protocol = Layer::protocol(next, true);
                let head = [0x60 | class >> 4, class << 4, 0, 0, 0, 0, protocol, *hop_limit];
                self.octets.extend_from_slice(&head);
                self.octets.extend_from_slice(&source.octets());
                self.octets.extend_from_slice(&destination.octets());
            }
            Layer::Udp { .. } | Layer::Tcp { .. } | Layer::Echo { .. } => {
                self.push_transport(layer)
            }
            Layer::Rtp { ssrc } => {
                self.octets.extend_from_slice(&[0x80, 0, 0, 0, 0, 0, 0, 0]);
                self.octets.extend_from_slice(&ssrc.to_be_bytes());
            }
        }
    }

    fn push_transport(&mut self, layer: &Layer) {
        let at = self.octets.len();
        let is_v6 = self.network.is_some_and(|network| network.is_v6);
        let mut ports = |source: u16, destination: u16| {
            self.octets.extend_from_slice(&source.to_be_bytes());
            self.octets.extend_from_slice(&destination.to_be_bytes());
        };
        let (sum_at, is_udp) = match layer {
            Layer::Udp { source, destination } => {
                ports(*source, *destination);
                self.octets.extend_from_slice(&[0; 4]);
                (at + 6, true)
            }
            Layer::Tcp { source, destination } => {
                ports(*source, *destination);
                // Numbers 1 and 1, ACK, a window of 65,535.
                let rest = [0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0];
                self.octets.extend_from_slice(&rest);
                (at + 16, false)
            }
            Layer::Echo { identifier } => {
                let kind = if is_v6 { 128 } else { 8 };
                let [high, low] = identifier.to_be_bytes();
                self.octets.extend_from_slice(&[kind, 0, 0, 0, high, low, 0, 1]);
                (at + 2, false)
            }
            _ => return,
        };
        let protocol = Layer::protocol(Some(layer), is_v6);
        self.transport = Some(Transport { at, sum_at, is_udp, protocol });
    }

    /// What the headers add to the checksums of IPv4 and of the transport, without the lengths.
    pub(crate) fn sums(&self) -> (u32, u32) {
        let Some(network) = self.network else { return (0, 0) };
        let end = self.transport.map_or(self.octets.len(), |transport| transport.at);
        let ip = if network.is_v6 { 0 } else { sum::of(&self.octets[network.at..end]) };
        let Some(transport) = self.transport else { return (ip, 0) };
        let addresses = network.at + if network.is_v6 { 8 } else { 12 };
        let has_pseudo = network.is_v6 || transport.protocol != 1;
        let pseudo = if has_pseudo {
            sum::of(&self.octets[addresses..end]) + sum::word(transport.protocol.into())
        } else {
            0
        };
        (ip, pseudo + sum::of(&self.octets[transport.at..]))
    }

    /// Writes the lengths into a frame that begins with these headers; what they add to the
    /// checksums.
    pub(crate) fn lengths(&self, frame: &mut [u8]) -> (u32, u32) {
        let Some(network) = self.network else { return (0, 0) };
        let length = frame.len() - network.at;
        let (at, said) = if network.is_v6 { (4, length - 40) } else { (2, length) };
        let said = said as u16;
        frame[network.at + at..][..2].copy_from_slice(&said.to_be_bytes());
        let ip = if network.is_v6 { 0 } else { sum::word(said) };
        let Some(transport) = self.transport else { return (ip, 0) };
        let length = (frame.len() - transport.at) as u16;
        let mut sum = sum::word(length);
        if transport.is_udp {
            frame[transport.at + 4..][..2].copy_from_slice(&length.to_be_bytes());
            sum += sum::word(length);
        }
        (ip, if transport.protocol == 1 { 0 } else { sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_headers_says_what_follows_each() {
        let ethernet = Layer::Ethernet { destination: [2; 6], source: [4; 6] };
        let layers = [
            ethernet.clone(),
            Layer::Vlan { is_service: true, priority: 5, id: 100 },
            Layer::Mpls { label: 0x12345, class: 1, ttl: 64 },
            Layer::Mpls { label: 17, class: 0, ttl: 64 },
            Layer::ControlWord,
            ethernet,
        ];
        let header = Header::of(&layers);
        let mut wanted = vec![2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 0x88, 0xa8];
        wanted.extend([0xa0, 100, 0x88, 0x47, 0x12, 0x34, 0x52, 64, 0, 1, 0x11, 64, 0, 0, 0, 0]);
        wanted.extend([2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 0x88, 0xb5]);
        assert_eq!(header.octets, wanted);
        assert_eq!(header.starts, [0, 14, 18, 22, 26, 30]);
        assert!(layers.windows(2).all(|pair| pair[0].may_hold(&pair[1])));
        assert!(!layers[1].may_hold(&layers[0]));
    }
}
