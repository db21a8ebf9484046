//! SSNM beyond the examples of §5: masks, several gateways, congestion, answers to DATA, networks
//! side by side, and every metric moves.

use crate::world::{self, Node, World, msu, parameters, pc};
use bytes::Bytes;
use event::Metric as _;
use m3ua::codec::{
    Affected, Data, ErrorCode, Framing, Message, MessageType, NetworkAppearance, PAYLOAD_BYTES_MAX,
    RoutingContext, Tag, TrafficMode, Writer, frame,
};
use m3ua::{
    Cause, In, Indication, Key, Metric, Out, Parameters, PeerSettings, Process, Refused,
    Registration, Role, ServerSettings, Settings, Side, Transfer,
};
use machine::{Duration, Machine, Time};

/// As many ranges as a network keeps.
const RANGES_MAX: u32 = 65_536;

/// An ASP, active at the only SGP of each of two gateways.
fn two_gateways() -> (World, Node, [Node; 2]) {
    let mut world = World::new(1);
    let asp = world.node("asp", parameters());
    let here = world.server(asp, Side::Here, 1, 2);
    let sgps = [1, 2].map(|gateway| {
        let sgp = world.node(&format!("sgp{gateway}"), parameters());
        let there = world.server(sgp, Side::There, 1, 2);
        let settings = PeerSettings { gateway, ..PeerSettings::new(Role::Asp) };
        let link = world.link((asp, settings), (sgp, PeerSettings::new(Role::Sgp)));
        world.assign(link, 0, here);
        world.assign(link, 1, there);
        world.up(link);
        sgp
    });
    world.run_ms(500);
    world.forget();
    (world, asp, sgps)
}

/// What the user of `node` now holds for unavailable, applied over point codes 0 to 255.
fn apply(world: &World, node: Node, unavailable: &mut [bool; 256]) {
    for what in world.told(node) {
        let (range, value) = match what {
            Indication::Pause(None, range) => (range, true),
            Indication::Resume(None, range) => (range, false),
            _ => continue,
        };
        for (number, slot) in unavailable.iter_mut().enumerate() {
            if range.contains(pc(number as u32)) {
                assert_ne!(*slot, value, "the user is told only of changes: {what:?}");
                *slot = value;
            }
        }
    }
}

#[test]
fn the_user_is_told_of_just_those_destinations_that_no_gateway_reaches() {
    let (mut world, asp, sgps) = two_gateways();
    let mut told = [false; 256];
    let mut truth = [[false; 256]; 2];
    for turn in 0..2_000 {
        let (point_code, mask) = (world.chance.below(256) as u32, world.chance.below(10) as u8);
        let range = Affected { point_code: pc(point_code), mask };
        let which = world.chance.below(2) as usize;
        let is_lost = turn % 50 == 49;
        if is_lost {
            // The association is lost and comes again: what was known is asked for.
            world.cut(which);
            apply(&world, asp, &mut told);
            let other = truth[1 - which];
            assert_eq!(told, other, "turn {turn}: only the other gateway counts");
            world.forget();
            world.up(which);
            world.run_ms(500);
        } else {
            let value = world.chance.below(2) == 0;
            for (number, slot) in truth[which].iter_mut().enumerate() {
                if range.contains(pc(number as u32)) {
                    *slot = value;
                }
            }
            world.step(
                sgps[which],
                match value {
                    true => In::Pause(None, range),
                    false => In::Resume(None, range),
                },
            );
            world.run_ms(100);
        }
        apply(&world, asp, &mut told);
        let expected: Vec<bool> = (0..256).map(|it| truth[0][it] && truth[1][it]).collect();
        assert_eq!(told.to_vec(), expected, "turn {turn}, {range:?} at gateway {which}");
        world.forget();
    }
}

