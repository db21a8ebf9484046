//! Writing messages: what stays is copied in one piece, what changes is written between.

use crate::realm::Door;
use runtime::{Flow, Transport};
use sip::overload::unasked;
use sip::{Header, Message};
use std::borrow::Cow;
use std::io::Write as _;
use std::net::IpAddr;

/// A set of header rows, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Set(u128);

const _: () = assert!(Header::COUNT <= 128, "a set has a bit for every row");

impl Set {
    /// These rows.
    #[must_use]
    pub const fn of(headers: &[Header]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < headers.len() {
            bits |= 1 << headers[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    /// Both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the row is in the set.
    #[must_use]
    pub const fn has(self, header: Header) -> bool {
        self.0 >> header as u8 & 1 == 1
    }
}

/// What a request loses on its way across: it belongs to one leg only.
pub const REQUEST: Set = Set::of(&[
    Header::Via,
    Header::From,
    Header::To,
    Header::CallId,
    Header::CSeq,
    Header::Contact,
    Header::MaxForwards,
    Header::Route,
    Header::RecordRoute,
]);

/// What a response loses on its way across.
pub const RESPONSE: Set = Set::of(&[
    Header::Via,
    Header::From,
    Header::To,
    Header::CallId,
    Header::CSeq,
    Header::Contact,
    Header::RecordRoute,
]);

/// Copies the lines whose row is not in `drop`, neighbours in one piece.
#[inline]
pub fn lines(out: &mut Vec<u8>, message: &Message<'_>, drop: Set) {
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
pub fn no_body(out: &mut Vec<u8>) {
    out.extend_from_slice(b"Content-Length: 0\r\n\r\n");
}

/// `Content-Length: n`.
pub fn content_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"Content-Length: ");
    number(out, length as u64);
    out.extend_from_slice(b"\r\n");
}

/// A decimal number.
#[inline]
pub fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
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

/// `Name: value` and the line's end.
pub fn line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// `CSeq: number METHOD`.
#[inline]
pub fn cseq(out: &mut Vec<u8>, number_: u32, method: &[u8]) {
    out.extend_from_slice(b"CSeq: ");
    number(out, number_.into());
    out.push(b' ');
    out.extend_from_slice(method);
    out.extend_from_slice(b"\r\n");
}

/// `Max-Forwards: n`.
#[inline]
pub fn max_forwards(out: &mut Vec<u8>, hops: u8) {
    out.extend_from_slice(b"Max-Forwards: ");
    number(out, hops.into());
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

/// Our Contact in place of theirs: their user and the features they announce stay, the address
/// is our door's (topology hiding). Nothing when they sent none.
#[inline]
pub fn contact(out: &mut Vec<u8>, message: &Message<'_>, door: &Door) {
    let Some(value) = message.header(Header::Contact) else { return };
    // Theirs is `sips:` when the dialog is secure end to end; then ours is (RFC 3261 §12.1.1). It
    // says TLS by itself: `transport=tls` does not stand beside it (§26.2.2).
    let is_secure = door.transport == Transport::Tls && is_sips(&value[bracket(value)..]);
    out.extend_from_slice(if is_secure { b"Contact: <sips:" } else { b"Contact: <sip:" });
    out.extend_from_slice(user_and_at(value));
    let host = if is_secure { door.sent_by.as_bytes() } else { &door.uri_host };
    out.extend_from_slice(host);
    out.push(b'>');
    let uri = bracket(value);
    let features =
        memchr::memchr(b'>', &value[uri..]).map_or(b"".as_slice(), |end| &value[uri + end + 1..]);
    out.extend_from_slice(features);
    out.extend_from_slice(b"\r\n");
}

fn is_sips(uri: &[u8]) -> bool {
    uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"sips:"))
}

/// Where the URI of a header value begins: behind its bracket, if it has one.
#[inline]
fn bracket(value: &[u8]) -> usize {
    let quoted = match value {
        [b'"', rest @ ..] => memchr::memchr(b'"', rest).map_or(0, |end| end + 2),
        _ => 0,
    };
    memchr::memchr(b'<', &value[quoted..]).map_or(0, |at| quoted + at + 1)
}

/// `user@` of the first URI in a header value; empty when it has no user.
#[inline]
fn user_and_at(value: &[u8]) -> &[u8] {
    let uri = &value[bracket(value)..];
    let end = memchr::memchr(b'>', uri).unwrap_or(uri.len());
    let (Some(colon), Some(at)) = (memchr::memchr(b':', uri), memchr::memchr(b'@', &uri[..end]))
    else {
        return b"";
    };
    uri.get(colon + 1..=at).unwrap_or(b"")
}

/// The lines that every response to `message` begins with (RFC 3261 §8.2.6.2), Via completed
/// with what was seen of the sender (§18.2.1, RFC 3581 §4). To gets `tag` unless it has one.
/// `oc` is what the neighbour is told of overload ([`sip::overload`]).
/// Returns the offset of the tag's last octet, zero when none was added.
pub fn response_head(
    head: &mut Vec<u8>,
    message: &Message<'_>,
    flow: &Flow,
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
                first_via(head, &message.via(), value, flow, oc);
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
pub fn first_via(head: &mut Vec<u8>, via: &sip::Via<'_>, value: &[u8], flow: &Flow, oc: &[u8]) {
    head.extend_from_slice(b"Via: ");
    let wants_rport = via.rport.is_some();
    let ip = flow.remote.ip();
    let end = value.len().min(via.raw.len());
    let (own, rest) = value.split_at(end);
    let own = &*if oc.is_empty() { Cow::Borrowed(own) } else { Cow::Owned(unasked(own)) };
    match if via.rport == Some(None) { rport(own) } else { None } {
        Some(at) => {
            head.extend_from_slice(&own[..at]);
            head.push(b'=');
            number(head, flow.remote.port().into());
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

/// An IP address as text, without brackets.
fn put_ip(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => {
            for (at, octet) in ip.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                number(out, octet.into());
            }
        }
        IpAddr::V6(ip) => write!(out, "{ip}").expect("writing to memory does not fail"),
    }
}

/// Whether the host of a sent-by is this address, as text.
fn is_address(host: &[u8], ip: IpAddr) -> bool {
    address(host) == Some(ip)
}

/// A host that is an IP address, brackets allowed.
#[must_use]
pub fn address(host: &[u8]) -> Option<IpAddr> {
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
    fn numbers_are_written_in_decimal() {
        for value in [0u64, 7, 10, 4_294_967_295, u64::MAX] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(out, value.to_string().into_bytes());
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
        assert_eq!(user_and_at(b"sip:bob@host"), b"bob@");
        assert_eq!(user_and_at(b"<sip:host;x=y>"), b"");
        assert_eq!(user_and_at(b"<sip:host>;x=\"a@b\""), b"");
    }
}
