//! Writing a message into a buffer, header by header; and what crosses from one message into
//! another: what stays is copied in one piece, what changes is written between.

use crate::header::Header;
use crate::message::{Line, Message};
use crate::octet;
use crate::overload::unasked;
use crate::set::HeaderSet;
pub use crate::text::decimal;
use crate::text::{ipv4, put_ip};
use crate::via::Via;
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

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

/// Copies the lines whose row is not in `drop`, neighbours in one piece.
#[inline]
pub fn lines(out: &mut Vec<u8>, message: &Message<'_>, drop: HeaderSet) {
    let base = message.raw().as_ptr() as usize;
    let bytes = message.raw();
    let (mut start, mut end) = (0, 0);
    for (header, line) in message.rows() {
        if drop.has(header) {
            continue;
        }
        let at = line.as_ptr() as usize - base;
        if at != end {
            out.extend_from_slice(&bytes[start..end]);
            start = at;
        }
        end = at + line.len();
    }
    out.extend_from_slice(&bytes[start..end]);
}

/// Ends a message with the body of another: its Content-Length was copied, or is added here.
#[inline]
pub fn body(out: &mut Vec<u8>, message: &Message<'_>) {
    let body = message.body();
    if !message.has(Header::ContentLength) {
        content_length(out, body.len());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

/// Ends a message that has no body.
#[inline]
pub fn no_body(out: &mut Vec<u8>) {
    out.extend_from_slice(b"Content-Length: 0\r\n\r\n");
}

/// `Content-Length: n`.
#[inline]
pub fn content_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"Content-Length: ");
    decimal(out, length as u64);
    out.extend_from_slice(b"\r\n");
}

/// `Name: value` and the line's end.
#[inline]
pub fn line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// `CSeq: number METHOD`.
#[inline]
pub fn cseq(out: &mut Vec<u8>, number: u32, method: &[u8]) {
    out.extend_from_slice(b"CSeq: ");
    decimal(out, number.into());
    out.push(b' ');
    out.extend_from_slice(method);
    out.extend_from_slice(b"\r\n");
}

/// `Max-Forwards: n`.
#[inline]
pub fn max_forwards(out: &mut Vec<u8>, hops: u8) {
    out.extend_from_slice(b"Max-Forwards: ");
    decimal(out, hops.into());
    out.extend_from_slice(b"\r\n");
}

/// A header value with its `tag` parameter exchanged, or added if it has none.
#[inline]
pub fn retagged(out: &mut Vec<u8>, value: &[u8], old: Option<&[u8]>, new: &[u8]) {
    let place = old.and_then(|old| {
        let at = (old.as_ptr() as usize).checked_sub(value.as_ptr() as usize)?;
        (at + old.len() <= value.len()).then_some((at, at + old.len()))
    });
    if let Some((start, end)) = place {
        out.extend_from_slice(&value[..start]);
        out.extend_from_slice(new);
        out.extend_from_slice(&value[end..]);
    } else {
        out.extend_from_slice(value);
        out.extend_from_slice(b";tag=");
        out.extend_from_slice(new);
    }
}

/// Where the URI of a header value begins: behind its bracket, if it has one.
#[must_use]
#[inline]
pub fn bracket(value: &[u8]) -> usize {
    let quoted = match value {
        [b'"', ..] => octet::quoted_end(value, 0).unwrap_or(0),
        _ => 0,
    };
    memchr::memchr(b'<', &value[quoted..]).map_or(0, |at| quoted + at + 1)
}

/// `user@` of the first URI in a header value; empty when it has no user that a URI may have.
#[must_use]
#[inline]
pub fn user_and_at(value: &[u8]) -> &[u8] {
    let uri = &value[bracket(value)..];
    let end = memchr::memchr(b'>', uri).unwrap_or(uri.len());
    let (Some(colon), Some(at)) = (memchr::memchr(b':', uri), memchr::memchr(b'@', &uri[..end]))
    else {
        return b"";
    };
    match uri.get(colon + 1..=at) {
        Some(user) if user.len() > 1 && octet::uri_run(user, 0) == user.len() => user,
        _ => b"",
    }
}

