//! The table against a list that is searched from end to end; PDUs there and back; no octets make
//! anything panic.

use crate::every::World;
use bgp::family::{Ipv4Prefix, Ipv6Prefix};
use machine::{Machine, Time};
use proptest::prelude::*;
use rpki::{
    CacheId, Change, Client, Framing, In, Intervals, Out, Pdu, Settings, Table, Validity, Version,
    Vrp4, Vrp6, frame,
};
use std::collections::BTreeSet;

/// Few addresses, so that prefixes nest and meet.
fn vrp4() -> impl Strategy<Value = Vrp4> {
    (0u32..64, 0u8..=32, 0u8..=32, 0u32..4).prop_map(|(address, bits, more, asn)| Vrp4 {
        prefix: Ipv4Prefix::new((address.reverse_bits() | address & 3).into(), bits).unwrap(),
        max: (bits + more).min(32),
        asn,
    })
}

fn vrp6() -> impl Strategy<Value = Vrp6> {
    (0u128..64, 0u8..=128, 0u8..=128, 0u32..4).prop_map(|(address, bits, more, asn)| {
        // In 2000::/3 and outside of it.
        let address = (address << 109) | (address & 3) << 125;
        let prefix = Ipv6Prefix::new(address.into(), bits).unwrap();
        Vrp6 { prefix, max: bits.saturating_add(more).min(128), asn }
    })
}

fn naive<'a>(
    covering: impl Iterator<Item = &'a (u8, u32)>,
    bits: u8,
    origin: Option<u32>,
) -> Validity {
    let all: Vec<&(u8, u32)> = covering.collect();
    let allows = |it: &&&(u8, u32)| it.1 != 0 && Some(it.1) == origin && bits <= it.0;
    match (all.is_empty(), all.iter().find(allows)) {
        (true, _) => Validity::NotFound,
        (false, Some(_)) => Validity::Valid,
        (false, None) => Validity::Invalid,
    }
}

fn judge4(set: &BTreeSet<Vrp4>, prefix: Ipv4Prefix, origin: Option<u32>) -> Validity {
    let covering = set.iter().filter(|it| it.prefix.covers(prefix)).map(|it| (it.max, it.asn));
    naive(covering.collect::<Vec<_>>().iter(), prefix.bits(), origin)
}

fn judge6(set: &BTreeSet<Vrp6>, prefix: Ipv6Prefix, origin: Option<u32>) -> Validity {
    let covering = set.iter().filter(|it| it.prefix.covers(prefix)).map(|it| (it.max, it.asn));
    naive(covering.collect::<Vec<_>>().iter(), prefix.bits(), origin)
}

fn replay<V: Copy + Ord>(set: &mut BTreeSet<V>, changes: &[Change<V>]) {
    for change in changes {
        if change.comes {
            set.insert(change.vrp);
        } else {
            set.remove(&change.vrp);
        }
    }
}

fn changes4() -> impl Strategy<Value = Vec<Change<Vrp4>>> {
    let change = (vrp4(), any::<bool>()).prop_map(|(vrp, comes)| Change { vrp, comes });
    proptest::collection::vec(change, 0..30)
}

fn changes6() -> impl Strategy<Value = Vec<Change<Vrp6>>> {
    let change = (vrp6(), any::<bool>()).prop_map(|(vrp, comes)| Change { vrp, comes });
    proptest::collection::vec(change, 0..30)
}

