//! What the peer sends: messages out of a stream, each by the phase of its connection.

use super::effects::{Cause, ConnectionId, Indication, Out};
use super::negotiate::negotiate;
use super::{Phase, Session};
use crate::codec::{
    Framing, FsmError, MessageType, Notice, Notification, Open, Refresh, RefreshKind, Violation,
    frame,
};
use machine::Time;

impl Session {
    /// Takes octets that came on a connection: how many of them it has done with. What is left
    /// begins a message that is not whole, and must come again in front of what follows.
    ///
    /// UPDATEs are told as ranges of `bytes`, in the order of all effects.
    pub fn receive(
        &mut self,
        now: Time,
        id: ConnectionId,
        bytes: &[u8],
        out: &mut Vec<Out>,
    ) -> usize {
        let (mut at, mut updates) = (0, 0..0);
        while let Some(index) = self.index(id) {
            match frame(&bytes[at..], self.connections[index].message_max) {
                Framing::Partial => break,
                Framing::Message(MessageType::Update, message)
                    if self.connections[index].phase == Phase::Established =>
                {
                    self.counters.received[MessageType::Update as usize] += 1;
                    if updates.start == updates.end {
                        updates.start = at;
                    }
                    at += message.len();
                    updates.end = at;
                }
                Framing::Message(kind, message) => {
                    hand_on(id, &mut updates, out);
                    at += message.len();
                    self.message(now, id, kind, message, out);
                }
                Framing::Broken(violation) => {
                    hand_on(id, &mut updates, out);
                    self.offended(now, id, &violation, &bytes[at..], out);
                }
            }
        }
        hand_on(id, &mut updates, out);
        self.counters.received_bytes += at as u64;
        match self.index(id) {
            Some(index) if at > 0 && self.connections[index].phase >= Phase::OpenConfirm => {
                self.connections[index].lives(now);
            }
            Some(_) => {}
            None => at = bytes.len(),
        }
        self.tell_state(out);
        at
    }

    fn message(
        &mut self,
        now: Time,
        id: ConnectionId,
        kind: MessageType,
        message: &[u8],
        out: &mut Vec<Out>,
    ) {
        self.counters.received[kind as usize] += 1;
        let Some(index) = self.index(id) else { return };
        match (kind, self.connections[index].phase) {
            (MessageType::Notification, _) => self.notified(now, id, message, out),
            (MessageType::Open, Phase::DelayOpen | Phase::OpenSent) => {
                self.opened(now, id, message, out);
            }
            (MessageType::Keepalive, Phase::OpenConfirm) => self.establish(now, id, out),
            (MessageType::Keepalive, Phase::Established) => {}
            (MessageType::RouteRefresh, Phase::Established) => {
                self.refreshed(now, id, message, out);
            }
            (_, phase) => self.unexpected(now, id, phase, message, out),
        }
    }

    /// A message that the state does not take (RFC 4271 §6.6, RFC 6608 §3).
    fn unexpected(
        &mut self,
        now: Time,
        id: ConnectionId,
        phase: Phase,
        message: &[u8],
        out: &mut Vec<Out>,
    ) {
        let error = match phase {
            Phase::DelayOpen | Phase::OpenSent => FsmError::InOpenSent,
            Phase::OpenConfirm => FsmError::InOpenConfirm,
            Phase::Established => FsmError::InEstablished,
        };
        let (notice, what) = (Notice::fsm(error), "the state does not take the message");
        // RFC 6608 §4: the data is the type of the message.
        let data = crate::codec::Data::Octet(message[18]);
        let violation = Violation::reset(notice, 18, what, "RFC 6608 §4").with(data);
        self.offended(now, id, &violation, message, out);
    }

    fn notified(&mut self, now: Time, id: ConnectionId, message: &[u8], out: &mut Vec<Out>) {
        let Some(notification) = Notification::read(message) else { return };
        let text = notification.communication();
        self.end(now, id, Cause::Received(notification.notice, text), out);
    }

    fn opened(&mut self, now: Time, id: ConnectionId, message: &[u8], out: &mut Vec<Out>) {
        let negotiated = Open::read(message).and_then(|open| negotiate(&self.settings, open));
        let negotiated = match negotiated {
            Ok(negotiated) => negotiated,
            Err(violation) => {
                // A NOTIFICATION needs an OPEN before it (RFC 4271 §8.2.2, DelayOpen).
                let is_silent =
                    self.index(id).is_some_and(|it| self.connections[it].phase < Phase::OpenSent);
                if is_silent {
                    self.send_open(now, id, out);
                }
                return self.offended(now, id, &violation, message, out);
            }
        };
        if !self.collide(now, id, &negotiated, out) {
            return;
        }
        let Some(index) = self.index(id) else { return };
        if self.connections[index].phase == Phase::DelayOpen {
            self.send_open(now, id, out);
        }
        let connection = &mut self.connections[index];
        connection.phase = Phase::OpenConfirm;
        connection.hold = None;
        // RFC 8654 §3: who has not offered extended messages sends none, whatever we offered.
        connection.message_max = negotiated.message_max;
        connection.negotiated = Some(Box::new(negotiated));
        connection.lives(now);
        self.send_keepalive(now, id, out);
    }

    fn establish(&mut self, now: Time, id: ConnectionId, out: &mut Vec<Out>) {
        self.abandon(out);
        let Some(index) = self.index(id) else { return };
        let connection = &mut self.connections[index];
        connection.phase = Phase::Established;
        connection.established_at = now;
        let Some(negotiated) = connection.negotiated.clone() else { return };
        self.counters.established += 1;
        let stale = self.settings.stale;
        out.push(Out::Indicate(Indication::Up(id, negotiated.clone())));
        self.retained.back(now, &negotiated, stale, out);
    }

    fn refreshed(&mut self, now: Time, id: ConnectionId, message: &[u8], out: &mut Vec<Out>) {
        let refresh = match Refresh::read(message) {
            Ok(refresh) => refresh,
            Err(violation) => return self.offended(now, id, &violation, message, out),
        };
        let (Some(family), Some(kind)) = (refresh.family, refresh.kind) else { return };
        let Some(negotiated) = self.negotiated() else { return };
        // RFC 2918 §4: a family that was not negotiated is passed over.
        let is_taken = match kind {
            RefreshKind::Request => negotiated.context.families.has(family),
            RefreshKind::Begin | RefreshKind::End => {
                negotiated.enhanced_refresh && negotiated.context.families.has(family)
            }
        };
        if is_taken {
            out.push(Out::Indicate(Indication::Refresh(family, kind)));
        }
    }
}

/// Tells the UPDATEs that were found.
fn hand_on(id: ConnectionId, updates: &mut core::ops::Range<usize>, out: &mut Vec<Out>) {
    if updates.start != updates.end {
        out.push(Out::Updates(id, updates.clone()));
        *updates = 0..0;
    }
}
