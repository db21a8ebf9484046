//! Policers against the RFCs' buckets in rational arithmetic.

use crate::rules::Random;
use table::policer::{BURST_MAX, Colour, Marker, OutOfRange, Pool, Profile};

/// A rational number with a fixed denominator: the ticks a second.
struct Buckets {
    marker: Marker,
    aware: bool,
    ticks_per_s: i128,
    last: u64,
    first: i128,
    second: i128,
}

impl Buckets {
    fn new(marker: Marker, aware: bool, ticks_per_s: u64) -> Self {
        let (first, second) = match marker {
            Marker::SingleRate { cbs, ebs, .. } => (cbs, ebs),
            Marker::TwoRate { cbs, pbs, .. } => (cbs, pbs),
            Marker::Differentiated { cbs, ebs, .. } => (cbs, ebs),
        };
        let ticks = i128::from(ticks_per_s);
        let (first, second) = (i128::from(first) * ticks, i128::from(second) * ticks);
        Self { marker, aware, ticks_per_s: ticks, last: 0, first, second }
    }

    fn fill(&mut self, now: u64) {
        let ticks = i128::from(now.saturating_sub(self.last));
        self.last = self.last.max(now);
        let units = |bytes: u64| i128::from(bytes) * self.ticks_per_s;
        match self.marker {
            Marker::SingleRate { cir, cbs, ebs } => {
                let sum = self.first + ticks * i128::from(cir);
                self.first = sum.min(units(cbs));
                self.second = (self.second + sum - self.first).min(units(ebs));
            }
            Marker::TwoRate { cir, cbs, pir: rate, pbs: burst }
            | Marker::Differentiated { cir, cbs, eir: rate, ebs: burst } => {
                self.first = (self.first + ticks * i128::from(cir)).min(units(cbs));
                self.second = (self.second + ticks * i128::from(rate)).min(units(burst));
            }
        }
    }

    fn mark(&mut self, now: u64, bytes: u32, came: Colour) -> Colour {
        self.fill(now);
        let cost = i128::from(bytes) * self.ticks_per_s;
        let came = if self.aware { came } else { Colour::Green };
        if let Marker::TwoRate { .. } = self.marker {
            // RFC 2698 §3.
            if came == Colour::Red || self.second < cost {
                return Colour::Red;
            }
            self.second -= cost;
            if came == Colour::Yellow || self.first < cost {
                return Colour::Yellow;
            }
            self.first -= cost;
            return Colour::Green;
        }
        // RFC 2697 §3, RFC 4115 §3.
        if came == Colour::Green && self.first >= cost {
            self.first -= cost;
            return Colour::Green;
        }
        if came != Colour::Red && self.second >= cost {
            self.second -= cost;
            return Colour::Yellow;
        }
        Colour::Red
    }
}

/// Below 2^bits, for bits from `least` on, each as likely as the other.
fn upto(random: &mut Random, least: u64, more: u64) -> u64 {
    let bits = least + random.below(more);
    random.below(1 << bits)
}

fn marker(random: &mut Random) -> Marker {
    let mut rate = || match random.below(8) {
        0 => 0,
        1 => 1 << 40,
        _ => 1 + upto(random, 10, 24),
    };
    let (cir, other) = (rate(), rate());
    let mut burst = || match random.below(8) {
        0 => 0,
        1 => BURST_MAX,
        _ => upto(random, 8, 14),
    };
    let (cbs, second) = (burst(), burst());
    match random.below(3) {
        0 => Marker::SingleRate { cir, cbs, ebs: second },
        1 => Marker::TwoRate { cir, cbs, pir: cir.max(other), pbs: second },
        _ => Marker::Differentiated { cir, cbs, eir: other, ebs: second },
    }
}

/// A time that mostly goes on a little, sometimes a lot, sometimes back.
fn later(random: &mut Random, now: u64) -> u64 {
    match random.below(50) {
        0 => now.saturating_sub(random.below(1_000)),
        1 => now + upto(random, 0, 50),
        2..10 => now,
        _ => now + random.below(20_000),
    }
}

