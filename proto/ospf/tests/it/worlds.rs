//! Worlds by seed: networks of 3 to 20 routers whose links and routers come and go.

use crate::net::{Net, SECOND};
use machine::Duration;
use ospf::{In, LinkType, Protection, RouterSegment};

fn world(seed: u64) -> Net {
    let count = 3 + (seed % 18) as usize;
    let mut net = Net::new(seed, count);
    for router in 1..count {
        let other = net.below(router);
        let costs = [net.below(20) as u16 + 1, net.below(20) as u16 + 1];
        let kind = if net.below(3) == 0 { LinkType::Broadcast } else { LinkType::PointToPoint };
        net.link(kind, 0, &[(router, costs[0]), (other, costs[1])]);
    }
    for _ in 0..count / 2 {
        let (one, two) = (net.below(count), net.below(count));
        let cost = net.below(20) as u16 + 1;
        if one != two {
            net.link(LinkType::PointToPoint, 0, &[(one, cost), (two, cost)]);
        }
    }
    if count > 4 {
        let first = net.below(count - 3);
        let ends: Vec<(usize, u16)> = (first..first + 4).map(|it| (it, 5)).collect();
        net.link(LinkType::Broadcast, 0, &ends);
    }
    net
}

#[test]
fn whatever_happened_databases_are_the_same_at_rest_and_routes_are_shortest() {
    for seed in 0..36 {
        let mut net = world(seed);
        net.start_all();
        net.run(SECOND * 30);
        net.check(&format!("seed {seed}, at first"));
        for step in 0..6 {
            net.loss = 100;
            for _ in 0..3 {
                let (link, router) = (net.below(net.links.len()), net.below(net.routers.len()));
                match net.below(4) {
                    0 => net.routers[router] = None,
                    1 => net.start(router),
                    _ => net.links[link].is_up = !net.links[link].is_up,
                }
                let pause = net.below(6_000) as u64;
                net.run(Duration::from_millis(pause));
            }
            net.loss = 0;
            net.run(SECOND * 40);
            net.check(&format!("seed {seed}, step {step}"));
        }
    }
}

#[test]
fn after_hours_everything_has_been_said_again_and_nothing_changed() {
    let mut net = world(6);
    net.start_all();
    net.run(SECOND * 30);
    let before = net.told.clone();
    net.run(SECOND * 3 * 3_600);
    net.check("three hours later");
    assert_eq!(before, net.told);
    let headers = net.at(0).headers(0, net.now);
    assert!(headers.iter().all(|it| it.age <= 1_810), "each is refreshed in half an hour");
}

#[test]
fn a_change_far_away_is_followed_by_an_update_of_the_tree_not_a_full_run() {
    let mut net = Net::new(1, 12);
    for router in 0..12 {
        net.link(LinkType::PointToPoint, 0, &[(router, 10), ((router + 1) % 12, 10)]);
    }
    net.start_all();
    net.run(SECOND * 30);
    let [full, partial] = net.at(0).runs(0).unwrap();
    net.links[6].is_up = false;
    net.run(SECOND * 20);
    net.check("one cut");
    let [full_now, partial_now] = net.at(0).runs(0).unwrap();
    assert!(full_now == full && partial_now > partial, "{full} {full_now} {partial_now}");
}

#[test]
fn in_a_ring_each_router_is_repaired_by_the_other_side() {
    let mut net = Net::new(1, 6);
    for router in 0..6 {
        let kind = if router % 2 == 0 { LinkType::PointToPoint } else { LinkType::Broadcast };
        net.link(kind, 0, &[(router, 10), ((router + 1) % 6, 10)]);
    }
    net.start_all();
    net.run(SECOND * 30);
    let id = |router: usize| u32::from(Net::id(router));
    let found = net.at(0).repairs(0, Protection::Link);
    let routers: Vec<u32> = found.iter().map(|it| it.router).collect();
    assert_eq!(routers, [id(1), id(2), id(3)], "what is reached by the first link");
    for repair in &found {
        assert_eq!((repair.hop.interface, repair.hop.gateway), (5, Some(Net::address(5, 0))));
        // Router 3 is equally far both ways: from router 5 it is reached without the link.
        let wanted = if repair.router == id(3) { vec![] } else { vec![RouterSegment::Node(id(3))] };
        assert_eq!(repair.segments, wanted, "{repair:?}");
    }
    let found = net.at(0).repairs(0, Protection::Router(id(1)));
    let routers: Vec<u32> = found.iter().map(|it| it.router).collect();
    assert_eq!(routers, [id(2), id(3)], "the router itself cannot be repaired");
}

#[test]
fn a_stub_router_is_reached_and_not_passed_through() {
    let mut net = Net::new(1, 4);
    for (one, two, cost) in [(0, 1, 1), (1, 3, 1), (0, 2, 10), (2, 3, 10)] {
        net.link(LinkType::PointToPoint, 0, &[(one, cost), (two, cost)]);
    }
    net.start_all();
    net.run(SECOND * 20);
    let gateway = |net: &Net| net.told[0][&Net::prefix(3)].hops[0].interface;
    assert_eq!(net.told[0][&Net::prefix(3)].cost, 12);
    assert_eq!(gateway(&net), 0, "by router 1 and 3");
    net.step(1, In::StubRouter(true));
    net.run(SECOND * 20);
    assert_eq!((net.told[0][&Net::prefix(3)].cost, gateway(&net)), (20, 2));
    assert_eq!(net.told[0][&Net::prefix(1)].cost, 2, "its own link is reached by it");
    net.step(1, In::StubRouter(false));
    net.run(SECOND * 20);
    net.check("as before");
}
