//! Heartbeats: a path that is idle, doubtful or unconfirmed is asked (RFC 9260 §5.4, §8.3;
//! RFC 7829 §3.1).

use super::path::Probe;
use super::{Association, PathState, State};
use crate::codec::{Chunk, ChunkType, HEADER_BYTES};
use crate::effects::{Context, Indication};
use machine::Duration;

/// Octets of our Heartbeat Info: nonce and time of sending.
const INFO_BYTES: usize = 16;
/// Octets of HEARTBEAT with our Heartbeat Info.
const HEARTBEAT_BYTES: usize = 24;

impl Association {
    /// Every path begins to be asked; unconfirmed ones at once (HB.Max.Burst of them).
    pub(super) fn begin_heartbeats(&mut self, cx: &mut Context<'_>) {
        let burst = usize::from(self.parameters.hb_max_burst.max(1));
        let (mut delay, mut count) = (Duration::ZERO, 0);
        for index in 0..self.paths.len() {
            if self.paths[index].state == PathState::Unconfirmed {
                self.paths[index].next_heartbeat = Some(cx.now + delay);
                count += 1;
                if count % burst == 0 {
                    delay += self.paths[index].rto;
                }
            } else {
                self.schedule_heartbeat(cx, index);
            }
        }
    }

    /// Time between two heartbeats: HB.interval, plus RTO with a jitter of half of it either way
    /// (RFC 9260 §8.3); RTO alone for a doubtful path.
    fn heartbeat_period(&self, cx: &mut Context<'_>, index: usize) -> Option<Duration> {
        let path = &self.paths[index];
        let rto = path.rto;
        match path.state {
            PathState::PotentiallyFailed => Some(rto),
            // Who never answers is asked as rarely as anyone else (§5.4).
            PathState::Unconfirmed if path.errors <= path.parameters.path_max_retrans => Some(rto),
            PathState::Active | PathState::Inactive | PathState::Unconfirmed => {
                let jitter = rto.mul_f64((cx.random.word() >> 8) as f64 / f64::from(1 << 24));
                Some(path.parameters.hb_interval? + rto / 2 + jitter)
            }
        }
    }

    pub(super) fn schedule_heartbeat(&mut self, cx: &mut Context<'_>, index: usize) {
        let period = self.heartbeat_period(cx, index);
        self.paths[index].next_heartbeat = period.map(|period| cx.now + period);
    }

    /// A heartbeat is due on the path, unless data does its work.
    pub(super) fn heartbeat_due(&mut self, cx: &mut Context<'_>, index: usize) {
        if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            self.paths[index].next_heartbeat = None;
            return;
        }
        let path = &self.paths[index];
        if let Some(until) = path.probe.and_then(|probe| probe.until) {
            self.paths[index].next_heartbeat = Some(until);
            return;
        }
        let is_confirmed = matches!(path.state, PathState::Active | PathState::Inactive);
        let interval = path.parameters.hb_interval.unwrap_or(Duration::MAX);
        let is_busy =
            path.congestion.flight > 0 || cx.now.since(path.congestion.last_data) < interval;
        if is_confirmed && is_busy {
            return self.schedule_heartbeat(cx, index);
        }
        self.heartbeat(cx, index);
    }

    /// Sends a heartbeat at once (REQUEST HEARTBEAT too).
    pub(crate) fn heartbeat(&mut self, cx: &mut Context<'_>, index: usize) {
        let (nonce, info) = new_info(cx);
        let until = Some(cx.now + self.paths[index].rto);
        self.paths[index].probe = Some(Probe { nonce, sent_at: cx.now, until });
        self.schedule_heartbeat(cx, index);
        self.control(index, &Chunk::Heartbeat(&info));
    }

    /// The heartbeat was not answered within RTO.
    pub(super) fn heartbeat_lost(&mut self, cx: &mut Context<'_>, index: usize) {
        if let Some(probe) = &mut self.paths[index].probe {
            probe.until = None;
        }
        self.paths[index].back_off();
        // Only the path of the data tells of the association (RFC 9260 §8.1).
        let is_confirmed = self.paths[index].state != PathState::Unconfirmed;
        let is_counted = is_confirmed && index == self.paths.for_data();
        // An inactive path has errors enough (§8.3).
        let errors = Some(self.paths[index].errors);
        let errors = errors.filter(|_| self.paths[index].state == PathState::Inactive);
        self.time_out(cx, index, is_counted);
        self.paths[index].errors = errors.unwrap_or(self.paths[index].errors);
        if self.paths[index].state == PathState::PotentiallyFailed {
            self.paths[index].next_heartbeat = Some(cx.now);
        }
    }

    /// A HEARTBEAT ACK: the path works when the nonce is ours.
    pub(super) fn heartbeat_ack(&mut self, cx: &mut Context<'_>, info: &[u8]) {
        let Some((nonce, _)) = info.split_first_chunk::<8>() else { return };
        let nonce = u64::from_be_bytes(*nonce);
        if self.paths.probe_answered(cx.now, nonce) {
            return;
        }
        let is_ours = |path: &super::path::Path| path.probe.is_some_and(|it| it.nonce == nonce);
        let Some(index) = self.paths.iter().position(is_ours) else { return };
        let path = &mut self.paths[index];
        if let Some(probe) = path.probe.take() {
            path.measured(cx.now.since(probe.sent_at));
        }
        if path.state == PathState::Unconfirmed {
            path.state = PathState::Active;
            path.errors = 0;
            path.begin_search(cx.now);
            let address = path.address;
            self.paths.have_changed = true; // the address is its own from now on
            cx.indicate(Indication::NetworkStatusChange(address, PathState::Active));
            self.schedule_heartbeat(cx, index);
        }
        self.paths.errors = 0;
        self.answered(cx, index);
    }

    /// The peer has answered on the path.
    pub(super) fn answered(&mut self, cx: &mut Context<'_>, index: usize) {
        if self.paths[index].answered() {
            let address = self.paths[index].address;
            cx.indicate(Indication::NetworkStatusChange(address, PathState::Active));
            self.schedule_heartbeat(cx, index);
        }
    }

    /// A probe of the PMTU is due, or lost.
    pub(super) fn search_due(&mut self, cx: &mut Context<'_>, index: usize) {
        let is_established = self.state == State::Established;
        let Some(size) = self.paths[index].next_probe(cx.now, is_established) else { return };
        let (nonce, info) = new_info(cx);
        let path = &mut self.paths[index];
        path.probe_sent(cx.now, size, nonce);
        let length = path.packet_bytes_of(size);
        let auth = self.auth_bytes(ChunkType::Heartbeat.number());
        let pad = length.saturating_sub(HEADER_BYTES + auth + HEARTBEAT_BYTES + 4);
        self.send_probe(cx, index, &[Chunk::Heartbeat(&info), Chunk::Pad(pad)]);
    }
}

/// A nonce, and the Heartbeat Info that has it.
fn new_info(cx: &mut Context<'_>) -> (u64, [u8; INFO_BYTES]) {
    let nonce = cx.random.long();
    (nonce, (u128::from(nonce) << 64 | u128::from(cx.now.as_nanos())).to_be_bytes())
}
