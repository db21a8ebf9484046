//! What is secret in a message and is not kept: credentials (RFC 3261 §20.6, §20.7, §20.28), media
//! keys (`a=crypto` RFC 4568, `a=key-mgmt` RFC 4567, `k=` RFC 4566 §5.12), what people write to
//! each other (MESSAGE, RFC 3428) and the digits they type (`application/dtmf-relay`, KPML, and
//! where a part of a body is such). Each is replaced by how long it was; a changed body has its
//! Content-Length changed with it, so that what is kept is still a message.
//!
//! `Identity` (RFC 8224) stays: it proves something and opens nothing.

use crate::config::Keep;
use core::cell::LazyCell;
use memchr::memmem::Finder;
use sip::{Header, Message, Method};
use std::sync::LazyLock;
use trail::Event;

/// Parameters of digest credentials that tell who asked for what; the others prove it.
const TELLING: [&[u8]; 6] = [b"username", b"realm", b"uri", b"algorithm", b"qop", b"nc"];
/// Headers with credentials.
const CREDENTIALS: [&[u8]; 3] = [b"authorization", b"proxy-authorization", PROOF];
/// A header that answers credentials: nothing of it tells who asked for what.
const PROOF: &[u8] = b"authentication-info";
/// Types of the bodies with typed digits begin so (KPML: RFC 4730).
const DIGITS: [&[u8]; 2] = [b"application/dtmf", b"application/kpml-response"];
/// Names of the header that says what a body is.
const TYPE: [&[u8]; 2] = [b"content-type", b"c"];
/// Names of the header that says how long the body is.
const LENGTH: [&[u8]; 2] = [b"content-length", b"l"];

/// Whether a message has something that is not kept.
pub fn concerns(message: &Message<'_>, keep: &[Keep]) -> bool {
    let kept = |what| keep.contains(&what);
    let has_credentials = message.has(Header::Authorization)
        || message.has(Header::ProxyAuthorization)
        || message.has(Header::AuthenticationInfo);
    let body = message.body();
    let is_letter = message.method() == Method::Message
        || message.header(Header::ContentType).is_some_and(|kind| match digits(kind) {
            Digits::Whole => true,
            Digits::InParts => has_digits(body),
            Digits::Nowhere => false,
        });
    has_credentials && !kept(Keep::Credentials)
        || !body.is_empty() && is_letter && !kept(Keep::Bodies)
        || !body.is_empty() && !kept(Keep::Keys) && has_keys(body)
}

/// The message without that; also of octets that could not be read as a message.
pub fn redacted(bytes: &[u8], keep: &[Keep]) -> Vec<u8> {
    let (head, body) = bytes.split_at(head_length(bytes));
    let body = new_body(head, body, keep);
    let mut out = Vec::with_capacity(bytes.len());
    for line in unfolded(head) {
        let Some((name, value)) = field(line.text) else {
            out.extend_from_slice(line.whole);
            continue;
        };
        let is_any = |names: &[&[u8]]| names.iter().any(|one| name.eq_ignore_ascii_case(one));
        if is_any(&CREDENTIALS) && !keep.contains(&Keep::Credentials) {
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            if is_any(&[PROOF]) {
                mark(&mut out, value.len());
            } else {
                credentials(&mut out, value);
            }
            out.extend_from_slice(line.end());
        } else if let (Some(body), true) = (&body, is_any(&LENGTH)) {
            out.extend_from_slice(name);
            out.extend_from_slice(format!(": {}", body.len()).as_bytes());
            out.extend_from_slice(line.end());
        } else {
            out.extend_from_slice(line.whole);
        }
    }
    out.extend_from_slice(body.as_deref().unwrap_or(&bytes[head.len()..]));
    out
}

/// The event without the digit that somebody typed; `None`: it stays as it is.
pub fn event(json: &[u8], keep: &[Keep]) -> Option<Vec<u8>> {
    if Event::of(json) != Some(Event::DigitTyped) || keep.contains(&Keep::Bodies) {
        return None;
    }
    let read = serde_json::from_slice::<serde_json::Map<_, _>>(json);
    // Of what cannot be read only the name is known.
    let mut fields = read.unwrap_or_default();
    fields.remove("event");
    if let Some(digit) = fields.get_mut("digit") {
        let length = digit.as_str().map_or(1, str::len);
        let mut text = Vec::new();
        mark(&mut text, length);
        *digit = String::from_utf8(text).unwrap_or_default().into();
    }
    // Its name stands first, as in every event.
    let name = Event::DigitTyped.name();
    let rest = serde_json::to_string(&fields).unwrap_or_default();
    let rest = rest.strip_prefix('{').filter(|_| !fields.is_empty()).unwrap_or("}");
    let comma = if fields.is_empty() { "" } else { "," };
    Some(format!("{{\"event\":\"{name}\"{comma}{rest}").into_bytes())
}

