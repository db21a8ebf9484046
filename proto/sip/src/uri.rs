//! `sip:`, `sips:` (RFC 3261 §19.1) and `tel:` (RFC 3966) URIs.
//!
//! ```text
//! sip:user:password@host:port;uri-parameters?headers
//! tel:+358-555-1234567;phone-context=…
//! ```

use crate::octet;
use crate::param::{self, Params};
use core::net::{Ipv6Addr, SocketAddr};
use wire::Malformed;

mod equality;

const SPEC: &str = "RFC 3261 §19.1.1";
/// The longest IPv6 address as text, without brackets.
const IPV6_TEXT_MAX: usize = 46;

/// What a URI names its resource by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `sip`.
    Sip,
    /// `sips`: TLS on every hop.
    Sips,
    /// `tel`: a telephone number.
    Tel,
    /// Any other; only [`Uri::raw`] is filled.
    Other,
}

/// A URI, taken apart.
#[derive(Debug, Clone, Copy)]
pub struct Uri<'a> {
    /// The whole URI.
    pub raw: &'a [u8],
    /// Its scheme.
    pub scheme: Scheme,
    /// The user as written, escapes included; of a `tel:` URI the number with its separators.
    pub user: Option<&'a [u8]>,
    /// The password.
    pub password: Option<&'a [u8]>,
    /// Host name or address; IPv6 with its brackets; empty for `tel:`.
    pub host: &'a [u8],
    /// The port.
    pub port: Option<u16>,
    /// Parameters, from the first `;` on; empty when there is none.
    pub params: &'a [u8],
    /// Headers without the `?`; empty when there is none.
    pub headers: &'a [u8],
}

impl<'a> Uri<'a> {
    /// Appends the URI with another address in place of host and port, without its headers and
    /// without `transport`, which was the way to the old one. One without a host stays as it is.
    pub fn write_towards(&self, out: &mut Vec<u8>, to: SocketAddr) {
        if self.host.is_empty() {
            return out.extend_from_slice(self.raw);
        }
        let host = (self.host.as_ptr() as usize).saturating_sub(self.raw.as_ptr() as usize);
        out.extend_from_slice(&self.raw[..host]);
        crate::text::host_port(out, to);
        Params::new(self.params).write_without(out, b"transport");
    }