#[test]
fn restricted_destinations_are_reached_by_another_gateway_if_there_is_one() {
    let (mut world, asp, sgps) = two_gateways();
    let came = |world: &mut World| {
        world.forget();
        (0..16).for_each(|sls| world.step(asp, In::Transfer(msu(2, 7, sls, &[sls]))));
        world.run_ms(100);
        sgps.map(|sgp| world.payloads(sgp).len())
    };
    world.step(sgps[0], In::Restrict(None, Affected::one(pc(7))));
    world.run_ms(100);
    assert_eq!(came(&mut world), [0, 16]);
    world.step(sgps[1], In::Pause(None, Affected::one(pc(7))));
    world.run_ms(100);
    assert_eq!(came(&mut world), [16, 0]);
    world.step(sgps[0], In::Resume(None, Affected::ALL));
    world.step(sgps[1], In::Resume(None, Affected::ALL));
    world.run_ms(100);
    let [first, second] = came(&mut world);
    assert!(first > 4 && second > 4, "{first} and {second}");
}

#[test]
fn data_to_an_unavailable_destination_is_answered_by_duna_and_to_a_congested_one_by_scon() {
    let (mut world, asp, sgps) = two_gateways();
    world.cut(1);
    world.run_ms(100);
    // The ASP does not hear of it: it is down then.
    let peer = world.peer(0, 0);
    world.step(asp, In::AspDown(peer));
    world.run_ms(100);
    world.step(sgps[0], In::Pause(None, Affected::one(pc(7))));
    world.step(sgps[0], In::Status(None, Affected::one(pc(8)), Cause::Congestion(Some(3))));
    world.step(asp, In::AspUp(peer));
    world.run_ms(500);
    world.forget();
    world.step(asp, In::Transfer(msu(2, 7, 0, b"lost")));
    world.step(asp, In::Transfer(msu(2, 8, 0, b"comes")));
    world.run_ms(100);
    assert_eq!(world.lines(), ["sgp1 > asp DUNA RC=1", "sgp1 > asp SCON RC=1"]);
    assert_eq!(world.payloads(sgps[0]).len(), 1);
    let told = world.told(asp);
    assert!(told.contains(&&Indication::Pause(None, Affected::one(pc(7)))));
    let congestion = Cause::Congestion(Some(3));
    assert!(told.contains(&&Indication::Status(None, Affected::one(pc(8)), congestion, None)));
}

#[test]
fn an_audit_of_a_range_tells_what_is_odd_inside_after_the_whole() {
    let (mut world, asp, sgps) = two_gateways();
    let (range, inner) = (Affected { point_code: pc(0x100), mask: 8 }, Affected::one(pc(0x100)));
    world.step(sgps[0], In::Pause(None, range));
    world.step(sgps[0], In::Resume(None, inner));
    let congestion = Cause::Congestion(Some(2));
    world.step(sgps[0], In::Status(None, Affected::one(pc(0x101)), congestion));
    world.step(sgps[0], In::Resume(None, Affected::one(pc(0x101))));
    world.run_ms(100);
    world.forget();
    world.step(asp, In::Audit(world.peer(0, 0), None, vec![range]));
    world.run_ms(100);
    let lines = world.lines();
    assert_eq!(
        lines[1..],
        [
            "sgp1 > asp DUNA RC=1",
            "sgp1 > asp DAVA RC=1",
            "sgp1 > asp SCON RC=1",
            "sgp1 > asp DAVA RC=1",
        ]
    );
}

#[test]
fn two_networks_with_the_same_point_codes_do_not_meet() {
    let mut world = World::new(1);
    let (sgp, asp) = (world.node("sgp", parameters()), world.node("asp", parameters()));
    let link = world.asp_to_sgp(asp, sgp, 1);
    let networks = [1, 2].map(NetworkAppearance);
    for network in networks {
        for (node, side, end) in [(sgp, Side::There, 1), (asp, Side::Here, 0)] {
            let key = Key { network: Some(network), ..Key::of(pc(2)) };
            let context = Some(RoutingContext(network.0));
            let server = world.serve(node, ServerSettings::new(side, context, key));
            world.assign(link, end, server);
        }
    }
    world.up(link);
    world.run_ms(500);
    world.forget();
    world.step(sgp, In::Pause(Some(networks[1]), Affected::one(pc(7))));
    world.run_ms(100);
    assert_eq!(world.told(asp), [&Indication::Pause(Some(networks[1]), Affected::one(pc(7)))]);
    assert_eq!(world.lines(), ["sgp > asp DUNA RC=2"]);
    for (network, arrives) in [(networks[0], true), (networks[1], false)] {
        world.forget();
        let transfer = Transfer { network: Some(network), ..msu(2, 7, 0, b"x") };
        world.step(asp, In::Transfer(transfer.clone()));
        world.run_ms(100);
        let came = world.told.iter().any(|(.., what)| {
            matches!(what, Indication::Transfer(.., came) if came.network == Some(network))
        });
        assert_eq!(came, arrives, "{network:?}");
    }
}

