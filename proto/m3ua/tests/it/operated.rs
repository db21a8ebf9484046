//! What a node does to its process while it runs: modes that change, ASPs that are taken out, MSUs
//! that lead nowhere, and what can be seen.

use crate::world::{Node, World, msu, parameters, pc};
use m3ua::codec::{Affected, ServerState, TrafficMode, UserCause};
use m3ua::{Availability, In, Indication, ServerId, ServerSettings, Side};

/// Two ASPs of one Application Server, both active at one SGP.
fn three(mode: TrafficMode) -> (World, [Node; 3], [usize; 2], ServerId) {
    let mut world = World::new(1);
    let nodes = ["asp1", "asp2", "sgp"].map(|name| world.node(name, parameters()));
    let there = world.server(nodes[2], Side::There, 1, 2);
    let settings = settings_of(&world, nodes[2], there);
    let settings = ServerSettings { mode: Some(mode), ..settings };
    world.act(nodes[2], |process, now, out| process.change_server(now, there, &settings, out));
    let links = [0, 1].map(|number| {
        let here = world.server(nodes[number], Side::Here, 1, 2);
        let link = world.asp_to_sgp(nodes[number], nodes[2], number as u32 + 1);
        world.assign(link, 0, here);
        world.assign(link, 1, there);
        world.up(link);
        world.run_ms(500);
        link
    });
    world.forget();
    (world, nodes, links, there)
}

fn settings_of(world: &World, node: Node, server: ServerId) -> ServerSettings {
    world.nodes[node].server_status(server).unwrap().settings.clone()
}

#[test]
fn when_override_comes_the_first_of_the_active_keeps_the_traffic_and_the_others_hear_so() {
    let (mut world, [asp1, asp2, sgp], _, there) = three(TrafficMode::Loadshare);
    let settings = settings_of(&world, sgp, there);
    let settings = ServerSettings { mode: Some(TrafficMode::Override), ..settings };
    world.act(sgp, |process, now, out| process.change_server(now, there, &settings, out));
    world.expect(&["sgp > asp2 NTFY Alternate ASP Active RC=1"]);
    (0..16).for_each(|sls| world.step(sgp, In::Transfer(msu(1, 2, sls, b"x"))));
    world.run_ms(100);
    assert_eq!((world.payloads(asp1).len(), world.payloads(asp2).len()), (16, 0));
    let status = world.nodes[sgp].server_status(there).unwrap();
    assert_eq!((status.state, status.mode), (ServerState::Active, Some(TrafficMode::Override)));
}

#[test]
fn an_asp_that_is_taken_out_hears_that_it_is_inactive_and_the_other_has_its_flows() {
    let (mut world, [_, asp2, sgp], links, there) = three(TrafficMode::Loadshare);
    let peer = world.peer(links[0], 1);
    world.act(sgp, |process, now, out| process.unassign(now, there, peer, out));
    world.run_ms(100);
    assert_eq!(world.lines()[0], "sgp > asp1 ASPIA ACK RC=1");
    (0..16).for_each(|sls| world.step(sgp, In::Transfer(msu(1, 2, sls, b"x"))));
    world.run_ms(100);
    assert_eq!(world.payloads(asp2).len(), 16);
    assert!(!world.nodes[sgp].is_member(peer, there));
}

#[test]
fn the_asp_whose_msu_leads_nowhere_hears_so_and_no_other() {
    let (mut world, [asp1, _, sgp], links, _) = three(TrafficMode::Loadshare);
    let peer = world.peer(links[0], 1);
    world.step(sgp, In::Unreachable(peer, None, pc(9), None));
    let user = UserCause { cause: 1, user: 3 };
    world.step(sgp, In::Unreachable(peer, None, pc(9), Some(user)));
    world.expect(&["sgp > asp1 DUNA RC=1", "sgp > asp1 DUPU RC=1"]);
    let at = Affected::one(pc(9));
    assert!(world.told(asp1).iter().any(|it| matches!(it, Indication::Pause(_, it) if *it == at)));
    let odd = world.nodes[asp1].destinations(8);
    assert_eq!(odd.len(), 1);
    assert_eq!((odd[0].affected, odd[0].availability), (at, Some(Availability::Unavailable)));
    assert!(world.nodes[sgp].destinations(8).is_empty());
    world.step(sgp, In::Transfer(msu(1, 77, 0, b"x")));
    assert_eq!(world.told(sgp), [&Indication::Unroutable(None, pc(77))]);
}

#[test]
fn what_is_served_is_seen_by_destination() {
    let (mut world, [.., sgp], links, there) = three(TrafficMode::Loadshare);
    let status = world.nodes[sgp].server_status(there).unwrap();
    assert!(status.members.iter().all(|member| member.is_active && !member.is_registered));
    let peer = world.nodes[sgp].peer_status(world.peer(links[1], 1)).unwrap();
    assert!(peer.is_associated && peer.is_up_here && peer.asp_identifier == Some(2));
    assert_eq!(world.nodes[sgp].served(None, Affected::ALL), [(pc(2), 1, 1)]);
    links.iter().for_each(|link| world.cut(*link));
    world.run_ms(60_000);
    assert_eq!(world.nodes[sgp].served(None, Affected::ALL), [(pc(2), 0, 1)]);
    assert_eq!(world.nodes[sgp].server_for(&msu(1, 2, 0, b"x")), Some(there));
}
