//! Requests that the controller itself refuses, and messages that it cannot read.

use crate::egress::{Egress, Event, Field};
use crate::metrics::Metric;
use crate::{Arrived, User};
use admission::{Excess, OverloadControl};
use machine::Time;
use machine::identity::hex;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore;
use runtime::{Effects, Flow};
use sip::{Header, Malformed, Message, Method};
use sip_stack::upstream::upstream;
use sip_stack::write;
pub(crate) use sip_stack::write::status_line;
use transaction::{Kept, ServerId, Transactions};

/// The request that is answered: its transaction, if it has one, and its trail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub server: Option<ServerId>,
    pub trail: u64,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Status of the response.
    pub status: u16,
    /// What the service assurance is told.
    pub why: &'static str,
    /// Min-Expires of a 423, seconds.
    pub min_expires_s: Option<u32>,
    /// The limit that it exceeds.
    pub excess: Option<Excess>,
    /// Retry-After of a 503, if not that of all, or of another status.
    pub retry_after_s: Option<u32>,
    /// Whether `why` is said in a Warning: it is about the session description.
    pub is_of_media: bool,
}

impl Refusal {
    /// A limit is reached.
    pub const OVERLOAD: Self = Self::new(503, "a limit is reached");
    /// The site drains.
    pub const DRAINING: Self = Self::new(503, "the site drains");
    /// The other node of the pair lacks too much, and the section says `refuse_while_behind`.
    pub const BEHIND: Self = Self::new(503, "the other node of the pair is too far behind");
    /// Every target is down.
    pub const NO_TARGET: Self = Self::new(503, "every target of the route is down");
    /// The next hops asked for fewer requests (RFC 7339 §5.10.2: without Retry-After).
    pub const WITHHELD: Self = Self::new(503, "the next hops ask for fewer requests");
    /// The dialog is not known.
    pub const NO_DIALOG: Self = Self::new(481, "no such dialog");
    /// The dialog is one of another realm: there is none by that name in this one.
    pub const OTHER_REALM: Self = Self::new(481, "the dialog is one of another realm");
    /// The dialog's far end does not send from there (`in_dialog_source`).
    pub const ELSEWHERE: Self = Self::new(403, "the dialog's far end does not send from there");
    /// Replaces or Join names a dialog of others, whose names were not handed to that realm in a
    /// Refer-To lately.
    pub const NOT_HANDED: Self = Self::new(403, "the dialog to be replaced is one of others");
    /// `sips:` came over a hop that is not TLS (RFC 3261 §26.2.2).
    pub const INSECURE: Self = Self::new(403, "sips: came over a hop that is not TLS");
    /// A `sips:` contact is registered over a hop that is not TLS (RFC 3261 §26.2.2, RFC 5630).
    pub const INSECURE_CONTACT: Self =
        Self::new(403, "a sips: contact is registered over a hop that is not TLS");
    /// `sips:` can be taken on by no TLS hop (RFC 5630 §5.3).
    pub const NO_SIPS: Self = Self::new(480, "sips: leads to no TLS hop");
    /// It came round.
    pub const LOOP: Self = Self::new(482, "the request came back unchanged");

    /// It came already, by another way.
    pub const MERGED: Self = Self::new(482, "the request came already, by another way");

    /// A refusal with this status.
    pub const fn new(status: u16, why: &'static str) -> Self {
        Self {
            status,
            why,
            min_expires_s: None,
            excess: None,
            retry_after_s: None,
            is_of_media: false,
        }
    }
}

impl Refusal {
    /// What counts it.
    pub fn metric(self) -> Metric {
        match self {
            Self::BEHIND => Metric::Behind,
            Self::OTHER_REALM => Metric::DialogsOtherRealm,
            Self::ELSEWHERE => Metric::DialogsElsewhere,
            Self::NOT_HANDED => Metric::ReplacesRefused,
            Self { is_of_media: true, .. } => Metric::MediaRefused,
            Self { status: 482 | 483, .. } => Metric::Loops,
            Self { status: 404, .. } => Metric::NoRoute,
            Self { status: 503, .. } => Metric::Overload,
            _ => Metric::Refused,
        }
    }

    /// What the sender is told beside the status (RFC 3261 §20.43).
    fn warning(self) -> Option<&'static [u8]> {
        match self {
            Self::NO_SIPS => Some(b"380 tandem \"SIPS Not Allowed\""),
            Self::ELSEWHERE => {
                Some(b"399 tandem \"The dialog's far end does not send from there\"")
            }
            _ => None,
        }
    }
}

/// What an answer of our own takes.
pub(crate) struct Replies<'a> {
    pub(crate) transactions: &'a mut Transactions<Flow, User>,
    pub(crate) egress: &'a mut Egress,
    pub(crate) overload: &'a mut OverloadControl,
    pub(crate) random: &'a mut ChaCha12Rng,
    /// Retry-After of a 503 that says none of its own.
    pub(crate) retry_after_s: u32,
}

