//! A node and its peers: connections, watchdog, routing, relays, duplicates, refusals.

use crate::world::{SECOND, Service, World, settings};
use bytes::Bytes;
use diameter::codec::{AvpFlags, Flags, Framing, Message, ResultCode, Writer, frame};
use diameter::rows::{base, cx, sh};
use diameter::{Action, Connection, DisconnectCause, In, Metric, Outcome, Outgoing, Route, State};
use machine::{Duration, Machine};

/// A client with a server; who connects.
fn pair(client_connects: bool, server_connects: bool) -> World {
    with_watchdog(client_connects, server_connects, SECOND * 30)
}

/// The same with another Tw of the server.
fn with_watchdog(client_connects: bool, server_connects: bool, t_watchdog: Duration) -> World {
    let mut world = World::new(1);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let mut home = settings("hss", "home", &[sh::SH.id, cx::CX.id], false);
    home.parameters.t_watchdog = t_watchdog;
    let server = world.add(home);
    let to_server = world.peer(client, server, client_connects);
    world.peer(server, client, server_connects);
    world.route(client, Some("home"), &[(to_server, 0)]);
    world.pass(SECOND);
    world
}

fn result(outcome: &Outcome) -> Option<u32> {
    let (Outcome::Answer(octets) | Outcome::Malformed(octets, _)) = outcome else { return None };
    let message = Message::read(octets).unwrap();
    message.avps().find(&base::RESULT_CODE)?.unsigned32().ok()
}

#[test]
fn peers_exchange_capabilities_and_a_request_is_answered() {
    let mut world = pair(true, false);
    let (id, peer) = world.sites[0].node.peers().next().unwrap();
    assert_eq!((peer.state, peer.watchdog), (State::Open, "OKAY"));
    assert_eq!((peer.product.as_str(), peer.applications.len()), ("Tandem", 2));
    world.ask(0, 5, "home", None);
    world.pass(SECOND);
    assert_eq!(world.ended(0), [(5, true)]);
    assert_eq!(world.sites[1].seen, [(String::from("s;5"), false)]);
    assert_eq!(world.sites[0].node.peer(id).unwrap().counts.outstanding, 0);
    assert_eq!(world.sites[0].node.status().requests, 0);
}

#[test]
fn every_message_of_a_node_is_what_its_rows_say() {
    let mut world = pair(true, true);
    world.ask(0, 1, "home", None);
    world.pass(SECOND * 100);
    world.with(0, |node, now, out| node.close(now, DisconnectCause::Rebooting, out));
    world.pass(SECOND);
    let dictionary = diameter::Dictionary::default();
    let mut commands = std::collections::BTreeSet::new();
    for (_, octets) in &world.wire {
        assert_eq!(frame(octets), Framing::Message(octets.len()));
        let message = Message::read(octets).unwrap();
        let command = dictionary.check(&message).unwrap_or_else(|it| panic!("{it}"));
        commands.insert((command.request, message.is_request()));
    }
    assert_eq!(commands.len(), 8, "{commands:?}");
    assert!(world.sites[0].node.is_closed());
    assert_eq!(world.sites[1].downs, ["it begins anew"]);
}

#[test]
fn of_two_connections_one_stays_which_the_election_says() {
    let world = pair(true, true);
    for site in &world.sites {
        let (_, peer) = site.node.peers().next().unwrap();
        assert_eq!((peer.state, site.ups), (State::Open, 1), "{}", site.name);
        assert_eq!(site.node.status().connections, 1, "{}", site.name);
        assert!(site.node.metrics().read(Metric::Elections) > 0, "{}", site.name);
    }
}

