//! Adjacencies, who is designated, and what is said of them.

use crate::net::{Net, SECOND};
use isis::lsp::{LabelRange, PrefixSid, SegmentRouting};
use isis::{
    AdjacencyState, Advertised, AreaAddress, BadSetting, CircuitSettings, Discard, IMPLICIT_NULL,
    In, Instance, Level, Levels, LinkType, LspId, MetricStyle, NodeId, Prefix, Settings, Snpa,
    SystemId,
};
use machine::{Duration, Time};

#[test]
fn on_a_lan_the_highest_address_is_designated_and_the_next_one_follows_it() {
    let mut net = Net::new(3, 4);
    net.link(LinkType::Broadcast, &[(0, 1), (1, 1), (2, 1), (3, 1)]);
    net.start_all();
    net.run(SECOND * 20);
    let designated = |net: &Net, of: &[usize]| {
        let all: Vec<_> = of.iter().map(|it| net.at(*it).designated(1, Level::Two)).collect();
        let first = all[0].unwrap().0;
        assert!(all.iter().all(|it| it.is_some_and(|it| it.0 == first)), "{all:?}");
        assert_eq!(all.iter().flatten().filter(|it| it.1).count(), 1);
        first.system
    };
    assert_eq!(designated(&net, &[0, 1, 2, 3]), Net::id(3));
    net.systems[3] = None;
    net.run(SECOND * 20);
    assert_eq!(designated(&net, &[0, 1, 2]), Net::id(2));
    net.start(3);
    net.run(SECOND * 20);
    assert_eq!(designated(&net, &[0, 1, 2, 3]), Net::id(3), "it comes back (ISO 10589 §8.4.5)");
    net.check("four systems and a pseudonode");
}

#[test]
fn a_link_that_carries_one_way_only_makes_no_adjacency() {
    for kind in [LinkType::PointToPoint, LinkType::Broadcast] {
        let mut net = Net::new(3, 2);
        net.link(kind, &[(0, 1), (1, 1)]);
        net.keeps_pdus = true;
        net.start(1);
        net.run(SECOND * 3);
        let heard = net.sent.clone();
        net.links[0].is_up = false;
        net.start(0);
        for (source, _, octets) in heard {
            net.step(0, In::Pdu { circuit: 1, source, octets });
            net.run(Duration::from_millis(500));
        }
        let states = net.at(0).adjacencies(1);
        assert_eq!(states[0].2, AdjacencyState::Initializing, "{kind:?}");
        net.run(SECOND * 10);
        assert!(net.at(0).adjacencies(1).is_empty(), "{kind:?}: silence ends it");
    }
}

#[test]
fn what_is_known_to_be_gone_is_gone_at_once() {
    let mut net = Net::new(3, 3);
    net.link(LinkType::PointToPoint, &[(0, 1), (1, 1)]);
    net.link(LinkType::Broadcast, &[(1, 1), (2, 1)]);
    net.start_all();
    net.run(SECOND * 15);
    assert!(net.told[0].contains_key(&Net::prefix(1)));
    net.links[0].is_up = false;
    net.step(0, In::NeighbourDown(1, Net::id(1)));
    net.run(Duration::from_millis(100));
    assert!(!net.told[0].contains_key(&Net::prefix(1)), "BFD is faster than hellos");
}

#[test]
fn systems_of_other_areas_are_adjacent_in_level_2_only() {
    let mut net = Net::new(3, 2);
    net.roles = vec![(1, Levels::BOTH), (2, Levels::BOTH)];
    net.link(LinkType::PointToPoint, &[(0, 1), (1, 1)]);
    net.link(LinkType::Broadcast, &[(0, 1), (1, 1)]);
    net.start_all();
    net.run(SECOND * 10);
    for circuit in [1, 2] {
        let all = net.at(0).adjacencies(circuit);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].1, all[0].2), (Levels::TWO, AdjacencyState::Up));
    }
    assert!(net.at(0).discarded(Discard::Area) > 0);
    let mut net = Net::new(3, 2);
    net.roles = vec![(1, Levels::ONE), (2, Levels::ONE)];
    net.link(LinkType::PointToPoint, &[(0, 1), (1, 1)]);
    net.start_all();
    net.run(SECOND * 10);
    assert_eq!(net.up(0), 0);
}

#[test]
fn a_system_hears_itself_with_no_harm() {
    let mut net = Net::new(3, 2);
    net.link(LinkType::Broadcast, &[(0, 1), (1, 1)]);
    net.keeps_pdus = true;
    net.start_all();
    net.run(SECOND * 5);
    let own: Vec<_> = net.sent.iter().filter(|it| it.0 == Net::snpa(0, 0)).cloned().collect();
    let before = net.at(0).adjacencies(1);
    for (source, _, octets) in own {
        net.step(0, In::Pdu { circuit: 1, source, octets });
    }
    assert!(net.at(0).discarded(Discard::OwnSystem) > 0);
    assert_eq!(net.at(0).adjacencies(1), before);
}

