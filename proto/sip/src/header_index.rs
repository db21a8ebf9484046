//! A message of which only the lines are known: enough to change headers by their names.
//!
//! Finding the lines costs a quarter of [`Message::parse`], which also takes apart what steers
//! transactions and dialogs.

use crate::cseq::CSeq;
use crate::header::Header;
use crate::line::LineEnds;
use crate::message::{Index, Line, MESSAGE_BYTES_MAX, Message, Start};
use crate::method::Method;
use crate::octet;
use crate::parse::{header_line, start_line, unfolded_end};
use crate::uri::Uri;
use core::fmt;
use wire::Malformed;

/// Room for where the lines of a message stand; used for one message after the other.
#[derive(Clone)]
pub struct Lines(Index);

impl Default for Lines {
    fn default() -> Self {
        Self(Index::EMPTY)
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lines", self.0.count)
    }
}

/// With which letters the names begin of the lines that somebody wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NameFilter(u32);

impl NameFilter {
    /// All lines.
    pub const ALL: Self = Self(u32::MAX);
    /// No line.
    pub const NONE: Self = Self(0);

    const fn bit(initial: u8) -> u32 {
        1 << (initial & 0x1F)
    }

    /// Lines of the header as well: of that row, or of that name where it has none.
    #[must_use]
    pub fn with(self, header: Header, name: &[u8]) -> Self {
        let compact = header.compact().map_or(0, Self::bit);
        Self(self.0 | compact | name.first().copied().map_or(0, Self::bit))
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn has(self, initial: u8) -> bool {
        self.0 & Self::bit(initial) != 0
    }
}

impl Lines {
    /// Finds the lines of a message that begin with these letters; `None` when its start line, a
    /// header line or CSeq is not what RFC 3261 §7 asks for. What the other headers hold is not
    /// looked at. A response has a method only when its CSeq is among the lines.
    #[must_use]
    #[inline]
    pub fn read<'m>(&'m mut self, bytes: &'m [u8], wanted: NameFilter) -> Option<HeaderIndex<'m>> {
        if bytes.len() > MESSAGE_BYTES_MAX {
            return None;
        }
        let mut ends = LineEnds::new(bytes, 0);
        let end = ends.step().ok()?;
        let start = start_line(&bytes[..end]).ok()?;
        self.0.clear();
        let mut at = end + 2;
        loop {
            let is_wanted = bytes.get(at).is_some_and(|&initial| wanted.has(initial));
            let found = if is_wanted {
                self.0.push(bytes, at, &mut ends).ok()?.map(|found| found.line.end)
            } else {
                self.0.skip(bytes, at, &mut ends).ok()?
            };
            let Some(end) = found else { break };
            at = end + 2;
        }
        let (method, name) = match (start, self.0.first(Header::CSeq)) {
            (Start::Request { method, name, .. }, _) => (method, name),
            (Start::Response { .. }, Some(number)) => {
                let (from, to) = self.0.value(bytes, number);
                let cseq = CSeq::parse(&bytes[from..to]).ok()?;
                (cseq.method, cseq.name)
            }
            (Start::Response { .. }, None) => (Method::Other, &b""[..]),
        };
        Some(HeaderIndex { bytes, start, method, name, index: &self.0 })
    }
}

/// A walk over the header lines of a message that begin with some letters; nothing is kept.
#[derive(Debug, Clone)]
pub struct HeadWalk<'m> {
    bytes: &'m [u8],
    at: usize,
    ends: LineEnds<'m>,
    wanted: NameFilter,
}

/// What [`HeadWalk::step`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadStep<'m> {
    /// A line that was wanted, and its offset.
    Line(Line<'m>, usize),
    /// The empty line that ends the header stands at this offset.
    End(usize),
}

impl<'m> HeadWalk<'m> {
    /// A walk that begins behind the start line, which is not looked at.
    ///
    /// # Errors
    /// No line end.
    #[inline]
    pub fn new(bytes: &'m [u8], wanted: NameFilter) -> Result<Self, Malformed> {
        let mut ends = LineEnds::new(bytes, 0);
        let at = ends.step()? + 2;
        Ok(Self { bytes, at, ends, wanted })
    }

    /// Goes on to the next line that is wanted, or to the end of the header.
    ///
    /// # Errors
    /// As far as it went: a line without a name and a colon, no empty line.
    #[inline]
    pub fn step(&mut self) -> Result<HeadStep<'m>, Malformed> {
        loop {
            let (bytes, at) = (self.bytes, self.at);
            let end = self.ends.step()?;
            if end == at {
                return Ok(HeadStep::End(at));
            }
            if !self.wanted.has(bytes[at]) {
                self.at = unfolded_end(bytes, end, &mut self.ends)? + 2;
                continue;
            }
            let found = header_line(bytes, at, end, &mut self.ends)?;
            self.at = found.end + 2;
            let raw = &bytes[at..self.at];
            let value = octet::trim_end(&bytes[found.value..found.end]);
            let name = octet::trim_end(&bytes[at..found.colon]);
            return Ok(HeadStep::Line(Line { header: found.header, name, value, raw }, at));
        }
    }
}

