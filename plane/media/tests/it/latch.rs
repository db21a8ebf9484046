//! Where packets come from is decided by signalling first, by packets within it, and for good.

use machine::{Duration, Time};
use media::{Expected, LATCH_WINDOW, Latch, SILENCE, Seen};
use std::net::SocketAddr;

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

const NOW: Time = Time::from_millis(1_000);

fn behind() -> Expected {
    let signaller = Some("198.51.100.1".parse().unwrap());
    Expected { address: at("10.0.0.5:4000"), signaller, anywhere: false }
}

#[test]
fn one_who_is_where_it_says_is_taken_and_nobody_else() {
    let mut latch = Latch::new(Expected::at(at("192.0.2.1:4000")));
    assert_eq!(latch.destination(), at("192.0.2.1:4000"));
    assert_eq!(latch.packet(NOW, at("192.0.2.1:4002")), Seen::Stranger);
    assert_eq!(latch.packet(NOW, at("198.51.100.9:4000")), Seen::Stranger);
    assert_eq!(latch.packet(NOW, at("192.0.2.1:4000")), Seen::Taken);
    assert_eq!(latch.packet(NOW, at("192.0.2.1:4000")), Seen::Known);
}

#[test]
fn behind_a_middlebox_the_first_source_is_taken_at_once_and_gives_way_to_a_better_one_for_a_while()
{
    let mut latch = Latch::new(behind());
    assert_eq!(latch.packet(NOW, at("203.0.113.1:1")), Seen::Stranger, "who does not signal");
    assert_eq!(latch.packet(NOW, at("198.51.100.1:7000")), Seen::Taken);
    assert_eq!(latch.destination(), at("198.51.100.1:7000"));
    assert_eq!(latch.packet(NOW, at("198.51.100.1:7002")), Seen::Other, "no better one");
    assert_eq!(latch.packet(NOW, at("10.0.0.5:4010")), Seen::Taken);
    assert_eq!(latch.packet(NOW, at("198.51.100.1:7000")), Seen::Other, "a worse one");
    assert_eq!(latch.packet(NOW, at("10.0.0.5:4000")), Seen::Taken);
    assert_eq!(latch.packet(NOW, at("10.0.0.5:4010")), Seen::Other);
}

#[test]
fn after_the_window_nothing_takes_over_from_one_who_was_signalled_however_good() {
    let mut latch = Latch::new(Expected { anywhere: true, ..behind() });
    assert_eq!(latch.packet(NOW, at("198.51.100.1:1")), Seen::Taken);
    let later = NOW + LATCH_WINDOW;
    for source in ["10.0.0.5:4000", "198.51.100.1:7000", "203.0.113.1:2"] {
        assert!(latch.refuses(later, at(source)));
        assert_eq!(latch.packet(later, at(source)), Seen::Other, "{source}");
    }
    assert_eq!(latch.packet(later + Duration::from_secs(3_600), at("198.51.100.1:1")), Seen::Known);
}

#[test]
fn anyone_gives_way_at_any_time_to_one_who_was_signalled_and_to_nobody_else() {
    for better in ["10.0.0.5:4000", "10.0.0.5:9", "198.51.100.1:7000"] {
        let mut latch = Latch::new(Expected { anywhere: true, ..behind() });
        assert_eq!(latch.packet(NOW, at("203.0.113.1:1")), Seen::Taken);
        let later = NOW + LATCH_WINDOW;
        for other in ["203.0.113.1:2", "203.0.113.9:1"] {
            assert!(latch.refuses(later, at(other)));
            assert_eq!(latch.packet(later, at(other)), Seen::Other);
        }
        assert!(!latch.refuses(later, at(better)), "a cipher is asked: {better}");
        assert_eq!(latch.packet(later, at(better)), Seen::Taken, "{better}");
        assert_eq!(latch.packet(later, at("203.0.113.1:1")), Seen::Other);
        assert_eq!(latch.destination(), at(better));
    }
}

