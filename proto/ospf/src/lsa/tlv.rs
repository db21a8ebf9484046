//! TLVs of opaque LSAs: type, 2 · length, 2 · value, padded to four octets (RFC 3630 §2.3.2).

use wire::{Cursor, Malformed};

/// A TLV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// Its type.
    pub number: u16,
    /// Its value.
    pub value: &'a [u8],
}

/// The TLVs of a text, in order; ends with the first that is cut off, which is told.
#[derive(Debug, Clone)]
pub struct Tlvs<'a> {
    cursor: Cursor<'a>,
    has_failed: bool,
}

impl<'a> Tlvs<'a> {
    /// Those of `text`, which begins `at` octets into its LSA.
    #[must_use]
    pub const fn new(text: &'a [u8], at: usize) -> Self {
        Self { cursor: Cursor::new(text, at, "RFC 3630 §2.3.2"), has_failed: false }
    }

    fn take(&mut self) -> Result<Tlv<'a>, Malformed> {
        let number = self.cursor.be16("a TLV is cut off")?;
        let length = usize::from(self.cursor.be16("a TLV is cut off")?);
        let value = self.cursor.take(length, "a TLV is longer than its LSA")?;
        // The last one of some speakers is not padded.
        let pad = (4 - length % 4) % 4;
        self.cursor.take(pad.min(self.cursor.rest().len()), "a TLV is cut off")?;
        Ok(Tlv { number, value })
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed || self.cursor.is_empty() {
            return None;
        }
        let taken = self.take();
        self.has_failed = taken.is_err();
        Some(taken)
    }
}

/// Appends a TLV whose value `write` makes. One longer than can be is left out.
pub fn write_tlv(out: &mut Vec<u8>, number: u16, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    write(out);
    let Ok(length) = u16::try_from(out.len() - start - 4) else {
        return out.truncate(start);
    };
    out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
    out.resize(out.len().next_multiple_of(4), 0);
}
