//! Digest challenges that ask for nothing but a return path: whoever answers one has received it,
//! so that its address is not forged (RFC 3261 §22.2, §26.3.2.4; RFC 7616 §3.3).
//!
//! ```text
//! REGISTER ──────────────────────────→ 401, nonce = MAC(address, port, time): nothing is kept
//! REGISTER, Authorization: our nonce ─→ proven; goes on without that line ──→ who knows passwords
//! 401, stale=TRUE ←── the same credentials will do ←───────────────────────── 401, its own nonce
//! ```
//! The response in such an Authorization is not looked at: it was made with a nonce that only its
//! sender and we know.

use crate::refuse::RawLines;
use crate::write::{first_via, no_body};
use crate::{Header, Items, LineEnds, Message, RequestHead, Uri, Via, unquoted};
use core::net::{IpAddr, SocketAddr};
use core::ops::Range;
use machine::KeyedHash;
use machine::Time;

/// A nonce holds for the rest of its span of time and for the next one, microseconds.
const SPAN_US: u64 = 32_000_000;
/// What our nonces begin with, quote included: a request without it is not read any further.
const MARK: &[u8; 6] = b"\"path.";
/// Hexadecimal digits of a nonce: its span, and two hashes.
const DIGITS: usize = 8 + 2 * 16;
/// Octets of a nonce.
const NONCE_BYTES: usize = MARK.len() - 1 + DIGITS;
/// Domains whose realm is known; of further ones the realm is their own name.
const REALMS_MAX: usize = 256;
/// Octets of a realm that is learnt.
const REALM_BYTES_MAX: usize = 128;
/// An answer is at most so many times as long as its request: nobody is flooded with our help.
const AMPLIFICATION_MAX: usize = 2;

/// A domain in small letters, and the realm that its own challenges name.
#[derive(Debug)]
struct Realm {
    domain: Box<[u8]>,
    name: Box<[u8]>,
}

/// A request whose sender is to prove its return path.
#[derive(Debug, Clone, Copy)]
pub struct Unproved<'m> {
    /// Its head.
    pub head: &'m RequestHead<'m>,
    /// Its topmost Via.
    pub via: &'m Via<'m>,
    /// Where it came from.
    pub from: SocketAddr,
    /// To's tag in the answer, the same for each copy of the request.
    pub tag: &'m [u8],
}

/// Asks senders of datagrams for their return path.
#[derive(Debug)]
pub struct Challenger {
    keys: [KeyedHash; 2],
    realms: Vec<Realm>,
    /// Until when an answer to the last challenge may come.
    until: Time,
}

impl Challenger {
    /// With secrets that nobody else knows.
    #[must_use]
    pub fn new(secrets: [u128; 2]) -> Self {
        let keys = secrets.map(KeyedHash::of_secret);
        Self { keys, realms: Vec::new(), until: Time::ZERO }
    }

    /// Appends the 401 to a request that came from `from`; `false`, and nothing is appended: it is
    /// odd, or brief enough to make the answer an amplifier. `realm` is what the configuration
    /// says.
    pub fn write(
        &mut self,
        now: Time,
        unproved: &Unproved<'_>,
        realm: Option<&str>,
        out: &mut Vec<u8>,
    ) -> bool {
        let &Unproved { head: peek, via, from, tag } = unproved;
        let Ok(uri) = Uri::parse(peek.uri) else { return false };
        let realm = realm.map_or_else(|| self.realm(uri.host), str::as_bytes);
        let begin = out.len();
        out.extend_from_slice(b"SIP/2.0 401 Unauthorized\r\n");
        first_via(out, via, peek.via, from, b"");
        peek.write_lines(out, tag);
        out.extend_from_slice(b"WWW-Authenticate: Digest realm=\"");
        out.extend_from_slice(realm);
        out.extend_from_slice(b"\",nonce=");
        out.extend_from_slice(&self.nonce(span(now), from));
        out.extend_from_slice(b"\",algorithm=MD5");
        if peek.has_credentials {
            // Those are good, as far as we know: nobody shall be asked for a password again.
            out.extend_from_slice(b",stale=TRUE");
        }
        out.extend_from_slice(b"\r\n");
        no_body(out);
        let is_fit = out.len() - begin <= AMPLIFICATION_MAX * peek.octets();
        if is_fit {
            self.until = now + machine::Duration::from_micros(2 * SPAN_US);
        } else {
            out.truncate(begin);
        }
        is_fit
    }

