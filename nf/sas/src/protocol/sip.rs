//! SIP (RFC 3261) as a row: legs are Call-IDs, the first request says what the trail is about, the
//! answers to it how it went.

use super::dialogue::words::Talk;
use super::{Row, Signal, Taken, Then};
use crate::config::Keep;
use crate::keys;
use crate::line::Line;
use crate::live::{Live, Phase, text};
use crate::redact;
use crate::trail::{Kind, Outcome, printable};
use sip::{Header, Message, Method};

/// Asserted identities of one message: a `sip:` and a `tel:` URI (RFC 3325 §9.1).
const IDENTITIES_MAX: usize = 2;

/// Octets of what an agent calls itself.
const LABEL_BYTES_MAX: usize = 80;

pub(super) const ROW: Row = Row { kind: hep::KIND_SIP, take, describe };

fn take(payload: &[u8], keep: &[Keep], then: &mut Then<'_>) {
    let mut room = None;
    let is_malformed = match Message::parse_in(&mut room, payload) {
        Ok(message) if !redact::concerns(message, keep) => {
            let signal: Option<&dyn Signal> = Some(message);
            return then(Taken {
                payload,
                signal,
                is_redacted: false,
                is_malformed: false,
                is_carried: false,
            });
        }
        read => read.is_err(),
    };
    if is_malformed && keep.len() == Keep::ALL.len() {
        return then(Taken {
            payload,
            signal: None,
            is_redacted: false,
            is_malformed,
            is_carried: false,
        });
    }
    let clean = redact::redacted(payload, keep);
    let mut room = None;
    let message = Message::parse_in(&mut room, &clean).ok();
    then(Taken {
        payload: &clean,
        signal: message.map(|message| -> &dyn Signal { message }),
        is_redacted: !is_malformed,
        is_malformed,
        is_carried: false,
    });
}

fn describe(payload: &[u8], _talk: &mut Talk) -> Line {
    let Ok(message) = Message::parse(payload) else { return Line::default() };
    let (method, answer) = match message.start() {
        sip::Start::Request { name, .. } => (Some(printable(name)), None),
        sip::Start::Response { status, reason } => (None, Some((status, printable(reason)))),
    };
    let cseq = message.cseq();
    let sdp = |media: &[u8]| media.to_ascii_lowercase().starts_with(b"application/sdp");
    let agent = message.header(Header::UserAgent).or(message.header(Header::Server));
    Line {
        leg: Some(printable(message.call_id())),
        method,
        answer,
        cseq: Some((cseq.number, printable(cseq.name))),
        has_sdp: message.header(Header::ContentType).is_some_and(sdp)
            || message.body().starts_with(b"v=0"),
        agent: agent.map(|agent| printable(&agent[..agent.len().min(LABEL_BYTES_MAX)])),
        ..Line::default()
    }
}

impl Signal for Message<'_> {
    fn leg(&self) -> Option<&[u8]> {
        Some(self.call_id())
    }

    fn joins(&self, each: &mut dyn FnMut(&[u8])) {
        each(self.call_id());
    }

    /// `X-CID`, the first part of `Session-ID` (RFC 7989), the `icid-value` of P-Charging-Vector
    /// (RFC 7315 §4.6).
    fn marks(&self, each: &mut dyn FnMut(&[u8])) {
        for name in [&b"X-CID"[..], b"X-Call-ID"] {
            let values = self.named(name).map(<[u8]>::trim_ascii);
            values.filter(|value| !value.is_empty()).for_each(&mut *each);
        }
        if let Some(value) = self.header(Header::SessionId) {
            let local = value.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
            // The nil UUID stands for "not known yet" (RFC 7989 §5).
            if local.iter().any(|&b| b != b'0') {
                each(local);
            }
        }
        if let Some(value) = self.header(Header::PChargingVector) {
            let icid = value.split(|&b| b == b';').map(<[u8]>::trim_ascii);
            let icid = icid.filter_map(|part| part.strip_prefix(b"icid-value=")).next();
            if let Some(icid) = icid.map(|v| v.trim_ascii()) {
                let bare = icid.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\""));
                each(bare.unwrap_or(icid));
            }
        }
    }

    /// Transactions repeat their messages for 64 T1 (RFC 3261 §17).
    fn begins(&self) -> bool {
        self.is_request()
            && self.to_tag().is_none()
            && !matches!(self.method(), Method::Ack | Method::Cancel)
    }

    fn observe(&self, live: &mut Live, at_us: u64, leg: usize) {
        live.sip.media_places.learn(leg, self);
        if self.is_request() {
            request(live, at_us, leg, self);
        } else if leg == 0 {
            response(live, at_us, self);
        }
        if self.has(Header::PAssertedIdentity) {
            for value in self.values(Header::PAssertedIdentity).take(IDENTITIES_MAX) {
                if let Ok(address) = sip::NameAddr::parse(value) {
                    keys::add_uri(&mut live.keys, address.uri);
                }
            }
        }
    }
}

