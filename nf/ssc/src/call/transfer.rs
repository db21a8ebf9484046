//! Call transfer across the controller (RFC 3515, RFC 3891, RFC 5589): a dialog named by one far
//! end is another dialog for the other, so names in Replaces and Refer-To change on the way.
//!
//! ```text
//!  Alice ── a1 · call 1 · b1 ── Bob        Alice → REFER Bob, Refer-To: Carol?Replaces=a2
//!  Alice ── a2 · call 2 · b2 ── Carol      Bob gets Replaces=b2, and Carol's INVITE has it
//! ```
//! An INVITE whose Replaces names a leg goes straight to that leg's far end. Names prove that
//! somebody has read them, no more, so that two rules keep calls with their owners:
//!
//! ```text
//! own dialog     named by who could send a request inside of it (`source.rs`)
//! other's dialog named by a realm that a Refer-To with its names has just gone to
//! ```

use super::Call;
use super::calls::Calls;
use super::source::objection;
use crate::refusal::Refusal;
use crate::{Arrived, Controller};
use machine::identity::{Side, Token, fork_of};
use machine::slots::Key;
use machine::{Duration, Time};
use runtime::{Flow, PortId};
use sip::view::Replaces;
use sip::{Header, Message, NameAddr, Uri, escaped, unescaped};
use sip_stack::leg::Leg;
use sip_stack::realm::{Listener, RealmId, Realms};
use sip_stack::route::Way;
use sip_stack::write::Set;

const REFER_TO: Set = Set::of(&[Header::ReferTo]);
const REPLACES: Set = Set::of(&[Header::Replaces]);

/// An INVITE with Replaces comes within this time of the Refer-To that named its dialog.
const HANDED_FOR: Duration = Duration::from_secs(180);

/// Replaces or Join without what they must have (RFC 3891 §3).
const BAD_NAMES: Refusal = Refusal::new(400, "Replaces or Join names no dialog");

/// The names of a leg were handed to a realm in a Refer-To.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Handed {
    /// Until when they may be used; `Time::ZERO` is never.
    until: Time,
    to: RealmId,
    side: Side,
}

/// What a request that transfers a call needs when it is written.
#[derive(Debug, Default)]
pub(crate) struct Transfer {
    /// Lines in place of those in `drop`.
    pub lines: Vec<u8>,
    /// Headers that `lines` takes the place of.
    pub drop: Set,
    /// Where an INVITE with Replaces goes.
    pub to: Option<Target>,
}

/// The far end of a leg.
#[derive(Debug)]
pub(crate) struct Target {
    /// Request-URI.
    pub target: Vec<u8>,
    /// Value of the Route header; empty for none.
    pub route: Vec<u8>,
}

/// A leg that Replaces names, and whether it named it by the other one.
struct Named<'a> {
    leg: &'a Leg,
    is_other: bool,
    is_early_only: bool,
}

