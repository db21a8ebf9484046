//! Descriptions of sessions as they cross a call: passed as they are where neither realm wants its
//! media anchored, else what the client of the media controllers ([`media_stack`]) makes of them.

use crate::Arrived;
use crate::call::calls::Calls;
use crate::config::{MEDIA_PORT, Ssc};
use crate::metrics::Metric;
use crate::refusal::Refusal;
use event::Metrics;
use machine::identity::Side;
use machine::slots::Key;
use media_stack::{Client, Crossing, Part, Refused, Settings, Verdict};
use sip::{Header, Message, Method};
use sip_stack::realm::RealmId;
use sip_stack::write::{self, Set};

/// The call and the leg that a message came on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub call: Key,
    pub from: Side,
    /// The dialog, of several forks.
    pub fork: u8,
    /// Where the call goes to, where its asked leg does not say yet.
    pub to: Option<RealmId>,
}

/// The side as media know it.
pub(crate) const fn side(side: Side) -> anchor::Side {
    match side {
        Side::A => anchor::Side::A,
        Side::B => anchor::Side::B,
    }
}

/// What the client of media controllers takes of the section.
pub(crate) fn settings(config: &Ssc) -> Settings {
    let realms = config.realm.iter();
    Settings {
        name: config.name.clone(),
        media: config.media.clone(),
        realms: realms.map(|realm| (realm.name.clone(), realm.media.clone())).collect(),
        first_port: MEDIA_PORT,
        calls_max: config.limits.calls_max,
    }
}

/// What a message carries a description for; `None`: for nothing that is agreed on.
fn part(message: &Message<'_>) -> Option<Part> {
    let is_reliable = || message.has(Header::RSeq);
    match (message.method(), message.status()) {
        (Method::Invite, None) => Some(Part::Invite),
        (Method::Invite, Some(..200)) => Some(Part::Provisional { is_reliable: is_reliable() }),
        (Method::Invite, Some(200..300)) => Some(Part::Final),
        (Method::Ack, None) => Some(Part::Ack),
        (Method::Update, None) => Some(Part::Update),
        (Method::Prack, None) => Some(Part::Prack),
        (Method::Update | Method::Prack, Some(200..300)) => Some(Part::Accepted),
        _ => None,
    }
}

/// Looks at the description in a message, if it has one, and says what becomes of its body.
///
/// # Errors
/// It is not taken, and nothing has changed.
#[inline]
pub(crate) fn describe(
    client: &mut Client,
    calls: &mut Calls,
    metrics: &Metrics<Metric>,
    at: &Arrived<'_>,
    place: Place,
) -> Result<Verdict, Refused> {
    if !at.message.body().is_empty() {
        let kind = at.message.header(Header::ContentType).unwrap_or_default();
        if kind.len() >= 15 && kind[..15].eq_ignore_ascii_case(b"application/sdp") {
            metrics.add(Metric::Descriptions, 1);
        }
    }
    if client.is_unused() {
        return Ok(Verdict::Same);
    }
    anchored(client, calls, at, place)
}

#[inline(never)]
fn anchored(
    client: &mut Client,
    calls: &mut Calls,
    at: &Arrived<'_>,
    place: Place,
) -> Result<Verdict, Refused> {
    let message = at.message;
    if message.status().is_some_and(|status| status >= 300) {
        return Ok(refused(client, calls, message, place));
    }
    let (Some(part), Some(call)) = (part(message), calls.table.at(place.call)) else {
        return Ok(Verdict::Same);
    };
    let realms = [call.a.realm.0, place.to.unwrap_or(call.b.realm).0];
    let mut media = call.media.key;
    if media.is_none() && (message.body().is_empty() || !client.anchors(realms)) {
        return Ok(Verdict::Same);
    }
    let encoding = message.header(Header::ContentEncoding);
    if encoding.is_some_and(|it| !it.eq_ignore_ascii_case(b"identity")) {
        return Err(Refused { status: 415, words: "the body is encoded" });
    }
    let crossing = Crossing {
        part,
        from: side(place.from),
        fork: place.fork,
        source: at.flow.remote.ip(),
        realms,
        trace: (call.trail(), call.a.call_id()),
        content_type: message.header(Header::ContentType).unwrap_or_default(),
        body: message.body(),
    };
    let verdict = client.cross(at.now, place.call, &mut media, &crossing);
    if let Some(call) = calls.table.at_mut(place.call) {
        call.media.key = media;
    }
    verdict
}

/// Nothing of an anchored call's media is told by who refuses.
fn refused(client: &Client, calls: &Calls, message: &Message<'_>, place: Place) -> Verdict {
    let Some(call) = calls.table.at(place.call) else { return Verdict::Same };
    let realms = [call.a.realm.0, place.to.unwrap_or(call.b.realm).0];
    let is_anchored = call.media.key.is_some() || client.anchors(realms);
    let kind = message.header(Header::ContentType).unwrap_or_default();
    let is_told = is_anchored && media_stack::body::has_any(kind, message.body());
    if is_told { Verdict::Without } else { Verdict::Same }
}

const LENGTH: Set = Set::of(&[Header::ContentLength]);
const BODY: Set = Set::of(&[
    Header::ContentLength,
    Header::ContentType,
    Header::ContentDisposition,
    Header::ContentLanguage,
]);

/// The headers that a message loses with its body, or with that another one takes its place.
pub(crate) const fn lost(verdict: Verdict) -> Set {
    match verdict {
        Verdict::Same => Set::of(&[]),
        Verdict::Without => BODY,
        Verdict::Instead => LENGTH,
    }
}

/// Ends a message with its body, or with what takes its place.
#[inline]
pub(crate) fn write_body(
    out: &mut Vec<u8>,
    message: &Message<'_>,
    verdict: Verdict,
    client: &Client,
) {
    match verdict {
        Verdict::Same => write::body(out, message),
        Verdict::Without => write::no_body(out),
        Verdict::Instead => {
            write::content_length(out, client.body().len());
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(client.body());
        }
    }
}

/// The refusal of a request whose description was not taken. Inside of a call what lacks room is no
/// reason to leave the next hop alone: 500 with Retry-After.
pub(crate) fn refusal(refused: Refused, is_inside: bool) -> Refusal {
    let Refused { status, words } = refused;
    if is_inside && status == 503 {
        return Refusal { retry_after_s: Some(2), ..Refusal::new(500, words) };
    }
    let retry_after_s = (status == 500).then_some(2);
    Refusal { retry_after_s, is_of_media: true, ..Refusal::new(status, words) }
}
