//! IPFIX messages of sampled flows (RFC 7011), with the sampling as RFC 5477 describes it.
//!
//! ```text
//!   message   version 10, length, export time, sequence, domain
//!   set 2     templates: 256 IPv4 flow, 257 IPv6 flow, 259 packet
//!   set 3     options template: 258 how an interface is sampled (scope: selectorId)
//!   set 256…  records
//! ```

use crate::flow::Flow;
use machine::narrow::index;
use nodes::program::Sampling;

/// Octets of a message at most: it leaves in one UDP packet of any network (RFC 7011 §10.3.3).
pub(crate) const MESSAGE_MAX: usize = 1_400;
/// Octets of a message's header.
const HEADER: usize = 16;
/// Octets of a set's header.
const SET: usize = 4;
const VERSION: u16 = 10;
const TEMPLATES: u16 = 2;
const OPTIONS_TEMPLATES: u16 = 3;
/// Records of IPv4 flows.
const IP4_FLOWS: u16 = 256;
/// Records of IPv6 flows.
const IP6_FLOWS: u16 = 257;
/// Records that say how an interface is sampled.
const SELECTORS: u16 = 258;
/// Records of single packets.
const PACKETS: u16 = 259;
/// Random n-out-of-N (RFC 5477 §8.2.1, RFC 5475 §5.2.2).
const RANDOM: u16 = 3;
/// Says that a field's length stands in the record.
const VARIABLE: u16 = 65_535;

/// Information elements and their lengths, of both kinds of flow.
const FLOW: [(u16, u16); 12] = [
    (152, 8), // flowStartMilliseconds
    (153, 8), // flowEndMilliseconds
    (1, 8),   // octetDeltaCount
    (2, 8),   // packetDeltaCount
    (10, 4),  // ingressInterface
    (302, 8), // selectorId
    (7, 2),   // sourceTransportPort
    (11, 2),  // destinationTransportPort
    (4, 1),   // protocolIdentifier
    (5, 1),   // ipClassOfService
    (6, 2),   // tcpControlBits
    (136, 1), // flowEndReason
];
/// sourceIPv4Address, destinationIPv4Address.
const IP4: [(u16, u16); 2] = [(8, 4), (12, 4)];
/// sourceIPv6Address, destinationIPv6Address.
const IP6: [(u16, u16); 2] = [(27, 16), (28, 16)];
/// selectorId (scope), selectorAlgorithm, samplingSize, samplingPopulation.
const SELECTOR: [(u16, u16); 4] = [(302, 8), (304, 2), (309, 4), (310, 4)];
/// observationTimeMilliseconds, ingressInterface, selectorId, ipTotalLength, ipHeaderPacketSection.
const PACKET: [(u16, u16); 5] = [(323, 8), (10, 4), (302, 8), (224, 8), (313, VARIABLE)];

/// A message that is being written.
pub(crate) struct Message {
    octets: Vec<u8>,
    /// Where the open set begins, and its number.
    set: Option<(usize, u16)>,
    records: u32,
}

