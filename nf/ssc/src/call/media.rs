//! What calls do with their media: descriptions that cross, digits, what media controllers say, and
//! calls that go to another media controller.
//!
//! ```text
//!   leg A                    controller                 leg B
//!     ←── INVITE without an offer │                         the ports of A and B are others
//!     ──→ 200, an offer ──────────│── INVITE with it ──→
//!     ←── ACK with the answer ────│←─ 200, its answer ──   ACK      (RFC 3725 §4.4)
//! ```

use super::ack::{ack_branch, begin};
use super::source::Found;
use super::{Call, State, lost};
use crate::egress::{Event, Field};
use crate::media::{self, Place};
use crate::metrics::Metric;
use crate::refusal::Answered;
use crate::{Arrived, Controller, User};
use anchor::row;
use machine::Time;
use machine::identity::Side;
use machine::slots::Key;
use media_stack::{Notice, Refused, Verdict, digits};
use runtime::Effects;
use sip::{Header, Message};
use sip_stack::route::Way;
use sip_stack::write;
use transaction::ServerId;

/// How far a call is on its way to another media controller.
#[derive(Debug)]
pub enum Moving {
    /// The calling side was asked for an offer.
    Asked,
    /// The called side has it.
    Offered,
    /// The calling side was told the answer by this ACK, which its 2xx draws whenever it comes.
    Done(Box<[u8]>),
}

/// A body of our own: its type and its octets.
type Body<'b> = Option<(&'b str, &'b [u8])>;

impl Call {
    /// Whether INVITEs of our own are under way in it.
    pub fn is_moving(&self) -> bool {
        matches!(self.media.moving.as_deref(), Some(Moving::Asked | Moving::Offered))
    }

    /// Whether it was answered and acknowledged. A call that another node served until a moment ago
    /// is here as one that was answered, and nothing is under way in it.
    fn stands(&self) -> bool {
        match self.state {
            State::Confirmed => true,
            State::Answered => self.invite.is_none(),
            State::Early | State::Ending => false,
        }
    }
}

impl Controller {
    /// What becomes of the body of a message that crosses a call.
    #[inline]
    pub(crate) fn media_of(&mut self, at: &Arrived<'_>, place: Place) -> Result<Verdict, Refused> {
        media::describe(&mut self.media, &mut self.calls, &self.egress.metrics, at, place)
    }

    /// The same of an INVITE that goes to another target than before.
    pub(super) fn media_again(
        &mut self,
        now: Time,
        key: Key,
        message: &Message<'_>,
        way: &Way,
    ) -> Result<Verdict, Refused> {
        let Some(relay) = self.calls.relays.at(key) else { return Ok(Verdict::Same) };
        let Some(call) = relay.call else { return Ok(Verdict::Same) };
        let (flow, realm) = (relay.upstream, relay.realms.up);
        let at = Arrived { now, flow, realm, message, raw: &[] };
        self.media_of(&at, Place { call, from: Side::A, fork: 0, to: Some(way.realm) })
    }

    /// What was offered last was refused.
    pub(super) fn media_rejected(&mut self, now: Time, key: Key) {
        if let Some(media) = self.calls.table.at(key).and_then(|call| call.media.key) {
            self.media.reject(now, media);
        }
    }

    /// Takes what media controllers have said.
    pub(crate) fn media_said(&mut self, now: Time, out: &mut Effects) {
        if self.media.notices.is_empty() {
            return;
        }
        for notice in core::mem::take(&mut self.media.notices) {
            match notice {
                Notice::Gone { owner } if self.media.moves() => {
                    self.move_media(now, owner, true, out);
                }
                Notice::Renew { owner } => self.move_media(now, owner, false, out),
                Notice::Gone { owner } => {
                    self.tear_down(now, owner, 503, "the media controller is gone", out);
                }
                Notice::Stream { owner, line, end, event, is_traced } => {
                    let side = if end == anchor::Side::A { Side::A } else { Side::B };
                    self.media_event(now, (owner, side, line), (event, is_traced), out);
                }
            }
        }
        self.transacted(now, out);
    }

