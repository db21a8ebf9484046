//! UPDATE: what is read, and what is answered to what offends (RFC 7606), on internal sessions as
//! on external ones.

use crate::every::{self, context, hex, ipv4_attributes, put};
use bgp::codec::{
    Aggregator, Approach, AsPath, AttributeType, Attributes, Community, Context, Edit,
    LargeCommunity, NextHop, Origin, Peering, PmsiTunnel, SegmentKind, TunnelTlvs, Update,
    Violation, aigp_metric, prepend, reflect, rewrite, to_two_octets,
};
use bgp::family::{Family, FamilySet, Ipv4Routes};

/// An UPDATE of its three fields.
fn update(withdrawn: &[u8], attributes: &[u8], announced: &[u8]) -> Vec<u8> {
    let mut message = vec![0xFF; 16];
    let length = 23 + withdrawn.len() + attributes.len() + announced.len();
    message.extend_from_slice(&(length as u16).to_be_bytes());
    message.push(2);
    message.extend_from_slice(&(withdrawn.len() as u16).to_be_bytes());
    message.extend_from_slice(withdrawn);
    message.extend_from_slice(&(attributes.len() as u16).to_be_bytes());
    message.extend_from_slice(attributes);
    message.extend_from_slice(announced);
    message
}

const PREFIX: [u8; 4] = [24, 192, 0, 2];

fn external() -> Context {
    Context { peering: Peering::External, ..context() }
}

/// What became of an UPDATE.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Taken,
    Answered(Approach, u8),
}

fn fate(bytes: &[u8], context: &Context) -> (Fate, Option<Violation>) {
    match Update::read(bytes, context) {
        Err(violation) => {
            assert_eq!(violation.approach, Approach::SessionReset);
            assert!(violation.malformed.at <= bytes.len());
            (Fate::Answered(violation.approach, violation.notice.subcode), Some(violation))
        }
        Ok(update) => match update.violation() {
            None => (Fate::Taken, None),
            Some(violation) => {
                assert_ne!(violation.approach, Approach::SessionReset);
                assert!(violation.malformed.at <= bytes.len());
                let withdraws = violation.approach == Approach::TreatAsWithdraw;
                assert!(!withdraws || update.is_withdrawn());
                (Fate::Answered(violation.approach, violation.notice.subcode), Some(*violation))
            }
        },
    }
}

/// The attributes of a route with one of them replaced, or one more.
fn with(number: u8, raw: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut is_done = false;
    for attribute in Attributes::new(&ipv4_attributes()).map(Result::unwrap) {
        if attribute.number > number && !is_done {
            out.extend_from_slice(&hex(raw));
            is_done = true;
        }
        if attribute.number == number {
            out.extend_from_slice(&hex(raw));
            is_done = true;
        } else {
            out.extend_from_slice(attribute.octets);
        }
    }
    if !is_done {
        out.extend_from_slice(&hex(raw));
    }
    out
}

#[test]
fn a_plain_update_is_understood() {
    let bytes = update(&hex("10 0a01"), &every::all_attributes(), &PREFIX);
    let update = Update::read(&bytes, &context()).unwrap();
    assert_eq!(update.violation(), None);
    let (withdrawn, announced) = (update.withdrawn().octets(), update.announced().octets());
    assert_eq!(Ipv4Routes::new(withdrawn, false).next().unwrap().1.to_string(), "10.1.0.0/16");
    assert_eq!(Ipv4Routes::new(announced, false).next().unwrap().1.to_string(), "192.0.2.0/24");
    let value = |kind| update.value(kind).unwrap();
    assert_eq!(Origin::of(value(AttributeType::Origin)[0]), Some(Origin::Incomplete));
    let path = update.as_path();
    assert_eq!(path.to_string(), "65001 65002 {65003,65004}");
    assert_eq!((path.hops(), path.neighbour(), path.origin()), (3, Some(65_001), None));
    assert!(path.contains(65_003) && !path.contains(65_005));
    let hop = NextHop::read(value(AttributeType::NextHop)).unwrap();
    assert_eq!(hop.to_string(), "192.0.2.1");
    let aggregator = Aggregator { asn: 65_001, identifier: 0xC000_0202 };
    assert_eq!(update.aggregator(), Some(aggregator));
    let communities: Vec<String> =
        Community::all(value(AttributeType::Communities)).map(|it| it.to_string()).collect();
    assert_eq!(communities, ["65000:1", "no-export", "blackhole"]);
    let large = LargeCommunity::all(value(AttributeType::LargeCommunities)).next().unwrap();
    assert_eq!(large.to_string(), "65000:1:2");
    assert_eq!(aigp_metric(value(AttributeType::Aigp)), Some(100));
    let pmsi = PmsiTunnel::read(value(AttributeType::PmsiTunnel)).unwrap();
    assert_eq!((pmsi.kind, pmsi.label.number(), pmsi.identifier.len()), (6, 100, 4));
    let tunnels = TunnelTlvs::new(value(AttributeType::TunnelEncapsulation));
    let tunnel = tunnels.tunnels().next().unwrap();
    let sub = TunnelTlvs::of(tunnel).next().unwrap().unwrap();
    assert_eq!((tunnel.kind, sub.kind, sub.value.len()), (8, 6, 9));
    assert_eq!(update.end_of_rib(), None);
}

