//! One leg: a dialog with one far end, kept as the text that its requests begin with.
//!
//! ```text
//! text = target · Route lines · From with our tag · To with theirs · Call-ID
//! ```
//! A request on the leg is a start line, our Via, this text in one piece, and what the other
//! leg's request brings along.

mod record;

use crate::realm::{RealmId, Realms};
use crate::size;
use crate::write;
use machine::identity::{TAG_BYTES, fork_digit};
use machine::slots::Key;
use runtime::{Flow, Transport};
use sip::{Header, Message, NameAddr, Uri};
use std::net::SocketAddr;

/// Routes of a dialog at most; more are cut.
const ROUTES_MAX: usize = 32;

/// Buffers larger than this are given back to the allocator with the dialog.
const TEXT_KEPT_MAX: usize = 2048;
/// What stands around a route in its line, beside the route.
const ROUTE_BYTES: usize = b"Route: \r\n".len();
/// The target of a far end that names none: requests go back to where it sent from.
const UNNAMED: &[u8] = b"sip:anonymous@anonymous.invalid";

/// No subscriber.
pub const NOBODY: Key = Key { index: u32::MAX, generation: u32::MAX };

/// A piece of the text.
type Span = (u16, u16);

/// A dialog with one far end.
#[derive(Debug)]
pub struct Leg {
    /// The realm of the far end.
    pub realm: RealmId,
    /// Where requests go.
    pub flow: Flow,
    /// The subscriber that the far end is, while he is registered.
    pub binding: Key,
    /// Where the far end sent from, unless requests go there.
    seen: Option<Box<SocketAddr>>,
    /// Number of the fork, as in our tag.
    pub fork: u8,
    /// The last CSeq we used.
    pub local_cseq: u32,
    /// The last CSeq they used.
    pub remote_cseq: u32,
    /// CSeq of the last INVITE that crossed this leg, for its ACK.
    pub invite_cseq: u32,
    /// A line that requests to the far end have: by it its records of charging know the dialog.
    pub charging: Option<Box<[u8]>>,
    text: Vec<u8>,
    target_end: u16,
    routes_end: u16,
    fork_at: u16,
    tag: Span,
    call_id: Span,
}

impl Default for Leg {
    fn default() -> Self {
        Self {
            realm: RealmId(0),
            flow: Flow::NOWHERE,
            binding: NOBODY,
            seen: None,
            fork: 0,
            local_cseq: 0,
            remote_cseq: 0,
            invite_cseq: 0,
            charging: None,
            text: Vec::new(),
            target_end: 0,
            routes_end: 0,
            fork_at: 0,
            tag: (0, 0),
            call_id: (0, 0),
        }
    }
}

/// Which part we play in the message that a leg is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// We got this request: From is theirs.
    Server,
    /// We got this response to our request: To is theirs.
    Client,
}

impl Leg {
    /// A leg in `realm` that an INVITE with this CSeq left on; no dialog yet.
    pub fn new(realm: RealmId, cseq: u32) -> Self {
        Self { realm, local_cseq: cseq, invite_cseq: cseq, ..Self::default() }
    }

    /// Forgets the dialog, keeps the buffer of a usual one.
    pub fn clear(&mut self) {
        let mut text = core::mem::take(&mut self.text);
        text.clear();
        if text.capacity() > TEXT_KEPT_MAX {
            text = Vec::new();
        }
        *self = Self { text, ..Self::default() };
    }

    /// Whether a dialog is there.
    pub const fn stands(&self) -> bool {
        self.call_id.1 != 0
    }

    /// The Request-URI of requests on the leg.
    pub fn target(&self) -> &[u8] {
        &self.text[..usize::from(self.target_end)]
    }

    /// Route, From, To and Call-ID of requests on the leg.
    pub fn block(&self) -> &[u8] {
        &self.text[usize::from(self.target_end)..]
    }

    /// The routes of requests on the leg, as a Route value; empty when there are none.
    pub fn routes(&self) -> &[u8] {
        let line = &self.text[usize::from(self.target_end)..usize::from(self.routes_end)];
        line.strip_prefix(b"Route: ").unwrap_or_default().trim_ascii_end()
    }

    /// Our own tag.
    pub fn our_tag(&self) -> &[u8] {
        let end = usize::from(self.fork_at) + 1;
        self.text.get(end.saturating_sub(TAG_BYTES)..end).unwrap_or_default()
    }

    /// The far end's tag.
    pub fn tag(&self) -> &[u8] {
        self.span(self.tag)
    }

    /// The dialog's Call-ID.
    pub fn call_id(&self) -> &[u8] {
        self.span(self.call_id)
    }

    /// From and To as requests on the leg carry them.
    pub fn parties(&self) -> (&[u8], &[u8]) {
        let head = &self.text[usize::from(self.routes_end)..];
        let mut lines = head.split(|&b| b == b'\n').map(|line| line.trim_ascii_end());
        let from = lines.next().and_then(|line| line.strip_prefix(b"From: ")).unwrap_or(b"");
        let to = lines.next().and_then(|line| line.strip_prefix(b"To: ")).unwrap_or(b"");
        (from, to)
    }

