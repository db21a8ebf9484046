//! Refusing under overload: 503 written straight from the request, before it is parsed, without
//! a transaction (RFC 3261 §8.2.7, §21.5.4).
//!
//! The tag of the answer is made from the request's own words and proves itself: a
//! retransmission gets the same answer, and of the ACK nothing but its tag need be looked at,
//! without a record of the request. A small table remembers whom we refused: a retransmission that
//! comes when there is time again must not begin the call that its client has given up.

use crate::call::merged::hash_combine;
use crate::facts::Fact;
use crate::realm::RealmId;
use crate::token::hex;
use crate::wire::{Event, Field};
use crate::{Controller, write};
use machine::narrow::{half, micros, slot};
use machine::{Duration, Time};
use overload::{ALL, Turn};
use runtime::{Effects, Flow};
use sip::transaction::KeyedHash;
use sip::{Method, RequestHead, Via, to_value};

/// Sets of refused requests that are remembered; in each the youngest takes the place of the
/// oldest. One set is a cache line.
const SETS: usize = 1 << 12;
/// Requests in one set.
const WAYS: usize = 16;
/// How long an ACK to a refusal may come (timer H).
const ACK_MAX: Duration = Duration::from_secs(32);
/// Refusals under overload that are captured in full each second; the others are tallied.
const CAPTURED_PER_S_MAX: u32 = 100;
/// What our tags of refusals begin with.
const TAG: &[u8; 2] = b"ov";
/// Length of such a tag.
const TAG_BYTES: usize = TAG.len() + 16;

/// What a request is worth, the most valuable first: its place in [`CLASSES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Part of something that was admitted: responses, everything inside a dialog, CANCEL; and
    /// emergency calls (RFC 5031) and those with a Resource-Priority (RFC 4412).
    Held,
    /// A registration by a flow that has a binding.
    Refresh,
    /// A first registration.
    Registration,
    /// A call, or anything else outside of a dialog.
    Call,
}

/// How each class falls as messages wait longer (RFC 7339 §5.10.1 leaves the order to the
/// server): registrations stand before calls, refreshes before first registrations.
pub(crate) const CLASSES: &[overload::Class] = &[
    overload::Class::HELD,
    overload::Class::direct(6, 8),
    overload::Class::direct(4, 6),
    overload::Class::queued(1, 4),
];

/// What is remembered of refusals.
#[derive(Debug)]
pub(crate) struct Shed {
    secret: u64,
    /// What proves the tags of refusals.
    proof: KeyedHash,
    /// Half of each name, the other half tells the set; made when the first request is refused.
    refused: Box<[[u32; WAYS]]>,
    /// Until when ACKs are looked for.
    acks_until: Time,
    second: u64,
    captured: u32,
}

impl Shed {
    /// Nothing refused yet.
    pub(crate) fn new(secret: u64, proof: u128) -> Self {
        let proof = KeyedHash::of_secret(proof);
        let (refused, acks_until) = (Box::default(), Time::ZERO);
        Self { secret, proof, refused, acks_until, second: 0, captured: 0 }
    }

    /// Names a transaction by what an INVITE, its retransmissions and its ACK share.
    pub(crate) fn name(&self, peek: &RequestHead<'_>) -> u64 {
        hash_combine(hash_combine(self.secret, peek.via), peek.call_id)
    }

