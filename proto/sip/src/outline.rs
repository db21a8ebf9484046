//! A message of which only the lines are known: enough to change headers by their names.
//!
//! Finding the lines costs a quarter of [`Message::parse`], which also takes apart what steers
//! transactions and dialogs.

use crate::cseq::CSeq;
use crate::header::Header;
use crate::line::LineEnds;
use crate::message::{Index, Line, MESSAGE_BYTES_MAX, Message, Start};
use crate::method::Method;
use crate::parse::start_line;
use crate::uri::Uri;
use core::fmt;

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

impl Lines {
    /// Finds the lines of a message; `None` when its start line, a header line or CSeq is not
    /// what RFC 3261 §7 asks for. What the other headers hold is not looked at.
    #[must_use]
    #[inline]
    pub fn read<'m>(&'m mut self, bytes: &'m [u8]) -> Option<Outline<'m>> {
        if bytes.len() > MESSAGE_BYTES_MAX {
            return None;
        }
        let mut ends = LineEnds::new(bytes, 0);
        let end = ends.next().ok()?;
        let start = start_line(&bytes[..end]).ok()?;
        self.0.clear();
        let mut at = end + 2;
        while let Some(found) = self.0.push(bytes, at, &mut ends).ok()? {
            at = found.line.end + 2;
        }
        let (method, name) = match start {
            Start::Request { method, name, .. } => (method, name),
            Start::Response { .. } => {
                let (from, to) = self.0.value(bytes, self.0.first(Header::CSeq)?);
                let cseq = CSeq::parse(&bytes[from..to]).ok()?;
                (cseq.method, cseq.name)
            }
        };
        Some(Outline { bytes, start, method, name, index: &self.0 })
    }
}

/// A message as its lines.
#[derive(Debug, Clone, Copy)]
pub struct Outline<'m> {
    bytes: &'m [u8],
    start: Start<'m>,
    method: Method,
    name: &'m [u8],
    index: &'m Index,
}

impl<'m> From<&'m Message<'_>> for Outline<'m> {
    fn from(message: &'m Message<'_>) -> Self {
        let CSeq { method, name, .. } = message.cseq;
        Self { bytes: message.bytes, start: message.start, method, name, index: &message.index }
    }
}

impl<'m> Outline<'m> {
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
            let outline = lines.read(BUSY).unwrap();
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
            assert!(lines.read(broken).is_none());
        }
        assert!(lines.read(b"SIP/2.0 200 OK\r\nServer: no CSeq\r\n\r\n").is_none());
    }
}
