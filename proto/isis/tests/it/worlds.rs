//! Worlds by seed: networks of 3 to 16 systems whose links and systems come and go.

use crate::net::{Net, SECOND};
use isis::{In, Level, Levels, LinkType, MetricStyle, Protection, SystemSegment};
use machine::Duration;

fn world(seed: u64) -> Net {
    let count = 3 + (seed % 14) as usize;
    let mut net = Net::new(seed, count);
    net.style = [MetricStyle::Wide, MetricStyle::Transition][(seed / 3 % 2) as usize];
    let levels = [Levels::TWO, Levels::ONE, Levels::BOTH][(seed % 3) as usize];
    net.roles = vec![(1, levels); count];
    for system in 1..count {
        let other = net.below(system);
        let costs = [net.below(20) as u32 + 1, net.below(20) as u32 + 1];
        let kind = if net.below(3) == 0 { LinkType::Broadcast } else { LinkType::PointToPoint };
        net.link(kind, &[(system, costs[0]), (other, costs[1])]);
    }
    for _ in 0..count / 2 {
        let (one, two) = (net.below(count), net.below(count));
        let cost = net.below(20) as u32 + 1;
        if one != two {
            net.link(LinkType::PointToPoint, &[(one, cost), (two, cost)]);
        }
    }
    if count > 4 {
        let first = net.below(count - 3);
        let ends: Vec<(usize, u32)> = (first..first + 4).map(|it| (it, 5)).collect();
        net.link(LinkType::Broadcast, &ends);
    }
    net
}

#[test]
fn whatever_happened_databases_are_the_same_at_rest_and_routes_are_shortest() {
    for seed in 0..12 {
        let mut net = world(seed);
        net.start_all();
        net.run(SECOND * 30);
        net.check(&format!("seed {seed}, at first"));
        for step in 0..4 {
            net.loss = 100;
            for _ in 0..3 {
                let (link, system) = (net.below(net.links.len()), net.below(net.systems.len()));
                match net.below(4) {
                    0 => net.systems[system] = None,
                    1 => net.start(system),
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
fn after_half_an_hour_everything_has_been_said_again_and_nothing_changed() {
    let mut net = world(3);
    net.start_all();
    net.run(SECOND * 30);
    let before = net.told.clone();
    net.run(SECOND * 2_000);
    net.check("half an hour later");
    assert_eq!(before, net.told);
    let database = net.at(0).database(Level::Two, net.now);
    assert!(database.iter().all(|it| it.lifetime_s > 290 && it.sequence > 2), "{database:?}");
}

#[test]
fn a_change_far_away_is_followed_by_an_update_of_the_tree_not_a_full_run() {
    let mut net = Net::new(1, 12);
    for system in 0..12 {
        net.link(LinkType::PointToPoint, &[(system, 10), ((system + 1) % 12, 10)]);
    }
    net.start_all();
    net.run(SECOND * 30);
    let [full, partial] = net.at(0).runs(Level::Two);
    net.links[6].is_up = false;
    net.run(SECOND * 20);
    net.check("one cut");
    let [full_now, partial_now] = net.at(0).runs(Level::Two);
    assert!(full_now == full && partial_now > partial, "{full} {full_now} {partial_now}");
}

#[test]
fn in_a_ring_each_system_is_repaired_by_the_other_side() {
    let mut net = Net::new(1, 6);
    for system in 0..6 {
        let kind = if system % 2 == 0 { LinkType::PointToPoint } else { LinkType::Broadcast };
        net.link(kind, &[(system, 10), ((system + 1) % 6, 10)]);
    }
    net.start_all();
    net.run(SECOND * 30);
    let mut found = net.at(0).repairs(Level::Two, 1, Protection::Link);
    found.sort_by_key(|it| it.system);
    let systems: Vec<_> = found.iter().map(|it| it.system).collect();
    let wanted: Vec<_> = [1, 2, 3].map(Net::id).into();
    assert_eq!(systems, wanted, "what is reached by the first link");
    for repair in &found {
        assert_eq!((repair.hop.circuit, repair.hop.system), (6, Net::id(5)));
        // System 3 is equally far both ways: from system 5 it is reached without the link.
        let is_far = repair.system == Net::id(3);
        let wanted = if is_far { vec![] } else { vec![SystemSegment::Node(Net::id(3))] };
        assert_eq!(repair.segments, wanted, "{repair:?}");
    }
    let found = net.at(0).repairs(Level::Two, 1, Protection::System(Net::id(1)));
    let mut systems: Vec<_> = found.iter().map(|it| it.system).collect();
    systems.sort_unstable();
    assert_eq!(systems, [Net::id(2), Net::id(3)], "the system itself cannot be repaired");
}

#[test]
fn of_two_links_between_two_systems_both_are_taken_and_one_is_left() {
    let mut net = Net::new(1, 3);
    net.link(LinkType::PointToPoint, &[(0, 10), (1, 10)]);
    net.link(LinkType::PointToPoint, &[(0, 10), (1, 10)]);
    net.link(LinkType::Broadcast, &[(1, 10), (2, 10)]);
    net.start_all();
    net.run(SECOND * 30);
    net.check("two links");
    let circuits = |net: &Net| {
        let hops = &net.told[0][&Net::prefix(2)].hops;
        hops.iter().map(|hop| hop.circuit).collect::<Vec<_>>()
    };
    assert_eq!(circuits(&net), [1, 2]);
    net.links[0].is_up = false;
    net.run(SECOND * 10);
    assert_eq!(circuits(&net), [2]);
}

#[test]
fn an_overloaded_system_is_reached_and_not_passed_through() {
    let mut net = Net::new(1, 4);
    for (one, two, cost) in [(0, 1, 1), (1, 3, 1), (0, 2, 10), (2, 3, 10)] {
        net.link(LinkType::PointToPoint, &[(one, cost), (two, cost)]);
    }
    net.link(LinkType::Broadcast, &[(3, 1)]);
    net.start_all();
    net.run(SECOND * 20);
    net.check("nothing is overloaded");
    let way = |net: &Net| {
        let route = &net.told[0][&Net::prefix(4)];
        (route.cost, route.hops[0].circuit)
    };
    assert_eq!(way(&net), (3, 1), "by system 1");
    net.overloaded.insert(1);
    net.step(1, In::Overload(true));
    net.run(SECOND * 20);
    net.check("system 1 is overloaded");
    assert_eq!(way(&net), (21, 3));
    net.overloaded.clear();
    net.step(1, In::Overload(false));
    net.run(SECOND * 20);
    net.check("as before");
}
