//! Digits in INFO requests: `application/dtmf-relay` as most equipment has it, and
//! `application/dtmf`.

/// Of a digit that does not say how long it was held, ms.
const USUAL_MS: u16 = 160;
/// A digit is held so long at most, ms.
const LONGEST_MS: u16 = 6_000;
/// By the numbers of RFC 4733 §3.2.
const DIGITS: &[u8; 16] = b"0123456789*#ABCD";

/// Content-Type of a digit.
pub const CONTENT_TYPE: &str = "application/dtmf-relay";

/// The digit in a body, and how long it was held, ms.
#[must_use]
pub fn read(content_type: &[u8], body: &[u8]) -> Option<(u8, u16)> {
    let kind = content_type.split(|&octet| octet == b';').next().unwrap_or_default().trim_ascii();
    if kind.eq_ignore_ascii_case(b"application/dtmf") {
        return Some((number(body.trim_ascii())?, USUAL_MS));
    }
    if !kind.eq_ignore_ascii_case(CONTENT_TYPE.as_bytes()) {
        return None;
    }
    let (mut digit, mut ms) = (None, USUAL_MS);
    for line in body.split(|&octet| octet == b'\n') {
        let Some(at) = line.iter().position(|&octet| octet == b'=') else { continue };
        let (name, value) = (line[..at].trim_ascii(), line[at + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"Signal") {
            digit = number(value);
        } else if name.eq_ignore_ascii_case(b"Duration") {
            let text = core::str::from_utf8(value).ok()?;
            ms = text.parse::<u16>().ok()?.clamp(1, LONGEST_MS);
        }
    }
    Some((digit?, ms))
}

fn number(text: &[u8]) -> Option<u8> {
    let &[octet] = text else {
        // Some write 10 and 11 for star and hash.
        return match text {
            b"10" => Some(10),
            b"11" => Some(11),
            _ => None,
        };
    };
    let at = DIGITS.iter().position(|digit| digit.eq_ignore_ascii_case(&octet))?;
    u8::try_from(at).ok()
}

/// The digit as it is typed; `None`: it has no key (a hook flash).
#[must_use]
pub fn typed(digit: u8) -> Option<u8> {
    DIGITS.get(usize::from(digit)).copied()
}

/// Appends the body of an INFO request.
pub fn write(out: &mut Vec<u8>, digit: u8, ms: u16) {
    out.extend_from_slice(b"Signal=");
    out.push(typed(digit).unwrap_or(b'!'));
    out.extend_from_slice(format!("\r\nDuration={ms}\r\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_equipment_writes_them() {
        let relay = b"application/dtmf-relay";
        for (kind, body, digit) in [
            (&relay[..], &b"Signal=5\r\nDuration=200\r\n"[..], Some((5, 200))),
            (relay, b"Signal= *\nDuration= 60000\n", Some((10, 6_000))),
            (relay, b"signal=d", Some((15, USUAL_MS))),
            (relay, b"Signal=11\r\n", Some((11, USUAL_MS))),
            (relay, b"Signal=55\r\n", None),
            (relay, b"Signal=5\r\nDuration=long\r\n", None),
            (relay, b"", None),
            (b"application/dtmf", b"#\r\n", Some((11, USUAL_MS))),
            (b"text/plain", b"5", None),
        ] {
            assert_eq!(read(kind, body), digit, "{}", String::from_utf8_lossy(body));
        }
        for digit in 0..16 {
            let mut body = Vec::new();
            write(&mut body, digit, 100);
            assert_eq!(read(relay, &body), Some((digit, 100)));
        }
    }
}
