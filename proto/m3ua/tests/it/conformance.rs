//! What other implementations do and RFC 4666 lets them.

use crate::world::{Node, World, msu, parameters, pc};
use bytes::Bytes;
use m3ua::codec::{
    Affected, ErrorCode, Framing, Message, MessageType, NetworkAppearance, RegistrationResult,
    RoutingContext, Tag, Writer, frame,
};
use m3ua::{
    In, Indication, Key, Metric, Out, Parameters, PeerSettings, Process, Registration, Role,
    ServerSettings, Settings, Side,
};
use machine::{Machine, Time};

/// An SGP that one ASP is up at.
fn sgp(parameters: Parameters) -> (Process, m3ua::PeerId) {
    let mut process = Process::new(Settings { peers_max: 4, servers_max: 8, parameters }).unwrap();
    let peer = process.add_peer(PeerSettings::new(Role::Sgp)).unwrap();
    process.step(Time::ZERO, In::CommunicationUp(peer, Some(2)), &mut Vec::new());
    hear(&mut process, peer, MessageType::AspUp, |it| it);
    (process, peer)
}

/// What a process sends when it hears that.
fn hear(
    process: &mut Process,
    peer: m3ua::PeerId,
    kind: MessageType,
    fill: impl FnOnce(Writer<'_>) -> Writer<'_>,
) -> Vec<Bytes> {
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    fill(Writer::begin(&mut bytes, kind)).end();
    process.step(Time::ZERO, In::Message(peer, 0, bytes.into()), &mut out);
    let sent = |it| if let Out::Send(_, _, bytes) = it { Some(bytes) } else { None };
    out.into_iter().filter_map(sent).collect()
}

fn registered(answer: &[Bytes]) -> u32 {
    let message = Message::read(&answer[0]).unwrap();
    let (at, value) = message.all(Tag::RegistrationResult).next().expect("a REG RSP");
    RegistrationResult::read(at, value).unwrap().status
}

fn key(writer: Writer<'_>, dpc: u32) -> Writer<'_> {
    writer.group(Tag::RoutingKey, |inner| {
        inner.word(Tag::LocalRoutingKeyIdentifier, 1).word(Tag::DestinationPointCode, dpc)
    })
}

fn open() -> Parameters {
    Parameters { registration: Registration::Open, ..Parameters::rfc4666() }
}

#[test]
fn a_harmless_parameter_that_a_message_has_not_is_passed_over_and_counted() {
    let (mut process, peer) = sgp(open());
    let answer = hear(&mut process, peer, MessageType::RegReq, |it| {
        key(it, 7).octets(Tag::InfoString, b"hello")
    });
    assert_eq!(registered(&answer), 0);
    assert_eq!(process.metrics().read(Metric::ParametersIgnored), 1);
    assert_eq!(process.metrics().read(Metric::ErrorsOut), 0);
    // One that would say something else is refused as before.
    let answer = hear(&mut process, peer, MessageType::AspActive, |it| it.word(Tag::Status, 1));
    let error = Message::read(&answer[0]).unwrap();
    let code = ErrorCode::UnexpectedParameter.number();
    assert_eq!((error.kind, error.word(Tag::ErrorCode)), (MessageType::Err, Some(code)));
}

#[test]
fn a_class_that_is_not_spoken_is_refused_before_its_parameters_are_looked_at() {
    let (mut process, peer) =
        sgp(Parameters { registration: Registration::Unsupported, ..Parameters::rfc4666() });
    let code = Some(ErrorCode::UnsupportedMessageClass.number());
    for kind in [MessageType::RegReq, MessageType::DeregReq] {
        let answer = hear(&mut process, peer, kind, |it| it);
        assert_eq!(Message::read(&answer[0]).unwrap().word(Tag::ErrorCode), code, "{kind:?}");
    }
    let answer = hear(&mut process, peer, MessageType::RegReq, |it| key(it, 7));
    assert_eq!(Message::read(&answer[0]).unwrap().word(Tag::ErrorCode), code);
}

#[test]
fn a_message_of_another_version_is_cut_from_its_stream_to_be_answered() {
    let bytes = [2, 0, 3, 1, 0, 0, 0, 8, 1, 0, 3, 1, 0, 0, 0, 8];
    assert_eq!(frame(&bytes), Framing::Message(8));
    assert_eq!(frame(&bytes[..4]), Framing::Partial);
    assert!(matches!(frame(&[2, 0, 3, 1, 0xff, 0, 0, 8]), Framing::Broken(_)));
    let (mut process, peer) = sgp(Parameters::rfc4666());
    let mut out = Vec::new();
    let message = In::Message(peer, 0, Bytes::copy_from_slice(&bytes[..8]));
    process.step(Time::ZERO, message, &mut out);
    let invalid = Out::Indicate(Indication::Offended(peer, ErrorCode::InvalidVersion));
    assert!(out.contains(&invalid), "{out:?}");
}

#[test]
fn a_point_code_beyond_the_bits_of_the_network_is_refused() {
    let (mut process, peer) = sgp(Parameters { point_code_bits: 14, ..open() });
    let mut register =
        |dpc| registered(&hear(&mut process, peer, MessageType::RegReq, |it| key(it, dpc)));
    assert_eq!(register(0x3fff), 0);
    assert_eq!(register(0x4000), 2, "Invalid DPC");
    let beyond = hear(&mut process, peer, MessageType::RegReq, |it| {
        it.group(Tag::RoutingKey, |inner| {
            inner
                .word(Tag::LocalRoutingKeyIdentifier, 1)
                .word(Tag::DestinationPointCode, 9)
                .words(Tag::OriginatingPointCodeList, [0x4000].into_iter())
        })
    });
    assert_eq!(registered(&beyond), 4, "Invalid Routing Key");
}

#[test]
fn a_key_without_network_appearance_is_of_the_network_that_there_is() {
    let provisioned = Parameters::rfc4666();
    let (mut process, peer) = sgp(provisioned);
    let mut settings = ServerSettings::new(Side::There, Some(RoutingContext(5)), Key::of(pc(50)));
    settings.key.network = Some(NetworkAppearance(3));
    process.add_server(settings).unwrap();
    let answer = hear(&mut process, peer, MessageType::RegReq, |it| key(it, 50));
    assert_eq!(registered(&answer), 0);
    process.step(Time::ZERO, In::SetParameters(open()), &mut Vec::new());
    let answer = hear(&mut process, peer, MessageType::RegReq, |it| key(it, 51));
    assert_eq!(registered(&answer), 0);
    let mut other = ServerSettings::new(Side::There, Some(RoutingContext(6)), Key::of(pc(50)));
    other.key.network = Some(NetworkAppearance(4));
    process.add_server(other).unwrap();
    let answer = hear(&mut process, peer, MessageType::RegReq, |it| key(it, 52));
    assert_eq!(registered(&answer), 6, "Cannot Support Unique Routing: of which of them?");
}

#[test]
fn a_destination_that_is_restricted_is_told_so() {
    let mut world = World::new(1);
    let (sgp, asp) = (world.node("sgp", parameters()), world.node("asp", parameters()));
    let (here, there) = (world.server(asp, Side::Here, 1, 7), world.server(sgp, Side::There, 1, 7));
    let link = world.asp_to_sgp(asp, sgp, 1);
    world.assign(link, 0, here);
    world.assign(link, 1, there);
    world.up(link);
    world.run_ms(500);
    let range = Affected::one(pc(9));
    let expect = |world: &mut World, input: In, told: Option<Indication>| {
        world.forget();
        world.step(sgp, input);
        world.run_ms(500);
        assert_eq!(world.told(asp), told.iter().collect::<Vec<_>>());
    };
    expect(&mut world, In::Restrict(None, range), Some(Indication::Restrict(None, range)));
    expect(&mut world, In::Restrict(None, range), None);
    expect(&mut world, In::Resume(None, range), Some(Indication::Resume(None, range)));
    expect(&mut world, In::Pause(None, range), Some(Indication::Pause(None, range)));
    expect(&mut world, In::Restrict(None, range), Some(Indication::Restrict(None, range)));
}

/// An ASP that has registered a key at an SGP and is active.
fn registrant() -> (World, [Node; 2], m3ua::PeerId) {
    let mut world = World::new(1);
    let (sgp, asp) = (world.node("sgp", open()), world.node("asp", parameters()));
    let mut settings = ServerSettings::new(Side::Here, None, Key::of(pc(7)));
    settings.registers = true;
    let here = world.serve(asp, settings);
    let link = world.asp_to_sgp(asp, sgp, 1);
    world.assign(link, 0, here);
    world.up(link);
    world.run_ms(500);
    world.forget();
    let peer = world.peer(link, 0);
    (world, [sgp, asp], peer)
}

#[test]
fn whoever_leaves_gives_back_what_it_registered_and_has_it_again_when_it_comes() {
    let (mut world, [sgp, asp], peer) = registrant();
    world.step(asp, In::AspDown(peer));
    world.run_ms(5_000);
    let lines: Vec<String> = world.lines().into_iter().filter(|it| !it.contains("NTFY")).collect();
    let expected = [
        "asp > sgp ASPIA RC=1",
        "sgp > asp ASPIA ACK RC=1",
        "asp > sgp DEREG REQ RC=1",
        "sgp > asp DEREG RSP",
        "asp > sgp ASPDN",
        "sgp > asp ASPDN ACK",
    ];
    assert_eq!(lines, expected);
    assert_eq!(world.nodes[sgp].servers().count(), 0, "its Application Server went with it");
    world.step(asp, In::AspUp(peer));
    world.run_ms(500);
    assert_eq!(world.nodes[sgp].servers().count(), 1);
    world.step(sgp, In::Transfer(msu(1, 7, 0, b"again")));
    world.run_ms(500);
    assert_eq!(world.payloads(asp).len(), 1);
}

#[test]
fn a_peer_that_takes_nothing_back_is_left_all_the_same() {
    let (mut world, [_, asp], peer) = registrant();
    // The SGP falls silent: all that it says is lost.
    let mut lines = Vec::new();
    world.act(asp, |process, now, _| {
        let mut out = Vec::new();
        process.step(now, In::AspDown(peer), &mut out);
        for _ in 0..10 {
            let Some(at) = process.deadline() else { break };
            process.tick(at, &mut out);
        }
        for it in out {
            if let Out::Send(_, _, bytes) = it {
                lines.push(Message::read(&bytes).unwrap().kind.name());
            }
        }
    });
    assert_eq!(lines[..3], ["ASPIA", "ASPIA", "ASPDN"], "{lines:?}");
}

#[test]
fn an_audit_follows_a_user_part_that_is_unavailable() {
    let mut world = World::new(1);
    let audits = Parameters { t_audit: Some(machine::Duration::from_secs(1)), ..parameters() };
    let (sgp, asp) = (world.node("sgp", parameters()), world.node("asp", audits));
    let (here, there) = (world.server(asp, Side::Here, 1, 7), world.server(sgp, Side::There, 1, 7));
    let link = world.asp_to_sgp(asp, sgp, 1);
    world.assign(link, 0, here);
    world.assign(link, 1, there);
    world.up(link);
    world.run_ms(500);
    world.step(sgp, In::Resume(None, Affected::one(pc(9))));
    world.run_ms(500);
    world.forget();
    let user = m3ua::codec::UserCause { user: 3, cause: 1 };
    let cause = m3ua::Cause::UserPartUnavailable(user);
    world.step(sgp, In::Status(None, Affected::one(pc(9)), cause));
    world.run_ms(5_000);
    let expected = ["sgp > asp DUPU RC=1", "asp > sgp DAUD RC=1", "sgp > asp DAVA RC=1"];
    assert_eq!(world.lines(), expected, "once");
}