    /// Takes a URI apart. Schemes other than `sip`, `sips` and `tel` are accepted unread.
    ///
    /// # Errors
    /// No scheme, an octet that no URI may hold, an empty user or host, a bad port, a bad IPv6
    /// reference, a bad parameter. Offsets count from the start of the URI.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let end = octet::uri_run(bytes, 0);
        if end == bytes.len() {
            return Self::parse_clean(bytes);
        }
        let (_, start) = scheme(bytes)?;
        Err(Malformed::new(end.max(start), "URI holds an octet it may not", SPEC))
    }

    /// Takes a URI apart whose octets are known to be of a URI.
    #[inline]
    pub(crate) fn parse_clean(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (scheme, start) = scheme(bytes)?;
        match scheme {
            Scheme::Sip | Scheme::Sips => Self::parse_sip(bytes, scheme, start),
            Scheme::Tel => Self::parse_tel(bytes, start),
            Scheme::Other => Ok(Self { scheme, ..Self::empty(bytes) }),
        }
    }

    const fn empty(raw: &'a [u8]) -> Self {
        Self {
            raw,
            scheme: Scheme::Other,
            user: None,
            password: None,
            host: b"",
            port: None,
            params: b"",
            headers: b"",
        }
    }

    #[inline]
    fn parse_sip(bytes: &'a [u8], scheme: Scheme, start: usize) -> Result<Self, Malformed> {
        let mut uri = Self { scheme, ..Self::empty(bytes) };
        let host_start = uri.read_user(bytes, start)?;
        let host_end = host_end(bytes, host_start)?;
        uri.host = &bytes[host_start..host_end];
        let mut at = host_end;
        if bytes.get(at) == Some(&b':') {
            let (port, end) = octet::digits(bytes, at + 1, u16::MAX.into());
            let violation = Malformed::new(at + 1, "port is not 0 to 65535", SPEC);
            uri.port = Some(port.ok_or(violation)?);
            at = end;
        }
        if at < bytes.len() {
            uri.read_params(bytes, at)?;
        }
        Ok(uri)
    }

    /// Reads `user[:password]@` if it is there; returns where the host starts.
    #[inline]
    fn read_user(&mut self, bytes: &'a [u8], start: usize) -> Result<usize, Malformed> {
        let Some(at) = octet::find_near(bytes, start, b'@') else { return Ok(start) };
        let user = &bytes[start..at];
        let colon = octet::find_near(user, 0, b':');
        let (user, password) = match colon {
            Some(colon) => (&user[..colon], Some(&user[colon + 1..])),
            None => (user, None),
        };
        if user.is_empty() {
            return Err(Malformed::new(start, "empty user before @", SPEC));
        }
        self.user = Some(user);
        self.password = password;
        Ok(at + 1)
    }

    /// Parameters and headers from `at` on.
    fn read_params(&mut self, bytes: &'a [u8], at: usize) -> Result<(), Malformed> {
        if !matches!(bytes[at], b';' | b'?') {
            return Err(Malformed::new(at, "host is not followed by port, ; or ?", SPEC));
        }
        let mut params = Params::new(&bytes[at..]);
        while params.read().map_err(|m| m.shifted(at))?.is_some() {}
        let end = at + params.position();
        if bytes.get(end) == Some(&b',') {
            return Err(Malformed::new(end, "comma in a URI parameter", SPEC));
        }
        self.params = &bytes[at..end];
        self.headers = bytes.get(end + 1..).unwrap_or(b"");
        Ok(())
    }

    fn parse_tel(bytes: &'a [u8], start: usize) -> Result<Self, Malformed> {
        let mut end = start;
        while end < bytes.len() && is_phone_octet(bytes[end]) {
            end += 1;
        }
        let number = &bytes[start..end];
        let is_global = number.first() == Some(&b'+');
        let is_plus_inside = number.iter().skip(1).any(|&octet| octet == b'+');
        let is_empty = !number.iter().any(|&octet| is_digit(octet));
        if is_empty || is_plus_inside || (is_global && number.iter().any(u8::is_ascii_alphabetic)) {
            return Err(Malformed::new(start, "tel: without a number", "RFC 3966 §3"));
        }
        let mut uri = Self { scheme: Scheme::Tel, user: Some(number), ..Self::empty(bytes) };
        if end < bytes.len() {
            uri.read_params(bytes, end)?;
        }
        Ok(uri)
    }

    /// The value of a URI parameter (any case); empty for a flag.
    #[must_use]
    pub fn param(&self, name: &[u8]) -> Option<&'a [u8]> {
        if self.params.is_empty() { None } else { param::param(self.params, name) }
    }

    /// Whether the hop is a loose router (RFC 3261 §19.1.1).
    #[must_use]
    pub fn lr(&self) -> bool {
        self.param(b"lr").is_some()
    }

    /// Whether the user names a telephone: a `tel:` URI or `user=phone`.
    #[must_use]
    pub fn is_phone(&self) -> bool {
        self.scheme == Scheme::Tel
            || self.param(b"user").is_some_and(|value| octet::same(value, b"phone"))
    }

    /// The digits of the telephone number in the user part, a leading `+` included, visual
    /// separators and the parameters of a telephone-subscriber left out (RFC 3966 §5.1.1).
    pub fn digits(&self) -> impl Iterator<Item = u8> + use<'a> {
        let user = self.user.unwrap_or(b"");
        let end = memchr::memchr(b';', user).unwrap_or(user.len());
        user[..end].iter().copied().filter(|&octet| !is_visual_separator(octet))
    }

    /// The host as an IPv6 address, if it is one in brackets.
    #[must_use]
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        match self.host {
            [b'[', text @ .., b']'] => ipv6(text),
            _ => None,
        }
    }
}

