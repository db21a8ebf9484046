//! Lines: a letter, `=`, a value (RFC 8866 §5). The letters are rows.

use memchr::{memchr, memchr3};
use wire::Malformed;

wire::rows! {
    /// The line types of SDP, in the order in which they stand.
    pub enum Kind {
        /// `v=`: the version, always 0.
        Version = "v", "RFC 8866 §5.1";
        /// `o=`: who made the session, and which version of it this is.
        Origin = "o", "RFC 8866 §5.2";
        /// `s=`: its name.
        Name = "s", "RFC 8866 §5.3";
        /// `i=`: words about it.
        Information = "i", "RFC 8866 §5.4";
        /// `u=`: where to read more.
        Uri = "u", "RFC 8866 §5.5";
        /// `e=`: an e-mail address.
        Email = "e", "RFC 8866 §5.6";
        /// `p=`: a phone number.
        Phone = "p", "RFC 8866 §5.6";
        /// `c=`: a network address.
        Connection = "c", "RFC 8866 §5.7";
        /// `b=`: bandwidth.
        Bandwidth = "b", "RFC 8866 §5.8";
        /// `t=`: when it runs.
        Time = "t", "RFC 8866 §5.9";
        /// `r=`: when it repeats.
        Repeat = "r", "RFC 8866 §5.10";
        /// `z=`: changes of the time zone.
        Zone = "z", "RFC 8866 §5.11";
        /// `k=`: a key (obsolete).
        Key = "k", "RFC 8866 §5.12";
        /// `a=`: an attribute.
        Attribute = "a", "RFC 8866 §5.13";
        /// `m=`: a stream; the lines behind it belong to it.
        Media = "m", "RFC 8866 §5.14";
        /// Any other letter; ignored, as §5 allows.
        Unknown = "", "RFC 8866 §5";
    }
}

impl Kind {
    /// The row of a letter.
    #[must_use]
    pub const fn of(letter: u8) -> Self {
        match letter {
            b'v' => Self::Version,
            b'o' => Self::Origin,
            b's' => Self::Name,
            b'i' => Self::Information,
            b'u' => Self::Uri,
            b'e' => Self::Email,
            b'p' => Self::Phone,
            b'c' => Self::Connection,
            b'b' => Self::Bandwidth,
            b't' => Self::Time,
            b'r' => Self::Repeat,
            b'z' => Self::Zone,
            b'k' => Self::Key,
            b'a' => Self::Attribute,
            b'm' => Self::Media,
            _ => Self::Unknown,
        }
    }
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its type.
    pub kind: Kind,
    /// What stands behind `=`.
    pub value: &'a [u8],
    /// The whole line with its end.
    pub raw: &'a [u8],
    /// Offset of the line in the session description.
    pub at: usize,
}

impl<'a> Line<'a> {
    /// The line read as `a=name` or `a=name:value`.
    #[must_use]
    pub fn attribute(&self) -> Option<Attribute<'a>> {
        if self.kind != Kind::Attribute {
            return None;
        }
        let (name, value) = match memchr(b':', self.value) {
            Some(colon) => (&self.value[..colon], Some(&self.value[colon + 1..])),
            None => (self.value, None),
        };
        Some(Attribute { name, value })
    }
}

/// An attribute (RFC 8866 §5.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// The name; case matters.
    pub name: &'a [u8],
    /// What stands behind `:`; `None` for a property.
    pub value: Option<&'a [u8]>,
}

/// The lines of a description, one after the other. A line that is none ends the iteration;
/// [`Lines::read`] says why.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    base: usize,
}

impl<'a> Lines<'a> {
    pub(crate) const fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, at: 0, base }
    }

    /// Offset of what comes next.
    pub(crate) const fn offset(&self) -> usize {
        self.base + self.at
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// A line without `x=`, or with a NUL or a lone CR inside.
    pub fn read(&mut self) -> Result<Option<Line<'a>>, Malformed> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let at = self.offset();
        // One look at each octet: what ends a line, and what may not stand in one.
        let end = memchr3(0, b'\r', b'\n', rest);
        let (length, text, inside) = match end {
            None => (rest.len(), rest, None),
            Some(end) => match rest[end..] {
                [b'\n', ..] => (end + 1, &rest[..end], None),
                [b'\r', b'\n', ..] => (end + 2, &rest[..end], None),
                [b'\r'] => (end + 1, &rest[..end], None),
                _ => (end, &rest[..end], Some(end)),
            },
        };
        let raw = &rest[..length];
        let [letter, b'=', value @ ..] = text else {
            return Err(Malformed::new(
                at,
                "a line does not begin with a letter and =",
                "RFC 8866 §5",
            ));
        };
        if let Some(inside) = inside {
            let what = "a line holds a NUL or a lone CR";
            return Err(Malformed::new(at + inside, what, "RFC 8866 §9"));
        }
        self.at += length;
        Ok(Some(Line { kind: Kind::of(*letter), value, raw, at }))
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        self.read().ok().flatten()
    }
}

/// The words of a value, separated by single spaces (runs of them are taken as one).
pub(crate) fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b' ').filter(|word| !word.is_empty())
}

/// A decimal number.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |number, &octet| {
        let digit = octet.wrapping_sub(b'0');
        let number = number.checked_mul(10)?.checked_add(digit.into())?;
        (digit < 10).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_finds_its_row_and_others_are_unknown() {
        for kind in Kind::ALL.iter().filter(|kind| !kind.name().is_empty()) {
            assert_eq!(Kind::of(kind.name().as_bytes()[0]), *kind);
        }
        assert_eq!(Kind::of(b'x'), Kind::Unknown);
    }

    #[test]
    fn lines_end_with_crlf_or_lf_or_the_end() {
        let values: Vec<&[u8]> = Lines::new(b"a=x\r\nb=\nc=z", 0).map(|line| line.value).collect();
        assert_eq!(values, [&b"x"[..], b"", b"z"]);
    }
}