#[test]
fn the_attributes_of_a_plain_update_are_borrowed_from_it() {
    let bytes = update(&[], &ipv4_attributes(), &PREFIX);
    let update = Update::read(&bytes, &context()).unwrap();
    let mut scratch = Vec::new();
    let canonical = update.canonical(&mut scratch);
    assert_eq!(canonical, ipv4_attributes());
    assert!(bytes.as_ptr_range().contains(&canonical.as_ptr()));
}

#[test]
fn multiprotocol_attributes_at_either_end_are_left_out_without_a_copy() {
    let mut unreach = Vec::new();
    put(AttributeType::MpUnreachNlri, "000201 20 20010db8", &mut unreach);
    let plain = ipv4_attributes();
    for (attributes, borrowed) in [
        ([&unreach[..], &plain].concat(), true),
        ([&plain[..], &unreach].concat(), true),
        ([&plain[..4], &unreach, &plain[4..]].concat(), false),
    ] {
        let bytes = update(&[], &attributes, &PREFIX);
        let update = Update::read(&bytes, &context()).unwrap();
        assert_eq!(update.violation(), None);
        let mut scratch = Vec::new();
        let canonical = update.canonical(&mut scratch);
        assert_eq!(canonical, plain);
        assert_eq!(bytes.as_ptr_range().contains(&canonical.as_ptr()), borrowed);
    }
}

