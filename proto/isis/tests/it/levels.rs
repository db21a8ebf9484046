//! Two levels: areas, the way out of them, and what leaks between.

use crate::net::{Net, SECOND};
use isis::{In, Leaking, Level, Levels, LinkType, Prefix, RouteKind, Settings};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Area 1: systems 0 and 1, area 2: 2 and 3; between them 1 and 2 in level 2. System 4 joins area 1
/// and level 2 too.
fn areas() -> Net {
    let mut net = Net::new(3, 5);
    net.roles = vec![
        (1, Levels::ONE),
        (1, Levels::BOTH),
        (2, Levels::BOTH),
        (2, Levels::ONE),
        (1, Levels::BOTH),
    ];
    net.link(LinkType::PointToPoint, &[(0, 1), (1, 1)]);
    net.link(LinkType::PointToPoint, &[(1, 10), (2, 10)]);
    net.link(LinkType::Broadcast, &[(2, 1), (3, 1)]);
    net.link(LinkType::Broadcast, &[(3, 4)]);
    net.link(LinkType::PointToPoint, &[(0, 1), (4, 1)]);
    net
}

fn default() -> Prefix {
    Prefix::new(Ipv4Addr::UNSPECIFIED.into(), 0)
}

#[test]
fn an_area_reaches_others_by_who_is_attached_and_is_known_in_level_2() {
    let mut net = areas();
    net.start_all();
    net.run(SECOND * 30);
    let route = &net.told[0][&default()];
    assert_eq!((route.kind, route.cost), (RouteKind::Attached, 1));
    assert_eq!(route.hops[0].system, Net::id(1));
    let ipv6 = Prefix::new(Ipv6Addr::UNSPECIFIED.into(), 0);
    assert_eq!(net.told[0][&ipv6].kind, RouteKind::Attached);
    assert!(!net.told[0].contains_key(&Net::prefix(3)), "the other area stays outside");
    let route = &net.told[1][&Net::prefix(3)];
    assert_eq!((route.kind, route.cost), (RouteKind::Level2, 10 + 1 + 4));
    assert!(net.at(0).database(Level::Two, net.now).is_empty());
    assert!(!net.told[1].contains_key(&default()), "who is in level 2 knows more");
    // The link between the areas is cut: nobody is attached any more.
    net.links[1].is_up = false;
    net.run(SECOND * 30);
    assert!(!net.told[0].contains_key(&default()));
}

#[test]
fn what_leaks_is_known_in_the_area_and_does_not_come_back() {
    let mut net = areas();
    net.start_all();
    let within = Leaking::Within(vec![Net::prefix(0)]);
    for (system, leaking) in [(1, Leaking::All), (2, within)] {
        let settings = Settings { leaking, ..net.settings(system) };
        net.start_with(system, settings);
    }
    net.run(SECOND * 30);
    let route = &net.told[0][&Net::prefix(3)];
    assert_eq!((route.kind, route.cost), (RouteKind::Leaked, 1 + 10 + 1 + 4));
    let route = &net.told[3][&Net::prefix(0)];
    assert_eq!((route.kind, route.cost), (RouteKind::Leaked, 1 + 10 + 1));
    assert!(!net.told[3].contains_key(&Net::prefix(4)), "it is not among those that leak");
    // System 4 hears of it in level 1, and does not say it in level 2.
    assert_eq!(net.told[4][&Net::prefix(3)].kind, RouteKind::Leaked);
    let all = net.at(4).database(Level::Two, net.now);
    let own = all.iter().filter(|it| it.id.node.system == Net::id(4));
    let said = own.filter_map(|it| net.at(4).content(Level::Two, it.id));
    let reaches: Vec<_> = said.flat_map(|it| it.reaches).map(|it| it.prefix).collect();
    assert!(reaches.contains(&Net::prefix(0)) && !reaches.contains(&Net::prefix(3)), "{reaches:?}");
    // What is leaked goes when level 2 loses it.
    net.links[1].is_up = false;
    net.run(SECOND * 40);
    assert!(!net.told[0].contains_key(&Net::prefix(3)));
}

#[test]
fn the_way_in_the_area_is_preferred_and_both_levels_find_the_same() {
    let mut net = Net::new(3, 3);
    net.roles = vec![(1, Levels::BOTH); 3];
    net.link(LinkType::PointToPoint, &[(0, 50), (1, 50)]);
    net.link(LinkType::PointToPoint, &[(0, 1), (2, 1)]);
    net.link(LinkType::PointToPoint, &[(2, 1), (1, 1)]);
    net.link(LinkType::Broadcast, &[(1, 1)]);
    net.start_all();
    net.run(SECOND * 20);
    assert_eq!(net.told[0][&Net::prefix(3)].kind, RouteKind::Level1);
    net.check("both levels have it");
    net.step(2, In::Overload(true));
    net.overloaded.insert(2);
    net.run(SECOND * 20);
    net.check("the long way");
    assert_eq!(net.told[0][&Net::prefix(3)].cost, 51);
}
