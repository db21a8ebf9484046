//! The search for the PMTU of a path by probes of the packetization layer (RFC 8899 §5, §6.1):
//! a HEARTBEAT filled up with PAD that comes back shows that packets of its size arrive.
//!
//! ```text
//!  Base ── probe came back ──→ Searching ── nothing larger comes back ──→ SearchComplete
//!    ↑                             ↑──────────── PMTU_RAISE_TIMER ─────────────┘
//!    └── black hole: time-outs in a row with packets above BASE_PLPMTU
//! ```

use super::path::{Path, PathState};
use machine::{Duration, Time};

/// BASE_PLPMTU (RFC 8899 §5.1.2), octets of the IP packet.
const BASE_PLPMTU: usize = 1200;
/// MAX_PROBES: a size that is lost this often does not fit.
const MAX_PROBES: u8 = 3;
/// PROBE_TIMER at least (RFC 8899 §5.1.1).
const PROBE_TIMER_MIN: Duration = Duration::from_secs(1);
/// PMTU_RAISE_TIMER.
const PMTU_RAISE_TIMER: Duration = Duration::from_secs(600);
/// Time-outs in a row after which a large packet is suspected to be the cause.
const BLACK_HOLE_ERRORS: u16 = 2;
/// Sizes nearer to each other than this are not told apart, octets.
const STEP: usize = 8;

/// Where the search stands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Search {
    /// The largest size that may fit, octets; zero: no search.
    high: usize,
    /// Size and nonce of the probe that is on its way.
    probe: Option<(usize, u64)>,
    tries: u8,
    /// When the probe counts as lost, or the next one is due.
    pub(crate) next: Option<Time>,
}

impl Path {
    /// The size to try: at first the largest, then halfway; `None`: there is nothing to find.
    fn probe_size(&self) -> Option<usize> {
        let (low, high) = (self.pmtu, self.search.high);
        let is_first = usize::from(self.parameters.pmtu_max.unwrap_or(0)) == high;
        match high.saturating_sub(low) {
            0 => None,
            _ if is_first => Some(high),
            span if span < STEP => None,
            span => Some((low + span.div_ceil(2)) & !3),
        }
    }

    /// A probe is due, or lost: the size of the next one, if there is one now.
    pub(super) fn next_probe(&mut self, now: Time, is_established: bool) -> Option<usize> {
        if self.state != PathState::Active || !is_established {
            self.search.next = Some(now + PMTU_RAISE_TIMER);
            return None;
        }
        if let Some((size, _)) = self.search.probe.take() {
            self.search.tries += 1;
            if self.search.tries >= MAX_PROBES {
                self.search.tries = 0;
                self.search.high = size - 1;
            }
        }
        let size = self.probe_size();
        if size.is_none() {
            self.rest(now);
        }
        size
    }

    /// A probe of that size and nonce leaves.
    pub(super) fn probe_sent(&mut self, now: Time, size: usize, nonce: u64) {
        self.search.probe = Some((size, nonce));
        self.search.next = Some(now + self.rto.max(PROBE_TIMER_MIN));
    }

    /// Whether the nonce is that of the probe; then its size fits.
    pub(super) fn probe_answered(&mut self, now: Time, nonce: u64) -> bool {
        let Some((size, _)) = self.search.probe.filter(|probe| probe.1 == nonce) else {
            return false;
        };
        self.pmtu = self.pmtu.max(size);
        self.search.probe = None;
        self.search.tries = 0;
        self.search.next = Some(now);
        true
    }

    /// The search is over for now.
    fn rest(&mut self, now: Time) {
        self.search = Search {
            high: self.parameters.pmtu_max.map_or(0, usize::from),
            probe: None,
            tries: 0,
            next: Some(now + PMTU_RAISE_TIMER),
        };
    }

    /// Begins a search from the PMTU that is known, when there is anything to find.
    pub(crate) fn begin_search(&mut self, now: Time) {
        let high = self.parameters.pmtu_max.map_or(0, usize::from);
        let next = (high > self.pmtu).then_some(now);
        self.search = Search { high, probe: None, tries: 0, next };
    }

    /// A router says that packets above `pmtu` do not fit (RFC 8899 §4.6.1): a hint that is
    /// believed as far as it is sane. What is larger already may be fragmented by IP.
    pub(crate) fn too_big(&mut self, now: Time, pmtu: usize) {
        if pmtu < super::path::PMTU_MIN {
            return;
        }
        self.search.high = self.search.high.min(pmtu);
        if pmtu < self.pmtu {
            self.pmtu = pmtu;
        } else if self.search.probe.is_some_and(|(size, _)| size > pmtu) {
            self.search.probe = None;
            self.search.next = Some(now);
        }
    }

    /// Time-outs in a row: packets may be too large for the path as it is now.
    pub(crate) fn suspect_black_hole(&mut self, now: Time) {
        let is_large = self.pmtu > BASE_PLPMTU && self.parameters.pmtu_max.is_some();
        if is_large && self.errors >= BLACK_HOLE_ERRORS {
            self.pmtu = BASE_PLPMTU;
            self.begin_search(now + self.rto);
        }
    }
}
