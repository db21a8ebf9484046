//! PDUs and what they say: round trips, lengths, what is newer.

use core::cmp::Ordering;
use isis::lsp::{
    AdjacencySid, Content, LabelRange, Neighbour, PrefixSid, Reach, SID_NODE, SegmentRouting,
};
use isis::pdu::{
    Body, Hello, HelloKind, HelloTlvs, LspFlags, Pdu, PduKind, Restart, Summary, ThreeWay,
    ThreeWayState, summaries_max, write_csnp, write_hello, write_lsp, write_psnp,
};
use isis::{
    AreaAddress, Authentication, Level, Levels, LspId, MetricStyle, NodeId, Prefix, Snpa, SystemId,
};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const SYSTEM: SystemId = SystemId([0x19, 0x21, 0x68, 0x00, 0x10, 0x01]);

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').unwrap();
    Prefix::new(address.parse().unwrap(), length.parse().unwrap())
}

fn neighbour() -> Neighbour {
    let label = AdjacencySid { flags: 0, weight: 1, neighbour: None, sid: 15_001, is_label: true };
    let index =
        AdjacencySid { flags: 0x80, weight: 0, neighbour: Some(SYSTEM), sid: 3, is_label: false };
    Neighbour {
        node: NodeId { system: SYSTEM, pseudonode: 3 },
        metric: 70_000,
        is_wide: true,
        link: Some([4, 5]),
        address: Some(Ipv4Addr::new(10, 1, 0, 1)),
        sids: vec![label, index],
    }
}

fn content() -> Content {
    let sid = PrefixSid { flags: SID_NODE, index: 17 };
    Content {
        areas: vec![AreaAddress::new(&[0x49, 0, 1]).unwrap(), AreaAddress::new(&[7; 13]).unwrap()],
        protocols: vec![0xCC, 0x8E],
        hostname: Some("edge-1".to_owned()),
        addresses: vec![Ipv4Addr::new(10, 0, 0, 1)],
        router: Some(Ipv4Addr::new(10, 0, 0, 1)),
        segment_routing: Some(SegmentRouting {
            is_ipv4: true,
            is_ipv6: false,
            global: vec![
                LabelRange { first: 16_000, count: 100 },
                LabelRange { first: 20_000, count: 7_900 },
            ],
            local: vec![LabelRange { first: 15_000, count: 1_000 }],
            algorithms: vec![0, 1],
        }),
        neighbours: vec![neighbour()],
        reaches: vec![
            Reach { sid: Some(sid), tag: Some(9), ..Reach::new(prefix("10.0.0.1/32"), 0) },
            Reach { is_down: true, ..Reach::new(prefix("10.128.0.0/9"), 5) },
            Reach::new(prefix("0.0.0.0/0"), 4_000_000),
            Reach { is_external: true, ..Reach::new(prefix("2001:db8:1::/48"), 77) },
            Reach { sid: Some(sid), ..Reach::new(prefix("2001:db8::1/128"), 1) },
        ],
        purged_by: Vec::new(),
    }
}

fn lsp(content: &Content, style: MetricStyle, octets: usize) -> Vec<Vec<u8>> {
    let fragments = content.fragments(style, octets);
    let made = fragments.iter().zip(0..=255).map(|(tlvs, fragment)| {
        let id = LspId { node: NodeId::of(SYSTEM), fragment };
        let summary = Summary { lifetime_s: 1_200, id, sequence: 7, checksum: 0 };
        let flags = LspFlags { is_level2: true, ..LspFlags::default() };
        write_lsp(Level::Two, &summary, flags, tlvs, &Authentication::Null)
    });
    made.collect()
}

#[test]
fn what_a_system_says_is_read_as_it_was_written() {
    let said = content();
    let octets = lsp(&said, MetricStyle::Wide, 1_400);
    assert_eq!(octets.len(), 1);
    let pdu = Pdu::read(&octets[0]).unwrap();
    assert!(pdu.has_right_checksum());
    assert_eq!(Content::read(&pdu).unwrap(), said);
}