/// Attribute that is put in the place of the right one, approach, subcode: for both kinds of
/// peers.
const OFFENCES: &[(u8, &str, Approach, u8)] = &[
    (1, "400102 0000", Approach::TreatAsWithdraw, 5),
    (1, "400100", Approach::TreatAsWithdraw, 5),
    (1, "400101 03", Approach::TreatAsWithdraw, 6),
    (1, "c00101 00", Approach::TreatAsWithdraw, 4),
    (2, "400203 020100", Approach::TreatAsWithdraw, 11),
    (2, "400206 0202 0000fde9", Approach::TreatAsWithdraw, 11),
    (2, "400206 0501 0000fde9", Approach::TreatAsWithdraw, 11),
    (2, "400207 0201 0000fde9 02", Approach::TreatAsWithdraw, 11),
    (2, "400202 0200", Approach::TreatAsWithdraw, 11),
    (2, "400206 0201 00000000", Approach::TreatAsWithdraw, 11),
    (3, "400303 c00002", Approach::TreatAsWithdraw, 5),
    (3, "400304 e0000001", Approach::TreatAsWithdraw, 8),
    (3, "400304 00000000", Approach::TreatAsWithdraw, 8),
    (4, "800403 000001", Approach::TreatAsWithdraw, 5),
    (4, "c00404 00000001", Approach::TreatAsWithdraw, 4),
    (6, "400601 00", Approach::AttributeDiscard, 5),
    (6, "c00600", Approach::AttributeDiscard, 4),
    (7, "c00706 fde9 c0000202", Approach::AttributeDiscard, 5),
    (7, "c00708 00000000 c0000202", Approach::AttributeDiscard, 9),
    (8, "c00800", Approach::TreatAsWithdraw, 5),
    (8, "c00805 0000000100", Approach::TreatAsWithdraw, 5),
    (8, "400804 00000001", Approach::TreatAsWithdraw, 4),
    (16, "c01007 00000000000000", Approach::TreatAsWithdraw, 5),
    (22, "c01604 00060006", Approach::TreatAsWithdraw, 5),
    (23, "c01705 0008 0004 06", Approach::TreatAsWithdraw, 5),
    (23, "c01706 0008 0002 0609", Approach::TreatAsWithdraw, 5),
    (25, "c01913 00000000000000000000000000000000000000", Approach::TreatAsWithdraw, 5),
    (26, "801a0a 01000b00000000000000", Approach::AttributeDiscard, 5),
    (26, "c01a0b 01000b0000000000000064", Approach::AttributeDiscard, 4),
    (32, "c0200b 0000000000000000000000", Approach::TreatAsWithdraw, 5),
    (35, "c02303 00fde9", Approach::TreatAsWithdraw, 5),
    (40, "802800", Approach::AttributeDiscard, 4),
    (128, "c08003 00fde9", Approach::TreatAsWithdraw, 5),
    // An attribute that is longer than the field, and one whose head is cut off.
    (200, "c0c8ff 00", Approach::TreatAsWithdraw, 1),
    (200, "d0c800", Approach::TreatAsWithdraw, 1),
    // A well-known attribute that nobody knows.
    (200, "40c800", Approach::SessionReset, 2),
    // MP_REACH_NLRI and MP_UNREACH_NLRI that cannot be read.
    (14, "800e04 00010100", Approach::SessionReset, 9),
    (15, "800f02 0001", Approach::SessionReset, 9),
    (14, "c00e05 0001010000", Approach::SessionReset, 4),
    (14, "800e05 0002010000", Approach::DisableFamily, 9),
    (14, "800e0a 000101 04 c00002 0100 20", Approach::DisableFamily, 9),
    (14, "800e14 000201 10 20010db8000000000000000000000001", Approach::DisableFamily, 9),
    (15, "800f05 000201 81 20", Approach::DisableFamily, 9),
    // A family that was not negotiated, or that nobody knows.
    (14, "800e09 004006 04 c0000201 00", Approach::AttributeDiscard, 9),
];

#[test]
fn every_violation_has_its_answer_on_both_kinds_of_sessions() {
    for (number, raw, approach, subcode) in OFFENCES {
        let bytes = update(&[], &with(*number, raw), &PREFIX);
        for context in [context(), external()] {
            let (_, violation) = fate(&bytes, &context);
            let violation = violation.unwrap();
            assert_eq!(violation.approach, *approach, "{raw}: {violation:?}");
            // LOCAL_PREF from an external peer is a violation of its own, and comes before.
            if context.peering == Peering::Internal || *approach != Approach::AttributeDiscard {
                assert_eq!(violation.notice.subcode, *subcode, "{raw}: {violation:?}");
            }
            assert!(!violation.malformed.what.is_empty());
            assert!(violation.malformed.spec.starts_with("RFC "));
            let at = violation.malformed.at;
            assert!((23..bytes.len()).contains(&at), "{raw}: offset {at}");
        }
    }
}

#[test]
fn a_violation_tells_the_offset_of_the_octet_that_offends() {
    let at = |raw: &str, number| {
        let bytes = update(&[], &with(number, raw), &PREFIX);
        fate(&bytes, &context()).1.unwrap().malformed.at
    };
    assert_eq!(at("400101 03", 1), 23 + 3, "the value of ORIGIN");
    assert_eq!(at("400206 0501 0000fde9", 2), 23 + 4 + 3, "the kind of the segment");
    assert_eq!(at("40020a 0202 0000fde9 00000000", 2), 23 + 4 + 3 + 6, "the second AS");
    assert_eq!(at("800f05 000201 81 20", 15), 23 + ipv4_attributes().len() + 6, "the length");
}

