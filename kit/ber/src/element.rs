//! Elements one after the other (X.690 §8.1).

use crate::DEPTH_MAX;
use crate::header::{self, CONTENTS};
use crate::integer;
use crate::oid::Oid;
use crate::string::{Bits, Octets};
use crate::tag::Tag;
use wire::{Cursor, Malformed};

/// An element whose header was read and whose octets are all there.
#[derive(Debug, Clone, Copy)]
pub struct Element<'a> {
    /// The octets, from the identifier to the last.
    whole: &'a [u8],
    /// Where it begins in the message.
    at: u32,
    tag: Tag,
    /// Octets of identifier and length: at most 14.
    head: u8,
    is_constructed: bool,
    is_indefinite: bool,
    /// How much deeper it may go.
    depth: u8,
}

impl<'a> Element<'a> {
    /// The one element that these octets are.
    ///
    /// # Errors
    /// When there is none, when it is not well-formed, or when octets follow it.
    pub fn only(octets: &'a [u8]) -> Result<Self, Malformed> {
        Reader::new(octets).only()
    }

    /// The tag.
    #[inline]
    #[must_use]
    pub const fn tag(&self) -> Tag {
        self.tag
    }

    /// Whether its contents are elements.
    #[inline]
    #[must_use]
    pub const fn is_constructed(&self) -> bool {
        self.is_constructed
    }

    /// Offset of the identifier in the message.
    #[inline]
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at as usize
    }

    /// All its octets, with header and end-of-contents.
    #[inline]
    #[must_use]
    pub const fn whole(&self) -> &'a [u8] {
        self.whole
    }

    /// Its contents octets, without header and end-of-contents.
    #[inline]
    #[must_use]
    pub fn contents(&self) -> &'a [u8] {
        let end = self.whole.len() - if self.is_indefinite { 2 } else { 0 };
        &self.whole[usize::from(self.head)..end]
    }

    /// Offset of the contents in the message.
    #[inline]
    #[must_use]
    pub const fn contents_at(&self) -> usize {
        self.at as usize + self.head as usize
    }

    /// The violation `what` at this element.
    #[must_use]
    pub const fn violation(&self, what: &'static str, spec: &'static str) -> Malformed {
        Malformed::new(self.at as usize, what, spec)
    }

    /// The elements within.
    ///
    /// # Errors
    /// When it is primitive, or deeper than [`DEPTH_MAX`].
    #[inline]
    pub fn children(&self) -> Result<Reader<'a>, Malformed> {
        if !self.is_constructed {
            return Err(self.violation("a primitive element where elements belong", CONTENTS));
        }
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(self.violation("too deep", CONTENTS));
        };
        let cursor = Cursor::new(self.contents(), self.contents_at(), CONTENTS);
        Ok(Reader { cursor, depth })
    }

    /// Where another element begins that is within this one.
    #[inline]
    pub(crate) const fn offset_of(&self, inner: &Self) -> u32 {
        inner.at.wrapping_sub(self.at)
    }

    /// The element that begins there within this one, and has been read before.
    #[inline]
    pub(crate) fn within(&self, offset: u32) -> Option<Self> {
        let octets = self.whole.get(offset as usize..)?;
        let at = self.at as usize + offset as usize;
        let cursor = Cursor::new(octets, at, CONTENTS);
        Reader { cursor, depth: self.depth.saturating_sub(1) }.next()?.ok()
    }

    /// The one element within: an explicit tag (X.690 §8.14.2).
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn inner(&self) -> Result<Self, Malformed> {
        self.children()?.only()
    }

    /// The contents of a primitive element.
    ///
    /// # Errors
    /// When it is constructed.
    #[inline]
    pub fn primitive(&self) -> Result<&'a [u8], Malformed> {
        if self.is_constructed {
            return Err(self.violation("a constructed element where a primitive belongs", CONTENTS));
        }
        Ok(self.contents())
    }

    /// A BOOLEAN (X.690 §8.2).
    ///
    /// # Errors
    /// When it has not one octet.
    pub fn boolean(&self) -> Result<bool, Malformed> {
        match *self.primitive()? {
            [octet] => Ok(octet != 0),
            _ => Err(self.violation("a BOOLEAN has one octet", "X.690 §8.2.1")),
        }
    }

    /// A NULL (X.690 §8.8).
    ///
    /// # Errors
    /// When it has contents.
    pub fn null(&self) -> Result<(), Malformed> {
        match self.primitive()? {
            [] => Ok(()),
            _ => Err(self.violation("a NULL has no contents", "X.690 §8.8.2")),
        }
    }

    /// An INTEGER or an ENUMERATED of up to 64 bits (X.690 §8.3, §8.4).
    ///
    /// # Errors
    /// When it has no octets, more than it needs, or more than eight.
    pub fn integer(&self) -> Result<i64, Malformed> {
        integer::read(self.primitive()?).map_err(|what| self.violation(what, integer::SPEC))
    }

    /// An OCTET STRING or a string of characters, whole or in pieces (X.690 §8.7, §8.23).
    ///
    /// # Errors
    /// When a piece is not an OCTET STRING, or pieces are too deep within each other.
    #[inline]
    pub fn octets(&self) -> Result<Octets<'a>, Malformed> {
        Octets::of(self)
    }

    /// A BIT STRING, whole or in pieces (X.690 §8.6).
    ///
    /// # Errors
    /// When the number of unused bits is none, or not that of the last piece.
    pub fn bits(&self) -> Result<Bits<'a>, Malformed> {
        Bits::of(self)
    }

    /// An OBJECT IDENTIFIER (X.690 §8.19).
    ///
    /// # Errors
    /// When it is empty, when an arc begins with zeros or is cut off.
    pub fn oid(&self) -> Result<Oid<'a>, Malformed> {
        Oid::new(self.primitive()?).map_err(|what| self.violation(what, "X.690 §8.19"))
    }
}

