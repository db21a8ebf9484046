//! Scenes in virtual time, every address from a seed.

use super::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const START: Time = Time::from_millis(1_700_000_000_000);
const SECRET: [u64; 2] = [0x1234_5678_9abc_def1, 0x0fed_cba9_8765_4321];
const INVITE: usize = 1;
const REGISTER: usize = 2;

fn rules() -> Rules {
    Rules {
        enabled: true,
        trusted: vec!["192.0.2.0/24".parse().unwrap()],
        source_rate: 100,
        source_burst: 200,
        unknown_rate: 2_000,
        unknown_burst: 1_000,
        flood_rate: 200,
        flood_refused: 1_000,
        refused_max: 500,
        malformed_max: 10,
        blacklist: Duration::from_secs(60),
        blacklist_max: 100,
        sources_max: 4_096,
        challenge: None,
        known_for: Duration::from_secs(600),
    }
}

fn policer() -> Policer {
    Policer::new(rules(), SECRET, START)
}

/// A sender of datagrams.
fn from(address: impl Into<IpAddr>) -> Source {
    Source { address: address.into(), is_proven: false }
}

/// Behind a connection that stands.
fn proven(address: impl Into<IpAddr>) -> Source {
    Source { is_proven: true, ..from(address) }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    }

    fn address(&mut self) -> IpAddr {
        Ipv4Addr::from(0x0b00_0000 | (self.next() as u32 & 0x00ff_ffff)).into()
    }
}

/// `per_s` messages a second of random sources, from `at` on for `time`; how many passed.
fn flood(policer: &mut Policer, seed: u64, at: Time, time: Duration, per_s: u64) -> usize {
    let mut random = Random(seed);
    let count = time.as_millis() as u64 * per_s / 1_000;
    let passes = |n: &u64| {
        let now = at + Duration::from_nanos(n * 1_000_000_000 / per_s);
        policer.admit(now, from(random.address()), REGISTER, || false) == Verdict::Pass
    };
    (0..count).filter(passes).count()
}

#[test]
fn millions_of_sources_cost_no_more_room_than_a_few() {
    for seed in 0..3 {
        let mut policer = policer();
        let bytes = policer.table_bytes();
        flood(&mut policer, seed, START, Duration::from_secs(10), 200_000);
        assert_eq!(policer.table_bytes(), bytes);
        assert!(policer.remembered() <= 4_096 && policer.remembered() > 4_000);
        assert!(policer.blacklisted(START).count() <= 100);
    }
}

#[test]
fn a_flood_of_forged_sources_gets_its_share_and_no_more() {
    let mut policer = policer();
    let passed = flood(&mut policer, 1, START, Duration::from_secs(10), 100_000);
    assert!(passed <= 1_000 + 200 + 10 * 200, "the burst, a window, the flood's rate: {passed}");
}

#[test]
fn whoever_is_known_passes_while_a_million_forged_sources_flood() {
    let mut policer = policer();
    let (peer, phone) = ([198, 51, 100, 7], [203, 0, 113, 9]);
    policer.know([IpAddr::from(peer)].into_iter());
    for step in 0..1_000u64 {
        let at = START + Duration::from_millis(step);
        flood(&mut policer, step, at, Duration::from_millis(5), 200_000);
        for (source, registered) in
            [(from(peer), false), (from(phone), true), (from([192, 0, 2, 5]), false)]
        {
            let verdict = policer.admit(at, source, INVITE, || registered);
            assert_eq!(verdict, Verdict::Pass, "{source:?} in step {step}");
        }
    }
}

#[test]
fn a_flood_is_recognised_within_a_second_and_named() {
    for per_s in [3_000, 20_000, 500_000] {
        let mut policer = policer();
        assert_eq!(policer.flood(START), None);
        flood(&mut policer, 7, START, Duration::from_secs(1), per_s);
        let found = policer.flood(START + Duration::from_secs(1)).expect("a flood goes on");
        assert_eq!(found.kind, REGISTER);
        assert!(found.since.since(START) < Duration::from_secs(1), "{per_s}: {found:?}");
        let calm = START + Duration::from_secs(7);
        assert_eq!(policer.flood(calm), None, "it is over");
        assert_eq!(policer.floods(), 1);
    }
}

