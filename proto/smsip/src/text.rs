//! What the flows have to do with, as SIP writes it: third-party REGISTER with its bodies
//! (TS 24.229 §5.4.1.7, §7.6, TS 24.341 §5.3.3.2), MESSAGE (RFC 3428, TS 24.341 §5.3.3.4).

use crate::message::{Body, Received, Register, Route, Sending};
use mapsms::identity::{Imsi, Msisdn};
use sip::{Header, Message, Method, NameAddr, Writer};

/// Parts of a body that are looked at.
const PARTS_MAX: usize = 8;
/// Contacts of a terminal that are kept.
const CONTACTS_MAX: usize = 8;
/// Identities that the network asserts which are kept: it asserts one or two (RFC 3325 §9.1).
const ASSERTED_MAX: usize = 8;
/// Octets of a boundary (RFC 2046 §5.1.1).
const BOUNDARY_MAX: usize = 70;
/// The type of a part that is the terminal's own REGISTER.
const SIP: &[u8] = b"message/sip";
/// Seconds that a registration is believed to stand, at most.
const EXPIRES_MAX_S: u32 = 7 * 86_400;
/// Octets of a text of SIP that is kept: an identity, a contact, a Call-ID.
const TEXT_MAX: usize = 256;
/// The feature of a terminal that takes short messages (TS 24.341 §5.3.2.2).
const SMS_IP: &[u8] = b"+g.3gpp.smsip";
/// What a MESSAGE to a terminal asks of the S-CSCF (TS 24.341 §5.3.3.4.2).
const ACCEPT_CONTACT: &[u8] = b"*;+g.3gpp.smsip;require;explicit";
/// The type of text (RFC 3428 §8).
const TEXT: &[u8] = b"text/plain;charset=UTF-8";
const HOPS: u64 = 70;
const CSEQ: &[u8] = b"1 MESSAGE";

fn text(octets: &[u8]) -> Option<String> {
    let text = core::str::from_utf8(octets).ok()?;
    (text.len() <= TEXT_MAX).then(|| text.to_owned())
}

/// The same without line breaks and other control characters: it is written into lines of SIP.
fn plain(octets: &[u8]) -> Option<String> {
    text(octets).filter(|it| !it.chars().any(char::is_control))
}

fn is_type(content_type: &[u8], name: &[u8]) -> bool {
    let own = content_type.split(|it| *it == b';').next().unwrap_or_default();
    own.trim_ascii().eq_ignore_ascii_case(name)
}

/// The parts of a body with their types: of a multipart body each, else itself.
fn parts<'a>(content_type: &'a [u8], body: &'a [u8]) -> Vec<(&'a [u8], &'a [u8])> {
    let kind = content_type.split(|it| *it == b';').next().unwrap_or_default();
    let is_multipart =
        kind.trim_ascii().get(..10).is_some_and(|it| it.eq_ignore_ascii_case(b"multipart/"));
    if !is_multipart {
        return vec![(content_type, body)];
    }
    let params = content_type.get(kind.len()..).unwrap_or_default();
    let Some(boundary) = sip::param(params, b"boundary").map(sip::unquoted) else {
        return Vec::new();
    };
    if boundary.is_empty() || boundary.len() > BOUNDARY_MAX {
        return Vec::new();
    }
    let delimiter = [b"--", boundary].concat();
    let mut found = Vec::new();
    let mut rest = delimited(body, &delimiter).map(|it| it.1);
    // Those without a type count as well: the rest is searched anew for each.
    for _ in 0..PARTS_MAX {
        let Some(part) = rest else { break };
        let Some((kind, content)) = typed(part) else {
            rest = delimited(part, &delimiter).map(|it| it.1);
            continue;
        };
        // What a terminal wrote into its own REGISTER makes no part.
        let whole = match sip::frame(content) {
            sip::Framing::Message(octets) if is_type(kind, SIP) => content.split_at_checked(octets),
            _ => None,
        };
        let next = whole.map_or(content, |it| it.1);
        let end = delimited(next, &delimiter);
        let own = end.map_or(next, |it| it.0);
        found.push((kind, whole.map_or(own, |it| it.0)));
        rest = end.map(|it| it.1);
    }
    found
}

