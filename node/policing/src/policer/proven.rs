//! Sources of datagrams that proved their return path not long ago: a table of fixed size, eight to
//! a set; where a set is full, the oldest proof gives way. Forged addresses never get here.

use super::prefix::spread;
use machine::narrow::slot;
use machine::{Duration, Time};

/// How long a proof holds: long enough to register.
pub const PROVEN_FOR: Duration = Duration::from_secs(120);
/// Sources in one set.
const WAYS: usize = 8;
/// Sets, a power of two: 1 MiB in all.
const SETS: usize = 1 << 13;

/// The table, made when the first source proves itself.
#[derive(Debug)]
pub(super) struct Proven {
    /// A place and until when its proof holds.
    rows: Box<[(u64, Time)]>,
    /// When the last proof ends.
    until: Time,
    secret: [u64; 2],
}

impl Proven {
    pub(super) fn new(secret: [u64; 2]) -> Self {
        Self { rows: Box::default(), until: Time::ZERO, secret }
    }

    fn set(&self, place: u64) -> core::ops::Range<usize> {
        let first = (slot(spread(place, self.secret), SETS)) * WAYS;
        first..first + WAYS
    }

    /// Whether a source's proof holds.
    pub(super) fn holds(&self, now: Time, place: u64) -> bool {
        now < self.until
            && self.rows[self.set(place)].iter().any(|row| row.0 == place && now < row.1)
    }

    /// A source proved itself; whether its former proof held no more.
    pub(super) fn add(&mut self, now: Time, place: u64) -> bool {
        if self.rows.is_empty() {
            self.rows = vec![(0, Time::ZERO); SETS * WAYS].into();
        }
        let is_new = !self.holds(now, place);
        let set = self.set(place);
        let rows = &mut self.rows[set];
        let known = rows.iter().position(|row| row.0 == place);
        let at = known.or_else(|| (0..WAYS).min_by_key(|&way| rows[way].1)).unwrap_or(0);
        self.until = now + PROVEN_FOR;
        rows[at] = (place, self.until);
        is_new
    }
}
