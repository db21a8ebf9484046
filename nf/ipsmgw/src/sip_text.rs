//! What the flows have to do with, as SIP writes it: third-party REGISTER with its bodies
//! (TS 24.229 §5.4.1.7, §7.6, TS 24.341 §5.3.3.2), MESSAGE (RFC 3428, TS 24.341 §5.3.3.4).

use crate::effects::{Received, Register, Route, Sending};
use crate::identity::{Imsi, Msisdn};
use sip::{Header, Message, Method, NameAddr, Writer};

/// Parts of a body that are looked at.
const PARTS_MAX: usize = 8;
/// Contacts of a terminal that are kept.
const CONTACTS_MAX: usize = 8;
/// Octets of a text of SIP that is kept: an identity, a contact, a Call-ID.
const TEXT_MAX: usize = 256;
/// The feature of a terminal that takes short messages (TS 24.341 §5.3.2.2).
const SMS_IP: &[u8] = b"+g.3gpp.smsip";
/// What a MESSAGE to a terminal asks of the S-CSCF (TS 24.341 §5.3.3.4.2).
const ACCEPT_CONTACT: &[u8] = b"*;+g.3gpp.smsip;require;explicit";
const HOPS: u64 = 70;
const CSEQ: &[u8] = b"1 MESSAGE";

fn text(octets: &[u8]) -> Option<String> {
    let text = core::str::from_utf8(octets).ok()?;
    (text.len() <= TEXT_MAX).then(|| text.to_owned())
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
    let delimiter = [b"--", boundary].concat();
    let mut found = Vec::new();
    let mut rest = after(body, &delimiter);
    while let Some(part) = rest.filter(|it| !it.starts_with(b"--") && found.len() < PARTS_MAX) {
        let end = position(part, &delimiter).unwrap_or(part.len());
        let own = part.get(..end).unwrap_or_default();
        found.extend(typed(own));
        rest = after(part, &delimiter);
    }
    found
}

/// Type and content of a part (RFC 2046 §5.1).
fn typed(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let part = part.strip_prefix(b"\r\n").unwrap_or(part);
    let end = position(part, b"\r\n\r\n")?;
    let (head, content) = (part.get(..end)?, part.get(end + 4..)?);
    let content = content.strip_suffix(b"\r\n").unwrap_or(content);
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

fn after<'a>(octets: &'a [u8], what: &[u8]) -> Option<&'a [u8]> {
    octets.get(position(octets, what)? + what.len()..)
}

/// The MSISDN of service information (TS 24.229 §7.6): the operator's own text, in which it is a
/// number by itself, or behind a name that says so.
fn service_msisdn(xml: &[u8]) -> Option<Msisdn> {
    let xml = core::str::from_utf8(xml).ok()?;
    let from = xml.find("<service-info>")? + "<service-info>".len();
    let info = xml.get(from..)?.split("</service-info>").next()?;
    let info = info.trim().trim_start_matches("<![CDATA[").trim_end_matches("]]>").trim();
    let named = info.to_ascii_lowercase().find("msisdn").map_or(0, |it| it + "msisdn".len());
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
        text(address.uri)
    });
    uris.take(CONTACTS_MAX).collect()
}

/// The IMSI of the private user identity in credentials (TS 23.003 §13.3).
fn private_imsi(inner: &Message<'_>) -> Option<Imsi> {
    let value = inner.header(Header::Authorization)?;
    let value = core::str::from_utf8(value).ok()?;
    let from = value.find("username=\"")? + "username=\"".len();
    let (digits, domain) = value.get(from..)?.split('"').next()?.split_once('@')?;
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
        identity: text(message.to().uri)?,
        s_cscf: text(contact.uri)?,
        expires_s: expires.and_then(number)?,
        msisdn: None,
        imsi: None,
        contacts: None,
    };
    let content_type = message.header(Header::ContentType).unwrap_or_default();
    for (kind, content) in parts(content_type, message.body()) {
        if is_type(kind, b"application/3gpp-ims+xml") {
            register.msisdn = register.msisdn.or_else(|| service_msisdn(content));
        }
        if let Ok(inner) = Message::parse(content)
            && is_type(kind, b"message/sip")
            && inner.is_request()
            && inner.method() == Method::Register
        {
            register.imsi = register.imsi.or_else(|| private_imsi(&inner));
            register.contacts.get_or_insert_with(|| contacts(&inner));
        }
    }
    Some(register)
}

/// Reads a MESSAGE.
#[must_use]
pub fn received(message: &Message<'_>) -> Option<Received> {
    let asserted = message.values(Header::PAssertedIdentity).filter_map(|it| {
        let address = NameAddr::parse(it).ok()?;
        text(address.uri)
    });
    Some(Received {
        asserted: asserted.collect(),
        call_id: text(message.call_id())?,
        in_reply_to: message.first(Header::InReplyTo).and_then(text),
        content_type: text(message.header(Header::ContentType).unwrap_or_default())?,
        body: message.body().to_vec(),
    })
}

/// What a MESSAGE needs beside its flow's part.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// The gateway's own URI: From, P-Asserted-Identity.
    pub own: &'a str,
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
        let route = if uri.contains(";lr") { format!("<{uri}>") } else { format!("<{uri};lr>") };
        writer.header(Header::Route, route.as_bytes());
    }
    let (own, tag) = (envelope.own, envelope.tag);
    writer.header(Header::From, format!("<{own}>;tag={tag}").as_bytes());
    writer.header(Header::To, format!("<{}>", sending.to).as_bytes());
    let call_id = format!("{}@{}", sending.call_id, envelope.host);
    writer.header(Header::CallId, call_id.as_bytes());
    writer.header(Header::CSeq, CSEQ);
    writer.header(Header::PAssertedIdentity, format!("<{own}>").as_bytes());
    writer.header(Header::RequestDisposition, b"no-fork");
    writer.header(Header::AcceptContact, ACCEPT_CONTACT);
    if let Some(answers) = &sending.in_reply_to {
        writer.header(Header::InReplyTo, answers.as_bytes());
    }
    writer.body(Some(sms::rp::CONTENT_TYPE.as_bytes()), &sending.body);
}
