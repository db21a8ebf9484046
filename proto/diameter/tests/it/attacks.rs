//! What a peer may do to a node and to its other peers, and may not.

use crate::world::{SECOND, Service, World, settings};
use bytes::Bytes;
use diameter::codec::{AvpWriter, Flags, Message, ResultCode, Writer};
use diameter::rows::{base, sh};
use diameter::{Action, Connection, DisconnectCause, In, Metric, Outcome, Route, State};
use machine::{Duration, Machine};

/// Two clients of one server: `as.example`, `evil.example`, `hss.home`.
fn two_clients(change: impl FnOnce(&mut diameter::Parameters)) -> World {
    let mut world = World::new(11);
    let clients = ["as", "evil"].map(|it| world.add(settings(it, "example", &[sh::SH.id], false)));
    let mut home = settings("hss", "home", &[sh::SH.id], false);
    change(&mut home.parameters);
    let server = world.add(home);
    for client in clients {
        let way = world.peer(client, server, true);
        world.peer(server, client, false);
        world.route(client, Some("home"), &[(way, 0)]);
    }
    world.pass(SECOND);
    world
}

/// The connection of a node with a host.
fn way(world: &World, at: usize, host: &str) -> Connection {
    let found = world.sites[at].node.peers().find(|it| it.1.host == host);
    found.unwrap().1.connection.unwrap()
}

/// The last message of a node with the R bit, and that command.
fn request_of(world: &World, at: usize, command: u8) -> Bytes {
    let is_it = |it: &&(usize, Bytes)| it.0 == at && it.1[4] & 0x80 != 0 && it.1[7] == command;
    world.wire.iter().rev().find(is_it).unwrap().1.clone()
}

