//! Strings, whole or in pieces (X.690 §8.6, §8.7, §8.23).

use crate::element::Element;
use crate::header::{self, CONTENTS};
use crate::tag::Tag;
use core::fmt;
use wire::{Cursor, Malformed};

const PIECES: &str = "X.690 §8.7.3";
const BITS: &str = "X.690 §8.6";

/// Octets of a string; those of a constructed one stand in pieces, and pieces within pieces.
#[derive(Clone, Copy)]
pub struct Octets<'a> {
    contents: &'a [u8],
    is_constructed: bool,
    length: usize,
}

impl<'a> Octets<'a> {
    #[inline]
    pub(crate) fn of(element: &Element<'a>) -> Result<Self, Malformed> {
        let contents = element.contents();
        let is_constructed = element.is_constructed();
        let mut length = contents.len();
        if is_constructed {
            length = 0;
            each_piece(element, Tag::OCTET_STRING, &mut |piece| {
                length += piece.contents().len();
                Ok(())
            })?;
        }
        Ok(Self { contents, is_constructed, length })
    }

    /// Octets in all.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The octets when they stand in one piece: nearly always.
    #[inline]
    #[must_use]
    pub fn whole(&self) -> Option<&'a [u8]> {
        if !self.is_constructed {
            return Some(self.contents);
        }
        let mut leaves = self.leaves().filter(|leaf| !leaf.is_empty());
        let first = leaves.next().unwrap_or_default();
        leaves.next().is_none().then_some(first)
    }

    /// The pieces, one after the other.
    #[must_use]
    pub const fn leaves(&self) -> Leaves<'a> {
        Leaves::new(self.contents, self.is_constructed)
    }

    /// The octets, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.leaves().flatten().copied()
    }

    /// Copies the octets to the front of `into`; `None` when they are more than fit.
    pub fn copy<'b>(&self, into: &'b mut [u8]) -> Option<&'b [u8]> {
        let room = into.get_mut(..self.length)?;
        for (to, octet) in room.iter_mut().zip(self.iter()) {
            *to = octet;
        }
        Some(room)
    }
}

impl<'a> From<&'a [u8]> for Octets<'a> {
    fn from(contents: &'a [u8]) -> Self {
        Self { contents, is_constructed: false, length: contents.len() }
    }
}

impl PartialEq for Octets<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.iter().eq(other.iter())
    }
}

impl Eq for Octets<'_> {}

impl PartialEq<[u8]> for Octets<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        self.length == other.len() && self.iter().eq(other.iter().copied())
    }
}

impl fmt::Debug for Octets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// Calls `each` with the primitive pieces of a constructed string. A piece has the universal tag of
/// its kind, whatever tag the whole has.
fn each_piece<'a>(
    element: &Element<'a>,
    tag: Tag,
    each: &mut impl FnMut(Element<'a>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    for piece in element.children()? {
        let piece = piece?;
        if piece.tag() != tag {
            return Err(piece.violation("a piece of a string is of another kind", PIECES));
        }
        if piece.is_constructed() {
            each_piece(&piece, tag, each)?;
        } else {
            each(piece)?;
        }
    }
    Ok(())
}

/// The contents of the primitive pieces of a string.
#[derive(Debug, Clone)]
pub struct Leaves<'a> {
    rest: &'a [u8],
    is_constructed: bool,
    is_done: bool,
}

impl<'a> Leaves<'a> {
    const fn new(contents: &'a [u8], is_constructed: bool) -> Self {
        Self { rest: contents, is_constructed, is_done: false }
    }
}

impl<'a> Iterator for Leaves<'a> {
    type Item = &'a [u8];

    /// The pieces were checked: what is constructed among them is entered, and its end skipped.
    fn next(&mut self) -> Option<&'a [u8]> {
        if !self.is_constructed {
            return (!core::mem::replace(&mut self.is_done, true)).then_some(self.rest);
        }
        while !self.rest.is_empty() {
            if let Some(rest) = self.rest.strip_prefix(&[0, 0]) {
                self.rest = rest;
                continue;
            }
            let mut cursor = Cursor::new(self.rest, 0, CONTENTS);
            let header = header::take(&mut cursor).ok()?;
            let leaf = match header.is_constructed {
                true => None,
                false => Some(cursor.take(header.length?, "a piece is cut off").ok()?),
            };
            self.rest = cursor.rest();
            if leaf.is_some() {
                return leaf;
            }
        }
        None
    }
}

/// Bits of a BIT STRING, the first one is bit zero.
#[derive(Clone, Copy)]
pub struct Bits<'a> {
    contents: &'a [u8],
    is_constructed: bool,
    count: usize,
}

impl<'a> Bits<'a> {
    pub(crate) fn of(element: &Element<'a>) -> Result<Self, Malformed> {
        let mut count = 0;
        if element.is_constructed() {
            let mut unused_before = 0;
            each_piece(element, Tag::BIT_STRING, &mut |piece| {
                if unused_before != 0 {
                    return Err(piece.violation("unused bits before the last piece", BITS));
                }
                let (bits, unused) = piece_bits(&piece)?;
                (count, unused_before) = (count + bits, unused);
                Ok(())
            })?;
        } else {
            count = piece_bits(element)?.0;
        }
        let (contents, is_constructed) = (element.contents(), element.is_constructed());
        Ok(Self { contents, is_constructed, count })
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bits, eight in an octet from the highest down; unused ones are as they came.
    pub fn octets(&self) -> impl Iterator<Item = u8> + use<'a> {
        let leaves = Leaves::new(self.contents, self.is_constructed);
        leaves.flat_map(|leaf| leaf.iter().skip(1)).copied()
    }

    /// One bit; one that is not there is not set, as a named one is taken (X.690 §11.2.2).
    #[must_use]
    pub fn is_set(&self, bit: usize) -> bool {
        let octet = self.octets().nth(bit / 8).unwrap_or_default();
        bit < self.count && octet & (0x80 >> (bit % 8)) != 0
    }
}

impl fmt::Debug for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.octets().flat_map(|octet| (0..8).map(move |bit| octet << bit >> 7));
        bits.take(self.count).try_for_each(|bit| write!(f, "{bit}"))
    }
}

/// Bits of a primitive piece, and unused ones.
fn piece_bits(piece: &Element<'_>) -> Result<(usize, u8), Malformed> {
    let Some((unused, octets)) = piece.contents().split_first() else {
        return Err(piece.violation("a BIT STRING without octets", BITS));
    };
    let bits = octets.len() * 8;
    match bits.checked_sub(usize::from(*unused)) {
        Some(used) if *unused < 8 => Ok((used, *unused)),
        _ => Err(piece.violation("more unused bits than there are", BITS)),
    }
}
