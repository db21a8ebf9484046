//! A slim reading of a message: only what a dialog's end needs, in one pass over the lines.
//!
//! It trusts the shape of what the element under test sends more than [`sip::Message`] does: the
//! generator must be several times faster than what it measures. Compact forms are known; folded
//! lines are not.

use sip::Method;

/// Via or Record-Route lines of one message.
const LINES_MAX: usize = 16;

/// A range of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First octet.
    pub start: u32,
    /// Behind the last octet.
    pub end: u32,
}

impl Span {
    const fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// The octets.
    #[must_use]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..self.end as usize]
    }

    /// Whether nothing is there.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Ranges of values of one header, in order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spans {
    spans: [Span; LINES_MAX],
    len: usize,
}

impl Spans {
    fn push(&mut self, span: Span) -> Option<()> {
        *self.spans.get_mut(self.len)? = span;
        self.len += 1;
        Some(())
    }

    /// The values, in the order of the message.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Span> + '_ {
        self.spans[..self.len].iter().copied()
    }
}

/// What was found in a message.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// The message.
    pub bytes: &'a [u8],
    /// Status of a response, zero for a request.
    pub status: u16,
    /// Method of the request, or that of the CSeq of a response.
    pub method: Method,
    /// Number of the CSeq.
    pub cseq: u32,
    /// Value of the CSeq line.
    pub cseq_value: Span,
    /// Via values, one a line.
    pub vias: Spans,
    /// Record-Route values, one a line.
    pub record_routes: Spans,
    /// Value of From.
    pub from: Span,
    /// Value of To.
    pub to: Span,
    /// Value of Call-ID.
    pub call_id: Span,
    /// Value of the first Contact.
    pub contact: Span,
    /// RSeq, zero when there is none.
    pub rseq: u32,
    /// First number of RAck, zero when there is none.
    pub rack: u32,
}

impl<'a> Scan<'a> {
    /// Reads a message; `None` when a mandatory line is missing or the shape is not SIP's.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let first = memchr::memchr(b'\n', bytes)?;
        let mut scan = Self {
            bytes,
            status: 0,
            method: Method::Other,
            cseq: 0,
            cseq_value: Span::default(),
            vias: Spans::default(),
            record_routes: Spans::default(),
            from: Span::default(),
            to: Span::default(),
            call_id: Span::default(),
            contact: Span::default(),
            rseq: 0,
            rack: 0,
        };
        let start = &bytes[..first];
        if let Some(rest) = start.strip_prefix(b"SIP/2.0 ") {
            scan.status = number(rest.get(..3)?)? as u16;
        } else {
            let name = memchr::memchr(b' ', start)?;
            scan.method = Method::parse(&start[..name]);
        }
        let mut at = first + 1;
        while let Some(length) = memchr::memchr(b'\n', &bytes[at..]) {
            let end = at + length;
            let line_end = if end > at && bytes[end - 1] == b'\r' { end - 1 } else { end };
            if line_end == at {
                break;
            }
            scan.line(at, line_end)?;
            at = end + 1;
        }
        let whole = !scan.from.is_empty()
            && !scan.to.is_empty()
            && !scan.call_id.is_empty()
            && !scan.cseq_value.is_empty()
            && scan.vias.len > 0;
        whole.then_some(scan)
    }

    fn line(&mut self, start: usize, end: usize) -> Option<()> {
        let line = &self.bytes[start..end];
        let colon = memchr::memchr(b':', line)?;
        let name = line[..colon].trim_ascii_end();
        let mut value = start + colon + 1;
        while value < end && self.bytes[value] == b' ' {
            value += 1;
        }
        let span = Span::new(value, end);
        let is = |long: &[u8], short: u8| {
            name.eq_ignore_ascii_case(long) || (name.len() == 1 && name[0] | 0x20 == short)
        };
        match name.first().map(|c| c | 0x20)? {
            b'v' if is(b"Via", b'v') => self.vias.push(span)?,
            b'f' if is(b"From", b'f') => self.from = span,
            b't' if is(b"To", b't') => self.to = span,
            b'i' if is(b"", b'i') => self.call_id = span,
            b'm' if is(b"", b'm') => self.set_contact(span),
            b'c' => self.line_c(name, span)?,
            b'r' => self.line_r(name, span)?,
            _ => {}
        }
        Some(())
    }

    fn set_contact(&mut self, span: Span) {
        if self.contact.is_empty() {
            self.contact = span;
        }
    }

    fn line_c(&mut self, name: &[u8], span: Span) -> Option<()> {
        match name.len() {
            7 if name.eq_ignore_ascii_case(b"Call-ID") => self.call_id = span,
            7 if name.eq_ignore_ascii_case(b"Contact") => self.set_contact(span),
            4 if name.eq_ignore_ascii_case(b"CSeq") => {
                self.cseq_value = span;
                let value = span.of(self.bytes);
                let space = memchr::memchr(b' ', value)?;
                self.cseq = number(&value[..space])?;
                let method = Method::parse(value[space..].trim_ascii());
                if self.status != 0 {
                    self.method = method;
                } else if method != self.method {
                    return None;
                }
            }
            _ => {}
        }
        Some(())
    }

    fn line_r(&mut self, name: &[u8], span: Span) -> Option<()> {
        match name.len() {
            12 if name.eq_ignore_ascii_case(b"Record-Route") => self.record_routes.push(span)?,
            4 if name.eq_ignore_ascii_case(b"RSeq") => {
                self.rseq = number(span.of(self.bytes).trim_ascii())?;
            }
            4 if name.eq_ignore_ascii_case(b"RAck") => {
                let value = span.of(self.bytes);
                self.rack = number(&value[..memchr::memchr(b' ', value)?])?;
            }
            _ => {}
        }
        Some(())
    }

    /// What follows the blank line.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        let end = memchr::memmem::find(self.bytes, b"\r\n\r\n").map(|at| at + 4);
        end.map_or(&[], |end| &self.bytes[end..])
    }

    /// Every line of a header by its full name, without line end.
    pub fn lines_named(&self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + 'a {
        let lines = self.bytes.split(|&c| c == b'\n').skip(1);
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.take_while(|line| !line.is_empty()).filter(move |line| {
            line.get(..name.len()).is_some_and(|n| n.eq_ignore_ascii_case(name.as_bytes()))
                && line[name.len()..].trim_ascii_start().starts_with(b":")
        })
    }
}

