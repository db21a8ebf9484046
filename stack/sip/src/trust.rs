//! Trust between realms: which headers may not cross (their rows stand in [`sip::trust`]), and how
//! Request-URI and Route are turned towards the next hop.

use crate::realm::{RealmId, Realms};
use crate::route::Way;
use crate::write::{self, Set};
use runtime::Transport;
use sip::{Items, Message, NameAddr, Params, Scheme, Uri, trust};

impl Realms {
    /// The headers that a message loses on its way from one realm to another.
    /// `believed`: whether what the sender asserts is.
    pub fn distrusted(
        &self,
        message: &Message<'_>,
        from: RealmId,
        believed: bool,
        to: RealmId,
    ) -> Set {
        let mut drop = Set::default();
        if !believed {
            drop = trust::inward(message).without(self.row(from).passes);
        }
        let to = self.row(to);
        if !to.trusted {
            drop = drop.and(trust::outward(message).without(to.passes));
        }
        drop
    }

    /// The Request-URI on the far side: as it came, unless its host is one of our listeners; then
    /// the next hop's address takes its place. `transport` says how the next hop is reached, or
    /// nothing does.
    pub fn write_uri(&self, out: &mut Vec<u8>, message: &Message<'_>, way: &Way) {
        let Some(uri) = message.uri() else { return };
        if !matches!(uri.scheme, Scheme::Sip | Scheme::Sips) || !self.is_ours(uri.host, uri.port) {
            return write_over(out, uri, way.flow.transport);
        }
        uri.write_towards(out, way.flow.remote);
        if way.flow.transport.is_stream() && uri.scheme != Scheme::Sips {
            out.extend_from_slice(b";transport=");
            out.extend_from_slice(way.flow.transport.word().as_bytes());
        }
    }
}

/// A URI on its way over `transport`: as it came, but without a parameter `transport` that names
/// another one. The sender chose that one for its own hop; a next hop that believes it would look
/// for the request elsewhere (RFC 3261 §19.1.1).
#[inline]
fn write_over(out: &mut Vec<u8>, uri: &Uri<'_>, transport: Transport) {
    let said = uri.param(b"transport");
    if said.is_none_or(|said| is_over(uri.scheme, said, transport)) {
        return out.extend_from_slice(uri.raw);
    }
    let start = (uri.params.as_ptr() as usize).saturating_sub(uri.raw.as_ptr() as usize);
    out.extend_from_slice(&uri.raw[..start]);
    Params::new(uri.params).write_without(out, b"transport");
    out.extend_from_slice(&uri.raw[start + uri.params.len()..]);
}

/// Whether a URI with this `transport` leads over that one. `sips:` means TLS, and names what lies
/// below it: `tcp` (RFC 3261 §26.2.2, RFC 5630 §3.1.4); `tls` does not stand beside it.
fn is_over(scheme: Scheme, said: &[u8], transport: Transport) -> bool {
    let word = match (scheme, transport) {
        (Scheme::Sips, Transport::Tls) => "tcp",
        (_, other) => other.word(),
    };
    said.eq_ignore_ascii_case(word.as_bytes())
}

/// A Route on its way over `transport`: its first URI is the next hop's, the others are those of
/// hops behind it.
pub fn write_route(out: &mut Vec<u8>, route: &[u8], transport: Transport) {
    let first = Items::new(route).next().and_then(|first| NameAddr::parse(first).ok());
    let Some(uri) = first.and_then(|first| Uri::parse(first.uri).ok()) else {
        return write::line(out, "Route", route);
    };
    let start = (uri.raw.as_ptr() as usize).saturating_sub(route.as_ptr() as usize);
    out.extend_from_slice(b"Route: ");
    out.extend_from_slice(&route[..start]);
    write_over(out, &uri, transport);
    out.extend_from_slice(&route[start + uri.raw.len()..]);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_route_is_the_next_hop_s_and_sips_says_tls_itself() {
        let route = |route: &str, transport| {
            let mut out = Vec::new();
            write_route(&mut out, route.as_bytes(), transport);
            String::from_utf8(out).unwrap()
        };
        let two = "<sip:o@10.0.1.1;transport=tcp;lr>;x=1, <sip:far.example;transport=tcp;lr>";
        let first = "Route: <sip:o@10.0.1.1;lr>;x=1, <sip:far.example;transport=tcp;lr>\r\n";
        assert_eq!(route(two, Transport::Udp), first);
        assert_eq!(route(two, Transport::Tcp), format!("Route: {two}\r\n"));
        let over_tls = |said: &str| route(&format!("<sips:o@x{said};lr>"), Transport::Tls);
        assert_eq!(over_tls(";transport=tcp"), "Route: <sips:o@x;transport=tcp;lr>\r\n");
        assert_eq!(over_tls(";transport=tls"), "Route: <sips:o@x;lr>\r\n");
        assert_eq!(route("no URI", Transport::Udp), "Route: no URI\r\n");
    }
}
