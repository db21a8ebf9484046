//! How connections end, and what follows: NOTIFICATION, stale routes, the time in Idle.

use super::effects::{Cause, ConnectionId, Indication, Out};
use super::{Connection, FAILURES_MAX, MESSAGE_BYTES_MAX, Phase, Session, TIME_MIN};
use crate::codec::{
    Cease, MessageType, Notice, Violation, write_communication, write_notification,
};
use crate::family::FamilySet;
use machine::Time;

impl Session {
    /// The operator does not want the session any more.
    pub(super) fn stop(&mut self, now: Time, cease: Cease, text: Option<&str>, out: &mut Vec<Out>) {
        self.is_wanted = false;
        let mut data = Vec::new();
        if matches!(cease, Cease::AdministrativeShutdown | Cease::AdministrativeReset) {
            text.into_iter().for_each(|text| write_communication(text, &mut data));
        }
        let ids: Vec<ConnectionId> = self.connections().collect();
        for id in ids {
            self.refuse(now, id, Notice::cease(cease), &data, out);
        }
        self.abandon(out);
        (self.idle_hold, self.failures) = (None, 0);
        self.retained.drop_all(out);
    }

    /// Ends a connection with a NOTIFICATION.
    pub(super) fn refuse(
        &mut self,
        now: Time,
        id: ConnectionId,
        notice: Notice,
        data: &[u8],
        out: &mut Vec<Out>,
    ) {
        let Some(index) = self.index(id) else { return };
        // Before OpenSent nothing was said, and nothing is said now (RFC 4271 §8.2.2).
        if self.connections[index].phase != Phase::DelayOpen {
            let negotiated = self.connections[index].negotiated.as_ref();
            let message_max = negotiated.map_or(MESSAGE_BYTES_MAX, |it| it.message_max);
            let mut message = Vec::with_capacity(64);
            write_notification(notice, data, message_max, &mut message);
            out.push(Out::Send(id, message));
            self.count_sent(MessageType::Notification);
        }
        self.end(now, id, Cause::Sent(notice), out);
    }

    /// Ends a connection for what the peer sent.
    pub(super) fn offended(
        &mut self,
        now: Time,
        id: ConnectionId,
        violation: &Violation,
        message: &[u8],
        out: &mut Vec<Out>,
    ) {
        let mut data = Vec::new();
        violation.write_data(message, &mut data);
        out.push(Out::Indicate(Indication::Offended(*violation)));
        self.refuse(now, id, violation.notice, &data, out);
    }

    /// The transport ended a connection.
    pub(super) fn closed(&mut self, now: Time, id: ConnectionId, out: &mut Vec<Out>) {
        self.end(now, id, Cause::Lost, out);
    }

    pub(super) fn hold_expired(&mut self, now: Time, id: ConnectionId, out: &mut Vec<Out>) {
        self.counters.hold_expired += 1;
        self.refuse(now, id, Notice::HOLD_TIMER_EXPIRED, &[], out);
    }

    pub(super) fn send_hold_expired(&mut self, now: Time, id: ConnectionId, out: &mut Vec<Out>) {
        self.counters.send_hold_expired += 1;
        self.refuse(now, id, Notice::SEND_HOLD_TIMER_EXPIRED, &[], out);
    }

    /// Ends a connection that is known.
    pub(super) fn end(&mut self, now: Time, id: ConnectionId, cause: Cause, out: &mut Vec<Out>) {
        let Some(index) = self.index(id) else { return };
        let connection = self.connections.swap_remove(index);
        if cause != Cause::Lost {
            out.push(Out::Close(id));
        }
        let is_failure = is_failure(&connection, &cause);
        if connection.phase == Phase::Established {
            self.counters.dropped += 1;
            // Who was up for long begins with the shortest time in Idle again.
            if now.since(connection.established_at) >= self.settings.idle_hold_max {
                self.failures = 0;
            }
            self.down(now, &connection, cause, out);
        } else {
            out.push(Out::Indicate(Indication::Failed(cause)));
        }
        self.settle(now, is_failure);
    }

    fn down(&mut self, now: Time, connection: &Connection, cause: Cause, out: &mut Vec<Out>) {
        let negotiated = connection.negotiated.as_deref();
        let graceful = negotiated.filter(|it| self.is_wanted && outlives(&cause, it));
        let at = out.len();
        let families = match graceful {
            Some(negotiated) => self.retained.begin(now, negotiated, out),
            None => FamilySet::EMPTY,
        };
        if families.is_empty() {
            self.retained.drop_all(out);
        }
        // What became stale is told before what becomes of it.
        out.insert(at, Out::Indicate(Indication::Down(cause, families)));
    }

    /// After a connection ended: what comes next, if none is left.
    fn settle(&mut self, now: Time, is_failure: bool) {
        if !self.is_wanted || !self.connections.is_empty() || self.is_connecting {
            return;
        }
        if is_failure {
            let doubled = self.settings.idle_hold * (1 << self.failures.min(FAILURES_MAX));
            let time = doubled.min(self.settings.idle_hold_max);
            self.failures = (self.failures + 1).min(FAILURES_MAX);
            self.connect_retry = None;
            self.idle_hold = Some(now + self.random.jitter(time.max(TIME_MIN)));
        } else if !self.settings.passive && self.connect_retry.is_none() {
            self.arm_connect_retry(now);
        }
    }
}

/// Whether the session waits in Idle afterwards: not for a connection that was lost before the
/// peer's OPEN (RFC 4271 §8.2.2, event 18 in OpenSent).
fn is_failure(connection: &Connection, cause: &Cause) -> bool {
    match cause {
        Cause::Lost | Cause::Replaced => connection.phase >= Phase::OpenConfirm,
        Cause::Sent(_) | Cause::Received(..) => true,
    }
}

/// Whether routes outlive an end like that (RFC 4724 §4.2, RFC 8538 §2).
fn outlives(cause: &Cause, negotiated: &super::Negotiated) -> bool {
    let is_soft = |notice: &Notice| negotiated.notification_restart && !notice.is(Cease::HardReset);
    match cause {
        Cause::Lost | Cause::Replaced => true,
        Cause::Sent(notice) => {
            is_soft(notice)
                && matches!(*notice, Notice::HOLD_TIMER_EXPIRED | Notice::SEND_HOLD_TIMER_EXPIRED)
        }
        Cause::Received(notice, _) => is_soft(notice),
    }
}