#[test]
fn the_notification_carries_the_attribute() {
    let bytes = update(&[], &with(1, "400101 03"), &PREFIX);
    let (_, violation) = fate(&bytes, &context());
    let mut data = Vec::new();
    violation.unwrap().write_data(&bytes, &mut data);
    assert_eq!(data, hex("400101 03"));
    let mut attributes = Vec::new();
    put(AttributeType::Origin, "00", &mut attributes);
    put(AttributeType::NextHop, "c0000201", &mut attributes);
    let bytes = update(&[], &attributes, &PREFIX);
    let (found, violation) = fate(&bytes, &context());
    assert_eq!(found, Fate::Answered(Approach::TreatAsWithdraw, 3));
    data.clear();
    violation.unwrap().write_data(&bytes, &mut data);
    assert_eq!(data, [2], "the number of AS_PATH");
}

#[test]
fn attributes_that_stay_inside_of_an_as_are_dropped_from_external_peers() {
    let mut attributes = ipv4_attributes();
    put(AttributeType::OriginatorId, "c0000203", &mut attributes);
    put(AttributeType::ClusterList, "c0000204", &mut attributes);
    let bytes = update(&[], &attributes, &PREFIX);
    let inside = Update::read(&bytes, &context()).unwrap();
    assert_eq!(inside.violation(), None);
    assert!(inside.value(AttributeType::ClusterList).is_some());
    let outside_context = external();
    let outside = Update::read(&bytes, &outside_context).unwrap();
    assert_eq!(outside.violation().unwrap().approach, Approach::AttributeDiscard);
    let mut scratch = Vec::new();
    let left: Vec<u8> = Attributes::new(outside.canonical(&mut scratch))
        .map(|attribute| attribute.unwrap().number)
        .collect();
    assert_eq!(left, [1, 2, 3]);
    // What is malformed inside is only dropped outside (RFC 7606 §7.5, §7.9, §7.10).
    for raw in ["400503 000064", "800903 c00002", "800a05 c000020400"] {
        let bytes = update(&[], &with(hex(raw)[1], raw), &PREFIX);
        let expected = [Approach::TreatAsWithdraw, Approach::AttributeDiscard];
        for (context, expected) in [context(), external()].iter().zip(expected) {
            let violation = fate(&bytes, context).1.unwrap();
            assert_eq!(violation.approach, expected, "{raw}");
        }
    }
}

#[test]
fn without_routes_there_is_nothing_to_withdraw_and_the_session_ends() {
    let bytes = update(&[], &hex("400101 03 400200"), &[]);
    assert_eq!(fate(&bytes, &context()).0, Fate::Answered(Approach::SessionReset, 6));
    let bytes = update(&hex("10 0a01"), &hex("400120"), &[]);
    assert_eq!(fate(&bytes, &context()).0, Fate::Answered(Approach::SessionReset, 1));
    // What is only discarded does not end it.
    let bytes = update(&[], &hex("400601 00"), &[]);
    assert_eq!(fate(&bytes, &context()).0, Fate::Answered(Approach::AttributeDiscard, 5));
}

#[test]
fn the_strongest_answer_counts() {
    let mut attributes = with(6, "400601 00");
    attributes.extend_from_slice(&hex("c00800"));
    attributes.extend_from_slice(&hex("800f05 000201 81 20"));
    let bytes = update(&[], &attributes, &PREFIX);
    let update = Update::read(&bytes, &context()).unwrap();
    assert_eq!(update.violation().unwrap().approach, Approach::DisableFamily);
    assert_eq!(update.violation().unwrap().family, Some(Family::Ipv6Unicast));
    assert!(update.is_withdrawn(), "the IPv4 routes are withdrawn all the same");
    assert!(update.unreach().is_none());
}

#[test]
fn an_attribute_that_comes_twice_counts_once() {
    let mut attributes = ipv4_attributes();
    put(AttributeType::LocalPref, "000000c8", &mut attributes);
    let bytes = update(&[], &attributes, &PREFIX);
    let update_read = Update::read(&bytes, &context()).unwrap();
    assert_eq!(update_read.violation().unwrap().approach, Approach::AttributeDiscard);
    assert_eq!(update_read.value(AttributeType::LocalPref), Some(&[0, 0, 0, 100][..]));
    assert_eq!(update_read.canonical(&mut Vec::new()), ipv4_attributes());
    for raw in ["800f03 000201 800f03 000201", "800e05 0002010000 800e05 0002010000"] {
        let bytes = update(&[], &with(100, raw), &PREFIX);
        assert_eq!(fate(&bytes, &context()).0, Fate::Answered(Approach::SessionReset, 1));
    }
}

