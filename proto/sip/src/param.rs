//! Parameters: `;name`, `;name=value`, `;name="quoted value"` (RFC 3261 §25.1, generic-param).

use crate::octet::{self, NAME, SPACE};
use wire::Malformed;

const SPEC: &str = "RFC 3261 §25.1";

/// One parameter. A flag has an empty value; a quoted value keeps its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param<'a> {
    /// The name, as written.
    pub name: &'a [u8],
    /// The value, as written; `None` for a flag.
    pub value: Option<&'a [u8]>,
}

/// The parameters in `bytes`, which begins with `;` or is empty; ends at the first violation.
#[derive(Debug, Clone)]
pub struct Params<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Params<'a> {
    /// Walks over `bytes`, from `;` on.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Walks over `bytes` from `at` on, where a parameter has ended.
    pub(crate) const fn from(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Reads the next parameter; `None` at the end, be it of the octets or at a `,` or `?`.
    ///
    /// # Errors
    /// A parameter without a name, an unclosed quote, or an octet that no parameter may hold.
    #[inline]
    pub fn read(&mut self) -> Result<Option<Param<'a>>, Malformed> {
        if self.at == self.bytes.len() { Ok(None) } else { self.read_some() }
    }

    fn read_some(&mut self) -> Result<Option<Param<'a>>, Malformed> {
        let bytes = self.bytes;
        let semicolon = octet::skip_space(bytes, self.at);
        match bytes.get(semicolon) {
            None | Some(b',' | b'?') => {
                self.at = semicolon;
                return Ok(None);
            }
            Some(b';') => {}
            Some(_) => return Err(Malformed::new(semicolon, "text after a value", SPEC)),
        }
        let start = octet::skip_space(bytes, semicolon + 1);
        let end = octet::run(bytes, start, NAME);
        if end == start {
            return Err(Malformed::new(start, "parameter without a name", SPEC));
        }
        let name = &bytes[start..end];
        let equals = octet::skip_space(bytes, end);
        if bytes.get(equals) != Some(&b'=') {
            self.at = equals;
            return Ok(Some(Param { name, value: None }));
        }
        let value = octet::skip_space(bytes, equals + 1);
        self.at = value_end(bytes, value)?;
        Ok(Some(Param { name, value: Some(&bytes[value..self.at]) }))
    }

    /// Appends all but those of one name (any case), each as `;name=value`.
    pub fn write_without(self, out: &mut Vec<u8>, name: &[u8]) {
        for param in self.filter(|param| !octet::same(param.name, name)) {
            out.push(b';');
            out.extend_from_slice(param.name);
            if let Some(value) = param.value {
                out.push(b'=');
                out.extend_from_slice(value);
            }
        }
    }

    /// How far reading came.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }
}

#[inline(always)]
fn value_end(bytes: &[u8], at: usize) -> Result<usize, Malformed> {
    if bytes.get(at) == Some(&b'"') {
        return octet::quoted_end(bytes, at).ok_or(Malformed::new(
            at,
            "quoted string without its end",
            SPEC,
        ));
    }
    let end = octet::value_run(bytes, at);
    if end == at {
        return Err(Malformed::new(at, "parameter without its value", SPEC));
    }
    Ok(end)
}

impl<'a> Iterator for Params<'a> {
    type Item = Param<'a>;

    fn next(&mut self) -> Option<Param<'a>> {
        if let Ok(param) = self.read() {
            return param;
        }
        self.at = self.bytes.len();
        None
    }
}

/// The value of the first parameter of that name (any case); empty for a flag.
#[must_use]
pub fn param<'a>(params: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    Params::new(params)
        .find(|param| octet::same(param.name, name))
        .map(|param| param.value.unwrap_or(b""))
}

/// A value without the quotes around it; escapes inside stay.
#[must_use]
pub fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        _ => value,
    }
}

/// The items of a comma-separated list, trimmed; commas in quotes and angle brackets do not
/// count, empty items are skipped.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    rest: &'a [u8],
    is_list: bool,
}

impl<'a> Items<'a> {
    /// Splits `value`.
    #[must_use]
    pub const fn new(value: &'a [u8]) -> Self {
        Self { rest: value, is_list: true }
    }

    /// Gives `value` as the only item.
    pub(crate) const fn whole(value: &'a [u8]) -> Self {
        Self { rest: value, is_list: false }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if !self.is_list {
            self.is_list = true;
            return Some(core::mem::take(&mut self.rest));
        }
        while !self.rest.is_empty() {
            let end = item_end(self.rest);
            let item = octet::trim(&self.rest[..end]);
            self.rest = self.rest.get(end + 1..).unwrap_or(b"");
            if !item.is_empty() {
                return Some(item);
            }
        }
        None
    }
}

/// The position of the comma that ends the first item, or the end.
pub(crate) fn item_end(bytes: &[u8]) -> usize {
    let Some(comma) = memchr::memchr(b',', bytes) else { return bytes.len() };
    if memchr::memchr2(b'<', b'"', &bytes[..comma]).is_none() {
        return comma;
    }
    let mut at = 0;
    let mut in_brackets = false;
    while at < bytes.len() {
        match bytes[at] {
            b',' if !in_brackets => return at,
            b'<' => in_brackets = true,
            b'>' => in_brackets = false,
            b'"' if !in_brackets => {
                at = octet::quoted_end(bytes, at).unwrap_or(bytes.len());
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Reads all parameters and refuses what is none.
pub(crate) fn check(params: &[u8]) -> Result<(), Malformed> {
    let mut reader = Params::new(params);
    while reader.read()?.is_some() {}
    if octet::run(params, reader.position(), SPACE) < params.len() {
        let what = "comma or question mark in a single value";
        return Err(Malformed::new(reader.position(), what, SPEC));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_with_white_space_folds_flags_and_quotes() {
        let text = b";a = 1 ;\r\n  flag ; q=\"x;,y\"";
        let read: Vec<_> = Params::new(text).map(|p| (p.name, p.value)).collect();
        assert_eq!(
            read,
            [(&b"a"[..], Some(&b"1"[..])), (b"flag", None), (b"q", Some(b"\"x;,y\"")),]
        );
        assert_eq!(param(text, b"FLAG"), Some(&b""[..]));
        assert_eq!(param(text, b"none"), None);
    }

    #[test]
    fn a_parameter_without_a_name_or_value_is_a_violation() {
        for (text, what) in [
            (&b";;a"[..], "parameter without a name"),
            (b";", "parameter without a name"),
            (b";a=", "parameter without its value"),
            (b";a=\"x", "quoted string without its end"),
            (b";a b", "text after a value"),
            (b";a,b", "comma or question mark in a single value"),
        ] {
            assert_eq!(check(text).unwrap_err().what, what, "{text:?}");
        }
    }

    #[test]
    fn a_list_is_split_at_commas_outside_of_quotes_and_brackets() {
        let items: Vec<_> = Items::new(b"\"a,b\" <sip:c,d@e>;x=\"y,z\" , f,, g ").collect();
        assert_eq!(items, [&b"\"a,b\" <sip:c,d@e>;x=\"y,z\""[..], b"f", b"g"]);
    }
}
