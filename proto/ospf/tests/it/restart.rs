//! Graceful restart (RFC 3623): the helper, and a router that restarts itself.

use crate::net::{Net, SECOND};
use machine::Duration;
use ospf::lsa::{self, Grace, Key, LsaType, OpaqueType, opaque_id};
use ospf::packet::{PacketType, Writer};
use ospf::{Authentication, In, LinkType, Settings};

fn grace(net: &mut Net, period_s: u32, age: u16) {
    let id = opaque_id(OpaqueType::Grace, 0);
    let key = Key { kind: LsaType::OpaqueLink, id, router: Net::id(1).into() };
    let body = Grace { period_s, reason: 1, address: None }.write();
    let octets = lsa::make(key, 2, 1 + i32::from(age), &body).unwrap();
    let writer = Writer::new(PacketType::Update, Net::id(1).into(), 0);
    let octets = writer.update(&[(age, &octets)]).finish(&Authentication::Null, 0).unwrap();
    let (source, destination) = (Net::address(0, 1), ospf::ALL_SPF_ROUTERS);
    net.step(0, In::Packet { interface: 0, source, destination, octets });
}

/// A neighbour brings a router a grace LSA of somebody, by the first link.
fn brings(net: &mut Net, to: usize, from: usize, of: usize, sequence: i32) {
    let id = opaque_id(OpaqueType::Grace, 0);
    let key = Key { kind: LsaType::OpaqueLink, id, router: Net::id(of).into() };
    let address = Some(Net::address(0, of));
    let body = Grace { period_s: 30, reason: 1, address }.write();
    let octets = lsa::make(key, 2, sequence, &body).unwrap();
    let writer = Writer::new(PacketType::Update, Net::id(from).into(), 0);
    let octets = writer.update(&[(0, &octets)]).finish(&Authentication::Null, 0).unwrap();
    let (source, destination) = (Net::address(0, from), ospf::ALL_SPF_ROUTERS);
    net.step(to, In::Packet { interface: 0, source, destination, octets });
}

#[test]
fn patience_is_asked_for_by_who_restarts_and_not_by_a_neighbour_of_it() {
    for (from, is_borne) in [(0, false), (1, true), (3, true)] {
        let mut net = Net::new(8, 4);
        net.link(LinkType::Broadcast, 0, &[(0, 1), (1, 1), (2, 1), (3, 1)]);
        net.start_all();
        net.run(SECOND * 20);
        // The backup is adjacent to all, and the designated router floods.
        assert_eq!(net.at(2).interface(0).unwrap().0, ospf::InterfaceState::Backup);
        if from == 3 {
            brings(&mut net, 3, 1, 1, 7);
            net.run(SECOND);
        } else {
            brings(&mut net, 2, from, 1, 7);
        }
        net.routers[1] = None;
        net.run(SECOND * 10);
        let has = net.at(2).neighbours(0).iter().any(|it| it.0 == Net::address(0, 1));
        assert_eq!(has, is_borne, "{from}");
    }
}

#[test]
fn patience_that_is_asked_for_again_and_again_has_an_end() {
    let mut net = Net::new(8, 2);
    net.link(LinkType::PointToPoint, 0, &[(0, 1), (1, 1)]);
    let grace_max = SECOND * 35;
    net.start_with(0, Settings { grace_max, ..Net::settings(0) });
    net.start(1);
    net.run(SECOND * 20);
    net.routers[1] = None;
    for sequence in 0..5 {
        brings(&mut net, 0, 1, 1, 7 + sequence);
        net.run(SECOND * 10);
        let left = net.at(0).neighbours(0).len();
        assert_eq!(left, usize::from(sequence < 3), "after {} s", (sequence + 1) * 10);
    }
}

fn pair() -> Net {
    let mut net = Net::new(8, 3);
    net.link(LinkType::PointToPoint, 0, &[(0, 1), (1, 1)]);
    net.link(LinkType::PointToPoint, 0, &[(0, 1), (2, 1)]);
    net.start_all();
    net.run(SECOND * 20);
    net
}

