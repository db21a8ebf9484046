//! The methods find what the device has, whatever the seed.

use crate::device::{Device, LINE_PPS};
use packet_load::{
    BackToBack, FrameLoss, Goal, Latency, Measured, Method, Random, Search, TRIALS_MAX, Trial,
    drive,
};
use std::time::Duration;

const PPM_20: f64 = 20e-6;

#[test]
fn the_throughput_of_rfc_2544_is_found_within_the_width() {
    for seed in 0..100 {
        let capacity = 1e5 + Random::new(seed).fraction() * 9.8e6;
        let mut device = Device::new(capacity, seed);
        let goal = Goal::rfc_2544(0.0);
        let mut search = Search::new(vec![goal], 1_000.0, 10e6);
        drive(&mut search, |trial| device.trial(trial)).unwrap();
        let found = search.outcome();
        let (lower, upper) = (found.bounds[0].lower_pps.unwrap(), found.bounds[0].upper_pps);
        // The buffer lets a trial pass a little above the capacity.
        let true_limit = capacity + device.buffer / 60.0;
        assert!(lower <= true_limit + 1.0, "seed {seed}: {lower} above {capacity}");
        assert!(upper.unwrap() > capacity, "seed {seed}: {upper:?} below {capacity}");
        assert!(lower >= upper.unwrap() * (1.0 - goal.width) - 1.0, "seed {seed}: {found:?}");
        assert!(found.trials < 40, "seed {seed}: {} trials", found.trials);
        assert_eq!(found.bounds[0].conditional_pps, Some(lower));
    }
}

#[test]
fn several_goals_are_found_in_one_search_and_the_more_bearable_is_the_higher() {
    for seed in 0..50 {
        let mut device = Device::new(3e6, seed);
        (device.pauses_per_s, device.pause_s) = (0.05, 0.002);
        let short = |loss| {
            let times = [100, 1_000, 5_000].map(Duration::from_millis);
            Goal::noisy(loss).within(times[0], times[1], times[2])
        };
        let goals = vec![short(0.0), short(PPM_20), short(0.005)];
        let mut search = Search::new(goals, 1_000.0, 12e6);
        drive(&mut search, |trial| device.trial(trial)).unwrap();
        let found = search.outcome();
        let lower: Vec<f64> = found.bounds.iter().map(|bounds| bounds.lower_pps.unwrap()).collect();
        assert!(lower[0] <= lower[1] && lower[1] <= lower[2], "seed {seed}: {lower:?}");
        assert!((2.9e6..=3.02e6).contains(&lower[1]), "seed {seed}: {lower:?}");
        assert!((2.95e6..=3.04e6).contains(&lower[2]), "seed {seed}: {lower:?}");
        assert!(found.trials < 150, "seed {seed}: {} trials", found.trials);
        assert!((found.time.as_secs_f64() - device.seconds).abs() < 1e-3);
    }
}

#[test]
fn half_of_the_trials_with_a_pause_hide_no_throughput_where_the_goal_bears_them() {
    let lower = |exceed_ratio| {
        let mut device = Device::new(2e6, 9);
        (device.pauses_per_s, device.pause_s) = (0.3, 0.01);
        let goal = Goal { exceed_ratio, ..Goal::noisy(PPM_20) };
        let mut search = Search::new(vec![goal], 1_000.0, 10e6);
        drive(&mut search, |trial| device.trial(trial)).unwrap();
        search.outcome().bounds[0].lower_pps.unwrap_or_default()
    };
    let (bearing, strict) = (lower(0.5), lower(0.0));
    assert!(bearing > 1.95e6 && strict < bearing * 0.8, "{bearing} {strict}");
}

#[test]
fn stray_losses_below_the_tolerance_do_not_end_the_search() {
    let mut device = Device::new(2e6, 1);
    device.stray_ppb = 10_000.0;
    let mut lower = |loss| {
        let mut search = Search::new(vec![Goal::rfc_2544(loss)], 1_000.0, 10e6);
        drive(&mut search, |trial| device.trial(trial)).unwrap();
        search.outcome().bounds[0].lower_pps.unwrap_or_default()
    };
    let (tolerant, strict) = (lower(PPM_20), lower(0.0));
    assert!((1.98e6..2.02e6).contains(&tolerant) && strict < 1e5, "{tolerant} {strict}");
}

