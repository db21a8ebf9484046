//! RFC 4666 §4.3.4.1, §4.5.3, §4.6: what is not in the examples of §5.

use crate::world::{Node, World, msu, parameters, pc};
use m3ua::codec::{Affected, MessageType, RoutingContext, Tag, Writer};
use m3ua::{Cause, In, Indication, Parameters, PeerSettings, Role, Side};
use machine::Duration;

/// One ASP that is active at one SGP, with the link between them.
fn pair(parameters: Parameters) -> (World, Node, Node, usize) {
    let mut world = World::new(1);
    let asp = world.node("asp", parameters);
    let sgp = world.node("sgp", Parameters::rfc4666());
    let here = world.server(asp, Side::Here, 1, 2);
    let there = world.server(sgp, Side::There, 1, 2);
    let link = world.asp_to_sgp(asp, sgp, 7);
    world.assign(link, 0, here);
    world.assign(link, 1, there);
    world.up(link);
    world.run_ms(500);
    world.forget();
    (world, asp, sgp, link)
}

fn one(number: u32) -> Affected {
    Affected::one(pc(number))
}

/// A message from the other end of the link to side `side`.
fn from_peer(world: &mut World, link: usize, side: usize, kind: MessageType) {
    let mut bytes = Vec::new();
    Writer::begin(&mut bytes, kind).end();
    let end = world.links[link].ends[side];
    world.step(end.node, In::Message(end.peer, 0, bytes.into()));
}

#[test]
fn an_asp_up_ack_that_nobody_asked_for_is_an_error_when_the_asp_was_active() {
    let (mut world, asp, _, link) = pair(parameters());
    from_peer(&mut world, link, 0, MessageType::AspUpAck);
    assert!(world.told(asp).iter().any(|it| matches!(it, Indication::AspActive(_, _, false))));
    world.expect(&[
        "asp > sgp ASPAC RC=1",
        "asp > sgp ERR Unexpected Message",
        "sgp > asp ASPAC ACK RC=1",
    ]);
}

#[test]
fn while_mtp3_restarts_nothing_can_be_reached_and_afterwards_what_was_said_meanwhile_holds() {
    let (mut world, asp, sgp, link) = pair(parameters());
    world.step(sgp, In::Pause(None, one(10)));
    world.run_ms(100);
    world.forget();
    world.step(sgp, In::RestartBegins(None));
    world.expect(&["sgp > asp DUNA RC=1"]);
    assert!(world.told(asp).iter().any(|it| matches!(it, Indication::Pause(None, _))));
    world.forget();
    for input in [
        In::Resume(None, one(10)),
        In::Restrict(None, one(11)),
        In::Pause(None, one(12)),
        In::Status(None, one(13), Cause::Congestion(Some(2))),
    ] {
        world.step(sgp, input);
    }
    world.expect(&[]);
    // Whoever asks, or sends all the same, hears that it is away.
    let peer = world.peer(link, 0);
    world.step(asp, In::Audit(peer, None, vec![one(10)]));
    world.expect(&["asp > sgp DAUD RC=1", "sgp > asp DUNA RC=1"]);
    world.step(sgp, In::RestartEnds(None));
    world.expect(&[
        "sgp > asp DAVA RC=1",
        "sgp > asp DAVA RC=1",
        "sgp > asp DRST RC=1",
        "sgp > asp DUNA RC=1",
        "sgp > asp SCON RC=1",
    ]);
    world.forget();
    for (number, arrives) in [(10, true), (11, true), (12, false), (14, true)] {
        let before = world.payloads(sgp).len();
        world.step(asp, In::Transfer(msu(2, number, 0, b"x")));
        world.run_ms(100);
        assert_eq!(world.payloads(sgp).len() > before, arrives, "point code {number}");
    }
}

#[test]
fn an_asp_asks_again_for_what_is_not_available_until_it_is() {
    let set = Parameters { t_audit: Some(Duration::from_secs(1)), ..parameters() };
    let (mut world, _, sgp, _) = pair(set);
    world.run_ms(3_000);
    world.expect(&[]);
    world.step(sgp, In::Pause(None, one(10)));
    world.run_ms(900);
    assert_eq!(world.lines(), ["sgp > asp DUNA RC=1"]);
    world.run_ms(1_000);
    assert_eq!(world.lines(), ["asp > sgp DAUD RC=1", "sgp > asp DUNA RC=1"]);
    world.step(sgp, In::Resume(None, one(10)));
    world.run_ms(5_000);
    assert_eq!(world.lines(), ["sgp > asp DAVA RC=1"]);
}

#[test]
fn two_ipsps_of_a_single_exchange_that_both_ask_come_up() {
    let mut world = World::new(1);
    let nodes = ["a", "b"].map(|name| world.node(name, parameters()));
    let settings = || PeerSettings::new(Role::IpspClient);
    let link = world.link((nodes[0], settings()), (nodes[1], settings()));
    for (side, node) in nodes.into_iter().enumerate() {
        let server = world.server(node, Side::There, 9, 101 - side as u32);
        world.assign(link, side, server);
    }
    world.up(link);
    world.run_ms(500);
    assert!(!world.lines().iter().any(|line| line.contains("ERR")));
    world.step(nodes[0], In::Transfer(msu(100, 101, 3, b"to b")));
    world.step(nodes[1], In::Transfer(msu(101, 100, 3, b"to a")));
    world.run_ms(100);
    assert_eq!((world.payloads(nodes[0]).len(), world.payloads(nodes[1]).len()), (1, 1));
    // Either may end it, and the other one asks again after T(ack).
    world.step(nodes[0], In::AspDown(world.peer(link, 0)));
    world.run_ms(100);
    assert_eq!(world.lines(), ["a > b ASPDN", "b > a ASPDN ACK"]);
    world.run_ms(2_000);
    assert_eq!(world.lines(), ["b > a ASPUP", "a > b ERR Refused - Management Blocking"]);
    world.step(nodes[0], In::AspUp(world.peer(link, 0)));
    world.run_ms(500);
    let server = RoutingContext(9);
    let last = world.lines();
    assert!(last.iter().any(|line| line.contains("ASPAC ACK RC=9")), "{server:?}: {last:?}");
}

#[test]
fn an_ipsp_that_is_asked_for_traffic_before_it_is_up_says_so() {
    let mut world = World::new(1);
    let node = world.node("a", parameters());
    let other = world.node("b", parameters());
    let quiet = PeerSettings { starts: false, ..PeerSettings::new(Role::IpspClient) };
    let link = world.link((node, quiet.clone()), (other, quiet));
    let server = world.server(node, Side::There, 9, 101);
    world.assign(link, 0, server);
    world.up(link);
    let mut bytes = Vec::new();
    Writer::begin(&mut bytes, MessageType::AspActive).word(Tag::RoutingContext, 9).end();
    let end = world.links[link].ends[0];
    world.step(end.node, In::Message(end.peer, 0, bytes.into()));
    from_peer(&mut world, link, 0, MessageType::AspUp);
    let errors: Vec<String> =
        world.lines().into_iter().filter(|line| line.starts_with("a >")).collect();
    assert_eq!(
        errors,
        ["a > b ERR Unexpected Message RC=9", "a > b ERR Refused - Management Blocking"]
    );
}
