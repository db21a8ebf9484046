//! Topology hiding: IP addresses of one realm's far ends in From, To, P-Asserted-Identity and
//! Referred-By do not show in another realm. Domain names stay; so do tags, which are exchanged
//! anyhow. What a leg once sent stays its own for the life of the dialog, so that each far end
//! sees its own From and To come back unchanged (RFC 3261 §12.2.1.1).

use crate::realm::{Listener, RealmId, Realms};
use crate::write::{self, Set};
use sip::{Header, Message, Method, NameAddr, Uri};

/// Headers other than From and To that name a party by its own address.
const PARTIES: [(Header, &str, Set); 2] = [
    (Header::PAssertedIdentity, "P-Asserted-Identity", Set::of(&[Header::PAssertedIdentity])),
    (Header::ReferredBy, "Referred-By", Set::of(&[Header::ReferredBy])),
];

/// Where host and port stand in a SIP URI whose host is an IP address.
fn place(uri: &[u8]) -> Option<(usize, usize)> {
    let start = match memchr::memchr(b'@', uri) {
        Some(at) => at + 1,
        None => memchr::memchr(b':', uri)? + 1,
    };
    // A look at one octet spares most URIs the rest.
    if !uri.get(start).is_some_and(|&b| b.is_ascii_digit() || b == b'[') {
        return None;
    }
    let parsed = Uri::parse(uri).ok()?;
    write::address(parsed.host)?;
    let start = (parsed.host.as_ptr() as usize).checked_sub(uri.as_ptr() as usize)?;
    let host_end = start + parsed.host.len();
    let port = match uri.get(host_end) {
        Some(b':') => uri[host_end + 1..].iter().take_while(|b| b.is_ascii_digit()).count() + 1,
        _ => 0,
    };
    Some((start, host_end + port))
}

/// Writes a header value up to its host, which becomes `host` if it was an IP address, and
/// returns the rest of the value, still to be written. `uri` stands in `value`.
pub fn begin<'a>(out: &mut Vec<u8>, value: &'a [u8], uri: &[u8], host: Option<&[u8]>) -> &'a [u8] {
    let Some((host, (start, end))) = host.zip(place(uri)) else { return value };
    let at = (uri.as_ptr() as usize).saturating_sub(value.as_ptr() as usize);
    out.extend_from_slice(&value[..at + start]);
    out.extend_from_slice(host);
    &value[at + end..]
}

impl Realms {
    /// The host that takes the place of IP addresses in what goes from a realm out by `listener`;
    /// `None` when they are shown. REGISTER names its account by To and is left alone.
    pub fn host_for<'a>(
        &self,
        from: RealmId,
        listener: &'a Listener,
        message: &Message<'_>,
    ) -> Option<&'a [u8]> {
        let hides = self.row(from).hide_hosts && from != listener.realm;
        (hides && message.method() != Method::Register).then(|| listener.host())
    }
}

/// Writes the identity headers that name an IP address with `host` in its place, and returns
/// which headers that were; the others may be copied. What is in `drop` is not written.
pub fn parties(out: &mut Vec<u8>, message: &Message<'_>, host: Option<&[u8]>, drop: Set) -> Set {
    let mut written = Set::default();
    if host.is_none() {
        return written;
    }
    for (header, name, set) in PARTIES {
        let address = |value| NameAddr::parse(value).ok();
        let shows = |value| address(value).is_some_and(|party| place(party.uri).is_some());
        if !message.has(header) || drop.has(header) || !message.values(header).any(shows) {
            continue;
        }
        for value in message.values(header) {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            let rest = address(value).map_or(value, |party| begin(out, value, party.uri, host));
            out.extend_from_slice(rest);
            out.extend_from_slice(b"\r\n");
        }
        written = written.and(set);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_are_addresses_are_hidden() {
        for (value, uri, hidden) in [
            ("\"A\" <sip:a@10.0.0.1:5062;x=y>;tag=1", "sip:a@10.0.0.1:5062;x=y", true),
            ("<sips:[2001:db8::1]>", "sips:[2001:db8::1]", true),
            ("<sip:10.0.0.1>", "sip:10.0.0.1", true),
            ("<sip:a@10.example.org>", "sip:a@10.example.org", false),
            ("<sip:10.0.0.1@example.org>", "sip:10.0.0.1@example.org", false),
            ("<tel:+49123>", "tel:+49123", false),
        ] {
            let at = value.find(uri).expect("the URI stands in the value");
            let mut out = Vec::new();
            let uri = &value.as_bytes()[at..at + uri.len()];
            let rest = begin(&mut out, value.as_bytes(), uri, Some(b"192.0.2.1"));
            out.extend_from_slice(rest);
            let text = String::from_utf8_lossy(&out).into_owned();
            assert_eq!(text != value, hidden, "{text}");
            assert_eq!(text.contains("192.0.2.1"), hidden, "{text}");
            assert!(!hidden || !text.contains("5062"), "the port goes with the address: {text}");
        }
    }
}