#[test]
fn whoever_is_not_known_or_has_nothing_in_common_is_refused() {
    let mut world = World::new(2);
    let server = world.add(settings("hss", "home", &[sh::SH.id], false));
    let stranger = world.add(settings("stranger", "else", &[sh::SH.id], false));
    let other = world.add(settings("pcscf", "else", &[cx::CX.id], false));
    world.peer(stranger, server, true);
    world.peer(other, server, true);
    world.peer(server, other, false);
    world.pass(SECOND / 2);
    let results: Vec<u32> = world
        .wire
        .iter()
        .filter(|it| it.0 == server)
        .map(|it| {
            let message = Message::read(&it.1).unwrap();
            message.avps().find(&base::RESULT_CODE).unwrap().unsigned32().unwrap()
        })
        .collect();
    let expected = [ResultCode::UnknownPeer, ResultCode::NoCommonApplication].map(|it| it.number());
    assert_eq!(results, expected);
    assert_eq!(world.sites[server].node.status().connections, 0);
}

#[test]
fn a_silent_peer_is_suspected_then_lost_and_reopened_by_three_watchdogs() {
    let mut world = with_watchdog(true, false, SECOND * 3_000);
    let (id, _) = world.sites[0].node.peers().next().unwrap();
    world.silent.insert(1);
    world.pass(SECOND * 65);
    assert_eq!(world.watchdog(0, id), "SUSPECT");
    world.pass(SECOND * 33);
    assert_eq!(world.watchdog(0, id), "DOWN");
    assert_eq!(world.sites[0].downs, ["it has left watchdogs unanswered"]);
    world.silent.clear();
    world.pass(SECOND * 20);
    assert_eq!(world.watchdog(0, id), "REOPEN");
    world.ask(0, 9, "home", None);
    world.pass(SECOND);
    assert_eq!(world.ended(0), [(9, true)], "it is the only one of its route");
    world.pass(SECOND * 70);
    assert_eq!(world.watchdog(0, id), "OKAY");
}

#[test]
fn a_peer_that_speaks_again_in_time_is_taken_back() {
    let mut world = with_watchdog(true, false, SECOND * 78);
    let (id, _) = world.sites[0].node.peers().next().unwrap();
    world.silent.insert(1);
    world.pass(SECOND * 65);
    assert_eq!(world.watchdog(0, id), "SUSPECT");
    world.silent.clear();
    let host = world.sites[0].name.clone();
    let peer = world.sites[1].node.peers().next().unwrap().1;
    assert_eq!(peer.host, host);
    world.pass(SECOND * 16);
    assert_eq!(world.watchdog(0, id), "OKAY", "the server's own watchdog was heard");
}

#[test]
fn who_is_told_to_go_away_does_not_come_back_by_itself() {
    for (cause, returns) in [
        (DisconnectCause::Rebooting, true),
        (DisconnectCause::Busy, false),
        (DisconnectCause::DoNotWantToTalkToYou, false),
    ] {
        let mut world = pair(true, false);
        let id = world.sites[1].node.peers().next().unwrap().0;
        world.act(1, In::Stop(id, cause));
        world.pass(SECOND * 5);
        let state = world.sites[0].node.peers().next().unwrap().1.state;
        assert_eq!(state == State::Open, returns, "{cause:?}");
        let id = world.sites[0].node.peers().next().unwrap().0;
        world.act(0, In::Start(id));
        world.pass(SECOND);
        assert_eq!(world.sites[0].node.peer(id).unwrap().state, State::Open);
    }
}

/// A client, two relays, two servers behind both.
fn relays() -> World {
    let mut world = World::new(3);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let agents = ["dra1", "dra2"].map(|it| world.add(settings(it, "net", &[], true)));
    let servers = ["hss1", "hss2"].map(|it| world.add(settings(it, "home", &[sh::SH.id], false)));
    let ways = agents.map(|agent| world.peer(client, agent, true));
    world.route(client, None, &[(ways[0], 0), (ways[1], 1)]);
    for agent in agents {
        world.peer(agent, client, false);
        let peers = servers.map(|server| world.peer(agent, server, true));
        world.route(agent, Some("home"), &[(peers[0], 0), (peers[1], 1)]);
        for server in servers {
            world.peer(server, agent, false);
        }
    }
    world.pass(SECOND);
    world
}

