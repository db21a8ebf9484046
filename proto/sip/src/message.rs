//! A message as it stands in its bytes (RFC 3261 §7).
//!
//! [`Message::parse`] copies and allocates nothing: the message borrows its bytes and keeps an
//! index of its header lines inline.

use crate::address::NameAddr;
use crate::cseq::CSeq;
use crate::header::{Header, Shape};
use crate::method::Method;
use crate::octet;
use crate::param::Items;
use crate::uri::Uri;
use crate::via::Via;
use core::fmt;

/// Octets of a message, body included: what a UDP datagram can hold (RFC 3261 §18.1.1).
pub const MESSAGE_BYTES_MAX: usize = 65_535;
/// Header lines of a message.
pub const HEADERS_MAX: usize = 128;

/// The first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start<'a> {
    /// `METHOD uri SIP/2.0`.
    Request {
        /// The method's row.
        method: Method,
        /// The method's name as written.
        name: &'a [u8],
        /// The Request-URI.
        uri: &'a [u8],
    },
    /// `SIP/2.0 status reason`.
    Response {
        /// 100 to 699.
        status: u16,
        /// The reason phrase; may be empty.
        reason: &'a [u8],
    },
}

/// One header line, folds included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The row.
    pub header: Header,
    /// The name as written.
    pub name: &'a [u8],
    /// The value without the white space around it; folds inside stay.
    pub value: &'a [u8],
    /// The whole line or lines with their CRLF.
    pub raw: &'a [u8],
}

/// Where one header line stands; it ends where the next one starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Where the name starts.
    pub start: u16,
    /// Octets from there to the value, or [`FAR`].
    pub offset: u8,
    /// The header's row.
    pub row: u8,
}

/// The offset of a value that starts too far behind its name to be remembered.
pub(crate) const FAR: u8 = u8::MAX;

/// The header lines of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Index {
    pub entries: [Entry; HEADERS_MAX],
    pub count: usize,
    /// Per row: 1 + the number of its first line; 0 means absent.
    pub first: [u8; Header::COUNT],
    /// Where the empty line starts.
    pub end: usize,
}

impl Index {
    pub(crate) const EMPTY: Self = Self {
        entries: [Entry { start: 0, offset: 0, row: 0 }; HEADERS_MAX],
        count: 0,
        first: [0; Header::COUNT],
        end: 0,
    };

    /// The number of the first line of a row.
    #[inline]
    pub(crate) const fn first(&self, header: Header) -> Option<usize> {
        match self.first[header as usize] {
            0 => None,
            number => Some(number as usize - 1),
        }
    }

    /// Where a line starts and ends in the message.
    #[inline]
    pub(crate) fn line(&self, number: usize) -> (usize, usize) {
        let next = number + 1;
        let end = if next < self.count { self.entries[next].start.into() } else { self.end };
        (self.entries[number].start.into(), end)
    }

    /// Where the value of a line starts and ends, white space around it left out.
    #[inline]
    pub(crate) fn value(&self, bytes: &[u8], number: usize) -> (usize, usize) {
        let (start, next) = self.line(number);
        let end = next - 2;
        let offset = self.entries[number].offset;
        let value = if offset == FAR {
            let colon = memchr::memchr(b':', &bytes[start..end]).unwrap_or(0);
            octet::skip_space(&bytes[..end], start + colon + 1)
        } else {
            start + usize::from(offset)
        };
        (value, value + octet::trim_end(&bytes[value..end]).len())
    }

    /// The numbers of the lines of a row.
    #[inline]
    pub(crate) fn numbers(&self, header: Header) -> impl Iterator<Item = usize> + use<'_> {
        let from = self.first(header).unwrap_or(self.count);
        let row = header as u8;
        (from..self.count).filter(move |&number| self.entries[number].row == row)
    }

    /// A line of the message.
    #[inline]
    pub(crate) fn describe<'a>(&self, bytes: &'a [u8], number: usize) -> Line<'a> {
        let (start, end) = self.line(number);
        let (from, to) = self.value(bytes, number);
        let raw = &bytes[start..end];
        Line {
            header: Header::nth(self.entries[number].row.into()).unwrap_or(Header::Unknown),
            name: &raw[..octet::run(raw, 0, octet::TOKEN)],
            value: &bytes[from..to],
            raw,
        }
    }
}

/// A SIP message, borrowed from its bytes. The headers every message must have (RFC 3261 §8.1.1)
/// were read and found well-formed.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) start: Start<'a>,
    pub(crate) uri: Option<Uri<'a>>,
    pub(crate) via: Via<'a>,
    pub(crate) from: NameAddr<'a>,
    pub(crate) to: NameAddr<'a>,
    pub(crate) from_tag: Option<&'a [u8]>,
    pub(crate) to_tag: Option<&'a [u8]>,
    pub(crate) call_id: &'a [u8],
    pub(crate) cseq: CSeq<'a>,
    pub(crate) max_forwards: Option<u8>,
    pub(crate) body: &'a [u8],
    pub(crate) index: Index,
}

