//! A message (RFC 8489 §5): read without a copy.

use crate::address;
use crate::attribute::{Attribute, AttributeType, Attributes, HEADER_BYTES as ATTRIBUTE_BYTES};
use crate::error::Refusal;
use crate::guard::{self, Algorithm, Covered, SHA1_BYTES};
use core::net::SocketAddr;
use wire::{Cursor, Malformed};

/// Octets of the header.
pub const HEADER_BYTES: usize = 20;
/// Octets of a message at most: more than fits into a packet of any link that carries media.
pub const MESSAGE_BYTES_MAX: usize = 2_048;
/// Attributes of a message at most.
pub const ATTRIBUTES_MAX: usize = 64;
/// The method of all messages here (RFC 8489 §3).
pub const BINDING: u16 = 1;
/// What tells STUN from what came before it (RFC 8489 §5).
pub(crate) const COOKIE: [u8; 4] = [0x21, 0x12, 0xA4, 0x42];

const SPEC: &str = "RFC 8489 §5";

wire::rows! {
    /// What a message is.
    pub enum Class: u8 {
        /// It wants an answer.
        Request = 0, "request", "RFC 8489 §5";
        /// It wants none.
        Indication = 1, "indication", "RFC 8489 §5";
        /// The answer.
        Success = 2, "success response", "RFC 8489 §5";
        /// The answer that refuses.
        Error = 3, "error response", "RFC 8489 §5";
    }
}

/// What a request and its answer have in common; it cannot be guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub [u8; 12]);

/// The bits of class and method in the type: `00MMMMMCMMMCMMMM`.
pub(crate) const fn kind(class: Class, method: u16) -> u16 {
    let class = class.number() as u16;
    let methods = method & 0x000F | (method & 0x0070) << 1 | (method & 0x0F80) << 2;
    methods | (class & 1) << 4 | (class & 2) << 7
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is.
    pub class: Class,
    /// The method, [`BINDING`] as a rule.
    pub method: u16,
    /// Its transaction.
    pub transaction: TransactionId,
    octets: &'a [u8],
}

/// What stands in a message for whoever can check it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// There is none.
    Missing,
    /// It is not that of the key.
    Wrong,
    /// It holds.
    Holds(Algorithm),
}

impl<'a> Message<'a> {
    /// Reads a message that fills a datagram.
    ///
    /// # Errors
    /// Another protocol, another length, attributes that are cut off or too many. What stands in
    /// an attribute is not looked at.
    pub fn read(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(datagram, 0, SPEC);
        let cut = "the header is cut off";
        let number = cursor.be16(cut)?;
        let length = usize::from(cursor.be16(cut)?);
        let cookie = cursor.array::<4>(cut)?;
        let transaction = TransactionId(cursor.array(cut)?);
        let violation = |at, what| Err(Malformed::new(at, what, SPEC));
        if number & 0xC000 != 0 {
            return violation(0, "the first two bits are not zero");
        }
        if cookie != COOKIE {
            return violation(4, "the magic cookie lacks");
        }
        if !length.is_multiple_of(4) || length != cursor.rest().len() {
            return violation(2, "the length is not that of the datagram");
        }
        if datagram.len() > MESSAGE_BYTES_MAX {
            return violation(2, "the message is too long");
        }
        let mut count = 0;
        while !cursor.is_empty() {
            Attribute::take(&mut cursor)?;
            count += 1;
            if count > ATTRIBUTES_MAX {
                return Err(cursor.violation("there are too many attributes"));
            }
        }
        let class = match number >> 7 & 2 | number >> 4 & 1 {
            0 => Class::Request,
            1 => Class::Indication,
            2 => Class::Success,
            _ => Class::Error,
        };
        let method = number & 0x000F | number >> 1 & 0x0070 | number >> 2 & 0x0F80;
        Ok(Self { class, method, transaction, octets: datagram })
    }

    /// The octets of the whole message.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// The attributes.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes::new(&self.octets[HEADER_BYTES..], HEADER_BYTES)
    }

    /// The first attribute of that type; of those that stand twice the others are ignored
    /// (RFC 8489 §14).
    #[must_use]
    pub fn attribute(&self, kind: AttributeType) -> Option<Attribute<'a>> {
        self.attributes().find(|it| it.number == kind.number())
    }

    /// The value of the first attribute of that type.
    #[must_use]
    pub fn value(&self, kind: AttributeType) -> Option<&'a [u8]> {
        self.attribute(kind).map(|it| it.value)
    }

    /// What an attribute covers.
    fn covered(&self, attribute: &Attribute<'_>) -> Option<Covered<'a>> {
        let length = attribute.at + ATTRIBUTE_BYTES + attribute.value.len() - HEADER_BYTES;
        Some(Covered {
            message: self.octets.get(..attribute.at)?,
            length: u16::try_from(length).ok()?,
        })
    }

    /// Whether the checksum holds; `None` if there is none. It is the last attribute.
    #[must_use]
    pub fn fingerprint(&self) -> Option<bool> {
        let attribute = self.attribute(AttributeType::Fingerprint)?;
        let is_last = attribute.at + ATTRIBUTE_BYTES + 4 == self.octets.len();
        let tag = attribute.array::<4>().ok()?;
        let sum = guard::fingerprint(self.covered(&attribute)?);
        Some(is_last && sum.to_be_bytes() == tag)
    }

    /// Whether the message is whole under a key: of the short-term mechanism the password
    /// (RFC 8489 §9.1). Of two HMACs the stronger counts.
    #[must_use]
    pub fn integrity(&self, key: &[u8]) -> Integrity {
        let strong = self.attribute(AttributeType::MessageIntegritySha256);
        let found = match strong {
            Some(attribute) => Some((attribute, Algorithm::Sha256)),
            None => {
                let weak = self.attribute(AttributeType::MessageIntegrity);
                weak.map(|attribute| (attribute, Algorithm::Sha1))
            }
        };
        let Some((attribute, algorithm)) = found else { return Integrity::Missing };
        let has_length = algorithm == Algorithm::Sha256 || attribute.value.len() == SHA1_BYTES;
        let holds = self.covered(&attribute).is_some_and(|covered| {
            has_length && guard::holds(algorithm, key, covered, attribute.value)
        });
        if holds { Integrity::Holds(algorithm) } else { Integrity::Wrong }
    }

    /// The attributes that must be understood and are not, at most as many as there are room for
    /// in `found`; how many.
    pub fn unknown_required(&self, found: &mut [u16]) -> usize {
        let unknown = self.attributes().filter(|it| it.kind().is_none() && it.number < 0x8000);
        let mut count = 0;
        for (place, attribute) in found.iter_mut().zip(unknown) {
            *place = attribute.number;
            count += 1;
        }
        count
    }

    /// Where the request came from, as a response says it.
    ///
    /// # Errors
    /// An address that is malformed.
    pub fn mapped_address(&self) -> Result<Option<SocketAddr>, Malformed> {
        if let Some(it) = self.attribute(AttributeType::XorMappedAddress) {
            let at = it.at + ATTRIBUTE_BYTES;
            return address::read_xor(it.value, &self.transaction, at).map(Some);
        }
        let plain = self.attribute(AttributeType::MappedAddress);
        plain.map(|it| address::read(it.value, it.at + ATTRIBUTE_BYTES)).transpose()
    }

    /// Why a request was refused.
    ///
    /// # Errors
    /// A code that is malformed.
    pub fn refusal(&self) -> Result<Option<Refusal<'a>>, Malformed> {
        self.attribute(AttributeType::ErrorCode).map(|it| Refusal::read(&it)).transpose()
    }
}