#[test]
fn a_relay_notes_the_sender_and_gives_the_answer_its_identifier_back() {
    let mut world = relays();
    world.ask(0, 1, "home", None);
    world.pass(SECOND);
    assert_eq!(world.ended(0), [(1, true)]);
    let relayed = world
        .wire
        .iter()
        .find(|(at, octets)| *at == 1 && octets[4] & 0x80 != 0 && octets[5..8] == [0, 1, 50]);
    let message = Message::read(&relayed.unwrap().1).unwrap();
    let records: Vec<_> = message.avps().all(&base::ROUTE_RECORD).map(|it| it.data).collect();
    assert_eq!(records, [b"as.example"]);
    assert_eq!(world.sites[1].node.status().requests, 0);
}

#[test]
fn a_host_is_reached_by_its_name_and_others_are_answered_for() {
    let mut world = relays();
    world.ask(0, 1, "home", Some("hss2.home"));
    world.ask(0, 2, "nowhere", None);
    world.pass(SECOND);
    assert_eq!(world.sites[4].seen.len(), 1);
    let codes: Vec<_> = world.sites[0].ends.iter().map(|it| (it.0, result(&it.1))).collect();
    assert!(codes.contains(&(1, Some(2001))), "{codes:?}");
    assert!(codes.contains(&(2, Some(3003))), "{codes:?}");
}

#[test]
fn an_agent_that_cannot_deliver_is_passed_by_without_the_t_bit() {
    let mut world = relays();
    world.cut((1, 3));
    world.cut((1, 4));
    world.absent.extend([3, 4]);
    world.pass(SECOND / 2);
    world.ask(0, 1, "home", None);
    world.pass(SECOND);
    assert_eq!(world.ended(0), [(1, true)]);
    assert_eq!(world.sites[3].seen, [(String::from("s;1"), false)]);
    assert_eq!(world.sites[0].node.metrics().read(Metric::Rerouted), 1);
}

#[test]
fn a_request_that_was_here_before_is_a_loop() {
    let mut world = World::new(4);
    let agents = ["dra1", "dra2"].map(|it| world.add(settings(it, "net", &[], true)));
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let one = world.peer(agents[0], agents[1], true);
    let two = world.peer(agents[1], agents[0], false);
    world.peer(agents[0], client, false);
    world.route(agents[0], None, &[(one, 0)]);
    world.route(agents[1], None, &[(two, 0)]);
    let way = world.peer(client, agents[0], true);
    world.route(client, None, &[(way, 0)]);
    world.pass(SECOND);
    world.ask(client, 1, "home", None);
    world.pass(SECOND);
    // The second agent does not send it back where it came from.
    assert_eq!(result(&world.sites[client].ends[0].1), Some(3002));
    let mut looped = world.udr(client, "s;2", "home", None);
    let record = b"dra1.net";
    let mut avp = vec![0, 0, 1, 26, 0x40, 0, 0, 8 + record.len() as u8];
    avp.extend_from_slice(record);
    looped.extend(avp);
    let length = (looped.len() as u32).to_be_bytes();
    looped[1..4].copy_from_slice(&length[1..]);
    world.act(client, In::Request(Outgoing { token: 2, message: looped, timeout: None }));
    world.pass(SECOND);
    assert_eq!(result(&world.sites[client].ends[1].1), Some(3005));
    assert_eq!(world.sites[agents[0]].node.metrics().read(Metric::Loops), 1);
}