    /// Where in a request that came from `from` the Authorization line stands that bears a nonce
    /// which was sent there not long ago.
    #[must_use]
    pub fn proof(&self, now: Time, from: SocketAddr, bytes: &[u8]) -> Option<Range<usize>> {
        if now >= self.until {
            return None;
        }
        memchr::memmem::find(bytes, MARK)?;
        let head = LineEnds::new(bytes, 0).step().ok()? + 2;
        let proves = |value: &[u8]| {
            let nonce = digest_param(value, b"nonce").map(unquoted);
            nonce.is_some_and(|nonce| self.is_ours(now, from, nonce))
        };
        let mut lines = RawLines { bytes, at: head };
        while let Some((header, value, raw)) = lines.next() {
            if header == Header::Authorization && proves(value) {
                return Some(lines.at - raw.len()..lines.at);
            }
        }
        None
    }

    fn is_ours(&self, now: Time, from: SocketAddr, nonce: &[u8]) -> bool {
        let present = span(now);
        let is = |span: u64| self.nonce(span, from)[1..] == *nonce;
        is(present) || present.checked_sub(1).is_some_and(is)
    }

    /// A nonce with the quote before it.
    fn nonce(&self, span: u64, to: SocketAddr) -> [u8; NONCE_BYTES + 1] {
        let ip = match to.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut words = [0; 26];
        words[..8].copy_from_slice(&span.to_be_bytes());
        words[8..24].copy_from_slice(&ip.octets());
        words[24..].copy_from_slice(&to.port().to_be_bytes());
        let mut nonce = [0; NONCE_BYTES + 1];
        nonce[..MARK.len()].copy_from_slice(MARK);
        let [first, second] = self.keys.map(|key| key.hash(&words).to_be_bytes());
        let [.., a, b, c, d] = span.to_be_bytes();
        let octets = [a, b, c, d].into_iter().chain(first).chain(second);
        for (pair, octet) in nonce[MARK.len()..].chunks_exact_mut(2).zip(octets) {
            let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
            pair.copy_from_slice(&[digit(octet >> 4), digit(octet)]);
        }
        nonce
    }

    /// Learns from a challenge of those who know the passwords of a domain by which realm phones
    /// find theirs.
    pub fn learn(&mut self, domain: &[u8], response: &Message<'_>) {
        let Some(realm) = response
            .lines_of(Header::WwwAuthenticate)
            .find_map(|line| digest_param(line.value, b"realm"))
            .map(unquoted)
            .filter(|realm| realm.len() <= REALM_BYTES_MAX)
        else {
            return;
        };
        if domain.len() > REALM_BYTES_MAX {
            return;
        }
        // The domains used last stand at the end: invented ones, of which the core may challenge
        // any, do not keep later ones out.
        let known = self.realms.iter().position(|row| row.domain.eq_ignore_ascii_case(domain));
        match known {
            Some(at) => self.realms[at..].rotate_left(1),
            None => {
                if self.realms.len() == REALMS_MAX {
                    self.realms.remove(0);
                }
                let domain = domain.to_ascii_lowercase().into();
                self.realms.push(Realm { domain, name: Box::default() });
            }
        }
        if let Some(row) = self.realms.last_mut().filter(|row| *row.name != *realm) {
            row.name = realm.into();
        }
    }

    fn realm<'a>(&'a self, domain: &'a [u8]) -> &'a [u8] {
        let known = self.realms.iter().find(|row| row.domain.eq_ignore_ascii_case(domain));
        known.map_or(domain, |row| &row.name)
    }
}

const fn span(now: Time) -> u64 {
    now.as_micros() / SPAN_US
}

/// The value of a parameter in a Digest challenge or in Digest credentials, as written.
fn digest_param<'a>(value: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (scheme, params) = value.split_at_checked(b"Digest ".len())?;
    if !scheme.eq_ignore_ascii_case(b"Digest ") {
        return None;
    }
    Items::new(params).find_map(|item| {
        let (found, value) = item.split_at(memchr::memchr(b'=', item)?);
        found.trim_ascii().eq_ignore_ascii_case(name).then(|| value[1..].trim_ascii())
    })
}

