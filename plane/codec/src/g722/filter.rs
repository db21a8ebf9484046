//! The quadrature mirror filters (G.722 §3.1, §4.4, table 4).

use crate::sample::saturated;

/// Every second tap of 24; the others are the same backwards.
const TAPS: [i16; ROOM] = [3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11, 0, 0, 0, 0];
const BACKWARDS: [i16; ROOM] =
    [-11, 53, -156, 362, -805, 3876, 951, -210, 32, 12, -11, 3, 0, 0, 0, 0];
const TAPS_EACH: usize = 12;
/// They fill two registers.
const ROOM: usize = 16;
/// Samples of before that a filter needs.
const PAST: usize = TAPS_EACH - 1;
/// Pairs that one call takes.
const PAIRS: usize = super::PIECE / 2;
/// The past, the pairs, and what only taps of zero see.
const LINE: usize = PAST + PAIRS + ROOM - TAPS_EACH;

/// Even and odd samples, each behind those of before.
#[derive(Debug, Clone)]
struct Lines {
    even: [i16; LINE],
    odd: [i16; LINE],
}

impl Lines {
    const EMPTY: Self = Self { even: [0; LINE], odd: [0; LINE] };

    /// The two sums at a place.
    #[inline]
    fn sums(&self, at: usize) -> (i32, i32) {
        let even = self.even[at..].first_chunk::<ROOM>();
        let odd = self.odd[at..].first_chunk::<ROOM>();
        let (Some(even), Some(odd)) = (even, odd) else { return (0, 0) };
        (dot(even, &TAPS), dot(odd, &BACKWARDS))
    }

    /// The end of these pairs becomes the past of the next.
    fn pass(&mut self, pairs: usize) {
        self.even.copy_within(pairs..pairs + PAST, 0);
        self.odd.copy_within(pairs..pairs + PAST, 0);
    }
}

#[inline]
fn dot(samples: &[i16; ROOM], taps: &[i16; ROOM]) -> i32 {
    samples.iter().zip(taps).map(|(&sample, &tap)| i32::from(sample) * i32::from(tap)).sum()
}

/// One band into two.
#[derive(Debug, Clone)]
pub(crate) struct Analysis(Lines);

impl Default for Analysis {
    fn default() -> Self {
        Self(Lines::EMPTY)
    }
}

impl Analysis {
    /// Splits samples, twice as many as each half holds and at most [`super::PIECE`].
    pub(crate) fn split(&mut self, samples: &[i16], low: &mut [i16], high: &mut [i16]) {
        let lines = &mut self.0;
        let pairs = low.len();
        for (at, [even, odd]) in samples.as_chunks::<2>().0.iter().take(PAIRS).enumerate() {
            (lines.even[PAST + at], lines.odd[PAST + at]) = (*even, *odd);
        }
        for (at, (low, high)) in low.iter_mut().zip(high).enumerate() {
            let (odd, even) = lines.sums(at);
            *low = saturated((even + odd) >> 14);
            *high = saturated((even - odd) >> 14);
        }
        lines.pass(pairs);
    }
}

/// Two bands into one.
#[derive(Debug, Clone)]
pub(crate) struct Synthesis(Lines);

impl Default for Synthesis {
    fn default() -> Self {
        Self(Lines::EMPTY)
    }
}

impl Synthesis {
    /// Appends the samples of two bands, of at most half of [`super::PIECE`] each.
    pub(crate) fn join(&mut self, low: &[i16], high: &[i16], out: &mut Vec<i16>) {
        let lines = &mut self.0;
        for (at, (&low, &high)) in low.iter().zip(high).take(PAIRS).enumerate() {
            // Both have 15 bits.
            lines.even[PAST + at] = low + high;
            lines.odd[PAST + at] = low - high;
        }
        for at in 0..low.len().min(PAIRS) {
            let (second, first) = lines.sums(at);
            out.extend([first, second].map(|sum| saturated(sum >> 11)));
        }
        lines.pass(low.len().min(PAIRS));
    }
}
