//! Path attributes as rows, and as octets in a row (RFC 4271 §4.3).

use super::be16;
use super::violation::Approach::{self, AttributeDiscard, SessionReset, TreatAsWithdraw};
use wire::Malformed;

wire::rows! {
    /// The path attributes that are known.
    pub enum AttributeType: u8, pub(super) columns: Columns {
        /// Where the route comes from.
        Origin = 1, "ORIGIN", (WELL_KNOWN, Shape::Origin, TreatAsWithdraw), "RFC 4271 §5.1.1";
        /// Which ASes it went through.
        AsPath = 2, "AS_PATH", (WELL_KNOWN, Shape::AsPath, TreatAsWithdraw), "RFC 4271 §5.1.2";
        /// Where to send packets.
        NextHop = 3, "NEXT_HOP", (WELL_KNOWN, Shape::NextHop, TreatAsWithdraw), "RFC 4271 §5.1.3";
        /// Which way into the AS is preferred by its neighbour.
        MultiExitDisc = 4, "MULTI_EXIT_DISC", (NON_TRANSITIVE, Shape::Exactly(4), TreatAsWithdraw),
            "RFC 4271 §5.1.4";
        /// Which way out of the AS is preferred.
        LocalPref = 5, "LOCAL_PREF", (WELL_KNOWN, Shape::Exactly(4), TreatAsWithdraw),
            "RFC 4271 §5.1.5";
        /// A more specific route was not passed on.
        AtomicAggregate = 6, "ATOMIC_AGGREGATE", (WELL_KNOWN, Shape::Exactly(0), AttributeDiscard),
            "RFC 4271 §5.1.6";
        /// Who aggregated.
        Aggregator = 7, "AGGREGATOR", (TRANSITIVE, Shape::Aggregator, AttributeDiscard),
            "RFC 4271 §5.1.7";
        /// Communities of four octets.
        Communities = 8, "COMMUNITIES", (TRANSITIVE, Shape::Times(4), TreatAsWithdraw), "RFC 1997";
        /// Who brought the route into the AS.
        OriginatorId = 9, "ORIGINATOR_ID", (NON_TRANSITIVE, Shape::Exactly(4), TreatAsWithdraw),
            "RFC 4456 §8";
        /// Which clusters reflected it.
        ClusterList = 10, "CLUSTER_LIST", (NON_TRANSITIVE, Shape::Times(4), TreatAsWithdraw),
            "RFC 4456 §8";
        /// Routes of any family.
        MpReachNlri = 14, "MP_REACH_NLRI", (NON_TRANSITIVE, Shape::Reach, SessionReset),
            "RFC 4760 §3";
        /// Withdrawn routes of any family.
        MpUnreachNlri = 15, "MP_UNREACH_NLRI", (NON_TRANSITIVE, Shape::Unreach, SessionReset),
            "RFC 4760 §4";
        /// Communities of eight octets.
        ExtendedCommunities = 16, "EXTENDED_COMMUNITIES",
            (TRANSITIVE, Shape::Times(8), TreatAsWithdraw), "RFC 4360 §2";
        /// AS_PATH behind speakers of two octets.
        As4Path = 17, "AS4_PATH", (TRANSITIVE, Shape::As4Path, AttributeDiscard), "RFC 6793 §3";
        /// AGGREGATOR behind speakers of two octets.
        As4Aggregator = 18, "AS4_AGGREGATOR", (TRANSITIVE, Shape::Exactly(8), AttributeDiscard),
            "RFC 6793 §3";
        /// The tunnel of a multicast service.
        PmsiTunnel = 22, "PMSI_TUNNEL", (TRANSITIVE, Shape::AtLeast(5), TreatAsWithdraw),
            "RFC 6514 §5";
        /// How to encapsulate.
        TunnelEncapsulation = 23, "TUNNEL_ENCAPSULATION",
            (TRANSITIVE, Shape::Tunnel, TreatAsWithdraw), "RFC 9012 §2";
        /// Traffic engineering.
        TrafficEngineering = 24, "TRAFFIC_ENGINEERING",
            (NON_TRANSITIVE, Shape::Any, TreatAsWithdraw), "RFC 5543 §3";
        /// Communities of twenty octets.
        Ipv6ExtendedCommunities = 25, "IPV6_EXTENDED_COMMUNITIES",
            (TRANSITIVE, Shape::Times(20), TreatAsWithdraw), "RFC 5701 §2";
        /// The metric to the origin over several ASes.
        Aigp = 26, "AIGP", (NON_TRANSITIVE, Shape::Aigp, AttributeDiscard), "RFC 7311 §3";
        /// Labels of provider edges.
        PeDistinguisherLabels = 27, "PE_DISTINGUISHER_LABELS",
            (TRANSITIVE, Shape::Any, TreatAsWithdraw), "RFC 6514 §8";
        /// What a link-state route is like.
        BgpLs = 29, "BGP-LS", (NON_TRANSITIVE, Shape::Any, AttributeDiscard), "RFC 9552 §5.3";
        /// Communities of twelve octets.
        LargeCommunities = 32, "LARGE_COMMUNITY", (TRANSITIVE, Shape::Times(12), TreatAsWithdraw),
            "RFC 8092 §3";
        /// Who sent the route to a customer.
        OnlyToCustomer = 35, "ONLY_TO_CUSTOMER", (TRANSITIVE, Shape::Exactly(4), TreatAsWithdraw),
            "RFC 9234 §5";
        /// Segment identifiers.
        PrefixSid = 40, "PREFIX_SID", (TRANSITIVE, Shape::Any, AttributeDiscard), "RFC 8669 §3";
        /// The attributes of a customer's own BGP.
        AttrSet = 128, "ATTR_SET", (TRANSITIVE, Shape::AtLeast(4), TreatAsWithdraw), "RFC 6368 §5";
    }
}