/// How long something was.
fn mark(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(format!("<redacted {length} octets>").as_bytes());
}

/// A line with its end.
struct Line<'a> {
    text: &'a [u8],
    whole: &'a [u8],
}

impl<'a> Line<'a> {
    fn end(&self) -> &'a [u8] {
        &self.whole[self.text.len()..]
    }
}

/// Lines that end with CRLF, LF or CR: a receiver may be more lenient than our parser.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut rest = bytes;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let text = rest.iter().position(|b| matches!(b, b'\r' | b'\n')).unwrap_or(rest.len());
        let end = match &rest[text..] {
            [b'\r', b'\n', ..] => 2,
            [] => 0,
            _ => 1,
        };
        let (whole, after) = rest.split_at(text + end);
        rest = after;
        Some(Line { text: &whole[..text], whole })
    })
}

/// Lines of a head; a value goes on in lines that begin with white space (RFC 3261 §7.3.1).
fn unfolded(head: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut rest = head;
    core::iter::from_fn(move || {
        let mut all = lines(rest).peekable();
        let first = all.next()?;
        let (mut length, mut end) = (first.whole.len(), first.end().len());
        let goes_on = |next: &Line<'_>| {
            !first.text.is_empty() && (next.text.starts_with(b" ") || next.text.starts_with(b"\t"))
        };
        while let Some(more) = all.next_if(goes_on) {
            length += more.whole.len();
            end = more.end().len();
        }
        let (whole, after) = rest.split_at(length);
        rest = after;
        Some(Line { text: &whole[..length - end], whole })
    })
}

/// Octets up to and with the empty line.
fn head_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    // What comes before the first line (RFC 3261 §7.5) is no end.
    let mut has_begun = false;
    for line in lines(bytes) {
        length += line.whole.len();
        if line.text.is_empty() && has_begun {
            return length;
        }
        has_begun |= !line.text.is_empty();
    }
    bytes.len()
}

fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|&b| b == b':')?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

/// The scheme and what tells; all of a scheme that is not known.
fn credentials(out: &mut Vec<u8>, value: &[u8]) {
    let end = value.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(value.len());
    let (scheme, rest) = value.split_at(end);
    let rest = rest.trim_ascii();
    if rest.is_empty() {
        return mark(out, value.len());
    }
    out.extend_from_slice(scheme);
    out.push(b' ');
    if !scheme.eq_ignore_ascii_case(b"digest") {
        return mark(out, rest.len());
    }
    for (n, parameter) in parameters(rest).enumerate() {
        if n > 0 {
            out.extend_from_slice(b", ");
        }
        let (name, value) = match parameter.iter().position(|&b| b == b'=') {
            Some(at) => (parameter[..at].trim_ascii(), parameter[at + 1..].trim_ascii()),
            None => (&b""[..], parameter),
        };
        if TELLING.iter().any(|one| name.eq_ignore_ascii_case(one)) {
            out.extend_from_slice(parameter);
            continue;
        }
        if !name.is_empty() {
            out.extend_from_slice(name);
            out.push(b'=');
        }
        match value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")) {
            Some(quoted) => {
                out.push(b'"');
                mark(out, quoted.len());
                out.push(b'"');
            }
            None => mark(out, value.len()),
        }
    }
}

/// Parts between commas that are not quoted.
fn parameters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = text.split(move |&octet| {
        let is_plain = !is_escaped;
        is_escaped = is_quoted && is_plain && octet == b'\\';
        if octet == b'"' && is_plain {
            is_quoted = !is_quoted;
        }
        octet == b',' && !is_quoted
    });
    parts.map(<[u8]>::trim_ascii).filter(|part| !part.is_empty())
}

