//! Refusing under overload: 503 written straight from the request, before it is parsed, without
//! a transaction (RFC 3261 §8.2.7, §21.5.4).
//!
//! What is remembered of that stands in [`admission::Refused`].

use crate::User;
use crate::config::Ssc;
use crate::egress::{Egress, Event, Field};
use crate::metrics::Metric;
use admission::{Callers, Class, OverloadControl, Tallied, never_begins};
use machine::Time;
use machine::narrow::{half, micros};
use overload::Turn;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore;
use runtime::{Effects, Flow};
use sip::{Method, RequestHead, Via};
use sip_stack::realm::RealmId;
use sip_stack::write;
use transaction::Transactions;

/// A request that is refused before it is parsed.
struct Unread<'m> {
    head: &'m RequestHead<'m>,
    via: &'m Via<'m>,
    /// The number that all copies of it have.
    name: u64,
    bytes: &'m [u8],
}

/// What decides whether a message is read now, and answers those that are not.
pub(crate) struct Shedding<'a> {
    pub(crate) overload: &'a mut OverloadControl,
    pub(crate) callers: Callers<'a>,
    pub(crate) transactions: &'a mut Transactions<Flow, User>,
    pub(crate) egress: &'a mut Egress,
    pub(crate) config: &'a Ssc,
}

