//! Packing: every route arrives, in its order, in as few messages as can be.

use crate::every;
use bgp::codec::{AttributeType, Context, Messages, Update, write_attribute};
use bgp::family::{Family, FamilySet, Ipv4Prefix, Ipv4Routes, Ipv6Prefix, Routes};
use bgp::pack::{Announcement, Limits, TooLong, Withdrawal, end_of_rib};
use proptest::prelude::*;

fn prefixes(seed: u32, count: u32) -> Vec<Ipv4Prefix> {
    (0..count)
        .map(|number| {
            let mixed = number.wrapping_mul(2_654_435_761).wrapping_add(seed);
            Ipv4Prefix::new(mixed.into(), (mixed % 33) as u8).unwrap()
        })
        .collect()
}

fn context(add_path: bool) -> Context {
    let all: FamilySet = Family::ALL.iter().copied().collect();
    Context { add_path: if add_path { all } else { FamilySet::EMPTY }, ..every::context() }
}

/// What arrives: path identifiers and prefixes, announced and withdrawn, and messages.
type Arrived = (Vec<(u32, Ipv4Prefix)>, Vec<(u32, Ipv4Prefix)>, usize);

fn arrive(buffer: &[u8], limits: Limits) -> Arrived {
    let (mut announced, mut withdrawn, mut count) = (Vec::new(), Vec::new(), 0);
    let mut messages = Messages::new(buffer, limits.message_max);
    for (_, message) in messages.by_ref() {
        count += 1;
        let update = Update::read(message, &context(limits.add_path)).unwrap();
        assert_eq!(update.violation(), None);
        announced.extend(Ipv4Routes::new(update.announced().octets(), limits.add_path));
        withdrawn.extend(Ipv4Routes::new(update.withdrawn().octets(), limits.add_path));
        if let Some(reach) = update.reach() {
            announced.extend(Ipv4Routes::new(reach.routes.octets(), limits.add_path));
            assert_eq!(update.canonical(&mut Vec::new()), every::plain_attributes());
        }
        if let Some(unreach) = update.unreach() {
            withdrawn.extend(Ipv4Routes::new(unreach.routes.octets(), limits.add_path));
        }
    }
    assert!(messages.rest().is_empty(), "nothing but whole messages");
    (announced, withdrawn, count)
}

proptest! {
    #[test]
    fn every_prefix_arrives_in_order(
        seed in any::<u32>(),
        count in 0u32..3_000,
        message_max in 100usize..5_000,
        add_path: bool,
        is_plain: bool,
        withdraws: bool,
    ) {
        let limits = Limits { message_max, add_path };
        let sent: Vec<(u32, Ipv4Prefix)> = prefixes(seed, count)
            .into_iter()
            .enumerate()
            .map(|(number, prefix)| (if add_path { number as u32 } else { 0 }, prefix))
            .collect();
        let (plain, mp) = (every::ipv4_attributes(), every::plain_attributes());
        let (family, hop) = (Family::Ipv4Unicast, [192, 0, 2, 1]);
        let mut buffer = Vec::new();
        let finished = if withdraws {
            let mut packing = match is_plain {
                true => Withdrawal::plain(limits, &mut buffer),
                false => Withdrawal::multiprotocol(limits, family, &mut buffer),
            };
            sent.iter().for_each(|(id, prefix)| packing.prefix(*id, *prefix));
            packing.finish()
        } else {
            let packing = match is_plain {
                true => Announcement::plain(limits, &plain, &mut buffer),
                false => Announcement::multiprotocol(limits, family, &hop, &mp, &mut buffer),
            };
            let mut packing = packing.unwrap();
            sent.iter().for_each(|(id, prefix)| packing.prefix(*id, *prefix));
            packing.finish()
        };
        prop_assert_eq!(finished, sent.len());
        let (announced, withdrawn, messages) = arrive(&buffer, limits);
        let (came, other) = if withdraws { (withdrawn, announced) } else { (announced, withdrawn) };
        prop_assert_eq!(came, sent);
        prop_assert!(other.is_empty());
        // No message but the last has room for one more prefix.
        let mut all = Messages::new(&buffer, message_max).map(|(_, message)| message.len());
        let largest = 5 + if add_path { 4 } else { 0 };
        let is_full = |length: usize| length + largest > message_max;
        prop_assert!(all.by_ref().take(messages.saturating_sub(1)).all(is_full));
    }
}

