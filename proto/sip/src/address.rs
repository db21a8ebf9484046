//! `name-addr` and `addr-spec` with parameters: From, To, Contact, Route, … (RFC 3261 §20.10).

use crate::octet::{self, SPACE, TOKEN};
use crate::param::{self, Params};
use crate::uri::Uri;
use wire::Malformed;

const SPEC: &str = "RFC 3261 §20.10";

/// A display name, a URI and the header's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameAddr<'a> {
    /// The display name as written, quotes included; empty when there is none.
    pub display: &'a [u8],
    /// The URI without its angle brackets.
    pub uri: &'a [u8],
    /// The header's parameters, from the first `;` on; empty when there is none.
    pub params: &'a [u8],
}

impl<'a> NameAddr<'a> {
    /// An address without any of its parts.
    pub(crate) const EMPTY: Self = Self { display: b"", uri: b"", params: b"" };

    /// Reads one address; parameters are checked.
    ///
    /// # Errors
    /// An unbalanced quote or bracket, a display name that is neither tokens nor quoted, a URI
    /// with white space or without a scheme, a bad parameter.
    pub fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let mut address = Self::EMPTY;
        address.read(value)?;
        let start = value.len() - address.params.len();
        param::check(address.params).map_err(|m| m.shifted(start))?;
        Ok(address)
    }

    /// Reads one address with the `tag` among its parameters, which are checked, into this one.
    pub(crate) fn read_tagged(&mut self, value: &'a [u8]) -> Result<Option<&'a [u8]>, Malformed> {
        self.read(value)?;
        // A tag is there as a rule, and nothing else.
        if let Some(tag) = self.params.strip_prefix(b";tag=")
            && !tag.is_empty()
            && octet::value_run(tag, 0) == tag.len()
        {
            return Ok(Some(tag));
        }
        let start = value.len() - self.params.len();
        let mut params = Params::new(self.params);
        let mut tag = None;
        while let Some(param) = params.read().map_err(|m| m.shifted(start))? {
            if param.name.len() == 3 && octet::same(param.name, b"tag") && tag.is_none() {
                tag = param.value;
            }
        }
        if params.position() < self.params.len() {
            let what = "comma or question mark in a single value";
            return Err(Malformed::new(start + params.position(), what, SPEC));
        }
        Ok(tag)
    }

    /// The URI, parsed.
    ///
    /// # Errors
    /// As [`Uri::parse`]; offsets count from the start of the URI.
    pub fn parse_uri(&self) -> Result<Uri<'a>, Malformed> {
        Uri::parse_clean(self.uri)
    }

    /// The `tag` parameter.
    #[must_use]
    pub fn tag(&self) -> Option<&'a [u8]> {
        self.param(b"tag").filter(|tag| !tag.is_empty())
    }

    /// The value of a parameter of the header (not of the URI); empty for a flag.
    #[must_use]
    pub fn param(&self, name: &[u8]) -> Option<&'a [u8]> {
        param::param(self.params, name)
    }

    /// The display name without its quotes; escapes inside stay.
    #[must_use]
    pub fn display_name(&self) -> &'a [u8] {
        param::unquoted(self.display)
    }

    /// Reads display name and URI; what follows them is taken as parameters, unread.
    #[inline]
    fn read(&mut self, value: &'a [u8]) -> Result<(), Malformed> {
        let start = octet::skip_space(value, 0);
        let bracket = match value.get(start) {
            Some(b'<') => start,
            Some(b'"') => {
                let violation = Malformed::new(start, "quoted string without its end", SPEC);
                let end = octet::quoted_end(value, start).ok_or(violation)?;
                self.display = &value[start..end];
                octet::skip_space(value, end)
            }
            _ => match memchr::memchr(b'<', value) {
                Some(bracket) if octet::run(value, start, TOKEN | SPACE) == bracket => {
                    self.display = octet::trim(&value[start..bracket]);
                    bracket
                }
                _ => return self.read_bare(value, start),
            },
        };
        if value.get(bracket) != Some(&b'<') {
            return Err(Malformed::new(bracket, "display name without <URI>", SPEC));
        }
        self.read_bracketed(value, bracket + 1)
    }

    #[inline]
    fn read_bracketed(&mut self, value: &'a [u8], start: usize) -> Result<(), Malformed> {
        let end = octet::uri_run(value, start);
        if value.get(end) != Some(&b'>') {
            let what = "URI holds an octet it may not, or no > ends it";
            return Err(Malformed::new(end, what, SPEC));
        }
        self.uri = &value[start..end];
        self.params = &value[octet::skip_space(value, end + 1)..];
        check_scheme(self.uri, start)
    }

    /// `addr-spec`: what follows the first `;` belongs to the header, not to the URI.
    fn read_bare(&mut self, value: &'a [u8], start: usize) -> Result<(), Malformed> {
        let end = octet::run(value, start, octet::VALUE);
        let params = octet::skip_space(value, end);
        if params < value.len() && value[params] != b';' {
            let what = "URI with a comma, question mark or space stands outside of < >";
            return Err(Malformed::new(params, what, SPEC));
        }
        self.uri = &value[start..end];
        self.params = &value[params..];
        check_scheme(self.uri, start)
    }
}

