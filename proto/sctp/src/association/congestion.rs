//! Congestion control of a path (RFC 9260 §6.1, §7.2): what may be on its way.
//! `pmdcs` is the Path Maximum DATA Chunk Size, chunk header included (§2.3).

use machine::{Duration, Time};

/// What one SACK did to a path.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acknowledged {
    pub(crate) bytes: usize,
    pub(crate) flight_before: usize,
    /// Something was acknowledged that was never sent over another path.
    pub(crate) is_certain: bool,
    /// The earliest outstanding TSN of the path was acknowledged.
    pub(crate) earliest: bool,
    /// A TSN before the one looked at is still outstanding on the path.
    pub(crate) has_earlier: bool,
}

/// What a path may carry, and what it carries.
#[derive(Debug)]
pub(crate) struct Congestion {
    pub(crate) cwnd: usize,
    pub(crate) ssthresh: usize,
    partial_bytes_acked: usize,
    /// Octets of chunks of user data outstanding on the path, with header and padding.
    pub(crate) flight: usize,
    /// Up to where `flight` may grow in the flush at hand.
    pub(crate) allowed: usize,
    /// T3-rtx has expired and nothing was acknowledged since: no more than one packet may be on
    /// its way (RFC 9260 §7.2.3).
    pub(crate) is_alone: bool,
    pub(crate) last_data: Time,
    /// Up to when silence has shrunk the window.
    decayed_at: Time,
}

impl Congestion {
    /// Of a path on which nothing was sent yet; its first window is the path's to say.
    pub(crate) const fn new(now: Time) -> Self {
        Self {
            cwnd: 0,
            ssthresh: usize::MAX,
            partial_bytes_acked: 0,
            flight: 0,
            allowed: 0,
            is_alone: false,
            last_data: now,
            decayed_at: now,
        }
    }

    /// T3-rtx expired (RFC 9260 §7.2.3).
    pub(crate) fn collapse(&mut self, pmdcs: usize) {
        self.ssthresh = (self.cwnd / 2).max(4 * pmdcs);
        self.cwnd = pmdcs;
        self.partial_bytes_acked = 0;
        self.is_alone = true;
    }

    /// A packet was lost and others came through (RFC 9260 §7.2.4 step 2).
    pub(crate) fn halve(&mut self, pmdcs: usize) {
        self.ssthresh = (self.cwnd / 2).max(4 * pmdcs);
        self.cwnd = self.ssthresh;
        self.partial_bytes_acked = 0;
    }

    /// A SACK acknowledged something (RFC 9260 §7.2.1, §7.2.2).
    pub(crate) fn grow(&mut self, by: &Acknowledged, pmdcs: usize, is_recovering: bool) {
        let &Acknowledged { bytes, flight_before, .. } = by;
        if bytes == 0 {
            return;
        }
        let is_full = flight_before >= self.cwnd;
        if self.cwnd <= self.ssthresh {
            if is_full && !is_recovering {
                self.cwnd += bytes.min(pmdcs);
            }
            return;
        }
        self.partial_bytes_acked += bytes;
        if is_full && self.partial_bytes_acked >= self.cwnd {
            self.partial_bytes_acked -= self.cwnd;
            self.cwnd += pmdcs;
        } else if !is_full {
            self.partial_bytes_acked = self.partial_bytes_acked.min(self.cwnd);
        }
        if self.flight == 0 {
            self.partial_bytes_acked = 0;
        }
    }

    /// Data is to be sent after silence: the window shrinks by half for each RTO of it
    /// (RFC 9260 §7.2.1).
    pub(crate) fn wake(&mut self, now: Time, rto: Duration, pmdcs: usize) {
        if self.flight > 0 {
            return;
        }
        let least = (4 * pmdcs).min(self.cwnd);
        let mut from = self.decayed_at.max(self.last_data);
        if now.since(from) >= rto {
            self.ssthresh = self.cwnd;
        }
        while now.since(from) >= rto && self.cwnd > least {
            self.cwnd = (self.cwnd / 2).max(least);
            from += rto;
        }
        self.decayed_at = from;
    }

    /// The largest window that Max.Burst allows now (RFC 9260 §6.1 D).
    pub(crate) fn window(&self, max_burst: Option<u16>, pmdcs: usize) -> usize {
        if self.is_alone && self.flight > 0 {
            return 0;
        }
        match max_burst {
            Some(packets) => {
                self.cwnd.min(self.flight.saturating_add(usize::from(packets) * pmdcs))
            }
            None => self.cwnd,
        }
    }
}