impl Calls {
    /// The leg whose far end shall give up its dialog.
    ///
    /// Replaces is written for its receiver: to-tag is his. If that is our tag, the sender means
    /// his own dialog with us, and the receiver has the other leg's.
    fn replaced(&self, value: &[u8]) -> Option<Named<'_>> {
        let named = Replaces::parse(value).ok()?;
        let is_early_only = named.is_early_only;
        if let Some((_, call, side)) = self.call_by(named.to_tag) {
            let near = call.leg(side);
            let is_known = near.call_id() == named.call_id && near.tag() == named.from_tag;
            let far = match side {
                Side::A => fork_of(named.to_tag).and_then(|fork| call.fork(fork)),
                Side::B => Some(&call.a),
            };
            let leg = far.filter(|leg| is_known && leg.stands())?;
            return Some(Named { leg, is_other: true, is_early_only });
        }
        let (_, call, side) = self.call_by(named.from_tag)?;
        let leg = call.leg(side);
        let is_known = leg.call_id() == named.call_id && leg.tag() == named.to_tag;
        is_known.then_some(Named { leg, is_other: false, is_early_only })
    }

    /// The call that a tag of ours names.
    fn call_by(&self, tag: &[u8]) -> Option<(Key, &Call, Side)> {
        let (key, side) = self.call_of(&Token::read(tag)?)?;
        Some((key, self.table.at(key)?, side))
    }

    /// The Refer-To of a request that leaves to `realm` has the names of another leg.
    pub(crate) fn hand_names(&mut self, now: Time, message: &Message<'_>, realm: RealmId) {
        let Some(value) = message.header(Header::ReferTo).and_then(replaces_of) else { return };
        let Ok(named) = Replaces::parse(&value) else { return };
        let Some((key, _, side)) = self.call_by(named.to_tag) else { return };
        let is_known = self.replaced(&value).is_some();
        if let Some(call) = self.table.at_mut(key).filter(|_| is_known) {
            call.handed = Handed { until: now + HANDED_FOR, to: realm, side: side.other() };
        }
    }

    /// The way of an INVITE whose Replaces names one of our legs.
    pub(crate) fn way_to_replaced(&self, message: &Message<'_>) -> Option<Way> {
        let leg = self.replaced(message.header(Header::Replaces)?)?.leg;
        let (realm, flow): (RealmId, Flow) = (leg.realm, leg.flow);
        Some(Way { realm, flow, plan: None, binding: None, hop: None })
    }

    /// What changes in Replaces and Refer-To of a request that leaves by `port`.
    pub(crate) fn transfer(
        &self,
        message: &Message<'_>,
        port: PortId,
        realms: &Realms,
    ) -> Transfer {
        let mut transfer = Transfer::default();
        if let Some(named) = message.header(Header::Replaces).and_then(|v| self.replaced(v)) {
            if named.is_other {
                transfer.lines.extend_from_slice(b"Replaces: ");
                write_replaces(&mut transfer.lines, &named);
                transfer.lines.extend_from_slice(b"\r\n");
                transfer.drop = REPLACES;
            }
            let (target, route) = (named.leg.target().to_vec(), named.leg.routes().to_vec());
            transfer.to = Some(Target { target, route });
        }
        let refer_to = message.header(Header::ReferTo).zip(realms.listener(port));
        if let Some((value, listener)) = refer_to
            && let Some(line) = self.referred_to(value, listener, realms)
        {
            transfer.lines.extend_from_slice(&line);
            transfer.drop = transfer.drop.and(REFER_TO);
        }
        transfer
    }

    /// A Refer-To line for the far side of `listener`; `None` when it can stay as it is.
    fn referred_to(&self, value: &[u8], listener: &Listener, realms: &Realms) -> Option<Vec<u8>> {
        let address = NameAddr::parse(value).ok()?;
        let uri = address.parse_uri().ok()?;
        let is_ours = realms.is_ours(uri.host, uri.port);
        let named = replaces_in(&uri).and_then(|value| self.replaced(&value));
        let named = named.filter(|named| named.is_other);
        if !is_ours && named.is_none() {
            return None;
        }
        let mut line = b"Refer-To: ".to_vec();
        if !address.display.is_empty() {
            line.extend_from_slice(address.display);
            line.push(b' ');
        }
        line.push(b'<');
        write_target(&mut line, &uri, is_ours.then_some(listener));
        write_headers(&mut line, uri.headers, named.as_ref());
        line.push(b'>');
        line.extend_from_slice(address.params);
        line.extend_from_slice(b"\r\n");
        Some(line)
    }
}

impl Controller {
    /// Why a request may not name a dialog as it does in Replaces, Join or Refer-To.
    pub(crate) fn objects_to_named(&self, at: &Arrived<'_>) -> Option<Refusal> {
        let message = at.message;
        for header in [Header::Replaces, Header::Join] {
            if message.has(header) {
                let mut values = message.values(header);
                if let Some(refusal) = values.find_map(|it| self.objects_to_replaced(at, it)) {
                    return Some(refusal);
                }
            }
        }
        if !message.has(Header::ReferTo) {
            return None;
        }
        // A call transferred gives up one dialog; each name would be written out anew, too.
        let names_more = |value| {
            let uri = NameAddr::parse(value).ok().and_then(|it| it.parse_uri().ok());
            uri.is_some_and(|uri| uri.headers.split(|&b| b == b'&').filter(is_replaces).count() > 1)
        };
        if message.values(Header::ReferTo).any(names_more) {
            return Some(BAD_NAMES);
        }
        // Names of an own dialog are exchanged, so that the receiver could use them.
        let values = message.values(Header::ReferTo);
        values.filter_map(replaces_of).find_map(|value| {
            let (_, call, side) = self.calls.call_by(Replaces::parse(&value).ok()?.to_tag)?;
            objection(&self.border, at, call.leg(side), &self.registrar)
        })
    }