#[test]
fn routes_over_a_neighbour_that_restarts_stay_until_its_time_is_over() {
    let mut net = pair();
    let before = net.told[2].clone();
    grace(&mut net, 60, 0);
    net.routers[1] = None;
    net.run(SECOND * 50);
    assert_eq!(net.told[2], before, "nobody else hears of it");
    net.run(SECOND * 20);
    assert_eq!(net.full(0), 0);
    net.check("its time is over");
}

#[test]
fn a_neighbour_without_grace_is_lost_after_its_dead_interval() {
    let mut net = pair();
    net.routers[1] = None;
    net.run(SECOND * 10);
    assert_eq!(net.full(0), 0);
    net.check("lost");
}

#[test]
fn a_neighbour_that_comes_back_in_time_was_never_away() {
    let mut net = pair();
    grace(&mut net, 60, 0);
    net.routers[1] = None;
    net.run(SECOND * 20);
    let runs = net.at(2).counts().runs;
    net.start(1);
    net.run(SECOND * 20);
    grace(&mut net, 60, 3_600);
    net.run(SECOND * 20);
    net.check("it is back");
    assert!(net.at(2).counts().runs <= runs + 2, "its own LSA came anew");
}

#[test]
fn a_change_of_the_network_ends_the_grace() {
    let mut net = pair();
    grace(&mut net, 600, 0);
    net.routers[1] = None;
    net.run(SECOND * 10);
    net.routers[2] = None;
    net.run(SECOND * 20);
    net.check("both are lost");
}

/// Three routers and a network with one more: router 1 restarts.
fn ring(kind: LinkType) -> Net {
    let mut net = Net::new(9, 4);
    for (one, two) in [(0, 1), (1, 2), (2, 0)] {
        net.link(kind, 0, &[(one, 1), (two, 1)]);
    }
    net.link(LinkType::Broadcast, 0, &[(0, 5), (1, 5), (3, 5)]);
    net.start_all();
    net.run(SECOND * 30);
    net.check("at first");
    net
}

#[test]
fn a_router_that_restarts_is_missed_by_nobody_planned_or_not() {
    for kind in [LinkType::PointToPoint, LinkType::Broadcast] {
        for is_planned in [true, false] {
            let mut net = ring(kind);
            let before = net.told.clone();
            if is_planned {
                net.step(1, In::RestartAhead(Duration::from_secs(60)));
                net.run(SECOND);
            }
            net.routers[1] = None;
            net.run(Duration::from_millis(1_500));
            let restart = Some(Duration::from_secs(60));
            net.start_with(1, Settings { restart, ..Net::settings(1) });
            for step in 0..300 {
                net.run(Duration::from_millis(100));
                for other in [0, 2, 3] {
                    let what = format!("{kind:?}, planned {is_planned}, step {step}");
                    assert_eq!(net.told[other], before[other], "{what}: router {other}");
                }
            }
            net.check(&format!("{kind:?}, planned {is_planned}: it is back"));
            assert_eq!(net.told[1], before[1]);
            let restarted = net.at(1).counts();
            assert!(restarted.originated > 0 && restarted.runs > 0, "{restarted:?}");
        }
    }
}

#[test]
fn a_router_whose_neighbours_went_meanwhile_ends_its_restart_with_its_time() {
    let mut net = ring(LinkType::PointToPoint);
    net.step(1, In::RestartAhead(Duration::from_secs(30)));
    net.run(SECOND);
    (net.routers[1], net.routers[2]) = (None, None);
    net.run(Duration::from_millis(500));
    let restart = Some(Duration::from_secs(30));
    net.start_with(1, Settings { restart, ..Net::settings(1) });
    net.run(SECOND * 25);
    assert!(net.told[1].is_empty(), "nothing is said yet");
    net.run(SECOND * 30);
    net.check("as it is now");
}
