//! A mechanism: `ipsec-3gpp;q=0.5;alg=hmac-sha-1-96;…` (RFC 3329 §2.2).

use crate::Ipsec;
use wire::Malformed;

pub(crate) const SPEC: &str = "RFC 3329 §2.2";

/// A preference, thousandths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Q(u16);

impl Q {
    /// That of a mechanism that says none: it comes behind those that do.
    pub const NONE: Self = Self(0);
    /// The highest.
    pub const ONE: Self = Self(1_000);

    /// So many thousandths; `None` past one.
    #[must_use]
    pub const fn thousandths(thousandths: u16) -> Option<Self> {
        if thousandths <= 1_000 { Some(Self(thousandths)) } else { None }
    }

    /// `0`, `1`, `0.5`, `0.123`, `1.000` (RFC 3261 §25.1).
    fn read(text: &[u8]) -> Option<Self> {
        let (whole, rest) = text.split_first()?;
        let digits = match rest {
            [] => rest,
            [b'.', digits @ ..] if digits.len() <= 3 => digits,
            _ => return None,
        };
        let mut thousandths = match whole {
            b'0' => 0,
            b'1' => 1_000,
            _ => return None,
        };
        for (digit, weight) in digits.iter().zip([100, 10, 1]) {
            thousandths += u16::from(digit.checked_sub(b'0').filter(|it| *it <= 9)?) * weight;
        }
        Self::thousandths(thousandths)
    }

    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let text = match self.0 {
            1_000 => "1".to_owned(),
            thousandths => format!("0.{thousandths:03}"),
        };
        let text = if self == Self::ONE { &text } else { text.trim_end_matches('0') };
        out.extend_from_slice(text.trim_end_matches('.').as_bytes());
    }
}

/// What a mechanism is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Name {
    /// `ipsec-3gpp` with parameters that are ours.
    Ipsec3gpp(Ipsec),
    /// `tls`.
    Tls,
    /// `digest`.
    Digest,
    /// Another one, by name and parameters as they are written.
    Other(Vec<u8>),
}

/// A mechanism with its preference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mechanism {
    /// What it is.
    pub name: Name,
    /// Its preference, if it has one.
    pub q: Option<Q>,
    /// Parameters that IPsec has beside ours, as they are written: `;name=value`.
    pub extensions: Vec<u8>,
}

/// A parameter: its name and what stands behind the equals sign.
pub(crate) struct Parameter<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
    pub at: usize,
}

impl Parameter<'_> {
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    pub fn violation(&self, what: &'static str) -> Malformed {
        Malformed::new(self.at, what, SPEC)
    }
}

impl Mechanism {
    /// Reads one that begins `at` octets into the value.
    pub(crate) fn read(text: &[u8], at: usize) -> Result<Self, Malformed> {
        let mut parts = parts(text).map(|(offset, part)| (at + offset, part.trim_ascii()));
        let (_, name) = parts.next().unwrap_or((at, b""));
        if name.is_empty() || !name.iter().all(|octet| is_token(*octet)) {
            return Err(Malformed::new(at, "a mechanism has no name", SPEC));
        }
        let mut parameters: Vec<Parameter<'_>> = Vec::new();
        for (at, part) in parts {
            let (name, value) = match part.iter().position(|octet| *octet == b'=') {
                Some(equals) => (part[..equals].trim_ascii(), part[equals + 1..].trim_ascii()),
                None => (part, &part[part.len()..]),
            };
            let parameter = Parameter { name, value, at };
            if name.is_empty() || !name.iter().all(|octet| is_token(*octet)) {
                return Err(parameter.violation("a parameter has no name"));
            }
            if !is_value(value) {
                return Err(parameter.violation("a quoted value has no end"));
            }
            if parameters.iter().any(|it| it.name.eq_ignore_ascii_case(name)) {
                return Err(parameter.violation("a parameter comes twice"));
            }
            parameters.push(parameter);
        }
        let q = match parameters.iter().position(|it| it.is("q")) {
            None => None,
            Some(place) => {
                let it = parameters.remove(place);
                Some(Q::read(it.value).ok_or(it.violation("the preference is none"))?)
            }
        };
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let ipsec = if is("ipsec-3gpp") { Ipsec::read(&parameters, at)? } else { None };
        if let Some(ipsec) = ipsec {
            parameters.retain(|it| Ipsec::place(it).is_none());
            let extensions = other(b"", &parameters);
            return Ok(Self { name: Name::Ipsec3gpp(ipsec), q, extensions });
        }
        let name = match parameters.is_empty() {
            true if is("tls") => Name::Tls,
            true if is("digest") => Name::Digest,
            _ => Name::Other(other(name, &parameters)),
        };
        let extensions = Vec::new();
        Ok(Self { name, q, extensions })
    }

