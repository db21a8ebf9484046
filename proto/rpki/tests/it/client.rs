//! The client against caches that do as they should, and caches that do not.

use crate::every::{self, Cache, World, v4, v6};
use bgp::family::Ipv4Prefix;
use machine::{Duration, Machine, Time};
use rpki::{
    CacheId, Cause, ErrorCode, In, Indication, Intervals, Out, Pdu, Phase, SPKI_BYTES_MAX,
    Settings, Validity, Version,
};

fn seconds(it: u64) -> Time {
    Time::ZERO + Duration::from_secs(it)
}

fn prefix(text: &str) -> Ipv4Prefix {
    let (address, bits) = text.split_once('/').unwrap();
    Ipv4Prefix::new(address.parse().unwrap(), bits.parse().unwrap()).unwrap()
}

#[test]
fn the_table_is_filled_at_the_end_of_data_and_not_before() {
    let mut world = World::new(Settings::new(1));
    world.step(In::Start);
    assert_eq!(world.out, [Out::Connect(CacheId(0))]);
    world.step(In::Connected(CacheId(0)));
    assert_eq!(world.sent(0), [Pdu::ResetQuery]);
    world.hear(
        0,
        &[
            Pdu::CacheResponse(7),
            v4(true, "192.0.2.0/24", 25, 65_001),
            v6(true, "2001:db8::/32", 48, 1),
        ],
    );
    assert!(world.client.table().is_empty());
    world.hear(0, &[Pdu::EndOfData(7, 1, Some(Intervals::DEFAULT))]);
    assert_eq!(world.client.table().len(), (1, 1));
    let table = world.client.table();
    assert_eq!(table.validate_ipv4(prefix("192.0.2.0/25"), Some(65_001)), Validity::Valid);
    assert_eq!(table.validate_ipv4(prefix("192.0.2.0/25"), Some(65_002)), Validity::Invalid);
    let delta = world.delta().unwrap();
    assert_eq!((delta.ipv4, delta.ipv6.len()), (vec![prefix("192.0.2.0/24")], 1));
    assert!(world.heard(&Indication::Synchronised(CacheId(0), 1)));
    assert_eq!(world.client.deadline(), Some(seconds(3_600)));
    assert_eq!(world.client.counters().loads, 1);
}

#[test]
fn a_notification_brings_the_changes_and_tells_their_prefixes_only() {
    let mut world = World::synchronised(Settings::new(1));
    world.hear(0, &[Pdu::SerialNotify(7, 1)]);
    assert_eq!(world.sent(0), [], "that serial number is known");
    world.hear(0, &[Pdu::SerialNotify(7, 2)]);
    assert_eq!(world.sent(0), [Pdu::SerialQuery(7, 1)]);
    world.hear(
        0,
        &[
            Pdu::CacheResponse(7),
            v4(true, "203.0.113.0/24", 24, 65_003),
            v4(false, "192.0.2.0/24", 25, 65_001),
            v4(true, "192.0.2.0/24", 24, 65_001),
            v4(true, "10.0.0.0/8", 8, 9),
            v4(false, "10.0.0.0/8", 8, 9),
            Pdu::EndOfData(7, 2, Some(Intervals::DEFAULT)),
        ],
    );
    let delta = world.delta().unwrap();
    assert_eq!(delta.ipv4, [prefix("192.0.2.0/24"), prefix("203.0.113.0/24")]);
    assert_eq!(delta.ipv6, []);
    assert_eq!(world.client.table().len(), (2, 1));
    let status = world.client.status().next().unwrap();
    assert_eq!((status.phase, status.known), (Phase::Synchronised, Some((7, 2))));
}

#[test]
fn a_cache_reset_brings_everything_anew_and_tells_the_difference_only() {
    let mut world = World::synchronised(Settings::new(1));
    world.tick(seconds(3_600));
    assert_eq!(world.sent(0), [Pdu::SerialQuery(7, 1)]);
    world.hear(0, &[Pdu::CacheReset]);
    assert_eq!(world.sent(0), [Pdu::ResetQuery]);
    world.hear(0, &[Pdu::CacheResponse(8), v4(true, "192.0.2.0/24", 25, 65_001)]);
    assert_eq!(
        world.client.table().len(),
        (1, 1),
        "old records count until the new ones are there"
    );
    world.hear(0, &[Pdu::EndOfData(8, 100, Some(Intervals::DEFAULT))]);
    // The record of IPv4 is the same; that of IPv6 went.
    let delta = world.delta().unwrap();
    assert_eq!((delta.ipv4.len(), delta.ipv6.len()), (0, 1));
    assert_eq!(world.client.status().next().unwrap().known, Some((8, 100)));
}

