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

/// The high bit of every octet of `word` that is outside of [`URI`].
#[inline]
const fn outside_uri(word: u64) -> u64 {
    let low = word & !HIGH;
    let blank_or_control = !(low + ONES * (0x80 - 0x21)) | word | (low + ONES);
    (blank_or_control & HIGH)
        | matches(word, b'<')
        | matches(word, b'>')
        | matches(word, b'"')
        | matches(word, b'\\')
}

/// Whether every octet is of [`URI`]; sixteen at once, which compilers turn into vectors.
#[inline]
pub(crate) fn is_uri(bytes: &[u8]) -> bool {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return uri_run(bytes, 0) == bytes.len();
    };
    let mut outside = either(lanes(first), lanes(last));
    let mut at = LANES;
    while at + LANES < bytes.len() {
        if let Some(chunk) = bytes[at..].first_chunk() {
            outside = either(outside, lanes(chunk));
        }
        at += LANES;
    }
    u128::from_ne_bytes(outside) == 0
}

#[inline]
fn either(mut a: [u8; LANES], b: [u8; LANES]) -> [u8; LANES] {
    for lane in 0..LANES {
        a[lane] |= b[lane];
    }
    a
}

const LANES: usize = 16;

/// Not zero where an octet is outside of [`URI`].
#[inline]
fn lanes(chunk: &[u8; LANES]) -> [u8; LANES] {
    let mut outside = [0; LANES];
    for (lane, &octet) in outside.iter_mut().zip(chunk) {
        let is_graphic = octet.wrapping_sub(0x21) < 0x7F - 0x21;
        let is_delimiter = (octet == b'<') | (octet == b'>') | (octet == b'"') | (octet == b'\\');
        *lane = u8::from(!is_graphic | is_delimiter);
    }
    outside
}

/// The first position from `at` on whose octet is outside of [`URI`], or the end.
#[inline]
pub(crate) fn uri_run(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = word(bytes, at) {
        let found = outside_uri(word);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += WORD;
    }
    let Some(start) = bytes.len().checked_sub(WORD) else { return run(bytes, at, URI) };
    let before = 8 * (at - start) as u32;
    let found =
        word(bytes, start).map_or(0, outside_uri) & u64::MAX.checked_shl(before).unwrap_or(0);
    start + if found == 0 { WORD } else { found.trailing_zeros() as usize / 8 }
}

/// The position of the first `octet` from `at` on, for one that is near.
#[inline]
pub(crate) fn find_near(bytes: &[u8], mut at: usize, octet: u8) -> Option<usize> {
    while let Some(word) = word(bytes, at) {
        let found = matches(word, octet);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += WORD;
    }
    bytes[at..].iter().position(|&other| other == octet).map(|offset| at + offset)
}

/// The first position from `at` on whose octet is a control (the tab is one), or the end.
#[inline]
pub(crate) fn text_run(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<LANES>()) {
        if chunk.iter().fold(false, |found, &octet| found | (octet < 0x20)) {
            break;
        }
        at += LANES;
    }
    while let Some(word) = word(bytes, at) {
        // The lowest bit set is right; a borrow can only set wrong ones above it.
        let found = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += WORD;
    }
    let rest = &bytes[at..];
    rest.iter().position(|&octet| octet < 0x20).map_or(bytes.len(), |offset| at + offset)
}

/// The same as [`run`] for text that goes on for a while: four octets at once.
#[inline]
pub(crate) fn long_run(bytes: &[u8], at: usize, bits: u8) -> usize {
    let mut end = at;
    while let Some(&[a, b, c, d]) = bytes[end..].first_chunk() {
        let [a, b, c, d] = [a, b, c, d].map(|octet| CLASSES[octet as usize]);
        if a & b & c & d & bits == 0 {
            break;
        }
        end += 4;
    }
    run(bytes, end, bits)
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
    fn the_scans_by_the_word_find_what_the_scans_by_the_octet_find() {
        let mut bytes = [b'a'; 27];
        for length in 0..=bytes.len() {
            for odd in 0..=255u8 {
                for place in 0..length {
                    bytes[place] = odd;
                    let text = &bytes[..length];
                    for at in [0, place / 2, place, length] {
                        assert_eq!(uri_run(text, at), run(text, at, URI), "{text:?} from {at}");
                        assert_eq!(is_uri(text), run(text, 0, URI) == length, "{text:?}");
                        let near = text[at..].iter().position(|&o| o == odd).map(|o| at + o);
                        assert_eq!(find_near(text, at, odd), near, "{text:?} from {at}");
                        assert_eq!(long_run(text, at, HOST), run(text, at, HOST), "{text:?}");
                        let control = text[at..].iter().position(|&o| o < 0x20);
                        let end = control.map_or(length, |offset| at + offset);
                        assert_eq!(text_run(text, at), end, "{text:?} from {at}");
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