#[test]
fn names_labels_and_sids_go_with_the_routes() {
    let mut net = Net::new(3, 3);
    net.link(LinkType::PointToPoint, &[(0, 1), (1, 1)]);
    net.link(LinkType::Broadcast, &[(1, 1), (2, 1)]);
    for system in 0..3 {
        let first = 16_000 + 1_000 * system as u32;
        let global = vec![LabelRange { first, count: 1_000 }];
        let said = SegmentRouting { is_ipv4: true, global, ..SegmentRouting::default() };
        let settings = Settings { segment_routing: Some(said), ..net.settings(system) };
        net.start_with(system, settings);
    }
    let lo = Prefix::new([10, 255, 0, 3].into(), 32);
    let sid = Some(PrefixSid { flags: 0x40, index: 7 });
    let levels = Levels::BOTH;
    let advertised = Advertised { metric: 0, is_external: false, tag: Some(5), sid, levels };
    net.step(2, In::Advertise(lo, advertised));
    net.run(SECOND * 20);
    let route = &net.told[0][&lo];
    assert_eq!((route.cost, route.tag, route.hops[0].label), (2, Some(5), Some(17_007)));
    assert_eq!(net.told[1][&lo].hops[0].label, Some(IMPLICIT_NULL), "the last but one pops");
    assert_eq!(net.at(0).hostname(Net::id(2)).as_deref(), Some("system-2"));
    net.step(1, In::AdjacencySid(1, Net::id(0), Some(15_001)));
    net.step(1, In::AdjacencySid(2, Net::id(2), Some(15_002)));
    net.run(SECOND * 5);
    let id = LspId { node: NodeId::of(Net::id(1)), fragment: 0 };
    let said = net.at(0).content(Level::Two, id).unwrap();
    let sids = said.neighbours.iter().flat_map(|it| &it.sids);
    let found: Vec<_> = sids.map(|it| (it.neighbour, it.sid, it.is_label)).collect();
    assert_eq!(found, [(None, 15_001, true), (Some(Net::id(2)), 15_002, true)]);
    net.step(2, In::WithdrawAdvertised(lo));
    net.run(SECOND * 5);
    assert!(!net.told[0].contains_key(&lo));
}

#[test]
fn who_does_not_speak_segment_routing_looks_up_no_labels() {
    let mut net = Net::new(3, 3);
    net.link(LinkType::PointToPoint, &[(0, 1), (1, 1)]);
    net.link(LinkType::PointToPoint, &[(1, 2), (2, 1)]);
    net.start(0);
    for system in 1..3 {
        let global = vec![LabelRange { first: 16_000, count: 1_000 }];
        let said = SegmentRouting { is_ipv4: true, global, ..SegmentRouting::default() };
        let settings = Settings { segment_routing: Some(said), ..net.settings(system) };
        net.start_with(system, settings);
    }
    let lo = Prefix::new([10, 255, 0, 3].into(), 32);
    let sid = Some(PrefixSid { flags: 0x40, index: 7 });
    let levels = Levels::BOTH;
    let advertised = Advertised { metric: 0, is_external: false, tag: None, sid, levels };
    net.step(2, In::Advertise(lo, advertised));
    net.run(SECOND * 20);
    let route = &net.told[0][&lo];
    assert_eq!((route.sid, route.hops[0].label), (sid, None));
    assert_eq!(net.told[1][&lo].hops[0].label, Some(IMPLICIT_NULL));
}