#[test]
fn a_cache_of_version_0_is_spoken_to_in_version_0() {
    // It answers in its version, or it reports that it does not know ours.
    let mut world = World::new(Settings::new(1));
    world.connect(0);
    world.caches[0].version = Version::V0;
    world.hear(
        0,
        &[Pdu::CacheResponse(7), v4(true, "192.0.2.0/24", 25, 65_001), Pdu::EndOfData(7, 1, None)],
    );
    assert_eq!(world.client.table().len(), (1, 0));
    assert_eq!(world.client.status().next().unwrap().version, Version::V0);
    let mut world = World::new(Settings::new(1));
    world.connect(0);
    world.caches[0].version = Version::V0;
    let code = ErrorCode::UnsupportedVersion.number();
    world.hear(0, &[Pdu::ErrorReport(code, &[], b"version")]);
    assert!(world.heard(&Indication::Failed(CacheId(0), Cause::Downgraded)));
    assert!(world.out.contains(&Out::Connect(CacheId(0))), "it is asked again at once");
    world.out.clear();
    world.step(In::Connected(CacheId(0)));
    let Out::Send(_, octets) = &world.out[0] else { panic!() };
    assert_eq!(octets[..2], [0, 2]);
}

#[test]
fn notifications_before_the_version_is_agreed_on_do_not_count() {
    let mut world = World::new(Settings::new(1));
    world.connect(0);
    world.caches[0].version = Version::V0;
    world.hear(0, &[Pdu::SerialNotify(9, 9)]);
    assert_eq!(world.client.status().next().unwrap().version, Version::V1);
    world.caches[0].version = Version::V1;
    world.hear(0, &[Pdu::CacheResponse(7), Pdu::EndOfData(7, 1, Some(Intervals::DEFAULT))]);
    assert_eq!(world.client.status().next().unwrap().phase, Phase::Synchronised);
}

#[test]
fn violations_are_reported_and_end_the_connection() {
    let start = [Pdu::CacheResponse(7)];
    let end = Pdu::EndOfData(7, 2, Some(Intervals::DEFAULT));
    let once = v4(true, "10.0.0.0/8", 8, 1);
    let cases: Vec<(Vec<Pdu<'_>>, ErrorCode)> = vec![
        (
            vec![start[0].clone(), once.clone(), once.clone(), end.clone()],
            ErrorCode::DuplicateAnnouncement,
        ),
        (
            vec![start[0].clone(), v4(false, "10.0.0.0/8", 8, 1), end.clone()],
            ErrorCode::WithdrawalOfUnknown,
        ),
        (vec![once.clone()], ErrorCode::CorruptData),
        (vec![end.clone()], ErrorCode::CorruptData),
        (
            vec![start[0].clone(), Pdu::EndOfData(8, 2, Some(Intervals::DEFAULT))],
            ErrorCode::CorruptData,
        ),
        (vec![start[0].clone(), start[0].clone()], ErrorCode::CorruptData),
        (vec![Pdu::CacheReset], ErrorCode::CorruptData),
        (vec![Pdu::ResetQuery], ErrorCode::InvalidRequest),
        (vec![start[0].clone(), v4(true, "10.0.0.0/8", 7, 1)], ErrorCode::CorruptData),
        (vec![start[0].clone(), v4(true, "10.0.0.0/8", 33, 1)], ErrorCode::CorruptData),
        (
            vec![start[0].clone(), Pdu::RouterKey(true, 1, [0; 20], &[7; SPKI_BYTES_MAX + 1])],
            ErrorCode::InternalError,
        ),
    ];
    for (pdus, code) in cases {
        let mut world = World::new(Settings::new(1));
        world.connect(0);
        world.hear(0, &pdus);
        let sent = world.sent(0);
        let [Pdu::ErrorReport(number, ..)] = sent[..] else { panic!("{pdus:?}: {sent:?}") };
        assert_eq!(number, code.number(), "{pdus:?}");
        assert!(world.out.contains(&Out::Close(CacheId(0))), "{pdus:?}");
        assert!(world.client.table().is_empty());
        assert_eq!(world.client.status().next().unwrap().failures, 1);
    }
}

