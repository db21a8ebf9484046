//! Time passes: T1, T2, T3, T5, the SACK timer and heartbeats, with what a time-out means for a
//! path and for the association (RFC 9260 §6.3.3, §8.1, §8.2).

use super::outbound::Flight;
use super::{Association, PathState, State};
use crate::effects::{Context, Indication, Lost};
use machine::Time;

fn is_due(timer: Option<Time>, now: Time) -> bool {
    timer.is_some_and(|at| at <= now)
}

impl Association {
    /// The earliest of all timers.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let hold = self.reconfig.hold_until;
        let shutdown = [self.ending.t2, self.ending.t5_guard];
        let own = [self.handshake.t1, self.inbound.sacking.until, self.outbound.window_probe, hold];
        let others = self.reconfig.deadline().into_iter().chain(self.asconf.deadline());
        own.into_iter().chain(shutdown).flatten().chain(others).chain(self.paths.deadline()).min()
    }

    /// Fires what is due.
    pub(crate) fn tick(&mut self, cx: &mut Context<'_>) {
        if is_due(self.ending.t5_guard, cx.now) {
            return self.abort(cx, &[], Lost::Unreachable);
        }
        if is_due(self.handshake.t1, cx.now) {
            self.t1_expired(cx);
        }
        if is_due(self.ending.t2, cx.now) {
            self.t2_expired(cx);
        }
        if is_due(self.inbound.sacking.until, cx.now) {
            self.inbound.sacking.is_due = true;
        }
        if is_due(self.reconfig.hold_until, cx.now) {
            self.reconfig.hold_until = None;
        }
        if self.state != State::Closed && is_due(self.reconfig.deadline(), cx.now) {
            self.request_expired(cx);
        }
        if self.state != State::Closed && is_due(self.asconf.deadline(), cx.now) {
            self.t4_expired(cx);
        }
        for index in 0..self.paths.len() {
            if self.state == State::Closed {
                return;
            }
            self.tick_path(cx, index);
        }
        if self.state != State::Closed {
            self.flush(cx);
        }
        // The window has opened meanwhile, or nothing waits for it: there is nothing to probe.
        if is_due(self.outbound.window_probe, cx.now) {
            self.outbound.window_probe = None;
        }
    }

    fn tick_path(&mut self, cx: &mut Context<'_>, index: usize) {
        if is_due(self.paths[index].t3_rtx, cx.now) {
            self.t3_expired(cx, index);
        }
        let probe = self.paths[index].probe.and_then(|probe| probe.until);
        if self.state != State::Closed && is_due(probe, cx.now) {
            self.heartbeat_lost(cx, index);
        }
        if self.state != State::Closed && is_due(self.paths[index].next_heartbeat, cx.now) {
            self.heartbeat_due(cx, index);
        }
        if self.state != State::Closed && is_due(self.paths[index].search.next, cx.now) {
            self.search_due(cx, index);
        }
    }

    /// T3-rtx of the path expired (RFC 9260 §6.3.3): the window collapses, RTO doubles, and
    /// everything on the path is to be sent again, one packet of it at once.
    fn t3_expired(&mut self, cx: &mut Context<'_>, index: usize) {
        self.paths[index].t3_rtx = None;
        self.paths[index].timed = None;
        let path = &mut self.paths[index];
        path.congestion.collapse(path.pmdcs());
        self.paths[index].back_off();
        for entry in 0..self.outbound.ring.len() {
            let sent = &self.outbound.ring[entry];
            if usize::from(sent.path) == index && sent.flight == Flight::Outstanding {
                self.outbound.mark(entry, false);
            }
        }
        self.paths[index].congestion.flight = 0;
        self.outbound.recovery.may_burst = true;
        self.outbound.is_forward_due |= self.outbound.advanced >= self.outbound.first;
        self.time_out(cx, index, true);
        if self.state != State::Closed {
            self.paths[index].suspect_black_hole(cx.now);
        }
    }

    /// Counts a time-out on the path, and on the association when `is_counted` (RFC 9260 §8.1,
    /// §8.2).
    pub(super) fn time_out(&mut self, cx: &mut Context<'_>, index: usize, is_counted: bool) {
        if is_counted {
            self.paths.errors = self.paths.errors.saturating_add(1);
            if self.paths.errors > self.parameters.association_max_retrans {
                return self.lose(cx, Lost::Unreachable);
            }
        }
        if self.paths[index].failed() {
            let path = &self.paths[index];
            cx.indicate(Indication::NetworkStatusChange(path.address, path.state));
            if path.state == PathState::PotentiallyFailed {
                self.paths[index].next_heartbeat = Some(cx.now);
            }
        }
        let limit = self.parameters.primary_switchover_max_retrans;
        if index == self.paths.primary
            && limit.is_some_and(|limit| self.paths[index].errors > limit)
        {
            let is_active = |path: &super::path::Path| path.state == PathState::Active;
            self.paths.primary = self.paths.iter().position(is_active).unwrap_or(index);
        }
    }
}
