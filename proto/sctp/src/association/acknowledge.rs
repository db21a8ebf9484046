//! A SACK came: what is acknowledged, what lacks, and what that does to the paths
//! (RFC 9260 §6.2.1, §6.3.2, §7.2).

use super::Association;
use super::congestion::Acknowledged;
use super::outbound::Flight;
use crate::codec::{Cause, Sack};
use crate::effects::{Context, Lost};
use crate::id::unwrap32;

/// Reports that a chunk lacks after which it is retransmitted (RFC 9260 §7.2.4).
const MISSES_MAX: u8 = 3;

impl Association {
    /// Takes a SACK.
    pub(super) fn sack(&mut self, cx: &mut Context<'_>, sack: &Sack<'_>) {
        let cumulative = unwrap32(self.outbound.first, sack.cumulative_tsn_ack);
        if cumulative + 1 < self.outbound.first {
            return; // an older SACK that was overtaken
        }
        if cumulative >= self.outbound.next_tsn() {
            if self.reconfig.is_resetting() {
                return; // the peer counts anew already
            }
            return self.violate(cx, "a TSN is acknowledged that was never sent");
        }
        for path in self.paths.iter_mut() {
            path.acknowledged =
                Acknowledged { flight_before: path.congestion.flight, ..Acknowledged::default() };
        }
        let has_advanced = cumulative >= self.outbound.first;
        self.acknowledge_to(cx, cumulative);
        let was_recovering = self.outbound.recovery.exit.is_some();
        self.outbound.recovery.exit = self.outbound.recovery.exit.filter(|exit| cumulative < *exit);
        let mut lacking_to = None;
        if !sack.gaps.is_empty() || self.outbound.recovery.gaps_to > 0 {
            let Some(highest_new) = self.gaps(cx, sack) else {
                return self.violate(cx, "a gap block reaches beyond what was sent");
            };
            let counts_all = was_recovering && has_advanced;
            lacking_to =
                if counts_all { Some(self.outbound.recovery.gaps_to) } else { highest_new };
        }
        self.outbound.peer_rwnd = sack.a_rwnd as usize;
        // Windows grow before a loss makes them smaller (§7.2.4).
        let is_recovering = self.outbound.recovery.exit.is_some();
        self.paths.iter_mut().for_each(|path| path.grow(is_recovering));
        if let Some(end) = lacking_to {
            self.count_misses(end);
        }
        self.settle_paths(cx);
        let first = self.outbound.ring.front();
        if first.is_some_and(|first| first.payload.len() > self.outbound.peer_rwnd) {
            // A peer without room that answers is alive (RFC 9260 §6.1 A).
            self.paths.errors = 0;
            let busy = self.paths.iter_mut().filter(|path| path.congestion.flight > 0);
            busy.for_each(|path| path.errors = 0);
        }
        self.outbound.advance_ack_point(self.agreed.forward_tsn);
    }

    /// Takes the chunks up to the Cumulative TSN Ack out of the ring.
    pub(super) fn acknowledge_to(&mut self, cx: &mut Context<'_>, cumulative: u64) {
        let header = self.outbound.header_bytes();
        while self.outbound.first <= cumulative {
            let Some(entry) = self.outbound.ring.pop_front() else { break };
            let (tsn, bytes) = (self.outbound.first, entry.payload.len());
            self.outbound.first += 1;
            self.outbound.held -= bytes;
            self.outbound.unreliable -= usize::from(entry.is_unreliable());
            self.outbound.recovery.gaps_to = self.outbound.recovery.gaps_to.saturating_sub(1);
            if matches!(entry.flight, Flight::Marked(_)) {
                self.outbound.marked -= 1;
            }
            self.outbound.marked_from = self.outbound.marked_from.saturating_sub(1);
            let path = &mut self.paths[usize::from(entry.path)];
            if entry.flight == Flight::Outstanding {
                path.congestion.flight -= entry.chunk_bytes(header);
                self.outbound.outstanding -= bytes;
            }
            if !matches!(entry.flight, Flight::Acked | Flight::Abandoned) {
                path.acknowledged.bytes += entry.chunk_bytes(header);
                path.acknowledged.earliest = true;
                path.acknowledged.is_certain |= !entry.was_elsewhere;
            }
            if path.timed == Some(tsn) {
                path.timed = None;
                if entry.transmissions == 1 && entry.flight == Flight::Outstanding {
                    path.measured(cx.now.since(entry.sent_at));
                }
            }
        }
    }

