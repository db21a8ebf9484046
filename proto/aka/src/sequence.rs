//! Sequence numbers (TS 33.102 Annex C): how a home network makes them, and which ones a card
//! takes.
//!
//! ```text
//! SQN 48 bits = SEQ · IND         IND: which of the card's places remembers SEQ (C.1.2)
//! ```
//! A card takes each number once and, in each place, only rising ones: vectors that were fetched
//! together by different nodes may be used in any order, for each has a place of its own.

use crate::Sqn;
use core::fmt;

/// Bits of IND in the profiles of C.3.
pub const IND_BITS: u8 = 5;
/// Most bits of IND: a card has as many places as it counts.
pub const IND_BITS_MAX: u8 = 8;
/// Δ of C.3: by how much a number may be ahead, so that nobody wears the numbers out.
pub const GENERAL_DELTA: u64 = 1 << 28;

/// How a home network makes SEQ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// One more each time (C.1.1.2, profile 1).
    Counter,
    /// From a clock: the lower bits of SEQ are the time (C.1.1.1, profiles 2 and 3).
    Clock {
        /// How many lower bits, n: 24 in profile 2, all 43 in profile 3.
        bits: u8,
        /// D: by how much SEQ may be ahead of the clock before the upper part counts.
        ahead_max: u64,
    },
}

impl Scheme {
    /// C.3.2: partly by time, a clock of seconds.
    pub const PROFILE_2: Self = Self::Clock { bits: 24, ahead_max: 1 << 16 };
    /// C.3.3: entirely by time, a clock of tenths of a second.
    pub const PROFILE_3: Self = Self::Clock { bits: 48 - IND_BITS, ahead_max: 1 << 16 };
}

/// What a home network remembers of a subscription.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GeneratorState {
    /// SEQ_HE, the last one that was used.
    pub seq: u64,
    /// The last IND.
    pub ind: u8,
    /// DIF, what is added to the clock (C.1.1.3).
    pub ahead: u64,
}

/// No sequence number is left: the subscription needs another key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exhausted;

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no sequence number is left under this key")
    }
}

impl core::error::Error for Exhausted {}

/// Makes the sequence numbers of one subscription.
#[derive(Clone, Debug)]
pub struct Generator {
    scheme: Scheme,
    ind_bits: u8,
    state: GeneratorState,
}

impl Generator {
    /// A generator that goes on from a state. `ind_bits` is what the cards have, at most
    /// [`IND_BITS_MAX`].
    #[must_use]
    pub fn new(scheme: Scheme, ind_bits: u8, state: GeneratorState) -> Self {
        Self { scheme, ind_bits: ind_bits.min(IND_BITS_MAX), state }
    }

    /// What a standby must know.
    #[must_use]
    pub const fn state(&self) -> GeneratorState {
        self.state
    }

    /// The largest SEQ.
    const fn seq_max(&self) -> u64 {
        Sqn::MAX.number() >> self.ind_bits
    }

    /// The next number. `clock` is the time in units of the scheme; a counter does not look at it.
    ///
    /// # Errors
    /// [`Exhausted`].
    pub fn next(&mut self, clock: u64) -> Result<Sqn, Exhausted> {
        let inds = 1u16 << self.ind_bits;
        let ind = u8::try_from((u16::from(self.state.ind) + 1) % inds).unwrap_or(0);
        self.next_of(clock, ind)
    }

    /// The next number for a place that is chosen by who asks: each node that asks has its own
    /// (C.1.2, the note on the domains).
    ///
    /// # Errors
    /// [`Exhausted`].
    pub fn next_of(&mut self, clock: u64, ind: u8) -> Result<Sqn, Exhausted> {
        let ind = u64::from(ind) & ((1 << self.ind_bits) - 1);
        let seq = match self.scheme {
            Scheme::Counter => self.state.seq.checked_add(1),
            Scheme::Clock { bits, ahead_max } => self.of_clock(clock, bits, ahead_max),
        };
        let seq = seq.filter(|seq| *seq <= self.seq_max()).ok_or(Exhausted)?;
        self.state.seq = seq;
        self.state.ind = u8::try_from(ind).unwrap_or(0);
        Sqn::new(seq << self.ind_bits | ind).ok_or(Exhausted)
    }