/// The scheme and the position behind its colon.
#[inline]
fn scheme(bytes: &[u8]) -> Result<(Scheme, usize), Malformed> {
    match *bytes {
        [b's', b'i', b'p', b':', ..] => return Ok((Scheme::Sip, 4)),
        [b't', b'e', b'l', b':', ..] => return Ok((Scheme::Tel, 4)),
        _ => {}
    }
    let colon = octet::run(bytes, 0, octet::TOKEN);
    if bytes.get(colon) != Some(&b':') || !bytes[0].is_ascii_alphabetic() {
        return Err(Malformed::new(0, "URI without a scheme", SPEC));
    }
    let name = &bytes[..colon];
    let scheme = if octet::same(name, b"sip") {
        Scheme::Sip
    } else if octet::same(name, b"sips") {
        Scheme::Sips
    } else if octet::same(name, b"tel") {
        Scheme::Tel
    } else {
        Scheme::Other
    };
    Ok((scheme, colon + 1))
}

#[inline]
fn host_end(bytes: &[u8], start: usize) -> Result<usize, Malformed> {
    if bytes.get(start) == Some(&b'[') {
        return ipv6_end(bytes, start);
    }
    let end = octet::host_run(bytes, start);
    if end == start {
        return Err(Malformed::new(start, "URI without a host", SPEC));
    }
    Ok(end)
}

/// The position behind the `]` of the IPv6 reference that opens at `start`.
pub(crate) fn ipv6_end(bytes: &[u8], start: usize) -> Result<usize, Malformed> {
    let violation = Malformed::new(start, "IPv6 reference is no IPv6 address in [ ]", SPEC);
    let window = &bytes[start..bytes.len().min(start + IPV6_TEXT_MAX + 2)];
    let close = memchr::memchr(b']', window).ok_or(violation)?;
    ipv6(&window[1..close]).ok_or(violation)?;
    Ok(start + close + 1)
}

/// An IPv6 address as text. Three colons before an embedded IPv4 address, which the grammar of
/// RFC 3261 lets through by mistake, count as two (RFC 5118 §4.10).
fn ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    if let Ok(address) = core::str::from_utf8(text).ok()?.parse() {
        return Some(address);
    }
    let triple = text.windows(3).position(|three| three == b":::")?;
    let is_before_ipv4 = !text[triple + 3..].contains(&b':') && text.contains(&b'.');
    if !is_before_ipv4 || text.len() > IPV6_TEXT_MAX {
        return None;
    }
    let mut mended = [0; IPV6_TEXT_MAX];
    mended[..triple].copy_from_slice(&text[..triple]);
    mended[triple..text.len() - 1].copy_from_slice(&text[triple + 1..]);
    core::str::from_utf8(&mended[..text.len() - 1]).ok()?.parse().ok()
}

const fn is_visual_separator(octet: u8) -> bool {
    matches!(octet, b'-' | b'.' | b'(' | b')')
}

const fn is_digit(octet: u8) -> bool {
    octet.is_ascii_hexdigit() || matches!(octet, b'*' | b'#')
}