    /// The tag of a refusal: half of the name, and what the secret makes of that.
    pub(crate) fn tag(&self, name: u64) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        tag[..TAG.len()].copy_from_slice(TAG);
        tag[TAG.len()..].copy_from_slice(&hex(self.proven(name >> 32)));
        tag
    }

    fn proven(&self, half: u64) -> u64 {
        half << 32 | self.proof.hash(&half.to_le_bytes()) >> 32
    }

    /// Whether the To tag of a request is one that we gave a refusal.
    fn wrote_tag_of(&self, bytes: &[u8]) -> bool {
        let number = to_value(bytes).and_then(refusal_tag);
        number.is_some_and(|number| number == self.proven(number >> 32))
    }

    fn remembers(&self, name: u64) -> bool {
        let set = self.refused.get(slot(name, SETS));
        set.is_some_and(|set| set.contains(&(half(name >> 32))))
    }

    /// Whether it was not remembered yet.
    fn remember(&mut self, now: Time, name: u64) -> bool {
        if self.refused.is_empty() {
            self.refused = vec![[0; WAYS]; SETS].into_boxed_slice();
        }
        self.acks_until = now + ACK_MAX;
        let (set, half) = (&mut self.refused[slot(name, SETS)], half(name >> 32));
        let is_new = !set.contains(&half);
        if is_new {
            set.rotate_right(1);
            set[0] = half;
        }
        is_new
    }

    /// Whether another refusal is captured in this second.
    const fn may_capture(&mut self, now: Time) -> bool {
        let second = now.as_micros() / 1_000_000;
        if second != self.second {
            (self.second, self.captured) = (second, 0);
        }
        self.captured += 1;
        self.captured <= CAPTURED_PER_S_MAX
    }
}

/// The number in the tag of a To value, when the tag looks like one of a refusal.
fn refusal_tag(to: &[u8]) -> Option<u64> {
    // Last, where we wrote it; somebody may have written another parameter after it.
    let is_tag = |&at: &usize| to[..=at].ends_with(b";tag=");
    let at = memchr::memrchr_iter(b'=', to).find(is_tag)? + 1;
    let digits = to.get(at..at + TAG_BYTES)?.strip_prefix(TAG)?;
    let digit = |octet: u8| char::from(octet).to_digit(16).map(u64::from);
    digits.iter().try_fold(0, |number, &octet| Some(number << 4 | digit(octet)?))
}

/// Methods that never begin anything: they are let in without a look.
fn is_held(bytes: &[u8]) -> bool {
    match bytes {
        [b'I', b'N', b'V', ..] | [b'R', b'E', b'G', ..] => false,
        [b'S', ..] => bytes.starts_with(b"SIP/2.0 "),
        [b'A' | b'B' | b'C' | b'P' | b'U' | b'I', ..] => {
            let held = [&b"ACK "[..], b"BYE ", b"CANCEL ", b"PRACK ", b"UPDATE ", b"INFO "];
            held.iter().any(|start| bytes.starts_with(start))
        }
        _ => false,
    }
}