    /// The three cases of C.1.1.1; p is what the lower part counts to.
    fn of_clock(&self, clock: u64, bits: u8, ahead_max: u64) -> Option<u64> {
        let p = 1u64 << bits.min(48 - self.ind_bits);
        let clock = clock.wrapping_add(self.state.ahead) % p;
        let (upper, lower) = (self.state.seq / p, self.state.seq % p);
        let far = p.saturating_sub(ahead_max);
        if lower < clock && clock - lower <= far {
            Some(upper * p + clock)
        } else if clock > lower || lower - clock < ahead_max {
            self.state.seq.checked_add(1)
        } else {
            // Entirely by time there is no upper part: the number waits for its clock (C.1.1.3).
            let above = (upper + 1) * p + clock;
            if above <= self.seq_max() { Some(above) } else { self.state.seq.checked_add(1) }
        }
    }

    /// Whether a card that is at `sqn_ms` would take the next number: it is larger, and not by
    /// more than Δ.
    #[must_use]
    pub fn is_in_range(&self, sqn_ms: Sqn) -> bool {
        let seq_ms = sqn_ms.number() >> self.ind_bits;
        self.state.seq >= seq_ms && self.state.seq - seq_ms < GENERAL_DELTA
    }

    /// Goes on from the card's number (§6.3.5). Of a clock, the card's number is what it shows now.
    pub(crate) fn resynchronise(&mut self, sqn_ms: Sqn, clock: u64) {
        let seq_ms = sqn_ms.number() >> self.ind_bits;
        self.state.seq = seq_ms;
        if self.scheme != Scheme::Counter {
            self.state.ahead = seq_ms.wrapping_sub(clock) & self.seq_max();
        }
    }
}

/// What a card remembers of the numbers that it has taken, and which further ones it takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Freshness {
    /// SEQ_MS of each place.
    taken: Box<[u64]>,
    ind_bits: u8,
    /// Δ (C.2.1).
    delta: u64,
    /// L: how far behind the highest one a number may be (C.2.2).
    age_max: Option<u64>,
}

impl Freshness {
    /// A new card: it has taken none. `ind_bits` at most [`IND_BITS_MAX`]; `age_max` is L of
    /// C.2.2, if there is such a limit.
    #[must_use]
    pub fn new(ind_bits: u8, delta: u64, age_max: Option<u64>) -> Self {
        let ind_bits = ind_bits.min(IND_BITS_MAX);
        let taken = vec![0; 1 << ind_bits].into_boxed_slice();
        Self { taken, ind_bits, delta, age_max }
    }

    /// What cards have (C.3).
    #[must_use]
    pub fn usual() -> Self {
        Self::new(IND_BITS, GENERAL_DELTA, None)
    }

    /// A card that has taken a number already.
    #[must_use]
    pub fn after(mut self, sqn: Sqn) -> Self {
        let (seq, place) = self.split(sqn);
        self.taken[place] = seq;
        self
    }

    fn split(&self, sqn: Sqn) -> (u64, usize) {
        let places = self.taken.len() as u64;
        (sqn.number() >> self.ind_bits, usize::try_from(sqn.number() % places).unwrap_or(0))
    }

    /// SQN_MS: the highest number that was taken.
    #[must_use]
    pub fn highest(&self) -> Sqn {
        let sqn = |(ind, seq): (usize, &u64)| Sqn::new(seq << self.ind_bits | ind as u64);
        self.taken.iter().enumerate().filter_map(sqn).max().unwrap_or_default()
    }

    /// Takes a number if it is fresh (C.2.2).
    pub(crate) fn take(&mut self, sqn: Sqn) -> bool {
        let (seq, place) = self.split(sqn);
        let highest = self.taken.iter().max().copied().unwrap_or_default();
        let is_fresh = seq > self.taken[place]
            && seq.saturating_sub(highest) <= self.delta
            && self.age_max.is_none_or(|age| highest.saturating_sub(seq) <= age);
        if is_fresh {
            self.taken[place] = seq;
        }
        is_fresh
    }
}
