//! Writing elements, in the order in which they stand on the wire.

use crate::integer;
use crate::oid;
use crate::tag::{Class, Tag};

/// Appends elements of definite length to octets that the caller keeps; lengths are as short as
/// they can be.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Writes behind what is there.
    #[must_use]
    pub const fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Octets that are there.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// The octets behind the first `from`.
    pub(crate) fn since(&self, from: usize) -> &[u8] {
        &self.out[from..]
    }

    fn identifier(&mut self, tag: Tag, is_constructed: bool) {
        let class = match tag.class() {
            Class::Universal => 0,
            Class::Application => 0x40,
            Class::Context => 0x80,
            Class::Private => 0xc0,
        };
        let first = class | if is_constructed { 0x20 } else { 0 };
        let number = tag.number();
        match u8::try_from(number) {
            Ok(short) if short < 31 => return self.out.push(first | short),
            _ => self.out.push(first | 0x1f),
        }
        let octets = (1..4).rev().filter(|index| number >> (7 * index) != 0);
        for index in octets {
            self.out.push(0x80 | seven(number >> (7 * index)));
        }
        self.out.push(seven(number));
    }

    /// A primitive element with these contents.
    #[inline]
    pub fn primitive(&mut self, tag: Tag, contents: &[u8]) {
        if let (Some(identifier), Ok(length @ 0..0x80)) =
            (tag.octet(), u8::try_from(contents.len()))
        {
            self.out.reserve(2 + contents.len());
            self.out.extend_from_slice(&[identifier, length]);
            return self.out.extend_from_slice(contents);
        }
        self.identifier(tag, false);
        let (octets, count) = length(contents.len());
        self.out.extend_from_slice(&octets[..count]);
        self.out.extend_from_slice(contents);
    }

    /// An element of those that `write` writes. The length is known behind them: one octet is kept
    /// for it, and contents that need more are moved.
    #[inline]
    pub fn constructed(&mut self, tag: Tag, write: impl FnOnce(&mut Writer<'_>)) {
        match tag.octet() {
            Some(identifier) => self.out.extend_from_slice(&[identifier | 0x20, 0]),
            None => {
                self.identifier(tag, true);
                self.out.push(0);
            }
        }
        let at = self.out.len() - 1;
        write(&mut Writer { out: self.out });
        let count = self.out.len() - at - 1;
        if let Ok(short @ 0..0x80) = u8::try_from(count) {
            self.out[at] = short;
            return;
        }
        let (octets, count) = length(count);
        self.out[at] = octets[0];
        if count > 1 {
            self.out.splice(at + 1..at + 1, octets[1..count].iter().copied());
        }
    }

    /// The same, unless `write` writes nothing: then there is no element.
    pub fn constructed_if_any(&mut self, tag: Tag, write: impl FnOnce(&mut Writer<'_>)) {
        let start = self.out.len();
        let mut is_empty = false;
        self.constructed(tag, |out| {
            let before = out.out.len();
            write(out);
            is_empty = out.out.len() == before;
        });
        if is_empty {
            self.out.truncate(start);
        }
    }

    /// A BOOLEAN.
    pub fn boolean(&mut self, tag: Tag, value: bool) {
        self.primitive(tag, &[if value { 0xff } else { 0 }]);
    }

    /// A NULL.
    pub fn null(&mut self, tag: Tag) {
        self.primitive(tag, &[]);
    }

    /// An INTEGER or an ENUMERATED.
    pub fn integer(&mut self, tag: Tag, value: i64) {
        let (octets, count) = integer::write(value);
        self.primitive(tag, &octets[octets.len() - count..]);
    }

    /// An OCTET STRING or a string of characters.
    #[inline]
    pub fn octets(&mut self, tag: Tag, value: &[u8]) {
        self.primitive(tag, value);
    }

    /// The first `count` bits of these octets, or as many as there are, as a BIT STRING; the
    /// unused ones are zero.
    pub fn bits(&mut self, tag: Tag, value: &[u8], count: usize) {
        let count = count.min(value.len() * 8);
        let used = count.div_ceil(8);
        let unused = used * 8 - count;
        self.identifier(tag, false);
        let (octets, octets_count) = length(used + 1);
        self.out.extend_from_slice(&octets[..octets_count]);
        self.out.push(u8::try_from(unused).unwrap_or_default());
        self.out.extend_from_slice(&value[..used]);
        if let Some(last) = self.out.last_mut()
            && unused > 0
        {
            *last &= 0xff << unused;
        }
    }

    /// An OBJECT IDENTIFIER; the first two arcs share an octet.
    pub fn oid(&mut self, tag: Tag, arcs: &[u32]) {
        self.identifier(tag, false);
        let at = self.out.len();
        self.out.push(0);
        let (first, rest) = arcs.split_at(arcs.len().min(2));
        let first = first.iter().fold(0, |number, arc| number * 40 + u128::from(*arc));
        oid::write_number(first, self.out);
        for arc in rest {
            oid::write_number(u128::from(*arc), self.out);
        }
        let (octets, count) = length(self.out.len() - at - 1);
        self.out.splice(at..=at, octets[..count].iter().copied());
    }

    /// An element as it came.
    pub fn element(&mut self, whole: &[u8]) {
        self.out.extend_from_slice(whole);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "seven bits are kept")]
const fn seven(number: u32) -> u8 {
    (number & 0x7f) as u8
}

/// Length octets and how many there are.
fn length(of: usize) -> ([u8; 9], usize) {
    let mut octets = [0; 9];
    if let Ok(short) = u8::try_from(of)
        && short < 0x80
    {
        octets[0] = short;
        return (octets, 1);
    }
    let number = (of as u64).to_be_bytes();
    let zeros = number.iter().take_while(|octet| **octet == 0).count();
    let count = number.len() - zeros;
    octets[0] = 0x80 | u8::try_from(count).unwrap_or_default();
    octets[1..=count].copy_from_slice(&number[zeros..]);
    (octets, count + 1)
}
