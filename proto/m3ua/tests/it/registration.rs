//! Dynamic registration: every Registration Status and Deregistration Status (RFC 4666 §4.4).

use crate::world::{World, msu, parameters, pc};
use bytes::Bytes;
use m3ua::codec::{
    DeregistrationResult, DeregistrationStatus, Message, MessageType, NetworkAppearance,
    RegistrationResult, RegistrationStatus, RoutingContext, ServerState, Tag, TrafficMode, Writer,
};
use m3ua::{
    In, Indication, Key, Metric, Out, Parameters, PeerId, PeerSettings, Process, Registration,
    Role, ServerSettings, Settings, Side,
};
use machine::{Machine, Time};

struct Sgp {
    process: Process,
    peers: Vec<PeerId>,
}

/// An SGP with a provisioned Application Server (RC 5, DPC 50, loadshare) and three ASPs that are
/// up, of which the last may not register.
fn sgp(registration: Registration, servers_max: usize) -> Sgp {
    sgp_of(registration, servers_max, &[true, true, false])
}

fn sgp_of(registration: Registration, servers_max: usize, may_register: &[bool]) -> Sgp {
    let parameters = Parameters { registration, ..Parameters::rfc4666() };
    let peers_max = may_register.len() + 1;
    let mut process = Process::new(Settings { peers_max, servers_max, parameters }).unwrap();
    let mut settings = ServerSettings::new(Side::There, Some(RoutingContext(5)), Key::of(pc(50)));
    settings.mode = Some(TrafficMode::Loadshare);
    process.add_server(settings).unwrap();
    let mut peers = Vec::new();
    for &may_register in may_register {
        let settings = PeerSettings { may_register, ..PeerSettings::new(Role::Sgp) };
        let peer = process.add_peer(settings).unwrap();
        process.step(Time::ZERO, In::CommunicationUp(peer, Some(2)), &mut Vec::new());
        let mut up = Vec::new();
        Writer::begin(&mut up, MessageType::AspUp).end();
        process.step(Time::ZERO, In::Message(peer, 0, up.into()), &mut Vec::new());
        peers.push(peer);
    }
    Sgp { process, peers }
}