impl Message {
    pub(crate) fn new() -> Self {
        let mut octets = Vec::with_capacity(MESSAGE_MAX);
        octets.resize(HEADER, 0);
        Self { octets, set: None, records: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.octets.len() == HEADER
    }

    /// Whether a record (and the header of its set) still fits.
    fn fits(&self, octets: usize) -> bool {
        self.octets.len() + SET + octets <= MESSAGE_MAX
    }

    fn open(&mut self, set: u16) {
        if self.set.is_some_and(|(_, open)| open == set) {
            return;
        }
        self.close();
        self.set = Some((self.octets.len(), set));
        self.put(&set.to_be_bytes());
        self.put(&[0, 0]);
    }

    fn close(&mut self) {
        if let Some((start, _)) = self.set.take() {
            let length = index(self.octets.len() - start);
            self.octets[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }

    fn put(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
    }

    fn template(&mut self, number: u16, scopes: u16, fields: &[&[(u16, u16)]]) {
        self.open(if scopes == 0 { TEMPLATES } else { OPTIONS_TEMPLATES });
        let count: usize = fields.iter().map(|part| part.len()).sum();
        self.put(&number.to_be_bytes());
        self.put(&index(count).to_be_bytes());
        if scopes > 0 {
            self.put(&scopes.to_be_bytes());
        }
        for (element, length) in fields.iter().copied().flatten() {
            self.put(&element.to_be_bytes());
            self.put(&length.to_be_bytes());
        }
    }

    /// All templates, and how each interface is sampled as far as there is room: a new message.
    pub(crate) fn templates<'a>(samplings: impl Iterator<Item = &'a Sampling>) -> Self {
        let mut made = Self::new();
        made.template(IP4_FLOWS, 0, &[&FLOW, &IP4]);
        made.template(IP6_FLOWS, 0, &[&FLOW, &IP6]);
        made.template(PACKETS, 0, &[&PACKET]);
        made.template(SELECTORS, 1, &[&SELECTOR]);
        for sampling in samplings {
            if !made.fits(18) {
                break;
            }
            made.open(SELECTORS);
            made.put(&u64::from(sampling.interface).to_be_bytes());
            made.put(&RANDOM.to_be_bytes());
            made.put(&1_u32.to_be_bytes());
            made.put(&sampling.one_in.to_be_bytes());
            made.records += 1;
        }
        made
    }

    /// A flow that ended for a reason (flowEndReason); false if it has no room any more.
    pub(crate) fn flow(&mut self, flow: &Flow, reason: u8) -> bool {
        let octets = 53 + if flow.key.is_ip4 { 8 } else { 32 };
        if !self.fits(octets) {
            return false;
        }
        self.open(if flow.key.is_ip4 { IP4_FLOWS } else { IP6_FLOWS });
        let interface = flow.key.interface;
        for number in [flow.start_ms, flow.end_ms, flow.octets, flow.packets] {
            self.put(&number.to_be_bytes());
        }
        self.put(&interface.to_be_bytes());
        self.put(&u64::from(interface).to_be_bytes());
        self.put(&flow.key.ports[0].to_be_bytes());
        self.put(&flow.key.ports[1].to_be_bytes());
        self.put(&[flow.key.protocol, flow.key.service]);
        self.put(&u16::from(flow.tcp_flags).to_be_bytes());
        self.put(&[reason]);
        let addresses = [flow.key.source, flow.key.destination];
        for address in addresses {
            match flow.key.is_ip4 {
                true => self.put(&((address & 0xffff_ffff) as u32).to_be_bytes()),
                false => self.put(&address.to_be_bytes()),
            }
        }
        self.records += 1;
        true
    }

    /// The start of a single packet, from its IP header; false if it has no room any more.
    pub(crate) fn packet(&mut self, now_ms: u64, interface: u32, packet: &[u8], most: u16) -> bool {
        let section = &packet[..packet.len().min(usize::from(most))];
        if !self.fits(8 + 4 + 8 + 8 + 3 + section.len()) {
            return false;
        }
        self.open(PACKETS);
        self.put(&now_ms.to_be_bytes());
        self.put(&interface.to_be_bytes());
        self.put(&u64::from(interface).to_be_bytes());
        self.put(&(packet.len() as u64).to_be_bytes());
        // Lengths below 255 could take one octet; three are always right (RFC 7011 §7).
        self.put(&[255]);
        self.put(&index(section.len()).to_be_bytes());
        self.put(section);
        self.records += 1;
        true
    }

    /// The message as it is sent; `sequence` counts data records of the domain (RFC 7011 §3.1).
    pub(crate) fn seal(mut self, now_s: u32, sequence: &mut u32, domain: u32) -> Vec<u8> {
        self.close();
        let length = index(self.octets.len());
        self.octets[..2].copy_from_slice(&VERSION.to_be_bytes());
        self.octets[2..4].copy_from_slice(&length.to_be_bytes());
        self.octets[4..8].copy_from_slice(&now_s.to_be_bytes());
        self.octets[8..12].copy_from_slice(&sequence.to_be_bytes());
        self.octets[12..16].copy_from_slice(&domain.to_be_bytes());
        *sequence = sequence.wrapping_add(self.records);
        self.octets
    }
}