#[test]
fn on_the_way_to_a_realm_are_the_peers_of_its_route_and_the_host_that_is_named() {
    let mut world = World::new(5);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let relay = world.add(settings("relay", "net", &[], true));
    let other = world.add(settings("hss", "other", &[sh::SH.id], false));
    let [to_relay, to_other] = [relay, other].map(|it| world.peer(client, it, true));
    world.route(client, Some("home"), &[(to_relay, 0)]);
    let node = &world.sites[client].node;
    for (peer, realm, host, expected) in [
        (to_relay, "HOME", None, true),
        (to_other, "home", None, false),
        (to_other, "home", Some("HSS.other"), true),
        (to_relay, "other", None, false),
    ] {
        assert_eq!(node.is_on_way(peer, (realm, host), sh::SH.id), expected, "{realm} {host:?}");
    }
}

#[test]
fn a_redirect_is_followed_to_a_peer() {
    let mut world = World::new(5);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let agent = world.add(settings("drd", "net", &[], true));
    let server = world.add(settings("hss", "home", &[sh::SH.id], false));
    let to_agent = world.peer(client, agent, true);
    world.peer(client, server, true);
    world.peer(agent, client, false);
    world.peer(server, client, false);
    world.route(client, None, &[(to_agent, 0)]);
    let action = Action::Redirect(vec![String::from("aaa://hss.home:3868;transport=tcp")], 60);
    let route = Route { realm: Some(String::from("home")), application: None, action };
    world.sites[agent].node.add_route(route).unwrap();
    world.pass(SECOND);
    world.ask(client, 1, "home", None);
    world.pass(SECOND);
    assert_eq!(world.ended(client), [(1, true)]);
    assert_eq!(world.sites[server].seen, [(String::from("s;1"), false)]);
    assert_eq!(world.sites[agent].node.metrics().read(Metric::RequestsRedirected), 1);
}

#[test]
fn a_request_that_comes_again_is_answered_alike_and_seen_once() {
    let mut world = pair(true, false);
    world.sites[1].service = Service::Keeps;
    world.ask(0, 1, "home", None);
    world.pass(SECOND / 10);
    let request = world.wire.iter().rev().find(|it| it.0 == 0).unwrap().1.clone();
    let way = world.sites[1].node.peers().next().unwrap().1.connection.unwrap();
    let mut again = request.to_vec();
    again[4] |= Flags::RETRANSMITTED;
    again[15] ^= 1;
    let again = Bytes::from(again);
    world.act(1, In::Message(way, again.clone()));
    world.answer_kept(1);
    let before = world.wire.len();
    world.act(1, In::Message(way, again));
    let answers: Vec<_> = world.wire[before - 2..].iter().map(|it| it.1.clone()).collect();
    assert_eq!(world.sites[1].seen.len(), 1);
    assert_eq!(world.sites[1].node.metrics().read(Metric::Duplicates), 2);
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[1], answers[2]);
    assert_eq!(answers[0][16..], answers[1][16..]);
    world.pass(SECOND);
    assert_eq!(world.ended(0), [(1, true)], "the others are stray");
}

#[test]
fn what_offends_is_answered_with_its_code_and_the_session() {
    let mut world = pair(true, false);
    let way = world.sites[1].node.peers().next().unwrap().1.connection.unwrap();
    let good = world.udr(0, "s;1", "home", None);
    let answer = |world: &mut World, octets: Vec<u8>| {
        world.act(1, In::Message(way, octets.into()));
        let octets = world.wire.last().unwrap().1.clone();
        let message = Message::read(&octets).unwrap();
        let code = message.avps().find(&base::RESULT_CODE).unwrap().unsigned32().unwrap();
        let session = message.avps().next().unwrap().unwrap();
        assert!(session.is(&base::SESSION_ID), "{code}");
        let is_known = diameter::Dictionary::default().check(&message).is_ok();
        assert!(is_known || matches!(code, 3001 | 3007), "{code}");
        (
            code,
            message.header.flags.has(Flags::ERROR),
            message.avps().find(&base::FAILED_AVP).is_some(),
        )
    };
    let change = |at: usize, octet: u8| {
        let mut octets = good.clone();
        octets[at] = octet;
        octets
    };
    assert_eq!(answer(&mut world, change(7, 99)), (3001, true, false));
    assert_eq!(answer(&mut world, change(11, 99)), (3007, true, false));
    assert_eq!(answer(&mut world, change(4, 0xc8)), (5013, false, false));
    let mut unknown = good.clone();
    diameter::codec::AvpWriter::new(&mut unknown).raw(9_999, 0, AvpFlags(0x40), b"abcd");
    let length = (unknown.len() as u32).to_be_bytes();
    unknown[1..4].copy_from_slice(&length[1..]);
    assert_eq!(answer(&mut world, unknown), (5001, false, true));
    assert_eq!(world.sites[1].seen.len(), 0);
    assert!(world.sites[1].complaints > 0);
}

