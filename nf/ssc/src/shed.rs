//! Refusing under overload: 503 written straight from the request, before it is parsed, without
//! a transaction (RFC 3261 §8.2.7, §21.5.4).
//!
//! The tag of the answer is made from the request's own words and proves itself: a
//! retransmission gets the same answer, and of the ACK nothing but its tag need be looked at,
//! without a record of the request. A small table remembers whom we refused: a retransmission that
//! comes when there is time again must not begin the call that its client has given up.

use crate::admission::{ALL, Class};
use crate::facts::Fact;
use crate::merged::absorb;
use crate::realm::RealmId;
use crate::token::{hex, mix};
use crate::wire::Field;
use crate::{Controller, write};
use machine::{Duration, Time};
use runtime::{Effects, Flow, Transport};
use sip::{Header, LineEnds, Message, Method, NameAddr, Via, overload};
use std::net::SocketAddr;

/// Sets of refused requests that are remembered; in each the youngest takes the place of the
/// oldest. One set is a cache line.
const SETS: usize = 1 << 12;
/// Requests in one set.
const WAYS: usize = 16;
/// Runs of lines that an answer copies at most; a request with more is read as any other.
const LINES_MAX: usize = 16;
/// How long an ACK to a refusal may come (timer H).
const ACK_MAX: Duration = Duration::from_secs(32);
/// Refusals under overload that are captured in full each second; the others are tallied.
const CAPTURED_PER_S_MAX: u32 = 100;
/// What our tags of refusals begin with.
const TAG: &[u8; 2] = b"ov";
/// Length of such a tag.
const TAG_BYTES: usize = TAG.len() + 16;
/// The service that help is called by, and all below it (RFC 5031 §4.2).
const SOS: &[u8] = b"urn:service:sos";
/// What the names of all services begin with.
const SERVICE: &[u8] = b"urn:service:";

/// What is remembered of refusals.
#[derive(Debug)]
pub(crate) struct Shed {
    secret: u64,
    /// Half of each name, the other half tells the set; made when the first request is refused.
    refused: Box<[[u32; WAYS]]>,
    /// Until when ACKs are looked for.
    acks_until: Time,
    second: u64,
    captured: u32,
}

impl Shed {
    /// Nothing refused yet.
    pub(crate) fn new(secret: u64) -> Self {
        Self { secret, refused: Box::default(), acks_until: Time::ZERO, second: 0, captured: 0 }
    }

    /// Names a transaction by what an INVITE, its retransmissions and its ACK share.
    fn name(&self, peek: &Peek<'_>) -> u64 {
        absorb(absorb(self.secret, peek.via), peek.call_id)
    }

    /// The number in the tag of a refusal: half of the name, and what the secret makes of that.
    const fn tag(&self, name: u64) -> u64 {
        self.proven(name >> 32)
    }

    const fn proven(&self, half: u64) -> u64 {
        half << 32 | mix(self.secret ^ half) >> 32
    }

    /// Whether the To tag of a request is one that we gave a refusal.
    fn wrote_tag_of(&self, bytes: &[u8]) -> bool {
        let number = to_value(bytes).and_then(refusal_tag);
        number.is_some_and(|number| number == self.proven(number >> 32))
    }

    fn remembers(&self, name: u64) -> bool {
        let set = self.refused.get(name as usize % SETS);
        set.is_some_and(|set| set.contains(&((name >> 32) as u32)))
    }

    /// Whether it was not remembered yet.
    fn remember(&mut self, now: Time, name: u64) -> bool {
        if self.refused.is_empty() {
            self.refused = vec![[0; WAYS]; SETS].into_boxed_slice();
        }
        self.acks_until = now + ACK_MAX;
        let (set, half) = (&mut self.refused[name as usize % SETS], (name >> 32) as u32);
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

/// The words of a request that a stateless answer needs.
struct Peek<'a> {
    method: &'a [u8],
    uri: &'a [u8],
    /// Value of the top Via line.
    via: &'a [u8],
    to: &'a [u8],
    call_id: &'a [u8],
    /// Whole lines, line ends included, that go into the answer as they are: those that follow
    /// each other as one.
    lines: [(usize, usize); LINES_MAX],
    count: usize,
    has_priority: bool,
}

impl<'a> Peek<'a> {
    /// Reads the head of a request; `None` when it is out of the ordinary.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut ends = LineEnds::new(bytes, 0);
        let first = ends.step().ok()?;
        let (method, rest) = bytes[..first].split_at(memchr::memchr(b' ', &bytes[..first])?);
        let uri = &rest[1..];
        let uri = &uri[..memchr::memchr(b' ', uri)?];
        let empty = &bytes[..0];
        let mut peek = Self {
            method,
            uri,
            via: empty,
            to: empty,
            call_id: empty,
            lines: [(0, 0); LINES_MAX],
            count: 0,
            has_priority: false,
        };
        let (mut has, mut at) = (0u8, first + 2);
        loop {
            let end = ends.step().ok()?;
            if end == at {
                break;
            }
            has |= peek.line(&bytes[at..end], at)?;
            at = end + 2;
        }
        (has == 0b1_1111).then_some(peek)
    }

