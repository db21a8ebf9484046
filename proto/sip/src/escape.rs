//! Escapes of a URI (RFC 3261 §19.1.2, §25.1).

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Escapes what may not stand in a header of a URI (RFC 3261 §25.1: hvalue).
pub fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    for &octet in text {
        if octet.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&octet) {
            out.push(octet);
        } else {
            out.push(b'%');
            out.extend([octet >> 4, octet & 15].map(|digit| DIGITS[usize::from(digit)]));
        }
    }
}

/// The octet that two hexadecimal digits stand for.
fn octet_of(digits: &[u8]) -> Option<u8> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let &[high, low] = digits else { return None };
    u8::try_from(value(high)? << 4 | value(low)?).ok()
}

/// Undoes the escapes of a URI; a broken one stays as it is.
#[must_use]
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [octet, tail @ ..] = rest {
        let digits = tail.get(..2).filter(|_| *octet == b'%').and_then(octet_of);
        match digits {
            Some(octet) => {
                out.push(octet);
                rest = &tail[2..];
            }
            None => {
                out.push(*octet);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_as_they_are_made() {
        let text = b"a@b;to-tag=1;from-tag=2%/";
        let mut out = Vec::new();
        escaped(&mut out, text);
        assert_eq!(out, b"a%40b%3bto-tag%3d1%3bfrom-tag%3d2%25%2f");
        assert_eq!(unescaped(&out), text);
        assert_eq!(unescaped(b"%4%+1"), b"%4%+1");
    }
}