#[test]
fn another_session_drops_connection_and_records() {
    for pdu in [Pdu::SerialNotify(8, 2), Pdu::CacheResponse(8)] {
        let mut world = World::synchronised(Settings::new(1));
        if matches!(pdu, Pdu::CacheResponse(_)) {
            world.tick(seconds(3_600));
        }
        world.hear(0, &[pdu]);
        assert!(world.client.table().is_empty(), "RFC 8210 §5.1");
        assert!(world.delta().is_some());
        assert!(world.out.contains(&Out::Close(CacheId(0))));
        assert_eq!(world.client.source(), None);
    }
}

#[test]
fn another_version_in_the_middle_is_a_violation() {
    let mut world = World::synchronised(Settings::new(1));
    world.caches[0].version = Version::V0;
    world.hear(0, &[Pdu::SerialNotify(7, 2)]);
    let [Pdu::ErrorReport(code, ..)] = world.sent(0)[..] else { panic!() };
    assert_eq!(code, ErrorCode::UnexpectedVersion.number());
    assert_eq!(world.client.table().len(), (1, 1), "records stay until they expire");
}

#[test]
fn an_error_report_is_never_answered_by_one() {
    let mut world = World::synchronised(Settings::new(1));
    // Of a length that no Error Report has, and one whose text is cut off.
    for octets in ["010a0000 0000000c 00000000", "010a0000 00000010 00000000 00000005"] {
        let mut broken = World::synchronised(Settings::new(1));
        broken.octets(0, &every::hex(octets));
        assert_eq!(broken.sent(0), []);
        assert!(broken.out.contains(&Out::Close(CacheId(0))));
    }
    world.hear(0, &[Pdu::ErrorReport(1, &[], b"broken")]);
    assert_eq!(world.sent(0), []);
    let cause = Cause::Reported(1, "broken".into());
    assert!(world.heard(&Indication::Failed(CacheId(0), cause)));
}

#[test]
fn records_of_a_lost_cache_stay_until_they_expire() {
    let mut world = World::synchronised(Settings::new(1));
    world.now = seconds(100);
    world.step(In::Closed(CacheId(0)));
    let mut attempts = 0;
    while world.now < seconds(7_199) {
        world.now = world.client.deadline().unwrap();
        if world.now >= seconds(7_200) {
            break;
        }
        world.tick(world.now);
        attempts += world.out.drain(..).filter(|it| *it == Out::Connect(CacheId(0))).count();
        world.step(In::ConnectFailed(CacheId(0)));
        assert_eq!(world.client.table().len(), (1, 1));
    }
    // 1 s, 2 s, 4 s, … up to the retry interval of 600 s.
    assert!((18..=24).contains(&attempts), "{attempts}");
    world.tick(seconds(7_200));
    assert!(world.client.table().is_empty() && world.heard(&Indication::Expired));
    assert_eq!(world.delta().unwrap().ipv4.len(), 1);
}

#[test]
fn a_cache_that_comes_back_is_asked_for_what_is_new_only() {
    let mut world = World::synchronised(Settings::new(1));
    world.step(In::Closed(CacheId(0)));
    world.tick(seconds(1));
    world.out.clear();
    world.step(In::Connected(CacheId(0)));
    assert_eq!(world.sent(0), [Pdu::SerialQuery(7, 1)]);
    // What it reported an error about is asked for as a whole the next time.
    world.hear(0, &[Pdu::ErrorReport(3, &[], b"no")]);
    world.tick(seconds(3));
    world.out.clear();
    world.step(In::Connected(CacheId(0)));
    assert_eq!(world.sent(0), [Pdu::ResetQuery]);
}

#[test]
fn the_next_cache_serves_while_the_preferred_one_is_away() {
    let mut world = World::new(Settings::new(3));
    world.step(In::Start);
    world.step(In::ConnectFailed(CacheId(0)));
    assert!(world.out.contains(&Out::Connect(CacheId(1))));
    world.step(In::Connected(CacheId(1)));
    world.hear(
        1,
        &[
            Pdu::CacheResponse(2),
            v4(true, "10.0.0.0/8", 8, 2),
            Pdu::EndOfData(2, 5, Some(Intervals::DEFAULT)),
        ],
    );
    assert_eq!(world.client.source(), Some(CacheId(1)));
    world.out.clear();
    world.tick(seconds(2));
    assert_eq!(world.out, [Out::Connect(CacheId(0))], "the third is not wanted");
    world.out.clear();
    world.step(In::Connected(CacheId(0)));
    world.hear(0, &[Pdu::CacheResponse(7), v4(true, "10.0.0.0/8", 9, 2)]);
    assert_eq!(world.client.source(), Some(CacheId(1)), "not before its answer is whole");
    world.hear(0, &[Pdu::EndOfData(7, 1, Some(Intervals::DEFAULT))]);
    assert_eq!(world.client.source(), Some(CacheId(0)));
    assert!(world.out.contains(&Out::Close(CacheId(1))));
    let delta = world.delta().unwrap();
    assert_eq!(delta.ipv4, [prefix("10.0.0.0/8")]);
    // The serial numbers of the second one no longer describe the table.
    world.step(In::Closed(CacheId(0)));
    world.out.clear();
    world.step(In::Connected(CacheId(1)));
    assert_eq!(world.sent(1), [Pdu::ResetQuery]);
}

