//! Via (RFC 3261 §20.42, RFC 3581 for `rport`).

use crate::octet::{self, TOKEN};
use crate::param::Params;
use crate::uri;
use wire::Malformed;

const SPEC: &str = "RFC 3261 §20.42";
const BRANCH: &[u8] = b";branch=";
/// How a branch begins that is unique across space and time (RFC 3261 §8.1.1.7).
pub const MAGIC_COOKIE: &[u8] = b"z9hG4bK";

/// One Via value: a hop of the request's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Via<'a> {
    /// `UDP`, `TCP`, `TLS`, … as written.
    pub transport: &'a [u8],
    /// Host of the sent-by; IPv6 with its brackets.
    pub host: &'a [u8],
    /// Port of the sent-by.
    pub port: Option<u16>,
    /// The transaction.
    pub branch: Option<&'a [u8]>,
    /// The address the next hop saw.
    pub received: Option<&'a [u8]>,
    /// Asked for (`Some(None)`) or filled in (RFC 3581).
    pub rport: Option<Option<u16>>,
    /// Multicast address.
    pub maddr: Option<&'a [u8]>,
    /// Time to live of a multicast.
    pub ttl: Option<u8>,
    /// All parameters, from the first `;` on; empty when there is none.
    pub params: &'a [u8],
    /// This whole value.
    pub raw: &'a [u8],
}

impl<'a> Via<'a> {
    /// A Via without any of its parts.
    pub(crate) const EMPTY: Self = Self {
        transport: b"",
        host: b"",
        port: None,
        branch: None,
        received: None,
        rport: None,
        maddr: None,
        ttl: None,
        params: b"",
        raw: b"",
    };

    /// Reads the first Via of a comma-separated list.
    ///
    /// # Errors
    /// A version other than `SIP/2.0`, a missing host, a bad port or parameter.
    pub fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let mut via = Self::EMPTY;
        via.read(value)?;
        Ok(via)
    }

    /// Reads the first Via of a list into this one, which is empty.
    pub(crate) fn read(&mut self, value: &'a [u8]) -> Result<(), Malformed> {
        let (transport, at) = sent_protocol(value)?;
        let host_start = octet::skip_space(value, at);
        if host_start == at {
            return Err(Malformed::new(at, "no space before the sent-by", SPEC));
        }
        let host_end = host_end(value, host_start)?;
        let (port, params_start) = port(value, host_end)?;
        self.transport = transport;
        self.host = &value[host_start..host_end];
        self.port = port;
        self.read_params(value, params_start)
    }

    /// Whether the branch begins with the magic cookie and goes on, so that it alone names the
    /// transaction (RFC 3261 §17.2.3; RFC 4475 §3.2.1: the bare cookie does not).
    #[must_use]
    pub fn is_branch_unique(&self) -> bool {
        self.branch.is_some_and(|branch| {
            branch.len() > MAGIC_COOKIE.len() && branch.starts_with(MAGIC_COOKIE)
        })
    }

    fn read_params(&mut self, value: &'a [u8], start: usize) -> Result<(), Malformed> {
        let mut params = Params::new(&value[start..]);
        // The branch stands first as a rule.
        if let Some(rest) = value[start..].strip_prefix(BRANCH) {
            let end = octet::value_run(rest, 0);
            if end > 0 {
                self.branch = Some(&rest[..end]);
                params = Params::from(&value[start..], BRANCH.len() + end);
            }
        }
        while let Some(param) = params.read().map_err(|m| m.shifted(start))? {
            let at = start + params.position();
            match (param.name.len(), param.value) {
                (6, Some(text)) if octet::same(param.name, b"branch") => self.branch = Some(text),
                (8, Some(text)) if octet::same(param.name, b"received") => {
                    self.received = Some(text);
                }
                (5, Some(text)) if octet::same(param.name, b"maddr") => self.maddr = Some(text),
                (5, None) if octet::same(param.name, b"rport") => self.rport = Some(None),
                (5, Some(text)) if octet::same(param.name, b"rport") => {
                    let port = octet::number(text, u16::MAX.into());
                    let violation = Malformed::new(at, "rport is not a port", "RFC 3581 §3");
                    self.rport = Some(Some(port.ok_or(violation)?));
                }
                (3, Some(text)) if octet::same(param.name, b"ttl") => {
                    let violation = Malformed::new(at, "ttl is not 0 to 255", SPEC);
                    self.ttl = Some(octet::number(text, u8::MAX.into()).ok_or(violation)?);
                }
                _ => {}
            }
        }
        let end = start + params.position();
        self.params = octet::trim(&value[start..end]);
        self.raw = octet::trim(&value[..end]);
        Ok(())
    }
}