#[test]
fn what_takes_no_source_passes_from_where_packets_go() {
    let mut latch = Latch::new(Expected { anywhere: true, ..behind() });
    assert_eq!(latch.beside(NOW, at("203.0.113.1:1")), Seen::Other);
    assert_eq!(latch.beside(NOW, at("10.0.0.5:4000")), Seen::Known);
    assert_eq!(latch.taken(), None);
    assert_eq!(latch.packet(NOW, at("198.51.100.1:1")), Seen::Taken);
    assert_eq!(latch.beside(NOW, at("198.51.100.1:1")), Seen::Known);
    assert_eq!(latch.beside(NOW, at("10.0.0.5:4000")), Seen::Other);
}

#[test]
fn signalling_opens_it_again_and_what_was_taken_is_used_until_something_comes() {
    let mut latch = Latch::new(behind());
    latch.packet(NOW, at("198.51.100.1:7000"));
    let later = NOW + Duration::from_secs(60);
    latch.signalled(behind());
    assert_eq!(latch.packet(later, at("198.51.100.1:7002")), Seen::Other, "nothing new was said");
    let moved = Expected { address: at("10.0.0.5:5000"), ..behind() };
    latch.signalled(moved);
    assert_eq!(latch.destination(), at("198.51.100.1:7000"));
    assert!(later.since(NOW) > SILENCE);
    assert_eq!(latch.packet(later, at("198.51.100.1:7002")), Seen::Taken);
    assert_eq!(latch.destination(), at("198.51.100.1:7002"));
    // One that goes on from where it was stays.
    latch.signalled(behind());
    assert_eq!(latch.packet(later, at("198.51.100.1:7002")), Seen::Known);
    assert_eq!(latch.packet(later, at("198.51.100.1:7004")), Seen::Other);
    assert_eq!(latch.packet(later, at("10.0.0.5:4000")), Seen::Taken, "within the new window");
}

#[test]
fn one_who_sprays_takes_nothing_over_when_signalling_opens_a_latch_that_is_in_use() {
    let anywhere = |port| {
        let address = SocketAddr::new([10, 0, 0, 5].into(), port);
        Expected { address, anywhere: true, signaller: None }
    };
    let (good, bad) = (at("203.0.113.1:7000"), at("203.0.113.66:1"));
    let mut latch = Latch::new(anywhere(4_000));
    assert_eq!(latch.packet(NOW, good), Seen::Taken);
    for round in 1..50u16 {
        let now = NOW + Duration::from_secs(u64::from(round));
        assert_eq!(latch.packet(now, good), Seen::Known);
        latch.signalled(anywhere(4_000 + round));
        for ms in 1..20 {
            let now = now + Duration::from_millis(ms);
            assert_eq!(latch.packet(now, bad), Seen::Other);
        }
        assert_eq!(latch.packet(now + Duration::from_millis(20), good), Seen::Known);
        assert_eq!(latch.destination(), good);
    }
    // Only one who has gone gives way.
    let later = NOW + Duration::from_secs(100);
    assert_eq!(latch.packet(later, bad), Seen::Other, "not without signalling");
    latch.signalled(anywhere(9));
    assert_eq!(latch.packet(later, bad), Seen::Taken);
}

#[test]
fn a_side_that_moves_away_is_sent_to_where_it_says_before_it_speaks() {
    let mut latch = Latch::new(Expected::at(at("192.0.2.1:4000")));
    latch.packet(NOW, at("192.0.2.1:4000"));
    latch.signalled(Expected::at(at("192.0.2.9:6000")));
    assert_eq!(latch.destination(), at("192.0.2.9:6000"));
    let later = NOW + Duration::from_secs(9);
    assert_eq!(latch.packet(later, at("192.0.2.1:4000")), Seen::Stranger);
    assert_eq!(latch.packet(later, at("192.0.2.9:6000")), Seen::Taken);
}