    fn media_event(
        &mut self,
        now: Time,
        place: (Key, Side, u8),
        happened: (row::Event, bool),
        out: &mut Effects,
    ) {
        let ((key, side, line), (event, is_traced)) = (place, happened);
        let Some(call) = self.calls.table.at(key) else { return };
        let (flow, trail) = (call.leg(side).flow, call.trail());
        let leg = if side == Side::A { &b"a"[..] } else { b"b" };
        let own = [("leg", Field::Text(leg)), ("line", Field::Number(line.into()))];
        let mut tell = |event, more: &[(&'static str, Field<'_>)]| {
            if is_traced {
                return;
            }
            let fields: Vec<_> = own.iter().chain(more).copied().collect();
            self.egress.event(now, &flow, trail, event, &fields);
        };
        match event {
            row::Event::Latched(place) => {
                let place = place.to_string();
                tell(Event::StreamLatched, &[("remote", Field::Text(place.as_bytes()))]);
            }
            row::Event::OneWay => tell(Event::OneWayDetected, &[]),
            row::Event::TimedOut => {
                tell(Event::StreamTimedOut, &[]);
                if self.media.ends_on_timeout() {
                    self.tear_down(now, key, 408, "no media came", out);
                }
            }
            row::Event::Digit(digit, ms) => {
                let typed = [digits::typed(digit).unwrap_or(b'!')];
                let fields = [
                    ("digit", Field::Text(&typed)),
                    ("duration_ms", Field::Number(ms.into())),
                    ("way", Field::Text(b"rtp")),
                ];
                tell(Event::DigitTyped, &fields);
                self.digit_to(now, key, side.other(), (digit, ms), out);
            }
            row::Event::Unprotected(count) => {
                tell(Event::SrtpFailed, &[("count", Field::Number(count.into()))]);
            }
            row::Event::Quality(it) => {
                let row::Statistics { packets, lost, jitter_us, .. } = it.statistics;
                let fields = [
                    ("packets", Field::Number(packets)),
                    ("lost", Field::Number(lost)),
                    ("jitter_us", Field::Number(jitter_us.into())),
                    ("round_trip_us", Field::Number(it.round_trip_us.into())),
                    ("r_tenths", Field::Number(it.r_tenths.into())),
                    ("mos_hundredths", Field::Number(it.mos_hundredths.into())),
                ];
                tell(Event::QualityReported, &fields);
            }
        }
    }

    fn takes_info(&self, call: &Call, side: Side) -> bool {
        self.media.realm(call.leg(side).realm.0).is_some_and(|realm| realm.is_info)
    }

    /// A digit that came with media goes on as INFO where the other side has them so.
    fn digit_to(&mut self, now: Time, key: Key, side: Side, digit: (u8, u16), out: &mut Effects) {
        let Some(call) = self.calls.table.at(key) else { return };
        if !call.stands() || !self.takes_info(call, side) {
            return;
        }
        let mut body = Vec::new();
        digits::write(&mut body, digit.0, digit.1);
        let body = Some((digits::CONTENT_TYPE, &body[..]));
        self.ask_leg(now, (key, side), (b"INFO", User::Nobody), body, out);
    }

    /// An INFO with a digit, of a side that has them so: it goes on with media where the other side
    /// does not. Returns whether it did.
    pub(super) fn digit_from(
        &mut self,
        at: &Arrived<'_>,
        found: Found,
        server: ServerId,
        out: &mut Effects,
    ) -> bool {
        let Some(call) = self.calls.table.at(found.key) else { return false };
        let Some(media) = call.media.key else { return false };
        let other = found.side.other();
        if !self.takes_info(call, found.side) || self.takes_info(call, other) {
            return false;
        }
        let kind = at.message.header(Header::ContentType).unwrap_or_default();
        let Some((digit, ms)) = digits::read(kind, at.message.body()) else { return false };
        let trail = call.trail();
        if !self.media.play(media, media::side(other), digit, ms) {
            return false;
        }
        let typed = [digits::typed(digit).unwrap_or(b'!')];
        let leg = if found.side == Side::A { &b"a"[..] } else { b"b" };
        let fields = [
            ("leg", Field::Text(leg)),
            ("digit", Field::Text(&typed)),
            ("duration_ms", Field::Number(ms.into())),
            ("way", Field::Text(b"info")),
        ];
        self.egress.event(at.now, &at.flow, trail, Event::DigitTyped, &fields);
        self.reply(at, Answered { server: Some(server), trail }, 200, out, |_| {});
        true
    }

