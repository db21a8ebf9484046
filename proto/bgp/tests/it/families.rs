//! Every family: routes are found, split into key and payload, and joined again.

use crate::every::{self, hex};
use bgp::codec::{ExtendedCommunity, Update};
use bgp::family::{
    Components, EvpnRoute, Family, FamilySet, Ipv4Prefix, Ipv4Routes, Ipv6Prefix, Ipv6Routes,
    Label, LabelledPrefix, Layout, RouteKey, RouteTarget, Routes, VplsRoute, VpnPrefix,
};
use std::collections::BTreeSet;

fn split(family: Family, wire: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut key, mut payload) = (Vec::new(), Vec::new());
    let route = Routes::new(family, Layout::default(), wire).next().unwrap();
    assert_eq!(route.wire, wire, "{family}");
    route.split(&mut key, &mut payload);
    (key, payload)
}

#[test]
fn every_row_is_found_by_its_numbers_and_its_name() {
    for family in Family::ALL {
        assert_eq!(Family::of(family.afi(), family.safi()), Some(*family));
        assert_eq!(Family::named(family.name()), Some(*family));
        assert!(family.spec().starts_with("RFC "));
    }
    assert_eq!(Family::of(1, 5), None);
    assert_eq!(Family::named("ipv5-unicast"), None);
}

#[test]
fn a_route_is_its_key_and_its_payload() {
    for family in Family::ALL.iter().copied() {
        for wire in every::routes(family) {
            let (key, payload) = split(family, &wire);
            let mut again = Vec::new();
            family.join(&key, &payload, &mut again);
            assert_eq!(again, wire, "{family}");
        }
    }
}

#[test]
fn what_withdraws_a_route_has_its_key() {
    for family in Family::ALL.iter().copied() {
        for wire in every::routes(family) {
            let (key, _) = split(family, &wire);
            let mut withdrawal = Vec::new();
            family.join_withdrawn(&key, &mut withdrawal);
            let layout = Layout { withdrawn: true, ..Layout::default() };
            let route = Routes::new(family, layout, &withdrawal).next().unwrap();
            let (mut again, mut payload) = (Vec::new(), Vec::new());
            route.split(&mut again, &mut payload);
            assert_eq!(again, key, "{family}");
        }
    }
}