/// The lines that every response to `message` begins with (RFC 3261 §8.2.6.2), Via completed
/// with what was seen of the sender (§18.2.1, RFC 3581 §4). To gets `tag` unless it has one.
/// `oc` is what the neighbour is told of overload ([`crate::overload`]).
/// Returns the offset of the tag's last octet, zero when none was added.
pub fn response_head(
    head: &mut Vec<u8>,
    message: &Message<'_>,
    from: SocketAddr,
    tag: Option<&[u8]>,
    oc: &[u8],
) -> usize {
    let mut is_first_via = true;
    let mut fork_at = 0;
    for (header, line) in message.rows() {
        match header {
            Header::Via if is_first_via => {
                is_first_via = false;
                let value = message.header(header).unwrap_or_default();
                first_via(head, &message.via(), value, from, oc);
            }
            Header::To if message.to_tag().is_none() && tag.is_some() => {
                head.extend_from_slice(b"To: ");
                let value = message.header(header).unwrap_or_default();
                retagged(head, value, None, tag.unwrap_or_default());
                fork_at = head.len() - 1;
                head.extend_from_slice(b"\r\n");
            }
            Header::Via | Header::RecordRoute | Header::From | Header::To => {
                head.extend_from_slice(line);
            }
            Header::CallId | Header::CSeq => head.extend_from_slice(line),
            _ => {}
        }
    }
    fork_at
}

/// The top Via with `received`, `rport` and `oc` filled in.
pub fn first_via(head: &mut Vec<u8>, via: &Via<'_>, value: &[u8], from: SocketAddr, oc: &[u8]) {
    head.extend_from_slice(b"Via: ");
    let wants_rport = via.rport.is_some();
    let ip = from.ip();
    let end = value.len().min(via.raw.len());
    let (own, rest) = value.split_at(end);
    let own = &*if oc.is_empty() { Cow::Borrowed(own) } else { Cow::Owned(unasked(own)) };
    match if via.rport == Some(None) { rport(own) } else { None } {
        Some(at) => {
            head.extend_from_slice(&own[..at]);
            head.push(b'=');
            decimal(head, from.port().into());
            head.extend_from_slice(&own[at..]);
        }
        None => head.extend_from_slice(own),
    }
    if via.received.is_none() && (wants_rport || !is_address(via.host, ip)) {
        head.extend_from_slice(b";received=");
        put_ip(head, ip);
    }
    head.extend_from_slice(oc);
    head.extend_from_slice(rest);
    head.extend_from_slice(b"\r\n");
}

/// Where the `rport` flag of a Via ends.
fn rport(via: &[u8]) -> Option<usize> {
    memchr::memrchr_iter(b';', via).find_map(|semicolon| {
        let param = via[semicolon + 1..].trim_ascii_start();
        let (name, behind) = param.split_at_checked(b"rport".len())?;
        let is_flag = matches!(behind, [] | [b';' | b',' | b' ' | b'\t' | b'\r', ..]);
        (is_flag && name.eq_ignore_ascii_case(b"rport")).then_some(via.len() - behind.len())
    })
}

/// Whether the host of a sent-by is this address, as text.
fn is_address(host: &[u8], ip: IpAddr) -> bool {
    address(host) == Some(ip)
}

/// A host that is an IP address, brackets allowed.
#[must_use]
pub fn address(host: &[u8]) -> Option<IpAddr> {
    if let Some(ip) = ipv4(host) {
        return Some(IpAddr::V4(ip));
    }
    let inner = match host {
        [b'[', inner @ .., b']'] => inner,
        _ => host,
    };
    std::str::from_utf8(inner).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_tag_is_exchanged_in_its_place() {
        let value = b"\"tag=x\" <sip:a@b>;tag=old;x=1";
        let old = &value[22..25];
        assert_eq!(old, b"old");
        let mut out = Vec::new();
        retagged(&mut out, value, Some(old), b"new");
        assert_eq!(out, b"\"tag=x\" <sip:a@b>;tag=new;x=1");
        out.clear();
        retagged(&mut out, b"<sip:a@b>", None, b"new");
        assert_eq!(out, b"<sip:a@b>;tag=new");
    }

    #[test]
    fn the_user_of_a_contact_is_kept() {
        assert_eq!(user_and_at(b"\"A: @\" <sip:alice@10.0.0.1:5060;ob>;x"), b"alice@");
        assert_eq!(user_and_at(b"\"A\\\" <sip:x@y>\" <sip:alice@h>"), b"alice@");
        assert_eq!(user_and_at(b"sip:bob@host"), b"bob@");
        assert_eq!(user_and_at(b"<sip:host;x=y>"), b"");
        assert_eq!(user_and_at(b"<sip:host>;x=\"a@b\""), b"");
        assert_eq!(user_and_at(b"<sip:@host>"), b"");
        assert_eq!(user_and_at(b"<sip:a b@host>"), b"");
    }
}
