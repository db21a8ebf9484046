//! Labels: told, kept, taken back; ordered and independent; requests; restart.

use crate::net::{Net, SECOND, settings};
use ldp::{Control, IMPLICIT_NULL, In, LabelHop, Out, Settings};
use machine::Duration;

fn chain(make: fn(usize) -> Settings) -> Net {
    let mut net = Net::new(3, 4);
    net.settings = make;
    (0..3).for_each(|it| net.link(it, it + 1));
    (0..4).for_each(|it| net.start(it));
    net
}

#[test]
fn a_label_leads_hop_by_hop_and_the_last_but_one_takes_it_away() {
    let mut net = chain(settings);
    net.route_all();
    net.run(SECOND * 20);
    net.check("a chain");
    let prefix = Net::prefix(3);
    let (first, hops) = net.forward[1][&prefix].clone();
    assert_eq!(net.forward[0][&prefix].1[0].label, Some(first));
    assert_eq!(hops[0].label, net.at(2).label(prefix));
    assert_eq!(net.forward[2][&prefix].1[0].label, Some(IMPLICIT_NULL));
}

#[test]
fn in_order_nothing_is_told_before_the_next_hop_has_told_it() {
    let ordered = |it| Settings { control: Control::Ordered, ..settings(it) };
    let mut net = chain(ordered);
    (0..3).for_each(|it| net.route(it));
    // The last one does not say that the prefix is its own yet.
    net.step(3, In::NoRoute(Net::prefix(3)));
    net.run(SECOND * 20);
    let prefix = Net::prefix(3);
    assert_eq!([0, 1, 2].map(|it| net.at(it).label(prefix)), [None; 3]);
    net.step(3, In::Route(prefix, Vec::new()));
    net.run(SECOND);
    assert!([0, 1, 2].iter().all(|it| net.at(*it).label(prefix).is_some()));
    net.step(3, In::NoRoute(prefix));
    net.run(SECOND);
    assert_eq!([0, 1, 2].map(|it| net.at(it).label(prefix)), [None; 3], "it is taken back");
    assert!(!net.forward[0].contains_key(&prefix));
}

#[test]
fn what_is_told_by_others_than_the_next_hop_is_kept_and_used_at_once() {
    let mut net = Net::new(3, 3);
    for (one, two) in [(0, 1), (1, 2), (0, 2)] {
        net.link(one, two);
    }
    (0..3).for_each(|it| net.start(it));
    net.route_all();
    net.run(SECOND * 20);
    let prefix = Net::prefix(2);
    let kept = net.at(0).remote(Net::id(1)).into_iter().find(|it| it.0 == prefix).unwrap().1;
    net.told[0].clear();
    let gateway = Net::address(0, 1);
    let hop = ldp::NextHop { interface: 0, gateway };
    net.step(0, In::Route(prefix, vec![hop]));
    let hops = vec![LabelHop { interface: 0, gateway, label: Some(kept) }];
    let said =
        net.told[0].iter().any(|it| matches!(it, Out::Forward { hops: h, .. } if *h == hops));
    assert!(said, "{:?}", net.told[0]);
}

#[test]
fn labels_that_are_given_back_are_given_again() {
    let few = |it| Settings { labels: (100, 107), ..settings(it) };
    let mut net = Net::new(3, 2);
    net.settings = few;
    net.link(0, 1);
    (0..2).for_each(|it| net.start(it));
    net.route_all();
    net.run(SECOND * 10);
    let hop = ldp::NextHop { interface: 0, gateway: Net::address(0, 1) };
    for round in 0..40u8 {
        let prefix = ldp::Prefix::new([10, 100, round, 0].into(), 24);
        net.step(0, In::Route(prefix, vec![hop]));
        net.run(Duration::from_millis(200));
        assert!(net.at(0).label(prefix).is_some_and(|it| (100..108).contains(&it)), "{round}");
        assert!(net.at(1).remote(Net::id(0)).iter().any(|it| it.0 == prefix));
        net.step(0, In::NoRoute(prefix));
        net.run(Duration::from_millis(200));
        assert!(net.at(1).remote(Net::id(0)).iter().all(|it| it.0 != prefix));
    }
}

#[test]
fn a_session_that_comes_back_in_time_takes_no_label_away() {
    let restarts = |it| Settings { restart: Some((SECOND * 20, SECOND * 20)), ..settings(it) };
    for (make, is_kept) in [(restarts as fn(usize) -> Settings, true), (settings, false)] {
        let mut net = chain(make);
        net.route_all();
        net.run(SECOND * 20);
        let prefix = Net::prefix(3);
        let before = net.forward[0][&prefix].clone();
        net.told[0].clear();
        // Its connections are closed, and made again.
        net.break_connections(1);
        net.run(Duration::from_millis(100));
        assert_eq!(net.forward[0][&prefix] == before, is_kept);
        net.run(SECOND * 30);
        net.check("it is back");
        assert_eq!(net.forward[0][&prefix], before);
        let others = net.told[0].iter().filter(|it| matches!(it, Out::Forward { .. })).count();
        assert_eq!(others == 0, is_kept, "{others}");
    }
}

#[test]
fn what_does_not_come_back_in_time_is_forgotten() {
    let restarts = |it| Settings { restart: Some((SECOND * 20, SECOND * 20)), ..settings(it) };
    let mut net = chain(restarts);
    net.route_all();
    net.run(SECOND * 20);
    let prefix = Net::prefix(3);
    net.stop(1);
    net.run(SECOND * 10);
    assert!(net.forward[0][&prefix].1[0].label.is_some(), "it is borne");
    net.run(SECOND * 30);
    assert!(net.forward[0][&prefix].1[0].label.is_none());
    assert_eq!(net.at(0).sessions().count(), 0);
}