impl Controller {
    /// Looks at a message before it is parsed: `true` when it was refused here, is the ACK to such
    /// a refusal, or begins a call that waits.
    pub(crate) fn shed(
        &mut self,
        now: Time,
        flow: Flow,
        realm: RealmId,
        bytes: &[u8],
        out: &mut Effects,
    ) -> bool {
        if bytes.starts_with(b"ACK ") {
            return now < self.overload.shed.acks_until && self.overload.shed.wrote_tag_of(bytes);
        }
        if is_held(bytes) {
            return bytes.starts_with(b"CANCEL ") && self.overload.waiting.follow(now, flow, bytes);
        }
        self.overload.admission.queue_waits(self.overload.waiting.delay(now));
        let is_busy = self.overload.admission.observe(now, realm.0.into());
        // Nobody who was refused still asks again, and there is nothing to wait for.
        if !is_busy && now >= self.overload.shed.acks_until && self.overload.waiting.is_needless() {
            return false;
        }
        let Some(peek) = RequestHead::read(bytes) else { return false };
        let Ok(via) = Via::parse(peek.via) else { return false };
        let name = self.overload.shed.name(&peek);
        let class = self.class(now, &flow, realm, &peek);
        let turn =
            if is_busy { self.overload.admission.admits(class as usize) } else { Some(Turn::Next) };
        let is_full = class == Class::Call && self.overload.waiting.is_full();
        if let Some(turn) = turn.filter(|_| !is_full) {
            // One that was refused and asks again gets the same answer.
            if !self.overload.shed.remembers(name) {
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
        } else if self.overload.shed.remember(now, name) {
            self.wire.facts.add(fact(class), 1);
            if sip::overload::is_offered(via.params) {
                self.overload.feedback.count(now, self.overload.admission.queued_delay(), true);
            }
        }
        out.about(half(name));
        self.refuse_unread(now, &flow, (&peek, &via, name), bytes, out);
        true
    }

    /// Begins some of the calls that wait.
    pub(crate) fn begin_waiting(&mut self, now: Time, out: &mut Effects) {
        for _ in 0..self.overload.waiting.room() {
            let Some(call) = self.overload.waiting.begin() else { return };
            // Its client asked again, was refused, and has given up.
            let is_over = call.name.is_some_and(|name| self.overload.shed.remembers(name));
            let door = self.border.realms.door(call.source.port).filter(|_| !is_over);
            if let Some(realm) = door.map(|door| door.realm) {
                let waited_us = micros(now.since(call.at));
                self.wire.facts.observe(Fact::QueueDelay, waited_us);
                self.read(now, call.source, realm, &call.bytes, out);
            }
        }
    }

    fn class(&mut self, now: Time, flow: &Flow, realm: RealmId, peek: &RequestHead<'_>) -> Class {
        let is_trusted = self.border.realms.row(realm).trusted;
        if peek.is_tagged() || (peek.has_priority && is_trusted) {
            return Class::Held;
        }
        // It is counted when it has begun a transaction.
        let is_emergency = peek.is_emergency(is_trusted) && peek.method != b"REGISTER";
        if is_emergency && (is_trusted || self.has_room_for_help(now, flow)) {
            return Class::Held;
        }
        match peek.method {
            b"REGISTER" if self.subscriber(flow).is_some() => Class::Refresh,
            b"REGISTER" => Class::Registration,
            _ => Class::Call,
        }
    }

    /// 503 with Retry-After, straight from the words of the request.
    fn refuse_unread(
        &mut self,
        now: Time,
        flow: &Flow,
        (peek, via, name): (&RequestHead<'_>, &Via<'_>, u64),
        bytes: &[u8],
        out: &mut Effects,
    ) {
        let base_s = self.config.limits.retry_after_s;
        // Spread, so that those who were refused together do not come back together.
        let retry_s = base_s + (name >> 40) as u32 % (base_s + 1);
        let to = crate::refusal::answered_at(flow, via);
        let tag = self.overload.shed.tag(name);
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
        self.wire.facts.add(Fact::MessagesSent, 1);
        self.wire.facts.add(Fact::Overload, 1);
        if !self.wire.capture.is_on() {
            return;
        }
        if self.overload.shed.may_capture(now) {
            self.capture_refusal(now, flow, (peek, name), bytes, out);
        } else {
            self.overload.tally.count(now, flow, peek.method);
        }
    }

    fn capture_refusal(
        &mut self,
        now: Time,
        flow: &Flow,
        (peek, trail): (&RequestHead<'_>, u64),
        bytes: &[u8],
        out: &Effects,
    ) {
        self.wire.received(now, flow, Some(trail), bytes);
        let delay_us = micros(self.overload.admission.queued_delay());
        let fields = [
            ("status", Field::Number(503)),
            ("text", Field::Text(b"overload: messages wait too long")),
            ("method", Field::Text(peek.method)),
            ("to", Field::Text(peek.to)),
            ("queue_delay_us", Field::Number(delay_us)),
        ];
        self.wire.event(now, flow, trail, Event::RequestRejected, &fields);
        if let Some((to, answer)) = out.last() {
            self.wire.sent(now, to, Some(trail), answer);
        }
    }

    /// The messages of the steps that follow waited so long.
    pub(crate) fn queued(&mut self, now: Time, delay: Duration) {
        self.overload.admission.waited(delay);
        let is_off = self.config.overload.delay_target_ms == 0;
        self.overload.waiting.waited(if is_off { Duration::ZERO } else { delay });
        let whole = self.overload.admission.whole(now);
        self.wire.capture.whole = if self.config.overload.thin_captures { whole } else { ALL };
        self.wire.facts.observe(Fact::QueueDelay, micros(delay));
    }
}

const fn fact(class: Class) -> Fact {
    match class {
        Class::Refresh => Fact::RefreshesShed,
        Class::Registration => Fact::RegistrationsShed,
        Class::Call | Class::Held => Fact::CallsShed,
    }
}
