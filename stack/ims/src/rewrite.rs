//! Messages as they go on: without what was between the phone and us, with what the core is told.

use crate::charging::OWN;
use crate::refusal::Refusal;
use crate::set::{IMPI_OCTETS_MAX, Impi, cut};
use aka::digest::{SessionKeys, has_keys, mark, take_keys};
use secagree::List;
use secagree::rules::without_tag;
use sip::write::{self, decimal, line};
use sip::{Header, HeaderSet, Message};
use std::net::SocketAddr;

/// What the core is told of how a REGISTER came (TS 24.229 §7.2A.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integrity {
    /// By associations.
    Yes,
    /// In the clear.
    No,
}

impl Integrity {
    const fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

/// What does not go on as it is.
const AGREED: HeaderSet = HeaderSet::of(&[
    Header::SecurityClient,
    Header::SecurityVerify,
    Header::SecurityServer,
    Header::Require,
    Header::ProxyRequire,
]);
const CREDENTIALS: HeaderSet = HeaderSet::of(&[Header::Authorization, Header::ProxyAuthorization]);

/// Who registers, and what it says of itself as the core is told it.
#[derive(Debug)]
pub(crate) struct Registrant {
    pub impi: Impi,
    /// Whether it answers a challenge with nothing: its card has not believed the network.
    pub disbelieves: bool,
    /// Lines of credentials.
    credentials: Vec<u8>,
}

impl Registrant {
    /// The one that a REGISTER names: by its only credentials, or without any by its public
    /// identity (TS 23.003 §13.3). What is compared here is what the core reads: credentials are
    /// written anew, and of two nobody knows which one it takes.
    pub fn of(message: &Message<'_>, integrity: Integrity) -> Result<Self, &'static str> {
        const UNREADABLE: &str = "the credentials cannot be read (RFC 7616 §3.4)";
        const UNKEPT: &str = "the private identity is empty or too long";
        let (mut credentials, mut impi, mut disbelieves) = (Vec::new(), None, false);
        for given in message.lines_of(Header::Authorization) {
            if impi.is_some() {
                return Err("there are credentials twice (TS 24.229 §5.1.1.2)");
            }
            let mut value = Vec::new();
            let read = mark(given.value, Some(integrity.word()), &mut value);
            let read = read.map_err(|_| UNREADABLE)?;
            let is_empty = read.response.is_empty() && read.auts.is_none();
            disbelieves = is_empty && !read.nonce.is_empty();
            impi = Some(Impi::from(&*read.username));
            line(&mut credentials, "Authorization", &value);
        }
        for given in message.lines_of(Header::ProxyAuthorization) {
            let mut value = Vec::new();
            mark(given.value, None, &mut value).map_err(|_| UNREADABLE)?;
            line(&mut credentials, "Proxy-Authorization", &value);
        }
        let impi: Impi = impi.unwrap_or_else(|| of_public(message.to().uri).into());
        match (1..=IMPI_OCTETS_MAX).contains(&impi.len()) {
            true => Ok(Self { impi, disbelieves, credentials }),
            false => Err(UNKEPT),
        }
    }
}

/// The private identity that a public one makes.
fn of_public(uri: &[u8]) -> &[u8] {
    let rest = memchr::memchr(b':', uri).map_or(uri, |colon| &uri[colon + 1..]);
    rest.split(|octet| *octet == b';').next().unwrap_or_default()
}

/// The private identity that a message seems to be of, for people to read.
pub(crate) fn seeming(message: &Message<'_>) -> Impi {
    let of = |value: &[u8]| aka::digest::Credentials::read(value).ok().map(|it| cut(&it.username));
    let said = message.lines_of(Header::Authorization).find_map(|line| of(line.value));
    said.unwrap_or_else(|| cut(of_public(message.to().uri)))
}

/// Appends a request without its agreement; a REGISTER's credentials say how it came. With
/// `asks_rport` the topmost Via wants its answer where it came from.
pub(crate) fn request(
    message: &Message<'_>,
    registrant: Option<&Registrant>,
    asks_rport: bool,
    out: &mut Vec<u8>,
) {
    let mut dropped = AGREED.and(OWN);
    if registrant.is_some() {
        dropped = dropped.and(CREDENTIALS);
    }
    let via = message.via();
    let adds_rport = asks_rport && via.rport.is_none();
    out.extend_from_slice(message.start_line());
    if adds_rport {
        let value = message.header(Header::Via).unwrap_or_default();
        let (own, rest) = value.split_at(via.raw.len().min(value.len()));
        line(out, "Via", &[own, b";rport", rest].concat());
        let others = HeaderSet::of(&[Header::Via]);
        for via in message.lines_of(Header::Via).skip(1) {
            out.extend_from_slice(via.raw);
        }
        dropped = dropped.and(others);
    }
    write::lines(out, message, dropped);
    for (header, name) in [(Header::Require, "Require"), (Header::ProxyRequire, "Proxy-Require")] {
        for value in message.lines_of(header) {
            let mut tags = Vec::new();
            if without_tag(value.value, &mut tags) {
                line(out, name, &tags);
            }
        }
    }
    out.extend_from_slice(registrant.map_or(&[][..], |it| &it.credentials));
    write::body(out, message);
}

/// The nonce of a challenge.
pub(crate) fn nonce(message: &Message<'_>) -> Option<Vec<u8>> {
    message.lines_of(Header::WwwAuthenticate).find_map(|line| {
        aka::digest::Challenge::read(line.value).ok().map(|it| it.nonce.into_owned())
    })
}

/// The headers of challenges.
const CHALLENGES: [(Header, &str); 2] = [
    (Header::WwwAuthenticate, "WWW-Authenticate"),
    (Header::ProxyAuthenticate, "Proxy-Authenticate"),
];

/// Whether octets may be an answer with a challenge: a look before they are read. Nothing stands
/// within the name of a header.
pub(crate) fn may_challenge(bytes: &[u8]) -> bool {
    const REST: &[u8] = b"-authenticate";
    let is_answer =
        after_blank_lines(bytes).get(..4).is_some_and(|it| it.eq_ignore_ascii_case(b"sip/"));
    let is_it =
        |at: usize| bytes.get(at..at + REST.len()).is_some_and(|it| it.eq_ignore_ascii_case(REST));
    is_answer && memchr::memchr_iter(b'-', bytes).any(is_it)
}

/// A message without the blank lines that may stand before it (RFC 3261 §7.5).
pub(crate) fn after_blank_lines(bytes: &[u8]) -> &[u8] {
    let blank = bytes.iter().take_while(|octet| matches!(octet, b'\r' | b'\n')).count();
    &bytes[blank..]
}

/// Whether a value may name a key, however anybody reads its quotes: more values do than have
/// one, a realm or a nonce in base64 that ends in `/ck=` with them.
fn may_name_keys(value: &[u8]) -> bool {
    let is_token = |octet: u8| octet.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(&octet);
    memchr::memchr_iter(b'=', value).any(|at| {
        let name = value[..at].trim_ascii_end();
        let begin = name.iter().rposition(|octet| !is_token(*octet)).map_or(0, |at| at + 1);
        let name = &name[begin..];
        name.eq_ignore_ascii_case(b"ck") || name.eq_ignore_ascii_case(b"ik")
    })
}

/// What becomes of the line of a challenge.
enum Unkeyed {
    /// It has no keys.
    Stays,
    /// It loses its keys: what is left, and the keys if there are both.
    Rest(Vec<u8>, Option<SessionKeys>),
    /// It may name keys and cannot be read: better no challenge than keys on the air.
    Goes,
}

impl Unkeyed {
    fn of(value: &[u8]) -> Self {
        if !may_name_keys(value) {
            return Self::Stays;
        }
        let mut rest = Vec::new();
        match (has_keys(value), take_keys(value, &mut rest)) {
            (Ok(false), _) => Self::Stays,
            (Ok(true), Ok(keys)) => Self::Rest(rest, keys),
            _ => Self::Goes,
        }
    }
}

/// Appends an answer without keys, where it has any; the keys of the first challenge, and its
/// nonce. What may name keys and cannot be read loses its line.
pub(crate) fn without_keys(
    message: &Message<'_>,
    out: &mut Vec<u8>,
) -> Option<(Vec<u8>, SessionKeys)> {
    let mut lines = CHALLENGES.iter().flat_map(|(header, _)| message.lines_of(*header));
    if lines.all(|line| matches!(Unkeyed::of(line.value), Unkeyed::Stays)) {
        return None;
    }
    let mut found = None;
    out.extend_from_slice(message.start_line());
    write::lines(out, message, HeaderSet::of(&CHALLENGES.map(|(header, _)| header)));
    for (header, name) in CHALLENGES {
        for challenge in message.lines_of(header) {
            match Unkeyed::of(challenge.value) {
                Unkeyed::Stays => out.extend_from_slice(challenge.raw),
                Unkeyed::Rest(value, keys) => {
                    let nonce =
                        aka::digest::Challenge::read(&value).ok().map(|it| it.nonce.into_owned());
                    found = found.or(nonce.zip(keys));
                    line(out, name, &value);
                }
                Unkeyed::Goes => {}
            }
        }
    }
    write::body(out, message);
    found
}

/// Appends what a phone gets in place of an acceptance in the clear.
pub(crate) fn unagreed(message: &Message<'_>, server: Option<&List>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"SIP/2.0 494 Security Agreement Required\r\n");
    for header in [Header::Via, Header::From, Header::To, Header::CallId, Header::CSeq] {
        message.lines_of(header).for_each(|line| out.extend_from_slice(line.raw));
    }
    if let Some(server) = server {
        security_server(server, out);
    }
    write::no_body(out);
}

/// Appends an answer with Security-Server.
pub(crate) fn with_server(message: &Message<'_>, server: &List, out: &mut Vec<u8>) {
    out.extend_from_slice(message.start_line());
    write::lines(out, message, HeaderSet::of(&[Header::SecurityServer]));
    security_server(server, out);
    write::body(out, message);
}

fn security_server(server: &List, out: &mut Vec<u8>) {
    out.extend_from_slice(b"Security-Server: ");
    server.write(out);
    out.extend_from_slice(b"\r\n");
}

/// Appends the answer to a request that is refused, for who sent it from there.
pub(crate) fn refusal(
    message: &Message<'_>,
    from: SocketAddr,
    tag: u64,
    refusal: &Refusal,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"SIP/2.0 ");
    decimal(out, refusal.status.into());
    let reason: &[u8] = match refusal.status {
        400 => b" Bad Request\r\n",
        403 => b" Forbidden\r\n",
        421 => b" Extension Required\r\n",
        494 => b" Security Agreement Required\r\n",
        502 => b" Bad Gateway\r\n",
        _ => b" Service Unavailable\r\n",
    };
    out.extend_from_slice(reason);
    write::response_head(out, message, from, Some(&machine::identity::hex(tag)), b"");
    if refusal.requires {
        line(out, "Require", secagree::rules::OPTION_TAG.as_bytes());
    }
    if let Some(server) = &refusal.server {
        security_server(server, out);
    }
    if let Some(seconds) = refusal.retry_after_s {
        out.extend_from_slice(b"Retry-After: ");
        decimal(out, seconds);
        out.extend_from_slice(b"\r\n");
    }
    write::no_body(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenged(value: &str) -> (Option<(Vec<u8>, SessionKeys)>, String) {
        let text = format!(
            "SIP/2.0 401 Unauthorized\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1\r\n\
             From: <sip:a@x>;tag=1\r\nTo: <sip:a@x>;tag=2\r\nCall-ID: c\r\n\
             CSeq: 1 REGISTER\r\nWWW-Authenticate: {value}\r\n\
             Content-Length: 0\r\n\r\n"
        );
        let mut out = Vec::new();
        let taken = without_keys(&Message::parse(text.as_bytes()).unwrap(), &mut out);
        (taken, String::from_utf8(out).unwrap())
    }

    #[test]
    fn keys_leave_a_challenge_and_nothing_else_does() {
        let keys = "ik=\"000102030405060708090a0b0c0d0e0f\"";
        let value = "Digest realm=\"x\", nonce=\"bmNr\", algorithm=AKAv1-MD5";
        let (taken, text) =
            challenged(&format!("{value}, {keys}, CK=\"000102030405060708090a0b0c0d0e0f\""));
        let (nonce, _) = taken.expect("there are keys");
        assert_eq!(nonce, b"bmNr");
        assert!(text.contains(value) && !text.to_lowercase().contains("ck="), "{text}");
        assert!(text.contains("Content-Length: 0\r\n") && text.ends_with("\r\n\r\n"));
        let (taken, text) = challenged(value);
        assert!(taken.is_none() && text.is_empty(), "what has no keys is as it was");
        for other in ["x ck=y", "a/Ik=", "\\\", ck=\\\"", "ck ="] {
            let value = format!("Digest nonce=\"bmNr/ck=\", realm=\"{other}\"");
            let (taken, text) = challenged(&value);
            assert!(taken.is_none() && text.is_empty(), "{value} has no keys");
            let (taken, text) = challenged(&format!("{value}, {keys}"));
            assert!(taken.is_none() && text.contains(&value) && !text.contains("ik=\"0"), "{text}");
        }
        let (taken, text) = challenged(&format!("{value}, {keys}"));
        assert!(taken.is_none() && !text.is_empty() && !text.contains("ik="), "half of them too");
        for hidden in
            ["Digest ck=\"none\"", "Digest realm=\"x, nonce=\"n\",\tIK = \"none\"", "Other ik=none"]
        {
            let (taken, text) = challenged(hidden);
            assert!(taken.is_none() && !text.contains("none"), "{text}");
        }
    }
}
