//! An event as a JSON object: `event`, then its fields in the order in which they are given.

use crate::event::Event;
use machine::identity::hex;

/// A value in an event.
#[derive(Debug, Clone, Copy)]
pub enum Field<'a> {
    /// Text as it stood in a message; an octet that is not ASCII stands for itself (Latin-1).
    Text(&'a [u8]),
    /// A number.
    Number(u64),
}

/// Appends the object.
pub(crate) fn write(out: &mut Vec<u8>, event: Event, fields: &[(&str, Field<'_>)]) {
    out.extend_from_slice(b"{\"event\":");
    quoted(out, event.name().as_bytes());
    for (key, value) in fields {
        debug_assert!(event.fields().contains(key), "{event:?} has no field {key}");
        out.push(b',');
        quoted(out, key.as_bytes());
        out.push(b':');
        match value {
            Field::Text(value) => quoted(out, value),
            Field::Number(value) => number(out, *value),
        }
    }
    out.push(b'}');
}

/// Appends a number in decimal digits.
fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        // A digit, by the remainder.
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A JSON string.
fn quoted(out: &mut Vec<u8>, mut text: &[u8]) {
    out.push(b'"');
    let is_odd = |octet: &u8| !matches!(octet, 0x20..0x7f) || matches!(octet, b'"' | b'\\');
    while let Some(at) = text.iter().position(is_odd) {
        out.extend_from_slice(&text[..at]);
        match text[at] {
            octet @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', octet]),
            octet => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&hex(u64::from(octet))[14..]);
            }
        }
        text = &text[at + 1..];
    }
    out.extend_from_slice(text);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_written_so_that_json_reads_it_back() {
        let mut out = Vec::new();
        quoted(&mut out, b"a\"b\\c\r\n\xff");
        let read: String = serde_json::from_slice(&out).unwrap();
        assert_eq!(read, "a\"b\\c\r\n\u{ff}");
    }

    #[test]
    fn numbers_are_written_in_decimal() {
        for value in [0, 7, 10, 12_345, u64::MAX] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(out, value.to_string().into_bytes());
        }
    }
}