/// Cuts what one side has written into messages and gives them to the other, in small pieces.
fn carry(stream: &mut Vec<u8>, to: &mut Process, peer: m3ua::PeerId, out: &mut Vec<Out>) {
    let sent = std::mem::take(stream);
    for piece in sent.chunks(5) {
        stream.extend_from_slice(piece);
        loop {
            match frame(stream) {
                Framing::Message(length) => {
                    let message: Vec<u8> = stream.drain(..length).collect();
                    to.step(Time::ZERO, In::Message(peer, 0, message.into()), out);
                }
                Framing::Padding(length) => drop(stream.drain(..length)),
                Framing::Partial => break,
                Framing::Broken(violation) => panic!("{violation}"),
            }
        }
    }
    assert!(stream.is_empty(), "whole messages were sent");
}

#[test]
fn over_tcp_messages_are_framed_and_there_are_no_streams() {
    let settings = Settings { peers_max: 1, servers_max: 1, parameters: parameters() };
    let mut ends = [(Role::Asp, Side::Here), (Role::Sgp, Side::There)].map(|(role, side)| {
        let mut process = Process::new(settings).unwrap();
        let peer = process.add_peer(PeerSettings::new(role)).unwrap();
        let server = ServerSettings::new(side, Some(RoutingContext(1)), Key::of(pc(2)));
        let server = process.add_server(server).unwrap();
        process.assign(Time::ZERO, server, peer, &mut Vec::new()).unwrap();
        (process, peer)
    });
    let mut out = [Vec::new(), Vec::new()];
    for (end, out) in ends.iter_mut().zip(&mut out) {
        end.0.step(Time::ZERO, In::CommunicationUp(end.1, None), out);
    }
    let mut came = 0;
    for turn in 0..10 {
        let from = turn % 2;
        if turn == 7 {
            (0..3).for_each(|sls| {
                let transfer = In::Transfer(msu(1, 2, sls, b"odd"));
                ends[1].0.step(Time::ZERO, transfer, &mut out[1]);
            });
        }
        let mut stream = Vec::new();
        for effect in std::mem::take(&mut out[from]) {
            match effect {
                Out::Send(_, stream_number, bytes) => {
                    assert_eq!(stream_number, 0);
                    stream.extend_from_slice(&bytes);
                }
                Out::Indicate(Indication::Transfer(..)) => came += 1,
                _ => {}
            }
        }
        let (process, peer) = &mut ends[1 - from];
        carry(&mut stream, process, *peer, &mut out[1 - from]);
    }
    assert_eq!(came, 3);
}

#[test]
fn the_congestion_of_a_transport_is_told_as_any_other() {
    let (mut world, asp, _) = two_gateways();
    let peer = world.peer(0, 0);
    for (level, is_told) in [(2, true), (2, false), (0, true)] {
        world.forget();
        world.step(asp, In::TransportCongestion(peer, level));
        let cause = Cause::Congestion(Some(level));
        let status = Indication::Status(None, Affected::ALL, cause, None);
        assert_eq!(world.told(asp).contains(&&status), is_told);
    }
}