/// What stands in front of a line that delimits parts, and behind it; the last one has nothing
/// behind it (RFC 2046 §5.1.1).
fn delimited<'a>(octets: &'a [u8], delimiter: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut from = 0;
    loop {
        let at = from + position(octets.get(from..)?, delimiter)?;
        let behind = octets.get(at + delimiter.len()..)?;
        let is_line = at == 0 || octets.get(..at)?.ends_with(b"\r\n");
        let blank = behind.iter().take_while(|it| matches!(it, b' ' | b'\t')).count();
        let front = octets.get(..at.saturating_sub(2))?;
        match behind.get(blank..) {
            Some([b'\r', b'\n', rest @ ..]) if is_line => return Some((front, rest)),
            _ if is_line && behind.starts_with(b"--") => return Some((front, &[])),
            _ => from = at + 1,
        }
    }
}

/// Type and content of a part (RFC 2046 §5.1).
fn typed(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = position(part, b"\r\n\r\n")?;
    let (head, content) = (part.get(..end)?, part.get(end + 4..)?);
    let value = head.split(|it| *it == b'\n').find_map(|line| {
        let colon = line.iter().position(|it| *it == b':')?;
        let (name, value) = line.split_at(colon);
        name.trim_ascii().eq_ignore_ascii_case(b"content-type").then(|| value[1..].trim_ascii())
    });
    Some((value?, content))
}

fn position(octets: &[u8], what: &[u8]) -> Option<usize> {
    octets.windows(what.len().max(1)).position(|it| it == what)
}

/// The MSISDN of service information (TS 24.229 §7.6): the operator's own text, in which it is a
/// number by itself, or behind a name that says so.
fn service_msisdn(xml: &[u8]) -> Option<Msisdn> {
    let xml = core::str::from_utf8(xml).ok()?;
    let from = xml.find("<service-info>")? + "<service-info>".len();
    let info = xml.get(from..)?.split("</service-info>").next()?;
    let info = info.trim().trim_start_matches("<![CDATA[").trim_end_matches("]]>").trim();
    let lower = info.to_ascii_lowercase();
    let names = lower.match_indices("msisdn").map(|it| it.0 + "msisdn".len());
    // A longer name is another one.
    let is_whole = |at: &usize| {
        let next = lower.get(*at..).and_then(|it| it.chars().next());
        next.is_none_or(|it| !it.is_alphanumeric() && it != '-' && it != '_')
    };
    let named = names.into_iter().find(is_whole).unwrap_or_default();
    let rest = info.get(named..)?;
    let first = rest.find(|it: char| it.is_ascii_digit())?;
    // Without a name the text is a number and nothing else.
    if named == 0 && rest.get(..first).is_none_or(|it| !matches!(it, "" | "+" | "tel:+")) {
        return None;
    }
    let digits = rest.get(first..)?;
    let end = digits.find(|it: char| !it.is_ascii_digit()).unwrap_or(digits.len());
    Msisdn::of(digits.get(..end)?)
}

/// The contacts of a terminal's own REGISTER that take short messages.
fn contacts(inner: &Message<'_>) -> Vec<String> {
    let takes = |value: &&[u8]| {
        NameAddr::parse(value).is_ok_and(|it| sip::param(it.params, SMS_IP).is_some())
    };
    let uris = inner.values(Header::Contact).filter(takes).filter_map(|it| {
        let address = NameAddr::parse(it).ok()?;
        plain(address.uri)
    });
    uris.take(CONTACTS_MAX).collect()
}

/// The IMSI of the private user identity in credentials (TS 23.003 §13.3).
fn private_imsi(inner: &Message<'_>) -> Option<Imsi> {
    let value = inner.header(Header::Authorization)?;
    let (scheme, params) = core::str::from_utf8(value).ok()?.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("digest") {
        return None;
    }
    let mut is_quoted = false;
    let params = params.split(|it: char| {
        is_quoted ^= it == '"';
        it == ',' && !is_quoted
    });
    let named = params.filter_map(|it| it.trim().split_once('='));
    let mut names = named.filter(|it| it.0.trim().eq_ignore_ascii_case("username"));
    let (name, None) = (names.next()?.1.trim(), names.next()) else { return None };
    let name = name.strip_prefix('"')?.strip_suffix('"')?;
    let (digits, domain) = name.split_once('@')?;
    Imsi::of(digits).filter(|_| domain.ends_with(".3gppnetwork.org"))
}