#[test]
fn a_device_that_takes_everything_has_the_maximum_and_no_upper_bound() {
    let mut device = Device::new(1e9, 1);
    let mut search = Search::new(vec![Goal::noisy(0.0), Goal::noisy(0.005)], 1_000.0, 10e6);
    drive(&mut search, |trial| device.trial(trial)).unwrap();
    for bounds in search.outcome().bounds {
        assert_eq!((bounds.lower_pps, bounds.upper_pps), (Some(10e6), None));
    }
}

#[test]
fn a_search_ends_whatever_the_device_says() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let exceed_ratio = [0.0, 0.25, 0.5, 1.0][random.below(4) as usize];
        let goals = vec![Goal { exceed_ratio, ..Goal::noisy(0.0) }, Goal::rfc_2544(0.01)];
        let mut search = Search::new(goals, 10.0, 1e9);
        let any = |trial: Trial| -> Result<Measured, ()> {
            let Trial::Rate { pps, duration } = trial else { return Err(()) };
            assert!((10.0..=1e9).contains(&pps));
            let received = u64::from(random.below(3)) * 500;
            Ok(Measured { intended: 1_000, received, duration, ..Measured::default() })
        };
        let trials = drive(&mut search, any).unwrap();
        assert!(trials <= TRIALS_MAX && (search.next().is_none() || trials == TRIALS_MAX));
    }
}

#[test]
fn the_loss_rate_falls_until_two_trials_lose_nothing() {
    let mut device = Device::new(4.5e6, 1);
    let mut method = FrameLoss::new(10e6, Duration::from_secs(10));
    drive(&mut method, |trial| device.trial(trial)).unwrap();
    let curve = method.curve();
    assert_eq!(curve.len(), 8, "from ten to three tenths: {curve:?}");
    assert!(curve.windows(2).all(|pair| pair[0].1 >= pair[1].1 && pair[0].0 > pair[1].0));
    assert!((curve[0].1 - 0.55).abs() < 0.001 && curve[6].1 <= 0.0 && curve[7].1 <= 0.0);
    let mut never = FrameLoss::new(10e6, Duration::from_secs(10));
    drive(&mut never, |trial| Device::new(0.0, 1).trial(trial)).unwrap();
    assert_eq!(never.curve().len(), 10);
}

#[test]
fn the_longest_burst_is_the_buffer_and_what_left_it_meanwhile() {
    let mut device = Device::new(4e6, 1);
    device.buffer = 3_000.0;
    let mut method = BackToBack::new(1 << 20, 50, 0.0);
    assert_eq!(method.burst(), None);
    drive(&mut method, |trial| device.trial(trial)).unwrap();
    let burst = method.burst().unwrap();
    // 3,000 packets more come than go when 5,000 came.
    assert!((burst.mean - 5_000.0).abs() <= 1.0 && !burst.is_unbounded, "{burst:?}");
    let buffer = burst.buffer_s(LINE_PPS, 4e6);
    assert!((buffer * LINE_PPS - 3_000.0).abs() < 2.0, "{buffer}");
    let mut endless = BackToBack::new(1_000, 3, 0.01);
    drive(&mut endless, |trial| device.trial(trial)).unwrap();
    assert!(endless.burst().unwrap().is_unbounded);
}

#[test]
fn delays_are_medians_over_repeated_trials() {
    let mut device = Device::new(4e6, 1);
    let mut method = Latency::new(2e6, Duration::from_secs(60), 20);
    assert!(method.figures().is_none());
    assert_eq!(drive(&mut method, |trial| device.trial(trial)), Ok(20));
    let figures = method.figures().unwrap();
    let [median, low, high] = figures.typical_ns;
    assert!(low <= median && median <= high && (1_000.0..2_000.0).contains(&median));
    assert!(figures.worst_case_ns[0] >= 10_000.0 && figures.max_ns >= 20_000);
    assert!((figures.variation_ns[0] - figures.worst_case_ns[0] + 1_000.0).abs() < 1.0);
    assert!(figures.loss_ratio <= 0.0);
}