#[test]
fn a_circuit_with_more_systems_than_may_be_counts_them() {
    let mut net = Net::new(3, 2);
    net.link(LinkType::Broadcast, &[(0, 1), (1, 1)]);
    let mut settings = net.settings(0);
    settings.limits.adjacencies = 8;
    net.start_with(0, settings);
    net.start(1);
    net.keeps_pdus = true;
    net.run(SECOND * 5);
    let hello = net.sent.iter().find(|it| it.0 == Net::snpa(0, 1)).unwrap().2.clone();
    for number in 10..110 {
        let mut octets = hello.clone();
        octets[14] = number;
        let source = Snpa([2, 9, 9, 9, 9, number]);
        net.step(0, In::Pdu { circuit: 1, source, octets });
    }
    assert_eq!(net.at(0).adjacencies(1).len(), 8);
    assert_eq!(net.at(0).discarded(Discard::Adjacencies), 93);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let area = || AreaAddress::new(&[0x49, 0, 1]).unwrap();
    let good = || Settings::new(SystemId([1; 6]), area());
    let refused = |settings: Settings| Instance::new(settings, Time::ZERO).err();
    assert_eq!(refused(good()), None);
    assert_eq!(refused(Settings::new(SystemId([0; 6]), area())), Some(BadSetting::System));
    let many = Settings { areas: vec![area(); 4], ..good() };
    assert_eq!(refused(many), Some(BadSetting::Areas));
    assert_eq!(refused(Settings { paths: 0, ..good() }), Some(BadSetting::Paths));
    assert!(AreaAddress::new(&[]).is_none() && AreaAddress::new(&[1; 14]).is_none());
    let mut instance = Instance::new(good(), Time::ZERO).unwrap();
    let circuit = |index| CircuitSettings::new(index, Snpa([2, 0, 0, 0, 0, 1]));
    assert_eq!(instance.add_circuit(circuit(0)), Err(BadSetting::CircuitIndex));
    assert_eq!(instance.add_circuit(circuit(1)), Ok(()));
    assert_eq!(instance.add_circuit(circuit(1)), Err(BadSetting::CircuitTaken));
    let short = CircuitSettings { mtu: 1_000, ..circuit(2) };
    assert_eq!(instance.add_circuit(short), Err(BadSetting::Mtu));
    let narrow = Settings { style: MetricStyle::Narrow, ..good() };
    let mut narrow = Instance::new(narrow, Time::ZERO).unwrap();
    let far = CircuitSettings { metric: 64, ..circuit(1) };
    assert_eq!(narrow.add_circuit(far), Err(BadSetting::Metric));
}

/// The last hello that an end of the first link sent.
fn hello_of(net: &Net, end: usize) -> Vec<u8> {
    let is_hello = |octets: &[u8]| matches!(octets[4], 15..=17);
    let mut all = net.sent.iter().rev();
    all.find(|it| it.0 == Net::snpa(0, end) && is_hello(&it.2)).unwrap().2.clone()
}

#[test]
fn a_recorded_hello_from_another_address_elects_nobody_and_fills_no_table() {
    let mut net = Net::new(4, 3);
    net.link(LinkType::Broadcast, &[(0, 1), (1, 1), (2, 1)]);
    net.keeps_pdus = true;
    net.start_all();
    net.run(SECOND * 30);
    let designated = net.at(0).designated(1, Level::Two);
    assert!(designated.is_some());
    // The lowest address is designated by nobody.
    let recorded = hello_of(&net, 1);
    for number in 0..200 {
        let source = Snpa([0xfe, 0xff, 0xff, 0xff, 0xff, 255 - number]);
        net.step(0, In::Pdu { circuit: 1, source, octets: recorded.clone() });
    }
    assert_eq!(net.at(0).adjacencies(1).len(), 3);
    assert_eq!(net.at(0).discarded(Discard::Adjacencies), 199);
    for _ in 0..10 {
        net.run(SECOND);
        assert_eq!(net.at(0).designated(1, Level::Two), designated);
    }
}

#[test]
fn a_hello_holds_for_five_minutes_at_most() {
    let mut net = Net::new(4, 2);
    net.link(LinkType::Broadcast, &[(0, 1), (1, 1)]);
    net.keeps_pdus = true;
    net.start_all();
    net.run(SECOND * 30);
    let mut recorded = hello_of(&net, 1);
    recorded[15..17].copy_from_slice(&u16::MAX.to_be_bytes());
    net.systems[1] = None;
    net.run(SECOND);
    net.step(0, In::Pdu { circuit: 1, source: Net::snpa(0, 1), octets: recorded });
    net.run(SECOND * 299);
    assert_eq!(net.at(0).adjacencies(1).len(), 1);
    net.run(SECOND * 2);
    assert_eq!(net.at(0).adjacencies(1).len(), 0);
}

#[test]
fn who_restarts_without_end_is_told_everything_once_a_second() {
    let mut net = Net::new(4, 2);
    net.link(LinkType::PointToPoint, &[(0, 1), (1, 1)]);
    net.keeps_pdus = true;
    net.start_all();
    net.run(SECOND * 30);
    let own = hello_of(&net, 0);
    let mut asks = own.clone();
    let length = asks.len() as u16 + 3;
    asks[17..19].copy_from_slice(&length.to_be_bytes());
    asks.extend([211, 1, 1]);
    let told = |net: &Net| {
        let all = net.sent.iter().filter(|it| it.0 == Net::snpa(0, 1));
        all.filter(|it| it.2[4] == 25).count()
    };
    let before = told(&net);
    for _ in 0..100 {
        for octets in [&asks, &own] {
            let (circuit, source) = (1, Net::snpa(0, 0));
            net.step(1, In::Pdu { circuit, source, octets: octets.clone() });
            net.run(machine::Duration::from_millis(5));
        }
    }
    net.run(SECOND * 2);
    assert!((1..=3).contains(&(told(&net) - before)), "{}", told(&net) - before);
    net.run(SECOND * 20);
    net.check("all the same");
}