/// Appends a response with `stale=TRUE` in each of its Digest challenges: its client tries again
/// with the credentials that it has (RFC 7616 §3.3). `false`, and nothing is appended: there is no
/// such challenge in it.
pub fn write_stale(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let begin = out.len();
    let mut is_stale = false;
    let Ok(end) = LineEnds::new(bytes, 0).step() else { return false };
    let mut lines = RawLines { bytes, at: end + 2 };
    out.extend_from_slice(&bytes[..lines.at]);
    for (header, value, raw) in lines.by_ref() {
        let is_challenge = header == Header::WwwAuthenticate
            && value.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"Digest "));
        if !is_challenge {
            out.extend_from_slice(raw);
            continue;
        }
        is_stale = true;
        out.extend_from_slice(b"WWW-Authenticate: Digest ");
        let is_flag = |item: &&[u8]| {
            let name = &item[..memchr::memchr(b'=', item).unwrap_or(item.len())];
            !name.trim_ascii().eq_ignore_ascii_case(b"stale")
        };
        for item in Items::new(&value[7..]).filter(is_flag) {
            out.extend_from_slice(item);
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(b"stale=TRUE\r\n");
    }
    out.extend_from_slice(&bytes[lines.at..]);
    if !is_stale {
        out.truncate(begin);
    }
    is_stale
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;

    const PHONE: &str = "203.0.113.9:5062";

    fn request(more: &str) -> String {
        format!(
            "REGISTER sip:Example.com SIP/2.0\r\nVia: SIP/2.0/UDP {PHONE};rport;branch=z9hG4bK1\r\n\
             Max-Forwards: 70\r\nFrom: <sip:a@example.com>;tag=f\r\nTo: <sip:a@example.com>\r\n\
             Call-ID: c\r\nCSeq: 1 REGISTER\r\nContact: <sip:a@{PHONE}>\r\nExpires: 600\r\n{more}\
             Content-Length: 0\r\n\r\n"
        )
    }

    fn challenged(challenger: &mut Challenger, now: Time, request: &str) -> Option<String> {
        let peek = RequestHead::read(request.as_bytes()).unwrap();
        let via = Via::parse(peek.via).unwrap();
        let mut out = Vec::new();
        let from = PHONE.parse().unwrap();
        let unproved = Unproved { head: &peek, via: &via, from, tag: b"t" };
        challenger.write(now, &unproved, None, &mut out).then(|| String::from_utf8(out).unwrap())
    }

    fn nonce(answer: &str) -> &str {
        answer.split("nonce=\"").nth(1).unwrap().split('"').next().unwrap()
    }

    fn credentials(nonce: &str) -> String {
        format!(
            "Authorization: Digest username=\"a\",\r\n realm=\"x\", nonce=\"{nonce}\",\
             uri=\"sip:x\", response=\"0\"\r\n"
        )
    }

    #[test]
    fn only_who_received_a_nonce_not_long_ago_proves_its_path() {
        let (mut challenger, now) = (Challenger::new([1, 2]), Time::from_millis(1_700_000_000_000));
        let answer = challenged(&mut challenger, now, &request("")).unwrap();
        assert!(answer.starts_with("SIP/2.0 401 Unauthorized\r\nVia: SIP/2.0/UDP 203.0.113.9"));
        assert!(answer.contains("To: <sip:a@example.com>;tag=t\r\n"), "{answer}");
        assert!(
            answer.contains("Digest realm=\"Example.com\",nonce=") && !answer.contains("stale")
        );
        Message::parse(answer.as_bytes()).unwrap();
        let other = "Authorization: Digest username=\"a\", nonce=\"n\"\r\n";
        let line = credentials(nonce(&answer));
        let text = request(&format!("{other}{line}"));
        let proof = |challenger: &Challenger, after_s: u64, from: &str| {
            let from = from.parse().unwrap();
            challenger.proof(now + Duration::from_secs(after_s), from, text.as_bytes())
        };
        let found = proof(&challenger, 1, PHONE).expect("the path is proven");
        assert_eq!(&text[found], line);
        assert_eq!(proof(&challenger, 1, "203.0.113.9:5063"), None, "another port");
        assert_eq!(proof(&challenger, 1, "203.0.113.8:5062"), None, "another address");
        assert!(proof(&challenger, 32, PHONE).is_some());
        assert_eq!(proof(&challenger, 65, PHONE), None, "too late");
        let mut other = Challenger::new([1, 3]);
        challenged(&mut other, now, &request("")).unwrap();
        assert_eq!(proof(&other, 1, PHONE), None, "another secret");
    }

    #[test]
    fn a_phone_with_credentials_is_told_that_they_are_stale_and_realms_are_learnt() {
        let (mut challenger, now) = (Challenger::new([1, 2]), Time::from_millis(1_700_000_000_000));
        let text = "SIP/2.0 401 Unauthorized\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\n\
            From: <sip:a@b>;tag=1\r\nTo: <sip:a@b>;tag=2\r\nCall-ID: c\r\nCSeq: 1 REGISTER\r\n\
            WWW-Authenticate: Digest nonce=\"n\", realm=\"A, \\\"B\\\"\"\r\n\r\n";
        challenger.learn(b"example.COM", &Message::parse(text.as_bytes()).unwrap());
        let held = request("Authorization: Digest username=\"a\", nonce=\"old\"\r\n");
        let answer = challenged(&mut challenger, now, &held).unwrap();
        assert!(answer.contains("Digest realm=\"A, \\\"B\\\"\",nonce="), "{answer}");
        assert!(answer.contains(",stale=TRUE\r\n"), "{answer}");
    }

    #[test]
    fn invented_domains_neither_keep_others_out_nor_put_out_those_in_use() {
        let mut challenger = Challenger::new([1, 2]);
        let challenge = |realm: &str| {
            format!(
                "SIP/2.0 401 Unauthorized\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\n\
                 From: <sip:a@b>;tag=1\r\nTo: <sip:a@b>;tag=2\r\nCall-ID: c\r\n\
                 CSeq: 1 REGISTER\r\nWWW-Authenticate: Digest nonce=\"n\", \
                 realm=\"{realm}\"\r\n\r\n"
            )
        };
        let mut learn = |domain: &str, realm: &str| {
            let text = challenge(realm);
            challenger.learn(domain.as_bytes(), &Message::parse(text.as_bytes()).unwrap());
        };
        for n in 0..2 * REALMS_MAX {
            learn("old.example", "old");
            learn(&format!("{n}.invented"), "x");
        }
        learn("example.com", "new");
        learn("old.example", "renamed");
        assert_eq!(challenger.realms.len(), REALMS_MAX);
        assert_eq!(challenger.realm(b"example.com"), b"new");
        assert_eq!(challenger.realm(b"OLD.example"), b"renamed");
    }

    #[test]
    fn no_answer_is_twice_as_long_as_what_it_answers() {
        let (mut challenger, now) = (Challenger::new([1, 2]), Time::from_millis(1_700_000_000_000));
        let brief = "REGISTER sip:b SIP/2.0\r\nv:SIP/2.0/UDP h;branch=z9hG4bK1\r\nf:<sip:a>;tag=f\
            \r\nt:<sip:a>\r\ni:c\r\nCSeq:1 REGISTER\r\n\r\n";
        assert_eq!(challenged(&mut challenger, now, brief), None);
        let text = request("");
        let answer = challenged(&mut challenger, now, &text).unwrap();
        assert!(answer.len() <= text.len() * 4 / 3, "{} for {}", answer.len(), text.len());
    }

    #[test]
    fn every_digest_challenge_becomes_stale_and_nothing_else_changes() {
        let text = |challenges: &str| {
            format!(
                "SIP/2.0 401 Unauthorized\r\nVia: SIP/2.0/UDP h\r\n{challenges}Subject: \
                     stale=FALSE\r\nContent-Length: 4\r\n\r\nbody"
            )
        };
        let was = text(
            "WWW-Authenticate: Digest realm=\"a, stale=FALSE\", stale = FALSE, nonce=\"n\"\r\n\
             www-authenticate: digest realm=\"b\",\r\n nonce=\"m\"\r\n\
             WWW-Authenticate: Negotiate\r\n",
        );
        let is = text(
            "WWW-Authenticate: Digest realm=\"a, stale=FALSE\", nonce=\"n\", stale=TRUE\r\n\
             WWW-Authenticate: Digest realm=\"b\", nonce=\"m\", stale=TRUE\r\n\
             WWW-Authenticate: Negotiate\r\n",
        );
        let mut out = Vec::new();
        assert!(write_stale(was.as_bytes(), &mut out));
        assert_eq!(String::from_utf8(out).unwrap(), is);
        let mut out = Vec::new();
        assert!(!write_stale(text("").as_bytes(), &mut out) && out.is_empty());
    }
}
