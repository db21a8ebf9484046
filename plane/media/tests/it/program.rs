//! The words of the feature: what was said is read as it was said, and hostile octets change
//! nothing but the reason.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use media::program::{
    Branch, Digit, FlowSaid, Guard, Keys, Name, Notice, Place, Range, Said, Snapshot, Statistics,
    StreamStatistics,
};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use proptest::prelude::*;
use rtp::{ClockRate, Rewrite};
use srtp::{Allowance, Index, KeyEntry, MasterKey, Mki, Parameters, Past, StreamState, Suite};
use wire::field;

const V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

fn place(port: u16) -> Place {
    Place { vrf: 3, address: IpAddr::V6(V6), port }
}

fn keys(octet: u8) -> Keys {
    let suite = Suite::AesCm128HmacSha1_80;
    let key = MasterKey::of(suite, &[octet; 30]).unwrap();
    let allowance = Allowance { rtp: 1_000, rtcp: 7 };
    let entry = KeyEntry { key, mki: Mki::new(9, 4), allowance };
    let parameters = Parameters { encrypts_rtcp: false, ..Parameters::of(suite) };
    Keys { parameters, entries: vec![entry] }
}

fn snapshot() -> Snapshot {
    let stream = |ssrc, highest| StreamState { ssrc, highest, rtcp: Some(5), moved: 16_384 };
    Snapshot {
        latched: Some(SocketAddr::new(V6.into(), 7_000)),
        receive: vec![stream(1, Index::of(70_000)), stream(2, None)],
        send: vec![stream(3, Some(Index::MAX))],
        past: Past::read(&[1, 0, 0x20, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
    }
}

fn flow() -> FlowSaid {
    FlowSaid {
        at: place(20_000),
        to: Some(Place { vrf: 0, address: IpAddr::from([192, 0, 2, 1]), port: 20_002 }),
        settings: Settings {
            of: Use::Muxed,
            is_active: true,
            payload_types: PayloadTypes::default().with(0).with(101).with(127),
            untimed: PayloadTypes::default().with(101),
            ssrcs: Sources::of([7, 0xffff_ffff]),
            clock: ClockRate::TELEPHONY,
            rate: Rate::bits(80_000),
            rewrite: Rewrite {
                ssrc: Some(1),
                payload_type: Some(8),
                sequence: 65_535,
                timestamp: 1 << 31,
            },
        },
        expected: Expected {
            address: SocketAddr::new(V6.into(), 4_000),
            signaller: Some(IpAddr::from([10, 0, 0, 1])),
            anywhere: true,
        },
        guard: Guard::Keys { receive: keys(1), send: keys(2) },
        dscp: Some(46),
        timeout: Some(Duration::from_secs(30)),
        becomes: vec![(96, 97), (101, 100)],
        branches: vec![
            Branch { to: place(20_006), payload_types: PayloadTypes::ALL, reports: false },
            Branch { to: place(20_007), payload_types: PayloadTypes::default(), reports: true },
        ],
        up: PayloadTypes::default().with(9),
        up_per_s: 200,
        digits: PayloadTypes::default().with(101),
        stun: true,
        dtls: true,
        association: Some(u64::MAX),
        resume: Some(snapshot()),
    }
}

fn read_back(said: &Said) -> Said {
    let key = said.name().key();
    assert_eq!(Name::read(&key), Ok(said.name()));
    Said::read(&key, &said.value()).unwrap()
}

#[test]
fn what_is_said_is_read_as_it_was_said() {
    let flow = flow();
    let others = [
        FlowSaid { guard: Guard::Dtls, to: None, timeout: None, resume: None, ..flow.clone() },
        FlowSaid {
            guard: Guard::None,
            becomes: Vec::new(),
            branches: Vec::new(),
            dscp: None,
            ..flow.clone()
        },
        FlowSaid { stun: false, ..flow.clone() },
        FlowSaid { dtls: false, ..flow.clone() },
        // Nothing that was told is another thing than nobody who could have told.
        FlowSaid { resume: Some(Snapshot::default()), ..flow.clone() },
    ];
    for flow in others.into_iter().chain([flow]) {
        let said = Said::Flow(Box::new(flow));
        assert_eq!(read_back(&said), said);
    }
    let range = Range { vrf: 7, address: [192, 0, 2, 1].into(), first: 20_000, ports: 40_000 };
    assert_eq!(read_back(&Said::Range(range)), Said::Range(range));
    assert!(range.has(&Place { vrf: 7, address: range.address, port: 59_999 }));
    assert!(!range.has(&Place { vrf: 7, address: range.address, port: 60_000 }));
    assert!(!range.has(&Place { vrf: 0, address: range.address, port: 20_000 }));
}

#[test]
fn a_notice_is_read_as_it_was_written() {
    let stream = StreamStatistics { ssrc: 1, lost: 2, jitter: 3, ..StreamStatistics::default() };
    let notice = Notice {
        number: 77,
        latched: Some(SocketAddr::from(([192, 0, 2, 9], 9))),
        timed_out: true,
        is_back: true,
        one_way: true,
        unprotected: 1 << 40,
        digits: vec![Digit { code: 11, duration_ms: 160 }],
        statistics: Some(Statistics {
            packets: 1,
            idle_ms: Some(20),
            age_ms: 70_000,
            stream: Some(stream),
            ..Statistics::default()
        }),
        snapshot: Some(snapshot()),
    };
    assert_eq!(Notice::read(&notice.value()), Ok(notice.clone()));
    assert_eq!(Notice::read(&[]), Ok(Notice::default()));
    assert!(Notice::default().is_empty() && !notice.is_empty());
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let refused = |key: &[u8], value: &[u8]| Said::read(key, value).unwrap_err().what;
    let range = |first: u16, ports: u64| {
        let mut value = Vec::new();
        field::number(&mut value, 1, ports);
        refused(&Name::Range(place(first)).key(), &value)
    };
    assert_eq!(range(20_000, 0), "a range has no port, or one past the last");
    assert_eq!(range(65_000, 537), "a range has no port, or one past the last");
    assert_eq!(range(1, 65_536), "a number does not fit its field");
    assert_eq!(refused(&[9, 0, 0, 0, 0, 1, 2, 3, 4, 0, 9], &[]), "the kind of a name is not known");
    assert_eq!(refused(&[1, 0, 0], &[]), "a name is kind, routing table, address and port");
    let flow = |tag: u8, octets: &[u8]| {
        let said = Said::Flow(Box::new(flow()));
        let mut value = said.value();
        field::bytes(&mut value, tag, octets);
        refused(&said.name().key(), &value)
    };
    assert_eq!(flow(16, &[64]), "a mark has more than 6 bits");
    assert_eq!(flow(7, &[0]), "a clock stands still");
    assert_eq!(flow(15, &[1]), "keys are half, or of two kinds");
    assert_eq!(flow(10, &[1, 2, 3, 4, 0, 9]), "a flow and its other side are of two families");
    assert_eq!(flow(18, &[128, 0]), "a payload type is none, or there are too many");
    assert_eq!(flow(13, &[]), "a field lacks");
    assert_eq!(flow(17, &[0]), "a timeout is none, or longer than a day");
    assert_eq!(flow(4, &[1]), "payload types are not 16 octets");
}

#[test]
fn keys_show_in_no_debug_output() {
    let shown = format!("{:?}", flow().guard);
    assert!(!shown.contains("1, 1, 1") && !shown.contains("2, 2, 2"), "{shown}");
}

proptest! {
    #[test]
    fn hostile_octets_panic_nowhere_and_what_is_read_is_written_alike(
        octets in prop::collection::vec(any::<u8>(), 0..64),
        at in any::<prop::sample::Index>(),
        change in any::<u8>(),
    ) {
        let said = Said::Flow(Box::new(flow()));
        let (key, mut value) = (said.name().key(), said.value());
        let at = at.index(value.len());
        value[at] ^= change;
        for (key, value) in [(&key[..], &value[..]), (&key, &octets), (&octets, &value)] {
            if let Ok(said) = Said::read(key, value) {
                prop_assert_eq!(Said::read(&said.name().key(), &said.value()), Ok(said.clone()));
            }
            if let Ok(notice) = Notice::read(value) {
                prop_assert_eq!(Notice::read(&notice.value()), Ok(notice.clone()));
            }
        }
    }
}
