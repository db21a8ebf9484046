//! Object identifiers (X.690 §8.19).

use core::fmt;

/// Octets of an arc, at most: 128 bits, as those below 2.25 have (X.667 §6.3).
const ARC_OCTETS_MAX: usize = 19;
/// The most that the first of that many octets may hold: two bits.
const TOP_MAX: u8 = 3;

/// An object identifier as it stands on the wire, so that two are equal when their octets are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid<'a>(&'a [u8]);

impl<'a> Oid<'a> {
    /// Contents octets of an OBJECT IDENTIFIER.
    ///
    /// # Errors
    /// The violation in words: nothing there, an arc that begins with zeros, one of more than 128
    /// bits, or one cut off.
    pub const fn new(contents: &'a [u8]) -> Result<Self, &'static str> {
        let (mut at, mut begin) = (0, 0);
        // Nearly all have arcs of one octet, which all can be read.
        while at < contents.len() && contents[at] & 0x80 == 0 {
            at += 1;
            begin = at;
        }
        // Nearly all are shorter than the longest arc: their arcs need not be measured.
        while contents.len() < ARC_OCTETS_MAX && at < contents.len() {
            if at == begin && contents[at] == 0x80 {
                return Err("an arc begins with zeros");
            }
            at += 1;
            if contents[at - 1] & 0x80 == 0 {
                begin = at;
            }
        }
        while at < contents.len() {
            if at == begin && contents[at] == 0x80 {
                return Err("an arc begins with zeros");
            }
            let octets = at + 1 - begin;
            let is_wide = octets == ARC_OCTETS_MAX && contents[begin] & 0x7f > TOP_MAX;
            if is_wide || octets > ARC_OCTETS_MAX {
                return Err("an arc of more than 128 bits");
            }
            at += 1;
            if contents[at - 1] & 0x80 == 0 {
                begin = at;
            }
        }
        match () {
            () if at == 0 => Err("an OBJECT IDENTIFIER without octets"),
            () if at != begin => Err("an arc is cut off"),
            () => Ok(Self(contents)),
        }
    }

    /// The contents octets.
    #[must_use]
    pub const fn contents(self) -> &'a [u8] {
        self.0
    }

    /// The numbers on the wire: the first one holds two arcs.
    fn numbers(self) -> impl Iterator<Item = u128> {
        self.0.split_inclusive(|octet| octet & 0x80 == 0).map(|octets| {
            octets.iter().fold(0, |number, octet| number << 7 | u128::from(octet & 0x7f))
        })
    }

    /// The arcs: two at least.
    pub fn arcs(self) -> impl Iterator<Item = u128> {
        let first = self.numbers().next().unwrap_or_default();
        let top = (first / 40).min(2);
        [top, first - top * 40].into_iter().chain(self.numbers().skip(1))
    }
}

/// Appends a number on the wire: seven bits an octet.
pub(crate) fn write_number(number: u128, out: &mut Vec<u8>) {
    let seven = |index: usize| low_seven(number >> (7 * index));
    let octets = (1..ARC_OCTETS_MAX).rev().filter(|index| number >> (7 * index) != 0);
    out.extend(octets.map(|index| 0x80 | seven(index)));
    out.push(seven(0));
}

#[allow(clippy::cast_possible_truncation, reason = "seven bits are kept")]
const fn low_seven(number: u128) -> u8 {
    (number & 0x7f) as u8
}

/// The contents octets that a text has, as [`Oid`] writes it: digits and dots, no needless zeros.
#[must_use]
pub fn parse(text: &str) -> Option<Vec<u8>> {
    let mut arcs = text.split('.').map(|arc| {
        let is_proper = arc == "0" || !arc.starts_with('0');
        let is_number = is_proper && arc.bytes().all(|octet| octet.is_ascii_digit());
        arc.parse::<u128>().ok().filter(|_| is_number)
    });
    let (top, second) = (arcs.next()??, arcs.next()??);
    if top > 2 || (top < 2 && second >= 40) {
        return None;
    }
    let mut contents = Vec::new();
    write_number(second.checked_add(top * 40)?, &mut contents);
    for arc in arcs {
        write_number(arc?, &mut contents);
    }
    Some(contents)
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
