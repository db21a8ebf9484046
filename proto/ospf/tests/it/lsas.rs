//! LSAs: vectors, what is newer, round trips.

use core::cmp::Ordering;
use ospf::lsa::{
    self, ExtendedLink, ExtendedPrefix, External, Flood, Grace, Header, Key, Link, LinkKind,
    LinkSid, LsaType, MAX_AGE, Network, PrefixSid, Range, Router, RouterFlags, RouterInformation,
    Summary,
};
use proptest::prelude::*;
use std::net::Ipv4Addr;
use wire::Cursor;

const KEY: Key = Key { kind: LsaType::Router, id: 0x0102_0304, router: 0x0102_0304 };

/// A router LSA of FRR's ospfd, as tshark shows it.
const VECTOR: [u8; 36] = [
    0x00, 0x01, 0x02, 0x01, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x80, 0x00, 0x00, 0x01,
    0xde, 0xf4, 0x00, 0x24, 0x00, 0x00, 0x00, 0x01, 0xc0, 0xa8, 0x0a, 0x00, 0xff, 0xff, 0xff, 0x00,
    0x03, 0x00, 0x00, 0x0a,
];

#[test]
fn a_checksum_that_is_made_is_right_and_any_changed_octet_makes_it_wrong() {
    let body = Router {
        flags: RouterFlags { is_border: true, ..RouterFlags::default() },
        links: vec![Link { kind: LinkKind::Stub, id: 1, data: 0xFFFF_FF00, metric: 10 }],
    };
    for sequence in -50..50 {
        let octets = lsa::make(KEY, 2, sequence * 1_000_003, &body.write()).unwrap();
        assert!(lsa::read(&mut Cursor::new(&octets, 0, "")).unwrap().is_ok());
        for at in 2..octets.len() {
            let mut changed = octets.clone();
            changed[at] = changed[at].wrapping_add(3);
            let read = lsa::read(&mut Cursor::new(&changed, 0, ""));
            assert!(!matches!(read, Ok(Ok(_))), "octet {at}");
        }
    }
    let header = Header::read(&mut Cursor::new(&VECTOR, 0, "")).unwrap();
    let links = Router::read(&VECTOR[20..]).unwrap().links;
    assert_eq!((header.key.kind, links.len(), links[0].metric), (LsaType::Router, 1, 10));
}

#[test]
fn what_is_newer_follows_number_checksum_and_age() {
    let header = Header { age: 10, options: 2, key: KEY, sequence: 5, checksum: 7, length: 36 };
    let newness = |change: &dyn Fn(&mut Header)| {
        let mut other = header;
        change(&mut other);
        other.newness(&header)
    };
    assert_eq!(newness(&|it| it.sequence = 6), Ordering::Greater);
    assert_eq!(newness(&|it| it.sequence = -6), Ordering::Less);
    assert_eq!(newness(&|it| it.checksum = 8), Ordering::Greater);
    assert_eq!(newness(&|it| it.age = MAX_AGE), Ordering::Greater);
    assert_eq!(newness(&|it| it.age = 900), Ordering::Equal);
    assert_eq!(newness(&|it| it.age = 911), Ordering::Less);
    assert_eq!(newness(&|it| it.options = 0), Ordering::Equal);
}

#[test]
fn bodies_are_read_as_they_were_written() {
    let network = Network { mask: 0xFFFF_FFF0, routers: vec![1, 2, 3] };
    assert_eq!(Network::read(&network.write()), Ok(network));
    let summary = Summary { mask: 0xFF00_0000, metric: 77 };
    assert_eq!(Summary::read(&summary.write()), Ok(summary));
    let forward = Ipv4Addr::new(1, 2, 3, 4);
    let external = External { mask: 0, is_type2: true, metric: 9, forward, tag: 3 };
    assert_eq!(External::read(&external.write()), Ok(external));
    assert!(Summary::read(&[255, 0, 255, 0, 0, 0, 0, 1]).is_err(), "a mask with a hole");
    let grace = Grace { period_s: 120, reason: 2, address: Some(forward) };
    assert_eq!(Grace::read(&grace.write()), Ok(grace));
}

#[test]
fn what_segment_routing_says_is_read_as_it_was_written() {
    let mut said = RouterInformation::default();
    said.segment_routing.algorithms = vec![0, 1];
    said.segment_routing.global = vec![Range { first: 16_000, count: 8_000 }];
    said.segment_routing.local = vec![Range { first: 15_000, count: 1_000 }];
    assert_eq!(RouterInformation::read(&said.write()), Ok(said));
    let prefix = ExtendedPrefix {
        route: Flood::IntraArea,
        flags: 0x40,
        address: Ipv4Addr::new(10, 0, 0, 1),
        length: 32,
        sids: vec![
            PrefixSid { flags: 0, algorithm: 0, sid: 17 },
            PrefixSid { flags: 0x0C, algorithm: 1, sid: 16_017 },
        ],
    };
    let mut body = Vec::new();
    prefix.write(&mut body);
    prefix.write(&mut body);
    assert_eq!(ExtendedPrefix::read(&body), Ok(vec![prefix.clone(), prefix]));
    let link = ExtendedLink {
        kind: 2,
        id: 0x0A00_0001,
        data: 0x0A00_0002,
        sids: vec![
            LinkSid { flags: 0x60, weight: 0, neighbour: None, sid: 15_001 },
            LinkSid { flags: 0x60, weight: 3, neighbour: Some(9), sid: 15_002 },
        ],
    };
    assert_eq!(ExtendedLink::read(&link.write()), Ok(link));
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = lsa::read(&mut Cursor::new(&octets, 0, ""));
        let _ = (Router::read(&octets), Network::read(&octets), Summary::read(&octets));
        let _ = (External::read(&octets), Grace::read(&octets), RouterInformation::read(&octets));
        let _ = (ExtendedPrefix::read(&octets), ExtendedLink::read(&octets));
    }

    #[test]
    fn an_lsa_of_any_body_is_made_and_read(
        body in prop::collection::vec(any::<u8>(), 0..300),
        sequence in any::<i32>(),
    ) {
        let octets = lsa::make(KEY, 2, sequence, &body).unwrap();
        let read = lsa::read(&mut Cursor::new(&octets, 0, "")).unwrap().unwrap();
        prop_assert_eq!((read.header.sequence, read.header.key), (sequence, KEY));
        prop_assert_eq!(&read.octets[20..], &body[..]);
    }
}