#[test]
fn narrow_metrics_are_cut_to_what_they_can_say_and_stand_beside_wide_ones() {
    let mut said = content();
    said.reaches[1].is_external = true;
    let octets = lsp(&said, MetricStyle::Transition, 1_400);
    let read = Content::read(&Pdu::read(&octets[0]).unwrap()).unwrap();
    let narrow: Vec<_> = read.neighbours.iter().filter(|it| !it.is_wide).collect();
    assert_eq!((narrow.len(), narrow[0].node, narrow[0].metric), (1, said.neighbours[0].node, 63));
    let narrow = read.reaches.iter().filter(|it| !it.is_wide);
    let found: Vec<_> =
        narrow.map(|it| (it.prefix, it.metric, it.is_down, it.is_external)).collect();
    let wanted = [
        (prefix("10.0.0.1/32"), 0, false, false),
        (prefix("0.0.0.0/0"), 63, false, false),
        (prefix("10.128.0.0/9"), 5, true, true),
    ];
    assert_eq!(found, wanted);
    assert_eq!(read.reaches.iter().filter(|it| it.is_wide).count(), 5);
}

#[test]
fn what_does_not_fit_into_one_fragment_stands_in_the_next() {
    let reaches = (0..3_000u32).map(|it| {
        let address = Ipv4Addr::from(0x0A00_0000 | it << 8);
        Reach::new(Prefix::new(address.into(), 24), it)
    });
    let said = Content { reaches: reaches.collect(), ..content() };
    let octets = lsp(&said, MetricStyle::Wide, 1_400);
    assert!(octets.len() > 10);
    let mut found = Vec::new();
    for octets in &octets {
        assert!(octets.len() <= 1_427, "{}", octets.len());
        found.extend(Content::read(&Pdu::read(octets).unwrap()).unwrap().reaches);
    }
    assert_eq!(found, said.reaches);
}

#[test]
fn an_index_is_a_label_of_the_ranges_one_after_the_other() {
    let said = content().segment_routing.unwrap();
    let labels = [0, 99, 100, 7_999, 8_000].map(|index| said.label(index));
    assert_eq!(labels, [Some(16_000), Some(16_099), Some(20_000), Some(27_899), None]);
}

#[test]
fn any_changed_octet_of_a_fragment_makes_its_checksum_wrong() {
    let octets = &lsp(&content(), MetricStyle::Wide, 1_400)[0];
    for at in 12..octets.len() {
        let mut changed = octets.clone();
        changed[at] = changed[at].wrapping_add(3);
        let is_right = Pdu::read(&changed).is_ok_and(|pdu| pdu.has_right_checksum());
        assert!(!is_right, "octet {at}");
    }
    let mut older = octets.clone();
    older[11] -= 9;
    assert!(Pdu::read(&older).unwrap().has_right_checksum(), "its lifetime does not count");
}

#[test]
fn hellos_are_read_as_they_were_written_and_are_as_long_as_they_shall_be() {
    let tlvs = HelloTlvs {
        areas: content().areas,
        protocols: vec![0xCC],
        addresses: vec![Ipv4Addr::new(10, 0, 0, 1)],
        ipv6: vec!["fe80::1".parse().unwrap()],
        neighbours: (0..100).map(|it| Snpa([2, 0, 0, 0, 0, it])).collect(),
        three_way: Some(ThreeWay {
            state: ThreeWayState::Initializing,
            circuit: 70_000,
            neighbour: Some((SYSTEM, 9)),
        }),
        restart: Some(Restart {
            is_request: true,
            is_planned_answer: true,
            remaining_s: Some(30),
            neighbour: Some(SYSTEM),
            ..Restart::default()
        }),
    };
    let lan = HelloKind::Lan { priority: 64, lan: NodeId { system: SYSTEM, pseudonode: 1 } };
    for (level, kind) in [(Some(Level::One), lan), (None, HelloKind::PointToPoint { circuit: 3 })] {
        let hello = Hello { levels: Levels::BOTH, system: SYSTEM, hold_s: 30, kind };
        for octets in [0, 1_490, 1_497] {
            let made = write_hello(level, &hello, &tlvs, octets, &Authentication::Null);
            assert!(made.len() + 1 >= usize::from(octets), "{}", made.len());
            let pdu = Pdu::read(&made).unwrap();
            assert_eq!(pdu.body, Body::Hello(hello));
            assert_eq!(HelloTlvs::read(&pdu).unwrap(), tlvs);
        }
    }
}

