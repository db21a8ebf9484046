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

use crate::peer::{Host, Peer};
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
}

/// The same in fewer octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Signalled {
    address: Peer,
    /// Nobody if it is not known.
    signaller: Host,
    has_signaller: bool,
    anywhere: bool,
}

impl From<Expected> for Signalled {
    fn from(expected: Expected) -> Self {
        let Expected { address, signaller, anywhere } = expected;
        Self {
            address: address.into(),
            signaller: signaller.map_or(Host::NONE, Host::from),
            has_signaller: signaller.is_some(),
            anywhere,
        }
    }
}

impl Signalled {
    /// How good a source is; `None`: it is none of the other side.
    fn rank(&self, source: Peer) -> Option<Rank> {
        let is_behind = self.has_signaller || self.anywhere;
        if source == self.address {
            Some(Rank::Exact)
        } else if is_behind && source.host() == self.address.host() {
            Some(Rank::Host)
        } else if self.has_signaller && source.host() == self.signaller {
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
    address: Peer,
    /// How good it is; `None`: by what was signalled since, it is none of the other side.
    rank: Option<Rank>,
    /// When its last packet came.
    last: Time,
}

/// Where packets of one flow come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latch {
    expected: Signalled,
    taken: Option<Source>,
    /// Until when a better one is taken; [`Time::ZERO`] before the first packet since signalling.
    until: Time,
}

impl Latch {
    /// A latch that is open.
    #[must_use]
    pub fn new(expected: Expected) -> Self {
        Self { expected: expected.into(), taken: None, until: Time::ZERO }
    }

    const fn is_open(&self) -> bool {
        self.until.as_nanos() == 0
    }

    /// Signalling came. If it says something else, the latch is open again; what was taken is used
    /// until a packet comes from elsewhere, if it can still be the other side.
    pub fn signalled(&mut self, expected: Expected) {
        let expected = Signalled::from(expected);
        if self.expected != expected {
            self.expected = expected;
            self.until = Time::ZERO;
            self.taken = self.taken.map(|it| Source { rank: expected.rank(it.address), ..it });
        }
    }

    /// A packet came from there.
    #[inline]
    pub fn packet(&mut self, now: Time, source: impl Into<Peer>) -> Seen {
        let (source, is_open) = (source.into(), self.is_open());
        match &mut self.taken {
            Some(taken) if !is_open && taken.address == source => {
                taken.last = now;
                Seen::Known
            }
            Some(taken) if !is_open && self.until <= now && taken.rank != Some(Rank::Anyone) => {
                Seen::Other
            }
            _ => self.judge(now, source),
        }
    }

    /// A packet came from there that takes no source: it passes from where those of the other
    /// direction go, and from nowhere else.
    #[inline]
    pub fn beside(&mut self, now: Time, source: impl Into<Peer>) -> Seen {
        let source = source.into();
        if let Some(taken) = &mut self.taken
            && taken.rank.is_some()
            && taken.address == source
        {
            taken.last = now;
            return Seen::Known;
        }
        match self.expected.rank(source) {
            _ if source == self.towards() => Seen::Known,
            None => Seen::Stranger,
            Some(_) => Seen::Other,
        }
    }

    fn judge(&mut self, now: Time, source: Peer) -> Seen {
        let rank = self.expected.rank(source);
        if rank.is_none() {
            return Seen::Stranger;
        }
        let seen = match self.taken {
            Some(taken) if taken.address == source => Seen::Known,
            // Since signalling, one who is silent gives way to anyone of the other side: it moved.
            Some(taken) => {
                let has_gone = self.is_open() && now.since(taken.last) > SILENCE;
                if taken.rank < rank || has_gone { Seen::Taken } else { Seen::Other }
            }
            None => Seen::Taken,
        };
        if seen != Seen::Other {
            self.taken = Some(Source { address: source, rank, last: now });
            self.until = if self.is_open() { now + LATCH_WINDOW } else { self.until };
        }
        seen
    }

    /// Where packets of the other direction go: what was taken, else what was signalled.
    #[must_use]
    pub fn destination(&self) -> SocketAddr {
        self.towards().into()
    }

    fn towards(&self) -> Peer {
        self.source().unwrap_or(self.expected.address)
    }

    /// [`Latch::taken`] as flows keep it.
    pub(crate) fn source(&self) -> Option<Peer> {
        self.taken.filter(|it| it.rank.is_some()).map(|it| it.address)
    }

    /// The source that was taken, if it can still be the other side.
    #[must_use]
    pub fn taken(&self) -> Option<SocketAddr> {
        self.source().map(SocketAddr::from)
    }

    /// Whether a packet from there is dropped whatever is in it: another source was taken, and the
    /// window is over.
    #[inline]
    #[must_use]
    pub fn refuses(&self, now: Time, source: impl Into<Peer>) -> bool {
        let source = source.into();
        match &self.taken {
            Some(taken) if !self.is_open() && self.until <= now && taken.address != source => {
                // One who was taken for want of anyone better gives way to a better one.
                taken.rank != Some(Rank::Anyone) || self.expected.rank(source) <= taken.rank
            }
            _ => false,
        }
    }

    /// Another one took this source before: it counts as taken here, if it can be the other side.
    pub fn resumed(&mut self, now: Time, source: impl Into<Peer>) {
        let source = source.into();
        let rank = self.expected.rank(source);
        if rank.is_some() {
            self.taken = Some(Source { address: source, rank, last: now });
            self.until = now.max(Time::from_millis(1));
        }
    }
}
