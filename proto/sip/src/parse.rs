//! [`Message::parse`]: one pass over the header lines, then the headers every message must have.

use crate::address::NameAddr;
use crate::cseq::CSeq;
use crate::header::Header;
use crate::line::LineEnds;
use crate::message::{Entry, FAR, HEADERS_MAX, Index, MESSAGE_BYTES_MAX, Message, Start};
use crate::method::Method;
use crate::octet::{self, TOKEN};
use crate::refuse::TOO_LARGE_SPEC;
use crate::uri::Uri;
use crate::via::Via;
use wire::Malformed;

/// The violation that wants a 505 and not a 400 (RFC 3261 §21.5.6).
pub const WRONG_VERSION: &str = "version is not SIP/2.0";
/// Octets of a header's name.
pub const HEADER_NAME_BYTES_MAX: usize = 255;

const MESSAGE: &str = "RFC 3261 §7";
const REQUEST_LINE: &str = "RFC 3261 §7.1";
const STATUS_LINE: &str = "RFC 3261 §7.2";
const HEADER_LINE: &str = "RFC 3261 §7.3.1";
const MANDATORY: &str = "RFC 3261 §8.1.1";

impl<'a> Message<'a> {
    /// Reads a message from a datagram, or from what [`crate::frame`] cut from a stream.
    ///
    /// The body is as long as Content-Length says (octets behind it are dropped), or goes on to
    /// the end when there is none (RFC 3261 §18.3).
    ///
    /// # Errors
    /// A start line, a header line or a mandatory header that does not follow RFC 3261; a body
    /// shorter than announced; more than a limit allows. `crate::refuse` makes the answer.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut room = None;
        Self::parse_in(&mut room, bytes).copied()
    }

    /// The same without moving the message: it is read where it stays, in `room`.
    ///
    /// # Errors
    /// As [`Message::parse`]; `room` is empty then.
    #[inline]
    pub fn parse_in<'r>(
        room: &'r mut Option<Self>,
        bytes: &'a [u8],
    ) -> Result<&'r Self, Malformed> {
        let read = room.insert(Self::UNREAD).read(bytes);
        if read.is_err() {
            *room = None;
        }
        let nothing = Malformed::new(0, "nothing was read", MESSAGE);
        read.and_then(|()| room.as_ref().ok_or(nothing))
    }

    /// What [`Message::read`] fills; never seen from outside.
    const UNREAD: Self = Self {
        bytes: b"",
        start: Start::Response { status: 0, reason: b"" },
        uri: None,
        via: Via::EMPTY,
        from: NameAddr::EMPTY,
        to: NameAddr::EMPTY,
        from_tag: None,
        to_tag: None,
        call_id: b"",
        cseq: CSeq { number: 0, method: Method::Other, name: b"" },
        max_forwards: None,
        body: b"",
        index: Index::EMPTY,
    };

    fn read(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        if bytes.len() > MESSAGE_BYTES_MAX {
            return Err(Malformed::new(MESSAGE_BYTES_MAX, "message is too long", TOO_LARGE_SPEC));
        }
        let mut ends = LineEnds::new(bytes, 0);
        let head = ends.step()? + 2;
        self.start = start_line(&bytes[..head - 2])?;
        if let Start::Request { name, uri, .. } = self.start {
            self.uri = Some(request_uri(uri, name.len() + 1)?);
        }
        self.bytes = bytes;
        let length = self.read_lines(head, &mut ends)?;
        self.check_mandatory()?;
        self.read_body(length)
    }

    /// Finds all header lines from `at` to the empty line and reads those that steer; returns
    /// Content-Length.
    fn read_lines(
        &mut self,
        mut at: usize,
        ends: &mut LineEnds<'a>,
    ) -> Result<Option<usize>, Malformed> {
        let mut length = None;
        while let Some(Found { line, is_first }) = self.index.push(self.bytes, at, ends)? {
            if is_first {
                let value = octet::trim_end(&self.bytes[line.value..line.end]);
                self.take(line.header, value, &mut length).map_err(|m| m.shifted(line.value))?;
            } else if is_once(line.header) {
                return Err(Malformed::new(at, "header stands twice", HEADER_LINE));
            }
            at = line.end + 2;
        }
        Ok(length)
    }

    /// Reads the first line of a header that steers transactions, dialogs and framing.
    #[inline]
    fn take(
        &mut self,
        header: Header,
        value: &'a [u8],
        length: &mut Option<usize>,
    ) -> Result<(), Malformed> {
        match header {
            Header::Via => self.via.read(value)?,
            Header::From => self.from_tag = self.from.read_tagged(value)?,
            Header::To => self.to_tag = self.to.read_tagged(value)?,
            Header::CallId => self.call_id = call_id(value)?,
            Header::CSeq => self.cseq = CSeq::parse(value)?,
            Header::MaxForwards => {
                let violation = Malformed::new(0, "Max-Forwards is not 0 to 255", header.spec());
                self.max_forwards = Some(octet::number(value, u8::MAX.into()).ok_or(violation)?);
            }
            Header::ContentLength => {
                let what = "Content-Length is not a number within the limit";
                let violation = Malformed::new(0, what, header.spec());
                *length = Some(octet::number(value, MESSAGE_BYTES_MAX as u64).ok_or(violation)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// The headers every request has, and every response gets from it (RFC 3261 §8.1.1, §8.2.6.2).
    fn check_mandatory(&self) -> Result<(), Malformed> {
        for (header, missing) in [
            (Header::Via, "no Via"),
            (Header::From, "no From"),
            (Header::To, "no To"),
            (Header::CallId, "no Call-ID"),
            (Header::CSeq, "no CSeq"),
        ] {
            if !self.has(header) {
                return Err(Malformed::new(self.index.end, missing, MANDATORY));
            }
        }
        match self.start {
            Start::Request { name, .. } if !octet::equal(name, self.cseq.name) => {
                let what = "CSeq names another method than the request";
                Err(Malformed::new(self.offset(Header::CSeq), what, "RFC 3261 §8.1.1.5"))
            }
            _ => Ok(()),
        }
    }

    fn read_body(&mut self, length: Option<usize>) -> Result<(), Malformed> {
        let start = self.index.end + 2;
        let end = length.map_or(self.bytes.len(), |length| start + length);
        if end > self.bytes.len() {
            let at = self.offset(Header::ContentLength);
            let what = "Content-Length is larger than the body";
            return Err(Malformed::new(at, what, "RFC 3261 §18.3"));
        }
        self.body = &self.bytes[start..end];
        self.bytes = &self.bytes[..end];
        Ok(())
    }

    #[cold]
    fn offset(&self, header: Header) -> usize {
        let number = self.index.first(header);
        number.map_or(self.index.end, |number| self.index.value(self.bytes, number).0)
    }
}

/// In place of a row: lines that were not looked at.
const SKIPPED: u8 = u8::MAX;

/// A header line that was entered into an index.
pub(crate) struct Found {
    pub line: HeaderLine,
    /// Whether no line before it is of its row.
    pub is_first: bool,
}

impl Index {
    /// Forgets all lines.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.first = [0; Header::COUNT];
    }

    /// Enters the header line that starts at `at` and is the next in `ends`; `None` at the empty
    /// line.
    #[allow(clippy::cast_possible_truncation, reason = "HEADERS_MAX and MESSAGE_BYTES_MAX hold")]
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        at: usize,
        ends: &mut LineEnds<'_>,
    ) -> Result<Option<Found>, Malformed> {
        let end = ends.step()?;
        if end == at {
            self.end = at;
            return Ok(None);
        }
        let line = header_line(bytes, at, end, ends)?;
        let number = self.count;
        if number == HEADERS_MAX {
            return Err(Malformed::new(at, "too many header lines", TOO_LARGE_SPEC));
        }
        let offset = (line.value - at).min(FAR.into()) as u8;
        self.entries[number] = Entry { start: at as u16, offset, row: line.header as u8 };
        self.count = number + 1;
        let first = &mut self.first[line.header as usize];
        let is_first = *first == 0;
        if is_first {
            *first = number as u8 + 1;
        }
        Ok(Some(Found { line, is_first }))
    }

    /// Passes over the header line that starts at `at` and is the next in `ends`; returns where it
    /// ends, `None` at the empty line.
    #[allow(clippy::cast_possible_truncation, reason = "HEADERS_MAX and MESSAGE_BYTES_MAX hold")]
    #[inline(always)]
    pub(crate) fn skip(
        &mut self,
        bytes: &[u8],
        at: usize,
        ends: &mut LineEnds<'_>,
    ) -> Result<Option<usize>, Malformed> {
        let end = ends.step()?;
        if end == at {
            self.end = at;
            return Ok(None);
        }
        if self.count > 0 && self.entries[self.count - 1].row != SKIPPED {
            if self.count == HEADERS_MAX {
                return Err(Malformed::new(at, "too many header lines", TOO_LARGE_SPEC));
            }
            let entry = Entry { start: at as u16, offset: FAR, row: SKIPPED };
            self.entries[self.count] = entry; // where the line before ends
            self.count += 1;
        }
        unfolded_end(bytes, end, ends).map(Some)
    }
}

/// Reads the start line, which stands here without its CRLF.
pub(crate) fn start_line(line: &[u8]) -> Result<Start<'_>, Malformed> {
    match line.get(..4) {
        Some(head) if octet::same(head, b"SIP/") => status_line(line),
        _ => request_line(line),
    }
}