#[test]
fn many_attribute_sets_go_into_one_buffer() {
    let limits = Limits { message_max: 4_096, add_path: false };
    let mut buffer = Vec::new();
    for number in 0..100u32 {
        let mut attributes = every::ipv4_attributes();
        write_attribute(0xC0, 8, &number.to_be_bytes(), &mut attributes);
        let mut packing = Announcement::plain(limits, &attributes, &mut buffer).unwrap();
        prefixes(number, 7).into_iter().for_each(|prefix| packing.prefix(0, prefix));
        assert!(packing.buffered() > 0);
        packing.finish();
    }
    end_of_rib(Family::Ipv4Unicast, &mut buffer);
    let (announced, _, messages) = arrive(&buffer, limits);
    assert_eq!((announced.len(), messages), (700, 101));
}

#[test]
fn what_is_too_long_for_a_message_is_refused_and_nothing_is_written() {
    let long = vec![0; 4_060];
    let mut attributes = every::ipv4_attributes();
    write_attribute(0xC0, 8, &long, &mut attributes);
    let mut buffer = Vec::new();
    let limits = Limits { message_max: 4_096, add_path: false };
    let refused = Announcement::plain(limits, &attributes, &mut buffer);
    assert!(matches!(refused, Err(TooLong)));
    let extended = Limits { message_max: 65_535, ..limits };
    let mut packing = Announcement::plain(extended, &attributes, &mut buffer).unwrap();
    prefixes(1, 20_000).into_iter().for_each(|prefix| packing.prefix(0, prefix));
    packing.finish();
    let (announced, _, messages) = arrive(&buffer, extended);
    assert_eq!(announced.len(), 20_000);
    assert!(messages < 3, "{messages} messages");
    // A flow specification that is longer than the message.
    let mut wire = vec![0xFF, 0xFF];
    wire.resize(2 + 4_095, 0);
    let plain = every::plain_attributes();
    buffer.clear();
    let mut packing =
        Announcement::multiprotocol(limits, Family::Ipv4FlowSpec, &[], &plain, &mut buffer)
            .unwrap();
    assert_eq!(packing.route(0, &wire), Err(TooLong));
    assert_eq!(packing.finish(), 0);
    assert!(buffer.is_empty());
}

#[test]
fn routes_of_every_family_are_packed_with_and_without_path_identifiers() {
    let attributes = every::plain_attributes();
    for family in Family::ALL.iter().copied() {
        for add_path in [false, true] {
            let limits = Limits { message_max: 300, add_path };
            let routes = every::routes(family);
            let mut sent = Vec::new();
            let mut buffer = Vec::new();
            let hop = every::next_hop(family);
            let mut packing =
                Announcement::multiprotocol(limits, family, &hop, &attributes, &mut buffer)
                    .unwrap();
            for round in 0..20 {
                for route in &routes {
                    packing.route(round, route).unwrap();
                    sent.push((if add_path { round } else { 0 }, route.clone()));
                }
            }
            assert_eq!(packing.finish(), sent.len());
            let mut came = Vec::new();
            for (_, message) in Messages::new(&buffer, 300) {
                let context = context(add_path);
                let update = Update::read(message, &context).unwrap();
                assert_eq!(update.violation(), None, "{family}");
                let routes: Routes<'_> = update.reach().unwrap().routes;
                came.extend(routes.map(|route| (route.path_id, route.wire.to_vec())));
            }
            assert_eq!(came, sent, "{family}");
        }
    }
}

#[test]
fn ipv6_prefixes_are_packed_like_any_other() {
    let limits = Limits { message_max: 4_096, add_path: false };
    let (attributes, hop) = (every::plain_attributes(), every::next_hop(Family::Ipv6Unicast));
    let mut buffer = Vec::new();
    let family = Family::Ipv6Unicast;
    let mut packing =
        Announcement::multiprotocol(limits, family, &hop, &attributes, &mut buffer).unwrap();
    let prefix = |number: u128| Ipv6Prefix::new((0x2001 << 112 | number << 80).into(), 48).unwrap();
    (0..5_000).for_each(|number| packing.ipv6_prefix(0, prefix(number)));
    packing.finish();
    let mut came = Vec::new();
    for (_, message) in Messages::new(&buffer, 4_096) {
        let context = every::context();
        let update = Update::read(message, &context).unwrap();
        let octets = update.reach().unwrap().routes.octets();
        came.extend(bgp::family::Ipv6Routes::new(octets, false).map(|(_, prefix)| prefix));
    }
    assert_eq!(came, (0..5_000).map(prefix).collect::<Vec<_>>());
    assert!(AttributeType::MpReachNlri.flags() == 0x80);
}
