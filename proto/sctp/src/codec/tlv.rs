//! Type, length, value: the shape of parameters and error causes (RFC 9260 §3.2.1, §3.3.10).

use super::{TLV_BYTES, be16, padded};
use wire::Malformed;

/// One element as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// Offset of its type field from the start of the packet, octets.
    pub at: usize,
    /// Its type or cause code.
    pub kind: u16,
    /// Type, length and value without padding.
    pub whole: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// The value without padding.
    #[must_use]
    pub fn value(&self) -> &'a [u8] {
        &self.whole[TLV_BYTES..]
    }
}

/// Elements one after the other, each padded to four octets; the last one's padding may lack.
#[derive(Debug, Clone)]
pub struct Tlvs<'a> {
    at: usize,
    rest: &'a [u8],
    spec: &'static str,
}

impl<'a> Tlvs<'a> {
    /// Those in `bytes`, which begin `at` octets into the packet and follow `spec`.
    #[must_use]
    pub const fn new(at: usize, bytes: &'a [u8], spec: &'static str) -> Self {
        Self { at, rest: bytes, spec }
    }

    /// `bytes` without the padding of the last element, which belongs to the chunk
    /// (RFC 9260 §3.2).
    pub(super) fn unpadded(bytes: &'a [u8]) -> &'a [u8] {
        let mut tlvs = Self::new(0, bytes, "");
        let mut end = 0;
        while let Some(Ok(tlv)) = tlvs.next() {
            end = tlv.at + tlv.whole.len();
        }
        &bytes[..end]
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (at, rest) = (self.at, core::mem::take(&mut self.rest));
        if rest.len() < TLV_BYTES {
            return Some(Err(Malformed::new(at, "type and length are cut off", self.spec)));
        }
        let length = usize::from(be16(rest, 2));
        if length < TLV_BYTES {
            return Some(Err(Malformed::new(at + 2, "the length is less than four", self.spec)));
        }
        if length > rest.len() {
            return Some(Err(Malformed::new(at + 2, "the length points past the end", self.spec)));
        }
        let step = padded(length).min(rest.len());
        self.rest = &rest[step..];
        self.at += step;
        Some(Ok(Tlv { at, kind: be16(rest, 0), whole: &rest[..length] }))
    }
}

/// A list of elements whose frames were checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checked<'a> {
    at: usize,
    bytes: &'a [u8],
}

impl PartialEq for Checked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Checked<'_> {}

impl<'a> Checked<'a> {
    /// Those that were written here.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { at: 0, bytes: Tlvs::unpadded(bytes) }
    }

    /// Checks the frame of every one.
    pub(super) fn read(at: usize, bytes: &'a [u8], spec: &'static str) -> Result<Self, Malformed> {
        Tlvs::new(at, bytes, spec).try_for_each(|tlv| tlv.map(drop))?;
        Ok(Self { at, bytes: Tlvs::unpadded(bytes) })
    }

    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn tlvs(&self, spec: &'static str) -> impl Iterator<Item = Tlv<'a>> + 'a {
        Tlvs::new(self.at, self.bytes, spec).map_while(Result::ok)
    }
}

/// Begins an element; give what it returns to [`end`].
pub(crate) fn begin(out: &mut Vec<u8>, kind: u16) -> usize {
    let at = out.len();
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    at
}

/// Writes the length of the element that began `at` and pads it. Longer than 65,535 octets does
/// not exist: what is written is bounded by the packet.
pub(crate) fn end(out: &mut Vec<u8>, at: usize) {
    let length = u16::try_from(out.len() - at).unwrap_or(u16::MAX);
    out[at + 2..at + 4].copy_from_slice(&length.to_be_bytes());
    out.resize(at + padded(out.len() - at), 0);
}
