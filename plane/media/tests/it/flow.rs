//! A packet passes if it is what was agreed, and what does not pass changes nothing.

use machine::{Duration, Time};
use media::{
    Arrived, Expected, Flow, Latch, PayloadTypes, Rate, Reason, STREAMS_MAX, Settings, Sources,
    Use, Verdict,
};
use proptest::prelude::*;
use rtp::{ClockRate, Datagram, Header, Rewrite};
use std::net::SocketAddr;

const START: Time = Time::from_millis(5_000);
const PASSES: Verdict = Verdict::Forward { is_rtcp: false, relatched: false };
const TAKEN: Verdict = Verdict::Forward { is_rtcp: false, relatched: true };

fn source() -> SocketAddr {
    "192.0.2.7:4000".parse().unwrap()
}

fn settings() -> Settings {
    Settings {
        of: Use::Muxed,
        is_active: true,
        payload_types: PayloadTypes::default().with(8).with(101),
        untimed: PayloadTypes::default().with(101),
        ssrcs: Sources::ANY,
        clock: ClockRate::TELEPHONY,
        rate: Rate::bits(100_000),
        rewrite: Rewrite { ssrc: Some(99), payload_type: None, sequence: 5, timestamp: 160 },
    }
}

fn flow(settings: Settings) -> Flow {
    Flow::new(settings, Latch::new(Expected::at(source())))
}

fn packet(payload_type: u8, n: u16, ssrc: u32) -> Vec<u8> {
    let timestamp = u32::from(n) * 160;
    let header = Header { marker: false, payload_type, sequence: n, timestamp, ssrc };
    [&header.octets()[..], &[0xD5; 160]].concat()
}

fn pass(flow: &mut Flow, now: Time, source: SocketAddr, octets: &mut [u8]) -> Verdict {
    flow.packet(Arrived { now, source: source.into(), payload: octets })
}

#[test]
fn packets_pass_rewritten_and_are_counted_as_they_came() {
    let mut flow = flow(settings());
    for n in 0..500u16 {
        let now = START + Duration::from_millis(20 * u64::from(n));
        let mut octets = packet(8, n, 7);
        let verdict = pass(&mut flow, now, source(), &mut octets);
        assert_eq!(verdict, if n == 0 { TAKEN } else { PASSES }, "{n}");
        let header = Header::peek(&octets).unwrap();
        assert_eq!((header.ssrc, header.sequence), (99, n + 5));
        assert_eq!(header.timestamp, u32::from(n) * 160 + 160);
    }
    let passed = *flow.passed();
    assert_eq!((passed.packets, passed.octets, passed.dropped), (500, 500 * 172, 0));
    let stream = flow.streams().next().unwrap();
    assert_eq!((stream.ssrc(), stream.figures().expected, stream.figures().lost), (7, 500, 0));
    assert_eq!(stream.figures().jitter, 0);
}

#[test]
fn each_thing_that_was_not_agreed_has_its_reason_and_takes_no_source() {
    let rtcp = [0x80, 201, 0, 1, 0, 0, 0, 7];
    let malformed = {
        let mut octets = packet(8, 1, 7);
        octets[0] |= 0x20;
        *octets.last_mut().unwrap() = 0;
        octets
    };
    type Change = fn(&mut Settings);
    let cases: [(Change, Vec<u8>, Reason); 8] = [
        (|_| {}, vec![0x80, 201, 0, 9, 0, 0, 0, 7], Reason::Malformed),
        (|_| {}, vec![0xFF; 40], Reason::NoMedia),
        (|it| it.of = Use::Rtp, rtcp.to_vec(), Reason::OtherUse),
        (|it| it.of = Use::Rtcp, packet(8, 1, 7), Reason::OtherUse),
        (|it| it.is_active = false, packet(8, 1, 7), Reason::Inactive),
        (|_| {}, packet(0, 1, 7), Reason::PayloadType),
        (|it| it.ssrcs = Sources::of([8, 9]), packet(8, 1, 7), Reason::Ssrc),
        (|_| {}, malformed, Reason::Malformed),
    ];
    for (change, octets, reason) in cases {
        let mut agreed = settings();
        change(&mut agreed);
        let mut flow = flow(agreed);
        let mut same = octets.clone();
        assert_eq!(pass(&mut flow, START, source(), &mut same), Verdict::Drop(reason));
        assert_eq!(same, octets, "it is as it was");
        assert_eq!((flow.passed().packets, flow.passed().dropped), (0, 1));
        assert!(flow.streams().next().is_none());
        // It was not from it that the flow learnt where packets come from.
        flow.agreed(settings());
        assert_eq!(pass(&mut flow, START, source(), &mut packet(8, 1, 7)), TAKEN);
    }
    let mut flow = flow(settings());
    let stranger = "192.0.2.8:4000".parse().unwrap();
    let verdict = pass(&mut flow, START, stranger, &mut packet(8, 1, 7));
    assert_eq!(verdict, Verdict::Drop(Reason::Stranger));
}

/// A report that passed and took no source.
const REPORTS: Verdict = Verdict::Forward { is_rtcp: true, relatched: false };

fn report() -> [u8; 8] {
    [0x80, 201, 0, 1, 0, 0, 0, 7]
}