fn with_avp(message: &[u8], fill: impl FnOnce(&mut AvpWriter<'_>)) -> Vec<u8> {
    let mut octets = message.to_vec();
    fill(&mut AvpWriter::new(&mut octets));
    let length = u32::try_from(octets.len()).unwrap().to_be_bytes();
    octets[1..4].copy_from_slice(&length[1..]);
    octets
}

fn result(octets: &[u8]) -> u32 {
    let avps = Message::read(octets).unwrap().avps();
    avps.find(&base::RESULT_CODE).unwrap().unsigned32().unwrap()
}

/// How requests of a site ended.
fn codes(world: &World, at: usize) -> Vec<u32> {
    let code = |it: &(u64, Outcome)| match &it.1 {
        Outcome::Answer(octets) => result(octets),
        other => panic!("{other:?}"),
    };
    let mut all: Vec<u32> = world.sites[at].ends.iter().map(code).collect();
    all.sort_unstable();
    all
}

#[test]
fn another_peer_that_writes_the_names_of_a_request_is_not_given_its_answer() {
    let mut world = two_clients(|_| {});
    world.ask(0, 1, "home", None);
    world.pass(SECOND);
    let original = request_of(&world, 0, 50);
    let evil = way(&world, 2, "evil.example");
    let mut forged = original.to_vec();
    let msisdn = forged.windows(2).position(|it| it == [0x94, 0x71]).unwrap();
    forged[msisdn] = 0x11;
    world.act(2, In::Message(evil, forged.into()));
    assert_eq!(world.sites[2].seen.len(), 2, "it is another request: the application is asked");
    assert_eq!(world.sites[2].node.metrics().read(Metric::Duplicates), 0);
    // The same request by an agent, with the T bit and a Route-Record, is the same.
    let mut again = with_avp(&original, |out| out.put(&base::ROUTE_RECORD, "as.example"));
    again[4] |= Flags::RETRANSMITTED;
    world.act(2, In::Message(evil, again.into()));
    assert_eq!(world.sites[2].seen.len(), 2);
    assert_eq!(world.sites[2].node.metrics().read(Metric::Duplicates), 1);
}

#[test]
fn one_peer_leaves_as_many_requests_to_others_as_it_has_itself() {
    let mut world = two_clients(|it| it.arrived_max = 100);
    world.sites[2].service = Service::Keeps;
    (0..200).for_each(|token| world.ask(1, token, "home", None));
    world.pass(SECOND / 2);
    assert_eq!(world.sites[2].node.status().arrived, 50);
    world.ask(0, 999, "home", None);
    world.pass(SECOND / 2);
    assert_eq!(world.sites[2].node.status().arrived, 51);
    assert_eq!(codes(&world, 1), [3004; 150]);
}

#[test]
fn one_peer_leaves_as_many_relayed_requests_to_others_as_it_has_itself() {
    let mut world = World::new(12);
    let clients = ["as", "evil"].map(|it| world.add(settings(it, "example", &[sh::SH.id], false)));
    let mut relay = settings("dra", "net", &[], true);
    relay.parameters.requests_max = 100;
    let agent = world.add(relay);
    let server = world.add(settings("hss", "home", &[sh::SH.id], false));
    for client in clients {
        let way = world.peer(client, agent, true);
        world.peer(agent, client, false);
        world.route(client, None, &[(way, 0)]);
    }
    let way = world.peer(agent, server, true);
    world.peer(server, agent, false);
    world.route(agent, None, &[(way, 0)]);
    world.sites[server].service = Service::Keeps;
    world.pass(SECOND);
    (0..200).for_each(|token| world.ask(1, token, "home", None));
    world.pass(SECOND / 2);
    assert_eq!(world.sites[agent].node.status().requests, 50);
    world.ask(0, 999, "home", None);
    world.pass(SECOND / 2);
    assert_eq!(world.sites[agent].node.status().requests, 51);
}

#[test]
fn ten_thousands_of_requests_that_wait_for_a_lost_peer_end_at_once() {
    let mut world = two_clients(|_| {});
    world.silent.insert(2);
    (0..50_000).for_each(|token| world.ask(0, token, "home", None));
    world.absent.insert(2);
    world.cut((0, 2));
    world.pass(SECOND * 11);
    assert_eq!(world.sites[0].ends.len(), 50_000);
    assert!(world.sites[0].ends.iter().all(|it| it.1 == Outcome::Expired));
    assert_eq!(world.sites[0].node.status().requests, 0);
}

#[test]
fn a_peer_that_calls_itself_another_one_while_it_is_open_is_disconnected() {
    let mut world = two_clients(|_| {});
    let evil = way(&world, 2, "evil.example");
    let cer = world.wire.iter().find(|it| it.0 == 0 && it.1[6..8] == [1, 1]).unwrap().1.clone();
    world.act(2, In::Message(evil, cer));
    let mut peers = world.sites[2].node.peers().map(|it| it.1);
    let (one, two) = (peers.next().unwrap(), peers.next().unwrap());
    assert_eq!((one.state, &*one.host), (State::Open, "as.example"));
    assert_eq!((two.state, two.connection), (State::Closed, None));
    assert_eq!(world.sites[2].downs.len(), 1);
}

#[test]
fn a_second_connection_shortly_before_the_watchdog_does_not_make_a_suspect() {
    let mut world = two_clients(|_| {});
    world.silent.insert(0);
    let id = world.sites[2].node.peers().next().unwrap().0;
    let evil = way(&world, 2, "evil.example");
    world.act(2, In::Lost(evil, "it is of no concern here"));
    let due = world.sites[2].node.deadline().unwrap();
    world.pass(due.since(world.now) - Duration::from_millis(10));
    let cer = world.wire.iter().find(|it| it.0 == 0 && it.1[6..8] == [1, 1]).unwrap().1.clone();
    world.act(2, In::Accepted(Connection(9_999_999), Vec::new()));
    world.act(2, In::Message(Connection(9_999_999), cer));
    assert_eq!(request_of(&world, 2, 24)[5..8], [0, 1, 24], "it is asked whether it lives");
    world.pass(SECOND);
    assert_eq!(world.watchdog(2, id), "OKAY", "it has all of Tw to answer");
    world.pass(SECOND * 32);
    assert_eq!(world.watchdog(2, id), "SUSPECT");
}

#[test]
fn nothing_but_a_cea_is_heard_before_the_cea() {
    for (command, cause) in [(&base::DISCONNECT_PEER, Some(2)), (&base::DEVICE_WATCHDOG, None)] {
        let mut world = World::new(13);
        let client = world.add(settings("as", "example", &[sh::SH.id], false));
        let server = world.add(settings("hss", "home", &[sh::SH.id], false));
        let id = world.peer(client, server, true);
        world.peer(server, client, false);
        world.silent.insert(server);
        world.pass(SECOND / 10);
        let peer = world.sites[client].node.peer(id).unwrap();
        assert_eq!(peer.state, State::WaitICea);
        let mut octets = Vec::new();
        let mut writer = Writer::request(&mut octets, command, 0)
            .put(&base::ORIGIN_HOST, "hss.home")
            .put(&base::ORIGIN_REALM, "home");
        if let Some(cause) = cause {
            writer = writer.integer(&base::DISCONNECT_CAUSE, cause);
        }
        writer.end().unwrap();
        world.act(client, In::Message(peer.connection.unwrap(), octets.into()));
        assert_eq!(world.sites[client].node.peer(id).unwrap().state, State::Closed);
        world.silent.clear();
        world.pass(SECOND * 3);
        let peer = world.sites[client].node.peer(id).unwrap();
        assert_eq!(peer.state, State::Open, "it is connected to again");
    }
}

#[test]
fn a_redirect_that_has_no_room_is_answered_all_the_same() {
    let mut world = World::new(14);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let agent = world.add(settings("drd", "net", &[], true));
    let to_agent = world.peer(client, agent, true);
    world.peer(agent, client, false);
    world.route(client, None, &[(to_agent, 0)]);
    let host = format!("aaa://{}.example", "h".repeat(200));
    let action = Action::Redirect(vec![host; 32], 0);
    let route = Route { realm: Some(String::from("home")), application: None, action };
    world.sites[agent].node.add_route(route).unwrap();
    world.pass(SECOND);
    let whole = world.udr(client, "s;1", "home", None);
    let long = with_avp(&whole, |out| {
        out.group(&base::PROXY_INFO, |out| {
            out.put(&base::PROXY_HOST, "as.example");
            out.put(&base::PROXY_STATE, vec![7; 130_000]);
        });
    });
    let way = way(&world, agent, "as.example");
    world.act(agent, In::Message(way, long.into()));
    let (from, last) = world.wire.last().unwrap().clone();
    assert_eq!((from, result(&last)), (agent, ResultCode::UnableToDeliver.number()));
    assert_eq!(world.sites[agent].node.metrics().read(Metric::RequestsRedirected), 0);
}

#[test]
fn names_longer_than_a_name_can_be_are_not_looked_for() {
    let mut world = two_clients(|_| {});
    let way = way(&world, 2, "as.example");
    for row in [&base::DESTINATION_HOST, &base::DESTINATION_REALM] {
        let whole = world.udr(0, "s;1", "home", Some("hss.home"));
        let message = Message::read(&whole).unwrap();
        let others = message.avps().flatten().filter(|it| !it.is(row));
        let others: Vec<u8> = others.fold(Vec::new(), |mut all, it| {
            AvpWriter::new(&mut all).copy(it.whole);
            all
        });
        let head = [&whole[..20], &others].concat();
        let long = with_avp(&head, |out| out.put(row, "x".repeat(256)));
        world.act(2, In::Message(way, long.into()));
        assert_eq!(result(&world.wire.last().unwrap().1), 5004);
    }
    assert!(world.sites[2].seen.is_empty());
}

#[test]
fn a_peer_in_reopen_may_leave_one_watchdog_unanswered() {
    let mut world = two_clients(|it| it.t_watchdog = SECOND * 3_000);
    let id = world.sites[0].node.peers().next().unwrap().0;
    world.cut((0, 2));
    world.pass(SECOND * 2);
    assert_eq!(world.watchdog(0, id), "REOPEN");
    world.silent.insert(2);
    // A DWR leaves with the first Tw, and is missed with the second.
    world.pass(SECOND * 65);
    assert_eq!(world.watchdog(0, id), "REOPEN");
    world.pass(SECOND * 33);
    assert_eq!(world.watchdog(0, id), "DOWN");
}

#[test]
fn a_request_that_went_to_another_peer_is_not_answered_by_the_one_that_was_lost() {
    let mut world = World::new(15);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let servers = ["hss1", "hss2"].map(|it| world.add(settings(it, "home", &[sh::SH.id], false)));
    let ways = servers.map(|server| world.peer(client, server, true));
    for server in servers {
        world.peer(server, client, false);
        world.sites[server].service = Service::Keeps;
    }
    world.route(client, Some("home"), &[(ways[0], 0), (ways[1], 1)]);
    world.pass(SECOND);
    world.ask(client, 1, "home", None);
    world.pass(SECOND / 10);
    let octets = request_of(&world, client, 50);
    world.cut((client, servers[0]));
    world.pass(SECOND * 2);
    assert_eq!(world.sites[servers[1]].seen.len(), 1);
    let peer = world.sites[client].node.peer(ways[0]).unwrap();
    assert_eq!(peer.state, State::Open, "on a new connection");
    let mut late = Vec::new();
    let header = Message::read(&octets).unwrap().header;
    let writer = Writer::answer(&mut late, &header)
        .put(&base::SESSION_ID, "s;1")
        .result(ResultCode::UnknownSessionId)
        .put(&base::ORIGIN_HOST, "hss1.home")
        .put(&base::ORIGIN_REALM, "home");
    writer.end().unwrap();
    world.act(client, In::Message(peer.connection.unwrap(), late.into()));
    assert!(world.ended(client).is_empty());
    assert_eq!(world.sites[client].node.metrics().read(Metric::Stray), 1);
    world.answer_kept(servers[1]);
    world.pass(SECOND / 10);
    assert_eq!(world.ended(client), [(1, true)]);
}

#[test]
fn a_peer_that_is_configured_no_more_is_told_so() {
    let mut world = two_clients(|_| {});
    let id = world.sites[2].node.peers().next().unwrap().0;
    world.with(2, |node, now, out| node.remove_peer(now, id, out));
    world.pass(SECOND / 100);
    assert_eq!(world.sites[0].downs, ["it begins anew"]);
    world.with(2, |node, now, out| node.close(now, DisconnectCause::Rebooting, out));
    world.pass(SECOND);
    assert!(world.sites[2].node.is_closed());
}

#[test]
fn all_addresses_of_a_connection_stand_in_the_exchange_of_capabilities() {
    let mut world = World::new(16);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let server = world.add(settings("hss", "home", &[sh::SH.id], false));
    let id = world.peer(client, server, true);
    world.absent.insert(server);
    world.act(client, In::Start(id));
    let own = ["10.0.0.1", "2001:db8::1"].map(|it| it.parse().unwrap());
    world.act(client, In::Connected(id, Connection(7), own.to_vec()));
    let cer = world.wire.last().unwrap().1.clone();
    let message = Message::read(&cer).unwrap();
    let told: Vec<_> = message
        .avps()
        .all(&base::HOST_IP_ADDRESS)
        .map(|it| it.address().unwrap().unwrap())
        .collect();
    assert_eq!(told, own);
}

#[test]
fn what_a_peer_says_of_its_state_is_shown() {
    let world = two_clients(|_| {});
    let (_, peer) = world.sites[2].node.peers().next().unwrap();
    assert_eq!(peer.origin_state, Some(7));
}