impl Replies<'_> {
    /// Answers a request itself. Without a transaction the answer is stateless.
    pub(crate) fn refuse(
        &mut self,
        at: &Arrived<'_>,
        server: Option<ServerId>,
        refusal: Refusal,
        out: &mut Effects,
    ) {
        let trail = self.random.next_u64();
        self.egress.received(at.now, &at.flow, Some(trail), at.raw);
        if at.message.method() == Method::Ack || !at.message.is_request() {
            return;
        }
        let metric = refusal.metric();
        if metric != Metric::Refused {
            self.egress.metrics.add(Metric::Refused, 1);
        }
        self.egress.metrics.add(metric, 1);
        let limit = refusal.excess.map_or("", |excess| self.overload.limits.name(&excess));
        let fields = [
            ("status", Field::Number(refusal.status.into())),
            ("text", Field::Text(refusal.why.as_bytes())),
            ("method", Field::Text(at.message.cseq().name)),
            ("from", Field::Text(at.message.from().uri)),
            ("to", Field::Text(at.message.to().uri)),
            ("limit", Field::Text(limit.as_bytes())),
        ];
        let count = fields.len() - usize::from(limit.is_empty());
        self.egress.event(at.now, &at.flow, trail, Event::RequestRejected, &fields[..count]);
        let retry_after_s = refusal.retry_after_s.unwrap_or(self.retry_after_s);
        self.reply(at, Answered { server, trail }, refusal.status, out, |head| {
            let is_later = refusal.status == 503 && refusal != Refusal::WITHHELD;
            if is_later || refusal.status == 500 && refusal.retry_after_s.is_some() {
                write::line(head, "Retry-After", retry_after_s.to_string().as_bytes());
            }
            if let Some(seconds) = refusal.min_expires_s {
                write::line(head, "Min-Expires", seconds.to_string().as_bytes());
            }
            if let Some(warning) = refusal.warning() {
                write::line(head, "Warning", warning);
            }
            if refusal.is_of_media {
                // RFC 3261 §20.43: 399 is any other warning, 304 media that are not available.
                let code = if refusal.status == 488 { 304 } else { 399 };
                let text = format!("{code} tandem \"{}\"", refusal.why);
                write::line(head, "Warning", text.as_bytes());
            }
            if refusal.status == 420 {
                unsupported(head, at.message);
            }
        });
    }

    /// Answers a request with a response of our own: head, what `more` adds, no body.
    pub(crate) fn reply(
        &mut self,
        at: &Arrived<'_>,
        answered: Answered,
        status: u16,
        out: &mut Effects,
        more: impl FnOnce(&mut Vec<u8>),
    ) {
        let Answered { server, trail } = answered;
        let tag = hex(self.random.next_u64());
        let to = upstream(&at.flow, at.message);
        let oc = self.overload.feedback.answer(at.now, &at.message.via());
        // What can be made again from the request, where rules leave it as it is.
        let (mut head, is_ruled) = (0..0, self.egress.is_ruled(to));
        self.egress.send(at.now, to, Some(trail), out, |buffer| {
            let start = buffer.len();
            status_line(buffer, status);
            let line = buffer.len() - start;
            write::response_head(buffer, at.message, &at.flow, Some(&tag), oc);
            head = line..buffer.len() - start;
            more(buffer);
            write::no_body(buffer);
        });
        let mut status = status;
        if out.last().is_none() {
            // The rules cannot be applied to it; somebody waits for an answer.
            status = 500;
            self.egress.send_unruled(at.now, to, Some(trail), out, |buffer| {
                status_line(buffer, status);
                write::response_head(buffer, at.message, &at.flow, Some(&tag), oc);
                write::no_body(buffer);
            });
        }
        let Some(server) = server else { return };
        let Some((_, bytes)) = out.last() else { return self.transactions.abandon(server) };
        let head = if is_ruled { 0..0 } else { head };
        let tag = if at.message.to_tag().is_none() { &tag[..] } else { &[] };
        self.transactions.refuse(at.now, server, status, &Kept { bytes, head, tag });
    }

    /// Tells the service assurance of bytes that are no SIP message, and answers where RFC 3261
    /// says so.
    pub(crate) fn malformed(
        &mut self,
        now: Time,
        flow: Flow,
        bytes: &[u8],
        violation: &Malformed,
        out: &mut Effects,
    ) {
        let trail = self.random.next_u64();
        self.egress.received(now, &flow, Some(trail), bytes);
        let fields = [
            ("text", Field::Text(violation.what.as_bytes())),
            ("offset", Field::Number(violation.at as u64)),
            ("spec", Field::Text(violation.spec.as_bytes())),
        ];
        self.egress.event(now, &flow, trail, Event::MessageMalformed, &fields);
        let tag = hex(self.random.next_u64());
        self.egress.send(now, flow, Some(trail), out, |buffer| {
            sip::refuse(bytes, violation, &tag, buffer);
        });
    }
}

/// Longer lists of extensions are not repeated: an answer is kept for a while.
const UNSUPPORTED_BYTES_MAX: usize = 1024;

/// The extensions of Proxy-Require, none of which we need (RFC 3261 §16.3).
fn unsupported(out: &mut Vec<u8>, message: &Message<'_>) {
    let value = message.header(Header::ProxyRequire);
    if let Some(value) = value.filter(|value| value.len() <= UNSUPPORTED_BYTES_MAX) {
        write::line(out, "Unsupported", value);
    }
}
