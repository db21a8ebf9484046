//! A rate for each of many.

use crate::identity::Msisdn;
use machine::bucket::{Bucket, Rate};
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// Of how many it is known how much they have used.
const KNOWN_MAX: usize = 100_000;
/// How often those are looked for that have used nothing lately.
const LOOK: Duration = Duration::from_secs(1);

/// How much each has used.
#[derive(Debug)]
pub struct Buckets {
    rate: Rate,
    all: BTreeMap<Msisdn, Bucket>,
    look_at: Time,
    max: usize,
}

impl Buckets {
    /// Nobody has used anything.
    pub const fn new(rate: Rate) -> Self {
        Self { rate, all: BTreeMap::new(), look_at: Time::ZERO, max: KNOWN_MAX }
    }

    /// Takes another rate.
    pub const fn configure(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Whether one more of somebody's passes, which is counted then. Where too many are known, who
    /// is new is refused; those that rest are looked for once a second, not for each.
    pub fn admit(&mut self, now: Time, whose: &Msisdn) -> bool {
        if self.all.len() >= self.max && !self.all.contains_key(whose) {
            if now < self.look_at {
                return false;
            }
            self.look_at = now + LOOK;
            self.all.retain(|_, it| !it.is_rested(now));
            if self.all.len() >= self.max {
                return false;
            }
        }
        let bucket = self.all.entry(whose.clone()).or_default();
        let has_room = bucket.has_room(now, self.rate);
        if has_room {
            bucket.take(now, self.rate);
        }
        has_room
    }

    /// Until when what somebody has used counts, where whoever goes on elsewhere has to know it:
    /// all but one that came alone.
    #[must_use]
    pub fn used_until(&self, now: Time, whose: &Msisdn) -> Option<Time> {
        self.all.get(whose)?.burst_until(now, self.rate)
    }

    /// Somebody has used some elsewhere, which counts until then.
    pub fn restore(&mut self, now: Time, whose: Msisdn, until: Time) {
        if self.all.len() < self.max {
            self.all.insert(whose, Bucket::used_until(until, now, self.rate));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_rest_are_looked_for_once_a_second() {
        let mut buckets = Buckets { max: 2, ..Buckets::new(Rate::new(2.0, Some(1))) };
        let number = |n: u8| Msisdn::of(&format!("44{n}")).unwrap();
        let at = |ms: u64| Time::from_millis(10_000 + ms);
        assert!(buckets.admit(at(0), &number(1)) && buckets.admit(at(0), &number(2)));
        assert!(!buckets.admit(at(10), &number(3)), "both have used some");
        assert!(!buckets.admit(at(600), &number(3)), "they rest, and are not looked for yet");
        assert!(buckets.admit(at(1_010), &number(3)));
        assert_eq!(buckets.all.len(), 1);
    }

    #[test]
    fn what_somebody_has_used_counts_on_elsewhere() {
        let rate = Rate::new(1.0, Some(3));
        let (mut one, mut other) = (Buckets::new(rate), Buckets::new(rate));
        let (whose, now) = (Msisdn::of("44").unwrap(), Time::from_millis(10_000));
        assert!(one.admit(now, &whose));
        assert_eq!(one.used_until(now, &whose), None, "it came alone");
        assert!(one.admit(now, &whose));
        other.restore(now, whose.clone(), one.used_until(now, &whose).unwrap());
        assert!(other.admit(now, &whose));
        assert!(!other.admit(now, &whose), "three in all");
        let mut full = Buckets { max: 0, ..Buckets::new(rate) };
        full.restore(now, whose, Time::MAX);
        assert!(full.all.is_empty());
    }
}