    fn span(&self, span: Span) -> &[u8] {
        self.text.get(usize::from(span.0)..usize::from(span.1)).unwrap_or_default()
    }

    /// Whether `message` belongs to this dialog, seen from us.
    pub fn owns(&self, message: &Message<'_>, theirs: Option<&[u8]>) -> bool {
        self.call_id() == message.call_id() && self.tag() == theirs.unwrap_or(b"")
    }

    /// Writes the dialog down. `ours` is our tag with its fork digit last.
    ///
    /// Returns `false` when the message names no place to send requests to; the dialog is there
    /// all the same and its requests go to the far end's own URI.
    pub fn establish(&mut self, message: &Message<'_>, part: Part, ours: &[u8; TAG_BYTES]) {
        self.text.clear();
        self.text.reserve_exact(text_bytes(message));
        let (mine, theirs) = match part {
            Part::Server => (Header::To, message.from()),
            Part::Client => (Header::From, message.to()),
        };
        let target = contact(message).or_else(|| target_of(&theirs)).unwrap_or(UNNAMED);
        self.write_target_and_routes(message, part, target);
        self.routes_end = offset(self.text.len());
        self.text.extend_from_slice(b"From: ");
        let value = message.header(mine).unwrap_or_default();
        let old = match part {
            Part::Server => message.to_tag(),
            Part::Client => message.from_tag(),
        };
        let at = self.text.len();
        write::retagged(&mut self.text, value, old, ours);
        let place = self.text[at..].windows(ours.len()).rposition(|text| text == ours);
        self.fork_at = offset(at + place.unwrap_or(0) + TAG_BYTES - 1);
        self.fork = machine::identity::fork_of(ours).unwrap_or(0);
        self.text.extend_from_slice(b"\r\nTo: ");
        self.write_theirs(message, part);
        self.text.extend_from_slice(b"\r\nCall-ID: ");
        let start = self.text.len();
        self.text.extend_from_slice(message.call_id());
        self.call_id = (offset(start), offset(self.text.len()));
        self.text.extend_from_slice(b"\r\n");
    }

    fn write_theirs(&mut self, message: &Message<'_>, part: Part) {
        let (header, tag) = match part {
            Part::Server => (Header::From, message.from_tag()),
            Part::Client => (Header::To, message.to_tag()),
        };
        let value = message.header(header).unwrap_or_default();
        let start = self.text.len();
        self.text.extend_from_slice(value);
        self.tag = match tag {
            Some(tag) => {
                let at = (tag.as_ptr() as usize).saturating_sub(value.as_ptr() as usize);
                (offset(start + at), offset(start + at + tag.len()))
            }
            None => (offset(start), offset(start)),
        };
    }

    /// The start of the text (RFC 3261 §12.1, §12.2.1.1): with a strict router in front the
    /// target goes last among the routes and the router becomes the Request-URI.
    fn write_target_and_routes(&mut self, message: &Message<'_>, part: Part, target: &[u8]) {
        let mut routes: Vec<&[u8]> = if message.has(Header::RecordRoute) {
            message.values(Header::RecordRoute).take(ROUTES_MAX).collect()
        } else {
            Vec::new()
        };
        if part == Part::Client {
            routes.reverse();
        }
        // A line may be there and name nobody: an empty list.
        let Some(&first) = routes.first() else {
            self.text.extend_from_slice(target);
            self.target_end = offset(self.text.len());
            return;
        };
        let first = NameAddr::parse(first).ok();
        let strict = first.filter(|route| route.parse_uri().is_ok_and(|uri| !uri.lr()));
        let bracketed = [b"<", target, b">"].concat();
        if let Some(router) = strict {
            self.text.extend_from_slice(router.uri);
            routes.remove(0);
            routes.push(&bracketed);
        } else {
            self.text.extend_from_slice(target);
        }
        self.target_end = offset(self.text.len());
        self.text.extend_from_slice(b"Route: ");
        for (n, route) in routes.iter().enumerate() {
            self.text.extend_from_slice(if n == 0 { b"" } else { b", " });
            self.text.extend_from_slice(route);
        }
        self.text.extend_from_slice(b"\r\n");
    }

    /// Turns our tag into that of another fork.
    pub fn set_fork(&mut self, fork: u8) {
        self.fork = fork;
        if let Some(digit) = self.text.get_mut(usize::from(self.fork_at)) {
            *digit = fork_digit(fork);
        }
    }

    /// Takes the Contact of a request or response as the new target (RFC 3261 §12.2.1.2).
    pub fn refresh(&mut self, message: &Message<'_>) {
        let Some(address) = first_address(message) else { return };
        if address.uri == self.target() || self.is_strict() || target_of(&address).is_none() {
            return;
        }
        debug_assert!(address.uri.len() <= size::DIALOG_BYTES_MAX, "it was let in");
        let old = usize::from(self.target_end);
        let shift = |at: u16| offset(usize::from(at).saturating_sub(old) + address.uri.len());
        self.routes_end = shift(self.routes_end);
        self.fork_at = shift(self.fork_at);
        self.tag = (shift(self.tag.0), shift(self.tag.1));
        self.call_id = (shift(self.call_id.0), shift(self.call_id.1));
        self.target_end = offset(address.uri.len());
        self.text.splice(..old, address.uri.iter().copied());
    }

