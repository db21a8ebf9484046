//! Credentials: the value of Authorization (RFC 3310 §3.4, TS 24.229 §7.2A.2).

use super::Algorithm;
use super::nonce::LENIENT;
use super::parameters::{Parameter, hex, quoted, read, scheme, token, unhex};
use crate::Auts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;
use wire::Malformed;

/// A quality of protection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Qop {
    /// `auth`.
    Auth,
    /// `auth-int`.
    AuthInt,
}

impl Qop {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::AuthInt => "auth-int",
        }
    }
}

/// Credentials.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credentials<'a> {
    /// The private identity.
    pub username: Cow<'a, [u8]>,
    /// The realm.
    pub realm: Cow<'a, [u8]>,
    /// The nonce; empty before there was a challenge.
    pub nonce: Cow<'a, [u8]>,
    /// The digest URI.
    pub uri: Cow<'a, [u8]>,
    /// The response, octets; empty: there is none.
    pub response: Vec<u8>,
    /// The algorithm; `None`: it is not said, or none of AKA.
    pub algorithm: Option<Algorithm>,
    /// The quality of protection, if there is one.
    pub qop: Option<Qop>,
    /// The client's nonce.
    pub cnonce: Option<Cow<'a, [u8]>>,
    /// How often the nonce was used, this time with it; as it is written, eight digits.
    pub nonce_count: Option<u32>,
    /// What the challenge had.
    pub opaque: Option<Cow<'a, [u8]>>,
    /// A resynchronisation.
    pub auts: Option<Auts>,
    /// What a proxy says of how the request came (TS 24.229 §7.2A.2): `yes`, `no`, …
    pub integrity_protected: Option<Cow<'a, [u8]>>,
}

impl<'a> Credentials<'a> {
    /// Reads a value.
    ///
    /// # Errors
    /// It is no Digest, lacks username, realm or URI, has `username*` beside it, or one of its
    /// values is none.
    pub fn read(value: &'a [u8]) -> Result<Self, Malformed> {
        let parameters = read(value)?;
        let find = |name: &str| parameters.iter().find(|it| it.is(name));
        let text = |name: &str| find(name).map(|it| it.value.clone());
        let must =
            |name, what| text(name).ok_or(Malformed::new(value.len(), what, "RFC 7616 §3.4"));
        if let Some(other) = find("username*") {
            return Err(other.violation("a username stands in two ways"));
        }
        Ok(Self {
            username: must("username", "it has no username")?,
            realm: must("realm", "it has no realm")?,
            nonce: text("nonce").unwrap_or_default(),
            uri: must("uri", "it has no URI")?,
            response: find("response").map_or(Ok(Vec::new()), response)?,
            algorithm: find("algorithm").and_then(|it| Algorithm::named(&it.value)),
            qop: find("qop").map(qop).transpose()?,
            cnonce: text("cnonce"),
            nonce_count: find("nc").map(nonce_count).transpose()?,
            opaque: text("opaque"),
            auts: find("auts").map(auts).transpose()?,
            integrity_protected: text("integrity-protected"),
        })
    }

    /// Appends the value.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        scheme(&mut value);
        quoted(&mut value, "username", &self.username);
        quoted(&mut value, "realm", &self.realm);
        quoted(&mut value, "nonce", &self.nonce);
        quoted(&mut value, "uri", &self.uri);
        quoted(&mut value, "response", &hex(&self.response));
        if let Some(algorithm) = self.algorithm {
            token(&mut value, "algorithm", algorithm.name().as_bytes());
        }
        if let Some(cnonce) = &self.cnonce {
            quoted(&mut value, "cnonce", cnonce);
        }
        if let Some(qop) = self.qop {
            token(&mut value, "qop", qop.name().as_bytes());
        }
        if let Some(count) = self.nonce_count {
            token(&mut value, "nc", &hex(&count.to_be_bytes()));
        }
        if let Some(opaque) = &self.opaque {
            quoted(&mut value, "opaque", opaque);
        }
        if let Some(auts) = &self.auts {
            quoted(&mut value, "auts", STANDARD.encode(auts.octets()).as_bytes());
        }
        if let Some(said) = &self.integrity_protected {
            quoted(&mut value, "integrity-protected", said);
        }
        out.append(&mut value);
    }
}