proptest! {
    #[test]
    fn the_table_says_what_a_search_of_all_records_says(
        rounds in proptest::collection::vec((changes4(), changes6()), 1..4),
        routes4 in proptest::collection::vec((vrp4(), prop::option::of(0u32..4)), 20),
        routes6 in proptest::collection::vec((vrp6(), prop::option::of(0u32..4)), 20),
    ) {
        let (mut table, mut set4, mut set6) = (Table::default(), BTreeSet::new(), BTreeSet::new());
        for (changes4, changes6) in rounds {
            let before = (table.clone(), set4.clone(), set6.clone());
            let delta = table.apply(&changes4, &changes6);
            replay(&mut set4, &changes4);
            replay(&mut set6, &changes6);
            prop_assert!(table.iter_ipv4().eq(set4.iter().copied()));
            prop_assert!(table.iter_ipv6().eq(set6.iter().copied()));
            for (route, origin) in &routes4 {
                let state = table.validate_ipv4(route.prefix, *origin);
                prop_assert_eq!(state, judge4(&set4, route.prefix, *origin));
                let was = before.0.validate_ipv4(route.prefix, *origin);
                prop_assert!(state == was || delta.concerns_ipv4(route.prefix));
            }
            for (route, origin) in &routes6 {
                let state = table.validate_ipv6(route.prefix, *origin);
                prop_assert_eq!(state, judge6(&set6, route.prefix, *origin));
                let was = before.0.validate_ipv6(route.prefix, *origin);
                prop_assert!(state == was || delta.concerns_ipv6(route.prefix));
            }
            // The delta has no prefix in which nothing changed.
            for prefix in &delta.ipv4 {
                let inside = |set: &BTreeSet<Vrp4>| -> Vec<Vrp4> {
                    set.iter().filter(|it| it.prefix == *prefix).copied().collect()
                };
                prop_assert_ne!(inside(&before.1), inside(&set4));
            }
            // To replace gives the same table and tells the same.
            let mut other = before.0.clone();
            let (list4, list6): (Vec<_>, Vec<_>) =
                (set4.iter().copied().collect(), set6.iter().copied().collect());
            prop_assert_eq!(other.replace(&list4, &list6), delta);
            prop_assert!(other.iter_ipv4().eq(table.iter_ipv4()));
        }
    }

    #[test]
    fn every_pdu_is_read_as_it_was_written(
        session: u16, serial: u32, vrp4 in vrp4(), vrp6 in vrp6(), comes: bool, is_v0: bool,
        ski: [u8; 20], octets in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let version = if is_v0 { Version::V0 } else { Version::V1 };
        let times = Intervals { refresh_s: serial, retry_s: 1, expire_s: 2 };
        let mut pdus = vec![
            Pdu::SerialNotify(session, serial),
            Pdu::SerialQuery(session, serial),
            Pdu::ResetQuery,
            Pdu::CacheResponse(session),
            Pdu::Ipv4(comes, vrp4),
            Pdu::Ipv6(comes, vrp6),
            Pdu::EndOfData(session, serial, (!is_v0).then_some(times)),
            Pdu::CacheReset,
            Pdu::ErrorReport(session, &octets, b"text"),
        ];
        if !is_v0 {
            pdus.push(Pdu::RouterKey(comes, serial, ski, &octets));
        }
        for pdu in pdus {
            let mut wire = Vec::new();
            pdu.write(version, &mut wire);
            prop_assert_eq!(frame(&wire), Framing::Pdu(version.number(), pdu, &wire));
            for cut in 0..wire.len() {
                prop_assert_eq!(frame(&wire[..cut]), Framing::Partial);
            }
        }
    }

    #[test]
    fn no_octets_make_the_client_panic_or_hang(
        octets in proptest::collection::vec(any::<u8>(), 0..200),
        kinds in proptest::collection::vec((0u8..12, 0u8..3), 1..8),
    ) {
        // Headers of every type with the right lengths, then whatever comes.
        let lengths = [12u8, 12, 8, 8, 20, 20, 32, 24, 8, 40, 16, 8];
        let mut stream = Vec::new();
        for (kind, version) in kinds {
            let length = lengths[usize::from(kind)];
            stream.extend_from_slice(&[version, kind, 0, 7, 0, 0, 0, length]);
            stream.extend(octets.iter().cycle().take(usize::from(length) - 8));
            stream.resize(stream.len().next_multiple_of(4), 0);
        }
        stream.extend_from_slice(&octets);
        let mut world = World::new(Settings::new(2));
        world.connect(0);
        let taken = world.client.receive(Time::ZERO, CacheId(0), &stream, &mut world.out);
        prop_assert!(taken <= stream.len());
        let same = |client: &mut Client| {
            let mut out: Vec<Out> = Vec::new();
            client.step(Time::ZERO, In::Start, &mut out);
            client.step(Time::ZERO, In::Connected(CacheId(0)), &mut out);
            out.clear();
            client.receive(Time::ZERO, CacheId(0), &stream, &mut out);
            out
        };
        prop_assert_eq!(same(&mut Client::new(Settings::new(2))), world.out);
    }
}

#[test]
fn six_hundred_thousand_records_take_less_than_15_megabytes() {
    let mut table = Table::default();
    let ipv4: Vec<Vrp4> = (0..450_000u32)
        .map(|number| {
            let address = number.wrapping_mul(2_654_435_761);
            let bits = 16 + (number % 9) as u8;
            Vrp4 { prefix: Ipv4Prefix::new(address.into(), bits).unwrap(), max: 24, asn: number }
        })
        .collect();
    let ipv6: Vec<Vrp6> = (0..150_000u128)
        .map(|number| {
            let address = 1 << 125 | number << 90;
            Vrp6 { prefix: Ipv6Prefix::new(address.into(), 48).unwrap(), max: 48, asn: 1 }
        })
        .collect();
    table.replace(&ipv4, &ipv6);
    let (len4, len6) = table.len();
    assert!(len4 + len6 > 590_000);
    assert!(table.bytes() < 15_000_000, "{}", table.bytes());
}
