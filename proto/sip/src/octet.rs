//! Octet classes of RFC 3261 §25.1 and the few scans that every grammar of SIP shares.

/// Letters, digits and `-.!%*_+`'~`: what a token is made of.
pub(crate) const TOKEN: u8 = 1;
/// Linear white space as it stands inside a value: blank, tab, and the CRLF of a fold.
pub(crate) const SPACE: u8 = 2;
/// What a host name or an IPv4 address is made of (and the underscore, which real names have).
pub(crate) const HOST: u8 = 4;
/// What may stand in a URI at all: printable ASCII but blank, `"`, `<`, `>`, `\`.
pub(crate) const URI: u8 = 8;
/// What may stand in a parameter's unquoted value: a URI octet that ends neither parameter nor
/// list item.
pub(crate) const VALUE: u8 = 16;
/// `0` to `9`.
pub(crate) const DIGIT: u8 = 32;

const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        table[octet] = class(octet as u8);
        octet += 1;
    }
    table
}

const fn class(octet: u8) -> u8 {
    let mut bits = 0;
    if octet.is_ascii_alphanumeric() {
        bits |= TOKEN | HOST;
    }
    if octet.is_ascii_digit() {
        bits |= DIGIT;
    }
    if matches!(octet, b'-' | b'.' | b'!' | b'%' | b'*' | b'_' | b'+' | b'`' | b'\'' | b'~') {
        bits |= TOKEN;
    }
    if matches!(octet, b'-' | b'.' | b'_') {
        bits |= HOST;
    }
    if matches!(octet, b' ' | b'\t' | b'\r' | b'\n') {
        bits |= SPACE;
    }
    if octet.is_ascii_graphic() && !matches!(octet, b'"' | b'<' | b'>' | b'\\') {
        bits |= URI;
        if !matches!(octet, b';' | b',') {
            bits |= VALUE;
        }
    }
    bits
}

/// Whether `octet` belongs to one of the classes in `bits`.
#[inline]
pub(crate) const fn is(octet: u8, bits: u8) -> bool {
    CLASSES[octet as usize] & bits != 0
}

/// The first position from `at` on whose octet is outside `bits`, or the end.
#[inline]
pub(crate) fn run(bytes: &[u8], at: usize, bits: u8) -> usize {
    let mut end = at;
    while end < bytes.len() && is(bytes[end], bits) {
        end += 1;
    }
    end
}

/// The first position from `at` on that is not linear white space.
#[inline]
pub(crate) fn skip_space(bytes: &[u8], at: usize) -> usize {
    run(bytes, at, SPACE)
}

/// Without the white space around it.
#[inline]
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let start = skip_space(bytes, 0);
    let mut end = bytes.len();
    while end > start && is(bytes[end - 1], SPACE) {
        end -= 1;
    }
    &bytes[start..end]
}

/// Whether every octet is of a token and there is at least one.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && run(bytes, 0, TOKEN) == bytes.len()
}

/// Equality without case, which SIP wants for names and tokens (RFC 3261 §7.3.1).
#[inline]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// A decimal number of digits only that fits `max`.
#[inline]
pub(crate) fn number(bytes: &[u8], max: u64) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for &octet in bytes {
        if !octet.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(octet - b'0');
        if value > max {
            return None;
        }
    }
    Some(value)
}

/// Where the quoted string that opens at `at` ends: the position behind its closing quote.
#[inline]
pub(crate) fn quoted_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    while next < bytes.len() {
        match bytes[next] {
            b'"' => return Some(next + 1),
            b'\\' => next += 2,
            _ => next += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_refused_when_it_is_empty_signed_or_too_large() {
        assert_eq!(number(b"0009", 255), Some(9));
        assert_eq!(number(b"255", 255), Some(255));
        for bad in [&b""[..], b"-1", b"256", b"1 ", b"99999999999999999999999999"] {
            assert_eq!(number(bad, 255), None);
        }
    }

    #[test]
    fn a_quoted_string_ends_behind_its_first_unescaped_quote() {
        assert_eq!(quoted_end(br#""a\"b" c"#, 0), Some(6));
        assert_eq!(quoted_end(br#""a\""#, 0), None);
        assert_eq!(quoted_end(br#""a\"#, 0), None);
    }
}
