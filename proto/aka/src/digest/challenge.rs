//! A challenge: the value of WWW-Authenticate (RFC 3310 §3.1, TS 24.229 §7.2A.1).

use super::parameters::{Parameter, hex, quoted, read, scheme, token, unhex};
use super::{Algorithm, Qop, SessionKeys};
use crate::Secret;
use std::borrow::Cow;
use wire::Malformed;
use zeroize::Zeroizing;

/// The qualities of protection that a server offers; neither: responses without any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Qops {
    /// The request's method and URI are part of the response.
    pub auth: bool,
    /// And its body.
    pub auth_int: bool,
}

impl Qops {
    /// `auth` alone.
    pub const AUTH: Self = Self { auth: true, auth_int: false };

    /// Whether it is offered; no quality is where none is offered.
    #[must_use]
    pub const fn offers(self, qop: Option<Qop>) -> bool {
        match qop {
            None => !self.auth && !self.auth_int,
            Some(Qop::Auth) => self.auth,
            Some(Qop::AuthInt) => self.auth_int,
        }
    }

    fn read(list: &[u8]) -> Self {
        let named = |name: &str| {
            list.split(|octet| *octet == b',')
                .any(|item| item.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
        };
        Self { auth: named("auth"), auth_int: named("auth-int") }
    }

    const fn text(self) -> &'static [u8] {
        match (self.auth, self.auth_int) {
            (true, true) => b"auth,auth-int",
            (true, false) => b"auth",
            (false, true) => b"auth-int",
            (false, false) => b"",
        }
    }
}

/// A challenge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Challenge<'a> {
    /// The realm.
    pub realm: Cow<'a, [u8]>,
    /// The nonce as it is written; [`Nonce::read`](super::Nonce::read) reads it.
    pub nonce: Cow<'a, [u8]>,
    /// What comes back with the answer.
    pub opaque: Option<Cow<'a, [u8]>>,
    /// What the server offers.
    pub qops: Qops,
    /// The algorithm; `None`: one that is not AKA's.
    pub algorithm: Option<Algorithm>,
    /// Whether only the nonce was too old.
    pub is_stale: bool,
    /// The keys that a server tells its proxy (TS 24.229 §7.2A.1); no phone may see them.
    pub keys: Option<SessionKeys>,
}

impl<'a> Challenge<'a> {
    /// Reads a value.
    ///
    /// # Errors
    /// It is no Digest challenge, or lacks realm or nonce.
    pub fn read(value: &'a [u8]) -> Result<Self, Malformed> {
        let parameters = read(value)?;
        let find = |name: &str| parameters.iter().find(|it| it.is(name));
        let must =
            |name, what| find(name).ok_or(Malformed::new(value.len(), what, "RFC 7616 §3.3"));
        let keys = match (find("ck"), find("ik")) {
            (Some(ck), Some(ik)) => Some(SessionKeys { ck: key(ck)?, ik: key(ik)? }),
            _ => None,
        };
        let algorithm = find("algorithm").and_then(|it| Algorithm::named(&it.value));
        Ok(Self {
            realm: must("realm", "it has no realm")?.value.clone(),
            nonce: must("nonce", "it has no nonce")?.value.clone(),
            opaque: find("opaque").map(|it| it.value.clone()),
            qops: find("qop").map_or(Qops::default(), |it| Qops::read(&it.value)),
            algorithm,
            is_stale: find("stale").is_some_and(|it| it.value.eq_ignore_ascii_case(b"true")),
            keys,
        })
    }

    /// Appends the value.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        scheme(&mut value);
        quoted(&mut value, "realm", &self.realm);
        quoted(&mut value, "nonce", &self.nonce);
        if let Some(algorithm) = self.algorithm {
            token(&mut value, "algorithm", algorithm.name().as_bytes());
        }
        if self.qops != Qops::default() {
            quoted(&mut value, "qop", self.qops.text());
        }
        if let Some(opaque) = &self.opaque {
            quoted(&mut value, "opaque", opaque);
        }
        if self.is_stale {
            token(&mut value, "stale", b"TRUE");
        }
        if let Some(keys) = &self.keys {
            quoted(&mut value, "ik", &hex(keys.ik.expose()));
            quoted(&mut value, "ck", &hex(keys.ck.expose()));
        }
        out.append(&mut value);
    }
}

fn key(parameter: &Parameter<'_>) -> Result<Secret, Malformed> {
    let octets = unhex(&parameter.value).map(Zeroizing::new);
    let octets = octets.filter(|octets| matches!(octets.len(), 16 | 32));
    octets.and_then(|octets| Secret::new(&octets)).ok_or(parameter.violation("it is no key"))
}

/// Whether a challenge has a key among its parameters, whatever its quoted values look like: a
/// nonce in base64 may end in `/ck=`.
///
/// # Errors
/// It is no Digest challenge: nobody knows.
pub fn has_keys(value: &[u8]) -> Result<bool, Malformed> {
    Ok(read(value)?.iter().any(|it| it.is("ck") || it.is("ik")))
}

/// What a proxy does with a challenge on its way to a phone: takes the keys out of it, and appends
/// it without them (TS 24.229 §5.2.2). Nothing else of it changes.
///
/// # Errors
/// It is no Digest challenge, or a key is none; nothing is appended.
pub fn take_keys(value: &[u8], out: &mut Vec<u8>) -> Result<Option<SessionKeys>, Malformed> {
    let keys = Challenge::read(value)?.keys;
    let parameters = read(value)?;
    let rest = parameters.iter().filter(|it| !it.is("ck") && !it.is("ik"));
    let mut value = Vec::new();
    scheme(&mut value);
    for (at, parameter) in rest.enumerate() {
        if at > 0 {
            value.extend_from_slice(b", ");
        }
        value.extend_from_slice(parameter.raw);
    }
    out.append(&mut value);
    Ok(keys)
}
