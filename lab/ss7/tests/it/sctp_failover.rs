//! The preset `tandem` over paths of 10 ms: what it promises, by many seeds.
//!
//! All: `FAILOVER_SEEDS=1000 cargo test -p tandem-ss7 --test it` (20 without).

use failover::{Case, Condition, Configuration, Load, run};
use machine::Duration;
use ss7::sctp_failover::Lossy;

const SEEDS: u64 = 20;
const MS: fn(u64) -> Duration = Duration::from_millis;

fn seeds() -> u64 {
    std::env::var("FAILOVER_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

fn case(configuration: &Configuration, seed: u64) -> Case {
    Case {
        parameters: configuration.parameters,
        delay: MS(10),
        load: Load::REPORT,
        condition: Condition::QUIET,
        cut: Some(Duration::from_secs(5)),
        length: Duration::from_secs(10),
        seed,
    }
}

#[test]
fn no_path_is_given_up_for_one_packet_lost_in_a_hundred() {
    let lossy = Lossy::of(seeds()).unwrap();
    assert_eq!((lossy.spurious, lossy.lost), (0, 0), "{lossy:?}");
    assert!(lossy.violations.is_empty(), "{lossy:?}");
    assert!(lossy.excursions > 0, "nothing was lost: {lossy:?}");
}

#[test]
fn an_msu_takes_at_most_100_ms_when_the_primary_is_cut() {
    let tandem = Configuration::tandem();
    for per_s in [20, 200, 1_000] {
        for seed in 0..seeds() {
            let load = Load { per_s, ..Load::REPORT };
            let course = run(&Case { load, ..case(&tandem, seed) }).unwrap();
            assert!(course.violations.is_empty() && !course.lost, "{course:?}");
            assert!(course.max_transfer <= MS(100), "{per_s} MSU/s, seed {seed}: {course:?}");
            assert!(course.failover.unwrap() <= MS(800), "{per_s} MSU/s, seed {seed}: {course:?}");
        }
    }
}

#[test]
fn the_failover_of_telecom_2_is_told_within_395_ms() {
    for seed in 0..seeds() {
        let course = run(&case(&Configuration::telecom(2), seed)).unwrap();
        let failover = course.failover.unwrap();
        // 80 + 150 + 150, D, an interval of MSUs; and packets take time to be sent.
        let most = MS(395) + Duration::from_micros(100);
        assert!((MS(380)..=most).contains(&failover), "seed {seed}: {course:?}");
        assert_eq!(course.time_outs.len(), 3);
        assert!(course.spurious == 0 && course.violations.is_empty(), "seed {seed}: {course:?}");
    }
}

#[test]
fn the_same_seed_is_the_same_run_and_another_is_another() {
    let lossy = |seed| Case {
        condition: Condition::loss("2 %", 0.02),
        ..case(&Configuration::telecom(5), seed)
    };
    let of = |seed| serde_json::to_string(&run(&lossy(seed)).unwrap()).unwrap();
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}