#[test]
fn an_asp_tells_congestion_with_the_destination_concerned() {
    let mut world = World::new(1);
    let (sgp, asp) = (world.node("sgp", parameters()), world.node("asp", parameters()));
    let (there, here) = (world.server(sgp, Side::There, 1, 2), world.server(asp, Side::Here, 1, 2));
    let link = world.asp_to_sgp(asp, sgp, 1);
    world.assign(link, 0, here);
    world.assign(link, 1, there);
    world.up(link);
    world.run_ms(500);
    let mut bytes = Vec::new();
    Writer::begin(&mut bytes, MessageType::Scon)
        .word(Tag::RoutingContext, 1)
        .affected(&[Affected::one(pc(2))])
        .word(Tag::ConcernedDestination, 77)
        .word(Tag::CongestionIndications, 1)
        .end();
    world.step(sgp, In::Message(world.peer(link, 1), 0, bytes.into()));
    let cause = Cause::Congestion(Some(1));
    let status = Indication::Status(None, Affected::one(pc(2)), cause, Some(pc(77)));
    let said = Indication::Said(world.peer(link, 1), Box::new(status));
    assert!(world.told(sgp).contains(&&said), "as what that peer says");
}

#[test]
fn what_is_told_of_destinations_names_no_network_but_an_application_servers() {
    let mut world = World::new(1);
    let (sgp, asp) = (world.node("sgp", parameters()), world.node("asp", parameters()));
    let (there, here) = (world.server(sgp, Side::There, 1, 2), world.server(asp, Side::Here, 1, 2));
    let link = world.asp_to_sgp(asp, sgp, 1);
    world.assign(link, 0, here);
    world.assign(link, 1, there);
    world.up(link);
    world.run_ms(500);
    world.forget();
    for kind in [MessageType::Scon, MessageType::Daud] {
        let mut bytes = Vec::new();
        Writer::begin(&mut bytes, kind)
            .word(Tag::NetworkAppearance, 9)
            .affected(&[Affected::one(pc(2))])
            .end();
        world.step(sgp, In::Message(world.peer(link, 1), 0, bytes.into()));
    }
    let told = world.told(sgp);
    let refused = |it: &&&Indication| {
        matches!(it, Indication::Offended(_, ErrorCode::InvalidNetworkAppearance))
    };
    assert_eq!((told.len(), told.iter().filter(refused).count()), (2, 2), "{told:?}");
}