fn request(live: &mut Live, at_us: u64, leg: usize, message: &Message<'_>) {
    let method = message.method();
    let is_initial = message.to_tag().is_none();
    if !live.sip.has_request {
        begin(live, message);
    }
    if is_initial && method != Method::Cancel && method != Method::Ack {
        find_by(live, message);
        if leg == 0 && method == live.trail.method {
            live.sip.cseq = Some(message.cseq().number);
            if live.phase == Phase::Over && matches!(live.trail.status, 401 | 407) {
                live.phase = Phase::Early;
                live.trail.outcome = Outcome::InProgress;
                live.trail.ended_us = 0;
            }
        }
    }
    match method {
        Method::Cancel if leg == 0 => live.sip.is_cancelled = true,
        Method::Bye if live.trail.ended_us == 0 => {
            live.trail.ended_us = at_us;
            if live.trail.method != Method::Bye {
                live.phase = Phase::Over;
            }
        }
        Method::Register => live.sip.is_deregistration = is_deregistration(message),
        _ => {}
    }
}

/// The first request says what the trail is about.
fn begin(live: &mut Live, message: &Message<'_>) {
    live.sip.has_request = true;
    let method = message.method();
    live.trail.method = method;
    live.trail.kind = match method {
        Method::Register => Kind::Registration,
        Method::Subscribe | Method::Notify | Method::Publish => Kind::Subscription,
        Method::Message => Kind::Message,
        Method::Options => Kind::Options,
        Method::Other => Kind::Other,
        Method::Info | Method::Refer if message.to_tag().is_none() => Kind::Other,
        _ => Kind::Call,
    };
    live.sip.cseq = Some(message.cseq().number);
    live.trail.from = text(message.from().uri);
    live.trail.to = text(message.to().uri);
    find_by(live, message);
}

/// Adds what an initial request can be found by.
fn find_by(live: &mut Live, message: &Message<'_>) {
    keys::add_uri(&mut live.keys, message.from().uri);
    keys::add_uri(&mut live.keys, message.to().uri);
    if let Some(uri) = message.request_uri() {
        keys::add_uri(&mut live.keys, uri);
    }
}

fn response(live: &mut Live, at_us: u64, message: &Message<'_>) {
    let (Some(status), cseq) = (message.status(), message.cseq()) else { return };
    if !live.sip.has_request {
        // The trail begins with an answer: its request was not captured.
        live.sip.has_request = true;
        live.trail.method = cseq.method;
        live.trail.kind = if cseq.method == Method::Invite { Kind::Call } else { Kind::Other };
        live.trail.from = text(message.from().uri);
        live.trail.to = text(message.to().uri);
        find_by(live, message);
    }
    let decides = cseq.method == live.trail.method
        && live.sip.cseq.is_none_or(|number| number == cseq.number)
        && live.phase == Phase::Early;
    if !decides {
        return;
    }
    match status {
        180 | 183 if live.trail.rang_us == 0 => live.trail.rang_us = at_us,
        100..200 => {}
        _ => finish(live, at_us, status),
    }
}

fn finish(live: &mut Live, at_us: u64, status: u16) {
    live.trail.status = status;
    let success = (200..300).contains(&status);
    live.trail.outcome = match (live.trail.kind, status) {
        (Kind::Call, 200..300) if live.trail.method == Method::Invite => Outcome::Answered,
        (Kind::Registration, 200..300) if live.sip.is_deregistration => Outcome::Deregistered,
        (Kind::Registration, 200..300) => Outcome::Registered,
        (_, 200..300) => Outcome::Ok,
        (_, 300..400) => Outcome::Redirected,
        (_, 487) if live.sip.is_cancelled => Outcome::Cancelled,
        (_, 408 | 480 | 487) => Outcome::NoAnswer,
        (_, 486 | 600) => Outcome::Busy,
        (_, 500..600) => Outcome::Failed,
        _ => Outcome::Rejected,
    };
    if success && live.trail.outcome == Outcome::Answered {
        live.trail.answered_us = at_us;
        live.phase = Phase::Answered;
    } else {
        live.trail.ended_us = at_us;
        live.phase = Phase::Over;
    }
}

/// Whether a REGISTER takes bindings away (RFC 3261 §10.2.2).
fn is_deregistration(message: &Message<'_>) -> bool {
    let zero = |value: &[u8]| value.trim_ascii() == b"0";
    let contacts_go = message.header(Header::Contact).is_some_and(|contact| {
        contact.trim_ascii() == b"*"
            || sip::NameAddr::parse(contact).is_ok_and(|c| c.param(b"expires").is_some_and(zero))
    });
    contacts_go || message.header(Header::Expires).is_some_and(zero)
}