/// What a value must be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing is asked.
    Any,
    /// That many octets.
    Exactly(usize),
    /// That many octets or more.
    AtLeast(usize),
    /// Once or more that many octets.
    Times(usize),
    /// ORIGIN.
    Origin,
    /// AS_PATH.
    AsPath,
    /// NEXT_HOP.
    NextHop,
    /// AGGREGATOR.
    Aggregator,
    /// AS4_PATH.
    As4Path,
    /// MP_REACH_NLRI.
    Reach,
    /// MP_UNREACH_NLRI.
    Unreach,
    /// Type of one octet, length of two that counts both.
    Aigp,
    /// Type and length of two octets each.
    Tunnel,
}

/// How an attribute is checked (RFC 7606 §7).
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The flags Optional and Transitive.
    pub flags: u8,
    /// What the value must be like.
    pub shape: Shape,
    /// How a violation is answered.
    pub approach: Approach,
}

/// Flags, shape, and the answer to a violation.
type Columns = (u8, Shape, Approach);

const WELL_KNOWN: u8 = Flags::TRANSITIVE;
const TRANSITIVE: u8 = Flags::OPTIONAL | Flags::TRANSITIVE;
const NON_TRANSITIVE: u8 = Flags::OPTIONAL;

impl AttributeType {
    /// Flags, shape, and the answer to a violation.
    #[inline]
    pub(super) const fn rule(self) -> Rule {
        let (flags, shape, approach) = self.columns();
        Rule { flags, shape, approach }
    }

    /// The flags of the type: Optional and Transitive.
    #[must_use]
    pub const fn flags(self) -> u8 {
        self.rule().flags
    }

    /// Whether it stays inside of an AS: from an external peer it is dropped (RFC 7606 §7.5, §7.9,
    /// §7.10).
    #[must_use]
    pub const fn is_internal(self) -> bool {
        matches!(self, Self::LocalPref | Self::OriginatorId | Self::ClusterList)
    }

    /// Whether it says how a provider's core carries packets, which is no customer's business: the
    /// endpoint of a tunnel (RFC 9012 §11), a segment (RFC 8669), whose table a route goes to
    /// (RFC 5701 §3), what stands around a multicast VPN or a customer's own BGP.
    #[must_use]
    pub const fn steers_core(self) -> bool {
        matches!(
            self,
            Self::PmsiTunnel
                | Self::TunnelEncapsulation
                | Self::Ipv6ExtendedCommunities
                | Self::PeDistinguisherLabels
                | Self::PrefixSid
                | Self::AttrSet
        )
    }
}

/// The flags of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Not well-known.
    pub const OPTIONAL: u8 = 0x80;
    /// Passed on by who does not know it.
    pub const TRANSITIVE: u8 = 0x40;
    /// Somebody on the way did not know it.
    pub const PARTIAL: u8 = 0x20;
    /// The length has two octets.
    pub const EXTENDED_LENGTH: u8 = 0x10;

    /// Whether that flag is set.
    #[must_use]
    pub const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// A path attribute, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its flags.
    pub flags: Flags,
    /// Its type.
    pub number: u8,
    /// Its offset in the field.
    pub at: usize,
    /// All of it: flags, type, length, value.
    pub octets: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

impl Attribute<'_> {
    /// Its type, if that is known.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> Option<AttributeType> {
        AttributeType::of(self.number)
    }
}

/// The path attributes of a field.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Attributes<'a> {
    /// The attributes of `field`.
    #[must_use]
    pub const fn new(field: &'a [u8]) -> Self {
        Self { rest: field, at: 0 }
    }

    /// The value of the first attribute of that type.
    #[must_use]
    pub fn value(self, kind: AttributeType) -> Option<&'a [u8]> {
        let mut all = self.map_while(Result::ok);
        all.find(|attribute| attribute.number == kind.number()).map(|attribute| attribute.value)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.rest;
        let &first = bytes.first()?;
        self.rest = &[];
        let flags = Flags(first);
        let head = if flags.has(Flags::EXTENDED_LENGTH) { 4 } else { 3 };
        if bytes.len() < head {
            let what = "the head of an attribute is cut off";
            return Some(Err(Malformed::new(self.at, what, "RFC 7606 §4")));
        }
        let length = if head == 4 { usize::from(be16(bytes, 2)) } else { usize::from(bytes[2]) };
        let Some((octets, rest)) = bytes.split_at_checked(head + length) else {
            let what = "the attribute is longer than the field";
            return Some(Err(Malformed::new(self.at, what, "RFC 7606 §4")));
        };
        let (at, number, value) = (self.at, bytes[1], &octets[head..]);
        self.rest = rest;
        self.at += octets.len();
        Some(Ok(Attribute { flags, number, at, octets, value }))
    }
}

/// Appends an attribute; the length has as many octets as it needs. `false`, and nothing is
/// appended, for a value that no length can tell (above 65,535 octets; RFC 4271 §4.3).
pub fn write_attribute(flags: u8, number: u8, value: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(length) = u16::try_from(value.len()) else { return false };
    if let Ok(short) = u8::try_from(length) {
        out.extend_from_slice(&[flags & !Flags::EXTENDED_LENGTH, number, short]);
    } else {
        let [high, low] = length.to_be_bytes();
        out.extend_from_slice(&[flags | Flags::EXTENDED_LENGTH, number, high, low]);
    }
    out.extend_from_slice(value);
    true
}