    /// The media of a call go to another media controller, or get other keys.
    fn move_media(&mut self, now: Time, key: Key, is_gone: bool, out: &mut Effects) {
        let Some(call) = self.calls.table.at(key) else { return };
        let Some(media) = call.media.key else { return };
        match call.state {
            _ if call.stands() && (call.invite.is_some() || call.is_moving()) => {
                if !is_gone {
                    self.media.renew_later(now, media); // who is gone is told of anyway
                }
                return;
            }
            _ if call.stands() => self.acknowledged_before(now, key, out),
            State::Confirmed | State::Ending => return,
            State::Early | State::Answered if !is_gone => {
                return self.media.renew_later(now, media); // once it stands
            }
            State::Early | State::Answered => {
                return self.tear_down(now, key, 503, "the media controller is gone", out);
            }
        }
        if is_gone && !self.media.relocate(now, media) {
            return self.tear_down(now, key, 503, "no media controller has room", out);
        }
        self.media.ask_for_offer(media);
        if let Some(call) = self.calls.table.at_mut(key) {
            call.media.moving = Some(Box::new(Moving::Asked));
        }
        let user = User::Move(key, Side::A);
        if !self.ask_leg(now, (key, Side::A), (b"INVITE", user), None, out) {
            self.move_failed(now, key, 503, out);
        }
    }

    /// The called side of a call that this node took over may still wait for the ACK of its 2xx,
    /// and takes no INVITE before (RFC 3261 §14.1).
    fn acknowledged_before(&mut self, now: Time, key: Key, out: &mut Effects) {
        let Some(call) = self.calls.table.at_mut(key) else { return };
        if core::mem::replace(&mut call.state, State::Confirmed) == State::Answered {
            self.acknowledge_again(now, key, Side::B, out);
        }
    }

    /// An answer to an INVITE of ours.
    pub(super) fn move_answered(
        &mut self,
        at: &Arrived<'_>,
        key: Key,
        side: Side,
        out: &mut Effects,
    ) {
        let status = at.message.status().unwrap_or(0);
        let Some(call) = self.calls.table.at_mut(key) else { return self.seen(at, None) };
        let trail = call.trail();
        if (200..300).contains(&status) {
            call.leg_mut(side).refresh(at.message);
        }
        self.seen(at, Some(trail));
        let Some(call) = self.calls.table.at(key) else { return };
        match (status, side, call.media.moving.as_deref()) {
            (..200, ..) => {}
            (200..300, Side::A, Some(Moving::Asked)) => self.move_offered(at, key, out),
            (200..300, Side::B, Some(Moving::Offered)) => self.move_done(at, key, out),
            (200..300, Side::A, Some(Moving::Done(ack))) => {
                let (flow, ack) = (call.a.flow, ack.clone());
                self.egress.send_again(at.now, flow, out, |buffer| buffer.extend_from_slice(&ack));
            }
            (200..300, Side::A, Some(Moving::Offered)) => {} // it waits for its answer
            (200..300, ..) => drop(self.ack_leg(at.now, (key, side), None, out)),
            _ => self.move_failed(at.now, key, status, out),
        }
    }

    /// The calling side has offered: the called side is.
    fn move_offered(&mut self, at: &Arrived<'_>, key: Key, out: &mut Effects) {
        let offered = self.media_of(at, Place { call: key, from: Side::A, fork: 0, to: None });
        if offered != Ok(Verdict::Instead) {
            drop(self.ack_leg(at.now, (key, Side::A), None, out));
            return self.move_failed(at.now, key, 488, out);
        }
        if let Some(call) = self.calls.table.at_mut(key) {
            call.media.moving = Some(Box::new(Moving::Offered));
        }
        let body = self.media.body().to_vec();
        let user = User::Move(key, Side::B);
        let body = Some(("application/sdp", &body[..]));
        if !self.ask_leg(at.now, (key, Side::B), (b"INVITE", user), body, out) {
            drop(self.ack_leg(at.now, (key, Side::A), None, out));
            self.move_failed(at.now, key, 503, out);
        }
    }

