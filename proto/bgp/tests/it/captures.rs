//! What real speakers sent (`tests/vectors`), and the examples of RFC 8955 and RFC 8956.

use crate::every::{self, hex};
use bgp::codec::{
    AttributeType, Attributes, Context, MessageType, Messages, Offer, Open, Update, aigp_metric,
};
use bgp::family::{Components, Family, FamilySet, Routes};

/// The messages of a file: one a line, in hexadecimal.
fn stream(text: &str) -> Vec<u8> {
    text.lines().filter(|line| !line.starts_with('#')).flat_map(hex).collect()
}

struct Heard {
    offer: Offer,
    /// Families and routes, announced.
    routes: Vec<String>,
    ends: FamilySet,
    keepalives: usize,
    /// Attribute sets that were borrowed, of all.
    borrowed: (usize, usize),
}

fn hear(text: &str) -> Heard {
    let bytes = stream(text);
    let context = Context { aigp: true, ..every::context() };
    let mut offer = None;
    let (mut routes, mut ends, mut keepalives) = (Vec::new(), FamilySet::EMPTY, 0);
    let mut borrowed = (0, 0);
    let mut messages = Messages::new(&bytes, 4_096);
    for (kind, message) in messages.by_ref() {
        match kind {
            MessageType::Open => offer = Some(Open::read(message).unwrap().offer),
            MessageType::Keepalive => keepalives += 1,
            MessageType::Update => {
                let update = Update::read(message, &context).unwrap();
                assert_eq!(update.violation(), None);
                ends = update
                    .end_of_rib()
                    .into_iter()
                    .fold(ends, |ends, family| ends.or(FamilySet::only(family)));
                let mp = update.reach().map(|reach| reach.routes);
                for route in update.announced().chain(mp.into_iter().flatten()) {
                    routes.push(format!("{} {route}", route.family));
                }
                let mut scratch = Vec::new();
                let canonical = update.canonical(&mut scratch);
                assert!(Attributes::new(canonical).all(|attribute| attribute.is_ok()));
                borrowed.1 += usize::from(!canonical.is_empty());
                borrowed.0 += usize::from(!canonical.is_empty() && scratch.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(messages.rest().is_empty());
    Heard { offer: offer.unwrap(), routes, ends, keepalives, borrowed }
}

#[test]
fn bird_is_understood() {
    let heard = hear(include_str!("../vectors/bird.hex"));
    assert_eq!((heard.offer.asn, heard.offer.identifier), (65_000, 0x0A00_0002));
    let families: FamilySet = [
        Family::Ipv4Unicast,
        Family::Ipv6Unicast,
        Family::Vpnv4,
        Family::Ipv4FlowSpec,
        Family::Ipv6FlowSpec,
    ]
    .into_iter()
    .collect();
    assert_eq!((heard.offer.families, heard.ends), (families, families));
    assert!(heard.offer.extended_message && heard.offer.enhanced_refresh);
    assert_eq!(heard.offer.add_path_receive, FamilySet::only(Family::Ipv4Unicast));
    let restart = heard.offer.graceful_restart.unwrap();
    assert_eq!((restart.families, restart.time_s), (families, 120));
    let long_lived = heard.offer.long_lived.unwrap();
    assert_eq!(long_lived.time_s[Family::Vpnv4 as usize], 3_600);
    assert_eq!(heard.keepalives, 1);
    let mut routes = heard.routes;
    routes.sort();
    assert_eq!(
        routes,
        [
            "ipv4-flowspec destination 18c00002 protocol 8106 destination-port 8119",
            "ipv4-flowspec destination 18c00002 source 18cb0071 port 0389458b911f90",
            "ipv4-unicast 0.0.0.0/0",
            "ipv4-unicast 10.0.0.0/8",
            "ipv4-unicast 192.0.2.0/24",
            "ipv4-unicast 198.51.100.128/25",
            "ipv4-unicast 203.0.113.7/32",
            "ipv6-flowspec destination 200020010db8 source 6840123456789a",
            "ipv6-unicast 2001:db8:1::/48",
            "ipv6-unicast 2001:db8::/32",
            "ipv6-unicast 2001:db8::1/128",
            "ipv6-unicast ::/0",
            "vpnv4 10.0.0.1:7:10.0.0.0/8",
            "vpnv4 65000:42:192.0.2.0/24",
        ]
    );
    assert_eq!(heard.borrowed.0, heard.borrowed.1, "MP_REACH_NLRI stands first");
}

#[test]
fn gobgp_is_understood() {
    let heard = hear(include_str!("../vectors/gobgp.hex"));
    assert_eq!(heard.offer.identifier, 0x0A00_0003);
    assert!(heard.offer.extended_next_hop.has(Family::Vpnv4));
    let mut routes = heard.routes;
    routes.sort();
    assert_eq!(
        routes,
        [
            "evpn 1.1.1.1:65000 ad 01aabbccddeeff006400 tag 100",
            "evpn 1.1.1.1:65000 es 00000000000000000000 from 10.0.0.1",
            "evpn 1.1.1.1:65000 imet 10.0.0.1 tag 100",
            "evpn 1.1.1.1:65000 mac aa:bb:cc:dd:ee:04 tag 200 ip 2.2.2.4",
            "evpn 1.1.1.1:65000 prefix 10.0.0.0/24 tag 10",
            "ipv4-flowspec source 180a0000",
            "ipv4-labelled 10.3.0.0/16",
            "ipv4-unicast 10.2.0.0/16",
            "vpnv4 100:100:10.1.0.0/16",
        ]
    );
    // It puts MP_REACH_NLRI in the order of the numbers: behind it the set is in two pieces.
    assert!(heard.borrowed.0 < heard.borrowed.1);
    let bytes = stream(include_str!("../vectors/gobgp.hex"));
    let context = Context { aigp: true, ..every::context() };
    let metrics: Vec<u64> = Messages::new(&bytes, 4_096)
        .filter(|(kind, _)| *kind == MessageType::Update)
        .filter_map(|(_, message)| {
            let update = Update::read(message, &context).unwrap();
            update.value(AttributeType::Aigp).and_then(aigp_metric)
        })
        .collect();
    assert_eq!(metrics, [1_000]);
}

#[test]
fn the_examples_of_the_flow_specification_documents_are_understood() {
    let shown = |family: Family, text: &str| -> String {
        let wire = hex(text);
        let mut routes = Routes::new(family, bgp::family::Layout::default(), &wire);
        assert_eq!(routes.check(), Ok(1));
        routes.next().unwrap().to_string()
    };
    // RFC 8955 §4.3, RFC 8956 §3.8.
    let cases = [
        (
            Family::Ipv4FlowSpec,
            "0b 01 18 c00002 03 81 06 04 81 19",
            "destination 18c00002 protocol 8106 port 8119",
        ),
        (
            Family::Ipv4FlowSpec,
            "12 01 18 c00002 02 18 cb0071 04 03 89 45 8b 91 1f90",
            "destination 18c00002 source 18cb0071 port 0389458b911f90",
        ),
        (
            Family::Ipv4FlowSpec,
            "09 01 20 c0000201 0c 80 05",
            "destination 20c0000201 fragment 8005",
        ),
        (
            Family::Ipv6FlowSpec,
            "0f 01 20 00 20010db8 02 68 40 123456789a",
            "destination 200020010db8 source 6840123456789a",
        ),
    ];
    for (family, text, expected) in cases {
        assert_eq!(shown(family, text), expected);
        let value = hex(text);
        let is_ipv6 = family == Family::Ipv6FlowSpec;
        assert!(Components::new(&value[1..], is_ipv6).all(|component| component.is_ok()));
    }
}
