//! Where packets come from, and where those of the other direction go: the address that was
//! signalled, or what a middlebox made of it (RFC 7362).
//!
//! ```text
//!   signalled ──→ open ── a packet: the source is taken ──→ a better one comes: it is taken
//!                  ↑        └──────────── LATCH_WINDOW later: latched ──────────┘
//!                  └── signalled again ──── others are dropped, whatever they send ─┘
//! ```
//! The signalled address comes first, then its host with another port, then the host that signals,
//! then, where that is allowed at all, anyone. A source is taken at once, so that no speech is cut,
//! and gives way to a better one for a short time only: what comes later takes nothing over,
//! however good it looks (no RTP bleed). Only signalling opens a latch again. But whoever was taken
//! without a reason other than that anyone is gives way at any time to one who has a reason.

use core::net::{IpAddr, SocketAddr};
use machine::{Duration, Time};

/// How long after the first packet a better source is taken.
pub const LATCH_WINDOW: Duration = Duration::from_millis(500);

/// After so long without a packet, and new signalling, a source is taken for gone: ten packets.
pub const SILENCE: Duration = Duration::from_millis(200);

/// What signalling says of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Where its session description says that it is.
    pub address: SocketAddr,
    /// Where its signalling comes from, if it may be behind a middlebox.
    pub signaller: Option<IpAddr>,
    /// Whether it may be anywhere: its media may take another middlebox than its signalling.
    pub anywhere: bool,
}

/// How good a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Anyone,
    Signaller,
    Host,
    Exact,
}

impl Expected {
    /// The other side is where it says, and nowhere else.
    #[must_use]
    pub const fn at(address: SocketAddr) -> Self {
        Self { address, signaller: None, anywhere: false }
    }

    /// How good a source is; `None`: it is none of the other side.
    fn rank(&self, source: SocketAddr) -> Option<Rank> {
        let is_behind = self.signaller.is_some() || self.anywhere;
        if source == self.address {
            Some(Rank::Exact)
        } else if is_behind && source.ip() == self.address.ip() {
            Some(Rank::Host)
        } else if self.signaller == Some(source.ip()) {
            Some(Rank::Signaller)
        } else {
            self.anywhere.then_some(Rank::Anyone)
        }
    }
}

/// What a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The one that packets come from.
    Known,
    /// From now on the one that packets come from: those of the other direction go there.
    Taken,
    /// Another one than was taken.
    Other,
    /// None of the other side.
    Stranger,
}

/// A source that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Source {
    address: SocketAddr,
    /// How good it is; `None`: by what was signalled since, it is none of the other side.
    rank: Option<Rank>,
    /// When its last packet came.
    last: Time,
}

/// Where packets of one flow come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latch {
    expected: Expected,
    taken: Option<Source>,
    /// Until when a better one is taken; `None` before the first packet since signalling.
    until: Option<Time>,
}

impl Latch {
    /// A latch that is open.
    #[must_use]
    pub const fn new(expected: Expected) -> Self {
        Self { expected, taken: None, until: None }
    }

    /// Signalling came. If it says something else, the latch is open again; what was taken is used
    /// until a packet comes from elsewhere, if it can still be the other side.
    pub fn signalled(&mut self, expected: Expected) {
        if self.expected != expected {
            self.expected = expected;
            self.until = None;
            self.taken = self.taken.map(|it| Source { rank: expected.rank(it.address), ..it });
        }
    }

    /// A packet came from there.
    #[inline]
    pub fn packet(&mut self, now: Time, source: SocketAddr) -> Seen {
        match (&mut self.taken, self.until) {
            (Some(taken), Some(_)) if taken.address == source => {
                taken.last = now;
                Seen::Known
            }
            (Some(taken), Some(until)) if until <= now && taken.rank != Some(Rank::Anyone) => {
                Seen::Other
            }
            _ => self.judge(now, source),
        }
    }

    /// A packet came from there that takes no source: it passes from where those of the other
    /// direction go, and from nowhere else.
    #[inline]
    pub fn beside(&mut self, now: Time, source: SocketAddr) -> Seen {
        if let Some(taken) = &mut self.taken
            && taken.rank.is_some()
            && taken.address == source
        {
            taken.last = now;
            return Seen::Known;
        }
        match self.expected.rank(source) {
            _ if source == self.destination() => Seen::Known,
            None => Seen::Stranger,
            Some(_) => Seen::Other,
        }
    }

    fn judge(&mut self, now: Time, source: SocketAddr) -> Seen {
        let rank = self.expected.rank(source);
        if rank.is_none() {
            return Seen::Stranger;
        }
        let seen = match self.taken {
            Some(taken) if taken.address == source => Seen::Known,
            // Since signalling, one who is silent gives way to anyone of the other side: it moved.
            Some(taken) => {
                let has_gone = self.until.is_none() && now.since(taken.last) > SILENCE;
                if taken.rank < rank || has_gone { Seen::Taken } else { Seen::Other }
            }
            None => Seen::Taken,
        };
        if seen != Seen::Other {
            self.taken = Some(Source { address: source, rank, last: now });
            self.until = Some(self.until.unwrap_or(now + LATCH_WINDOW));
        }
        seen
    }

    /// Where packets of the other direction go: what was taken, else what was signalled.
    #[must_use]
    pub fn destination(&self) -> SocketAddr {
        let taken = self.taken.filter(|it| it.rank.is_some());
        taken.map_or(self.expected.address, |it| it.address)
    }

    /// The source that was taken, if it can still be the other side.
    #[must_use]
    pub fn taken(&self) -> Option<SocketAddr> {
        self.taken.filter(|it| it.rank.is_some()).map(|it| it.address)
    }

    /// Whether a packet from there is dropped whatever is in it: another source was taken, and the
    /// window is over.
    #[inline]
    #[must_use]
    pub fn refuses(&self, now: Time, source: SocketAddr) -> bool {
        match (&self.taken, self.until) {
            (Some(taken), Some(until)) if until <= now && taken.address != source => {
                // One who was taken for want of anyone better gives way to a better one.
                taken.rank != Some(Rank::Anyone) || self.expected.rank(source) <= taken.rank
            }
            _ => false,
        }
    }

    /// Another one took this source before: it counts as taken here, if it can be the other side.
    pub fn resumed(&mut self, now: Time, source: SocketAddr) {
        let rank = self.expected.rank(source);
        if rank.is_some() {
            self.taken = Some(Source { address: source, rank, last: now });
            self.until = Some(now);
        }
    }

    /// What was signalled.
    #[must_use]
    pub const fn expected(&self) -> &Expected {
        &self.expected
    }
}
