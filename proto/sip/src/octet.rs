//! Octet classes of RFC 3261 §25.1 and the few scans that every grammar of SIP shares.

use crate::lanes::{self, Lanes};

/// Letters, digits and `-.!%*_+`'~`: what a token is made of.
pub(crate) const TOKEN: u8 = 1;
/// Linear white space as it stands inside a value: blank, tab, and the CRLF of a fold.
pub(crate) const SPACE: u8 = 2;
/// What a host name or an IPv4 address is made of (and the underscore, which real names have).
pub(crate) const HOST: u8 = 4;
/// What may stand in a URI at all: printable ASCII but blank, `"`, `<`, `>`, `\`.
pub(crate) const URI: u8 = 8;
/// What may stand in a parameter's unquoted value: a URI octet that ends neither parameter nor
/// list item nor the parameters of a URI.
pub(crate) const VALUE: u8 = 16;
/// What may stand in a parameter's name: as in its value, but no `=`.
pub(crate) const NAME: u8 = 64;
/// `0` to `9`.
pub(crate) const DIGIT: u8 = 32;

const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        #[allow(clippy::cast_possible_truncation, reason = "less than 256")]
        let it = octet as u8;
        table[octet] = class(it);
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
        if !matches!(octet, b';' | b',' | b'?') {
            bits |= VALUE;
            if octet != b'=' {
                bits |= NAME;
            }
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

const WORD: usize = size_of::<u64>();
const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES * 0x80;

/// Eight octets as one number; the first is the lowest.
#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes[at..].first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

/// The high bit of every octet of `word` that equals `octet`.
#[inline]
pub(crate) const fn matches(word: u64, octet: u8) -> u64 {
    let other = word ^ (ONES * octet as u64);
    !(((other & !HIGH) + !HIGH) | other | !HIGH)
}

/// Those that no URI may hold.
#[inline(always)]
fn outside_uri(lanes: Lanes) -> Lanes {
    let blank_or_odd = lanes.within(0, 0x20).or(lanes.within(0x7F, 0xFF));
    let bracket = lanes.equal(b'<').or(lanes.equal(b'>'));
    blank_or_odd.or(bracket).or(lanes.equal(b'"').or(lanes.equal(b'\\')))
}

/// The first position from `at` on whose octet is outside of [`URI`], or the end.
#[inline]
pub(crate) fn uri_run(bytes: &[u8], at: usize) -> usize {
    lanes::find(bytes, at, outside_uri, |octet| !is(octet, URI))
}

/// The position of the first `octet` from `at` on, for one that is near.
#[inline]
pub(crate) fn find_near(bytes: &[u8], at: usize, octet: u8) -> Option<usize> {
    let found = lanes::find(bytes, at, |lanes| lanes.equal(octet), |other| other == octet);
    (found < bytes.len()).then_some(found)
}

/// The first position from `at` on whose octet is outside of [`HOST`], or the end.
#[inline]
pub(crate) fn host_run(bytes: &[u8], at: usize) -> usize {
    let outside = |lanes: Lanes| {
        let letter = lanes.within(b'a', b'z').or(lanes.within(b'A', b'Z'));
        let digit_or_mark = lanes.within(b'-', b'.').or(lanes.within(b'0', b'9'));
        letter.or(digit_or_mark).or(lanes.equal(b'_')).not()
    };
    lanes::find(bytes, at, outside, |octet| !is(octet, HOST))
}

/// The first position from `at` on whose octet is outside of [`VALUE`], or the end.
#[inline]
pub(crate) fn value_run(bytes: &[u8], at: usize) -> usize {
    let outside = |lanes: Lanes| {
        let ends = lanes.equal(b';').or(lanes.equal(b',')).or(lanes.equal(b'?'));
        outside_uri(lanes).or(ends)
    };
    lanes::find(bytes, at, outside, |octet| !is(octet, VALUE))
}

/// The number whose digits begin at `at`, if there are any and it fits `max` and its type, and
/// where they end.
#[inline]
pub(crate) fn digits<T: TryFrom<u64>>(bytes: &[u8], at: usize, max: u64) -> (Option<T>, usize) {
    let mut value: u64 = 0;
    let mut end = at;
    while let Some(digit) = bytes.get(end).map(|octet| octet.wrapping_sub(b'0'))
        && digit < 10
    {
        value = value.saturating_mul(10).saturating_add(digit.into());
        end += 1;
    }
    let is_number = end > at && value <= max;
    (T::try_from(value).ok().filter(|_| is_number), end)
}

/// Equality of short texts, without a call.
#[inline]
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if a.len() < WORD {
        return a.iter().zip(b).all(|(a, b)| a == b);
    }
    let mut at = 0;
    while at + WORD < a.len() {
        if word(a, at) != word(b, at) {
            return false;
        }
        at += WORD;
    }
    word(a, a.len() - WORD) == word(b, b.len() - WORD)
}

