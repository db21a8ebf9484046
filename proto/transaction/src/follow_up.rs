//! The requests that an INVITE client transaction makes itself from the INVITE it sent: the ACK
//! for a final response other than 2xx (RFC 3261 §17.1.1.3) and the CANCEL (§9.1). Both carry the
//! INVITE's Request-URI, top Via, From, Call-ID, CSeq number and Route.

use sip::{Header, Line, Message, Method, Writer};

/// The ACK that ends `invite`; its To is that of the response.
pub(super) fn ack(invite: &Message<'_>, response: &Message<'_>) -> Vec<u8> {
    let to = response.header(Header::To).unwrap_or_default();
    follow(invite, Method::Ack, Some(to), None)
}

/// The CANCEL of `invite`, with a Reason (RFC 3326) if there is one.
pub(super) fn cancel(invite: &Message<'_>, reason: Option<&[u8]>) -> Vec<u8> {
    follow(invite, Method::Cancel, None, reason)
}

fn follow(
    invite: &Message<'_>,
    method: Method,
    to: Option<&[u8]>,
    reason: Option<&[u8]>,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    let name = method.name().as_bytes();
    let mut writer = Writer::request(&mut bytes, name, invite.request_uri().unwrap_or_default());
    if let Some(via) = invite.values(Header::Via).next() {
        writer.header(Header::Via, via);
    }
    for line in invite.lines() {
        copy(&mut writer, &line, to);
    }
    writer.header_with(Header::CSeq, |out| {
        out.extend_from_slice(invite.cseq().number.to_string().as_bytes());
        out.push(b' ');
        out.extend_from_slice(name);
    });
    if let Some(reason) = reason {
        writer.header(Header::Reason, reason);
    }
    writer.end();
    bytes
}

fn copy(writer: &mut Writer<'_>, line: &Line<'_>, to: Option<&[u8]>) {
    match (line.header, to) {
        (Header::To, Some(to)) => writer.header(Header::To, to),
        (Header::To | Header::From | Header::CallId | Header::Route | Header::MaxForwards, _) => {
            writer.copy(line)
        }
        _ => {}
    }
}