    /// The called side has answered: so is the calling side.
    fn move_done(&mut self, at: &Arrived<'_>, key: Key, out: &mut Effects) {
        let answered = self.media_of(at, Place { call: key, from: Side::B, fork: 0, to: None });
        drop(self.ack_leg(at.now, (key, Side::B), None, out));
        if answered != Ok(Verdict::Instead) {
            drop(self.ack_leg(at.now, (key, Side::A), None, out));
            return self.move_failed(at.now, key, 488, out);
        }
        let body = self.media.body().to_vec();
        let ack = self.ack_leg(at.now, (key, Side::A), Some(("application/sdp", &body)), out);
        if let Some(call) = self.calls.table.at_mut(key) {
            call.media.moving = ack.map(|ack| Box::new(Moving::Done(ack)));
        }
    }

    /// One side does not take other media: the call ends.
    pub(crate) fn move_failed(&mut self, now: Time, key: Key, status: u16, out: &mut Effects) {
        let Some(call) = self.calls.table.at_mut(key) else { return };
        if !call.is_moving() {
            return;
        }
        let was_offered = matches!(call.media.moving.take().as_deref(), Some(Moving::Offered));
        if was_offered {
            drop(self.ack_leg(now, (key, Side::A), None, out));
        }
        self.tear_down(now, key, status, "the media could not be moved", out);
    }

    /// Sends a request of our own on a leg.
    fn ask_leg(
        &mut self,
        now: Time,
        place: (Key, Side),
        what: (&'static [u8], User),
        body: Body<'_>,
        out: &mut Effects,
    ) -> bool {
        let ((key, side), (method, user)) = (place, what);
        let Some(call) = self.calls.table.at_mut(key) else { return false };
        let trail = call.trail();
        let leg = call.leg_mut(side);
        let _ = lost::follow(leg, &self.border.realms, &self.registrar);
        leg.local_cseq += 1;
        if method == b"INVITE" {
            leg.invite_cseq = leg.local_cseq;
        }
        let Some(listener) = self.border.realms.listener(leg.flow.port) else { return false };
        let Some((client, branch)) = self.transactions.reserve() else { return false };
        let flow = leg.flow;
        self.egress.send(now, flow, Some(trail), out, |buffer| {
            begin(buffer, method, leg, listener, &branch, 70);
            write::cseq(buffer, leg.local_cseq, method);
            let contact = [b"<sip:", &listener.uri_host[..], b">"].concat();
            write::line(buffer, "Contact", &contact);
            end(buffer, body);
        });
        let Some((_, bytes)) = out.last() else {
            self.transactions.release(client);
            return false;
        };
        self.egress.metrics.add(Metric::RequestsRelayed, 1);
        let is_stream = flow.transport.is_stream();
        self.transactions.start_client(now, client, flow, is_stream, bytes, user);
        true
    }

    /// Acknowledges the last INVITE of ours on a leg; the ACK as it was sent.
    fn ack_leg(
        &mut self,
        now: Time,
        place: (Key, Side),
        body: Body<'_>,
        out: &mut Effects,
    ) -> Option<Box<[u8]>> {
        let (key, side) = place;
        let call = self.calls.table.at(key)?;
        let leg = call.leg(side);
        let listener = self.border.realms.listener(leg.flow.port)?;
        let branch = ack_branch(call.check(side), leg.invite_cseq);
        self.egress.send(now, leg.flow, Some(call.trail()), out, |buffer| {
            begin(buffer, b"ACK", leg, listener, &branch, 70);
            write::cseq(buffer, leg.invite_cseq, b"ACK");
            end(buffer, body);
        });
        out.last().map(|(_, bytes)| bytes.into())
    }
}

fn end(buffer: &mut Vec<u8>, body: Body<'_>) {
    let Some((kind, body)) = body else { return write::no_body(buffer) };
    write::line(buffer, "Content-Type", kind.as_bytes());
    write::content_length(buffer, body.len());
    buffer.extend_from_slice(b"\r\n");
    buffer.extend_from_slice(body);
}
