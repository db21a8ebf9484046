//! Writing a message into a buffer, header by header.

use crate::header::Header;
use crate::message::Line;

/// Digits of the largest 64-bit number.
const DECIMAL_DIGITS_MAX: usize = 20;

/// Appends one message to a buffer. Ends with [`Writer::body`] or [`Writer::end`], which write
/// Content-Length and the empty line.
#[derive(Debug)]
#[must_use = "a message ends with body() or end()"]
pub struct Writer<'b> {
    out: &'b mut Vec<u8>,
}

impl<'b> Writer<'b> {
    /// Begins a request.
    pub fn request(out: &'b mut Vec<u8>, method_name: &[u8], uri: &[u8]) -> Self {
        out.extend_from_slice(method_name);
        out.push(b' ');
        out.extend_from_slice(uri);
        out.extend_from_slice(b" SIP/2.0\r\n");
        Self { out }
    }

    /// Begins a response; `status` is 100 to 699.
    pub fn response(out: &'b mut Vec<u8>, status: u16, reason: &[u8]) -> Self {
        out.extend_from_slice(b"SIP/2.0 ");
        decimal(out, status.into());
        out.push(b' ');
        out.extend_from_slice(reason);
        out.extend_from_slice(b"\r\n");
        Self { out }
    }

    /// Writes a header with its name as its specification has it.
    #[inline]
    pub fn header(&mut self, header: Header, value: &[u8]) {
        self.named(header.name().as_bytes(), value);
    }

    /// Writes a header whose value `write` appends.
    #[inline]
    pub fn header_with(&mut self, header: Header, write: impl FnOnce(&mut Vec<u8>)) {
        self.name(header.name().as_bytes());
        write(self.out);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Writes a header whose value is a number.
    pub fn number(&mut self, header: Header, value: u64) {
        self.header_with(header, |out| decimal(out, value));
    }

    /// Writes a header under any name.
    #[inline]
    pub fn named(&mut self, name: &[u8], value: &[u8]) {
        self.name(name);
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Copies a header line octet by octet.
    #[inline]
    pub fn copy(&mut self, line: &Line<'_>) {
        self.out.extend_from_slice(line.raw);
    }

    /// Copies header lines octet by octet; `raw` is whole lines with their CRLF.
    #[inline]
    pub fn copy_raw(&mut self, raw: &[u8]) {
        self.out.extend_from_slice(raw);
    }

    /// Writes Content-Type, Content-Length, the empty line and the body.
    pub fn body(mut self, content_type: Option<&[u8]>, body: &[u8]) {
        if let Some(content_type) = content_type {
            self.header(Header::ContentType, content_type);
        }
        self.number(Header::ContentLength, body.len() as u64);
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(body);
    }

    /// Ends a message without a body.
    pub fn end(self) {
        self.out.extend_from_slice(b"Content-Length: 0\r\n\r\n");
    }

    #[inline]
    fn name(&mut self, name: &[u8]) {
        self.out.extend_from_slice(name);
        self.out.extend_from_slice(b": ");
    }
}

/// Appends a decimal number.
pub fn decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; DECIMAL_DIGITS_MAX];
    let mut at = DECIMAL_DIGITS_MAX;
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = Vec::new();
        let mut writer = Writer::request(&mut out, b"MESSAGE", b"sip:b@y");
        writer.header(Header::Via, b"SIP/2.0/TCP x;branch=z9hG4bK1");
        writer.number(Header::MaxForwards, 70);
        writer.header(Header::From, b"<sip:a@x>;tag=1");
        writer.header(Header::To, b"<sip:b@y>");
        writer.header(Header::CallId, b"c");
        writer.header_with(Header::CSeq, |out| out.extend_from_slice(b"7 MESSAGE"));
        writer.named(b"X-Odd", b"kept");
        writer.body(Some(b"text/plain"), b"hello");
        let message = Message::parse(&out).unwrap();
        assert_eq!(message.cseq().number, 7);
        assert_eq!(message.max_forwards(), Some(70));
        assert_eq!(message.header(Header::ContentType), Some(&b"text/plain"[..]));
        assert_eq!(message.named(b"x-odd").next(), Some(&b"kept"[..]));
        assert_eq!(message.body(), b"hello");
    }

    #[test]
    fn a_number_is_written_in_full() {
        for value in [0, 7, 10, 65_535, u64::MAX] {
            let mut out = Vec::new();
            decimal(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
        }
    }
}