#[test]
fn every_cut_of_a_field_is_seen_and_has_its_offset() {
    for family in Family::ALL.iter().copied() {
        for add_path in [false, true] {
            let layout = Layout { add_path, ..Layout::default() };
            let (mut field, mut ends) = (Vec::new(), BTreeSet::from([0]));
            for route in every::routes(family) {
                if add_path {
                    field.extend_from_slice(&[0, 0, 0, 7]);
                }
                field.extend_from_slice(&route);
                ends.insert(field.len());
            }
            for length in 0..=field.len() {
                let routes = Routes::new(family, layout, &field[..length]);
                match routes.check() {
                    Ok(count) => {
                        assert!(ends.contains(&length), "{family}: cut at {length}");
                        assert_eq!(count, ends.range(..length).count(), "{family}");
                        assert_eq!(routes.count(), count);
                        assert!(routes.into_iter().all(|it| it.path_id == 7 || !add_path));
                    }
                    Err(violation) => {
                        assert!(!ends.contains(&length), "{family}: {violation} at {length}");
                        assert!(violation.at <= length, "{family}: {violation} of {length}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_prefix_takes_five_octets_and_is_masked() {
    let prefix = Ipv4Prefix::new([10, 1, 255, 255].into(), 17).unwrap();
    assert_eq!(prefix.to_string(), "10.1.128.0/17");
    assert_eq!(size_of::<(Ipv4Prefix, [u8; 3])>(), 8);
    assert_eq!(Ipv4Prefix::read(&hex("11 0a01ff")), Some((prefix, 4)));
    assert_eq!(Ipv4Prefix::read(&hex("11 0a01ffffff")), Some((prefix, 4)));
    assert_eq!(Ipv4Prefix::read(&hex("21 0a01ffffff")), None);
    assert_eq!(Ipv4Prefix::read(&hex("11 0a01")), None);
    assert_eq!(Ipv4Prefix::new([1, 2, 3, 4].into(), 33), None);
    let mut wire = Vec::new();
    prefix.write(&mut wire);
    assert_eq!(wire, hex("11 0a0180"));
    let default = Ipv4Prefix::new([9, 9, 9, 9].into(), 0).unwrap();
    assert_eq!(default.to_string(), "0.0.0.0/0");
    assert!(default.covers(prefix) && !prefix.covers(default));
    assert!(default < prefix && default.packed() < prefix.packed());
    let six = Ipv6Prefix::new("2001:db8::ffff".parse().unwrap(), 33).unwrap();
    assert_eq!(six.to_string(), "2001:db8::/33");
    assert_eq!(Ipv6Prefix::read(&hex("21 20010db8 7f")), Some((six, 6)));
}

#[test]
fn plain_prefixes_are_read_alike_by_the_fast_way_and_the_general_one() {
    for add_path in [false, true] {
        let layout = Layout { add_path, ..Layout::default() };
        for family in [Family::Ipv4Unicast, Family::Ipv6Unicast] {
            let mut field = Vec::new();
            for (number, route) in every::routes(family).iter().enumerate() {
                if add_path {
                    field.extend_from_slice(&[0, 0, 1, number as u8]);
                }
                field.extend_from_slice(route);
            }
            let general: Vec<(u32, String)> = Routes::new(family, layout, &field)
                .map(|route| (route.path_id, route.to_string()))
                .collect();
            let fast: Vec<(u32, String)> = if family == Family::Ipv4Unicast {
                Ipv4Routes::new(&field, add_path).map(|(id, it)| (id, it.to_string())).collect()
            } else {
                Ipv6Routes::new(&field, add_path).map(|(id, it)| (id, it.to_string())).collect()
            };
            assert_eq!(fast, general);
            assert_eq!(fast.len(), every::routes(family).len());
        }
    }
}

#[test]
fn trailing_bits_make_no_other_key() {
    let (clean, _) = split(Family::Ipv4Unicast, &hex("11 0a0180"));
    let (dirty, _) = split(Family::Ipv4Unicast, &hex("11 0a01ff"));
    assert_eq!(clean, dirty);
    let (clean, _) = split(Family::Vpnv4, &hex(&format!("69 000641 {} c00080", every::RD)));
    let (dirty, _) = split(Family::Vpnv4, &hex(&format!("69 000641 {} c000ff", every::RD)));
    assert_eq!(clean, dirty);
}

#[test]
fn labels_esi_and_gateway_make_no_other_key() {
    let text = |esi: &str, label: &str| {
        let rd = every::RD;
        format!("02 25 {rd} {esi} 00000000 30 020000000001 20 c0000201 {label}")
    };
    let one = split(Family::Evpn, &hex(&text(every::ESI, "000641")));
    let other = split(Family::Evpn, &hex(&text("00000000000000000000", "000651")));
    assert_eq!(one.0, other.0);
    assert_ne!(one.1, other.1);
    let one = split(Family::Ipv4Labelled, &hex("30 000641 c00002"));
    let other = split(Family::Ipv4Labelled, &hex("30 000651 c00002"));
    assert_eq!(one.0, other.0);
    let plain = split(Family::Vpls, &hex(&format!("000c {} 00010001", every::RD)));
    let block = split(Family::Vpls, &hex(&format!("0011 {} 0001 0001 000a 186a01", every::RD)));
    assert_ne!(plain.0, block.0, "auto-discovery and a block of labels are not the same");
}

#[test]
fn a_stack_of_labels_is_read_to_its_bottom_only_where_that_was_agreed() {
    let wire = hex("48 000640 000651 c00002");
    let multiple = Layout { multiple_labels: true, ..Layout::default() };
    let prefix = LabelledPrefix::read(&wire, multiple).unwrap();
    assert_eq!(prefix.labels().map(Label::number).collect::<Vec<_>>(), [100, 101]);
    assert_eq!(prefix.to_string(), "100 101 192.0.2.0/24");
    let single = LabelledPrefix::read(&wire, Layout::default()).unwrap();
    assert_eq!((single.labels().count(), single.bits), (1, 48));
    assert!(Routes::new(Family::Ipv4Labelled, Layout::default(), &wire).check().is_err());
    assert_eq!(Routes::new(Family::Ipv4Labelled, multiple, &wire).check(), Ok(1));
    let endless = hex("48 000640 000650 c00002");
    assert!(Routes::new(Family::Ipv4Labelled, multiple, &endless).check().is_err());
    // RFC 8277 §2.4: the label of a withdrawal is one, whatever it is.
    let withdrawn = Layout { withdrawn: true, ..multiple };
    let wire = hex("30 000000 c00002");
    assert_eq!(Routes::new(Family::Ipv4Labelled, withdrawn, &wire).check(), Ok(1));
}

#[test]
fn routes_are_shown_as_people_write_them() {
    let shown = |family: Family| -> Vec<String> {
        let routes = every::routes(family);
        routes
            .iter()
            .map(|wire| Routes::new(family, Layout::default(), wire).next().unwrap().to_string())
            .collect()
    };
    assert_eq!(shown(Family::Ipv6Unicast), ["2001:db8::/32", "2001:db8::1/128", "::/0"]);
    assert_eq!(shown(Family::Vpnv4), ["65000:42:192.0.2.0/24", "65000:42:0.0.0.0/0"]);
    assert_eq!(
        shown(Family::RouteTarget),
        ["65000 rt:65000:100", "default", "65000 0x0000000000000000/0"]
    );
    assert_eq!(shown(Family::Vpls), ["65000:42 ve 1 offset 1", "65000:42 pe 192.0.2.1"]);
    let evpn = shown(Family::Evpn);
    assert_eq!(evpn[0], "65000:42 ad 00112233445566778899 tag 0");
    assert_eq!(evpn[2], "65000:42 mac 02:00:00:00:00:01 tag 0 ip 192.0.2.1");
    assert_eq!(evpn[5], "65000:42 imet 192.0.2.1 tag 0");
    assert_eq!(evpn[6], "65000:42 es 00112233445566778899 from 192.0.2.1");
    assert_eq!(evpn[7], "65000:42 prefix 192.0.2.0/24 tag 0");
    assert_eq!(shown(Family::Ipv4FlowSpec), ["destination 18c00002 protocol 8106"]);
    assert_eq!(shown(Family::Ipv4SrPolicy), ["1 colour 100 endpoint 192.0.2.1"]);
    assert!(shown(Family::LinkState)[0].starts_with("node 03"));
}

#[test]
fn typed_views_read_what_was_written() {
    let vpn = every::routes(Family::Vpnv4);
    let vpn = VpnPrefix::read(&vpn[0], Layout::default()).unwrap();
    assert_eq!((vpn.distinguisher.to_string().as_str(), vpn.bits), ("65000:42", 24));
    let VplsRoute::Block { ve_id, size, label_base, .. } =
        VplsRoute::read(&every::routes(Family::Vpls)[0]).unwrap()
    else {
        panic!("it is a block")
    };
    assert_eq!((ve_id, size, label_base), (1, 10, 100_000));
    let routes = every::routes(Family::Evpn);
    let EvpnRoute::MacIpAdvertisement { label, label2, ip, .. } =
        EvpnRoute::read(&routes[3]).unwrap()
    else {
        panic!("it is a host")
    };
    assert_eq!((label.number(), label2.map(Label::number)), (100, Some(101)));
    assert_eq!(ip.unwrap().to_string(), "192.0.2.1");
    let target = RouteTarget::read(&every::routes(Family::RouteTarget)[0]).unwrap();
    let hundred = ExtendedCommunity([0, 2, 0xFD, 0xE8, 0, 0, 0, 100]);
    let other = ExtendedCommunity([0, 2, 0xFD, 0xE8, 0, 0, 0, 101]);
    assert!(target.wants(hundred) && !target.wants(other));
    assert!(RouteTarget::read(&[0]).unwrap().wants(other));
}

#[test]
fn types_of_evpn_that_nobody_knows_are_passed_over() {
    let mut field = hex("0b 03 010203");
    field.extend_from_slice(&every::routes(Family::Evpn)[5]);
    let routes = Routes::new(Family::Evpn, Layout::default(), &field);
    assert_eq!(routes.check(), Ok(2));
    let left: Vec<u8> = routes.map(|route| route.wire[0]).collect();
    assert_eq!(left, [3]);
}

#[test]
fn an_evpn_route_that_ends_too_soon_is_malformed_where_it_ends() {
    for (wire, at) in [("02 03 000000", 5), ("03 00", 2), ("04 08 0000000000000000", 10)] {
        let violation = Routes::new(Family::Evpn, Layout::default(), &hex(wire)).check();
        assert_eq!(violation.unwrap_err().at, at, "{wire}");
    }
}

#[test]
fn a_long_flow_specification_has_a_length_of_two_octets() {
    let mut value = hex("01 18 c00002 05");
    (0..100).for_each(|port| value.extend_from_slice(&[0x11, 0, port]));
    value.extend_from_slice(&[0x91, 0, 200]);
    let mut wire = (0xF000 | value.len() as u16).to_be_bytes().to_vec();
    wire.extend_from_slice(&value);
    let (key, _) = split(Family::Ipv4FlowSpec, &wire);
    assert_eq!(key, value);
    let mut again = Vec::new();
    Family::Ipv4FlowSpec.join(&key, &[], &mut again);
    assert_eq!(again, wire);
    assert_eq!(Components::new(&value, false).filter(Result::is_ok).count(), 2);
    let empty = Routes::new(Family::Ipv4FlowSpec, Layout::default(), &[0]).next().unwrap();
    assert_eq!(empty.to_string(), "everything");
    let disordered = hex("03 81 06 01 18 c00002");
    assert!(Components::new(&disordered, false).any(|it| it.is_err()));
    let cut = hex("03 01 06");
    assert!(Components::new(&cut, false).any(|it| it.is_err()));
}

#[test]
fn keys_are_small_and_ordered() {
    let keys: BTreeSet<RouteKey> = Family::ALL
        .iter()
        .flat_map(|family| {
            every::routes(*family)
                .into_iter()
                .map(|wire| Routes::new(*family, Layout::default(), &wire).next().unwrap().key())
        })
        .collect();
    let all: usize = Family::ALL.iter().map(|family| every::routes(*family).len()).sum();
    assert_eq!(keys.len(), all - 1, "two of the EVPN routes differ in their payload only");
    assert!(keys.iter().is_sorted_by_key(RouteKey::family));
    let one = RouteKey::new(Family::Ipv4Unicast, 1, &[24, 1, 2, 3]);
    let two = RouteKey::new(Family::Ipv4Unicast, 2, &[24, 1, 2, 3]);
    assert!(one < two && one != two && one == one.clone());
}

#[test]
fn every_family_travels_in_updates() {
    let context = every::context();
    for (family, bytes) in every::updates(every::routes) {
        let update = Update::read(&bytes, &context).unwrap();
        assert_eq!(update.violation(), None, "{family}");
        let expected = every::routes(family);
        if let Some(reach) = update.reach() {
            let found: Vec<&[u8]> = reach.routes.map(|route| route.wire).collect();
            assert_eq!(
                (reach.family, found),
                (family, expected.iter().map(|it| &it[..]).collect())
            );
            assert_eq!(reach.next_hop, every::next_hop(family));
        } else if let Some(family) = update.end_of_rib() {
            assert_eq!(family, update.unreach().map_or(Family::Ipv4Unicast, |it| it.family));
        } else {
            assert_eq!(update.unreach().unwrap().routes.count(), expected.len(), "{family}");
        }
    }
    let set: FamilySet = Family::ALL.iter().copied().collect();
    assert_eq!((set.len(), set.iter().count()), (Family::ALL.len(), Family::ALL.len()));
}