#[test]
fn sequence_numbers_are_read_as_they_were_written_and_fit() {
    let summary = |it: u32| Summary {
        lifetime_s: it as u16,
        id: LspId { node: NodeId::of(SYSTEM), fragment: it as u8 },
        sequence: it,
        checksum: 5,
    };
    let most = summaries_max(1_492, &Authentication::Null);
    let all: Vec<Summary> = (0..most as u32).map(summary).collect();
    let range = [LspId::default(), LspId::LAST];
    let csnp = write_csnp(Level::One, SYSTEM, range, &all, &Authentication::Null);
    assert!(csnp.len() <= 1_492 && csnp.len() > 1_470, "{}", csnp.len());
    let pdu = Pdu::read(&csnp).unwrap();
    assert_eq!((pdu.kind, pdu.summaries().unwrap()), (PduKind::Csnp1, all.clone()));
    let psnp = write_psnp(Level::Two, SYSTEM, &all[..20], &Authentication::Null);
    assert_eq!(Pdu::read(&psnp).unwrap().summaries().unwrap(), all[..20]);
}

#[test]
fn what_is_newer_follows_number_and_purge() {
    let id = LspId::default();
    let summary = |sequence, lifetime_s, checksum| Summary { lifetime_s, id, sequence, checksum };
    let own = summary(5, 600, 7);
    assert_eq!(summary(6, 1, 7).newness(&own), Ordering::Greater);
    assert_eq!(summary(4, 1_200, 7).newness(&own), Ordering::Less);
    assert_eq!(summary(5, 10, 7).newness(&own), Ordering::Equal);
    assert_eq!(summary(5, 0, 7).newness(&own), Ordering::Greater);
    assert_eq!(own.newness(&summary(5, 0, 7)), Ordering::Less);
    assert!(summary(5, 10, 8).is_confused_with(&own) && !summary(5, 0, 8).is_confused_with(&own));
}

#[test]
fn octets_that_are_cut_anywhere_are_told_where() {
    let whole = &lsp(&content(), MetricStyle::Wide, 1_400)[0];
    let mut refused = 0;
    for cut in 0..27 {
        assert!(Pdu::read(&whole[..cut]).is_err(), "{cut}");
    }
    for cut in 27..whole.len() {
        let mut octets = whole[..cut].to_vec();
        octets[8..10].copy_from_slice(&(cut as u16).to_be_bytes());
        if let Err(why) = Content::read(&Pdu::read(&octets).unwrap()) {
            assert!(why.at <= cut && !why.what.is_empty(), "{cut}: {why}");
            refused += 1;
        }
    }
    assert!(refused > whole.len() / 2, "{refused}: whole TLVs may be left away, no parts");
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(
        kind in prop::sample::select(PduKind::ALL),
        octets in prop::collection::vec(any::<u8>(), 12..200),
    ) {
        let mut pdu = vec![0x83, kind.octets(), 1, 0, kind.number(), 1, 0, 0];
        pdu.extend_from_slice(&octets);
        let at = if kind.number() <= 17 { 17 } else { 8 };
        let length = (pdu.len() as u16).to_be_bytes();
        pdu[at..at + 2].copy_from_slice(&length);
        if let Ok(read) = Pdu::read(&pdu) {
            let _ = (HelloTlvs::read(&read), Content::read(&read), read.summaries());
        }
    }
}