/// The transport and the position behind it.
#[inline]
fn sent_protocol(value: &[u8]) -> Result<(&[u8], usize), Malformed> {
    let at = match value.get(..8) {
        Some(head) if head == b"SIP/2.0/" => 8,
        _ => spaced_protocol(value)?,
    };
    let start = octet::skip_space(value, at);
    let end = octet::run(value, start, TOKEN);
    if end == start {
        return Err(Malformed::new(start, "Via without a transport", SPEC));
    }
    Ok((&value[start..end], end))
}

/// `SIP / 2.0 /` with white space wherever the grammar lets it stand.
fn spaced_protocol(value: &[u8]) -> Result<usize, Malformed> {
    let mut at = 0;
    for expected in [&b"SIP"[..], b"/", b"2.0", b"/"] {
        at = octet::skip_space(value, at);
        match value.get(at..at + expected.len()) {
            Some(part) if octet::same(part, expected) => at += expected.len(),
            _ => return Err(Malformed::new(at, "Via is not of SIP/2.0", SPEC)),
        }
    }
    Ok(at)
}

#[inline]
fn host_end(value: &[u8], start: usize) -> Result<usize, Malformed> {
    if value.get(start) == Some(&b'[') {
        return uri::ipv6_end(value, start);
    }
    let end = octet::host_run(value, start);
    if end == start {
        return Err(Malformed::new(start, "Via without a host", SPEC));
    }
    Ok(end)
}

/// The port behind `at`, if there is one, and the position behind it.
#[inline]
fn port(value: &[u8], at: usize) -> Result<(Option<u16>, usize), Malformed> {
    let colon = octet::skip_space(value, at);
    if value.get(colon) != Some(&b':') {
        return Ok((None, colon));
    }
    let start = octet::skip_space(value, colon + 1);
    match octet::digits(value, start, u16::MAX.into()) {
        (Some(port), end) => Ok((Some(port), end)),
        (None, _) => Err(Malformed::new(start, "sent-by port is not 0 to 65535", SPEC)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_via_is_read_with_white_space_and_folds_wherever_the_grammar_has_them() {
        let via = Via::parse(
            b"SIP  / 2.0\r\n  / TCP     spindle.example.com   ;\r\n\
              \x20 branch  =   z9hG4bK9ikj8  ,\r\n SIP/2.0/UDP x",
        )
        .unwrap();
        assert_eq!(via.transport, b"TCP");
        assert_eq!(via.host, b"spindle.example.com");
        assert_eq!(via.branch, Some(&b"z9hG4bK9ikj8"[..]));
        assert_eq!(via.params, b";\r\n  branch  =   z9hG4bK9ikj8");
        assert!(via.raw.ends_with(b"z9hG4bK9ikj8"));
    }

    #[test]
    fn rport_is_absent_asked_for_or_filled_in() {
        let rport = |text: &'static [u8]| Via::parse(text).map(|via| via.rport);
        assert_eq!(rport(b"SIP/2.0/UDP h;branch=z"), Ok(None));
        assert_eq!(rport(b"SIP/2.0/UDP h;rport;branch=z"), Ok(Some(None)));
        assert_eq!(rport(b"SIP/2.0/UDP h:5;RPORT=70"), Ok(Some(Some(70))));
        assert!(rport(b"SIP/2.0/UDP h;rport=70000").is_err());
    }

    #[test]
    fn an_ipv6_host_keeps_its_brackets_and_received_may_lack_them() {
        let via = Via::parse(b"SIP/2.0/UDP [2001:db8::9:1]:5;received=2001:db8::9:255").unwrap();
        assert_eq!((via.host, via.port), (&b"[2001:db8::9:1]"[..], Some(5)));
        assert_eq!(via.received, Some(&b"2001:db8::9:255"[..]));
    }

    #[test]
    fn the_bare_cookie_is_no_unique_branch() {
        let unique = |text: &'static [u8]| Via::parse(text).unwrap().is_branch_unique();
        assert!(unique(b"SIP/2.0/UDP h;branch=z9hG4bK1"));
        assert!(!unique(b"SIP/2.0/UDP h;branch=z9hG4bK"));
        assert!(!unique(b"SIP/2.0/UDP h;branch=390skdjuw"));
    }

    #[test]
    fn violations_are_named_where_they_stand() {
        for (text, at, what) in [
            (&b"SIP/3.0/UDP h"[..], 4, "Via is not of SIP/2.0"),
            (b"SIP/2.0/ ;", 9, "Via without a transport"),
            (b"SIP/2.0/UDP", 11, "no space before the sent-by"),
            (b"SIP/2.0/UDP ;a", 12, "Via without a host"),
            (b"SIP/2.0/UDP h:99999", 14, "sent-by port is not 0 to 65535"),
            (b"SIP/2.0/UDP h;;,", 14, "parameter without a name"),
        ] {
            let violation = Via::parse(text).unwrap_err();
            assert_eq!((violation.at, violation.what), (at, what));
        }
    }
}