    /// Appends it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match &self.name {
            Name::Ipsec3gpp(ipsec) => {
                out.extend_from_slice(b"ipsec-3gpp");
                self.write_q(out);
                ipsec.write(out);
                out.extend_from_slice(&self.extensions);
            }
            Name::Tls => {
                out.extend_from_slice(b"tls");
                self.write_q(out);
            }
            Name::Digest => {
                out.extend_from_slice(b"digest");
                self.write_q(out);
            }
            Name::Other(text) => {
                out.extend_from_slice(text);
                self.write_q(out);
            }
        }
    }

    fn write_q(&self, out: &mut Vec<u8>) {
        if let Some(q) = self.q {
            out.extend_from_slice(b";q=");
            q.write(out);
        }
    }

    /// The IPsec of it.
    #[must_use]
    pub const fn ipsec(&self) -> Option<&Ipsec> {
        match &self.name {
            Name::Ipsec3gpp(ipsec) => Some(ipsec),
            _ => None,
        }
    }
}

/// Name and parameters of a mechanism that is not ours, without blanks.
fn other(name: &[u8], parameters: &[Parameter<'_>]) -> Vec<u8> {
    let mut text = name.to_vec();
    for parameter in parameters {
        text.push(b';');
        text.extend_from_slice(parameter.name);
        if !parameter.value.is_empty() {
            text.push(b'=');
            text.extend_from_slice(parameter.value);
        }
    }
    text
}

/// The parts between semicolons that stand in no quotes, each with its place.
fn parts(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    crate::list::split(text, b';')
}

/// Whether quotes stand around a value or nowhere.
fn is_value(value: &[u8]) -> bool {
    let [b'"', quoted @ ..] = value else { return !value.contains(&b'"') };
    let mut rest = quoted.iter();
    while let Some(octet) = rest.next() {
        match octet {
            b'"' => return rest.next().is_none(),
            b'\\' => drop(rest.next()),
            _ => {}
        }
    }
    false
}

pub(crate) const fn is_token(octet: u8) -> bool {
    octet.is_ascii_alphanumeric()
        || matches!(octet, b'-' | b'.' | b'!' | b'%' | b'*' | b'_' | b'+' | b'`' | b'\'' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_are_read_and_written_as_they_may_be() {
        for (text, thousandths, written) in [
            ("0", 0, "0"),
            ("1", 1_000, "1"),
            ("1.000", 1_000, "1"),
            ("0.5", 500, "0.5"),
            ("0.123", 123, "0.123"),
            ("0.", 0, "0"),
            ("0.050", 50, "0.05"),
        ] {
            let q = Q::read(text.as_bytes());
            assert_eq!(q, Q::thousandths(thousandths), "{text}");
            let mut out = Vec::new();
            q.expect("it is one").write(&mut out);
            assert_eq!(out, written.as_bytes());
        }
        for text in ["", "2", "1.001", "0.1234", "0,5", ".5", "0.a", "00"] {
            assert_eq!(Q::read(text.as_bytes()), None, "{text}");
        }
    }
}