#[test]
fn stun_and_dtls_go_up_where_they_are_wanted_and_reports_pass_while_media_is_held() {
    let mut flow = flow(Settings { is_active: false, ..settings() });
    let cases = [(0, Datagram::Stun, Reason::NoStun), (22, Datagram::Dtls, Reason::NoDtls)];
    for (first, kind, reason) in cases {
        let other = kind == Datagram::Dtls;
        flow.goes_up(other, !other);
        assert_eq!(pass(&mut flow, START, source(), &mut [first; 20]), Verdict::Drop(reason));
        flow.goes_up(!other, other);
        assert_eq!(pass(&mut flow, START, source(), &mut [first; 20]), Verdict::Up(kind));
    }
    assert_eq!(pass(&mut flow, START, source(), &mut report()), REPORTS);
    assert_eq!((flow.passed().reports, flow.passed().packets), (1, 0));
}

#[test]
fn no_more_of_stun_and_dtls_goes_up_than_anybody_needs() {
    let mut flow = flow(settings());
    flow.goes_up(true, true);
    let mut up = 0;
    for ms in 0..10_000 {
        let now = START + Duration::from_millis(ms);
        match pass(&mut flow, now, source(), &mut [if ms % 2 == 0 { 0 } else { 22 }; 20]) {
            Verdict::Up(_) => up += 1,
            verdict => assert_eq!(verdict, Verdict::Drop(Reason::HandedUp)),
        }
    }
    assert_eq!(up, 20 + 499);
    assert_eq!(flow.passed().dropped, 10_000 - up);
    assert_eq!(pass(&mut flow, START, source(), &mut packet(8, 1, 7)), TAKEN, "media passes");
}

#[test]
fn neither_reports_beside_media_nor_anything_on_hold_takes_a_source() {
    let elsewhere: SocketAddr = "203.0.113.1:9".parse().unwrap();
    let expected = Expected { anywhere: true, ..Expected::at(source()) };
    let other = Verdict::Drop(Reason::OtherSource);
    for (of, is_active) in [(Use::Muxed, true), (Use::Muxed, false), (Use::Rtcp, false)] {
        let mut flow = Flow::new(Settings { of, is_active, ..settings() }, Latch::new(expected));
        assert_eq!(pass(&mut flow, START, elsewhere, &mut report()), other, "{of:?}");
        assert_eq!(pass(&mut flow, START, source(), &mut report()), REPORTS);
        assert_eq!(flow.latched().taken(), None);
    }
    // Where reports have a port of their own, and media flows, they do.
    let mut flow = Flow::new(Settings { of: Use::Rtcp, ..settings() }, Latch::new(expected));
    let taken = Verdict::Forward { is_rtcp: true, relatched: true };
    assert_eq!(pass(&mut flow, START, elsewhere, &mut report()), taken);
    // Media takes its source, and reports from there pass.
    let mut flow = Flow::new(settings(), Latch::new(expected));
    assert_eq!(pass(&mut flow, START, elsewhere, &mut packet(8, 1, 7)), TAKEN);
    assert_eq!(pass(&mut flow, START, elsewhere, &mut report()), REPORTS);
    assert_eq!(pass(&mut flow, START, source(), &mut report()), other);
}

#[test]
fn a_flood_of_a_good_source_is_held_to_the_bandwidth() {
    let mut flow = flow(settings());
    let mut passed = 0;
    for n in 0..10_000u16 {
        let now = START + Duration::from_millis(u64::from(n));
        let verdict = pass(&mut flow, now, source(), &mut packet(8, n, 7));
        passed += u32::from(verdict == PASSES || verdict == TAKEN);
    }
    // 100 kbit/s of packets of 220 octets are 56.8 a second, and a fifth of a second at once.
    assert!((568..=582).contains(&passed), "{passed}");
    assert_eq!(flow.passed().dropped, u64::from(10_000 - passed));
}

#[test]
fn streams_are_counted_apart_and_the_silent_one_gives_way() {
    let mut flow = flow(Settings { rate: Rate::bits(u64::MAX), ..settings() });
    for n in 0..100u16 {
        for ssrc in 1..=STREAMS_MAX as u32 {
            pass(&mut flow, START, source(), &mut packet(8, n, ssrc));
        }
    }
    let counted: Vec<_> = flow.streams().map(|it| (it.ssrc(), it.figures().received)).collect();
    assert_eq!(counted, [(2, 100), (1, 100)]);
    pass(&mut flow, START, source(), &mut packet(8, 0, 3));
    let counted: Vec<_> = flow.streams().map(|it| (it.ssrc(), it.figures().received)).collect();
    assert_eq!(counted, [(3, 1), (2, 100)]);
}

#[test]
fn telephone_events_are_no_jitter() {
    let mut flow = flow(settings());
    for n in 0..100u16 {
        let now = START + Duration::from_millis(20 * u64::from(n));
        let mut octets = packet(if n > 50 { 101 } else { 8 }, n, 7);
        if n > 50 {
            octets[4..8].copy_from_slice(&(51 * 160u32).to_be_bytes());
        }
        pass(&mut flow, now, source(), &mut octets);
    }
    let stream = flow.streams().next().unwrap();
    assert_eq!((stream.figures().jitter, stream.figures().received), (0, 100));
}

#[test]
fn a_flow_is_less_than_half_a_kilobyte() {
    assert!(size_of::<Flow>() <= 480, "{}", size_of::<Flow>());
}

proptest! {
    #[test]
    fn any_octets_from_anywhere_end_in_a_verdict_and_only_what_passes_is_changed(
        mut octets in proptest::collection::vec(any::<u8>(), 0..100), port in 3_999u16..4_002,
    ) {
        let mut flow = flow(settings());
        let before = octets.clone();
        let from = SocketAddr::new(source().ip(), port);
        match pass(&mut flow, START, from, &mut octets) {
            Verdict::Forward { .. } => prop_assert_eq!(from, source()),
            _ => prop_assert_eq!(octets, before),
        }
    }
}