#[test]
fn after_a_flood_unknown_sources_have_their_rate_again() {
    let mut policer = policer();
    flood(&mut policer, 7, START, Duration::from_secs(2), 50_000);
    let during = START + Duration::from_secs(2);
    let passed = flood(&mut policer, 8, during, Duration::from_secs(7), 900);
    assert!(passed > 7 * 200, "{passed}");
    let after = START + Duration::from_secs(9);
    assert_eq!(flood(&mut policer, 9, after, Duration::from_secs(2), 900), 1_800);
}

#[test]
fn a_source_that_sends_too_much_is_blacklisted_until_its_time_is_over() {
    let mut policer = policer();
    let loud = proven([203, 0, 113, 1]);
    let sends = |policer: &mut Policer, n: u64| {
        policer.admit(START + Duration::from_micros(n * 10), loud, INVITE, || false)
    };
    let verdicts: Vec<_> = (0..2_000).map(|n| sends(&mut policer, n)).collect();
    assert_eq!(verdicts[0], Verdict::Pass);
    assert_eq!(verdicts[400], Verdict::Excess);
    assert_eq!(verdicts[1_999], Verdict::Blacklisted);
    let rows: Vec<Sentence> = policer.blacklisted(START).cloned().collect();
    let [row] = &rows[..] else { panic!("one source is blacklisted: {rows:?}") };
    assert_eq!((row.address, row.violation, row.count), (loud.address, Violation::Excess, 500));
    assert!(row.refused > 1_000 && row.last > row.since);
    let quiet = policer.admit(START, from([203, 0, 113, 2]), INVITE, || false);
    assert_eq!(quiet, Verdict::Pass, "its neighbour is not meant");
    let over = row.until + Duration::from_millis(1);
    assert_eq!(policer.blacklisted(over).count(), 0);
    assert_eq!(policer.admit(over, loud, INVITE, || false), Verdict::Pass);
}

#[test]
fn what_cannot_be_read_counts_against_its_source() {
    let mut policer = policer();
    let source = proven(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1));
    let judged: Vec<_> = (0..10).map(|_| policer.malformed(START, source, || false)).collect();
    assert_eq!(judged.iter().position(|&black| black), Some(9));
    let beside = from(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 2));
    assert_eq!(policer.admit(START, beside, INVITE, || false), Verdict::Blacklisted);
    assert_eq!(policer.pardon(Some(source.address)), 1);
    assert_eq!(policer.admit(START, beside, INVITE, || false), Verdict::Pass);
}

#[test]
fn datagrams_that_anybody_may_have_forged_put_nobody_on_the_blacklist() {
    let mut policer = policer();
    let innocent = from([203, 0, 113, 1]);
    for n in 0..5_000 {
        let now = START + Duration::from_micros(n * 10);
        let verdict = policer.admit(now, innocent, INVITE, || false);
        assert_ne!(verdict, Verdict::Blacklisted, "its budget is all that it loses");
        assert!(n != 150 || verdict == Verdict::Excess, "of which this takes twice as much");
        assert!(!policer.malformed(now, innocent, || false));
    }
    assert_eq!(policer.blacklisted(START).count(), 0);
    let connected = proven([203, 0, 113, 1]);
    let later = START + Duration::from_secs(2);
    assert_eq!(policer.admit(later, connected, INVITE, || false), Verdict::Pass);
    // Who has answered a challenge has the address.
    policer.prove(later, innocent.address);
    assert!((0..20).any(|_| policer.malformed(later, innocent, || false)));
}

#[test]
fn now_and_then_a_malformed_message_is_no_violation() {
    let mut policer = policer();
    let source = from([203, 0, 113, 3]);
    for n in 0..100 {
        let now = START + Duration::from_secs(2 * n);
        assert!(!policer.malformed(now, source, || false), "message {n}");
    }
}

#[test]
fn a_loaded_nat_of_registered_or_trusted_far_ends_is_never_blacklisted() {
    let mut policer = policer();
    for n in 0..50_000u64 {
        let now = START + Duration::from_micros(n * 20);
        for (source, registered) in [(from([203, 0, 113, 4]), true), (from([192, 0, 2, 9]), false)]
        {
            assert_eq!(policer.admit(now, source, INVITE, || registered), Verdict::Pass);
            assert!(!policer.malformed(now, source, || registered));
        }
    }
    assert_eq!((policer.blacklisted(START).count(), policer.floods()), (0, 0));
}

