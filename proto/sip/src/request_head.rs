//! A look at a request that will not be read: one pass over its head for what an answer without
//! state is made of (RFC 3261 §8.2.6.2, §8.2.7).

use crate::service::{holds_sos, is_sos};
use crate::{LineEnds, NameAddr};

/// Runs of lines that an answer copies at most; a request with more is read as any other.
const LINES_MAX: usize = 16;

/// The words of a request that a stateless answer needs.
#[derive(Debug)]
pub struct RequestHead<'a> {
    /// Its method.
    pub method: &'a [u8],
    /// Its Request-URI.
    pub uri: &'a [u8],
    /// Value of the top Via line.
    pub via: &'a [u8],
    /// Value of the To line.
    pub to: &'a [u8],
    /// Value of the Call-ID line.
    pub call_id: &'a [u8],
    /// Whole lines, line ends included, that go into the answer as they are: those that follow
    /// each other as one.
    lines: [(usize, usize); LINES_MAX],
    count: usize,
    /// Whether it has a Resource-Priority (RFC 4412).
    pub has_priority: bool,
    /// Whether it has an Authorization.
    pub has_credentials: bool,
    bytes: &'a [u8],
}

impl<'a> RequestHead<'a> {
    /// Reads the head of a request; `None` when it is out of the ordinary: it is then to be read
    /// with more care.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut ends = LineEnds::new(bytes, 0);
        let first = ends.step().ok()?;
        let (method, rest) = bytes[..first].split_at(memchr::memchr(b' ', &bytes[..first])?);
        let uri = &rest[1..];
        let uri = &uri[..memchr::memchr(b' ', uri)?];
        let empty = &bytes[..0];
        let mut peek = Self {
            method,
            uri,
            via: empty,
            to: empty,
            call_id: empty,
            lines: [(0, 0); LINES_MAX],
            count: 0,
            has_priority: false,
            has_credentials: false,
            bytes,
        };
        let (mut has, mut at) = (0u8, first + 2);
        loop {
            let end = ends.step().ok()?;
            if end == at {
                break;
            }
            has |= peek.line(&bytes[at..end], at)?;
            at = end + 2;
        }
        (has == 0b1_1111).then_some(peek)
    }

    /// Takes a line; a bit for each that a request must have.
    #[inline(always)]
    fn line(&mut self, line: &'a [u8], at: usize) -> Option<u8> {
        let [first, second, ..] = *line else { return None };
        let bit = match (first | 0x20, second | 0x20) {
            (b' ' | 0x29, _) | (_, b' ' | 0x29) => return None, // a folded line, a short name
            (b'v', b'i' | b':') => match value(line, b"Via", b'v')? {
                Some(value) if self.via.is_empty() => {
                    self.via = value;
                    return Some(1);
                }
                found => u8::from(found.is_some()),
            },
            (b't', b'o' | b':') => {
                let Some(value) = value(line, b"To", b't')? else { return Some(0) };
                self.to = value;
                return Some(2);
            }
            (b'f', b'r' | b':') if value(line, b"From", b'f')?.is_some() => 4,
            (b'c', b's') if value(line, b"CSeq", 0)?.is_some() => 8,
            (b'c', b'a') | (b'i', b':') => {
                let Some(value) = value(line, b"Call-ID", b'i')? else { return Some(0) };
                self.call_id = value;
                16
            }
            (b'a', b'u') => {
                self.has_credentials |= value(line, b"Authorization", 0)?.is_some();
                0
            }
            (b'r', b'e') => {
                self.has_priority |= value(line, b"Resource-Priority", 0)?.is_some();
                0
            }
            _ => 0,
        };
        if bit > 0 {
            let end = at + line.len() + 2;
            match self.lines[..self.count].last_mut() {
                Some((_, last)) if *last == at => *last = end,
                _ => {
                    *self.lines.get_mut(self.count)? = (at, end);
                    self.count += 1;
                }
            }
        }
        Some(bit)
    }

    /// Where the runs of whole lines stand that go into an answer as they are: all Via lines but
    /// the first one, From, Call-ID and CSeq.
    #[must_use]
    pub fn runs(&self) -> &[(usize, usize)] {
        &self.lines[..self.count]
    }

    /// Appends the lines of an answer behind its first Via: further Via lines, From, Call-ID, CSeq,
    /// and To with `tag`.
    pub fn write_lines(&self, out: &mut Vec<u8>, tag: &[u8]) {
        for &(from, to) in self.runs() {
            out.extend_from_slice(&self.bytes[from..to]);
        }
        out.extend_from_slice(b"To: ");
        out.extend_from_slice(self.to);
        out.extend_from_slice(b";tag=");
        out.extend_from_slice(tag);
        out.extend_from_slice(b"\r\n");
    }

    /// Octets of the request, body included.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it stands in a dialog.
    #[must_use]
    pub fn is_tagged(&self) -> bool {
        let params = memchr::memrchr(b'>', self.to).map_or(self.to, |at| &self.to[at..]);
        memchr::memchr(b';', params).is_some()
            && NameAddr::parse(self.to).map_or(true, |to| to.tag().is_some())
    }

    /// Whether it calls for help (RFC 5031), as [`crate::is_emergency`] has it.
    #[must_use]
    pub fn is_emergency(&self, is_believed: bool) -> bool {
        is_sos(self.uri) || is_believed && holds_sos(self.to)
    }
}

