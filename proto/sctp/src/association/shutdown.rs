//! The end in order (RFC 9260 §9.2), T2-shutdown and T5-shutdown-guard.

use super::{Association, State};
use crate::codec::Chunk;
use crate::effects::{Context, Indication};
use crate::id::unwrap32;
use machine::Time;

/// T5-shutdown-guard is this many times RTO.Max (RFC 9260 §9.2).
const GUARD: u32 = 5;

/// The timers of the end.
#[derive(Debug, Default)]
pub(super) struct Ending {
    pub(super) t2: Option<Time>,
    pub(super) t5_guard: Option<Time>,
}

impl Association {
    /// SHUTDOWN is wanted (RFC 9260 §11.1.3).
    pub(crate) fn shut_down(&mut self, cx: &mut Context<'_>) {
        match self.state {
            State::CookieWait | State::CookieEchoed => {
                self.abort(cx, &[], crate::effects::Lost::UserAborted);
            }
            State::Established => {
                self.state = State::ShutdownPending;
                self.flush(cx);
            }
            _ => {}
        }
    }

    /// Goes on with the shutdown when everything is acknowledged.
    pub(super) fn shut_down_when_done(&mut self, cx: &mut Context<'_>) {
        if !self.outbound.is_empty() {
            return;
        }
        match self.state {
            State::ShutdownPending => {
                self.state = State::ShutdownSent;
                let guard = self.parameters.path.rto_max * GUARD;
                self.ending.t5_guard = Some(cx.now + guard);
                self.send_shutdown(cx);
            }
            State::ShutdownReceived => {
                self.state = State::ShutdownAckSent;
                self.send_shutdown(cx);
            }
            _ => {}
        }
    }

    /// Sends SHUTDOWN or SHUTDOWN ACK, as the state says, and starts T2-shutdown.
    pub(super) fn send_shutdown(&mut self, cx: &mut Context<'_>) {
        let chunk = match self.state {
            State::ShutdownSent => Chunk::Shutdown {
                cumulative_tsn_ack: crate::id::low32(self.inbound.received.cumulative()),
            },
            _ => Chunk::ShutdownAck,
        };
        self.send_on(cx, self.paths.for_data(), &chunk);
        self.start_t2(cx.now);
    }

    pub(super) fn start_t2(&mut self, now: Time) {
        self.ending.t2 = Some(now + self.paths[self.paths.for_data()].rto);
    }

    /// T2-shutdown expired.
    pub(super) fn t2_expired(&mut self, cx: &mut Context<'_>) {
        self.ending.t2 = None;
        let path = self.paths.for_data();
        self.paths[path].back_off();
        self.time_out(cx, path, true);
        if self.state != State::Closed {
            self.send_shutdown(cx);
        }
    }

    /// A SHUTDOWN came.
    pub(super) fn shutdown(&mut self, cx: &mut Context<'_>, cumulative_tsn_ack: u32) {
        if matches!(self.state, State::CookieWait | State::CookieEchoed) {
            return;
        }
        let cumulative = unwrap32(self.outbound.first, cumulative_tsn_ack);
        if cumulative >= self.outbound.next_tsn() {
            return self.violate(cx, "a TSN is acknowledged that was never sent");
        }
        match self.state {
            State::Established | State::ShutdownPending => self.state = State::ShutdownReceived,
            State::ShutdownSent => {
                self.state = State::ShutdownAckSent;
                return self.send_shutdown(cx);
            }
            State::ShutdownReceived => {}
            _ => return,
        }
        let sack = crate::codec::Sack {
            cumulative_tsn_ack,
            a_rwnd: u32::try_from(self.outbound.peer_rwnd).unwrap_or(u32::MAX),
            gaps: crate::codec::Gaps::EMPTY,
            duplicates: crate::codec::Words::EMPTY,
        };
        // Gap reports of the last SACK still hold: only the cumulative part is new.
        if cumulative >= self.outbound.first {
            let gaps_to = core::mem::take(&mut self.outbound.recovery.gaps_to);
            self.sack(cx, &sack);
            self.outbound.recovery.gaps_to = gaps_to.min(self.outbound.ring.len());
        }
    }

    /// A SHUTDOWN ACK came.
    pub(super) fn shutdown_ack(&mut self, cx: &mut Context<'_>, from: usize) {
        if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            let path = self.paths.for_reply(from);
            self.send_on(cx, path, &Chunk::ShutdownComplete { is_reflected: false });
            self.complete(cx);
        }
    }

    /// A SHUTDOWN COMPLETE came.
    pub(super) fn shutdown_complete(&mut self, cx: &mut Context<'_>) {
        if self.state == State::ShutdownAckSent {
            self.complete(cx);
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>) {
        self.state = State::Closed;
        cx.indicate(Indication::ShutdownComplete);
    }
}
