//! [`Message::parse`]: one pass over the header lines, then the headers every message must have.

use crate::address::NameAddr;
use crate::cseq::CSeq;
use crate::header::Header;
use crate::message::{Entry, HEADERS_MAX, Index, MESSAGE_BYTES_MAX, Message, Start};
use crate::method::Method;
use crate::octet::{self, SPACE, TOKEN};
use crate::uri::Uri;
use crate::via::Via;
use wire::Malformed;

/// The offence that wants a 505 and not a 400 (RFC 3261 §21.5.6).
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
        if bytes.len() > MESSAGE_BYTES_MAX {
            return Err(Malformed::new(MESSAGE_BYTES_MAX, "message is too long", MESSAGE));
        }
        let (start, head) = start_line(bytes)?;
        let index = index(bytes, head)?;
        let reader = Reader { bytes, index: &index };
        let uri = match start {
            Start::Request { name, uri, .. } => Some(request_uri(uri, name.len() + 1)?),
            Start::Response { .. } => None,
        };
        let via = reader.read(Header::Via, "no Via", Via::parse)?;
        let (from, from_tag) = reader.read(Header::From, "no From", NameAddr::parse_tagged)?;
        let (to, to_tag) = reader.read(Header::To, "no To", NameAddr::parse_tagged)?;
        let call_id = reader.read(Header::CallId, "no Call-ID", call_id)?;
        let cseq = reader.read(Header::CSeq, "no CSeq", CSeq::parse)?;
        check_method(start, cseq, reader.offset(Header::CSeq))?;
        let max_forwards = reader.number(Header::MaxForwards, 255)?.map(|hops| hops as u8);
        let body_start = index.end + 2;
        let body_end = match reader.number(Header::ContentLength, MESSAGE_BYTES_MAX as u64)? {
            None => bytes.len(),
            Some(length) if body_start + length as usize <= bytes.len() => {
                body_start + length as usize
            }
            Some(_) => {
                let at = reader.offset(Header::ContentLength);
                let what = "Content-Length is larger than the body";
                return Err(Malformed::new(at, what, "RFC 3261 §18.3"));
            }
        };
        Ok(Self {
            bytes: &bytes[..body_end],
            start,
            uri,
            via,
            from,
            to,
            from_tag,
            to_tag,
            call_id,
            cseq,
            max_forwards,
            body: &bytes[body_start..body_end],
            index,
        })
    }
}

/// Reads the start line; returns where the header starts.
pub(crate) fn start_line(bytes: &[u8]) -> Result<(Start<'_>, usize), Malformed> {
    let end = line_end(bytes, 0)?;
    let line = &bytes[..end];
    let start = match line.get(..4) {
        Some(head) if octet::same(head, b"SIP/") => status_line(line)?,
        _ => request_line(line)?,
    };
    Ok((start, end + 2))
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
    let end = octet::run(line, start, octet::DIGIT);
    let status = match octet::number(&line[start..end], 699) {
        Some(status) if end == start + 3 && status >= 100 => status as u16,
        _ => return Err(Malformed::new(start, "status is not 100 to 699", STATUS_LINE)),
    };
    match line.get(end) {
        Some(b' ') => Ok(Start::Response { status, reason: &line[end + 1..] }),
        None => Ok(Start::Response { status, reason: b"" }),
        Some(_) => Err(Malformed::new(end, "status is not 100 to 699", STATUS_LINE)),
    }
}

/// Where the line that starts at `at` ends: the position of its CRLF.
#[inline]
fn line_end(bytes: &[u8], at: usize) -> Result<usize, Malformed> {
    match memchr::memchr2(b'\r', b'\n', &bytes[at..]) {
        Some(length) if bytes[at + length..].starts_with(b"\r\n") => Ok(at + length),
        Some(length) => Err(Malformed::new(at + length, "CR or LF that is no line end", MESSAGE)),
        None => Err(Malformed::new(bytes.len(), "no empty line after the header", MESSAGE)),
    }
}

/// Finds all header lines from `at` to the empty line.
pub(crate) fn index(bytes: &[u8], mut at: usize) -> Result<Index, Malformed> {
    let mut index = Index {
        entries: [Entry::default(); HEADERS_MAX],
        count: 0,
        first: [0; Header::COUNT],
        end: 0,
    };
    while !bytes[at..].starts_with(b"\r\n") {
        let (entry, next) = header_line(bytes, at)?;
        if index.count == HEADERS_MAX {
            return Err(Malformed::new(at, "too many header lines", HEADER_LINE));
        }
        index.entries[index.count] = entry;
        index.count += 1;
        let first = &mut index.first[usize::from(entry.row)];
        if *first == 0 {
            *first = index.count as u8;
        } else if is_once(entry.row) {
            return Err(Malformed::new(at, "header stands twice", HEADER_LINE));
        }
        at = next;
    }
    index.end = at;
    Ok(index)
}