#[test]
fn keys_pick_the_traffic_by_service_indicator_and_origin() {
    let mut world = World::new(1);
    let sgp = world.node("sgp", parameters());
    let mut asps = Vec::new();
    for (number, (si, opcs)) in [(3, vec![]), (5, vec![pc(1)])].into_iter().enumerate() {
        let asp = world.node(&format!("asp{number}"), parameters());
        let link = world.asp_to_sgp(asp, sgp, number as u32);
        for (node, side, end) in [(sgp, Side::There, 1), (asp, Side::Here, 0)] {
            let mut key = Key::of(pc(2));
            key.destinations[0].service_indicators = vec![si];
            key.destinations[0].originating.clone_from(&opcs);
            let context = Some(RoutingContext(number as u32 + 1));
            let server = world.serve(node, ServerSettings::new(side, context, key));
            world.assign(link, end, server);
        }
        world.up(link);
        asps.push(asp);
    }
    world.run_ms(500);
    for (si, opc) in [(3, 1), (3, 9), (5, 1), (5, 9), (4, 1)] {
        world.step(sgp, In::Transfer(Transfer { si, ..msu(opc, 2, 0, &[si, opc as u8]) }));
    }
    world.run_ms(100);
    assert_eq!(asps.iter().map(|it| world.payloads(*it).len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(world.metric(sgp, Metric::Unroutable), 2);
    let mut overlapping = Key::of(pc(2));
    overlapping.destinations[0].originating = vec![pc(1), pc(4)];
    let settings = ServerSettings::new(Side::There, Some(RoutingContext(9)), overlapping);
    assert_eq!(world.nodes[sgp].add_server(settings), Err(Refused::Overlap));
}

#[test]
fn what_does_not_go_together_is_not_configured() {
    let mut world = World::new(1);
    let node = world.node("sgp", parameters());
    let (process, now) = (&mut world.nodes[node], world.now);
    let peer = process.add_peer(PeerSettings::new(Role::Sgp)).unwrap();
    let assign = |process: &mut Process, server| process.assign(now, server, peer, &mut Vec::new());
    let context = |number| Some(RoutingContext(number));
    let of = |side, number: Option<RoutingContext>, dpc| {
        ServerSettings::new(side, number, Key::of(pc(dpc)))
    };
    let here = process.add_server(of(Side::Here, context(1), 1)).unwrap();
    assert_eq!(assign(process, here), Err(Refused::Side));
    let there = process.add_server(of(Side::There, context(1), 1)).unwrap();
    assert_eq!(assign(process, there), Ok(()));
    assert_eq!(assign(process, there), Err(Refused::Exists));
    let again = process.add_server(of(Side::There, context(1), 2));
    assert_eq!(again, Err(Refused::RoutingContext));
    let nameless = process.add_server(of(Side::There, None, 3)).unwrap();
    assert_eq!(assign(process, nameless), Err(Refused::RoutingContext));
    let empty = ServerSettings::new(Side::There, context(4), Key::default());
    assert_eq!(process.add_server(empty), Err(Refused::Key));
    process.remove_peer(now, peer, &mut Vec::new());
    assert_eq!(assign(process, there), Err(Refused::Unknown));
    process.remove_server(now, there, &mut Vec::new());
    assert!(process.add_server(of(Side::There, context(1), 1)).is_ok(), "its name is free");
    let mut wrong = parameters();
    wrong.t_r = Duration::ZERO;
    assert_eq!(wrong.validate(), Err("t_r"));
    wrong = Parameters { pending_messages_max: usize::MAX, ..parameters() };
    assert_eq!(wrong.validate(), Err("pending_messages_max"));
    wrong = Parameters { pending_total_bytes_max: usize::MAX, ..parameters() };
    assert_eq!(wrong.validate(), Err("pending_total_bytes_max"));
}

#[test]
fn flows_keep_to_their_stream_and_never_use_stream_zero() {
    let (mut world, asp, _) = two_gateways();
    let mut streams = std::collections::BTreeMap::new();
    for turn in 0..512u32 {
        let sls = turn as u8;
        let mut out = Vec::new();
        let transfer = In::Transfer(msu(2, 7, sls, b"x"));
        world.nodes[asp].step(world.now, transfer, &mut out);
        let Some(Out::Send(peer, stream, bytes)) = out.pop() else { panic!("sent") };
        assert!(stream > 0 && stream < world::STREAMS);
        assert_eq!(*streams.entry(sls).or_insert((peer, stream)), (peer, stream));
        let message = Message::read(&bytes).unwrap();
        assert_eq!(Data::of(&message).unwrap().protocol_data.sls, sls);
    }
}

/// Every metric moves, so that none is exported in vain.
#[test]
fn every_fact_moves() {
    let mut world = World::new(3);
    let mut set = parameters();
    set.registration = Registration::Open;
    set.pending_messages_max = 1;
    set.ack_retries_max = Some(1);
    set.t_beat = Some(Duration::from_secs(1));
    let (sgp, asp) = (world.node("sgp", set), world.node("asp", set));
    let mut there = ServerSettings::new(Side::There, Some(RoutingContext(1)), Key::of(pc(2)));
    there.mode = Some(TrafficMode::Override);
    let there = world.serve(sgp, there);
    let here = world.server(asp, Side::Here, 1, 2);
    let mut other = ServerSettings::new(Side::Here, None, Key::of(pc(3)));
    other.registers = true;
    let other = world.serve(asp, other);
    let mut refused = ServerSettings::new(Side::Here, None, Key::of(pc(4)));
    refused.registers = true;
    refused.key.network = Some(NetworkAppearance(8));
    let refused = world.serve(asp, refused);
    let link = world.asp_to_sgp(asp, sgp, 1);
    world.assign(link, 0, here);
    world.assign(link, 0, other);
    world.assign(link, 0, refused);
    world.assign(link, 1, there);
    let (to_sgp, to_asp) = (world.peer(link, 0), world.peer(link, 1));
    world.up(link);
    world.run_ms(1_500);
    world.step(sgp, In::Transfer(msu(1, 2, 0, b"arrives")));
    world.step(sgp, In::Transfer(msu(1, 99, 0, b"unroutable")));
    let payload = Bytes::from(vec![0; PAYLOAD_BYTES_MAX + 1]);
    world.step(sgp, In::Transfer(Transfer { payload, ..msu(1, 2, 0, b"") }));
    world.step(asp, In::Audit(to_sgp, None, vec![Affected::one(pc(2))]));
    world.run_ms(100);
    let ranges = (0..=RANGES_MAX).map(|number| {
        // Every other destination, so that no range swallows another.
        Affected::one(pc(2 * number))
    });
    for range in ranges {
        let mut out = Vec::new();
        let pause = In::Pause(Some(NetworkAppearance(77)), range);
        world.nodes[sgp].step(world.now, pause, &mut out);
    }
    world.step(asp, In::AspInactive(to_sgp, here));
    world.run_ms(100);
    world.step(sgp, In::Transfer(msu(1, 2, 0, b"waits")));
    world.step(sgp, In::Transfer(msu(1, 2, 0, b"is shed")));
    world.step(asp, In::AspActive(to_sgp, here));
    world.run_ms(100);
    world.cut(link);
    world.step(sgp, In::Transfer(msu(1, 2, 0, b"waits in vain")));
    world.run_ms(3_000);
    world.step(asp, In::Message(to_sgp, 0, Bytes::from_static(b"stray")));
    world.step(sgp, In::Message(to_asp, 0, Bytes::from_static(b"stray")));
    world.up(link);
    world.run_ms(1_500);
    let mut data = Vec::new();
    let transfer = msu(1, 9, 0, b"x");
    let label = m3ua::codec::ProtocolData {
        opc: transfer.opc,
        dpc: transfer.dpc,
        si: 3,
        ni: 2,
        mp: 0,
        sls: 0,
        payload: b"x",
    };
    let routing_context = Some(RoutingContext(1));
    Data { network: None, routing_context, protocol_data: label, correlation: None }
        .write(&mut data);
    world.step(asp, In::AspInactive(to_sgp, here));
    world.run_ms(3_000);
    world.step(sgp, In::Message(to_asp, 1, data.into()));
    world.run_ms(100);
    let (mut beat, info) = (Vec::new(), b"passed over");
    Writer::begin(&mut beat, MessageType::Beat).octets(Tag::InfoString, info).end();
    world.step(sgp, In::Message(to_asp, 0, beat.into()));
    // Nothing arrives any more, and nobody says so.
    world.links[link].is_up = false;
    world.step(asp, In::AspActive(to_sgp, here));
    let patient = Parameters { t_beat: Some(Duration::from_secs(60)), ..set };
    world.step(asp, In::SetParameters(patient));
    world.run_ms(10_000);
    for (index, row) in Metric::ROWS.iter().enumerate() {
        let moved: u64 = [sgp, asp]
            .iter()
            .map(|node| {
                let readings = world.nodes[*node].metrics().cells();
                let reading = readings.samples().nth(index).map(|(_, reading)| reading);
                match reading {
                    Some(event::Sample::Value(value)) => value,
                    other => panic!("{other:?}"),
                }
            })
            .sum();
        assert!(moved > 0, "{} never moved", row.name);
    }
}

#[test]
fn ranges_of_one_message_are_joined_before_anybody_hears_of_them() {
    let (mut world, asp, sgps) = two_gateways();
    let duna = |of: &[Affected]| {
        let mut bytes = Vec::new();
        Writer::begin(&mut bytes, MessageType::Duna)
            .word(Tag::RoutingContext, 1)
            .affected(of)
            .end();
        Bytes::from(bytes)
    };
    let (one, range) = (
        |number| Affected::one(pc(number)),
        |number, mask| Affected { point_code: pc(number), mask },
    );
    let told = [one(5), one(5), one(4), range(6, 1), one(9), range(8, 2), one(20), one(5)];
    world.step(sgps[0], In::Pause(None, range(0, 24)));
    world.run_ms(100);
    world.forget();
    for link in [0, 1] {
        let peer = world.peer(link, 0);
        let bytes = duna(&told);
        world.act(asp, |process, now, out| process.step(now, In::Message(peer, 0, bytes), out));
    }
    let paused: Vec<Affected> = world
        .told(asp)
        .into_iter()
        .filter_map(|it| match it {
            Indication::Pause(_, range) => Some(*range),
            _ => None,
        })
        .collect();
    assert_eq!(paused, [range(4, 2), range(8, 2), one(20)].map(|it| it));
}
