//! Tagged fields: the form of what programs of the house exchange among themselves.
//!
//! ```text
//! field = tag, 1 octet · length, 4 octets · value      numbers are big-endian, 1 to 8 octets
//! ```
//! A reader skips the tags it does not know and takes the default for those that are missing, so
//! that two versions of a program understand each other.

pub mod value;

/// Octets of tag and length.
const HEAD: usize = 5;

/// The length of a field. One beyond four octets, which no delta has, ends the text for its reader.
fn length(octets: usize) -> [u8; 4] {
    u32::try_from(octets).unwrap_or(u32::MAX).to_be_bytes()
}

/// Appends a field with these octets.
pub fn bytes(out: &mut Vec<u8>, tag: u8, value: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&length(value.len()));
    out.extend_from_slice(value);
}

/// Appends a number.
pub fn number(out: &mut Vec<u8>, tag: u8, value: u64) {
    bytes(out, tag, &value.to_be_bytes());
}

/// Appends a field whose value `write` makes.
pub fn nested(out: &mut Vec<u8>, tag: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = length(out.len() - at - 4);
    out[at..at + 4].copy_from_slice(&length);
}

/// The fields of a text, in order; ends at the first that is cut off.
#[derive(Debug, Clone)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Reads `text`.
    #[must_use]
    pub const fn new(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// What was not read yet; behind the last field, what is cut off.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_at_checked(HEAD)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((head[0], value))
    }
}

/// A number of at most eight octets; longer ones are taken from their end.
#[must_use]
pub fn read(value: &[u8]) -> u64 {
    value.iter().fold(0, |number, &octet| number << 8 | u64::from(octet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_were_written_and_a_cut_one_ends_them() {
        let mut text = Vec::new();
        number(&mut text, 1, 77);
        nested(&mut text, 200, |inner| bytes(inner, 3, b"inside"));
        bytes(&mut text, 2, b"");
        let read_back: Vec<_> = Fields::new(&text).collect();
        assert_eq!(read_back.len(), 3);
        assert_eq!((read_back[0].0, read(read_back[0].1)), (1, 77));
        assert_eq!(Fields::new(read_back[1].1).next(), Some((3, &b"inside"[..])));
        assert_eq!(read_back[2], (2, &b""[..]));
        for cut in 0..text.len() {
            let mut fields = Fields::new(&text[..cut]);
            let whole = fields.by_ref().count();
            assert!(whole < 3 && (cut == 0 || whole > 0 || !fields.rest().is_empty()), "{cut}");
        }
    }
}
