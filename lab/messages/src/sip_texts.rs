//! What the S-CSCF and its terminals say in SIP.

use crate::nodes::{CENTRE, DOMAIN};
use sip::{Header, Message};
use std::io::Write as _;
use std::net::SocketAddr;

/// How Call-IDs of this side end.
const HOST: &str = "@scscf.lab";
const RP: &str = "application/vnd.3gpp.sms";

/// The number in a Call-ID of this side.
pub(crate) fn number_of(call_id: &[u8]) -> Option<u64> {
    let number = call_id.strip_suffix(HOST.as_bytes())?;
    str::from_utf8(number).ok()?.parse().ok()
}

/// A third-party REGISTER of somebody whose terminal takes short messages.
pub(crate) fn register(number: u64, own: SocketAddr, digits: &str, out: &mut Vec<u8>) {
    let inner = format!(
        "REGISTER sip:{DOMAIN} SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKu\r\n\
         Max-Forwards: 70\r\nFrom: <sip:+{digits}@{DOMAIN}>;tag=u\r\n\
         To: <sip:+{digits}@{DOMAIN}>\r\nCall-ID: u{number}\r\nCSeq: 1 REGISTER\r\n\
         Contact: <sip:{digits}@192.0.2.1>;+g.3gpp.smsip\r\nContent-Length: 0\r\n\r\n"
    );
    let body = format!(
        "--b\r\nContent-Type: application/3gpp-ims+xml\r\n\r\n<?xml version=\"1.0\"?>\
         <ims-3gpp version=\"1\"><service-info>{digits}</service-info></ims-3gpp>\r\n--b\r\n\
         Content-Type: message/sip\r\n\r\n{inner}\r\n--b--\r\n"
    );
    let length = body.len();
    let written = write!(
        out,
        "REGISTER sip:sms.{DOMAIN} SIP/2.0\r\n\
         Via: SIP/2.0/UDP {own};branch=z9hG4bKr{number}\r\nMax-Forwards: 70\r\n\
         From: <sip:scscf.{DOMAIN}>;tag=r{number}\r\nTo: <sip:+{digits}@{DOMAIN}>\r\n\
         Call-ID: {number}{HOST}\r\nCSeq: 1 REGISTER\r\nContact: <sip:{own}>\r\n\
         Expires: 600000\r\nContent-Type: multipart/mixed;boundary=b\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    written.expect("a vector takes everything");
}

/// A MESSAGE of a terminal, as its S-CSCF passes it on; one that answers another names that.
pub(crate) fn message(
    number: u64,
    own: SocketAddr,
    digits: &str,
    answers: Option<&[u8]>,
    body: &[u8],
    out: &mut Vec<u8>,
) {
    let length = body.len();
    let to = format!("sip:+{CENTRE}@{DOMAIN}");
    let written = write!(
        out,
        "MESSAGE {to} SIP/2.0\r\nVia: SIP/2.0/UDP {own};branch=z9hG4bKm{number}\r\n\
         Max-Forwards: 68\r\nFrom: <sip:+{digits}@{DOMAIN}>;tag=m{number}\r\nTo: <{to}>\r\n\
         Call-ID: {number}{HOST}\r\nCSeq: 1 MESSAGE\r\n\
         P-Asserted-Identity: <sip:+{digits}@{DOMAIN}>\r\n"
    );
    written.expect("a vector takes everything");
    if let Some(call_id) = answers {
        out.extend_from_slice(b"In-Reply-To: ");
        out.extend_from_slice(call_id);
        out.extend_from_slice(b"\r\n");
    }
    let written = write!(out, "Content-Type: {RP}\r\nContent-Length: {length}\r\n\r\n");
    written.expect("a vector takes everything");
    out.extend_from_slice(body);
}

/// The digits of whom a request is for.
pub(crate) fn digits_of(start_line: &[u8]) -> Option<&str> {
    let text = str::from_utf8(start_line).ok()?.split_once("sip:+")?.1;
    text.split_once('@').map(|it| it.0)
}

/// The 200 to a request.
pub(crate) fn ok(request: &Message<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"SIP/2.0 200 OK\r\n");
    for (header, line) in request.rows() {
        match header {
            Header::Via | Header::From | Header::CallId | Header::CSeq => {
                out.extend_from_slice(line);
            }
            Header::To => {
                out.extend_from_slice(line.trim_ascii_end());
                out.extend_from_slice(b";tag=lab\r\n");
            }
            _ => {}
        }
    }
    out.extend_from_slice(b"Content-Length: 0\r\n\r\n");
}

/// What stands behind the head of a message.
pub(crate) fn body(octets: &[u8]) -> &[u8] {
    let at = octets.windows(4).position(|it| it == b"\r\n\r\n");
    at.and_then(|at| octets.get(at + 4..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_sip_and_names_its_session() {
        let own = SocketAddr::from(([127, 0, 0, 1], 6_060));
        let who = "447700900123";
        let (mut register_octets, mut message_octets) = (Vec::new(), Vec::new());
        register(9, own, who, &mut register_octets);
        message(10, own, who, Some(b"a@b"), b"\x02\x01", &mut message_octets);
        for (octets, number) in [(&register_octets, 9), (&message_octets, 10)] {
            let read = Message::parse(octets).expect("it is SIP");
            assert_eq!(read.header(Header::CallId).and_then(number_of), Some(number));
            let mut answer = Vec::new();
            ok(&read, &mut answer);
            assert_eq!(Message::parse(&answer).expect("it is SIP").status(), Some(200));
        }
        assert_eq!(body(&message_octets), b"\x02\x01");
        assert_eq!(number_of(b"7@elsewhere"), None);
        assert_eq!(digits_of(b"MESSAGE sip:+447@x SIP/2.0"), Some("447"));
    }
}
