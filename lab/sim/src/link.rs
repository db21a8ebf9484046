//! A lossy link as a machine: what is sent arrives late, twice, out of order or not at all.

use crate::Random;
use machine::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Datagrams on their way at once; more are lost, as in a full queue.
pub const FLYING_MAX: usize = 1 << 20;

/// How a link behaves. Probabilities are 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkSpec {
    /// Time on the way, at least.
    pub delay: Duration,
    /// Random time on top, below this. Datagrams to one destination keep their order.
    pub jitter: Duration,
    /// Probability that a datagram is lost.
    pub loss: f64,
    /// Probability that it arrives twice.
    pub duplicate: f64,
    /// Probability that it is held back for [`LinkSpec::hold`], so that others overtake it.
    pub reorder: f64,
    /// How long such a datagram is held back.
    pub hold: Duration,
}

impl Default for LinkSpec {
    /// A fair network: 10 ms, 2 ms of jitter, 1 % loss, 0.1 % twice, 0.5 % late by 30 ms.
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(10),
            jitter: Duration::from_millis(2),
            loss: 0.01,
            duplicate: 0.001,
            reorder: 0.005,
            hold: Duration::from_millis(30),
        }
    }
}

impl LinkSpec {
    /// A link without faults.
    #[must_use]
    pub const fn perfect(delay: Duration) -> Self {
        let hold = Duration::ZERO;
        Self { delay, jitter: Duration::ZERO, loss: 0.0, duplicate: 0.0, reorder: 0.0, hold }
    }
}

/// What became of the datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Given to the link.
    pub sent: u64,
    /// Lost.
    pub lost: u64,
    /// Arrived once more.
    pub duplicated: u64,
    /// Held back.
    pub reordered: u64,
    /// Taken out at the far end.
    pub delivered: u64,
}

/// Arrival, number, destination, octets.
type Flying<A> = (Time, u64, A, Vec<u8>);

/// A link to any number of destinations `A`.
#[derive(Debug)]
pub struct Link<A> {
    spec: LinkSpec,
    random: Random,
    /// By time of arrival, then in the order of sending.
    flying: BinaryHeap<Reverse<Flying<A>>>,
    /// When the last datagram that kept its place arrives, by destination.
    last: BTreeMap<A, Time>,
    number: u64,
    counts: Counts,
}

impl<A: Copy + Ord> Link<A> {
    /// A link with chance from `seed`.
    #[must_use]
    pub fn new(seed: u64, spec: LinkSpec) -> Self {
        Self {
            spec,
            random: Random::new(seed),
            flying: BinaryHeap::new(),
            last: BTreeMap::new(),
            number: 0,
            counts: Counts::default(),
        }
    }

    /// Behaves like this from now on.
    pub const fn set_spec(&mut self, spec: LinkSpec) {
        self.spec = spec;
    }

    /// Takes a datagram for `to`.
    pub fn send(&mut self, now: Time, bytes: &[u8], to: A) {
        self.counts.sent += 1;
        if self.random.chance(self.spec.loss) || self.flying.len() >= FLYING_MAX {
            self.counts.lost += 1;
            return;
        }
        self.launch(now, bytes, to);
        if self.random.chance(self.spec.duplicate) {
            self.counts.duplicated += 1;
            self.launch(now, bytes, to);
        }
    }

    fn launch(&mut self, now: Time, bytes: &[u8], to: A) {
        let jitter = self.random.below(self.spec.jitter.as_nanos() as u64);
        let mut at = now + self.spec.delay + Duration::from_nanos(jitter);
        if self.random.chance(self.spec.reorder) {
            self.counts.reordered += 1;
            at += self.spec.hold;
        } else {
            let last = self.last.entry(to).or_insert(at);
            at = at.max(*last);
            *last = at;
        }
        self.flying.push(Reverse((at, self.number, to, bytes.to_vec())));
        self.number += 1;
    }

    /// When the next datagram arrives.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.flying.peek().map(|Reverse((at, ..))| *at)
    }

    /// A datagram that has arrived by `now`, with its destination; call until there is none.
    pub fn deliver(&mut self, now: Time) -> Option<(A, Vec<u8>)> {
        if self.deadline()? > now {
            return None;
        }
        let Reverse((_, _, to, bytes)) = self.flying.pop()?;
        self.counts.delivered += 1;
        Some((to, bytes))
    }

    /// What became of the datagrams so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `n` numbered datagrams a millisecond apart; arrivals in order.
    fn run(seed: u64, spec: LinkSpec, n: u32) -> (Vec<u32>, Counts) {
        let mut link = Link::new(seed, spec);
        let mut arrived = Vec::new();
        for number in 0..n {
            link.send(Time::from_millis(number.into()), &number.to_be_bytes(), ());
        }
        while let Some(at) = link.deadline() {
            while let Some(((), bytes)) = link.deliver(at) {
                arrived.push(u32::from_be_bytes(bytes.try_into().unwrap()));
            }
        }
        (arrived, link.counts())
    }

    #[test]
    fn a_perfect_link_delivers_everything_in_order_and_on_time() {
        let mut link = Link::new(1, LinkSpec::perfect(Duration::from_millis(5)));
        link.send(Time::from_millis(10), b"x", 3u8);
        assert_eq!(link.deliver(Time::from_millis(14)), None);
        assert_eq!(link.deadline(), Some(Time::from_millis(15)));
        assert_eq!(link.deliver(Time::from_millis(15)), Some((3, b"x".to_vec())));
        let (arrived, _) = run(1, LinkSpec::perfect(Duration::from_millis(5)), 1_000);
        assert!(arrived.iter().copied().eq(0..1_000));
    }

    #[test]
    fn faults_come_about_as_often_as_asked_for_and_are_counted() {
        let spec = LinkSpec { loss: 0.1, duplicate: 0.05, reorder: 0.02, ..LinkSpec::default() };
        let (arrived, counts) = run(3, spec, 100_000);
        assert!((9_500..10_500).contains(&counts.lost), "{counts:?}");
        assert!((4_200..4_800).contains(&counts.duplicated), "{counts:?}");
        assert_eq!(arrived.len() as u64, 100_000 - counts.lost + counts.duplicated);
        assert_eq!(counts.delivered, arrived.len() as u64);
        assert!(arrived.windows(2).any(|pair| pair[0] > pair[1]));
    }

    #[test]
    fn jitter_alone_never_reorders() {
        let jitter = Duration::from_millis(50);
        let spec = LinkSpec { jitter, ..LinkSpec::perfect(Duration::from_millis(1)) };
        let (arrived, _) = run(5, spec, 10_000);
        assert!(arrived.is_sorted());
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_another_seed_another() {
        let spec = LinkSpec { loss: 0.3, ..LinkSpec::default() };
        assert_eq!(run(8, spec, 1_000), run(8, spec, 1_000));
        assert_ne!(run(8, spec, 1_000).0, run(9, spec, 1_000).0);
    }
}