/// Every URI begins with a letter and has a colon behind its scheme (RFC 3986 §3.1).
#[inline]
fn check_scheme(uri: &[u8], at: usize) -> Result<(), Malformed> {
    if uri.starts_with(b"sip:") {
        return Ok(());
    }
    let colon = octet::run(uri, 0, TOKEN);
    let is_scheme = uri.first().is_some_and(u8::is_ascii_alphabetic);
    if !is_scheme || uri.get(colon) != Some(&b':') {
        return Err(Malformed::new(at, "URI without a scheme", "RFC 3261 §19.1.1"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_all_its_forms() {
        for (text, display, uri, tag) in [
            ("<sip:a@b>;tag=1", "", "sip:a@b", Some("1")),
            (
                "\"A, <B>\" <sip:a@b;x=1?h=2> ; tag = 1 ; z",
                "\"A, <B>\"",
                "sip:a@b;x=1?h=2",
                Some("1"),
            ),
            (
                "caller<sip:caller@example.com>;tag=323",
                "caller",
                "sip:caller@example.com",
                Some("323"),
            ),
            ("Mr. Watson <sips:w@b>", "Mr. Watson", "sips:w@b", None),
            ("sip:a@b;tag=x", "", "sip:a@b", Some("x")),
            ("isbn:2983792873", "", "isbn:2983792873", None),
            ("<http://www.example.com>;q=0.1", "", "http://www.example.com", None),
        ] {
            let mut address = NameAddr::EMPTY;
            let found = address.read_tagged(text.as_bytes()).unwrap();
            assert_eq!(address, NameAddr::parse(text.as_bytes()).unwrap());
            assert_eq!(address.display, display.as_bytes(), "{text}");
            assert_eq!(address.uri, uri.as_bytes(), "{text}");
            assert_eq!(found, tag.map(str::as_bytes), "{text}");
            assert_eq!(address.tag(), found, "{text}");
        }
    }

    #[test]
    fn an_address_that_is_none_is_refused_with_its_violation() {
        for (text, at, what) in [
            ("\"Mr. J. User <sip:j@b>", 0, "quoted string without its end"),
            ("\"A\" sip:a@b", 4, "display name without <URI>"),
            ("<sip:a@b", 8, "URI holds an octet it may not, or no > ends it"),
            ("\"W\" < sip:t@b >", 5, "URI holds an octet it may not, or no > ends it"),
            (
                "Bell, Alexander <sip:a@b>",
                4,
                "URI with a comma, question mark or space stands outside of < >",
            ),
            (
                "sip:u@b?Route=%3Csip:b%3E",
                7,
                "URI with a comma, question mark or space stands outside of < >",
            ),
            ("<a@b>", 1, "URI without a scheme"),
            ("", 0, "URI without a scheme"),
            ("<sip:a@b>;tag=1,<sip:c@d>", 15, "comma or question mark in a single value"),
        ] {
            let violation = NameAddr::parse(text.as_bytes()).unwrap_err();
            assert_eq!((violation.at, violation.what), (at, what), "{text}");
            let mut tagged = NameAddr::EMPTY;
            assert!(tagged.read_tagged(text.as_bytes()).is_err(), "{text}");
        }
    }
}
