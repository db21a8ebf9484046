//! The route set of a dialog (RFC 3261 §12.1.1, §12.1.2) and how a request follows it (§12.2.1.1).

use sip::Items;
use sip::{Header, Message, NameAddr, Uri, Writer};

/// Hops of a route set; a message with more makes no dialog.
pub const ROUTES_MAX: usize = 64;

/// Hops in the order a request passes them, kept as one comma-separated text. Empty costs no
/// allocation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouteSet {
    text: Box<[u8]>,
}

impl RouteSet {
    /// As the server side takes it from a request: the Record-Route in its order (§12.1.1).
    /// `None` if there are too many.
    #[must_use]
    pub fn from_request(request: &Message<'_>) -> Option<Self> {
        Self::collect(request.values(Header::RecordRoute))
    }

    /// As the client side takes it from a response: the Record-Route reversed (§12.1.2).
    /// `None` if there are too many.
    #[must_use]
    pub fn from_response(response: &Message<'_>) -> Option<Self> {
        let mut hops: Vec<&[u8]> =
            response.values(Header::RecordRoute).take(ROUTES_MAX + 1).collect();
        hops.reverse();
        Self::collect(hops.into_iter())
    }

    /// As [`RouteSet::text`] had it; `None` if there are too many.
    #[must_use]
    pub fn restored(text: &[u8]) -> Option<Self> {
        let set = Self { text: text.into() };
        (set.iter().take(ROUTES_MAX + 1).count() <= ROUTES_MAX).then_some(set)
    }

    /// All hops as one list.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    fn collect<'a>(hops: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut text = Vec::new();
        for (count, hop) in hops.enumerate() {
            if count == ROUTES_MAX {
                return None;
            }
            if count > 0 {
                text.push(b',');
            }
            text.extend_from_slice(hop);
        }
        Some(Self { text: text.into() })
    }

    /// The hops in order, each a name-addr.
    pub fn iter(&self) -> Items<'_> {
        Items::new(&self.text)
    }

    /// Whether requests go straight to the remote target.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The URI of the first hop.
    #[must_use]
    pub fn first_uri(&self) -> Option<&[u8]> {
        self.iter().next().and_then(|hop| NameAddr::parse(hop).ok()).map(|hop| hop.uri)
    }

    /// Whether the first hop is a strict router of RFC 2543: its URI has no `lr` (§12.2.1.1).
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.first_uri().is_some_and(|uri| !Uri::parse(uri).is_ok_and(|uri| uri.lr()))
    }

    /// The Request-URI of a request to `target`.
    #[must_use]
    pub fn request_uri<'a>(&'a self, target: &'a [u8]) -> &'a [u8] {
        if self.is_strict() { self.first_uri().unwrap_or(target) } else { target }
    }

    /// The URI of the next hop: where the request is sent, whatever its Request-URI says.
    #[must_use]
    pub fn next_hop<'a>(&'a self, target: &'a [u8]) -> &'a [u8] {
        self.first_uri().unwrap_or(target)
    }

    /// Writes the Route headers of a request to `target`.
    pub fn write(&self, writer: &mut Writer<'_>, target: &[u8]) {
        if self.is_empty() {
            return;
        }
        if !self.is_strict() {
            writer.header(Header::Route, &self.text);
            return;
        }
        writer.header_with(Header::Route, |out| {
            for hop in self.iter().skip(1) {
                out.extend_from_slice(hop);
                out.push(b',');
            }
            out.push(b'<');
            out.extend_from_slice(target);
            out.push(b'>');
        });
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(hops: &[&str]) -> RouteSet {
        RouteSet::collect(hops.iter().map(|hop| hop.as_bytes())).unwrap()
    }

    fn route(set: &RouteSet) -> String {
        let mut bytes = Vec::new();
        let mut writer = Writer::request(&mut bytes, b"BYE", b"sip:x");
        set.write(&mut writer, b"sip:target@there");
        writer.end();
        let text = String::from_utf8(bytes).unwrap();
        let line = text.split("\r\n").find(|line| line.starts_with("Route: "));
        line.unwrap_or_default().to_owned()
    }

    #[test]
    fn a_loose_route_leaves_the_target_in_the_request_uri() {
        let loose = set(&["<sip:p1;lr>", "\"a, b\" <sip:p2;lr>"]);
        assert_eq!(loose.request_uri(b"sip:target@there"), b"sip:target@there");
        assert_eq!(loose.next_hop(b"sip:target@there"), b"sip:p1;lr");
        assert_eq!(route(&loose), "Route: <sip:p1;lr>,\"a, b\" <sip:p2;lr>");
        assert_eq!(loose.iter().count(), 2);
        assert_eq!(RouteSet::restored(loose.text()), Some(loose));
    }

    #[test]
    fn a_strict_router_stands_in_the_request_uri_and_the_target_comes_last() {
        let strict = set(&["<sip:p1>", "<sip:p2;lr>"]);
        assert_eq!(strict.request_uri(b"sip:target@there"), b"sip:p1");
        assert_eq!(route(&strict), "Route: <sip:p2;lr>,<sip:target@there>");
    }

    #[test]
    fn an_empty_set_writes_nothing_and_too_many_hops_make_none() {
        let empty = RouteSet::default();
        assert_eq!(route(&empty), "");
        assert_eq!(empty.next_hop(b"sip:t"), b"sip:t");
        let many = vec!["<sip:p;lr>"; ROUTES_MAX + 1];
        assert!(RouteSet::collect(many.iter().map(|hop| hop.as_bytes())).is_none());
    }
}
