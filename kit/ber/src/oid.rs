//! Object identifiers (X.690 §8.19).

use core::fmt;

/// An object identifier as it stands on the wire, so that two are equal when their octets are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid<'a>(&'a [u8]);

impl<'a> Oid<'a> {
    /// Contents octets of an OBJECT IDENTIFIER.
    ///
    /// # Errors
    /// The offence in words: nothing there, an arc that begins with zeros, or one cut off.
    pub const fn new(contents: &'a [u8]) -> Result<Self, &'static str> {
        let mut at = 0;
        let mut is_first = true;
        while at < contents.len() {
            if is_first && contents[at] == 0x80 {
                return Err("an arc begins with zeros");
            }
            is_first = contents[at] & 0x80 == 0;
            at += 1;
        }
        if at == 0 {
            return Err("an OBJECT IDENTIFIER without octets");
        }
        if is_first { Ok(Self(contents)) } else { Err("an arc is cut off") }
    }

    /// The contents octets.
    #[must_use]
    pub const fn contents(self) -> &'a [u8] {
        self.0
    }

    /// The arcs behind the first two, which share their octets; one beyond 64 bits is cut to them.
    fn numbers(self) -> impl Iterator<Item = u64> {
        self.0.split_inclusive(|octet| octet & 0x80 == 0).map(|octets| {
            octets.iter().fold(0, |number, octet| number << 7 | u64::from(octet & 0x7f))
        })
    }

    /// The arcs; one beyond 64 bits is cut to its lowest.
    pub fn arcs(self) -> impl Iterator<Item = u64> {
        let first = self.numbers().next().unwrap_or_default();
        let top = (first / 40).min(2);
        [top, first - top * 40].into_iter().chain(self.numbers().skip(1))
    }
}

impl fmt::Display for Oid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, arc) in self.arcs().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{arc}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Oid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
