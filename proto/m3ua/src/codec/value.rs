//! Values: point codes, contexts, networks, and the MSU itself (RFC 4666 §3.3.1, §3.4).

use super::{ErrorCode, LABEL_BYTES, Message, Tag, Violation, be32};
use core::fmt;

/// An SS7 point code of 14, 16 or 24 bits, justified to the least significant bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PointCode(u32);

/// Bits of the longest point code.
pub(crate) const POINT_CODE_BITS: u8 = 24;

impl PointCode {
    /// The largest: 24 bits.
    pub const MAX: Self = Self((1 << POINT_CODE_BITS) - 1);

    /// `None` when `number` has more than 24 bits.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        if number <= Self::MAX.0 { Some(Self(number)) } else { None }
    }

    /// The low 24 bits of `number`.
    #[must_use]
    pub const fn truncated(number: u32) -> Self {
        Self(number & Self::MAX.0)
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for PointCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Names the traffic of one Application Server on an association (RFC 4666 §1.4.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoutingContext(pub u32);

/// Names an SS7 network between two peers (RFC 4666 §1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkAppearance(pub u32);

/// A range of destinations: all whose bits above the mask are those of the point code (RFC 4666
/// §3.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Affected {
    /// One of them.
    pub point_code: PointCode,
    /// Low bits that do not matter; 24 or more: the whole network.
    pub mask: u8,
}

impl Affected {
    /// Every destination of the network.
    pub const ALL: Self = Self { point_code: PointCode(0), mask: POINT_CODE_BITS };

    /// One destination.
    #[must_use]
    pub const fn one(point_code: PointCode) -> Self {
        Self { point_code, mask: 0 }
    }

    /// From an octet of mask and three of point code.
    #[must_use]
    pub const fn of(word: u32) -> Self {
        Self { point_code: PointCode::truncated(word), mask: (word >> POINT_CODE_BITS) as u8 }
    }

    /// As it stands on the wire.
    #[must_use]
    pub const fn word(self) -> u32 {
        (self.mask as u32) << POINT_CODE_BITS | self.point_code.0
    }

    /// The first and the last destination.
    #[must_use]
    pub const fn bounds(self) -> (PointCode, PointCode) {
        let mask = if self.mask < POINT_CODE_BITS { self.mask } else { POINT_CODE_BITS };
        let wild = (1u32 << mask) - 1;
        (PointCode(self.point_code.0 & !wild), PointCode(self.point_code.0 | wild))
    }

    /// The same range, named by its first destination.
    #[must_use]
    pub const fn canonical(self) -> Self {
        let mask = if self.mask < POINT_CODE_BITS { self.mask } else { POINT_CODE_BITS };
        Self { point_code: self.bounds().0, mask }
    }

    /// Whether a destination is one of them.
    #[must_use]
    pub fn contains(self, point_code: PointCode) -> bool {
        let (first, last) = self.bounds();
        (first..=last).contains(&point_code)
    }
}

/// User/Cause of a DUPU (RFC 4666 §3.4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserCause {
    /// 0 unknown, 1 unequipped, 2 inaccessible remote user.
    pub cause: u16,
    /// The user part: 3 SCCP, 5 ISUP, 13 BICC and so on.
    pub user: u16,
}

impl UserCause {
    /// From the parameter.
    #[must_use]
    pub const fn of(word: u32) -> Self {
        let [a, b, c, d] = word.to_be_bytes();
        Self { cause: u16::from_be_bytes([a, b]), user: u16::from_be_bytes([c, d]) }
    }

    /// As it stands on the wire.
    #[must_use]
    pub const fn word(self) -> u32 {
        (self.cause as u32) << 16 | self.user as u32
    }
}

/// The MSU in a DATA message (RFC 4666 §3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolData<'a> {
    /// Originating Point Code.
    pub opc: PointCode,
    /// Destination Point Code.
    pub dpc: PointCode,
    /// Service Indicator: 3 SCCP, 5 ISUP and so on.
    pub si: u8,
    /// Network Indicator.
    pub ni: u8,
    /// Message Priority.
    pub mp: u8,
    /// Signalling Link Selection.
    pub sls: u8,
    /// What the user sends.
    pub payload: &'a [u8],
}

impl<'a> ProtocolData<'a> {
    /// Reads the value of the parameter, which stands `at` octets into the message.
    ///
    /// # Errors
    /// [`Violation`] when it is too short or a point code has more than 24 bits.
    #[inline]
    pub fn read(at: usize, value: &'a [u8]) -> Result<Self, Violation> {
        Tag::ProtocolData.check(at, value)?;
        let (opc, dpc) = (PointCode::new(be32(value, 0)), PointCode::new(be32(value, 4)));
        let (Some(opc), Some(dpc)) = (opc, dpc) else {
            let what = "the point code has more than 24 bits";
            let (code, spec) = (ErrorCode::InvalidParameterValue, Tag::ProtocolData.spec());
            let at = if opc.is_none() { at + 4 } else { at + 8 };
            return Err(Violation::new(code, at, what, spec));
        };
        let (si, ni, mp, sls) = (value[8], value[9], value[10], value[11]);
        Ok(Self { opc, dpc, si, ni, mp, sls, payload: &value[LABEL_BYTES..] })
    }

    /// The fields before the payload as they stand on the wire.
    pub(super) fn label(&self) -> [u8; LABEL_BYTES] {
        let mut label = [0; LABEL_BYTES];
        label[..4].copy_from_slice(&self.opc.0.to_be_bytes());
        label[4..8].copy_from_slice(&self.dpc.0.to_be_bytes());
        label[8..].copy_from_slice(&[self.si, self.ni, self.mp, self.sls]);
        label
    }
}

/// A DATA message (RFC 4666 §3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// Which SS7 network.
    pub network: Option<NetworkAppearance>,
    /// Whose traffic.
    pub routing_context: Option<RoutingContext>,
    /// The MSU.
    pub protocol_data: ProtocolData<'a>,
    /// The MSU's number within its Application Server.
    pub correlation: Option<u32>,
}

impl<'a> Data<'a> {
    /// Takes it out of a message of type DATA.
    ///
    /// # Errors
    /// [`Violation`] when a point code has more than 24 bits or there is more than one Routing
    /// Context.
    #[inline]
    pub fn of(message: &Message<'a>) -> Result<Self, Violation> {
        let (mut network, mut routing_context, mut correlation) = (None, None, None);
        let mut value = &[][..];
        for (tag, of) in message.values() {
            let word = || be32(of, 0);
            match tag {
                Tag::RoutingContext if of.len() > 4 => {
                    let (code, spec) = (ErrorCode::InvalidParameterValue, tag.spec());
                    let what = "DATA has one Routing Context";
                    return Err(Violation::new(code, message.offset(tag), what, spec));
                }
                // Their lengths were checked when the message was read.
                Tag::RoutingContext => routing_context = Some(RoutingContext(word())),
                Tag::NetworkAppearance => network = Some(NetworkAppearance(word())),
                Tag::CorrelationId => correlation = Some(word()),
                Tag::ProtocolData => value = of,
                _ => {}
            }
        }
        let read = ProtocolData::read(0, value);
        let protocol_data =
            read.map_err(|violation| violation.shifted(message.offset(Tag::ProtocolData)))?;
        Ok(Self { network, routing_context, protocol_data, correlation })
    }
}

impl Message<'_> {
    /// Where the first parameter of that tag stands; 0 when there is none.
    #[must_use]
    pub fn offset(&self, tag: Tag) -> usize {
        self.all(tag).next().map_or(0, |(at, _)| at)
    }
}