/// The `tag` parameter of a From or To value.
#[must_use]
pub fn tag(value: &[u8]) -> Option<&[u8]> {
    let params = memchr::memrchr(b'>', value).map_or(0, |at| at + 1);
    let at = memchr::memmem::find(&value[params..], b";tag=")? + params + 5;
    let end = value[at..].iter().position(|&c| matches!(c, b';' | b' ' | b',' | b'\t'));
    Some(&value[at..end.map_or(value.len(), |end| at + end)])
}

/// The URI of a Contact, From or Route value.
#[must_use]
pub fn uri(value: &[u8]) -> &[u8] {
    let Some(open) = memchr::memchr(b'<', value) else {
        let end = memchr::memchr(b';', value).unwrap_or(value.len());
        return value[..end].trim_ascii();
    };
    let close = memchr::memchr(b'>', &value[open..]).map_or(value.len(), |end| open + end);
    &value[open + 1..close]
}

/// A decimal number of at most ten digits.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 10 {
        return None;
    }
    let mut value = 0u64;
    for digit in digits {
        value = value * 10 + u64::from(digit.checked_sub(b'0').filter(|d| *d < 10)?);
    }
    u32::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RINGING: &[u8] = b"SIP/2.0 180 Ringing\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK1\r\n\
        v: SIP/2.0/UDP 127.0.0.2;branch=z9hG4bK2\r\nRecord-Route: <sip:p1;lr>\r\n\
        From: \"A;tag=no\" <sip:a@x>;tag=aa\r\nt: <sip:b@x>;tag=bb;x=y\r\ni: 7@x\r\n\
        CSeq: 41 INVITE\r\nm: <sip:b@127.0.0.3:5070;transport=udp>;q=1\r\nRSeq: 9\r\n\
        Content-Length: 0\r\n\r\n";

    #[test]
    fn a_response_is_read_with_compact_forms() {
        let scan = Scan::read(RINGING).unwrap();
        assert_eq!((scan.status, scan.method, scan.cseq), (180, Method::Invite, 41));
        assert_eq!((scan.rseq, scan.rack), (9, 0));
        assert_eq!(scan.vias.iter().count(), 2);
        assert_eq!(tag(scan.from.of(RINGING)), Some(&b"aa"[..]));
        assert_eq!(tag(scan.to.of(RINGING)), Some(&b"bb"[..]));
        assert_eq!(uri(scan.contact.of(RINGING)), b"sip:b@127.0.0.3:5070;transport=udp");
        assert_eq!(scan.call_id.of(RINGING), b"7@x");
        assert_eq!(scan.lines_named("record-route").collect::<Vec<_>>().len(), 1);
    }

    #[test]
    fn no_prefix_of_a_message_panics_and_a_missing_line_is_told() {
        for end in 0..RINGING.len() {
            let _ = Scan::read(&RINGING[..end]);
        }
        let text = String::from_utf8(RINGING.to_vec()).unwrap();
        assert!(Scan::read(text.replace("CSeq: 41 INVITE\r\n", "").as_bytes()).is_none());
        assert!(Scan::read(text.replace("CSeq: 41", "CSeq: x").as_bytes()).is_none());
    }

    #[test]
    fn a_request_whose_cseq_names_another_method_is_refused() {
        let bye = b"BYE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1\r\nFrom: <sip:a@x>;\
            tag=a\r\nTo: <sip:b@x>;tag=b\r\nCall-ID: 1\r\nCSeq: 2 ACK\r\n\r\n";
        assert!(Scan::read(bye).is_none());
    }
}
