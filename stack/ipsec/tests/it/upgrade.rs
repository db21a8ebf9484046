//! A pair whose nodes are of two versions: the numbers of a set as the version before tells them,
//! kept here as octets, with less than this one tells and with more.

use crate::world::{End, agreed, associations};
use esp::Usage;
use ipsec::{BLOCK, Lane, Numbers};
use machine::Time;
use runtime::Effects;
use std::collections::BTreeSet;

/// Slot and generation, what is promised, the edges, where the peer is, what has passed.
const TOLD: [&str; 6] = [
    "01 00000008 0000000000000000",
    "02 00000008 0000000000000000",
    "03 00000010 0000000000003000 0000000000001000",
    "04 00000010 0000000000000009 0000000000000000",
    "05 00000006 0000 c0000201",
    "06 00000040 0000000000000003 0000000000000120 0000000000000000 0000000000000000 \
     0000000000002001 0000000000090000 0000000000000004 0000000000000140",
];
/// A field of a later version.
const LATER: &str = "fa 00000003 616263";

fn octets(fields: &[&str]) -> Vec<u8> {
    let digits: Vec<u8> = fields.concat().bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |octet: u8| char::from(octet).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// A node that has the set of a peer, and was told that.
fn standby(told: &[&[u8]]) -> (End, End) {
    let mut peer = End::new("192.0.2.1", "192.0.2.1:0", 11);
    let mut node = End::new("192.0.2.2", "192.0.2.2:0", 22);
    agreed(&mut peer, &mut node, false);
    let made = associations(&node, &peer, false, BLOCK);
    node.endpoint.clear();
    assert!(node.endpoint.put(node.set, made));
    told.iter().for_each(|delta| node.endpoint.apply(delta));
    (node, peer)
}

fn numbers(node: &End) -> Numbers {
    node.endpoint.numbers(node.set).expect("the set stands")
}

#[test]
fn numbers_that_the_version_before_has_told_are_gone_on_behind() {
    let usage = |packets, octets| Usage { packets, octets };
    for fields in [&TOLD[..], &TOLD[..5]] {
        let (mut node, mut peer) = standby(&[&octets(fields)]);
        let told = numbers(&node);
        // What is granted by itself behind a promise is told before it is used.
        assert!(told.promised[0] >= 0x3000 && told.promised[1] >= 0x1000, "{told:?}");
        assert_eq!((told.edges, told.remote), ([9, 0], "192.0.2.1:0".parse().unwrap()));
        let has_usage = fields.len() == 6;
        assert_eq!(told.came[0], if has_usage { usage(3, 0x120) } else { usage(0, 0) });
        assert_eq!(told.left[1], if has_usage { usage(4, 0x140) } else { usage(0, 0) });
        node.endpoint.take_over();
        for (lane, first) in [(Lane::First, 0x3001), (Lane::Second, 0x1001_u32)] {
            let (_, sent) = node.send(&peer, lane, b"OPTIONS").unwrap();
            assert_eq!(sent[4..8], first.to_be_bytes(), "{lane:?}");
        }
        // Nine have come before; the next one has not.
        for number in 1..=10 {
            let (_, sent) = peer.send(&node, Lane::First, b"again").unwrap();
            let came = node.take(Time::ZERO, peer.outside, false, &sent);
            assert_eq!(came.is_some(), number == 10, "{number}");
        }
    }
}

#[test]
fn what_a_later_version_adds_is_passed_over_wherever_it_stands() {
    let expected = numbers(&standby(&[&octets(&TOLD)]).0);
    for place in 0..=TOLD.len() {
        let mut fields = TOLD.to_vec();
        fields.insert(place, LATER);
        assert_eq!(numbers(&standby(&[&octets(&fields)]).0), expected, "at {place}");
    }
}

#[test]
fn what_is_cut_off_or_of_no_set_changes_nothing() {
    let (whole, before) = (octets(&TOLD), numbers(&standby(&[]).0));
    let required = octets(&TOLD[..5]).len();
    for length in 0..required {
        assert_eq!(numbers(&standby(&[&whole[..length]]).0), before, "{length} octets");
    }
    let elsewhere = octets(&[&["01 00000008 0000000000000007"], &TOLD[1..]].concat());
    assert_eq!(numbers(&standby(&[&elsewhere]).0), before);
}

#[test]
fn what_is_told_now_has_all_that_the_version_before_reads() {
    let (mut node, mut peer) = standby(&[]);
    node.endpoint.take_over();
    let (_, sent) = peer.send(&node, Lane::First, b"REGISTER").unwrap();
    assert!(node.take(Time::ZERO, peer.outside, false, &sent).is_some());
    let (mut out, mut scratch) = (Effects::default(), Vec::new());
    node.endpoint.tell(&[], &mut out, &mut scratch);
    let shape = |octets: &[u8]| -> BTreeSet<(u8, usize)> {
        replica::field::Fields::new(octets).map(|(tag, value)| (tag, value.len())).collect()
    };
    let told: Vec<_> = out.deltas().map(shape).collect();
    assert_eq!(told.len(), 1);
    assert!(shape(&octets(&TOLD)).is_subset(&told[0]), "{told:?}");
    // And it is what it says.
    let told: Vec<_> = out.deltas().map(<[u8]>::to_vec).collect();
    let (other, _) = standby(&[&told[0]]);
    assert_eq!(numbers(&other).edges, numbers(&node).edges);
}