#[test]
fn fields_that_do_not_fit_end_the_session() {
    let mut bytes = update(&[], &ipv4_attributes(), &PREFIX);
    bytes[19] = 1;
    assert_eq!(fate(&bytes, &context()).0, Fate::Answered(Approach::SessionReset, 1));
    let mut bytes = update(&[], &ipv4_attributes(), &PREFIX);
    bytes[21] = 1;
    assert_eq!(fate(&bytes, &context()).0, Fate::Answered(Approach::SessionReset, 1));
    for (withdrawn, announced) in [("21 0a01020304", ""), ("", "18 c000"), ("19 0a0102", "")] {
        let bytes = update(&hex(withdrawn), &ipv4_attributes(), &hex(announced));
        assert_eq!(fate(&bytes, &context()).0, Fate::Answered(Approach::SessionReset, 10));
    }
}

#[test]
fn what_nobody_knows_is_passed_on_as_partial_if_it_is_transitive() {
    let mut attributes = ipv4_attributes();
    attributes.extend_from_slice(&hex("c0c802 0102 80c902 0304"));
    let bytes = update(&[], &attributes, &PREFIX);
    let update = Update::read(&bytes, &context()).unwrap();
    assert_eq!(update.violation(), None);
    let mut expected = ipv4_attributes();
    expected.extend_from_slice(&hex("e0c802 0102"));
    assert_eq!(update.canonical(&mut Vec::new()), expected);
}

#[test]
fn the_first_as_is_the_peers() {
    let bytes = update(&[], &ipv4_attributes(), &PREFIX);
    let strict = |asn| Context { first_as: Some(asn), ..external() };
    let (found, _) = fate(&bytes, &strict(65_001));
    assert_eq!(found, Fate::Answered(Approach::AttributeDiscard, 9), "of LOCAL_PREF only");
    let (found, _) = fate(&bytes, &strict(65_007));
    assert_eq!(found, Fate::Answered(Approach::TreatAsWithdraw, 11));
}

#[test]
fn a_confederations_path_stays_in_it() {
    let inside = update(&[], &with(2, "40020c 0301 0000fde9 0201 0000fdea"), &PREFIX);
    let plain = update(&[], &ipv4_attributes(), &PREFIX);
    let member = Context { peering: Peering::Confederation, ..context() };
    assert_eq!(fate(&inside, &member).0, Fate::Taken);
    assert_eq!(fate(&inside, &context()).0, Fate::Taken);
    let withdrawn = Fate::Answered(Approach::TreatAsWithdraw, 11);
    assert_eq!(fate(&inside, &external()).0, withdrawn);
    assert_eq!(fate(&plain, &member).0, withdrawn);
    let path = hex("0301 0000fde9 0201 0000fdea");
    let path = AsPath::new(&path, true);
    assert_eq!(path.to_string(), "(65001) 65002");
    assert_eq!((path.hops(), path.neighbour()), (1, Some(65_002)));
}

