//! A limit: so many a second, so many at once, as one shard keeps it.
//!
//! A limit divides among the shards: each has its share of the rate and of the number.

use machine::Time;
use machine::bucket::{Bucket, Rate};

/// How a limit is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// Too many a second.
    Rate,
    /// Too many at once.
    Number,
}

/// A limit of one shard, and the function's answer to what exceeds it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limit<A> {
    /// How many a second; `None`: any number.
    pub rate: Option<Rate>,
    /// How many at once; `None`: any number.
    pub number_max: Option<u32>,
    /// What the function answers to an excess.
    pub answer: A,
}

impl<A> Limit<A> {
    /// Whether anything is limited.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.rate.is_some() || self.number_max.is_some()
    }

    /// Whether one more may begin while `live` are under way.
    ///
    /// # Errors
    /// What is exceeded.
    #[inline]
    pub fn check(&self, now: Time, bucket: &Bucket, live: u32) -> Result<(), Violation> {
        if self.number_max.is_some_and(|max| live >= max) {
            return Err(Violation::Number);
        }
        let is_full = self.rate.is_some_and(|rate| !bucket.has_room(now, rate));
        if is_full { Err(Violation::Rate) } else { Ok(()) }
    }
}

/// The part that one shard of several has of a limit.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// The shard, counted from zero.
    pub shard: u16,
    /// How many there are.
    pub shards: u16,
}

impl Share {
    /// Everything: of what stands on one shard only.
    pub const WHOLE: Self = Self { shard: 0, shards: 1 };

    /// The shard's part of a rate.
    #[must_use]
    pub fn rate(self, per_s: f64, burst: Option<u32>) -> Rate {
        let shards = u32::from(self.shards.max(1));
        Rate::new(per_s / f64::from(shards), burst.map(|burst| burst.div_ceil(shards)))
    }

    /// The shard's part of a number; the parts of all shards add up to the whole.
    #[must_use]
    pub fn number(self, max: u32) -> u32 {
        let shards = u32::from(self.shards.max(1));
        max / shards + u32::from(u32::from(self.shard) < max % shards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_shards_add_up() {
        for (max, shards) in [(10, 3), (1, 4), (0, 2), (u32::MAX, 7), (9, 1)] {
            let parts = (0..shards).map(|shard| Share { shard, shards }.number(max));
            assert_eq!(parts.map(u64::from).sum::<u64>(), u64::from(max), "{max} of {shards}");
        }
        assert_eq!(Share { shard: 0, shards: 0 }.number(7), 7, "no shards count as one");
    }

    #[test]
    fn the_number_is_looked_at_before_the_rate() {
        let limit = Limit { rate: Some(Rate::new(0.0, None)), number_max: Some(1), answer: () };
        let check = |live| limit.check(Time::from_millis(1), &Bucket::default(), live);
        assert_eq!((check(0), check(1)), (Err(Violation::Rate), Err(Violation::Number)));
        assert!(limit.is_on() && !Limit::<()>::default().is_on());
    }
}