fn request_line(line: &[u8]) -> Result<Start<'_>, Malformed> {
    let name_end = octet::run(line, 0, TOKEN);
    if name_end == 0 || line.get(name_end) != Some(&b' ') {
        return Err(Malformed::new(name_end, "start line without a method", REQUEST_LINE));
    }
    let uri_start = name_end + 1;
    let Some(blank) = memchr::memrchr(b' ', &line[uri_start..]) else {
        return Err(Malformed::new(line.len(), "request line without a version", REQUEST_LINE));
    };
    let uri_end = uri_start + blank;
    check_version(&line[uri_end + 1..], uri_end + 1)?;
    let name = &line[..name_end];
    Ok(Start::Request { method: Method::parse(name), name, uri: &line[uri_start..uri_end] })
}

fn check_version(version: &[u8], at: usize) -> Result<(), Malformed> {
    if version == b"SIP/2.0" || octet::same(version, b"SIP/2.0") {
        return Ok(());
    }
    let is_version = version.get(..4).is_some_and(|head| octet::same(head, b"SIP/"));
    let what = if is_version { WRONG_VERSION } else { "request line does not end in SIP/2.0" };
    Err(Malformed::new(at, what, REQUEST_LINE))
}

/// A Request-URI stands without angle brackets, white space and headers (RFC 3261 Table 1).
fn request_uri(bytes: &[u8], at: usize) -> Result<Uri<'_>, Malformed> {
    let uri = Uri::parse(bytes).map_err(|m| m.shifted(at))?;
    if !uri.headers.is_empty() {
        let what = "Request-URI with headers";
        return Err(Malformed::new(at, what, "RFC 3261 §19.1.1"));
    }
    Ok(uri)
}

