//! Failover: no request is lost, none is answered twice, and what may have been answered has the T
//! bit (RFC 6733 §5.5.4).

use crate::world::{SECOND, Service, World, settings};
use diameter::rows::sh;
use diameter::{Metric, PeerId};
use machine::Duration;
use std::collections::BTreeMap;

/// A client of two servers, one rather than the other.
fn three(seed: u64) -> (World, [PeerId; 2]) {
    let mut world = World::new(seed);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let servers = ["hss1", "hss2"].map(|it| world.add(settings(it, "home", &[sh::SH.id], false)));
    let ways = servers.map(|server| world.peer(client, server, true));
    for server in servers {
        world.peer(server, client, false);
    }
    world.route(client, Some("home"), &[(ways[0], 0), (ways[1], 1)]);
    world.pass(SECOND);
    (world, ways)
}

#[test]
fn what_a_lost_peer_has_is_sent_to_the_other_one_with_the_t_bit() {
    let (mut world, _) = three(1);
    world.sites[1].service = Service::Keeps;
    for token in 0..10 {
        world.ask(0, token, "home", None);
    }
    world.pass(SECOND / 10);
    assert_eq!(world.sites[1].seen.len(), 10);
    world.absent.insert(1);
    world.cut((0, 1));
    world.pass(SECOND);
    assert_eq!(world.ended(0), (0..10).map(|it| (it, true)).collect::<Vec<_>>());
    assert!(world.sites[2].seen.iter().all(|it| it.1), "{:?}", world.sites[2].seen);
    assert_eq!(world.sites[0].node.metrics().read(Metric::FailedOver), 10);
}

#[test]
fn a_suspect_that_answers_late_does_not_answer_twice() {
    let (mut world, ways) = three(2);
    world.sites[1].service = Service::Keeps;
    world.sites[0].ends.clear();
    world.pass(SECOND * 20);
    world.silent.insert(1);
    world.pass(SECOND * 30);
    // Its watchdog is under way: a request goes there, and is not heard.
    let before = world.watchdog(0, ways[0]);
    assert_eq!(before, "OKAY");
    world.ask(0, 1, "home", None);
    world.pass(SECOND * 9);
    world.silent.clear();
    world.pass(SECOND * 60);
    assert_eq!(world.ended(0).len(), 1);
}

#[test]
fn without_another_peer_requests_wait_for_the_one_to_come_back() {
    let mut world = World::new(3);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let server = world.add(settings("hss", "home", &[sh::SH.id], false));
    let way = world.peer(client, server, true);
    world.peer(server, client, false);
    world.route(client, None, &[(way, 0)]);
    world.pass(SECOND);
    world.sites[server].service = Service::Keeps;
    world.ask(client, 1, "home", None);
    world.pass(Duration::from_millis(10));
    world.cut((client, server));
    world.pass(Duration::from_millis(10));
    world.sites[server].service = Service::Answers;
    world.sites[server].kept.clear();
    world.pass(SECOND * 4);
    // The server has seen it, so that its application is not asked again: the answer is that of
    // the one under way, when its time is over.
    world.pass(SECOND * 12);
    assert_eq!(world.sites[server].seen, [(String::from("s;1"), false)]);
    assert_eq!(world.ended(client).len(), 1);
    assert!(world.wire.iter().any(|(at, it)| *at == client && it[4] & 0x10 != 0));
}

/// Connections break, peers fall silent and go at every step: each request ends once, an
/// application sees each at most once, and nothing is left.
fn run(seed: u64) {
    let (mut world, _) = three(seed);
    let mut next = 0;
    for _ in 0..120 {
        let dice = (world.dice)();
        let server = 1 + (dice >> 8) as usize % 2;
        match dice % 16 {
            0 => world.cut((0, server)),
            1 => drop(world.silent.insert(server)),
            2 | 3 => world.silent.clear(),
            4 => drop(world.absent.insert(server)),
            5 | 6 => world.absent.clear(),
            7 => world.sites[server].service = Service::Keeps,
            8 => {
                world.sites[server].service = Service::Answers;
                world.answer_kept(server);
            }
            _ => {
                world.ask(0, next, "home", None);
                next += 1;
            }
        }
        let time = [1, 3, 500, 9_000][(dice >> 20) as usize % 4];
        world.pass(Duration::from_millis(time));
    }
    world.silent.clear();
    world.absent.clear();
    for server in [1, 2] {
        world.sites[server].service = Service::Answers;
        world.answer_kept(server);
    }
    world.pass(SECOND * 200);
    let tokens: Vec<u64> = world.ended(0).iter().map(|it| it.0).collect();
    assert_eq!(tokens, (0..next).collect::<Vec<_>>(), "seed {seed}: each ends once");
    for server in [1, 2] {
        let mut seen = BTreeMap::new();
        for (session, again) in &world.sites[server].seen {
            let before = seen.insert(session, again);
            assert!(before.is_none(), "seed {seed}: {session} twice");
        }
    }
    let first: BTreeMap<_, _> = world.sites[1].seen.iter().map(|it| (it.0.clone(), it.1)).collect();
    for (session, again) in &world.sites[2].seen {
        if let Some(before) = first.get(session) {
            assert!(*again || *before, "seed {seed}: {session} without the T bit");
        }
    }
    let status = world.sites[0].node.status();
    assert_eq!((status.requests, status.requests_octets), (0, 0), "seed {seed}");
    world.ask(0, next, "home", None);
    world.pass(SECOND);
    assert!(world.ended(0).last().is_some_and(|it| it.1), "seed {seed}: it works again");
}

#[test]
fn worlds_of_three_nodes_by_seed() {
    (100..500).for_each(run);
}

#[test]
fn the_same_seed_makes_the_same_messages() {
    let wire = |seed| {
        let (mut world, _) = three(seed);
        (0..5).for_each(|token| world.ask(0, token, "home", None));
        world.pass(SECOND * 100);
        world.wire
    };
    assert_eq!(wire(1), wire(1));
}