    /// Goes through the ring as far as Gap Ack Blocks reach, or reached before; the highest entry
    /// that is new among them. `None`: a block reaches beyond what was sent.
    fn gaps(&mut self, cx: &Context<'_>, sack: &Sack<'_>) -> Option<Option<usize>> {
        let offset = self.outbound.first; // index 0 of the ring, distance 1 from the ack
        debug_assert_eq!(crate::id::low32(offset), sack.cumulative_tsn_ack.wrapping_add(1));
        let len = self.outbound.ring.len();
        let reach = sack.gaps.iter().map(|(_, last)| usize::from(last)).max().unwrap_or(0);
        if reach > len {
            return None;
        }
        let mut blocks = sack.gaps.iter().filter(|(first, last)| first <= last && *first > 0);
        let mut block = blocks.next();
        let mut highest_new = None;
        for index in 0..reach.max(self.outbound.recovery.gaps_to.min(len)) {
            while block.is_some_and(|(_, last)| usize::from(last) <= index) {
                block = blocks.next();
            }
            let is_acked = block.is_some_and(|(first, _)| usize::from(first) <= index + 1);
            match (is_acked, self.outbound.ring[index].flight) {
                (true, Flight::Outstanding | Flight::Marked(_)) => {
                    self.acknowledge_gap(cx, index);
                    highest_new = Some(index);
                }
                (false, Flight::Acked) => self.renege(cx, index),
                (false, Flight::Outstanding) => {
                    let path = usize::from(self.outbound.ring[index].path);
                    self.paths[path].acknowledged.has_earlier = true;
                }
                _ => {}
            }
        }
        self.outbound.recovery.gaps_to = reach;
        Some(highest_new)
    }

    fn acknowledge_gap(&mut self, cx: &Context<'_>, index: usize) {
        let tsn = self.outbound.first + index as u64;
        let chunk_bytes = self.outbound.chunk_bytes(index);
        let entry = &mut self.outbound.ring[index];
        let (bytes, was) = (entry.payload.len(), entry.flight);
        entry.flight = Flight::Acked;
        entry.misses = 0;
        let path = &mut self.paths[usize::from(entry.path)];
        path.acknowledged.bytes += chunk_bytes;
        path.acknowledged.earliest |= !path.acknowledged.has_earlier;
        path.acknowledged.is_certain |= !entry.was_elsewhere;
        if was == Flight::Outstanding {
            path.congestion.flight -= chunk_bytes;
            self.outbound.outstanding -= bytes;
        } else {
            self.outbound.marked -= 1;
        }
        if path.timed == Some(tsn) {
            path.timed = None;
            if entry.transmissions == 1 && was == Flight::Outstanding {
                path.measured(cx.now.since(entry.sent_at));
            }
        }
    }

    /// The peer has dropped what it had reported: it is on its way again, and lacks once (RFC 9260
    /// §6.2.1 D iii, §6.3.2 R4).
    fn renege(&mut self, cx: &Context<'_>, index: usize) {
        let chunk_bytes = self.outbound.chunk_bytes(index);
        let entry = &mut self.outbound.ring[index];
        entry.flight = Flight::Outstanding;
        entry.misses = 1;
        let path = &mut self.paths[usize::from(entry.path)];
        path.congestion.flight += chunk_bytes;
        self.outbound.outstanding += entry.payload.len();
        path.t3_rtx.get_or_insert(cx.now + path.rto);
        path.acknowledged.has_earlier = true;
    }

    /// Chunks before `end` that are not acknowledged lack once more; three times, and they are
    /// retransmitted, and the window of their path is halved once (RFC 9260 §7.2.4).
    fn count_misses(&mut self, end: usize) {
        let mut halved = [false; super::PATHS_MAX];
        let mut has_lost = false;
        for index in 0..end.min(self.outbound.ring.len()) {
            let entry = &mut self.outbound.ring[index];
            if entry.flight != Flight::Outstanding || entry.transmissions > 1 {
                continue;
            }
            entry.misses += 1;
            if entry.misses >= MISSES_MAX && !entry.was_fast {
                let (path, bytes) = self.outbound.mark(index, true);
                self.paths[path].congestion.flight -= bytes;
                self.paths[path].timed = None;
                halved[path] = true;
                has_lost = true;
            }
        }
        if has_lost && self.outbound.recovery.exit.is_none() {
            self.outbound.recovery.may_burst = true;
            let lost = self.paths.iter_mut().zip(halved).filter(|(_, is_lost)| *is_lost);
            lost.for_each(|(path, _)| path.congestion.halve(path.pmdcs()));
            self.outbound.recovery.exit = Some(self.outbound.next_tsn() - 1);
        }
    }

    /// Timers and errors of every path after the SACK.
    fn settle_paths(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.paths.len() {
            let path = &mut self.paths[index];
            let acknowledged = path.acknowledged;
            path.congestion.is_alone &= path.acknowledged.bytes == 0;
            if path.congestion.flight == 0 {
                path.t3_rtx = None;
            } else if path.acknowledged.earliest {
                path.t3_rtx = Some(cx.now + path.rto);
            }
            if acknowledged.bytes > 0 {
                self.paths.errors = 0;
                // Which of two paths brought a retransmission is not known: it says nothing good of
                // the last one (RFC 9260 §8.2, RFC 7829 §4.2 item 8). Otherwise a lost SACK of what
                // the other path has brought makes a dead one live twice as long.
                if acknowledged.is_certain {
                    self.answered(cx, index);
                }
            }
        }
    }

    /// The peer broke the rules: ABORT with the words (RFC 9260 §3.3.10.13).
    pub(super) fn violate(&mut self, cx: &mut Context<'_>, what: &'static str) {
        let mut causes = Vec::new();
        Cause::ProtocolViolation(what.as_bytes()).write(&mut causes);
        self.abort(cx, &causes, Lost::ProtocolViolation(what));
    }
}