#[test]
fn an_application_that_does_not_answer_is_answered_for_and_what_is_too_much_is_shed() {
    let mut world = World::new(6);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let mut tight = settings("hss", "home", &[sh::SH.id], false);
    tight.parameters.arrived_max = 6;
    tight.parameters.t_answer = SECOND * 2;
    let server = world.add(tight);
    let way = world.peer(client, server, true);
    world.peer(server, client, false);
    world.route(client, None, &[(way, 0)]);
    world.sites[server].service = Service::Keeps;
    world.pass(SECOND);
    for token in 0..5 {
        world.ask(client, token, "home", None);
    }
    world.pass(SECOND * 4);
    let mut codes: Vec<_> =
        world.sites[client].ends.iter().map(|it| result(&it.1).unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [3004, 3004, 5012, 5012, 5012]);
    assert_eq!(world.sites[server].node.status().arrived, 0);
}

#[test]
fn strangers_are_few_and_do_not_stay() {
    let mut world = pair(true, false);
    for n in 0..300 {
        world.act(1, In::Accepted(Connection(1_000_000 + n), Vec::new()));
    }
    assert_eq!(world.sites[1].node.status().connections, 257);
    world.pass(SECOND * 11);
    assert_eq!(world.sites[1].node.status().connections, 1);
    let mut cer = Vec::new();
    let writer = Writer::request(&mut cer, &base::CAPABILITIES_EXCHANGE, 0)
        .put(&base::ORIGIN_HOST, "as.example");
    writer.end().unwrap();
    world.act(1, In::Accepted(Connection(2_000_000), Vec::new()));
    world.act(1, In::Message(Connection(2_000_000), cer.into()));
    let last = world.wire.last().unwrap().1.clone();
    let message = Message::read(&last).unwrap();
    assert_eq!(message.avps().find(&base::RESULT_CODE).unwrap().unsigned32(), Ok(5005));
    assert_eq!(world.sites[1].node.status().connections, 1);
}

#[test]
fn attempts_come_later_each_time() {
    let mut world = World::new(7);
    let client = world.add(settings("as", "example", &[sh::SH.id], false));
    let server = world.add(settings("hss", "home", &[sh::SH.id], false));
    world.absent.insert(server);
    world.peer(client, server, true);
    let mut deadlines = Vec::new();
    for _ in 0..200 {
        world.pass(Duration::from_millis(100));
        let next = world.sites[client].node.deadline().unwrap();
        // An attempt under way has a deadline of its own, ten seconds ahead.
        let is_pause = next > world.now && next - world.now <= SECOND * 4;
        if deadlines.last() != Some(&next) && is_pause {
            deadlines.push(next);
        }
    }
    let gaps: Vec<u128> = deadlines.windows(2).map(|it| (it[1] - it[0]).as_millis()).collect();
    for (gap, most) in gaps.iter().zip([2_000, 4_000, 4_000, 4_000]) {
        // Up to a quarter sooner.
        assert!((most * 3 / 4..=most + 10).contains(gap), "{gaps:?}");
    }
    assert!(gaps.len() >= 4, "{gaps:?}");
}