const fn is_phone_octet(octet: u8) -> bool {
    is_digit(octet) || is_visual_separator(octet) || octet == b'+'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sip_uri_is_taken_apart() {
        let uri =
            Uri::parse(b"sips:alice:se:cret@[2001:db8::10]:5070;transport=tcp;lr?Subject=x&y=z")
                .unwrap();
        assert_eq!(uri.scheme, Scheme::Sips);
        assert_eq!(uri.user, Some(&b"alice"[..]));
        assert_eq!(uri.password, Some(&b"se:cret"[..]));
        assert_eq!(uri.host, b"[2001:db8::10]");
        assert_eq!(uri.port, Some(5070));
        assert_eq!(uri.param(b"Transport"), Some(&b"tcp"[..]));
        assert!(uri.lr());
        assert_eq!(uri.headers, b"Subject=x&y=z");
        assert_eq!(uri.ipv6(), "2001:db8::10".parse().ok());
    }

    #[test]
    fn a_uri_is_written_towards_another_address() {
        let uri = Uri::parse(b"sips:al:x@b.example:5061;Transport=tcp;lr;m=1?Subject=x").unwrap();
        for to in ["192.0.2.1:5060", "[2001:db8::10]:5070"] {
            let mut out = Vec::new();
            uri.write_towards(&mut out, to.parse().unwrap());
            assert_eq!(out, format!("sips:al:x@{to};lr;m=1").as_bytes());
        }
    }

    #[test]
    fn a_uri_without_a_host_is_not_written_towards_anything() {
        let (mut out, text) = (Vec::new(), b"tel:+358-555-1234567");
        Uri::parse(text).unwrap().write_towards(&mut out, "10.0.0.1:5060".parse().unwrap());
        assert_eq!(out, text);
    }

    #[test]
    fn a_user_may_hold_semicolons_slashes_and_question_marks() {
        let uri = Uri::parse(
            b"sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*\
              :&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com",
        )
        .unwrap();
        assert_eq!(uri.user, Some(&b"1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*"[..]));
        assert_eq!(uri.host, b"example.com");
        let uri = Uri::parse(b"sip:user;par=u%40example.net@example.com").unwrap();
        assert_eq!(uri.user, Some(&b"user;par=u%40example.net"[..]));
    }

    #[test]
    fn a_tel_uri_gives_its_digits_without_separators() {
        let uri = Uri::parse(b"tel:+358-(555).1234567;postd=pp22").unwrap();
        assert_eq!(uri.scheme, Scheme::Tel);
        assert_eq!(uri.digits().collect::<Vec<_>>(), b"+3585551234567");
        assert_eq!(uri.param(b"postd"), Some(&b"pp22"[..]));
        let local = Uri::parse(b"TEL:7042;phone-context=example.com").unwrap();
        assert_eq!(local.digits().collect::<Vec<_>>(), b"7042");
        let sip = Uri::parse(b"sip:+1-212-555-1212;x=y@gw.com;user=phone").unwrap();
        assert!(sip.is_phone());
        assert_eq!(sip.digits().collect::<Vec<_>>(), b"+12125551212");
    }

    #[test]
    fn an_unknown_scheme_is_accepted_unread() {
        for text in
            [&b"nobodyKnowsThisScheme:totallyopaquecontent"[..], b"soap.beep://192.0.2.103:3002"]
        {
            let uri = Uri::parse(text).unwrap();
            assert_eq!((uri.scheme, uri.raw), (Scheme::Other, text));
        }
    }

    #[test]
    fn violations_are_named_where_they_stand() {
        for (text, at, what) in [
            ("", 0, "URI without a scheme"),
            ("user@example.com", 0, "URI without a scheme"),
            ("<sip:a@b>", 0, "URI without a scheme"),
            ("sip:", 4, "URI without a host"),
            ("sip:@b", 4, "empty user before @"),
            ("sip:a@", 6, "URI without a host"),
            ("sip:a b@c", 5, "URI holds an octet it may not"),
            ("sip:a@b c", 7, "URI holds an octet it may not"),
            ("sip:a@b$", 7, "host is not followed by port, ; or ?"),
            ("sip:a@b; lr", 8, "URI holds an octet it may not"),
            ("sip:a@b;;lr", 8, "parameter without a name"),
            ("sip:a@b:", 8, "port is not 0 to 65535"),
            ("sip:a@b:65536", 8, "port is not 0 to 65535"),
            ("sip:2001:db8::10", 9, "port is not 0 to 65535"),
            ("sip:[2001:db8::10", 4, "IPv6 reference is no IPv6 address in [ ]"),
            ("sip:[1.2.3.4]", 4, "IPv6 reference is no IPv6 address in [ ]"),
            ("tel:", 4, "tel: without a number"),
            ("tel:-", 4, "tel: without a number"),
        ] {
            let violation = Uri::parse(text.as_bytes()).unwrap_err();
            assert_eq!((violation.at, violation.what), (at, what), "{text}");
        }
    }

    #[test]
    fn three_colons_before_an_ipv4_address_count_as_two() {
        let address = |text: &'static str| Uri::parse(text.as_bytes()).ok().and_then(|u| u.ipv6());
        assert_eq!(address("sip:[2001:db8:::192.0.2.1]"), address("sip:[2001:db8::192.0.2.1]"));
        assert!(address("sip:[2001:db8:::192.0.2.1]").is_some());
        assert_eq!(address("sip:[2001:db8:::1]"), None);
    }
}
