//! The parameters of a challenge and of credentials: `name=token` and `name="quoted"`
//! (RFC 7616 §3.3, RFC 3261 §25.1).

use std::borrow::Cow;
use wire::Malformed;

/// Most parameters of a challenge or of credentials.
pub const PARAMETERS_MAX: usize = 32;
/// Longest value that is read, octets.
pub const VALUE_OCTETS_MAX: usize = 8_192;

const SPEC: &str = "RFC 7616 §3.3";
const SCHEME: &[u8] = b"Digest";

/// A parameter and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parameter<'a> {
    pub name: &'a [u8],
    pub value: Cow<'a, [u8]>,
    /// Of the value as it is written.
    pub at: usize,
    /// The whole of it as it is written.
    pub raw: &'a [u8],
}

impl Parameter<'_> {
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    pub fn violation(&self, what: &'static str) -> Malformed {
        Malformed::new(self.at, what, SPEC)
    }
}

/// Reads all parameters; none may come twice.
pub(super) fn read(value: &[u8]) -> Result<Vec<Parameter<'_>>, Malformed> {
    let violation = |at, what| Err(Malformed::new(at, what, SPEC));
    if value.len() > VALUE_OCTETS_MAX {
        return violation(VALUE_OCTETS_MAX, "it is too long");
    }
    let mut at = blank(value, 0);
    let scheme = value.get(at..at + SCHEME.len());
    if !scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME)) {
        return violation(at, "the scheme is not Digest");
    }
    let begin = at + SCHEME.len();
    at = blank(value, begin);
    if at == begin {
        return violation(at, "no blank follows the scheme");
    }
    let mut parameters: Vec<Parameter<'_>> = Vec::new();
    while at < value.len() {
        let parameter = one(value, at)?;
        if parameters.iter().any(|it| it.name.eq_ignore_ascii_case(parameter.name)) {
            return violation(at, "a parameter comes twice");
        }
        if parameters.len() == PARAMETERS_MAX {
            return violation(at, "there are too many parameters");
        }
        at = blank(value, at + parameter.raw.len());
        parameters.push(parameter);
        match value.get(at) {
            None => {}
            Some(b',') => at = blank(value, at + 1),
            Some(_) => return violation(at, "no comma follows a parameter"),
        }
    }
    Ok(parameters)
}

/// Where the next octet stands that is no blank.
fn blank(value: &[u8], at: usize) -> usize {
    let is_blank = |octet: &&u8| matches!(octet, b' ' | b'\t' | b'\r' | b'\n');
    at + value.get(at..).unwrap_or_default().iter().take_while(is_blank).count()
}

const fn is_token(octet: u8) -> bool {
    octet.is_ascii_alphanumeric()
        || matches!(octet, b'-' | b'.' | b'!' | b'%' | b'*' | b'_' | b'+' | b'`' | b'\'' | b'~')
}

fn one(value: &[u8], begin: usize) -> Result<Parameter<'_>, Malformed> {
    let violation = |at, what| Err(Malformed::new(at, what, SPEC));
    let rest = &value[begin..];
    let name = &rest[..rest.iter().take_while(|octet| is_token(**octet)).count()];
    let equals = blank(value, begin + name.len());
    if name.is_empty() || value.get(equals) != Some(&b'=') {
        return violation(equals, "a parameter has no name or no value");
    }
    let at = blank(value, equals + 1);
    let rest = value.get(at..).unwrap_or_default();
    let (text, length): (Cow<'_, [u8]>, usize) = match rest.split_first() {
        Some((b'"', rest)) => match unquoted(rest) {
            Some((text, length)) => (text, length + 2),
            None => return violation(at, "a quoted value has no end"),
        },
        _ => {
            let end = rest.iter().position(|octet| matches!(octet, b',' | b' ' | b'\t' | b'\r'));
            let text = &rest[..end.unwrap_or(rest.len())];
            if text.contains(&b'"') {
                return violation(at, "a quote stands within a value");
            }
            (text.into(), text.len())
        }
    };
    Ok(Parameter { name, value: text, at, raw: &value[begin..at + length] })
}

/// What stands before the closing quote, and how long it is as it is written.
fn unquoted(octets: &[u8]) -> Option<(Cow<'_, [u8]>, usize)> {
    let end = octets.iter().position(|octet| matches!(octet, b'"' | b'\\'))?;
    if octets[end] == b'"' {
        return Some((octets[..end].into(), end));
    }
    let mut text = octets[..end].to_vec();
    let mut rest = octets[end..].iter().enumerate();
    while let Some((at, octet)) = rest.next() {
        match octet {
            b'"' => return Some((text.into(), end + at)),
            b'\\' => text.push(*rest.next()?.1),
            octet => text.push(*octet),
        }
    }
    None
}

/// Appends `, name="value"`, or without the comma what follows the scheme.
pub(super) fn quoted(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    begin(out, name);
    out.push(b'"');
    for octet in value {
        if matches!(octet, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*octet);
    }
    out.push(b'"');
}

/// Appends a parameter whose value is a token.
pub(super) fn token(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    begin(out, name);
    out.extend_from_slice(value);
}

/// Appends the scheme.
pub(super) fn scheme(out: &mut Vec<u8>) {
    out.extend_from_slice(SCHEME);
    out.push(b' ');
}

fn begin(out: &mut Vec<u8>, name: &str) {
    if !out.ends_with(b"Digest ") {
        out.extend_from_slice(b", ");
    }
    out.extend_from_slice(name.as_bytes());
    out.push(b'=');
}

/// Octets as small hexadecimal digits.
pub(super) fn hex(octets: &[u8]) -> Vec<u8> {
    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
    octets.iter().flat_map(|octet| [digit(octet >> 4), digit(*octet)]).collect()
}

/// The octets of hexadecimal digits; `None` if these are not any.
pub(super) fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
    pairs.iter().map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_may_be_written() {
        let value = b"digest  realm=\"a, \\\"b\\\"\" ,nonce = \"\",\r\n qop=auth,Stale=TRUE";
        let read = read(value).unwrap();
        let pairs: Vec<_> = read.iter().map(|it| (it.name, it.value.to_vec(), it.raw)).collect();
        assert_eq!(
            pairs,
            [
                (&b"realm"[..], b"a, \"b\"".to_vec(), &b"realm=\"a, \\\"b\\\"\""[..]),
                (b"nonce", b"".to_vec(), b"nonce = \"\""),
                (b"qop", b"auth".to_vec(), b"qop=auth"),
                (b"Stale", b"TRUE".to_vec(), b"Stale=TRUE"),
            ]
        );
    }

    #[test]
    fn what_is_no_parameter_is_told_with_its_place() {
        for (value, at) in [
            ("Basic a=b", 0),
            ("Digest", 6),
            ("Digesta=b", 6),
            ("Digest a", 8),
            ("Digest =b", 7),
            ("Digest a=\"b", 9),
            ("Digest a=\"b\\", 9),
            ("Digest a=b c=d", 11),
            ("Digest a=b, A=d", 12),
            ("Digest a=b\"", 9),
        ] {
            assert_eq!(read(value.as_bytes()).unwrap_err().at, at, "{value}");
        }
        let many: String = (0..40).map(|n| format!("p{n}=1,")).collect();
        assert!(read(format!("Digest {many}").as_bytes()).is_err());
    }
}
