//! The attributes of a message (RFC 8489 §14): each has a type, a length, and zeros up to a
//! multiple of four octets.

use wire::{Cursor, Malformed};

/// Octets of the header of an attribute.
pub(crate) const HEADER_BYTES: usize = 4;
/// From this number on an attribute that is not known is passed over (RFC 8489 §14).
const OPTIONAL_FROM: u16 = 0x8000;
const SPEC: &str = "RFC 8489 §14";

wire::rows! {
    /// The attributes.
    pub enum AttributeType: u16 {
        /// Where a request came from, as no middlebox shall write it.
        MappedAddress = 0x0001, "MAPPED-ADDRESS", "RFC 8489 §14.1";
        /// Who asks.
        Username = 0x0006, "USERNAME", "RFC 8489 §14.3";
        /// HMAC-SHA1 of what stands before.
        MessageIntegrity = 0x0008, "MESSAGE-INTEGRITY", "RFC 8489 §14.5";
        /// Why a request was refused.
        ErrorCode = 0x0009, "ERROR-CODE", "RFC 8489 §14.8";
        /// Attributes that were not understood.
        UnknownAttributes = 0x000A, "UNKNOWN-ATTRIBUTES", "RFC 8489 §14.13";
        /// Of the long-term mechanism.
        Realm = 0x0014, "REALM", "RFC 8489 §14.9";
        /// Of the long-term mechanism.
        Nonce = 0x0015, "NONCE", "RFC 8489 §14.10";
        /// HMAC-SHA256 of what stands before.
        MessageIntegritySha256 = 0x001C, "MESSAGE-INTEGRITY-SHA256", "RFC 8489 §14.6";
        /// The algorithm of the password.
        PasswordAlgorithm = 0x001D, "PASSWORD-ALGORITHM", "RFC 8489 §14.12";
        /// Who asks, hashed.
        Userhash = 0x001E, "USERHASH", "RFC 8489 §14.4";
        /// Where a request came from.
        XorMappedAddress = 0x0020, "XOR-MAPPED-ADDRESS", "RFC 8489 §14.2";
        /// The priority of a candidate that a check may discover.
        Priority = 0x0024, "PRIORITY", "RFC 8445 §16.1";
        /// The pair is chosen.
        UseCandidate = 0x0025, "USE-CANDIDATE", "RFC 8445 §16.1";
        /// The algorithms that may be used.
        PasswordAlgorithms = 0x8002, "PASSWORD-ALGORITHMS", "RFC 8489 §14.11";
        /// Another server by its name.
        AlternateDomain = 0x8003, "ALTERNATE-DOMAIN", "RFC 8489 §14.16";
        /// What speaks.
        Software = 0x8022, "SOFTWARE", "RFC 8489 §14.14";
        /// Another server.
        AlternateServer = 0x8023, "ALTERNATE-SERVER", "RFC 8489 §14.15";
        /// CRC-32 of what stands before.
        Fingerprint = 0x8028, "FINGERPRINT", "RFC 8489 §14.7";
        /// The agent is controlled.
        IceControlled = 0x8029, "ICE-CONTROLLED", "RFC 8445 §16.1";
        /// The agent controls.
        IceControlling = 0x802A, "ICE-CONTROLLING", "RFC 8445 §16.1";
    }
}

impl AttributeType {
    /// Whether a receiver that does not know it must refuse the request.
    #[must_use]
    pub const fn is_required(self) -> bool {
        self.number() < OPTIONAL_FROM
    }

    /// Whether it says whether the message is whole.
    const fn guards(self) -> bool {
        matches!(self, Self::MessageIntegrity | Self::MessageIntegritySha256 | Self::Fingerprint)
    }
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its type, of which [`AttributeType`] has those that are known.
    pub number: u16,
    /// Its value, without what fills it up.
    pub value: &'a [u8],
    /// Where it begins in the message.
    pub at: usize,
}

impl<'a> Attribute<'a> {
    /// The type, if it is known.
    #[must_use]
    pub const fn kind(&self) -> Option<AttributeType> {
        AttributeType::of(self.number)
    }

    /// The value of so many octets.
    ///
    /// # Errors
    /// One of another length.
    pub fn array<const N: usize>(&self) -> Result<[u8; N], Malformed> {
        let spec = self.kind().map_or(SPEC, AttributeType::spec);
        let violation = Malformed::new(self.at, "an attribute does not have its length", spec);
        self.value.try_into().map_err(|_| violation)
    }

    pub(crate) fn take(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let at = cursor.at();
        let number = cursor.be16("the type of an attribute is cut off")?;
        let length = usize::from(cursor.be16("the length of an attribute is cut off")?);
        let value = cursor.take(length, "an attribute is cut off")?;
        cursor.take(length.next_multiple_of(4) - length, "an attribute is not filled up")?;
        Ok(Self { number, value, at })
    }
}

/// The attributes of a message that its integrity covers, and those that say whether it is whole:
/// what stands behind them otherwise is ignored (RFC 8489 §14.5, §14.6).
#[derive(Debug, Clone)]
pub struct Attributes<'a> {
    octets: &'a [u8],
    at: usize,
    /// The last of the guards that came.
    guard: Option<AttributeType>,
}

impl<'a> Attributes<'a> {
    pub(crate) const fn new(octets: &'a [u8], at: usize) -> Self {
        Self { octets, at, guard: None }
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        loop {
            let mut cursor = Cursor::new(self.octets, self.at, SPEC);
            let attribute = Attribute::take(&mut cursor).ok()?;
            (self.octets, self.at) = (cursor.rest(), cursor.at());
            let kind = attribute.kind().filter(|it| it.guards());
            let is_counted = match (self.guard, kind) {
                (None, _) => true,
                (Some(AttributeType::Fingerprint), _) | (_, None) => false,
                // They stand in this order.
                (Some(before), Some(kind)) => match before {
                    AttributeType::MessageIntegrity => kind != AttributeType::MessageIntegrity,
                    _ => kind == AttributeType::Fingerprint,
                },
            };
            if is_counted {
                self.guard = kind.or(self.guard);
                return Some(attribute);
            }
        }
    }
}
