//! Areas: summaries, stub areas and those that are not so stubby, destinations outside.

use crate::net::{Net, SECOND};
use ospf::{AreaKind, In, LinkType, Prefix, Redistributed, RouteKind};

/// 0 - 1 = 2 - 3: areas 1, 0 and 2, with border routers 1 and 2.
fn chain(kind: AreaKind) -> Net {
    let mut net = Net::new(4, 4);
    net.areas.insert(0, AreaKind::Normal);
    net.areas.insert(1, AreaKind::Normal);
    net.areas.insert(2, kind);
    net.link(LinkType::PointToPoint, 1, &[(0, 3), (1, 3)]);
    net.link(LinkType::Broadcast, 0, &[(1, 5), (2, 5)]);
    net.link(LinkType::PointToPoint, 2, &[(2, 7), (3, 7)]);
    net.start_all();
    net.run(SECOND * 30);
    net
}

fn outside(last: u8) -> Prefix {
    Prefix::new(u32::from_be_bytes([203, 0, last, 0]), 24)
}

const DEFAULT: Prefix = Prefix { address: 0, length: 0 };

fn external(metric: u32, is_type2: bool) -> Redistributed {
    Redistributed { metric, is_type2, tag: 77 }
}

#[test]
fn routes_lead_through_the_backbone_into_other_areas() {
    let net = chain(AreaKind::Normal);
    net.check("three areas");
    let route = &net.told[0][&Net::prefix(2)];
    assert_eq!((route.kind, route.cost), (RouteKind::InterArea, 3 + 5 + 7));
    assert_eq!(net.told[0][&Net::prefix(0)].kind, RouteKind::IntraArea);
}

#[test]
fn what_is_lost_in_one_area_is_lost_in_all() {
    let mut net = chain(AreaKind::Normal);
    net.routers[3] = None;
    net.links[2].is_up = false;
    net.step(2, In::InterfaceDown(2));
    net.run(SECOND * 20);
    assert!(!net.told[0].contains_key(&Net::prefix(2)));
    net.start(3);
    net.links[2].is_up = true;
    net.step(2, In::InterfaceUp(2));
    net.run(SECOND * 20);
    net.check("again");
}

#[test]
fn destinations_outside_are_reached_from_every_normal_area_by_either_metric() {
    let mut net = chain(AreaKind::Normal);
    net.step(3, In::Redistribute(outside(1), external(20, true)));
    net.step(3, In::Redistribute(outside(2), external(20, false)));
    net.step(0, In::Redistribute(outside(1), external(19, true)));
    net.run(SECOND * 20);
    let route = &net.told[1][&outside(1)];
    assert_eq!((route.kind, route.metric2, route.tag), (RouteKind::External2, 19, 77));
    let route = &net.told[0][&outside(2)];
    assert_eq!((route.kind, route.cost), (RouteKind::External1, 3 + 5 + 7 + 20));
    assert_eq!(route.hops[0].gateway, Some(Net::address(0, 1)));
    net.step(0, In::WithdrawExternal(outside(1)));
    net.run(SECOND * 20);
    let route = &net.told[1][&outside(1)];
    assert_eq!((route.metric2, route.cost), (20, 5 + 7), "the other one's");
    net.step(3, In::WithdrawExternal(outside(1)));
    net.run(SECOND * 20);
    assert!(!net.told[1].contains_key(&outside(1)));
}

#[test]
fn a_stub_area_has_a_default_route_in_place_of_what_is_outside() {
    for is_totally in [false, true] {
        let mut net = chain(AreaKind::Stub { is_totally, default_cost: 4 });
        net.step(0, In::Redistribute(outside(1), external(20, true)));
        net.run(SECOND * 20);
        assert_eq!(net.full(2), 2);
        assert!(net.told[2].contains_key(&outside(1)), "the border router knows");
        assert!(!net.told[3].contains_key(&outside(1)));
        assert_eq!(net.told[3][&DEFAULT].cost, 7 + 4);
        assert_eq!(net.told[3].contains_key(&Net::prefix(0)), !is_totally);
    }
}

#[test]
fn externals_of_a_not_so_stubby_area_are_translated_at_its_border() {
    let mut net = chain(AreaKind::Nssa { is_totally: false, default_cost: Some(9) });
    net.step(3, In::Redistribute(outside(1), external(20, true)));
    net.step(0, In::Redistribute(outside(2), external(20, true)));
    net.run(SECOND * 20);
    assert_eq!(net.full(2), 2);
    let route = &net.told[2][&outside(1)];
    assert_eq!((route.kind, route.metric2), (RouteKind::External2, 20));
    let route = &net.told[0][&outside(1)];
    assert_eq!((route.kind, route.metric2, route.cost), (RouteKind::External2, 20, 3 + 5 + 7));
    assert!(!net.told[3].contains_key(&outside(2)), "others' do not come in");
    assert_eq!(net.told[3][&DEFAULT].metric2, 9);
    net.step(3, In::WithdrawExternal(outside(1)));
    net.run(SECOND * 20);
    assert!(!net.told[0].contains_key(&outside(1)));
}