/// A message as its lines.
#[derive(Debug, Clone, Copy)]
pub struct HeaderIndex<'m> {
    bytes: &'m [u8],
    start: Start<'m>,
    method: Method,
    name: &'m [u8],
    index: &'m Index,
}

impl<'m> From<&'m Message<'_>> for HeaderIndex<'m> {
    fn from(message: &'m Message<'_>) -> Self {
        let CSeq { method, name, .. } = message.cseq;
        Self { bytes: message.bytes, start: message.start, method, name, index: &message.index }
    }
}

impl<'m> HeaderIndex<'m> {
    /// The message's octets.
    #[must_use]
    pub const fn raw(&self) -> &'m [u8] {
        self.bytes
    }

    /// The first line.
    #[must_use]
    pub const fn start(&self) -> Start<'m> {
        self.start
    }

    /// Whether this is a request.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        matches!(self.start, Start::Request { .. })
    }

    /// The method of a request; of a response the method of its CSeq.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The name of that method as written.
    #[must_use]
    pub const fn method_name(&self) -> &'m [u8] {
        self.name
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
    pub const fn request_uri(&self) -> Option<&'m [u8]> {
        match self.start {
            Start::Request { uri, .. } => Some(uri),
            Start::Response { .. } => None,
        }
    }

    /// The Request-URI of a request, taken apart; `None` also when it is none.
    #[must_use]
    pub fn uri(&self) -> Option<Uri<'m>> {
        self.request_uri().and_then(|uri| Uri::parse(uri).ok())
    }

    /// The offset of the empty line that ends the header.
    #[must_use]
    pub const fn head_end(&self) -> usize {
        self.index.end
    }

    /// The header lines of one row.
    #[inline]
    pub fn lines_of(&self, header: Header) -> impl Iterator<Item = Line<'m>> + use<'m> {
        let (bytes, index) = (self.bytes, self.index);
        index.numbers(header).map(move |number| index.describe(bytes, number))
    }

    /// Whether the header stands in the message.
    #[must_use]
    #[inline]
    pub const fn has(&self, header: Header) -> bool {
        self.index.first(header).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: &[u8] = b"SIP/2.0 486 Busy Here\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1\r\n\
        f: <sip:a@b>;tag=1\r\nTo: <sip:c@d>;tag=2\r\nCall-ID: 1\r\nCSeq: 7 INVITE\r\n\
        X-One: 1\r\nx-one: 2\r\n folded\r\nServer: s\r\nContent-Length: 0\r\n\r\n";

    #[test]
    fn an_outline_has_the_lines_of_the_message() {
        let message = Message::parse(BUSY).unwrap();
        let mut lines = Lines::default();
        for _ in 0..2 {
            let outline = lines.read(BUSY, NameFilter::ALL).unwrap();
            assert_eq!((outline.method(), outline.status()), (Method::Invite, Some(486)));
            assert_eq!(outline.head_end(), message.head_end());
            for number in 0..Header::COUNT {
                let header = Header::nth(number).unwrap();
                assert!(outline.lines_of(header).eq(message.lines_of(header)), "{header:?}");
                assert_eq!(outline.has(header), message.has(header));
            }
        }
    }

    #[test]
    fn what_has_no_lines_has_no_outline() {
        let mut lines = Lines::default();
        for broken in [&b"\r\n"[..], b"SIP/2.0 200 OK\r\nVia", b"BYE a SIP/2.0\r\n:x\r\n\r\n"] {
            assert!(lines.read(broken, NameFilter::ALL).is_none());
        }
        let cut = b"SIP/2.0 200 OK\r\nCSeq: x\r\n\r\n";
        assert!(lines.read(cut, NameFilter::ALL).is_none());
    }

    #[test]
    fn a_walk_meets_the_same_lines_in_their_order() {
        let message = Message::parse(BUSY).unwrap();
        let wanted =
            NameFilter::default().with(Header::From, b"From").with(Header::Unknown, b"x-one");
        for wanted in [NameFilter::ALL, NameFilter::NONE, wanted] {
            let mut walk = HeadWalk::new(BUSY, wanted).unwrap();
            for line in message.lines().filter(|line| wanted.has(line.name[0])) {
                let at = line.raw.as_ptr() as usize - BUSY.as_ptr() as usize;
                assert_eq!(walk.step(), Ok(HeadStep::Line(line, at)));
            }
            assert_eq!(walk.step(), Ok(HeadStep::End(message.head_end())));
        }
        let mut walk = HeadWalk::new(b"SIP/2.0 200 OK\r\nVia", NameFilter::ALL).unwrap();
        assert!(walk.step().is_err());
    }

    #[test]
    fn an_outline_of_some_initials_has_the_lines_that_begin_with_them() {
        let message = Message::parse(BUSY).unwrap();
        let mut lines = Lines::default();
        let wanted =
            NameFilter::default().with(Header::From, b"From").with(Header::Unknown, b"x-one");
        let outline = lines.read(BUSY, wanted).unwrap();
        for header in [Header::From, Header::Unknown] {
            assert!(outline.lines_of(header).eq(message.lines_of(header)), "{header:?}");
        }
        assert!(!outline.has(Header::Server) && !outline.has(Header::CSeq));
        assert_eq!((outline.method(), outline.head_end()), (Method::Other, message.head_end()));
    }
}