#[test]
fn paths_of_two_octets_are_widened_by_as4_path() {
    let narrow = Context { four_octet_as: false, ..context() };
    let cases = [
        // RFC 6793 §4.2.3: the part that AS4_PATH does not know stays in front.
        ("0203 fde9 5ba0 5ba0", Some("0202 00030d40 00030d41"), "65001 200000 200001"),
        ("0202 5ba0 fde9", None, "23456 65001"),
        // A longer AS4_PATH is none.
        ("0201 5ba0", Some("0202 00030d40 00030d41"), "23456"),
        ("0102 5ba0 fde9 0201 5ba0", Some("0201 00030d40"), "{23456,65001} 200000"),
        // Segments of the confederation do not count.
        ("0301 fdf2 0202 fde9 5ba0", Some("0201 00030d40"), "(65010) 65001 200000"),
        ("0202 fde9 5ba0", Some("0301 0000fdf2 0201 00030d40"), "65001 200000"),
    ];
    for (two, four, expected) in cases {
        let mut attributes = Vec::new();
        put(AttributeType::Origin, "00", &mut attributes);
        put(AttributeType::AsPath, two, &mut attributes);
        put(AttributeType::NextHop, "c0000201", &mut attributes);
        four.into_iter().for_each(|four| put(AttributeType::As4Path, four, &mut attributes));
        let bytes = update(&[], &attributes, &PREFIX);
        let update = Update::read(&bytes, &narrow).unwrap();
        assert_eq!(update.violation(), None, "{two}");
        let mut scratch = Vec::new();
        let canonical = update.canonical(&mut scratch);
        let path = Attributes::new(canonical).value(AttributeType::AsPath).unwrap();
        assert_eq!(AsPath::new(path, true).to_string(), expected);
        assert!(Attributes::new(canonical).value(AttributeType::As4Path).is_none());
        // Between speakers of four octets AS4_PATH does not count and is no violation.
        if four.is_some() {
            let whole = with(17, "c01106 0201 00030d40");
            let bytes = self::update(&[], &whole, &PREFIX);
            assert_eq!(fate(&bytes, &context()).0, Fate::Taken);
        }
    }
}

#[test]
fn who_aggregated_in_two_octets_hides_what_as4_path_says() {
    let narrow = Context { four_octet_as: false, ..context() };
    for (asn, expected_as, expected_path) in
        [("5ba0", 200_001, "200000"), ("fde9", 65_001, "23456")]
    {
        let mut attributes = Vec::new();
        put(AttributeType::Origin, "00", &mut attributes);
        put(AttributeType::AsPath, "0201 5ba0", &mut attributes);
        put(AttributeType::NextHop, "c0000201", &mut attributes);
        put(AttributeType::Aggregator, &format!("{asn} c0000202"), &mut attributes);
        put(AttributeType::As4Path, "0201 00030d40", &mut attributes);
        put(AttributeType::As4Aggregator, "00030d41 c0000202", &mut attributes);
        let bytes = update(&[], &attributes, &PREFIX);
        let update = Update::read(&bytes, &narrow).unwrap();
        assert_eq!(update.aggregator().unwrap().asn, expected_as);
        let mut path = Vec::new();
        update.as_path_widened(&mut path);
        assert_eq!(AsPath::new(&path, true).to_string(), expected_path);
    }
}

#[test]
fn what_is_narrowed_and_widened_again_is_the_same() {
    let mut attributes = Vec::new();
    put(AttributeType::Origin, "00", &mut attributes);
    put(AttributeType::AsPath, "0203 0000fde9 00030d40 00030d41 0101 00030d42", &mut attributes);
    put(AttributeType::NextHop, "c0000201", &mut attributes);
    put(AttributeType::LocalPref, "00000064", &mut attributes);
    put(AttributeType::Aggregator, "00030d43 c0000202", &mut attributes);
    put(AttributeType::Communities, "fde80001", &mut attributes);
    let mut two = Vec::new();
    assert!(to_two_octets(&attributes, &mut two));
    let narrow = Context { four_octet_as: false, ..context() };
    let bytes = update(&[], &two, &PREFIX);
    let update = Update::read(&bytes, &narrow).unwrap();
    assert_eq!(update.violation(), None);
    assert_eq!(update.as_path().to_string(), "65001 23456 23456 {23456}");
    assert_eq!(update.canonical(&mut Vec::new()), attributes);
    let plain = ipv4_attributes();
    let mut two = Vec::new();
    assert!(to_two_octets(&plain, &mut two));
    assert!(Attributes::new(&two).value(AttributeType::As4Path).is_none(), "nothing was lost");
}