#[test]
fn prefixes_with_one_address_and_several_lengths_have_numbers_of_their_own() {
    let mut net = chain(AreaKind::Normal);
    let address = u32::from_be_bytes([203, 0, 113, 0]);
    let prefixes = [16, 24, 28].map(|length| Prefix::new(address, length));
    for (at, prefix) in prefixes.iter().enumerate() {
        net.step(3, In::Redistribute(*prefix, external(at as u32 + 1, true)));
    }
    net.run(SECOND * 20);
    for (at, prefix) in prefixes.iter().enumerate() {
        assert_eq!(net.told[0][prefix].metric2, at as u32 + 1, "{prefix}");
    }
}

#[test]
fn what_an_area_says_takes_no_number_of_a_border_routers_own() {
    let mut net = chain(AreaKind::Nssa { is_totally: false, default_cost: None });
    let prefix = |octets: [u8; 4], length| Prefix::new(u32::from_be_bytes(octets), length);
    let [wide, narrow] = [prefix([11, 0, 0, 0], 8), prefix([11, 0, 0, 0], 16)];
    let host = prefix([11, 0, 255, 255], 32);
    net.step(2, In::Redistribute(wide, external(1, true)));
    net.step(2, In::Redistribute(narrow, external(2, true)));
    net.run(SECOND * 20);
    net.step(3, In::Redistribute(host, external(3, true)));
    net.run(SECOND * 20);
    assert!(net.told[2].contains_key(&host), "the border router knows it");
    assert_eq!(net.told[0][&narrow].metric2, 2);
    assert!(!net.told[0].contains_key(&host));
}

#[test]
fn opaque_lsas_of_an_area_stay_in_it() {
    use ospf::lsa::{Key, LsaType, OpaqueType, RouterInformation, opaque_id};
    let mut net = chain(AreaKind::Normal);
    let id = opaque_id(OpaqueType::RouterInformation, 0);
    let mut said = RouterInformation::default();
    said.segment_routing.algorithms = vec![0];
    said.segment_routing.global = vec![ospf::lsa::Range { first: 16_000, count: 8_000 }];
    net.step(0, In::Opaque(1, id, said.write()));
    net.run(SECOND * 20);
    let key = Key { kind: LsaType::OpaqueArea, id, router: Net::id(0).into() };
    let heard = net.at(1).body(1, key).unwrap();
    assert_eq!(RouterInformation::read(heard).unwrap(), said);
    assert_eq!(net.at(1).body(0, key), None);
    net.step(0, In::WithdrawOpaque(1, id));
    net.run(SECOND * 20);
    assert_eq!(net.at(1).body(1, key), None);
}

/// A ring of four as the backbone, and behind each of its routers an area of three more.
fn areas(seed: u64) -> Net {
    let mut net = Net::new(seed, 16);
    net.areas.insert(0, AreaKind::Normal);
    for border in 0..4 {
        let kind = if net.below(2) == 0 { LinkType::Broadcast } else { LinkType::PointToPoint };
        let cost = net.below(9) as u16 + 1;
        net.link(kind, 0, &[(border, cost), ((border + 1) % 4, cost)]);
        let area = border as u32 + 1;
        net.areas.insert(area, AreaKind::Normal);
        for at in 0..3 {
            let router = 4 + border * 3 + at;
            let parent = if at == 0 { border } else { router - 1 - net.below(at) };
            let cost = net.below(9) as u16 + 1;
            net.link(LinkType::PointToPoint, area, &[(parent, cost), (router, cost)]);
        }
    }
    net
}

#[test]
fn worlds_of_five_areas_are_right_at_rest_whatever_happened() {
    for seed in 0..12 {
        let mut net = areas(seed);
        net.start_all();
        net.run(SECOND * 40);
        net.check(&format!("seed {seed}, at first"));
        for step in 0..5 {
            net.loss = 50;
            for _ in 0..3 {
                let (link, router) = (net.below(net.links.len()), net.below(net.routers.len()));
                match net.below(4) {
                    0 => net.routers[router] = None,
                    1 => net.start(router),
                    _ => net.links[link].is_up = !net.links[link].is_up,
                }
                net.run(SECOND * 2);
            }
            net.loss = 0;
            net.run(SECOND * 60);
            net.check(&format!("seed {seed}, step {step}"));
        }
    }
}
