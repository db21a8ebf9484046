//! Rules as an operator means them, what they match, and what in them contradicts itself.

use super::header::{Address, Fragment, Header};
use std::ops::RangeInclusive;

/// Ranges or values in one field of a rule at most.
pub const ITEMS_MAX: usize = 256;

/// Protocols that begin with two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
pub(super) const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
pub(super) const TCP: u8 = 6;

/// An address prefix; bits of the address beyond the length do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Prefix<A> {
    /// The address.
    pub address: A,
    /// How many bits of it count.
    pub length: u8,
}

impl<A: Address> Prefix<A> {
    /// A prefix; a length past the family's is cut.
    #[must_use]
    pub fn new(address: A, length: u8) -> Self {
        Self { address, length: length.min(A::BITS) }
    }

    /// The first and the last address, in the high bits of 128 with what is below filled.
    pub(super) fn range(&self) -> (u128, u128) {
        let below = u128::MAX.checked_shr(u32::from(self.length)).unwrap_or(0);
        let first = self.address.high() & !below;
        (first, first | below)
    }

    /// Whether an address is in it.
    #[must_use]
    pub fn contains(&self, address: A) -> bool {
        let (first, last) = self.range();
        (first..=last).contains(&address.high())
    }
}

/// TCP flags as a rule wants them: those of `mask` must stand as in `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags {
    /// The wanted bits.
    pub value: u8,
    /// Which bits are looked at.
    pub mask: u8,
}

/// One rule. An empty list says nothing of its field. A rule with ports matches protocols with
/// ports only, one with ICMP types ICMP only, one with flags TCP only, and none of these a later
/// fragment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rule<A> {
    /// Where the packet comes from.
    pub source: Prefix<A>,
    /// Where it goes.
    pub destination: Prefix<A>,
    /// Protocols.
    pub protocols: Vec<u8>,
    /// Source ports.
    pub source_ports: Vec<RangeInclusive<u16>>,
    /// Destination ports.
    pub destination_ports: Vec<RangeInclusive<u16>>,
    /// ICMP types, each with its codes.
    pub icmp: Vec<(u8, RangeInclusive<u8>)>,
    /// TCP flags; one of them must stand so.
    pub tcp_flags: Vec<Flags>,
    /// DSCPs.
    pub dscp: Vec<u8>,
    /// Fragments.
    pub fragments: Vec<Fragment>,
    /// Packet lengths in bytes.
    pub lengths: Vec<RangeInclusive<u16>>,
    /// What is to be done: an index that means something to the caller.
    pub verdict: u32,
}

/// Why rules could not be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCompiled {
    /// More than [`super::RULES_MAX`].
    TooMany,
    /// The rule at this place can match nothing: its fields contradict each other, or a range
    /// ends before it begins.
    Contradiction(usize),
    /// The rule at this place has more than 256 items in one field.
    TooLong(usize),
    /// It does not fit into the memory it may take, however it is cut.
    Memory,
}

impl<A: Address> Rule<A> {
    /// Whether the rule matches: the meaning of it, word by word, and slow.
    #[must_use]
    pub fn matches(&self, header: &Header<A>) -> bool {
        let protocol = header.protocol;
        let whole = header.fragment != Fragment::Later;
        let among = |ranges: &[RangeInclusive<u16>], value: u16| {
            ranges.is_empty() || ranges.iter().any(|range| range.contains(&value))
        };
        let ported = whole && WITH_PORTS.contains(&protocol);
        let ported = ported || self.source_ports.is_empty() && self.destination_ports.is_empty();
        let [kind, code] = header.source_port.to_be_bytes();
        let icmp = whole && protocol == A::ICMP;
        let icmp = icmp && self.icmp.iter().any(|(k, codes)| *k == kind && codes.contains(&code));
        let set = |flags: &Flags| (header.tcp_flags ^ flags.value) & flags.mask == 0;
        let flags = whole && protocol == TCP && self.tcp_flags.iter().any(set);
        self.source.contains(header.source)
            && self.destination.contains(header.destination)
            && (self.protocols.is_empty() || self.protocols.contains(&protocol))
            && ported
            && among(&self.source_ports, header.source_port)
            && among(&self.destination_ports, header.destination_port)
            && (self.icmp.is_empty() || icmp)
            && (self.tcp_flags.is_empty() || flags)
            && (self.dscp.is_empty() || self.dscp.contains(&header.dscp))
            && (self.fragments.is_empty() || self.fragments.contains(&header.fragment))
            && among(&self.lengths, header.length)
    }

    /// Whether it can match anything.
    pub(super) fn check(&self, at: usize) -> Result<(), NotCompiled> {
        let lists = [
            self.protocols.len(),
            self.source_ports.len(),
            self.destination_ports.len(),
            self.icmp.len(),
            self.tcp_flags.len(),
            self.dscp.len(),
            self.fragments.len(),
            self.lengths.len(),
        ];
        if lists.iter().any(|length| *length > ITEMS_MAX) {
            return Err(NotCompiled::TooLong(at));
        }
        let ranges = [&self.source_ports, &self.destination_ports, &self.lengths];
        let backwards = ranges.into_iter().flatten().any(RangeInclusive::is_empty);
        let backwards = backwards || self.icmp.iter().any(|(_, codes)| codes.is_empty());
        let range = self.dscp.iter().any(|dscp| *dscp > 63);
        let nothing = (0..=255).all(|protocol| !self.takes_protocol(protocol));
        let nothing = nothing || Fragment::ALL.into_iter().all(|f| !self.takes_fragment(f));
        if backwards || range || nothing {
            return Err(NotCompiled::Contradiction(at));
        }
        Ok(())
    }

    /// Whether it can match a packet of this protocol, by all its fields together.
    pub(super) fn takes_protocol(&self, protocol: u8) -> bool {
        let ports = !self.source_ports.is_empty() || !self.destination_ports.is_empty();
        (self.protocols.is_empty() || self.protocols.contains(&protocol))
            && (!ports || WITH_PORTS.contains(&protocol))
            && (self.icmp.is_empty() || protocol == A::ICMP)
            && (self.tcp_flags.is_empty() || protocol == TCP)
    }

    /// Whether it can match such a fragment, by all its fields together.
    pub(super) fn takes_fragment(&self, fragment: Fragment) -> bool {
        let above = !self.source_ports.is_empty()
            || !self.destination_ports.is_empty()
            || !self.icmp.is_empty()
            || !self.tcp_flags.is_empty();
        (self.fragments.is_empty() || self.fragments.contains(&fragment))
            && (!above || fragment != Fragment::Later)
    }
}
