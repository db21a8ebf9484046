//! Limits by themselves, in virtual time.

use super::*;

/// What the tests write as a section.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Section {
    none: CallLimit,
    limit: CallLimit,
    subscriber_limit: CallLimit,
    resources: Resources,
    next_hop: Vec<Hop>,
}

#[derive(serde::Deserialize)]
struct Hop {
    name: String,
    #[serde(default)]
    limit: CallLimit,
}

impl Section {
    fn settings(&self) -> Settings<'_> {
        let none = &self.none;
        let access =
            RealmLimits { name: "access", calls: &self.limit, subscriber: &self.subscriber_limit };
        let hops = self.next_hop.iter().map(|hop| (&*hop.name, &hop.limit));
        Settings {
            resources: &self.resources,
            realms: vec![access, RealmLimits { name: "core", calls: none, subscriber: none }],
            hops: [("switch", none)].into_iter().chain(hops).collect(),
            delay_target: Duration::ZERO,
        }
    }
}

fn config(text: &str) -> Section {
    toml::from_str(text).expect("the section is well-formed")
}

fn limits(text: &str) -> Limits {
    Limits::new(&config(text).settings(), 0, 1)
}

fn asking(subscriber: u64) -> Asking {
    Asking { realm: RealmId(0), hop: Some(0), subscriber, units: 10 }
}

fn start() -> Time {
    Time::from_millis(1_000)
}

/// How many of 700 calls a second, for ten seconds, a limit lets pass; calls come in grains.
fn passed(limits: &mut Limits, offered_per_s: u64, seconds: u64, grain_us: u64) -> u64 {
    let mut passed = 0;
    let mut due = 0;
    for grain in 0..seconds * 1_000_000 / grain_us {
        let now = start() + Duration::from_micros(grain * grain_us);
        let calls = (grain + 1) * grain_us * offered_per_s / 1_000_000;
        for _ in due..calls {
            passed += u64::from(limits.admit(now, &asking(1)).is_ok());
        }
        due = calls;
    }
    passed
}

#[test]
fn exactly_the_rate_passes_however_the_calls_are_bunched() {
    let config = config("limit = { calls_per_s = 400.0 }");
    for (offered, grain_us) in [(700, 200), (700, 20_000), (40_000, 200), (401, 1_000)] {
        let mut limits = Limits::new(&config.settings(), 0, 1);
        let passed = passed(&mut limits, offered, 10, grain_us) as f64;
        assert!((passed / 4_000.0 - 1.0).abs() < 0.01, "{passed} of {offered} calls/s");
    }
}

#[test]
fn the_shares_of_all_shards_add_up() {
    let config = config("limit = { calls_per_s = 400.0, calls_max = 10 }");
    let mut whole = 0;
    for shard in 0..3 {
        let mut limits = Limits::new(&config.settings(), shard, 3);
        whole += (0..20).filter(|n| limits.admit(at_second(*n), &asking(1)).is_ok()).count();
    }
    assert_eq!(whole, 10, "calls at once");
    let only_rate = self::config("limit = { calls_per_s = 400.0 }");
    let rate: u64 =
        (0..3).map(|n| passed(&mut Limits::new(&only_rate.settings(), n, 3), 700, 10, 200)).sum();
    assert!((rate as f64 / 4_000.0 - 1.0).abs() < 0.01, "{rate}");
}

fn at_second(second: u64) -> Time {
    start() + Duration::from_secs(second)
}

#[test]
fn calls_at_once_are_counted_until_they_end_and_over_a_new_configuration() {
    let mut limits = limits("limit = { calls_max = 2 }");
    let first = limits.admit(start(), &asking(1)).unwrap();
    limits.admit(start(), &asking(1)).unwrap();
    let excess = limits.admit(start(), &asking(1)).unwrap_err();
    assert_eq!((excess.kind, excess.is_rate, excess.answer.status), (Kind::Realm, false, 486));
    assert_eq!(limits.name(&excess), "access");
    limits.configure(
        &config("limit = { calls_max = 3, excess_status = 503, retry_after_s = 9 }").settings(),
    );
    limits.admit(start(), &asking(1)).unwrap();
    let excess = limits.admit(start(), &asking(1)).unwrap_err();
    assert_eq!((excess.answer.status, excess.answer.retry_after_s), (503, Some(9)));
    limits.release(first);
    limits.admit(start(), &asking(1)).unwrap();
}

#[test]
fn a_subscriber_has_his_own_limit_and_his_row_ages_out() {
    let more = "subscriber_limit = { calls_per_s = 1.0, calls_max = 1 }";
    let mut limits = limits(more);
    let grant = limits.admit(start(), &asking(1)).unwrap();
    limits.admit(start(), &asking(2)).unwrap();
    let excess = limits.admit(at_second(5), &asking(1)).unwrap_err();
    assert_eq!((excess.kind, excess.is_rate), (Kind::Subscriber, false));
    limits.release(grant);
    limits.admit(at_second(5), &asking(1)).unwrap();
    assert_eq!(limits.subscribers.len(), 2);
    for who in 100..5_000u64 {
        let now = at_second(10 + who);
        let grant = limits.admit(now, &asking(who)).unwrap();
        limits.release(grant);
    }
    assert!(limits.subscribers.len() < 8, "{} rows", limits.subscribers.len());
}

#[test]
fn what_one_limit_refuses_takes_nothing_from_the_others() {
    let more = "limit = { calls_per_s = 10.0, burst = 3 }\nsubscriber_limit = { calls_max = 1 }";
    let mut limits = limits(more);
    for _ in 0..10 {
        let _ = limits.admit(start(), &asking(1));
    }
    assert_eq!(limits.units(), 10, "one call was let in");
    limits.admit(start(), &asking(2)).unwrap();
    limits.admit(start(), &asking(3)).unwrap();
    assert_eq!(limits.admit(start(), &asking(4)).unwrap_err().kind, Kind::Realm);
}

#[test]
fn a_call_that_moves_to_another_next_hop_is_counted_there() {
    let hops = "[[next_hop]]\nname = \"spare\"\nlimit = { calls_max = 1 }\n";
    let mut limits = limits(hops);
    let mut grant = limits.admit(start(), &asking(1)).unwrap();
    limits.moved(&mut grant, Some(1));
    let spare = Asking { hop: Some(1), ..asking(2) };
    assert_eq!(limits.admit(start(), &spare).unwrap_err().kind, Kind::NextHop);
    limits.release(grant);
    limits.admit(start(), &spare).unwrap();
}

#[test]
fn without_units_no_call_is_let_in() {
    let mut limits = limits("");
    limits.stock.set_max(25);
    let first = limits.admit(start(), &asking(1)).unwrap();
    limits.admit(start(), &asking(1)).unwrap();
    let excess = limits.admit(start(), &asking(1)).unwrap_err();
    assert_eq!((excess.kind, excess.answer.status), (Kind::Units, 503));
    limits.release(first);
    limits.admit(start(), &asking(1)).unwrap();
}
