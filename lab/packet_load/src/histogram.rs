//! Delays by the million in a few kilobytes: counts in steps that grow with the value.

/// A value is told with an error of at most this part of it.
pub const PRECISION: f64 = 1.0 / STEPS as f64;
/// Steps between two powers of two.
const STEPS: u64 = 1 << STEP_BITS;
const STEP_BITS: u32 = 7;
/// Bits of the largest value that is told apart: delays below 4.29 s.
const VALUE_BITS: u32 = 32;
const PLACES: usize = ((VALUE_BITS - STEP_BITS + 1) as usize) << STEP_BITS;
const LARGEST: u64 = (1 << VALUE_BITS) - 1;

/// Counts of values.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let counts = vec![0; PLACES].into_boxed_slice();
        Self { counts, count: 0, sum: 0, least: u64::MAX, most: 0 }
    }
}

/// The place of a value: exact below 256, then 128 steps to each power of two.
#[inline]
const fn place(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let shift = bits.saturating_sub(STEP_BITS + 1);
    ((value >> shift) + ((shift as u64) << STEP_BITS)) as usize
}

/// The largest value of a place.
const fn top(place: usize) -> u64 {
    let shift = ((place as u64) >> STEP_BITS).saturating_sub(1);
    let step = place as u64 - (shift << STEP_BITS);
    ((step + 1) << shift) - 1
}

impl Histogram {
    /// Counts a value; one above 2^32 counts as the largest.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let value = if value > LARGEST { LARGEST } else { value };
        self.counts[place(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Adds what another one has.
    pub fn merge(&mut self, other: &Self) {
        let pairs = self.counts.iter_mut().zip(&*other.counts);
        pairs.for_each(|(own, others)| *own += others);
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.sum, self.least, self.most) = (0, 0, u64::MAX, 0);
    }

    /// Values counted.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest; 0 without any.
    #[must_use]
    pub fn least(&self) -> u64 {
        if self.count == 0 { 0 } else { self.least }
    }

    /// The largest.
    #[must_use]
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// The mean; 0 without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The value that `share` (0 to 1) of all do not pass, at most [`PRECISION`] too large; 0
    /// without any.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut found = 0;
        for (place, count) in self.counts.iter().enumerate() {
            found += count;
            if found >= wanted {
                return top(place).clamp(self.least(), self.most);
            }
        }
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn every_value_lies_in_its_place() {
        let mut random = Random::new(1);
        let drawn = (0..100_000).map(|_| random.number() >> (32 + random.below(32)));
        for value in (0..5_000).chain(drawn).chain([LARGEST]) {
            let at = place(value);
            assert!(at < PLACES && top(at) >= value, "{value}");
            assert!(at == 0 || top(at - 1) < value, "{value}");
            assert!(top(at) - value <= (value as f64 * PRECISION) as u64, "{value}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values_within_the_precision() {
        let mut random = Random::new(2);
        let mut all: Vec<u64> = (0..50_000).map(|_| 1_000 + random.number() % 3_000_000).collect();
        let mut histogram = Histogram::default();
        all.iter().for_each(|value| histogram.add(*value));
        all.sort_unstable();
        for share in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let exact = all[((all.len() as f64 * share).ceil() as usize).max(1) - 1] as f64;
            let told = histogram.quantile(share) as f64;
            assert!((exact..=exact * (1.0 + PRECISION) + 1.0).contains(&told), "{share}: {told}");
        }
        let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
        assert!((histogram.mean() - mean).abs() < 1e-6);
        assert_eq!((histogram.least(), histogram.most()), (all[0], all[49_999]));
    }

    #[test]
    fn what_is_merged_is_as_if_counted_together_and_nothing_counted_is_zero() {
        let (mut one, mut two) = (Histogram::default(), Histogram::default());
        assert_eq!((one.quantile(0.5), one.least(), one.most()), (0, 0, 0));
        one.add(5);
        two.add(u64::MAX);
        one.merge(&two);
        assert_eq!((one.count(), one.least(), one.most()), (2, 5, LARGEST));
        one.clear();
        assert_eq!((one.count(), one.quantile(0.9)), (0, 0));
    }
}