#[test]
fn changes_to_a_table_that_is_another_caches_meanwhile_are_not_applied() {
    let mut world = World::synchronised(Settings::new(2));
    world.step(In::Closed(CacheId(0)));
    assert!(world.out.contains(&Out::Connect(CacheId(1))));
    world.step(In::Connected(CacheId(1)));
    world.hear(1, &[Pdu::CacheResponse(2), v4(true, "10.0.0.0/8", 8, 2)]);
    world.tick(seconds(1));
    world.out.clear();
    world.step(In::Connected(CacheId(0)));
    assert_eq!(world.sent(0), [Pdu::SerialQuery(7, 1)]);
    world.hear(1, &[Pdu::EndOfData(2, 5, Some(Intervals::DEFAULT))]);
    world.out.clear();
    world.hear(
        0,
        &[
            Pdu::CacheResponse(7),
            v4(true, "203.0.113.0/24", 24, 3),
            Pdu::EndOfData(7, 2, Some(Intervals::DEFAULT)),
        ],
    );
    assert_eq!(world.client.table().len(), (1, 0));
    assert_eq!(world.sent(0), [Pdu::ResetQuery]);
}

#[test]
fn a_silent_cache_is_given_up() {
    let mut world = World::new(Settings::new(2));
    world.connect(0);
    world.tick(seconds(60));
    assert!(world.heard(&Indication::Failed(CacheId(0), Cause::Timeout)));
    assert!(world.out.contains(&Out::Connect(CacheId(1))));
    // Octets that come keep it alive.
    world.step(In::Connected(CacheId(1)));
    world.hear(1, &[Pdu::CacheResponse(2)]);
    for at in [100, 150, 200] {
        world.now = seconds(at);
        world.hear(1, &[v4(true, &format!("10.0.{at}.0/24"), 24, 2)]);
        world.tick(seconds(at));
    }
    assert_eq!(world.client.status().nth(1).unwrap().phase, Phase::Loading);
}

#[test]
fn a_cache_without_data_is_asked_again_after_the_retry_interval() {
    let mut world = World::new(Settings::new(1));
    world.connect(0);
    world.hear(0, &[Pdu::ErrorReport(ErrorCode::NoDataAvailable.number(), &[], b"")]);
    assert_eq!(world.client.deadline(), Some(seconds(600)));
    world.out.clear();
    world.step(In::Refresh);
    assert_eq!(world.out, [Out::Connect(CacheId(0))], "the operator does not wait");
}

#[test]
fn stopping_closes_everything_and_empties_the_table() {
    let mut world = World::synchronised(Settings::new(1));
    world.step(In::Stop);
    assert!(world.out.contains(&Out::Close(CacheId(0))));
    assert!(world.client.table().is_empty() && world.delta().is_some());
    assert_eq!(world.client.deadline(), None);
}

#[test]
fn octets_in_pieces_are_the_same_as_at_once() {
    let cache = Cache { version: Version::V1 };
    let pdus = [
        Pdu::CacheResponse(7),
        v4(true, "192.0.2.0/24", 25, 65_001),
        Pdu::RouterKey(true, 65_001, [7; 20], &[1, 2, 3]),
        Pdu::EndOfData(7, 1, Some(Intervals::DEFAULT)),
    ];
    let octets = cache.write(&pdus);
    for size in [1, 7, 33] {
        let mut world = World::new(Settings::new(1));
        world.connect(0);
        let mut waiting = Vec::new();
        for piece in octets.chunks(size) {
            waiting.extend_from_slice(piece);
            let mut out = Vec::new();
            let taken = world.client.receive(world.now, CacheId(0), &waiting, &mut out);
            waiting.drain(..taken);
        }
        assert!(waiting.is_empty());
        assert_eq!(world.client.table().len(), (1, 0));
        assert_eq!(world.client.router_keys()[0].asn, 65_001);
    }
}
