//! Writing messages: [`sip::write`], and what names our listeners or who spoke.

use crate::realm::Listener;
use runtime::{Flow, Transport};
pub use sip::HeaderSet as Set;
pub use sip::write::{
    address, body, content_length, cseq, decimal as number, line, lines, max_forwards, no_body,
    retagged,
};
use sip::write::{bracket, user_and_at};
use sip::{Header, Message};

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
/// is our listener's (topology hiding). Nothing when they sent none.
#[inline]
pub fn contact(out: &mut Vec<u8>, message: &Message<'_>, listener: &Listener) {
    // The first address is theirs; the others of a list would cross with what they name.
    let Some(value) = message.first(Header::Contact) else { return };
    // Theirs is `sips:` when the dialog is secure end to end; then ours is (RFC 3261 §12.1.1). It
    // says TLS by itself: `transport=tls` does not stand beside it (§26.2.2).
    let is_secure = listener.transport == Transport::Tls && is_sips(&value[bracket(value)..]);
    out.extend_from_slice(if is_secure { b"Contact: <sips:" } else { b"Contact: <sip:" });
    out.extend_from_slice(user_and_at(value));
    let host = if is_secure { listener.sent_by.as_bytes() } else { &listener.uri_host };
    out.extend_from_slice(host);
    out.push(b'>');
    let uri = bracket(value);
    let features =
        memchr::memchr(b'>', &value[uri..]).map_or(b"".as_slice(), |end| &value[uri + end + 1..]);
    out.extend_from_slice(features);
    out.extend_from_slice(b"\r\n");
}

/// `SIP/2.0 status reason`.
pub fn status_line(out: &mut Vec<u8>, status: u16) {
    out.extend_from_slice(b"SIP/2.0 ");
    number(out, status.into());
    out.push(b' ');
    out.extend_from_slice(sip::reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn is_sips(uri: &[u8]) -> bool {
    uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"sips:"))
}

/// The lines that every response to `message` begins with ([`sip::write::response_head`]), for who
/// sent it on this flow.
pub fn response_head(
    head: &mut Vec<u8>,
    message: &Message<'_>,
    flow: &Flow,
    tag: Option<&[u8]>,
    oc: &[u8],
) -> usize {
    sip::write::response_head(head, message, flow.remote, tag, oc)
}

/// The top Via as its sender gets it back.
pub fn first_via(head: &mut Vec<u8>, via: &sip::Via<'_>, value: &[u8], flow: &Flow, oc: &[u8]) {
    sip::write::first_via(head, via, value, flow.remote, oc);
}