#[test]
fn the_blacklist_has_an_end() {
    let mut policer = policer();
    let mut random = Random(5);
    for _ in 0..1_000 {
        let source = proven(random.address());
        for _ in 0..10 {
            policer.malformed(START, source, || false);
        }
    }
    assert_eq!(policer.blacklisted(START).count(), 100);
    let later = START + Duration::from_secs(61);
    let source = proven(random.address());
    assert!((0..10).any(|_| policer.malformed(later, source, || false)), "places are free again");
    assert_eq!(policer.pardon(None), 1);
}

#[test]
fn a_connection_is_not_forged_and_needs_no_share_of_the_others() {
    let mut policer = policer();
    flood(&mut policer, 3, START, Duration::from_secs(1), 100_000);
    let connected = proven([203, 0, 113, 5]);
    let now = START + Duration::from_secs(1);
    assert_eq!(policer.admit(now, connected, INVITE, || false), Verdict::Pass);
}

#[test]
fn a_policer_that_is_off_and_loopback_let_everything_pass() {
    let mut off = Policer::new(Rules { enabled: false, ..rules() }, SECRET, START);
    assert_eq!(flood(&mut off, 1, START, Duration::from_secs(1), 10_000), 10_000);
    let mut on = policer();
    let local = from([127, 0, 0, 1]);
    let passed = (0..10_000).all(|_| on.admit(START, local, INVITE, || false) == Verdict::Pass);
    assert!(passed);
}

#[test]
fn the_kernel_is_told_who_is_known_and_who_is_not_wanted() {
    let (mut policer, mut out) = (policer(), Vec::new());
    let (hop, other) = (IpAddr::from([203, 0, 113, 1]), IpAddr::from([203, 0, 113, 2]));
    let mut told = |policer: &mut Policer| {
        policer.report(&mut out);
        std::mem::take(&mut out)
    };
    policer.know([hop, hop].into_iter());
    assert_eq!(told(&mut policer), [Change::Know(hop, None)]);
    policer.know([other].into_iter());
    assert_eq!(told(&mut policer), [Change::Forget(hop), Change::Know(other, None)]);
    let friend = from([203, 0, 113, 3]);
    for ms in [0, 10, 59_000, 60_000] {
        policer.admit(START + Duration::from_millis(ms), friend, INVITE, || true);
    }
    let known = Change::Know(friend.address, Some(Duration::from_secs(600)));
    assert_eq!(told(&mut policer), [known, known], "at first, and after a minute");
    let foe = proven([203, 0, 113, 4]);
    for _ in 0..20 {
        policer.malformed(START, foe, || false);
    }
    let blocked = Change::Block(foe.address, Duration::from_secs(60));
    assert!(told(&mut policer).contains(&blocked));
    policer.pardon(None);
    assert_eq!(told(&mut policer), [Change::Pardon(None)]);
    assert!(!policer.has_changes());
}

#[test]
fn in_a_flood_whoever_proves_its_return_path_has_its_own_budget_and_no_other() {
    let rules = Rules { challenge: Some((REGISTER, 1_000)), ..rules() };
    let mut policer = Policer::new(rules, SECRET, START);
    let phone = from([203, 0, 113, 9]);
    let sends = |policer: &mut Policer, at: Time, kind| policer.admit(at, phone, kind, || false);
    assert_eq!(sends(&mut policer, START, REGISTER), Verdict::Pass, "no flood yet");
    flood(&mut policer, 1, START, Duration::from_secs(1), 50_000);
    let during = START + Duration::from_secs(1);
    assert_eq!(sends(&mut policer, during, REGISTER), Verdict::Unproven);
    let challenges = (0..50_000u64).filter(|n| {
        policer.may_challenge(during + Duration::from_micros(n * 20)) // a second of the flood
    });
    assert!((1_000..=1_101).contains(&challenges.count()), "the rate, and a tenth at once");
    policer.prove(during, phone.address);
    assert!(policer.has_changes(), "the kernel lets it pass too");
    let later = during + Duration::from_secs(10);
    flood(&mut policer, 2, during, Duration::from_secs(10), 50_000);
    let passed = (0..1_000).filter(|_| sends(&mut policer, later, REGISTER) == Verdict::Pass);
    assert_eq!(passed.count(), 200, "its own burst");
    flood(&mut policer, 3, later, PROVEN_FOR, 3_000);
    let over = during + PROVEN_FOR;
    assert_eq!(sends(&mut policer, over, REGISTER), Verdict::Unproven, "a proof holds for a while");
}