/// Reads a third-party REGISTER; none if it says not who, or not by which S-CSCF.
#[must_use]
pub fn register(message: &Message<'_>) -> Option<Register> {
    let contact = message.first(Header::Contact).and_then(|it| NameAddr::parse(it).ok())?;
    let number = |octets: &[u8]| core::str::from_utf8(octets).ok()?.trim().parse::<u32>().ok();
    let expires =
        sip::param(contact.params, b"expires").or_else(|| message.header(Header::Expires));
    let mut register = Register {
        identity: plain(message.to().uri)?,
        s_cscf: plain(contact.uri)?,
        expires_s: expires.and_then(number)?.min(EXPIRES_MAX_S),
        msisdn: None,
        imsi: None,
        contacts: None,
    };
    let content_type = message.header(Header::ContentType).unwrap_or_default();
    let mut is_informed = false;
    for (kind, content) in parts(content_type, message.body()) {
        if is_type(kind, b"application/3gpp-ims+xml") {
            // Two of them contradict each other, whatever they say.
            if core::mem::replace(&mut is_informed, true) {
                return None;
            }
            register.msisdn = service_msisdn(content);
        }
        if let Ok(inner) = Message::parse(content)
            && is_type(kind, SIP)
            && inner.is_request()
            && inner.method() == Method::Register
        {
            register.imsi = register.imsi.or_else(|| private_imsi(&inner));
            register.contacts.get_or_insert_with(|| contacts(&inner));
        }
    }
    Some(register)
}

/// Reads a MESSAGE, which is of that trail.
#[must_use]
pub fn received(message: &Message<'_>, trail: u64) -> Option<Received> {
    let asserted = message.values(Header::PAssertedIdentity).filter_map(|it| {
        let address = NameAddr::parse(it).ok()?;
        plain(address.uri)
    });
    Some(Received {
        to: plain(message.uri()?.raw)?,
        asserted: asserted.take(ASSERTED_MAX).collect(),
        call_id: plain(message.call_id())?,
        in_reply_to: message.first(Header::InReplyTo).and_then(plain),
        content_type: text(message.header(Header::ContentType).unwrap_or_default())?,
        body: message.body().to_vec(),
        trail,
    })
}

/// What a MESSAGE needs beside its flow's part.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// The gateway's own URI: From, P-Asserted-Identity.
    pub own: &'a str,
    /// The domain of subscribers.
    pub domain: &'a str,
    /// The host of the Call-ID.
    pub host: &'a str,
    /// The value of Via.
    pub via: &'a [u8],
    /// The tag of From.
    pub tag: &'a str,
}

/// Appends a MESSAGE.
pub fn write(sending: &Sending, envelope: &Envelope<'_>, out: &mut Vec<u8>) {
    let mut writer = Writer::request(out, b"MESSAGE", sending.to.as_bytes());
    writer.header(Header::Via, envelope.via);
    writer.number(Header::MaxForwards, HOPS);
    if let Route::Serving(uri) = &sending.route {
        let is_loose = sip::Uri::parse(uri.as_bytes()).is_ok_and(|it| it.param(b"lr").is_some());
        let route = if is_loose { format!("<{uri}>") } else { format!("<{uri};lr>") };
        writer.header(Header::Route, route.as_bytes());
    }
    let (own, tag) = (from(&sending.body, envelope), envelope.tag);
    writer.header(Header::From, format!("<{own}>;tag={tag}").as_bytes());
    writer.header(Header::To, format!("<{}>", sending.to).as_bytes());
    let call_id = format!("{}@{}", sending.call_id, envelope.host);
    writer.header(Header::CallId, call_id.as_bytes());
    writer.header(Header::CSeq, CSEQ);
    writer.header(Header::PAssertedIdentity, format!("<{own}>").as_bytes());
    if let Some(answers) = &sending.in_reply_to {
        writer.header(Header::InReplyTo, answers.as_bytes());
    }
    match &sending.body {
        Body::Rp(octets) => {
            writer.header(Header::RequestDisposition, b"no-fork");
            writer.header(Header::AcceptContact, ACCEPT_CONTACT);
            writer.body(Some(sms::rp::CONTENT_TYPE.as_bytes()), octets);
        }
        Body::Text { text, .. } => writer.body(Some(TEXT), text.as_bytes()),
    }
}

/// Whose MESSAGE it is: the gateway's own, or that of who sent a text. What a URI cannot have in
/// its user part is escaped (RFC 3261 §25.1).
fn from(body: &Body, envelope: &Envelope<'_>) -> String {
    let Body::Text { from, .. } = body else { return envelope.own.to_owned() };
    let mut user = String::new();
    for octet in from.bytes() {
        match octet {
            b'+' | b'-' | b'.' | b'_' => user.push(char::from(octet)),
            _ if octet.is_ascii_alphanumeric() => user.push(char::from(octet)),
            _ => user.push_str(&format!("%{octet:02X}")),
        }
    }
    format!("sip:{user}@{}", envelope.domain)
}