    /// Takes a line; a bit for each that a request must have.
    #[inline(always)]
    fn line(&mut self, line: &'a [u8], at: usize) -> Option<u8> {
        let [first, second, ..] = *line else { return None };
        let bit = match (first | 0x20, second | 0x20) {
            (b' ' | 0x29, _) | (_, b' ' | 0x29) => return None, // a folded line, a short name
            (b'v', b'i' | b':') => match value(line, b"Via", b'v')? {
                Some(value) if self.via.is_empty() => {
                    self.via = value;
                    return Some(1);
                }
                found => u8::from(found.is_some()),
            },
            (b't', b'o' | b':') => {
                let Some(value) = value(line, b"To", b't')? else { return Some(0) };
                self.to = value;
                return Some(2);
            }
            (b'f', b'r' | b':') if value(line, b"From", b'f')?.is_some() => 4,
            (b'c', b's') if value(line, b"CSeq", 0)?.is_some() => 8,
            (b'c', b'a') | (b'i', b':') => {
                let Some(value) = value(line, b"Call-ID", b'i')? else { return Some(0) };
                self.call_id = value;
                16
            }
            (b'r', b'e') => {
                self.has_priority |= value(line, b"Resource-Priority", 0)?.is_some();
                0
            }
            _ => 0,
        };
        if bit > 0 {
            let end = at + line.len() + 2;
            match self.lines[..self.count].last_mut() {
                Some((_, last)) if *last == at => *last = end,
                _ => {
                    *self.lines.get_mut(self.count)? = (at, end);
                    self.count += 1;
                }
            }
        }
        Some(bit)
    }

    /// Whether it stands in a dialog.
    fn is_tagged(&self) -> bool {
        let params = memchr::memrchr(b'>', self.to).map_or(self.to, |at| &self.to[at..]);
        memchr::memchr(b';', params).is_some()
            && NameAddr::parse(self.to).map_or(true, |to| to.tag().is_some())
    }

    fn is_emergency(&self) -> bool {
        begins(self.uri, SOS) || holds_sos(self.to)
    }
}

/// The value of a header line of that name, written out or as its letter; `None` when nobody
/// would write it like that, and it must be read with more care.
#[inline(always)]
fn value<'a>(line: &'a [u8], name: &[u8], letter: u8) -> Option<Option<&'a [u8]>> {
    let behind = match line {
        [first, b':', rest @ ..] if first | 0x20 == letter => rest,
        _ if !begins(line, name) => return Some(None),
        _ => match &line[name.len()..] {
            [b':', rest @ ..] => rest,
            [b' ' | b'\t', ..] => return None,
            _ => return Some(None),
        },
    };
    Some(Some(behind.trim_ascii()))
}