/// The value of a header line of that name, written out or as its letter; `None` when nobody
/// would write it like that, and it must be read with more care.
#[inline(always)]
fn value<'a>(line: &'a [u8], name: &[u8], letter: u8) -> Option<Option<&'a [u8]>> {
    let behind = match line {
        [first, b':', rest @ ..] if first | 0x20 == letter => rest,
        _ if !line.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name)) => {
            return Some(None);
        }
        _ => match &line[name.len()..] {
            [b':', rest @ ..] => rest,
            [b' ' | b'\t', ..] => return None,
            _ => return Some(None),
        },
    };
    Some(Some(behind.trim_ascii()))
}

/// The value of the first To line; `None` where it is out of the ordinary.
#[must_use]
pub fn to_value(bytes: &[u8]) -> Option<&[u8]> {
    let mut ends = LineEnds::new(bytes, 0);
    let mut at = ends.step().ok()? + 2;
    loop {
        let end = ends.step().ok()?;
        let line = &bytes[at..end];
        if line.first()? | 0x20 == b't'
            && let Some(value) = value(line, b"To", b't')?
        {
            return Some(value);
        }
        at = end + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_answer_are_found_and_what_is_odd_is_left_alone() {
        let lines = "Via: SIP/2.0/UDP a;branch=z9hG4bK1\r\nv: SIP/2.0/UDP b\r\nFrom: <sip:a>\r\n\
            t: <sip:b>\r\nCSeq: 1 INVITE\r\nSubject: x\r\ni: c1\r\nResource-Priority: q735.0\r\n";
        let text = format!("INVITE sip:b SIP/2.0\r\n{lines}\r\n");
        let peek = RequestHead::read(text.as_bytes()).unwrap();
        assert_eq!(
            (peek.method, peek.uri, peek.to),
            (&b"INVITE"[..], &b"sip:b"[..], &b"<sip:b>"[..])
        );
        assert_eq!((peek.via, peek.call_id), (&b"SIP/2.0/UDP a;branch=z9hG4bK1"[..], &b"c1"[..]));
        assert!(peek.has_priority && !peek.is_tagged() && !peek.is_emergency(true));
        let runs: Vec<&str> = peek.runs().iter().map(|&(from, to)| &text[from..to]).collect();
        assert_eq!(
            runs,
            ["v: SIP/2.0/UDP b\r\nFrom: <sip:a>\r\n", "CSeq: 1 INVITE\r\n", "i: c1\r\n"]
        );
        assert_eq!(to_value(text.as_bytes()), Some(&b"<sip:b>"[..]));
        for (from, to, is_tagged, is_emergency) in [
            ("<sip:b>", "<sip:b>;tag=1", true, false),
            ("<sip:b>", "<sip:b;tag=1>", false, false),
            ("<sip:b>", "<urn:service:SOS.fire>", false, true),
            ("sip:b S", "urn:service:sos S", false, true),
        ] {
            let text = text.replacen(from, to, 1);
            let peek = RequestHead::read(text.as_bytes()).unwrap();
            let found = (peek.is_tagged(), peek.is_emergency(true));
            assert_eq!(found, (is_tagged, is_emergency), "{to}");
            let is_there = is_emergency && to.starts_with("urn");
            assert_eq!(peek.is_emergency(false), is_there, "{to}");
        }
        for (from, to) in
            [("Subject: ", " "), ("CSeq", "Sec"), ("i: ", "i : "), ("\r\n\r\n", "\r\n")]
        {
            assert!(RequestHead::read(text.replacen(from, to, 1).as_bytes()).is_none(), "{to}");
        }
    }
}
