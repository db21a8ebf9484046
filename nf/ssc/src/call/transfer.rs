//! Call transfer across the controller (RFC 3515, RFC 3891, RFC 5589): a dialog named by one far
//! end is another dialog for the other, so names in Replaces and Refer-To change on the way.
//!
//! ```text
//!  Alice ── a1 · call 1 · b1 ── Bob        Alice → REFER Bob, Refer-To: Carol?Replaces=a2
//!  Alice ── a2 · call 2 · b2 ── Carol      Bob gets Replaces=b2, and Carol's INVITE has it
//! ```
//! An INVITE whose Replaces names a leg goes straight to that leg's far end.

use super::leg::Leg;
use crate::Controller;
use crate::realm::{Door, RealmId};
use crate::route::Way;
use crate::token::{Side, Token, fork_of};
use crate::write::Set;
use runtime::{Flow, PortId};
use sip::view::Replaces;
use sip::{Header, Message, NameAddr, Uri, escaped, unescaped};

const REFER_TO: Set = Set::of(&[Header::ReferTo]);
const REPLACES: Set = Set::of(&[Header::Replaces]);

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

impl Controller {
    /// The leg whose far end shall give up its dialog.
    ///
    /// Replaces is written for its receiver: to-tag is his. If that is our tag, the sender means
    /// his own dialog with us, and the receiver has the other leg's.
    fn replaced(&self, value: &[u8]) -> Option<Named<'_>> {
        let named = Replaces::parse(value).ok()?;
        let is_early_only = named.is_early_only;
        let call_by = |tag| {
            let (key, side) = self.call_of(&Token::read(tag)?)?;
            Some((self.calls.at(key)?, side))
        };
        if let Some((call, side)) = call_by(named.to_tag) {
            let near = call.leg(side);
            let is_known = near.call_id() == named.call_id && near.tag() == named.from_tag;
            let far = match side {
                Side::A => fork_of(named.to_tag).and_then(|fork| call.fork(fork)),
                Side::B => Some(&call.a),
            };
            let leg = far.filter(|leg| is_known && leg.stands())?;
            return Some(Named { leg, is_other: true, is_early_only });
        }
        let (call, side) = call_by(named.from_tag)?;
        let leg = call.leg(side);
        let is_known = leg.call_id() == named.call_id && leg.tag() == named.to_tag;
        is_known.then_some(Named { leg, is_other: false, is_early_only })
    }

    /// The way of an INVITE whose Replaces names one of our legs.
    pub(crate) fn way_to_replaced(&self, message: &Message<'_>) -> Option<Way> {
        let leg = self.replaced(message.header(Header::Replaces)?)?.leg;
        let (realm, flow): (RealmId, Flow) = (leg.realm, leg.flow);
        Some(Way { realm, flow, plan: None, binding: None, hop: None })
    }

    /// What changes in Replaces and Refer-To of a request that leaves by `port`.
    pub(crate) fn transfer(&self, message: &Message<'_>, port: PortId) -> Transfer {
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
        let refer_to = message.header(Header::ReferTo).zip(self.realms.door(port));
        if let Some((value, door)) = refer_to
            && let Some(line) = self.referred_to(value, door)
        {
            transfer.lines.extend_from_slice(&line);
            transfer.drop = transfer.drop.and(REFER_TO);
        }
        transfer
    }

    /// A Refer-To line for the far side of `door`; `None` when it can stay as it is.
    fn referred_to(&self, value: &[u8], door: &Door) -> Option<Vec<u8>> {
        let address = NameAddr::parse(value).ok()?;
        let uri = address.parse_uri().ok()?;
        let is_ours = self.realms.is_ours(uri.host, uri.port);
        let replaces = uri.headers.split(|&b| b == b'&').find_map(|header| {
            let at = memchr::memchr(b'=', header)?;
            let is_it = header[..at].eq_ignore_ascii_case(b"Replaces");
            is_it.then(|| unescaped(&header[at + 1..]))
        });
        let named = replaces.as_deref().and_then(|value| self.replaced(value));
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
        write_target(&mut line, &uri, is_ours.then_some(door));
        write_headers(&mut line, uri.headers, named.as_ref());
        line.push(b'>');
        line.extend_from_slice(address.params);
        line.extend_from_slice(b"\r\n");
        Some(line)
    }
}

/// The URI without its headers; one that names us gets the door on that side.
fn write_target(out: &mut Vec<u8>, uri: &Uri<'_>, door: Option<&Door>) {
    let Some(door) = door else {
        let end = memchr::memchr(b'?', uri.raw).unwrap_or(uri.raw.len());
        return out.extend_from_slice(&uri.raw[..end]);
    };
    out.extend_from_slice(b"sip:");
    if let Some(user) = uri.user {
        out.extend_from_slice(user);
        out.push(b'@');
    }
    out.extend_from_slice(&door.uri_host);
    sip::Params::new(uri.params).write_without(out, b"transport");
}

/// The headers of a URI, Replaces with the names of the leg.
fn write_headers(out: &mut Vec<u8>, headers: &[u8], named: Option<&Named<'_>>) {
    if headers.is_empty() {
        return;
    }
    for (n, header) in headers.split(|&b| b == b'&').enumerate() {
        out.push(if n == 0 { b'?' } else { b'&' });
        let is_replaces = header.len() > 9 && header[..9].eq_ignore_ascii_case(b"Replaces=");
        match named.filter(|_| is_replaces) {
            Some(named) => {
                let mut value = Vec::new();
                write_replaces(&mut value, named);
                out.extend_from_slice(b"Replaces=");
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