/// Credentials as a proxy passes them on: all that was read is written anew, so that whoever reads
/// it next reads the same, with what the proxy says of how the request came in place of what
/// anybody else said (TS 24.229 §5.2.2, §7.2A.2). With `None` nothing is said of it.
///
/// # Errors
/// Those of [`Credentials::read`], or a value has control characters; nothing is appended.
pub fn mark<'a>(
    value: &'a [u8],
    integrity_protected: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<Credentials<'a>, Malformed> {
    let credentials = Credentials::read(value)?;
    let mut text = Vec::new();
    scheme(&mut text);
    for parameter in read(value)?.iter().filter(|it| !it.is("integrity-protected")) {
        if parameter.value.iter().any(u8::is_ascii_control) {
            return Err(parameter.violation("a value has control characters"));
        }
        let name = core::str::from_utf8(parameter.name).unwrap_or_default(); // tokens are ASCII
        match parameter.raw.ends_with(b"\"") {
            true => quoted(&mut text, name, &parameter.value),
            false => token(&mut text, name, &parameter.value),
        }
    }
    if let Some(said) = integrity_protected {
        quoted(&mut text, "integrity-protected", said.as_bytes());
    }
    out.append(&mut text);
    Ok(credentials)
}

fn response(parameter: &Parameter<'_>) -> Result<Vec<u8>, Malformed> {
    let octets = unhex(&parameter.value).filter(|it| matches!(it.len(), 0 | 16 | 32));
    octets.ok_or(parameter.violation("the response is no hash"))
}

fn qop(parameter: &Parameter<'_>) -> Result<Qop, Malformed> {
    let named = |qop: &Qop| parameter.value.eq_ignore_ascii_case(qop.name().as_bytes());
    let known = [Qop::Auth, Qop::AuthInt].into_iter().find(named);
    known.ok_or(parameter.violation("there is no such quality of protection"))
}

fn nonce_count(parameter: &Parameter<'_>) -> Result<u32, Malformed> {
    let octets = unhex(&parameter.value).and_then(|octets| octets.try_into().ok());
    octets
        .map(u32::from_be_bytes)
        .ok_or(parameter.violation("the nonce count has not eight digits"))
}

fn auts(parameter: &Parameter<'_>) -> Result<Auts, Malformed> {
    let octets = LENIENT.decode(&*parameter.value).ok();
    octets.and_then(|octets| Auts::new(&octets)).ok_or(parameter.violation("AUTS is of no length"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_marked_is_written_anew_and_what_others_said_is_gone() {
        let marked = |value: &str| {
            let mut out = Vec::new();
            let read = mark(value.as_bytes(), Some("no"), &mut out).map(|it| it.username.to_vec());
            (read, String::from_utf8(out).unwrap())
        };
        let (username, text) = marked(
            "digest\tusername=\"a\\\"b\",realm=\"x\" , Integrity-Protected=yes,uri=\"sip:x\", \
             algorithm=MD5",
        );
        assert_eq!(username.unwrap(), b"a\"b");
        assert_eq!(
            text,
            "Digest username=\"a\\\"b\", realm=\"x\", uri=\"sip:x\", algorithm=MD5, \
             integrity-protected=\"no\""
        );
        for wrong in [
            "Digest username=\"a\", realm=\"x\", uri=\"sip:x",
            "Digest username=\"a\r\n b\", realm=\"x\", uri=\"sip:x\"",
            "Digest username=\"a\", realm=\"x\", uri=\"sip:x\", Digest username=\"b\"",
            "Basic username=\"a\", realm=\"x\", uri=\"sip:x\"",
        ] {
            let (read, text) = marked(wrong);
            assert!(read.is_err() && text.is_empty(), "{wrong}");
        }
    }
}