impl Sgp {
    fn say(
        &mut self,
        peer: usize,
        kind: MessageType,
        fill: impl FnOnce(Writer<'_>) -> Writer<'_>,
    ) -> Vec<Out> {
        let mut bytes = Vec::new();
        fill(Writer::begin(&mut bytes, kind)).end();
        let mut out = Vec::new();
        let peer = self.peers[peer];
        self.process.step(Time::ZERO, In::Message(peer, 0, Bytes::from(bytes)), &mut out);
        out
    }

    /// Status and context of a request with these parameters in its key.
    fn register(
        &mut self,
        peer: usize,
        fill: impl FnOnce(Writer<'_>) -> Writer<'_>,
    ) -> (RegistrationStatus, u32) {
        let out = self.say(peer, MessageType::RegReq, |writer| {
            writer.group(Tag::RoutingKey, |inner| {
                fill(inner.word(Tag::LocalRoutingKeyIdentifier, 33))
            })
        });
        let sent = out.iter().find_map(|effect| match effect {
            Out::Send(_, _, bytes) => Some(bytes.clone()),
            _ => None,
        });
        let bytes = sent.expect("it is answered");
        let read = Message::read(&bytes).unwrap();
        let (at, value) = read.all(Tag::RegistrationResult).next().unwrap();
        let result = RegistrationResult::read(at, value).unwrap();
        assert_eq!(result.identifier, 33);
        (RegistrationStatus::of(result.status).unwrap(), result.routing_context.0)
    }

    fn dpc(&mut self, peer: usize, dpc: u32) -> (RegistrationStatus, u32) {
        self.register(peer, |inner| inner.word(Tag::DestinationPointCode, dpc))
    }

    fn deregister(&mut self, peer: usize, context: u32) -> DeregistrationStatus {
        let out = self.say(peer, MessageType::DeregReq, |it| it.word(Tag::RoutingContext, context));
        let sent = out.iter().find_map(|effect| match effect {
            Out::Send(_, _, bytes) => Some(bytes.clone()),
            _ => None,
        });
        let bytes = sent.expect("it is answered");
        let read = Message::read(&bytes).unwrap();
        let (at, value) = read.all(Tag::DeregistrationResult).next().unwrap();
        let result = DeregistrationResult::read(at, value).unwrap();
        assert_eq!(result.routing_context.0, context);
        DeregistrationStatus::of(result.status).unwrap()
    }
}

#[test]
fn a_provisioned_key_is_registered_with_its_context() {
    let mut sgp = sgp(Registration::Provisioned, 8);
    assert_eq!(sgp.dpc(0, 50), (RegistrationStatus::Registered, 5));
    assert_eq!(sgp.dpc(1, 50), (RegistrationStatus::Registered, 5));
    assert_eq!(sgp.dpc(0, 50), (RegistrationStatus::AlreadyRegistered, 0));
    assert_eq!(sgp.dpc(0, 51), (RegistrationStatus::NotProvisioned, 0));
    assert_eq!(sgp.process.metrics().read(Metric::Registrations), 2);
    assert_eq!(sgp.process.metrics().read(Metric::RegistrationsRefused), 2);
}

#[test]
fn every_refusal_has_its_status() {
    let mut sgp = sgp(Registration::Open, 3);
    assert_eq!(sgp.dpc(2, 60).0, RegistrationStatus::PermissionDenied);
    assert_eq!(sgp.dpc(0, 0x0100_0000).0, RegistrationStatus::InvalidDpc);
    let network = sgp.register(0, |inner| {
        inner.word(Tag::DestinationPointCode, 60).word(Tag::NetworkAppearance, 9)
    });
    assert_eq!(network.0, RegistrationStatus::InvalidNetworkAppearance);
    let nothing = sgp.register(0, |inner| inner);
    assert_eq!(nothing.0, RegistrationStatus::InvalidRoutingKey);
    let overlapping = sgp.register(0, |inner| {
        inner.word(Tag::DestinationPointCode, 50).octets(Tag::ServiceIndicators, &[3])
    });
    assert_eq!(overlapping.0, RegistrationStatus::CannotSupportUniqueRouting);
    let odd = sgp
        .register(0, |inner| inner.word(Tag::DestinationPointCode, 60).word(Tag::AspIdentifier, 1));
    assert_eq!(odd.0, RegistrationStatus::UnsupportedField);
    for (dpc, mode) in [(60, 9), (50, 1)] {
        let mode = sgp.register(0, |inner| {
            inner.word(Tag::TrafficModeType, mode).word(Tag::DestinationPointCode, dpc)
        });
        assert_eq!(mode.0, RegistrationStatus::UnsupportedTrafficMode);
    }
    let change = sgp.register(0, |inner| {
        inner.word(Tag::RoutingContext, 4).word(Tag::DestinationPointCode, 50)
    });
    assert_eq!(change.0, RegistrationStatus::ChangeRefused);
    assert_eq!(sgp.dpc(0, 61), (RegistrationStatus::Registered, 1));
    assert_eq!(sgp.dpc(0, 62), (RegistrationStatus::Registered, 2));
    assert_eq!(sgp.dpc(0, 63).0, RegistrationStatus::InsufficientResources);
}

#[test]
fn a_key_can_change_as_long_as_nobody_else_has_it() {
    let mut sgp = sgp(Registration::Open, 8);
    assert_eq!(sgp.dpc(0, 61), (RegistrationStatus::Registered, 1));
    let change = |sgp: &mut Sgp, dpc: u32| {
        sgp.register(0, |inner| {
            inner.word(Tag::RoutingContext, 1).word(Tag::DestinationPointCode, dpc)
        })
    };
    assert_eq!(change(&mut sgp, 62), (RegistrationStatus::Registered, 1));
    assert_eq!(sgp.dpc(1, 62), (RegistrationStatus::Registered, 1));
    assert_eq!(change(&mut sgp, 63).0, RegistrationStatus::ChangeRefused);
    assert_eq!(sgp.dpc(1, 61), (RegistrationStatus::Registered, 2), "the old key is free");
}

#[test]
fn deregistration_has_its_statuses_too() {
    let mut sgp = sgp(Registration::Open, 8);
    assert_eq!(sgp.dpc(0, 61), (RegistrationStatus::Registered, 1));
    assert_eq!(sgp.deregister(0, 99), DeregistrationStatus::InvalidRoutingContext);
    assert_eq!(sgp.deregister(1, 1), DeregistrationStatus::NotRegistered);
    sgp.say(0, MessageType::AspActive, |it| it.word(Tag::RoutingContext, 1));
    assert_eq!(sgp.deregister(0, 1), DeregistrationStatus::CurrentlyActive);
    sgp.say(0, MessageType::AspInactive, |it| it.word(Tag::RoutingContext, 1));
    assert_eq!(sgp.deregister(0, 1), DeregistrationStatus::Deregistered);
    assert_eq!(sgp.deregister(0, 1), DeregistrationStatus::NotRegistered, "it waits for T(r)");
    let mut out = Vec::new();
    sgp.process.tick(Time::from_millis(10_000), &mut out);
    assert_eq!(sgp.deregister(0, 1), DeregistrationStatus::InvalidRoutingContext);
}

#[test]
fn a_configured_asp_cannot_deregister() {
    let mut sgp = sgp(Registration::Open, 8);
    let key = Key::of(pc(70));
    let settings = ServerSettings::new(Side::There, Some(RoutingContext(70)), key);
    let server = sgp.process.add_server(settings).unwrap();
    let peer = sgp.peers[0];
    sgp.process.assign(Time::ZERO, server, peer, &mut Vec::new()).unwrap();
    assert_eq!(sgp.deregister(0, 70), DeregistrationStatus::PermissionDenied);
    // Registering what is configured does no harm.
    assert_eq!(sgp.dpc(0, 70), (RegistrationStatus::Registered, 70));
}

#[test]
fn several_keys_in_one_request_have_a_result_each() {
    let mut sgp = sgp(Registration::Open, 8);
    let out = sgp.say(0, MessageType::RegReq, |mut writer| {
        for (identifier, dpc) in [(1, 61), (2, 50), (3, 61)] {
            writer = writer.group(Tag::RoutingKey, |inner| {
                inner
                    .word(Tag::LocalRoutingKeyIdentifier, identifier)
                    .word(Tag::DestinationPointCode, dpc)
            });
        }
        writer
    });
    let Out::Send(_, _, bytes) = &out[0] else { panic!("{out:?}") };
    let read = Message::read(bytes).unwrap();
    let results: Vec<RegistrationResult> = read
        .all(Tag::RegistrationResult)
        .map(|(at, value)| RegistrationResult::read(at, value).unwrap())
        .collect();
    let statuses: Vec<(u32, u32)> = results.iter().map(|it| (it.identifier, it.status)).collect();
    assert_eq!(statuses, [(1, 0), (2, 0), (3, 12)]);
}

#[test]
fn what_was_registered_goes_with_the_asp_and_comes_again() {
    let mut world = World::new(1);
    let open = Parameters { registration: Registration::Open, ..parameters() };
    let (sgp, asp) = (world.node("sgp", open), world.node("asp", parameters()));
    let mut settings = ServerSettings::new(Side::Here, None, Key::of(pc(7)));
    settings.key.network = Some(NetworkAppearance(3));
    settings.registers = true;
    let here = world.serve(asp, settings);
    let link = world.asp_to_sgp(asp, sgp, 1);
    world.assign(link, 0, here);
    world.up(link);
    world.run_ms(500);
    let to_it = || {
        let network = Some(NetworkAppearance(3));
        In::Transfer(m3ua::Transfer { network, ..msu(1, 7, 0, b"waits") })
    };
    world.cut(link);
    world.step(sgp, to_it());
    world.run_ms(500);
    world.up(link);
    world.run_ms(500);
    assert_eq!(world.payloads(asp).len(), 1, "within T(r) the same key finds what waited");
    world.cut(link);
    world.run_ms(5_000);
    world.step(sgp, to_it());
    assert_eq!(world.metric(sgp, Metric::Unroutable), 1, "afterwards there is no such server");
    let down = world.told.iter().any(|(_, node, what)| {
        *node == sgp && matches!(what, Indication::Server(_, ServerState::Down))
    });
    assert!(down);
}

/// Registers one more Application Server, makes it active, and takes the ASP away from it.
fn pending(sgp: &mut Sgp, peer: usize, dpc: u32) -> u32 {
    let (status, context) = sgp.register(peer, |key| key.word(Tag::DestinationPointCode, dpc));
    assert_eq!(status, RegistrationStatus::Registered, "{dpc}");
    for kind in [MessageType::AspActive, MessageType::AspInactive] {
        sgp.say(peer, kind, |writer| writer.word(Tag::RoutingContext, context));
    }
    dpc
}

#[test]
fn a_peer_that_registers_many_servers_takes_no_more_of_the_memory_than_it_leaves() {
    const MAX: usize = 100_000;
    let mut sgp = sgp(Registration::Open, 64);
    let parameters = Parameters { pending_total_bytes_max: MAX, ..*sgp.process.parameters() };
    sgp.process.step(Time::ZERO, In::SetParameters(parameters), &mut Vec::new());
    let fill = |sgp: &mut Sgp, dpc: u32| {
        let before = sgp.process.waiting_octets();
        for _ in 0..1_000 {
            let transfer = msu(9, dpc, 0, &[7; 104]);
            sgp.process.step(Time::ZERO, In::Transfer(transfer), &mut Vec::new());
        }
        sgp.process.waiting_octets() - before
    };
    let mut greedy = 0;
    for dpc in 100..120 {
        pending(&mut sgp, 0, dpc);
        greedy += fill(&mut sgp, dpc);
    }
    assert!((MAX / 2 - 200..=MAX / 2).contains(&greedy), "{greedy}");
    let shed = sgp.process.metrics().read(Metric::Shed);
    assert_eq!(shed, 20_000 - greedy as u64 / 200, "what finds no room is counted");
    pending(&mut sgp, 1, 200);
    let modest = fill(&mut sgp, 200);
    assert!((MAX / 4 - 200..=MAX / 4).contains(&modest), "there is room for others: {modest}");
    // T(r) ends, and with it what waited.
    let mut now = Time::ZERO;
    while let Some(at) = sgp.process.deadline().filter(|at| *at <= Time::from_millis(5_000)) {
        now = now.max(at);
        sgp.process.tick(now, &mut Vec::new());
    }
    assert_eq!(sgp.process.waiting_octets(), 0);
}

#[test]
fn however_many_have_halved_what_was_left_the_next_one_finds_some() {
    const MAX: usize = 100_000;
    let mut sgp = sgp_of(Registration::Open, 64, &[true; 24]);
    let parameters = Parameters { pending_total_bytes_max: MAX, ..*sgp.process.parameters() };
    sgp.process.step(Time::ZERO, In::SetParameters(parameters), &mut Vec::new());
    for (peer, dpc) in (0..24).zip(100..) {
        pending(&mut sgp, peer, dpc);
        let before = sgp.process.metrics().read(Metric::Buffered);
        for _ in 0..1_000 {
            let transfer = msu(9, dpc, 0, &[7; 104]);
            sgp.process.step(Time::ZERO, In::Transfer(transfer), &mut Vec::new());
        }
        let buffered = sgp.process.metrics().read(Metric::Buffered) - before;
        assert!(buffered >= (MAX / 64 / 200) as u64, "{peer}: {buffered}");
        assert!(sgp.process.waiting_octets() <= MAX);
    }
}