#[test]
fn every_colour_is_the_one_that_exact_arithmetic_gives() {
    let (seeds, packets) = if cfg!(miri) { (10, 30) } else { (600, 1_000) };
    for seed in 0..seeds {
        let mut random = Random(seed);
        let (marker, aware) = (marker(&mut random), random.percent(50));
        let ticks_per_s = random.of(&[1_000_000_000, 2_100_000_000, 1_000, 1, 1 << 32]);
        let profile = Profile::new(marker, aware, ticks_per_s).unwrap();
        let mut exact = Buckets::new(marker, aware, ticks_per_s);
        let mut tokens = profile.full(0);
        let pool = Pool::new(profile, 1, 0);
        let mut share = pool.share().unwrap();
        assert!(pool.share().is_none());
        let mut now = 0;
        for _ in 0..packets {
            now = later(&mut random, now);
            let bytes = random.of(&[0, 40, 64, 576, 1_500, 9_000, random.0 as u32 % 65_536]);
            let came = random.of(&[Colour::Green, Colour::Green, Colour::Yellow, Colour::Red]);
            let right = exact.mark(now, bytes, came);
            assert_eq!(tokens.mark(&profile, now, bytes, came), right, "{marker:?}");
            assert_eq!(share.mark(now, bytes, came), right, "a pool of one share: {marker:?}");
        }
    }
}

#[test]
fn a_group_never_passes_more_than_burst_and_rate_and_nearly_all_of_it() {
    for seed in 0..if cfg!(miri) { 2 } else { 60 } {
        let mut random = Random(seed);
        let shares = 2 + random.below(7) as usize;
        let (cir, cbs) = (1_000_000 + random.below(1 << 30), 100_000 + random.below(1 << 20));
        let marker = Marker::Differentiated { cir, cbs, eir: cir / 2, ebs: cbs };
        let profile = Profile::new(marker, false, 1_000_000_000).unwrap();
        let pool = Pool::new(profile, shares, 0);
        let mut shares: Vec<_> = (0..shares).map(|_| pool.share().unwrap()).collect();
        let (mut now, mut green, mut yellow) = (0, 0_u128, 0_u128);
        let packets = if cfg!(miri) { 100 } else { 20_000 };
        // Twice what the group may: the workers take turns as they happen to be called.
        let gap = 2 * 800 * 1_000_000_000 / (6 * cir);
        for _ in 0..packets {
            now += random.below(gap.max(1) + 1);
            let (worker, bytes) = (random.below(shares.len() as u64), 100 + random.below(1_400));
            let colour = shares[worker as usize].mark(now, bytes as u32, Colour::Green);
            green += if colour == Colour::Green { u128::from(bytes) } else { 0 };
            yellow += if colour == Colour::Yellow { u128::from(bytes) } else { 0 };
        }
        let may = |rate: u64| u128::from(cbs) + u128::from(rate) * u128::from(now) / 1_000_000_000;
        assert!(green <= may(cir) && yellow <= may(cir / 2), "never more");
        if cfg!(not(miri)) {
            assert!(green + u128::from(cbs) >= may(cir) - u128::from(cbs / 4) - 1_500);
        }
    }
}

#[test]
fn workers_that_race_for_a_pool_never_pass_more_than_it_has() {
    let (cir, cbs) = (10_000_000_u64, 1 << 20);
    let marker = Marker::SingleRate { cir, cbs, ebs: 1 << 18 };
    let pool = Pool::new(Profile::new(marker, false, 1_000_000_000).unwrap(), 4, 0);
    let packets = if cfg!(miri) { 50 } else { 50_000_u64 };
    let passed = std::thread::scope(|scope| {
        let worker = |mut share: table::policer::Share| {
            move || {
                let pass = |at: &u64| share.mark(at * 20_000, 1_000, Colour::Green) != Colour::Red;
                (0..packets).filter(pass).count() as u64
            }
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker(pool.share().unwrap()))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap() * 1_000).sum::<u64>()
    });
    assert!(passed <= cbs + (1 << 18) + cir * packets * 20_000 / 1_000_000_000);
}

#[test]
fn numbers_out_of_range_are_refused() {
    let marker = |cir, cbs| Marker::TwoRate { cir, cbs, pir: 5, pbs: 5 };
    let error = |marker, ticks| Profile::new(marker, true, ticks).err();
    assert_eq!(error(marker(6, 5), 1), Some(OutOfRange::Peak));
    assert_eq!(error(marker(1 << 41, 5), 1), Some(OutOfRange::Rate));
    assert_eq!(error(marker(1, BURST_MAX + 1), 1), Some(OutOfRange::Burst));
    assert_eq!(error(marker(1, 1), 0), Some(OutOfRange::Ticks));
    assert_eq!(error(marker(1, 1), 1), None);
}