/// The body that takes the place of the old one, if one has to.
fn new_body(head: &[u8], body: &[u8], keep: &[Keep]) -> Option<Vec<u8>> {
    if body.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(body.len());
    if !keep.contains(&Keep::Bodies) && is_letter(head, || has_digits(body)) {
        mark(&mut out, body.len());
        return Some(out);
    }
    if keep.contains(&Keep::Keys) || !has_keys(body) {
        return None;
    }
    for line in lines(body) {
        match secret_at(line.text) {
            Some(at) => {
                out.extend_from_slice(&line.text[..at]);
                mark(&mut out, line.text.len() - at);
                out.extend_from_slice(line.end());
            }
            None => out.extend_from_slice(line.whole),
        }
    }
    Some(out)
}

/// Where a body of a Content-Type may have typed digits.
enum Digits {
    Whole,
    InParts,
    Nowhere,
}

fn digits(kind: &[u8]) -> Digits {
    let kind = kind.trim_ascii_start();
    let begins =
        |name: &[u8]| kind.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    match () {
        () if DIGITS.into_iter().any(begins) => Digits::Whole,
        () if begins(b"multipart/") => Digits::InParts,
        () => Digits::Nowhere,
    }
}

/// Whether a part of a body has typed digits.
fn has_digits(body: &[u8]) -> bool {
    let has = |name: &[u8]| body.windows(name.len()).any(|it| it.eq_ignore_ascii_case(name));
    DIGITS.into_iter().any(has)
}

/// Whether a head is that of a MESSAGE, or of an answer to one, or of typed digits; `has_digits`:
/// whether the body has a part with such.
fn is_letter(head: &[u8], has_digits: impl FnOnce() -> bool) -> bool {
    // Once: any number of lines may say that there are parts.
    let has_digits = LazyCell::new(has_digits);
    let mut all = unfolded(head).map(|line| line.text).filter(|text| !text.is_empty());
    let is_request = all.next().is_some_and(|line| {
        line.get(..8).is_some_and(|word| word.eq_ignore_ascii_case(b"MESSAGE "))
    });
    let is_of_message = |line: &[u8]| {
        field(line).is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case(b"cseq") && value.to_ascii_uppercase().ends_with(b"MESSAGE")
        })
    };
    let is_of_digits = |line: &[u8]| {
        let value = field(line).filter(|it| TYPE.iter().any(|one| it.0.eq_ignore_ascii_case(one)));
        match value.map_or(Digits::Nowhere, |(_, value)| digits(value)) {
            Digits::Whole => true,
            Digits::InParts => *has_digits,
            Digits::Nowhere => false,
        }
    };
    is_request || all.any(|line| is_of_message(line) || is_of_digits(line))
}