/// The first position from `at` on that is not linear white space.
#[inline]
pub(crate) fn skip_space(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at).is_none_or(|&octet| octet > b' ') { at } else { run(bytes, at, SPACE) }
}

/// Without the white space around it.
#[inline]
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    trim_end(&bytes[skip_space(bytes, 0)..])
}

/// Without the white space behind it.
#[inline]
pub(crate) fn trim_end(mut bytes: &[u8]) -> &[u8] {
    while let [rest @ .., last] = bytes
        && is(*last, SPACE)
    {
        bytes = rest;
    }
    bytes
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

/// A decimal number of digits only that fits `max` and its type.
#[inline]
pub(crate) fn number<T: TryFrom<u64>>(bytes: &[u8], max: u64) -> Option<T> {
    let (value, end) = digits(bytes, 0, max);
    value.filter(|_| end == bytes.len())
}

/// Where the quoted string that opens at `at` ends: the position behind its closing quote.
#[inline]
pub(crate) fn quoted_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    loop {
        let special = |lanes: Lanes| lanes.equal(b'"').or(lanes.equal(b'\\'));
        next = lanes::find(bytes, next, special, |octet| matches!(octet, b'"' | b'\\'));
        match bytes.get(next)? {
            b'"' => return Some(next + 1),
            _ => next += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_refused_when_it_is_empty_signed_or_too_large() {
        assert_eq!(number(b"0009", 255), Some(9));
        assert_eq!(number(b"255", 255), Some(255));
        for bad in [&b""[..], b"-1", b"256", b"1 ", b"99999999999999999999999999"] {
            assert_eq!(number::<u64>(bad, 255), None);
        }
    }

    #[test]
    fn the_scans_by_the_word_find_what_the_scans_by_the_octet_find() {
        let mut bytes = [b'a'; 27];
        for length in 0..=bytes.len() {
            for odd in 0..=255u8 {
                for place in 0..length {
                    bytes[place] = odd;
                    let text = &bytes[..length];
                    for at in [0, place / 2, place, length] {
                        assert_eq!(uri_run(text, at), run(text, at, URI), "{text:?} from {at}");
                        let near = text[at..].iter().position(|&o| o == odd).map(|o| at + o);
                        assert_eq!(find_near(text, at, odd), near, "{text:?} from {at}");
                        assert_eq!(host_run(text, at), run(text, at, HOST), "{text:?}");
                        assert_eq!(value_run(text, at), run(text, at, VALUE), "{text:?}");
                    }
                    assert_eq!(equal(text, &[b'a'; 27][..length]), odd == b'a');
                    bytes[place] = b'a';
                }
            }
        }
    }

    #[test]
    fn a_quoted_string_ends_behind_its_first_unescaped_quote() {
        assert_eq!(quoted_end(br#""a\"b" c"#, 0), Some(6));
        assert_eq!(quoted_end(br#""a\""#, 0), None);
        assert_eq!(quoted_end(br#""a\"#, 0), None);
    }
}