fn status_line(line: &[u8]) -> Result<Start<'_>, Malformed> {
    let blank = memchr::memchr(b' ', line).unwrap_or(line.len());
    if !octet::same(&line[..blank], b"SIP/2.0") {
        return Err(Malformed::new(0, WRONG_VERSION, STATUS_LINE));
    }
    let start = line.len().min(blank + 1);
    let (status, end) = octet::digits::<u16>(line, start, 699);
    let status = match status {
        Some(status) if end == start + 3 && status >= 100 => status,
        _ => return Err(Malformed::new(start, "status is not 100 to 699", STATUS_LINE)),
    };
    match line.get(end) {
        Some(b' ') => Ok(Start::Response { status, reason: &line[end + 1..] }),
        None => Ok(Start::Response { status, reason: b"" }),
        Some(_) => Err(Malformed::new(end, "status is not 100 to 699", STATUS_LINE)),
    }
}

/// Headers that steer transactions, dialogs and framing: a second one is an attack or a fault.
const fn is_once(header: Header) -> bool {
    matches!(
        header,
        Header::From
            | Header::To
            | Header::CallId
            | Header::CSeq
            | Header::MaxForwards
            | Header::ContentLength
    )
}

/// A header line, folds included.
pub(crate) struct HeaderLine {
    /// The row.
    pub header: Header,
    /// The position of the colon.
    pub colon: usize,
    /// Where the value starts, white space before it left out.
    pub value: usize,
    /// The position of the CRLF that ends it.
    pub end: usize,
}

/// Reads the header line that starts at `start` and whose first CRLF is at `end`; `ends` goes on
/// behind that one. Always inlined, with what it asks: its result comes through memory otherwise,
/// which for each line makes 2 % of a SIP call.
#[inline(always)]
pub(crate) fn header_line(
    bytes: &[u8],
    start: usize,
    end: usize,
    ends: &mut LineEnds<'_>,
) -> Result<HeaderLine, Malformed> {
    let line = &bytes[start..end];
    let (header, colon) = match Header::parse_short(line) {
        Some(found) => found,
        None => long_name(line).ok_or_else(|| nameless(bytes, start))?,
    };
    let end = unfolded_end(bytes, end, ends)?;
    let value = match line.get(colon + 1..colon + 3) {
        Some(&[b' ', next]) if next > b' ' => start + colon + 2,
        _ => octet::skip_space(&bytes[..end], start + colon + 1),
    };
    Ok(HeaderLine { header, colon: start + colon, value, end })
}

/// The CRLF that no fold follows, at or behind the one at `end`.
#[inline(always)]
pub(crate) fn unfolded_end(
    bytes: &[u8],
    mut end: usize,
    ends: &mut LineEnds<'_>,
) -> Result<usize, Malformed> {
    while matches!(bytes.get(end + 2), Some(b' ' | b'\t')) {
        end = ends.step()?;
    }
    Ok(end)
}

/// The row of a line and the position of its colon.
#[inline(always)]
fn long_name(line: &[u8]) -> Option<(Header, usize)> {
    let window = &line[..line.len().min(HEADER_NAME_BYTES_MAX + 1)];
    let colon = octet::find_near(window, 0, b':')?;
    let name = octet::trim_end(&line[..colon]);
    let header = Header::parse(name);
    (header != Header::Unknown || octet::is_token(name)).then_some((header, colon))
}

/// Why there is no header at `start`.
#[cold]
fn nameless(bytes: &[u8], start: usize) -> Malformed {
    let is_long = octet::run(bytes, start, TOKEN) - start > HEADER_NAME_BYTES_MAX;
    let what =
        if is_long { "header name is too long" } else { "header line without a name and a colon" };
    Malformed::new(start, what, HEADER_LINE)
}

#[inline]
fn call_id(value: &[u8]) -> Result<&[u8], Malformed> {
    match memchr::memchr2(b' ', b'\t', value) {
        None if !value.is_empty() => Ok(value),
        at => Err(Malformed::new(at.unwrap_or(0), "Call-ID is no word", Header::CallId.spec())),
    }
}
