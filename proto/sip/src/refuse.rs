//! The answer to a request that cannot be read (RFC 3261 §8.2, §16.3, §21.4.1).
//!
//! A response needs Via, From, To, Call-ID and CSeq of the request (RFC 3261 §8.2.6.2); when
//! those lines can be found, they are copied, whatever stands in them.

use crate::address::NameAddr;
use crate::header::Header;
use crate::line::LineEnds;
use crate::message::{Message, Start};
use crate::method::Method;
use crate::octet;
use crate::parse::{self, WRONG_VERSION};
use crate::write::Writer;
use wire::Malformed;

/// The section of a violation that asks for 513 (Message Too Large).
pub const TOO_LARGE_SPEC: &str = "RFC 3261 §21.5.7";

/// The status a violation asks for: 505 for another version, 513 for too many octets or lines, 400
/// for all else.
#[must_use]
pub fn status(violation: &Malformed) -> u16 {
    match violation.what {
        WRONG_VERSION => 505,
        _ if violation.spec == TOO_LARGE_SPEC => 513,
        _ => 400,
    }
}

/// Appends the refusal of the request in `bytes` that [`Message::parse`] found malformed; the
/// reason phrase names the violation (RFC 3261 §21.4.1), `tag` becomes To's tag if it has none.
///
/// Appends nothing and returns `None` when no answer may be given: it is a response or an ACK, or
/// there is no Via at all. Otherwise returns the status; the answer goes back to where the request
/// came from, because its Via may be what is malformed.
pub fn refuse(bytes: &[u8], violation: &Malformed, tag: &[u8], out: &mut Vec<u8>) -> Option<u16> {
    if bytes.len() > crate::MESSAGE_BYTES_MAX || bytes.get(..4).is_some_and(is_response) {
        return None;
    }
    let end = LineEnds::new(bytes, 0).step().ok()?;
    if matches!(parse::start_line(&bytes[..end]), Ok(Start::Request { method: Method::Ack, .. })) {
        return None;
    }
    let head = memchr::memchr(b'\n', bytes)? + 1;
    let begin = out.len();
    let status = status(violation);
    let reason = if status == 505 { crate::reason(505) } else { violation.what };
    let mut writer = Writer::response(out, status, reason.as_bytes());
    let is_answerable = copy_lines(bytes, head, tag, &mut writer);
    writer.end();
    if is_answerable {
        Some(status)
    } else {
        out.truncate(begin);
        None
    }
}

fn is_response(head: &[u8]) -> bool {
    octet::same(head, b"SIP/")
}

/// Copies the lines a response needs; says whether a Via was among them.
fn copy_lines(bytes: &[u8], head: usize, tag: &[u8], writer: &mut Writer<'_>) -> bool {
    let mut has_via = false;
    for (header, value, raw) in (RawLines { bytes, at: head }) {
        match header {
            Header::Via => {
                has_via = true;
                writer.copy_raw(raw);
            }
            Header::From | Header::CallId | Header::CSeq => writer.copy_raw(raw),
            Header::To if is_tagged(value) => writer.copy_raw(raw),
            Header::To => writer.header_with(Header::To, |out| {
                out.extend_from_slice(value);
                out.extend_from_slice(b";tag=");
                out.extend_from_slice(tag);
            }),
            _ => {}
        }
    }
    has_via
}

/// Whether a To has a tag, as far as a malformed one can tell.
fn is_tagged(value: &[u8]) -> bool {
    match NameAddr::parse(value) {
        Ok(address) => address.tag().is_some(),
        Err(_) => memchr::memmem::find(value, b";tag=").is_some(),
    }
}

/// Header lines as far as they can be told apart; what is none is skipped.
pub(crate) struct RawLines<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where the next line begins.
    pub(crate) at: usize,
}

impl<'a> Iterator for RawLines<'a> {
    type Item = (Header, &'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.bytes.len() && !self.bytes[self.at..].starts_with(b"\r\n") {
            let mut ends = LineEnds::new(self.bytes, self.at);
            let line =
                ends.step().and_then(|end| parse::header_line(self.bytes, self.at, end, &mut ends));
            match line {
                Ok(line) => {
                    let raw = &self.bytes[self.at..line.end + 2];
                    let value = octet::trim(&self.bytes[line.value..line.end]);
                    self.at = line.end + 2;
                    return Some((line.header, value, raw));
                }
                Err(_) => {
                    self.at += memchr::memchr(b'\n', &self.bytes[self.at..])? + 1;
                }
            }
        }
        None
    }
}

impl Message<'_> {
    /// The status with which a request that is well-formed must be refused all the same, before
    /// anybody looks at what it wants: 416 for an unknown scheme, 483 for no hops left.
    #[must_use]
    pub fn refusal(&self) -> Option<u16> {
        let uri = self.uri()?;
        if uri.scheme == crate::Scheme::Other {
            return Some(416);
        }
        (self.max_forwards() == Some(0) && self.method() != Method::Options).then_some(483)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = "OPTIONS sip:a@b SIP/7.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\n\
        From: <sip:x@y>;tag=1\r\nbroken line\r\nt: \"unbalanced <sip:a@b>\r\nCall-ID: c\r\n\
        Subject: left out\r\nCSeq: 1 OPTIONS\r\n\r\n";

    #[test]
    fn an_unreadable_request_gets_an_answer_with_its_own_lines() {
        let violation = Message::parse(REQUEST.as_bytes()).unwrap_err();
        let mut out = Vec::new();
        assert_eq!(refuse(REQUEST.as_bytes(), &violation, b"t1", &mut out), Some(505));
        let expected = "SIP/2.0 505 Version Not Supported\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\n\
            From: <sip:x@y>;tag=1\r\nTo: \"unbalanced <sip:a@b>;tag=t1\r\nCall-ID: c\r\n\
            CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_response_an_ack_and_a_request_without_via_get_no_answer() {
        let violation = Malformed::new(0, "any", "RFC 3261 §7");
        for text in [
            "SIP/2.0 999 Odd\r\nVia: SIP/2.0/UDP h\r\n\r\n",
            "ACK sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP h\r\n\r\n",
            "INVITE sip:a@b SIP/2.0\r\nFrom: <sip:a@b>\r\n\r\n",
            "INVITE sip:a@b SIP/2.0",
            "",
        ] {
            let mut out = Vec::new();
            assert_eq!(refuse(text.as_bytes(), &violation, b"t", &mut out), None, "{text}");
            assert!(out.is_empty());
        }
    }
}
