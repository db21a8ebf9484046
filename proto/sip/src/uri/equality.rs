//! URI equality (RFC 3261 §19.1.4, RFC 5954 §4.2 for IPv6, RFC 3966 §4 for `tel:`).

use super::{Scheme, Uri};
use crate::octet;
use crate::param::{self, Params};

/// Parameters that must be in both URIs or in neither (RFC 3261 §19.1.4).
const NEVER_IGNORED: [&[u8]; 5] = [b"user", b"ttl", b"method", b"maddr", b"transport"];

impl PartialEq for Uri<'_> {
    fn eq(&self, other: &Self) -> bool {
        if self.raw == other.raw {
            return true;
        }
        if self.scheme != other.scheme {
            return false;
        }
        match self.scheme {
            Scheme::Sip | Scheme::Sips => {
                is_same_text(self.user, other.user)
                    && is_same_text(self.password, other.password)
                    && is_same_host(self, other)
                    && self.port == other.port
                    && are_params_equal(self.params, other.params)
                    && are_headers_equal(self.headers, other.headers)
            }
            Scheme::Tel => {
                self.digits().map(lower).eq(other.digits().map(lower))
                    && every_param_is_in(self.params, other.params)
                    && every_param_is_in(other.params, self.params)
            }
            Scheme::Other => self.raw == other.raw,
        }
    }
}

impl Eq for Uri<'_> {}

const fn lower(octet: u8) -> u8 {
    octet.to_ascii_lowercase()
}

/// Equality with case, after `%` escapes are resolved.
fn is_same_text(a: Option<&[u8]>, b: Option<&[u8]>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Unescaped(a).eq(Unescaped(b)),
        (None, None) => true,
        _ => false,
    }
}

fn is_same_host(a: &Uri<'_>, b: &Uri<'_>) -> bool {
    match (a.ipv6(), b.ipv6()) {
        (Some(a), Some(b)) => a == b,
        _ => octet::same(a.host, b.host),
    }
}

/// Common parameters must match; `user`, `ttl`, `method`, `maddr` and `transport` must not stand
/// in one only.
fn are_params_equal(a: &[u8], b: &[u8]) -> bool {
    let is_matched = |own: &[u8], other: &[u8]| {
        Params::new(own).all(|one| match param::param(other, one.name) {
            Some(value) => same_unescaped(one.value.unwrap_or(b""), value),
            None => !NEVER_IGNORED.iter().any(|name| octet::same(one.name, name)),
        })
    };
    is_matched(a, b) && is_matched(b, a)
}

fn every_param_is_in(own: &[u8], other: &[u8]) -> bool {
    Params::new(own).all(|one| {
        param::param(other, one.name)
            .is_some_and(|value| same_unescaped(one.value.unwrap_or(b""), value))
    })
}

/// Every header of one URI must stand in the other with the same value.
fn are_headers_equal(a: &[u8], b: &[u8]) -> bool {
    let split = |text: &'_ [u8]| text.split(|&octet| octet == b'&').count();
    let is_in = |own: &[u8], other: &[u8]| {
        own.split(|&octet| octet == b'&').all(|one| {
            other.split(|&octet| octet == b'&').any(|another| is_same_header(one, another))
        })
    };
    a.is_empty() == b.is_empty() && split(a) == split(b) && is_in(a, b) && is_in(b, a)
}

fn is_same_header(a: &[u8], b: &[u8]) -> bool {
    let split = |text: &'_ [u8]| memchr::memchr(b'=', text).unwrap_or(text.len());
    let (a_name, a_value) = a.split_at(split(a));
    let (b_name, b_value) = b.split_at(split(b));
    same_unescaped(a_name, b_name) && Unescaped(a_value).eq(Unescaped(b_value))
}

fn same_unescaped(a: &[u8], b: &[u8]) -> bool {
    Unescaped(a).map(lower).eq(Unescaped(b).map(lower))
}

/// Octets with `%` escapes resolved; a broken escape stands for itself.
struct Unescaped<'a>(&'a [u8]);

impl Iterator for Unescaped<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (&octet, rest) = self.0.split_first()?;
        self.0 = rest;
        if octet != b'%' || rest.len() < 2 {
            return Some(octet);
        }
        let hex = |octet: u8| {
            let digit = char::from(octet).to_digit(16);
            digit.and_then(|digit| u8::try_from(digit).ok())
        };
        match (hex(rest[0]), hex(rest[1])) {
            (Some(high), Some(low)) => {
                self.0 = &rest[2..];
                Some(high << 4 | low)
            }
            _ => Some(octet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_equal(a: &str, b: &str) -> bool {
        let (a, b) = (Uri::parse(a.as_bytes()).unwrap(), Uri::parse(b.as_bytes()).unwrap());
        let (forth, back) = (a.eq(&b), b.eq(&a));
        assert_eq!(forth, back, "equality is symmetric");
        forth
    }

    #[test]
    fn uris_that_the_rfc_calls_equivalent_are_equal() {
        for (a, b) in [
            ("sip:%61lice@atlanta.com;transport=TCP", "sip:alice@AtLanTa.CoM;Transport=tcp"),
            ("sip:carol@chicago.com", "sip:carol@chicago.com;newparam=5"),
            ("sip:carol@chicago.com;security=on", "sip:carol@chicago.com;newparam=5"),
            (
                "sip:biloxi.com;transport=tcp;method=REGISTER?to=sip:bob%40biloxi.com",
                "sip:biloxi.com;method=REGISTER;transport=tcp?to=sip:bob%40biloxi.com",
            ),
            (
                "sip:alice@atlanta.com?subject=project%20x&priority=urgent",
                "sip:alice@atlanta.com?priority=urgent&subject=project%20x",
            ),
            ("sip:[2001:DB8::9:1]", "sip:[2001:db8:0:0:0:0:9:1]"),
            ("tel:+1-212-555-1212", "tel:+12125551212"),
            ("tel:863;phone-context=+1", "tel:863;PHONE-CONTEXT=+1"),
        ] {
            assert!(are_equal(a, b), "{a} and {b}");
        }
    }

    #[test]
    fn uris_that_the_rfc_calls_different_are_not_equal() {
        for (a, b) in [
            ("SIP:ALICE@AtLanTa.CoM;Transport=udp", "sip:alice@AtLanTa.CoM;Transport=UDP"),
            ("sip:bob@biloxi.com", "sip:bob@biloxi.com:5060"),
            ("sip:bob@biloxi.com", "sip:bob@biloxi.com;transport=udp"),
            ("sip:bob@biloxi.com;transport=udp", "sip:bob@biloxi.com:6000;transport=tcp"),
            ("sip:carol@chicago.com", "sip:carol@chicago.com?Subject=next%20meeting"),
            ("sip:carol@chicago.com;security=on", "sip:carol@chicago.com;security=off"),
            ("sip:bob@biloxi.com", "sips:bob@biloxi.com"),
            ("tel:863;phone-context=+1", "tel:863;phone-context=+44"),
            ("tel:863;phone-context=+1", "tel:+1863"),
        ] {
            assert!(!are_equal(a, b), "{a} and {b}");
        }
    }
}