/// Whether a body has a line with a key. Every body is looked at, so first for its words, which
/// hardly any has.
fn has_keys(body: &[u8]) -> bool {
    static WORDS: LazyLock<[Finder<'static>; 3]> =
        LazyLock::new(|| ["k=", "crypto:", "key-mgmt:"].map(Finder::new));
    WORDS.iter().any(|word| word.find(body).is_some())
        && lines(body).any(|line| secret_at(line.text).is_some())
}

/// Where in a line of a session description the key begins.
fn secret_at(line: &[u8]) -> Option<usize> {
    let (kind, rest) = (*line.first()?, line.get(1..)?);
    if rest.first() != Some(&b'=') {
        return None;
    }
    let after = |mark: u8| line.iter().position(|&b| b == mark).map_or(line.len(), |at| at + 1);
    let begins = |name: &[u8]| line.get(2..2 + name.len()).is_some_and(|text| text == name);
    // Names of fields and attributes are written in small letters (RFC 8866 §5, §6).
    match kind {
        // `k=clear:…`, `k=base64:…`, `k=uri:…`; `k=prompt` has none.
        b'k' if line.contains(&b':') => Some(after(b':')),
        b'k' if line.len() > 2 && line != b"k=prompt" => Some(2),
        // `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:…`
        b'a' if begins(b"crypto:") => {
            let inline = line.windows(7).position(|part| part.eq_ignore_ascii_case(b"inline:"));
            Some(inline.map_or(9, |at| at + 7)).filter(|at| *at < line.len())
        }
        // `a=key-mgmt:mikey …`
        b'a' if begins(b"key-mgmt:") => Some(after(b' ').max(11)).filter(|at| *at < line.len()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: &[Keep] = &[];
    const ALL: &[Keep] = &[Keep::Credentials, Keep::Keys, Keep::Bodies];

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(redacted(bytes, NOTHING)).unwrap()
    }

    const REGISTER: &str = "REGISTER sip:example.org SIP/2.0\r\n\
        Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\nFrom: <sip:a@example.org>;tag=1\r\n\
        To: <sip:a@example.org>\r\nCall-ID: r\r\nCSeq: 2 REGISTER\r\nIdentity: \"proof\"\r\n\
        authorization : Digest username=\"a, b\", realm=\"example.org\",\r\n nonce=\"12345678\", \
        uri=\"sip:example.org\", response=\"6629fae49393a05397450978507c4ef1\", qop=auth, \
        cnonce=\"0a4f\", nc=00000001\r\nProxy-Authorization: Bearer abc.def.ghi\r\n\
        Content-Length: 0\r\n\r\n";

    #[test]
    fn of_credentials_there_stays_who_asked_for_what() {
        let message = sip::Message::parse(REGISTER.as_bytes()).unwrap();
        assert!(concerns(&message, NOTHING) && !concerns(&message, &[Keep::Credentials]));
        let text = text(REGISTER.as_bytes());
        for gone in ["12345678", "6629fae", "0a4f", "abc.def"] {
            assert!(!text.contains(gone), "{text}");
        }
        let expected = "authorization: Digest username=\"a, b\", realm=\"example.org\", \
            nonce=\"<redacted 8 octets>\", uri=\"sip:example.org\", \
            response=\"<redacted 32 octets>\", qop=auth, cnonce=\"<redacted 4 octets>\", \
            nc=00000001\r\nProxy-Authorization: Bearer <redacted 11 octets>\r\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("Identity: \"proof\""));
        assert!(sip::Message::parse(text.as_bytes()).is_ok());
        assert_eq!(redacted(REGISTER.as_bytes(), &[Keep::Credentials]), REGISTER.as_bytes());
    }

    fn with_body(line: &str, method: &str, body: &str) -> String {
        format!(
            "{line}\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\nFrom: <sip:a@b>;tag=1\r\n\
             To: <sip:b@b>;tag=2\r\nCall-ID: m\r\nCSeq: 2 {method}\r\nl: {}\r\n\r\n{body}",
            body.len()
        )
    }

    #[test]
    fn of_media_keys_and_letters_there_stays_how_long_they_were() {
        let sdp = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
            k=clear:very secret\r\na=key-mgmt:mikey AQAFgM0X\r\nm=audio 1 RTP/SAVP 0\r\n\
            a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj\
            |2^20|1:4\r\na=sendrecv\r\n";
        let invite = with_body("INVITE sip:b@b SIP/2.0", "INVITE", sdp);
        let message = sip::Message::parse(invite.as_bytes()).unwrap();
        assert!(concerns(&message, NOTHING) && !concerns(&message, &[Keep::Keys]));
        let clean = text(invite.as_bytes());
        for there in [
            "k=clear:<redacted 11 octets>\r\n",
            "a=key-mgmt:mikey <redacted 8 octets>\r\n",
            "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:<redacted 49 octets>\r\na=sendrecv",
        ] {
            assert!(clean.contains(there), "{clean}");
        }
        let message = sip::Message::parse(clean.as_bytes()).unwrap();
        assert!(message.body().ends_with(b"a=sendrecv\r\n"), "its length fits");
        for line in ["MESSAGE sip:b@b SIP/2.0", "SIP/2.0 200 OK"] {
            let letter = with_body(line, "MESSAGE", "meet me at nine");
            let clean = text(letter.as_bytes());
            let message = sip::Message::parse(clean.as_bytes()).unwrap();
            assert_eq!(message.body(), b"<redacted 15 octets>");
            assert_eq!(redacted(letter.as_bytes(), &[Keep::Bodies]), letter.as_bytes());
        }
        let plain = with_body("INVITE sip:b@b SIP/2.0", "INVITE", "v=0\r\na=sendrecv\r\n");
        let message = sip::Message::parse(plain.as_bytes()).unwrap();
        assert!(!concerns(&message, NOTHING));
    }

    #[test]
    fn typed_digits_and_the_answer_to_credentials_are_not_kept() {
        let typed = with_body("INFO sip:b@b SIP/2.0", "INFO", "Signal=4\r\nDuration=160\r\n");
        let lines = "Content-Type: application/dtmf-relay\r\n\
            Authentication-Info: nextnonce=\"n0nce\", rspauth=\"proof\"\r\nl: ";
        let typed = typed.replacen("l: ", lines, 1);
        let message = sip::Message::parse(typed.as_bytes()).unwrap();
        assert!(concerns(&message, NOTHING) && !concerns(&message, ALL));
        let clean = text(typed.as_bytes());
        for secret in ["Signal", "n0nce", "proof"] {
            assert!(!clean.contains(secret), "{clean}");
        }
        assert!(sip::Message::parse(clean.as_bytes()).is_ok());
        assert_eq!(redacted(typed.as_bytes(), ALL), typed.as_bytes());
    }

    #[test]
    fn a_folded_header_hides_no_digits_and_no_letter_and_lengths_fit() {
        let typed = with_body("INFO sip:b@b SIP/2.0", "INFO", "Signal=4\r\nDuration=160\r\n");
        let relay = "Content-Type:\r\n application/dtmf-relay\r\nl:\r\n ";
        let letter = with_body("SIP/2.0 200 OK", "\r\n\tMESSAGE", "Signal=4 at nine");
        for text in [typed.replacen("l: ", relay, 1), letter] {
            let message = sip::Message::parse(text.as_bytes()).unwrap();
            assert!(concerns(&message, NOTHING), "{text}");
            let clean = self::text(text.as_bytes());
            assert!(!clean.contains("Signal"), "{clean}");
            assert!(sip::Message::parse(clean.as_bytes()).is_ok(), "{clean}");
            assert_eq!(redacted(text.as_bytes(), ALL), text.as_bytes());
        }
    }

    #[test]
    fn digits_reported_by_kpml_or_in_a_part_of_a_body_are_not_kept() {
        let parts = "--x\r\nContent-Type: Application/dtmf\r\n\r\n4\r\n--x--\r\n";
        let kpml = "<kpml-response code=\"200\" digits=\"4\"/>";
        let plain = "--x\r\nContent-Type: application/sdp\r\n\r\nv=0\r\n--x--\r\n";
        for (kind, body, is_secret) in [
            ("Application/kpml-response+xml", kpml, true),
            ("multipart/mixed;boundary=x", parts, true),
            ("multipart/mixed;boundary=x", plain, false),
        ] {
            let typed = with_body("NOTIFY sip:b@b SIP/2.0", "NOTIFY", body);
            let typed = typed.replacen("l: ", &format!("c: {kind}\r\nl: "), 1);
            let message = sip::Message::parse(typed.as_bytes()).unwrap();
            assert_eq!(concerns(&message, NOTHING), is_secret, "{typed}");
            let clean = text(typed.as_bytes());
            assert_eq!(clean != typed, is_secret, "{clean}");
            assert!(sip::Message::parse(clean.as_bytes()).is_ok());
        }
    }

    #[test]
    fn a_body_is_looked_through_once_however_many_lines_say_that_it_has_parts() {
        let head = format!("nonsense\r\n{}\r\n", "c:multipart/\r\n".repeat(2_000));
        for is_secret in [false, true] {
            let looks = core::cell::Cell::new(0);
            let look = || {
                looks.set(looks.get() + 1);
                is_secret
            };
            assert_eq!(is_letter(head.as_bytes(), look), is_secret);
            assert_eq!(looks.get(), 1);
        }
    }

    #[test]
    fn what_is_no_message_is_searched_as_well_and_nothing_makes_it_panic() {
        for end in ["\r", "\n", "\r\n"] {
            let broken = format!("nonsense{end}Proxy-authorization:Basic YTpi{end}x: y");
            assert!(!text(broken.as_bytes()).contains("YTpi"), "{end:?}");
        }
        let whole = with_body("INVITE sip:b@b SIP/2.0", "INVITE", "k=x\r\na=crypto:\r\nk=\r\n");
        let all = [REGISTER, &whole].concat();
        for at in 0..all.len() {
            let _ = redacted(&all.as_bytes()[at..], NOTHING);
            let _ = redacted(&all.as_bytes()[..at], NOTHING);
        }
    }
}
