//! Paths and queries of the API (RFC 3986).

use std::fmt::Write as _;

/// A segment of a path, percent-encoded (RFC 3986 §2.3).
#[must_use]
pub fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A query of the parameters that are set.
#[must_use]
pub fn query(parameters: &[(&str, Option<String>)]) -> String {
    let set = parameters.iter().filter_map(|(name, value)| {
        value.as_ref().map(|value| format!("{name}={}", segment(value)))
    });
    let joined = set.collect::<Vec<_>>().join("&");
    if joined.is_empty() { joined } else { format!("?{joined}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_plain_is_percent_encoded_and_what_is_absent_is_left_out() {
        assert_eq!(segment("a b/ü"), "a%20b%2F%C3%BC");
        assert_eq!(query(&[("a", Some("1 2".into())), ("b", None)]), "?a=1%202");
        assert_eq!(query(&[("b", None)]), "");
    }
}