    /// Whether the text begins with a strict router; then its target cannot be exchanged by
    /// exchanging the Request-URI.
    fn is_strict(&self) -> bool {
        let routes = &self.text[usize::from(self.target_end)..usize::from(self.routes_end)];
        !routes.is_empty() && memchr::memmem::find(routes, b";lr").is_none()
    }

    /// Where requests on the leg go: the first route or the target, if it names an address that
    /// one of the realm's listeners can reach; otherwise where the far end last sent from.
    ///
    /// On the access side always the latter: what a NAT shows is the only way back.
    pub fn set_remote(&mut self, realms: &Realms, seen: Flow) {
        self.flow = seen;
        self.seen = None;
        let realm = realms.row(self.realm);
        if realm.side == crate::realm::Side::Access || seen.transport.is_stream() {
            return;
        }
        let Some((transport, remote)) = self.next_address() else { return };
        if transport == seen.transport && remote == seen.remote {
            return;
        }
        if let Some(listener) = realms.listener_for(self.realm, transport, remote) {
            self.flow = listener.flow(remote);
            self.seen = (remote != seen.remote).then(|| Box::new(seen.remote));
        }
    }

    /// Where the far end sent from when the dialog began.
    pub fn seen(&self) -> SocketAddr {
        self.seen.as_deref().copied().unwrap_or(self.flow.remote)
    }

    /// Where the dialog's target and its first route point, if they name addresses.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        let target = Uri::parse(self.target()).ok();
        let target = target.and_then(|uri| uri_address(&uri));
        [target, self.next_address()].into_iter().flatten().map(|(_, remote)| remote)
    }

    /// The connection ended: the next request opens another, to where the dialog's route or
    /// target points, else to the same far end.
    pub fn reconnect(&mut self, realms: &Realms) {
        self.flow.conn = runtime::ConnId(0);
        let Some((transport, remote)) = self.next_address() else { return };
        if let Some(listener) = realms.listener_for(self.realm, transport, remote) {
            let seen = self.seen();
            self.flow = listener.flow(remote);
            self.seen = (remote != seen).then(|| Box::new(seen));
        }
    }

    fn next_address(&self) -> Option<(Transport, SocketAddr)> {
        let routes = &self.text[usize::from(self.target_end)..usize::from(self.routes_end)];
        if routes.is_empty() {
            return uri_address(&Uri::parse(self.target()).ok()?);
        }
        let first = sip::Items::new(routes.strip_prefix(b"Route: ")?).next()?;
        let first = NameAddr::parse(first.trim_ascii()).ok()?;
        uri_address(&first.parse_uri().ok()?)
    }
}

/// A place in the text. What a message may bring (`size::DIALOG_BYTES_MAX`) keeps the text far
/// below 65,535 octets, its target refreshed or not.
fn offset(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

/// Room for the text of a leg made from `message`, a few octets more than it takes:
/// it stands for as long as the call, so that doubling would waste half of it.
fn text_bytes(message: &Message<'_>) -> usize {
    const WORDS: usize = b"From: ;tag=\r\nTo: \r\nCall-ID: \r\n".len() + TAG_BYTES;
    let kept = [Header::Contact, Header::From, Header::To, Header::CallId];
    let values = kept.into_iter().filter_map(|header| message.header(header));
    let routes = message.lines_of(Header::RecordRoute).map(|line| line.value.len() + ROUTE_BYTES);
    // The sum is bounded by `size::DIALOG_BYTES_MAX`, with which messages are taken.
    WORDS + values.map(<[u8]>::len).sum::<usize>() + routes.sum::<usize>()
}

/// The URI that the first Contact names, if it can stand in a request line.
pub fn contact<'a>(message: &'a Message<'_>) -> Option<&'a [u8]> {
    target_of(&first_address(message)?)
}

fn first_address<'a>(message: &'a Message<'_>) -> Option<NameAddr<'a>> {
    let first = sip::Items::new(message.header(Header::Contact)?).next()?;
    NameAddr::parse(first).ok()
}

fn target_of<'a>(address: &NameAddr<'a>) -> Option<&'a [u8]> {
    address.parse_uri().is_ok().then_some(address.uri)
}

/// Transport and address of a URI whose host is an IP address.
pub fn uri_address(uri: &Uri<'_>) -> Option<(Transport, SocketAddr)> {
    let ip = write::address(uri.host)?;
    let transport = match uri.param(b"transport") {
        Some(word) if word.eq_ignore_ascii_case(b"tcp") => Transport::Tcp,
        Some(word) if word.eq_ignore_ascii_case(b"tls") => Transport::Tls,
        _ if uri.scheme == sip::Scheme::Sips => Transport::Tls,
        _ => Transport::Udp,
    };
    let default = if transport == Transport::Tls { 5061 } else { 5060 };
    Some((transport, SocketAddr::new(ip, uri.port.unwrap_or(default))))
}