/// The value of the first To line.
fn to_value(bytes: &[u8]) -> Option<&[u8]> {
    let mut ends = LineEnds::new(bytes, 0);
    let mut at = ends.step().ok()? + 2;
    loop {
        let end = ends.step().ok()?;
        let line = &bytes[at..end];
        if line.first()? | 0x20 == b't'
            && let Some(value) = value(line, b"To", b't')?
        {
            return Some(value);
        }
        at = end + 2;
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

fn begins(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Whether a To value holds the service URN.
fn holds_sos(to: &[u8]) -> bool {
    let uri = memchr::memchr(b'<', to).map_or(to, |at| &to[at + 1..]);
    begins(uri, SOS)
}

/// Whether a URI names a service, for the core to find (RFC 5031).
pub(crate) fn is_service(uri: &[u8]) -> bool {
    begins(uri, SERVICE)
}

/// Whether a request calls for help (RFC 5031).
pub(crate) fn is_emergency(message: &Message<'_>) -> bool {
    message.request_uri().is_some_and(|uri| begins(uri, SOS))
        || message.header(Header::To).is_some_and(holds_sos)
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
    /// Looks at a message before it is parsed: `true` when it was refused here, or is the ACK to
    /// such a refusal.
    pub(crate) fn shed(
        &mut self,
        now: Time,
        flow: Flow,
        realm: RealmId,
        bytes: &[u8],
        out: &mut Effects,
    ) -> bool {
        if bytes.starts_with(b"ACK ") {
            return now < self.shed.acks_until && self.shed.wrote_tag_of(bytes);
        }
        if is_held(bytes) {
            return false;
        }
        let is_busy = self.admission.observe(now, realm);
        if !is_busy && now >= self.shed.acks_until {
            return false; // nobody who was refused still asks again
        }
        let Some(peek) = Peek::read(bytes) else { return false };
        let Ok(via) = Via::parse(peek.via) else { return false };
        let name = self.shed.name(&peek);
        let class = self.class(&flow, realm, &peek);
        if !is_busy || self.admission.admits(class) {
            // One that was refused and asks again gets the same answer.
            if !self.shed.remembers(name) {
                if class != Class::Held && overload::is_offered(via.params) {
                    self.feedback.count(now, self.admission.delay(), false);
                }
                return false;
            }
        } else if self.transactions.is_known(&via, Method::parse(peek.method)) {
            return false; // it was let in, and asks again
        } else if self.shed.remember(now, name) {
            self.wire.facts.add(fact(class), 1);
            if overload::is_offered(via.params) {
                self.feedback.count(now, self.admission.delay(), true);
            }
        }
        out.about(name as u32);
        self.refuse_unread(now, &flow, (&peek, &via, name), bytes, out);
        true
    }

    fn class(&self, flow: &Flow, realm: RealmId, peek: &Peek<'_>) -> Class {
        let is_trusted = self.realms.row(realm).trusted;
        if peek.is_tagged() || peek.is_emergency() || (peek.has_priority && is_trusted) {
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
        (peek, via, name): (&Peek<'_>, &Via<'_>, u64),
        bytes: &[u8],
        out: &mut Effects,
    ) {
        let base_s = self.config.limits.retry_after_s;
        // Spread, so that those who were refused together do not come back together.
        let retry_s = base_s + (name >> 40) as u32 % (base_s + 1);
        let to = match (flow.transport, via.rport) {
            (Transport::Udp, None) => {
                let port = via.port.unwrap_or(5060);
                Flow { remote: SocketAddr::new(flow.remote.ip(), port), ..*flow }
            }
            _ => *flow,
        };
        let tag = self.shed.tag(name);
        let oc = self.feedback.answer(now, via);
        out.send(to, |answer| {
            answer.extend_from_slice(b"SIP/2.0 503 Service Unavailable\r\n");
            write::first_via(answer, via, peek.via, flow, oc);
            for &(from, to) in &peek.lines[..peek.count] {
                answer.extend_from_slice(&bytes[from..to]);
            }
            answer.extend_from_slice(b"To: ");
            answer.extend_from_slice(peek.to);
            answer.extend_from_slice(b";tag=");
            answer.extend_from_slice(TAG);
            answer.extend_from_slice(&hex(tag));
            answer.extend_from_slice(b"\r\nRetry-After: ");
            write::number(answer, retry_s.into());
            answer.extend_from_slice(b"\r\n");
            write::no_body(answer);
        });
        self.wire.facts.add(Fact::MessagesSent, 1);
        self.wire.facts.add(Fact::Overload, 1);
        if !self.wire.capture.is_on() {
            return;
        }
        if self.shed.may_capture(now) {
            self.capture_refusal(now, flow, (peek, name), bytes, out);
        } else {
            self.tally.count(now, flow, peek.method);
        }
    }

    fn capture_refusal(
        &mut self,
        now: Time,
        flow: &Flow,
        (peek, trail): (&Peek<'_>, u64),
        bytes: &[u8],
        out: &Effects,
    ) {
        self.wire.received(now, flow, Some(trail), bytes);
        let delay_us = self.admission.delay().as_micros() as u64;
        let fields = [
            ("status", Field::Number(503)),
            ("text", Field::Text(b"overload: messages wait too long")),
            ("method", Field::Text(peek.method)),
            ("to", Field::Text(peek.to)),
            ("queue_delay_us", Field::Number(delay_us)),
        ];
        self.wire.event(now, flow, trail, "RequestRejected", &fields);
        if let Some((to, answer)) = out.last() {
            self.wire.sent(now, to, Some(trail), answer);
        }
    }

    /// The messages of the steps that follow waited so long.
    pub(crate) fn queued(&mut self, now: Time, delay: Duration) {
        self.admission.waited(delay);
        let whole = self.admission.whole(now);
        self.wire.capture.whole = if self.config.overload.thin_captures { whole } else { ALL };
        self.wire.facts.observe(Fact::QueueDelay, delay.as_micros() as u64);
    }
}

const fn fact(class: Class) -> Fact {
    match class {
        Class::Refresh => Fact::RefreshesShed,
        Class::Registration => Fact::RegistrationsShed,
        Class::Call | Class::Held => Fact::CallsShed,
    }
}
