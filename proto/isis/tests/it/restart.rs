//! Restart (RFC 8706): a system comes back with nothing that it knew, and nobody else notices.

use crate::net::{Net, SECOND};
use isis::{AdjacencyState, In, Level, Levels, LinkType, Settings};
use machine::Duration;

const LAN: LinkType = LinkType::Broadcast;

fn ring() -> Net {
    let mut net = Net::new(5, 5);
    net.roles = vec![(1, Levels::BOTH); 5];
    for system in 0..4 {
        let kind = if system % 2 == 0 { LinkType::PointToPoint } else { LinkType::Broadcast };
        net.link(kind, &[(system, 10), (system + 1, 10)]);
    }
    net.link(LinkType::Broadcast, &[(4, 10), (0, 10), (2, 10)]);
    net.start_all();
    net.run(SECOND * 30);
    net.check("before");
    net
}

#[test]
fn whoever_restarts_keeps_its_adjacencies_and_nobody_changes_a_route() {
    for system in 0..5 {
        let mut net = ring();
        let before = net.told.clone();
        net.step(system, In::RestartAhead(SECOND * 30));
        net.run(Duration::from_millis(300));
        net.systems[system] = None;
        net.run(SECOND * 2);
        let settings = Settings { restart: Some(SECOND * 60), ..net.settings(system) };
        net.start_with(system, settings);
        let mut is_through = false;
        for _ in 0..200 {
            net.run(Duration::from_millis(100));
            is_through |= !net.at(system).is_restarting();
            for other in (0..5).filter(|other| *other != system) {
                assert_eq!(net.told[other], before[other], "{system} restarts, {other} changes");
            }
        }
        assert!(is_through, "{system} is through before its time is over");
        assert_eq!(net.told, before);
        net.check("afterwards");
    }
}

#[test]
fn a_neighbour_that_does_not_help_does_not_notice() {
    for kind in [LinkType::PointToPoint, LinkType::Broadcast] {
        for restarts in 0..3 {
            let mut net = Net::new(5, 3);
            net.link(kind, &[(0, 10), (1, 10), (2, 10)][..if kind == LAN { 3 } else { 2 }]);
            net.link(LinkType::Broadcast, &[(1, 10), (2, 10)]);
            net.link(LinkType::Broadcast, &[(2, 10)]);
            let unhelpful = |net: &Net, it| Settings { helps_restart: false, ..net.settings(it) };
            for system in 0..3 {
                let settings = unhelpful(&net, system);
                net.start_with(system, settings);
            }
            net.run(SECOND * 60);
            net.check("before");
            let before = net.told.clone();
            net.systems[restarts] = None;
            net.run(SECOND * 2);
            let restart = Some(SECOND * 60);
            let settings = Settings { restart, ..unhelpful(&net, restarts) };
            net.start_with(restarts, settings);
            for _ in 0..300 {
                net.run(Duration::from_millis(100));
                for other in (0..3).filter(|other| *other != restarts) {
                    assert_eq!(net.told[other], before[other], "{kind:?}: {restarts} restarts");
                    let states = net.at(other).adjacencies(1);
                    let are_up = states.iter().all(|it| it.2 == AdjacencyState::Up);
                    assert!(are_up, "{kind:?}: {restarts} restarts, {other}: {states:?}");
                }
            }
            assert!(!net.at(restarts).is_restarting(), "{kind:?}: {restarts} is through");
            assert_eq!(net.told, before);
        }
    }
}

#[test]
fn whoever_does_not_come_back_is_gone_when_its_time_is_over() {
    let mut net = ring();
    net.step(1, In::RestartAhead(SECOND * 10));
    net.run(Duration::from_millis(300));
    net.systems[1] = None;
    net.run(SECOND * 8);
    assert!(net.at(0).adjacencies(1).iter().all(|it| it.2 == AdjacencyState::Up), "it is borne");
    net.run(SECOND * 30);
    net.check("it is gone");
    assert!(net.at(0).adjacencies(1).is_empty());
    assert!(net.at(0).database(Level::Two, net.now).len() > 3);
}