impl Shedding<'_> {
    /// Looks at a message before it is parsed: `true` when it was refused here, is the ACK to such
    /// a refusal, or begins a call that waits.
    pub(crate) fn sheds(
        &mut self,
        now: Time,
        flow: Flow,
        realm: RealmId,
        bytes: &[u8],
        out: &mut Effects,
    ) -> bool {
        if bytes.starts_with(b"ACK ") {
            return self.overload.refused.awaits_acks(now)
                && self.overload.refused.wrote_tag_of(bytes);
        }
        if never_begins(bytes) {
            return bytes.starts_with(b"CANCEL ") && self.overload.waiting.follow(now, flow, bytes);
        }
        let protected = self.overload.protected.delay(now);
        self.overload.admission.waited(self.overload.admission.delay().max(protected));
        self.overload.admission.queue_waits(self.overload.waiting.delay(now));
        let is_busy = self.overload.admission.observe(now, realm.0.into());
        // Nobody who was refused still asks again, and there is nothing to wait for.
        if !is_busy
            && !self.overload.refused.awaits_acks(now)
            && self.overload.waiting.is_needless()
        {
            return false;
        }
        let Some(peek) = RequestHead::read(bytes) else { return false };
        let Ok(via) = Via::parse(peek.via) else { return false };
        let name = self.overload.refused.name(&peek);
        let class = self.class(now, &flow, realm, &peek);
        let turn =
            if is_busy { self.overload.admission.admits(class as usize) } else { Some(Turn::Next) };
        let is_full = class == Class::Call && self.overload.waiting.is_full();
        if let Some(turn) = turn.filter(|_| !is_full) {
            // One that was refused and asks again gets the same answer.
            if !self.overload.refused.remembers(name) {
                if class != Class::Held && sip::overload::is_offered(via.params) {
                    self.overload.feedback.count(
                        now,
                        self.overload.admission.queued_delay(),
                        false,
                    );
                }
                let waits = class == Class::Call && turn == Turn::Next && peek.method == b"INVITE";
                return waits && self.overload.waiting.put_off(now, flow, name, bytes);
            }
        } else if self.transactions.is_known(&via, Method::parse(peek.method)) {
            return false; // it was let in, and asks again
        } else if self.overload.refused.remember(now, name) {
            self.egress.metrics.add(metric(class), 1);
            if sip::overload::is_offered(via.params) {
                self.overload.feedback.count(now, self.overload.admission.queued_delay(), true);
            }
        }
        out.about(half(name));
        let unread = Unread { head: &peek, via: &via, name, bytes };
        self.refuse_unread(now, &flow, &unread, out);
        true
    }

    fn class(&self, now: Time, flow: &Flow, realm: RealmId, peek: &RequestHead<'_>) -> Class {
        let is_trusted = self.callers.border.realms.row(realm).trusted;
        if peek.is_tagged() || (peek.has_priority && is_trusted) {
            return Class::Held;
        }
        // It is counted when it has begun a transaction.
        let is_emergency = peek.is_emergency(is_trusted) && peek.method != b"REGISTER";
        if is_emergency && (is_trusted || self.has_room_for_help(now, flow)) {
            return Class::Held;
        }
        match peek.method {
            // One that came by associations answers a challenge that was admitted, or refreshes.
            b"REGISTER"
                if self.overload.protected.is_now()
                    || self.callers.registrar.subscriber(flow).is_some() =>
            {
                Class::Refresh
            }
            b"REGISTER" => Class::Registration,
            _ => Class::Call,
        }
    }

    /// Whether a call for help from this source would be taken as such; costs the source nothing.
    fn has_room_for_help(&self, now: Time, flow: &Flow) -> bool {
        self.overload.emergencies.has_room(now, flow, self.callers.known(flow))
    }

    /// 503 with Retry-After, straight from the words of the request.
    fn refuse_unread(&mut self, now: Time, flow: &Flow, unread: &Unread<'_>, out: &mut Effects) {
        let &Unread { head: peek, via, name, .. } = unread;
        let base_s = self.config.limits.retry_after_s;
        // Spread, so that those who were refused together do not come back together.
        let retry_s = base_s + (name >> 40) as u32 % (base_s + 1);
        let to = sip_stack::upstream::answered_at(flow, via);
        let tag = self.overload.refused.tag(name);
        let oc = self.overload.feedback.answer(now, via);
        out.send(to, |answer| {
            answer.extend_from_slice(b"SIP/2.0 503 Service Unavailable\r\n");
            write::first_via(answer, via, peek.via, flow, oc);
            peek.write_lines(answer, &tag);
            answer.extend_from_slice(b"Retry-After: ");
            write::number(answer, retry_s.into());
            answer.extend_from_slice(b"\r\n");
            write::no_body(answer);
        });
        self.egress.metrics.add(Metric::MessagesSent, 1);
        self.egress.metrics.add(Metric::Overload, 1);
        if !self.egress.capture.is_on() {
            return;
        }
        if self.overload.refused.may_capture(now) {
            self.capture_refusal(now, flow, unread, out);
        } else {
            self.overload.tally.count(now, flow, peek.method);
        }
    }

    fn capture_refusal(&mut self, now: Time, flow: &Flow, unread: &Unread<'_>, out: &Effects) {
        let &Unread { head: peek, name: trail, bytes, .. } = unread;
        self.egress.received(now, flow, Some(trail), bytes);
        let delay_us = micros(self.overload.admission.queued_delay());
        let fields = [
            ("status", Field::Number(503)),
            ("text", Field::Text(b"overload: messages wait too long")),
            ("method", Field::Text(peek.method)),
            ("to", Field::Text(peek.to)),
            ("queue_delay_us", Field::Number(delay_us)),
        ];
        self.egress.event(now, flow, trail, Event::RequestRejected, &fields);
        if let Some((to, answer)) = out.last() {
            self.egress.sent(now, to, Some(trail), answer);
        }
    }
}

/// Tells the service assurance of the refusals of the second that is over.
pub(crate) fn tell_tally(
    rows: &[Tallied],
    now: Time,
    egress: &mut Egress,
    random: &mut ChaCha12Rng,
) {
    for row in rows {
        let trail = random.next_u64();
        let source = row.flow.remote.ip().to_string();
        let fields = [
            ("status", Field::Number(503)),
            ("text", Field::Text(b"overload: messages wait too long")),
            ("method", Field::Text(&row.method)),
            ("source", Field::Text(source.as_bytes())),
            ("count", Field::Number(row.count)),
        ];
        egress.event(now, &row.flow, trail, Event::RequestsRejected, &fields);
    }
}

const fn metric(class: Class) -> Metric {
    match class {
        Class::Refresh => Metric::RefreshesShed,
        Class::Registration => Metric::RegistrationsShed,
        Class::Call | Class::Held => Metric::CallsShed,
    }
}
