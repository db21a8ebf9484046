//! Which flow is next.

use crate::random::Random;

/// The order of a stream's flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    /// One after the other.
    RoundRobin,
    /// Any, all as often.
    Random,
    /// Any, the n-th most frequent one `n^exponent` times more seldom than the first.
    Zipf {
        /// 0 is [`Order::Random`]; 1 is what is seen of Internet traffic.
        exponent: f64,
    },
}

/// An order under way.
#[derive(Debug, Clone)]
pub(crate) enum Pick {
    RoundRobin { at: u32, flows: u32 },
    Random { flows: u32 },
    Alias(Box<[Column]>),
}

/// A column of Walker's alias table: below the threshold it is itself, above another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    threshold: u32,
    alias: u32,
}

impl Pick {
    pub(crate) fn new(order: Order, flows: u32, random: &mut Random) -> Self {
        match order {
            Order::RoundRobin => Self::RoundRobin { at: 0, flows },
            Order::Random => Self::Random { flows },
            Order::Zipf { exponent } => Self::Alias(alias(exponent, flows, random)),
        }
    }

    #[inline]
    pub(crate) fn next(&mut self, random: &mut Random) -> u32 {
        match self {
            Self::RoundRobin { at, flows } => {
                let flow = *at;
                *at = if flow + 1 == *flows { 0 } else { flow + 1 };
                flow
            }
            Self::Random { flows } => random.below(*flows),
            Self::Alias(columns) => {
                let number = random.number();
                let at = (((number >> 32) * columns.len() as u64) >> 32) as usize;
                let column = columns[at];
                if number as u32 <= column.threshold { at as u32 } else { column.alias }
            }
        }
    }
}

/// Vose's construction; which flow has which rank is by chance.
fn alias(exponent: f64, flows: u32, random: &mut Random) -> Box<[Column]> {
    let mut weights: Vec<f64> = (1..=flows).map(|rank| f64::from(rank).powf(-exponent)).collect();
    random.shuffle(&mut weights);
    let scale = f64::from(flows) / weights.iter().sum::<f64>();
    weights.iter_mut().for_each(|weight| *weight *= scale);
    let whole = Column { threshold: u32::MAX, alias: 0 };
    let mut columns = vec![whole; weights.len()].into_boxed_slice();
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for (at, weight) in weights.iter().enumerate() {
        if *weight < 1.0 { small.push(at) } else { large.push(at) }
    }
    while let (Some(low), Some(high)) = (small.pop(), large.last().copied()) {
        columns[low] =
            Column { threshold: (weights[low] * f64::from(u32::MAX)) as u32, alias: high as u32 };
        weights[high] -= 1.0 - weights[low];
        if weights[high] < 1.0 {
            large.pop();
            small.push(high);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(order: Order, flows: u32, draws: usize) -> Vec<u32> {
        let mut random = Random::new(7);
        let mut pick = Pick::new(order, flows, &mut random);
        let mut counts = vec![0; flows as usize];
        (0..draws).for_each(|_| counts[pick.next(&mut random) as usize] += 1);
        counts
    }

    #[test]
    fn one_after_the_other_each_is_as_often_as_every_other() {
        assert_eq!(counts(Order::RoundRobin, 7, 70), [10; 7]);
        assert_eq!(counts(Order::RoundRobin, 1, 5), [5]);
    }

    #[test]
    fn by_chance_all_come_about_as_often() {
        let counts = counts(Order::Random, 10, 100_000);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn zipf_gives_the_second_half_as_often_as_the_first_and_so_on() {
        let mut counts = counts(Order::Zipf { exponent: 1.0 }, 100, 1_000_000);
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let harmonic: f64 = (1..=100).map(|rank| 1.0 / f64::from(rank)).sum();
        for rank in [1, 2, 3, 10, 50] {
            let wanted = 1e6 / harmonic / f64::from(rank);
            let found = f64::from(counts[rank as usize - 1]);
            assert!((found / wanted - 1.0).abs() < 0.06, "rank {rank}: {found} for {wanted}");
        }
        assert_eq!(counts.iter().sum::<u32>(), 1_000_000);
    }
}