/// Headers that steer transactions, dialogs and framing: a second one is an attack or a fault.
const fn is_once(row: u8) -> bool {
    row == Header::From as u8
        || row == Header::To as u8
        || row == Header::CallId as u8
        || row == Header::CSeq as u8
        || row == Header::MaxForwards as u8
        || row == Header::ContentLength as u8
}

/// One header line with its folds, and where the next one starts.
#[inline]
pub(crate) fn header_line(bytes: &[u8], start: usize) -> Result<(Entry, usize), Malformed> {
    let name_end = octet::run(bytes, start, TOKEN);
    let mut colon = name_end;
    while colon < bytes.len() && matches!(bytes[colon], b' ' | b'\t') {
        colon += 1;
    }
    let name_len = name_end - start;
    if name_len == 0 || bytes.get(colon) != Some(&b':') {
        return Err(Malformed::new(start, "header line without a name and a colon", HEADER_LINE));
    }
    if name_len > HEADER_NAME_BYTES_MAX {
        return Err(Malformed::new(start, "header name is too long", HEADER_LINE));
    }
    let mut end = line_end(bytes, colon + 1)?;
    while matches!(bytes.get(end + 2), Some(b' ' | b'\t')) {
        end = line_end(bytes, end + 2)?;
    }
    let value = octet::run(&bytes[..end], colon + 1, SPACE);
    let mut value_end = end;
    while value_end > value && octet::is(bytes[value_end - 1], SPACE) {
        value_end -= 1;
    }
    let entry = Entry {
        start: start as u16,
        value: value as u16,
        value_end: value_end as u16,
        name_len: name_len as u8,
        row: Header::parse(&bytes[start..name_end]) as u8,
    };
    Ok((entry, end + 2))
}

/// Reads single headers by their row.
struct Reader<'a, 'i> {
    bytes: &'a [u8],
    index: &'i Index,
}

impl<'a> Reader<'a, '_> {
    #[inline]
    fn entry(&self, header: Header) -> Option<Entry> {
        match self.index.first[header as usize] {
            0 => None,
            number => Some(self.index.entries[usize::from(number) - 1]),
        }
    }

    fn offset(&self, header: Header) -> usize {
        self.entry(header).map_or(self.index.end, |entry| entry.value.into())
    }

    #[inline]
    fn read<T>(
        &self,
        header: Header,
        missing: &'static str,
        read: impl FnOnce(&'a [u8]) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        let offence = Malformed::new(self.index.end, missing, MANDATORY);
        let entry = self.entry(header).ok_or(offence)?;
        let value = usize::from(entry.value);
        read(&self.bytes[value..usize::from(entry.value_end)]).map_err(|m| m.shifted(value))
    }

    #[inline]
    fn number(&self, header: Header, max: u64) -> Result<Option<u64>, Malformed> {
        let Some(entry) = self.entry(header) else { return Ok(None) };
        let digits = &self.bytes[usize::from(entry.value)..usize::from(entry.value_end)];
        let what = match header {
            Header::MaxForwards => "Max-Forwards is not 0 to 255",
            _ => "Content-Length is not a number within the limit",
        };
        let offence = Malformed::new(entry.value.into(), what, header.spec());
        octet::number(digits, max).map(Some).ok_or(offence)
    }
}

#[inline]
fn call_id(value: &[u8]) -> Result<&[u8], Malformed> {
    match memchr::memchr2(b' ', b'\t', value) {
        None if !value.is_empty() => Ok(value),
        at => Err(Malformed::new(at.unwrap_or(0), "Call-ID is no word", Header::CallId.spec())),
    }
}

/// A request's CSeq names the request's method (RFC 3261 §8.1.1.5).
fn check_method(start: Start<'_>, cseq: CSeq<'_>, at: usize) -> Result<(), Malformed> {
    match start {
        Start::Request { name, .. } if name != cseq.name => {
            let what = "CSeq names another method than the request";
            Err(Malformed::new(at, what, "RFC 3261 §8.1.1.5"))
        }
        _ => Ok(()),
    }
}