#[test]
fn a_reflector_adds_originator_and_cluster_in_order() {
    let mut out = Vec::new();
    assert!(reflect(&every::ipv4_attributes(), 0xC000_0203, 0xC000_0204, &mut out));
    let numbers = |field: &[u8]| -> Vec<u8> {
        Attributes::new(field).map(|attribute| attribute.unwrap().number).collect()
    };
    assert_eq!(numbers(&out), [1, 2, 3, 5, 9, 10]);
    let mut again = Vec::new();
    assert!(reflect(&out, 0xC000_0299, 0xC000_0205, &mut again));
    let all = Attributes::new(&again);
    assert_eq!(all.value(AttributeType::OriginatorId), Some(&hex("c0000203")[..]));
    assert_eq!(all.value(AttributeType::ClusterList), Some(&hex("c0000205 c0000204")[..]));
    assert_eq!(numbers(&again), [1, 2, 3, 5, 9, 10]);
    let edits = [
        Edit { kind: AttributeType::NextHop, value: Some(&[192, 0, 2, 9]) },
        Edit { kind: AttributeType::LocalPref, value: None },
        Edit { kind: AttributeType::Communities, value: Some(&[0, 0, 0, 1]) },
    ];
    let mut edited = Vec::new();
    assert!(rewrite(&again, &edits, &mut edited));
    assert_eq!(numbers(&edited), [1, 2, 3, 8, 9, 10]);
    let hop = Attributes::new(&edited).value(AttributeType::NextHop).unwrap();
    assert_eq!(hop, [192, 0, 2, 9]);
    let long = [0u8; 300];
    let edits = [Edit { kind: AttributeType::Communities, value: Some(&long) }];
    edited.clear();
    assert!(rewrite(&again, &edits, &mut edited));
    assert_eq!(Attributes::new(&edited).value(AttributeType::Communities), Some(&long[..]));
}

#[test]
fn an_as_is_put_in_front_of_the_path() {
    let mut out = Vec::new();
    prepend(&hex("0201 0000fde9"), SegmentKind::Sequence, 65_000, &mut out);
    assert_eq!(AsPath::new(&out, true).to_string(), "65000 65001");
    out.clear();
    prepend(&[], SegmentKind::Sequence, 65_000, &mut out);
    assert_eq!(AsPath::new(&out, true).to_string(), "65000");
    out.clear();
    prepend(&hex("0101 0000fde9"), SegmentKind::Sequence, 65_000, &mut out);
    assert_eq!(AsPath::new(&out, true).to_string(), "65000 {65001}");
    let mut full = vec![2, 255];
    (0..255u32).for_each(|asn| full.extend_from_slice(&(asn + 1).to_be_bytes()));
    out.clear();
    prepend(&full, SegmentKind::Sequence, 65_000, &mut out);
    assert_eq!(AsPath::new(&out, true).segments().count(), 2);
    assert_eq!(AsPath::new(&out, true).hops(), 256);
}

#[test]
fn a_family_that_was_not_agreed_on_is_ignored() {
    let few = Context { families: FamilySet::only(Family::Ipv4Unicast), ..context() };
    let mut attributes = ipv4_attributes();
    put(AttributeType::MpUnreachNlri, "000201 20 20010db8", &mut attributes);
    let bytes = update(&[], &attributes, &PREFIX);
    let update = Update::read(&bytes, &few).unwrap();
    assert_eq!(update.violation().unwrap().approach, Approach::AttributeDiscard);
    assert!(update.unreach().is_none() && !update.is_withdrawn());
    assert_eq!(update.canonical(&mut Vec::new()), ipv4_attributes());
    let other = Context { families: FamilySet::only(Family::Ipv6Unicast), ..context() };
    let bytes = self::update(&hex("10 0a01"), &attributes, &PREFIX);
    let update = Update::read(&bytes, &other).unwrap();
    assert_eq!(update.violation().unwrap().malformed.at, 21);
    assert!(update.withdrawn().is_empty() && update.announced().is_empty());
    assert_eq!(update.unreach().unwrap().routes.count(), 1);
}

