//! Writing messages: [`sip::write`], and what names our doors or who spoke.

use crate::realm::Door;
use runtime::{Flow, Transport};
pub use sip::HeaderSet as Set;
use sip::overload::unasked;
pub use sip::write::{body, cseq, decimal as number, line, lines, max_forwards, no_body, retagged};
use sip::write::{bracket, user_and_at};
use sip::{Header, Message};
use std::borrow::Cow;
use std::io::Write as _;
use std::net::IpAddr;

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
