//! Restart (RFC 8706): a system comes back with nothing that it knew, and nobody else notices.

use crate::net::{Net, SECOND};
use isis::{AdjacencyState, In, Level, Levels, LinkType, Settings};
use machine::Duration;

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
fn a_neighbour_that_does_not_help_takes_the_adjacency_down_and_up_again() {
    let mut net = Net::new(5, 2);
    net.link(LinkType::PointToPoint, &[(0, 10), (1, 10)]);
    net.link(LinkType::Broadcast, &[(1, 10)]);
    let settings = Settings { helps_restart: false, ..net.settings(1) };
    net.start(0);
    net.start_with(1, settings);
    net.run(SECOND * 20);
    net.systems[0] = None;
    net.run(SECOND * 2);
    let settings = Settings { restart: Some(SECOND * 10), ..net.settings(0) };
    net.start_with(0, settings);
    net.run(Duration::from_millis(10));
    assert_ne!(net.at(1).adjacencies(1)[0].2, AdjacencyState::Up);
    net.run(SECOND * 30);
    assert!(!net.at(0).is_restarting(), "its time is over");
    net.check("without help");
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