#[test]
fn ipv6_next_hops_for_ipv4_are_taken_where_they_were_agreed_on() {
    let reach = "800e19 000101 10 20010db8000000000000000000000001 00 18 c00002";
    let mut attributes = hex(reach);
    attributes.extend_from_slice(&every::plain_attributes());
    let bytes = update(&[], &attributes, &[]);
    let (found, _) = fate(&bytes, &context());
    assert_eq!(found, Fate::Answered(Approach::DisableFamily, 9));
    let extended_next_hop = FamilySet::only(Family::Ipv4Unicast);
    let extended = Context { extended_next_hop, ..context() };
    let update = Update::read(&bytes, &extended).unwrap();
    assert_eq!(update.violation(), None);
    let reach = update.reach().unwrap();
    assert_eq!(NextHop::read(reach.next_hop).unwrap().to_string(), "2001:db8::1");
    let mut scratch = Vec::new();
    assert_eq!(update.canonical(&mut scratch), every::plain_attributes());
    assert!(scratch.is_empty());
}

#[test]
fn an_empty_update_is_the_end_of_the_rib() {
    let bytes = update(&[], &[], &[]);
    let empty = Update::read(&bytes, &context()).unwrap();
    assert_eq!(empty.end_of_rib(), Some(Family::Ipv4Unicast));
    let bytes = update(&[], &hex("800f03 000201"), &[]);
    let ipv6 = Update::read(&bytes, &context()).unwrap();
    assert_eq!(ipv6.end_of_rib(), Some(Family::Ipv6Unicast));
    let bytes = update(&[], &hex("800f03 000201 400101 00"), &[]);
    let more = Update::read(&bytes, &context()).unwrap();
    assert_eq!(more.end_of_rib(), None);
}

#[test]
fn next_hops_have_one_or_two_addresses_and_perhaps_a_distinguisher() {
    let global = "20010db8000000000000000000000001";
    let local = "fe800000000000000000000000000001";
    let zeros = "0000000000000000";
    for (text, shown) in [
        ("c0000201".to_owned(), "192.0.2.1"),
        (format!("{zeros} c0000201"), "192.0.2.1"),
        (global.to_owned(), "2001:db8::1"),
        (format!("{zeros} {global}"), "2001:db8::1"),
        (format!("{global} {local}"), "2001:db8::1 (fe80::1)"),
        (format!("{zeros} {global} {zeros} {local}"), "2001:db8::1 (fe80::1)"),
    ] {
        assert_eq!(NextHop::read(&hex(&text)).unwrap().to_string(), shown);
    }
    assert_eq!(NextHop::read(&[1, 2, 3]), None);
}

#[test]
fn a_path_that_widens_past_what_a_message_can_carry_withdraws_its_routes() {
    // 32,880 octets: 64 segments of 255 ASes. With four octets each they would take 65,542, and a
    // length of sixteen bits would say 6.
    let segment = [&[2, 255][..], &[0xfd, 0xe9].repeat(255)].concat();
    for (segments, fits) in [(64, false), (41, true), (63, true)] {
        let path = segment.repeat(segments);
        let mut attributes = Vec::new();
        put(AttributeType::Origin, "00", &mut attributes);
        assert!(bgp::codec::write_attribute(0x40, 2, &path, &mut attributes));
        put(AttributeType::NextHop, "c0000201", &mut attributes);
        let bytes = update(&[], &attributes, &PREFIX);
        let narrow = Context { four_octet_as: false, ..context() };
        let update = Update::read(&bytes, &narrow).unwrap();
        assert_eq!(update.is_withdrawn(), !fits, "{segments} segments");
        if fits {
            let mut scratch = Vec::new();
            let canonical = update.canonical(&mut scratch);
            let wide = Attributes::new(canonical).value(AttributeType::AsPath).unwrap();
            assert_eq!(wide.len(), segments * (2 + 4 * 255));
            assert!(Attributes::new(canonical).all(|attribute| attribute.is_ok()));
        } else {
            let violation = update.violation().expect("it is noted");
            assert_eq!(violation.approach, Approach::TreatAsWithdraw);
        }
    }
}

#[test]
fn a_value_longer_than_any_attribute_is_not_written() {
    let long = vec![0; 65_536];
    let mut out = b"before".to_vec();
    assert!(!bgp::codec::write_attribute(0xc0, 8, &long, &mut out));
    let edits = [Edit { kind: AttributeType::Communities, value: Some(&long) }];
    assert!(!rewrite(&every::ipv4_attributes(), &edits, &mut out));
    assert_eq!(out, b"before");
}