    fn objects_to_replaced(&self, at: &Arrived<'_>, value: &[u8]) -> Option<Refusal> {
        let Ok(named) = Replaces::parse(value) else {
            return Some(BAD_NAMES);
        };
        if [named.to_tag, named.from_tag].iter().any(|tag| tag.starts_with(b"\"")) {
            return Some(BAD_NAMES); // tags are tokens; a lenient receiver would unquote them
        }
        if let Some((_, call, side)) = self.calls.call_by(named.to_tag) {
            return objection(&self.border, at, call.leg(side), &self.registrar);
        }
        // Steering follows our tags: what names another shard's call has come to the wrong one.
        let names = Token::read(named.to_tag).or_else(|| Token::read(named.from_tag));
        if names.is_some_and(|it| it.shard != self.shard && it.shard < self.config.shards) {
            return Some(Refusal::NO_DIALOG);
        }
        let (_, call, side) = self.calls.call_by(named.from_tag)?;
        let Handed { until, to, side: handed } = call.handed;
        let may = at.now < until && to == at.realm && handed == side;
        (!may).then_some(Refusal::NOT_HANDED)
    }
}

/// Replaces with its `=`, as a header of a URI begins.
const REPLACES_IS: &[u8] = b"Replaces=";

/// Whether a header of a URI is Replaces.
fn is_replaces(header: &&[u8]) -> bool {
    let name = header.get(..REPLACES_IS.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(REPLACES_IS))
}

/// What Replaces says among the headers of a URI.
fn replaces_in(uri: &Uri<'_>) -> Option<Vec<u8>> {
    let header = uri.headers.split(|&b| b == b'&').find(is_replaces)?;
    Some(unescaped(&header[REPLACES_IS.len()..]))
}

/// What Replaces says in a Refer-To.
fn replaces_of(refer_to: &[u8]) -> Option<Vec<u8>> {
    replaces_in(&NameAddr::parse(refer_to).ok()?.parse_uri().ok()?)
}

/// The URI without its headers; one that names us gets the listener on that side.
fn write_target(out: &mut Vec<u8>, uri: &Uri<'_>, listener: Option<&Listener>) {
    let Some(listener) = listener else {
        let end = memchr::memchr(b'?', uri.raw).unwrap_or(uri.raw.len());
        return out.extend_from_slice(&uri.raw[..end]);
    };
    out.extend_from_slice(b"sip:");
    if let Some(user) = uri.user {
        out.extend_from_slice(user);
        out.push(b'@');
    }
    out.extend_from_slice(&listener.uri_host);
    sip::Params::new(uri.params).write_without(out, b"transport");
}

/// The headers of a URI, the first Replaces with the names of the leg.
fn write_headers(out: &mut Vec<u8>, headers: &[u8], mut named: Option<&Named<'_>>) {
    if headers.is_empty() {
        return;
    }
    for (n, header) in headers.split(|&b| b == b'&').enumerate() {
        out.push(if n == 0 { b'?' } else { b'&' });
        match if is_replaces(&header) { named.take() } else { None } {
            Some(named) => {
                let mut value = Vec::new();
                write_replaces(&mut value, named);
                out.extend_from_slice(REPLACES_IS);
                escaped(out, &value);
            }
            None => out.extend_from_slice(header),
        }
    }
}

/// The dialog of a leg, named for its far end.
fn write_replaces(out: &mut Vec<u8>, named: &Named<'_>) {
    out.extend_from_slice(named.leg.call_id());
    out.extend_from_slice(b";to-tag=");
    out.extend_from_slice(named.leg.tag());
    out.extend_from_slice(b";from-tag=");
    out.extend_from_slice(named.leg.our_tag());
    if named.is_early_only {
        out.extend_from_slice(b";early-only");
    }
}