/// Reads elements one after the other; ends behind the first violation.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    cursor: Cursor<'a>,
    depth: u8,
}

impl<'a> Reader<'a> {
    /// Reads a message.
    #[must_use]
    pub const fn new(octets: &'a [u8]) -> Self {
        Self::within(octets, 0)
    }

    /// Reads octets that begin `at` octets into their message.
    #[must_use]
    pub const fn within(octets: &'a [u8], at: usize) -> Self {
        Self { cursor: Cursor::new(octets, at, CONTENTS), depth: DEPTH_MAX }
    }

    /// Offset in the message of what comes next.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.cursor.at()
    }

    /// What was not read yet.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// Takes identifier and length of what comes next, which may be cut off behind them; the length
    /// is `None` where it is indefinite.
    ///
    /// # Errors
    /// When they are not well-formed, or cut off themselves.
    pub fn header(&mut self) -> Result<(Tag, Option<usize>), Malformed> {
        let header = header::take(&mut self.cursor)?;
        Ok((header.tag, header.length))
    }

    /// The only element that is left.
    ///
    /// # Errors
    /// When there is none, when it is not well-formed, or when octets follow it.
    #[inline]
    pub fn only(mut self) -> Result<Element<'a>, Malformed> {
        let begin = self.clone();
        match self.take_short() {
            Some(element) if self.cursor.is_empty() => Ok(element),
            _ => begin.only_of_any(),
        }
    }

    fn only_of_any(mut self) -> Result<Element<'a>, Malformed> {
        let element = self.next().ok_or_else(|| self.cursor.violation("an element lacks"))??;
        match self.cursor.is_empty() {
            true => Ok(element),
            false => Err(self.cursor.violation("octets follow the last element")),
        }
    }

    /// Takes an INTEGER of one octet, as identifiers of invokes and most operations are. `None` is
    /// for anything else: nothing is taken then.
    #[inline]
    pub fn small_integer(&mut self) -> Option<i8> {
        const IDENTIFIER: u8 = 2;
        let [IDENTIFIER, 1, octet, ref rest @ ..] = *self.cursor.rest() else { return None };
        self.cursor = Cursor::new(rest, self.cursor.at() + 3, CONTENTS);
        Some(octet.cast_signed())
    }

    /// An element whose identifier and length have an octet each: nearly all. `None` is for any
    /// other, and for a violation.
    #[inline]
    fn take_short(&mut self) -> Option<Element<'a>> {
        let (at, all) = (self.cursor.at(), self.cursor.rest());
        let [identifier, length, ..] = *all else { return None };
        if identifier & 0x1f == 0x1f || identifier & 0xdf == 0 || length & 0x80 != 0 {
            return None;
        }
        let (whole, rest) = all.split_at_checked(2 + usize::from(length))?;
        self.cursor = Cursor::new(rest, at + whole.len(), CONTENTS);
        Some(Element {
            whole,
            at: u32::try_from(at).unwrap_or(u32::MAX),
            tag: Tag::of_octet(identifier),
            head: 2,
            is_constructed: identifier & 0x20 != 0,
            is_indefinite: false,
            depth: self.depth,
        })
    }

    fn take_any(&mut self) -> Result<Element<'a>, Malformed> {
        let (at, all) = (self.cursor.at(), self.cursor.rest());
        let header = header::take(&mut self.cursor)?;
        let head = self.cursor.at() - at;
        let is_indefinite = header.length.is_none();
        let octets = match header.length {
            Some(length) => length,
            None => header::indefinite(self.cursor, self.depth)? + 2,
        };
        self.cursor.take(octets, "an element is cut off")?;
        Ok(Element {
            whole: &all[..head + octets],
            at: u32::try_from(at).unwrap_or(u32::MAX),
            tag: header.tag,
            head: u8::try_from(head).unwrap_or(u8::MAX),
            is_constructed: header.is_constructed,
            is_indefinite,
            depth: self.depth,
        })
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Element<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.is_empty() {
            return None;
        }
        if let Some(element) = self.take_short() {
            return Some(Ok(element));
        }
        let taken = self.take_any();
        if taken.is_err() {
            self.cursor = Cursor::new(&[], self.cursor.at(), CONTENTS);
        }
        Some(taken)
    }
}