impl<'a> Message<'a> {
    /// The message's octets, from the start line to the end of the body.
    #[must_use]
    pub const fn raw(&self) -> &'a [u8] {
        self.bytes
    }

    /// The first line.
    #[must_use]
    pub const fn start(&self) -> Start<'a> {
        self.start
    }

    /// The first line's octets with its CRLF.
    #[must_use]
    pub fn start_line(&self) -> &'a [u8] {
        let end =
            if self.index.count == 0 { self.index.end } else { self.index.entries[0].start.into() };
        &self.bytes[..end]
    }

    /// Whether this is a request.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        matches!(self.start, Start::Request { .. })
    }

    /// The method of a request; of a response the method of its CSeq.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.cseq.method
    }

    /// The status of a response.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self.start {
            Start::Response { status, .. } => Some(status),
            Start::Request { .. } => None,
        }
    }

    /// The Request-URI of a request.
    #[must_use]
    pub const fn request_uri(&self) -> Option<&'a [u8]> {
        match self.start {
            Start::Request { uri, .. } => Some(uri),
            Start::Response { .. } => None,
        }
    }

    /// The Request-URI, taken apart; [`crate::Scheme::Other`] wants a 416 (RFC 3261 §8.2.2.1).
    #[must_use]
    pub const fn uri(&self) -> Option<&Uri<'a>> {
        self.uri.as_ref()
    }

    /// The topmost Via.
    #[must_use]
    pub const fn via(&self) -> Via<'a> {
        self.via
    }

    /// The Call-ID.
    #[must_use]
    pub const fn call_id(&self) -> &'a [u8] {
        self.call_id
    }

    /// The CSeq.
    #[must_use]
    pub const fn cseq(&self) -> CSeq<'a> {
        self.cseq
    }

    /// From.
    #[must_use]
    pub const fn from(&self) -> NameAddr<'a> {
        self.from
    }

    /// To.
    #[must_use]
    pub const fn to(&self) -> NameAddr<'a> {
        self.to
    }

    /// From's tag; agents of RFC 2543 have none.
    #[must_use]
    pub const fn from_tag(&self) -> Option<&'a [u8]> {
        self.from_tag
    }

    /// To's tag; present within a dialog.
    #[must_use]
    pub const fn to_tag(&self) -> Option<&'a [u8]> {
        self.to_tag
    }

    /// Max-Forwards; agents of RFC 2543 send none.
    #[must_use]
    pub const fn max_forwards(&self) -> Option<u8> {
        self.max_forwards
    }

    /// The body.
    #[must_use]
    pub const fn body(&self) -> &'a [u8] {
        self.body
    }

    /// The offset of the empty line that ends the header.
    #[must_use]
    pub const fn head_end(&self) -> usize {
        self.index.end
    }

    /// The header lines in their order.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = Line<'a>> + ExactSizeIterator + '_ {
        (0..self.index.count).map(|number| self.line(number))
    }

    /// Row and octets of each header line, CRLF included, in their order: for who only copies.
    #[inline]
    pub fn rows(&self) -> impl Iterator<Item = (Header, &'a [u8])> + '_ {
        (0..self.index.count).map(|number| {
            let (start, end) = self.index.line(number);
            let row = self.index.entries[number].row;
            (Header::nth(row.into()).unwrap_or(Header::Unknown), &self.bytes[start..end])
        })
    }

    /// The header lines of one row.
    pub fn lines_of(&self, header: Header) -> impl Iterator<Item = Line<'a>> + '_ {
        self.numbers(header).map(|number| self.line(number))
    }

    /// The value of a header's first line.
    #[must_use]
    #[inline]
    pub fn header(&self, header: Header) -> Option<&'a [u8]> {
        self.index.first(header).map(|number| self.value(number))
    }

    /// Whether the header stands in the message.
    #[must_use]
    #[inline]
    pub const fn has(&self, header: Header) -> bool {
        self.index.first[header as usize] != 0
    }

    /// The values of the lines with that name, known or not, long or compact, in any case.
    pub fn named<'m>(&'m self, name: &'m [u8]) -> impl Iterator<Item = &'a [u8]> + 'm {
        let header = Header::parse(name);
        self.lines_of(header)
            .filter(move |line| header != Header::Unknown || octet::same(line.name, name))
            .map(|line| line.value)
    }

    /// All values of all lines of a header; lines of a list are split at their commas.
    pub fn values(&self, header: Header) -> impl Iterator<Item = &'a [u8]> + '_ {
        let is_list = header.shape() == Shape::List;
        self.numbers(header).flat_map(move |number| {
            let value = self.value(number);
            if is_list { Items::new(value) } else { Items::whole(value) }
        })
    }

    /// The first value of a header's first line.
    #[must_use]
    #[inline]
    pub fn first(&self, header: Header) -> Option<&'a [u8]> {
        let value = self.header(header)?;
        if header.shape() != Shape::List || memchr::memchr(b',', value).is_none() {
            return Some(value);
        }
        Items::new(value).next()
    }

    /// Whether a list of tokens (Supported, Require, Allow, …) holds that token.
    #[must_use]
    pub fn lists(&self, header: Header, token: &[u8]) -> bool {
        self.values(header).any(|value| octet::same(value, token))
    }

    fn numbers(&self, header: Header) -> impl Iterator<Item = usize> + '_ {
        self.index.numbers(header)
    }

    #[inline]
    fn value(&self, number: usize) -> &'a [u8] {
        let (start, end) = self.index.value(self.bytes, number);
        &self.bytes[start..end]
    }

    pub(crate) fn line(&self, number: usize) -> Line<'a> {
        self.index.describe(self.bytes, number)
    }
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", String::from_utf8_lossy(self.bytes))
    }
}
