//! Writing a message: attributes one after the other, then what guards it.

use crate::address;
use crate::attribute::AttributeType;
use crate::error::ErrorCode;
use crate::guard::{self, Algorithm, Covered, SHA1_BYTES, SHA256_BYTES};
use crate::message::{COOKIE, Class, HEADER_BYTES, TransactionId, kind};
use core::net::SocketAddr;

/// Octets of the header of an attribute.
const ATTRIBUTE_BYTES: usize = 4;

/// A message that is being written at the end of a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    transaction: TransactionId,
}

impl<'a> Writer<'a> {
    /// Begins a message behind what is in the buffer.
    pub fn new(
        class: Class,
        method: u16,
        transaction: TransactionId,
        out: &'a mut Vec<u8>,
    ) -> Self {
        let start = out.len();
        out.extend_from_slice(&kind(class, method).to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&COOKIE);
        out.extend_from_slice(&transaction.0);
        Self { out, start, transaction }
    }

    /// The length of the message with `more` octets.
    fn length(&self, more: usize) -> u16 {
        let length = self.out.len() - self.start - HEADER_BYTES + more;
        // What is longer no reader takes: the length is then not that of the datagram.
        u16::try_from(length).unwrap_or(u16::MAX)
    }

    /// Appends an attribute and fills it up; one of more than 65,535 octets is left out.
    pub fn attribute(&mut self, kind: AttributeType, value: &[u8]) -> &mut Self {
        self.raw_attribute(kind.number(), value)
    }

    /// Appends an attribute of any number.
    pub fn raw_attribute(&mut self, number: u16, value: &[u8]) -> &mut Self {
        let Ok(length) = u16::try_from(value.len()) else { return self };
        self.out.extend_from_slice(&number.to_be_bytes());
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(value);
        let padding = value.len().next_multiple_of(4) - value.len();
        self.out.resize(self.out.len() + padding, 0);
        let length = self.length(0).to_be_bytes();
        self.out[self.start + 2..self.start + 4].copy_from_slice(&length);
        self
    }

    /// Appends where the request came from (XOR-MAPPED-ADDRESS).
    pub fn mapped_address(&mut self, address: SocketAddr) -> &mut Self {
        let mut value = Vec::with_capacity(20);
        address::write(address, Some(&self.transaction), &mut value);
        self.attribute(AttributeType::XorMappedAddress, &value)
    }

    /// Appends why a request is refused, without a reason for people.
    pub fn refusal(&mut self, code: ErrorCode) -> &mut Self {
        let number = code.number();
        // The hundreds are 3 to 6.
        let [_, class] = (number / 100).to_be_bytes();
        let [_, number] = (number % 100).to_be_bytes();
        self.attribute(AttributeType::ErrorCode, &[0, 0, class, number])
    }

    /// Appends the attributes that were not understood.
    pub fn unknown_attributes(&mut self, numbers: &[u16]) -> &mut Self {
        let value: Vec<u8> = numbers.iter().flat_map(|it| it.to_be_bytes()).collect();
        self.attribute(AttributeType::UnknownAttributes, &value)
    }

    /// Appends the HMAC of what stands before, under a key. Only another HMAC and the checksum may
    /// follow.
    pub fn integrity(&mut self, algorithm: Algorithm, key: &[u8]) -> &mut Self {
        let (kind, octets) = match algorithm {
            Algorithm::Sha1 => (AttributeType::MessageIntegrity, SHA1_BYTES),
            Algorithm::Sha256 => (AttributeType::MessageIntegritySha256, SHA256_BYTES),
        };
        let length = self.length(ATTRIBUTE_BYTES + octets);
        let covered = Covered { message: &self.out[self.start..], length };
        let tag = guard::write(algorithm, key, covered);
        self.attribute(kind, &tag)
    }

    /// Appends the checksum, the last of all.
    pub fn fingerprint(&mut self) {
        let length = self.length(ATTRIBUTE_BYTES + 4);
        let covered = Covered { message: &self.out[self.start..], length };
        let sum = guard::fingerprint(covered);
        self.attribute(AttributeType::Fingerprint, &sum.to_be_bytes());
    }
}
