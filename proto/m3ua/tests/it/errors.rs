//! Every error code: what offends, and the ERR that answers it (RFC 4666 §3.8.1).

use crate::every;
use bytes::Bytes;
use m3ua::codec::{
    Affected, ErrorCode, Message, MessageType, NetworkAppearance, RoutingContext, Tag, TrafficMode,
    Writer,
};
use m3ua::{
    In, Indication, Key, Metric, Out, Parameters, PeerId, PeerSettings, Process, Registration,
    Role, ServerId, ServerSettings, Settings, Side, Transfer,
};
use machine::{Duration, Machine, Time};

const NETWORK: NetworkAppearance = NetworkAppearance(4);

struct Sgp {
    process: Process,
    peers: [PeerId; 2],
    servers: [ServerId; 2],
    now: Time,
}

fn pc(number: u32) -> m3ua::codec::PointCode {
    m3ua::codec::PointCode::new(number).unwrap()
}

/// An SGP with two Application Servers, RC 1 (override) and RC 2 (loadshare), and two ASPs in
/// both, up but not active.
fn sgp(parameters: Parameters) -> Sgp {
    let settings = Settings { peers_max: 4, servers_max: 8, parameters };
    let mut process = Process::new(settings).unwrap();
    let servers =
        [(1, TrafficMode::Override), (2, TrafficMode::Loadshare)].map(|(number, mode)| {
            let mut key = Key::of(pc(10 + number));
            key.network = Some(NETWORK);
            let mut settings = ServerSettings::new(Side::There, Some(RoutingContext(number)), key);
            settings.mode = Some(mode);
            process.add_server(settings).unwrap()
        });
    let peers = [0, 1].map(|_| process.add_peer(PeerSettings::new(Role::Sgp)).unwrap());
    let now = Time::from_millis(1);
    for peer in peers {
        for server in servers {
            process.assign(now, server, peer, &mut Vec::new()).unwrap();
        }
        process.step(now, In::CommunicationUp(peer, Some(8)), &mut Vec::new());
    }
    Sgp { process, peers, servers, now }
}

fn write(kind: MessageType, fill: impl FnOnce(Writer<'_>) -> Writer<'_>) -> Bytes {
    let mut bytes = Vec::new();
    fill(Writer::begin(&mut bytes, kind)).end();
    bytes.into()
}

impl Sgp {
    fn hear(&mut self, peer: usize, stream: u16, bytes: Bytes) -> Vec<Out> {
        let mut out = Vec::new();
        let peer = self.peers[peer];
        self.process.step(self.now, In::Message(peer, stream, bytes), &mut out);
        out
    }
    fn up(&mut self, peer: usize, identifier: u32) -> Vec<Out> {
        let up = write(MessageType::AspUp, |it| it.word(Tag::AspIdentifier, identifier));
        self.hear(peer, 0, up)
    }
    fn active(&mut self, peer: usize, context: u32) -> Vec<Out> {
        self.hear(
            peer,
            0,
            write(MessageType::AspActive, |it| it.word(Tag::RoutingContext, context)),
        )
    }
}

/// What was sent to anybody, by type.
fn kinds(out: &[Out]) -> Vec<MessageType> {
    let sent = out.iter().filter_map(|effect| match effect {
        Out::Send(_, _, bytes) => Some(Message::read(bytes).unwrap().kind),
        _ => None,
    });
    sent.collect()
}

struct Err {
    code: ErrorCode,
    contexts: Vec<u32>,
    network: Option<u32>,
    affected: usize,
    diagnostic: Vec<u8>,
}

fn errors(out: &[Out]) -> Vec<Err> {
    let mut errors = Vec::new();
    for effect in out {
        let Out::Send(_, stream, bytes) = effect else { continue };
        let read = Message::read(bytes).unwrap();
        if read.kind == MessageType::Err {
            assert_eq!(*stream, 0);
            errors.push(Err {
                code: ErrorCode::of(read.word(Tag::ErrorCode).unwrap()).unwrap(),
                contexts: read.routing_contexts().map(|context| context.0).collect(),
                network: read.word(Tag::NetworkAppearance),
                affected: read.affected().count(),
                diagnostic: read.value(Tag::DiagnosticInformation).unwrap_or_default().to_vec(),
            });
        }
    }
    errors
}

#[track_caller]
fn only(out: &[Out]) -> Err {
    let mut errors = errors(out);
    assert_eq!(errors.len(), 1, "one ERR: {out:?}");
    errors.remove(0)
}

fn data(context: Option<u32>, network: Option<u32>) -> Bytes {
    let label = [0, 0, 0, 1, 0, 0, 0, 9, 3, 2, 0, 9];
    write(MessageType::Data, |it| {
        it.optional(Tag::NetworkAppearance, network)
            .optional(Tag::RoutingContext, context)
            .octets(Tag::ProtocolData, &label)
    })
}

#[test]
fn a_malformed_message_is_answered_by_its_code_and_shown() {
    for (bytes, code) in [
        (&[2, 0, 3, 1, 0, 0, 0, 8][..], ErrorCode::InvalidVersion),
        (&[1, 0, 5, 1, 0, 0, 0, 8], ErrorCode::UnsupportedMessageClass),
        (&[1, 0, 3, 9, 0, 0, 0, 8], ErrorCode::UnsupportedMessageType),
        (&[1, 0, 3, 1, 0, 0, 0, 99], ErrorCode::ProtocolError),
        (&[1, 0, 3, 1, 0, 0, 0, 12, 0, 17, 0, 4], ErrorCode::ParameterFieldError),
        (&[1, 0, 3, 3, 0, 0, 0, 16, 0, 13, 0, 8, 0, 1, 0, 2], ErrorCode::UnexpectedParameter),
        (&[1, 0, 2, 3, 0, 0, 0, 8], ErrorCode::MissingParameter),
    ] {
        let mut sgp = sgp(Parameters::rfc4666());
        let out = sgp.hear(0, 0, Bytes::copy_from_slice(bytes));
        let error = only(&out);
        assert_eq!((error.code, &error.diagnostic[..]), (code, bytes));
        let told = Out::Indicate(Indication::Offended(sgp.peers[0], code));
        assert!(out.contains(&told));
        assert_eq!(sgp.process.metrics().read(Metric::ErrorsOut), 1);
    }
}

#[test]
fn an_err_is_never_answered_by_an_err() {
    let mut sgp = sgp(Parameters::rfc4666());
    let malformed = Bytes::from_static(&[1, 0, 0, 0, 0, 0, 0, 8]);
    let elsewhere = write(MessageType::Err, |it| it.word(Tag::ErrorCode, 7));
    for (stream, bytes) in [(0, malformed), (5, elsewhere.clone()), (0, elsewhere)] {
        assert!(errors(&sgp.hear(0, stream, bytes)).is_empty());
    }
}

#[test]
fn messages_on_the_wrong_stream_are_refused() {
    let mut sgp = sgp(Parameters::rfc4666());
    let up = write(MessageType::AspUp, |it| it);
    assert_eq!(only(&sgp.hear(0, 1, up)).code, ErrorCode::InvalidStreamIdentifier);
    let misplaced = sgp.hear(0, 0, data(Some(1), None));
    assert_eq!(only(&misplaced).code, ErrorCode::InvalidStreamIdentifier);
    let beat = write(MessageType::Beat, |it| it.octets(Tag::HeartbeatData, b"any stream"));
    assert_eq!(kinds(&sgp.hear(0, 7, beat)), [MessageType::BeatAck]);
}

#[test]
fn what_is_not_expected_now_is_told_with_its_contexts() {
    let mut sgp = sgp(Parameters::rfc4666());
    let error = only(&sgp.active(0, 1));
    assert_eq!((error.code, error.contexts), (ErrorCode::UnexpectedMessage, vec![1]));
    sgp.up(0, 1);
    let error = only(&sgp.hear(0, 3, data(Some(2), None)));
    assert_eq!((error.code, error.contexts), (ErrorCode::UnexpectedMessage, vec![2]));
    let duna = |it: Writer<'_>| {
        it.affected(&[Affected::one(pc(1))]).end();
    };
    let mut bytes = Vec::new();
    duna(Writer::begin(&mut bytes, MessageType::Duna));
    assert_eq!(only(&sgp.hear(0, 0, bytes.into())).code, ErrorCode::UnexpectedMessage);
    let ack = write(MessageType::AspUpAck, |it| it);
    assert_eq!(only(&sgp.hear(0, 0, ack)).code, ErrorCode::UnexpectedMessage);
    let notify = write(MessageType::Ntfy, |it| it.word(Tag::Status, 0x0001_0003));
    assert_eq!(only(&sgp.hear(0, 0, notify)).code, ErrorCode::UnexpectedMessage);
}

#[test]
fn an_active_asp_that_comes_up_is_told_and_is_inactive() {
    let mut sgp = sgp(Parameters::rfc4666());
    sgp.up(0, 1);
    sgp.active(0, 1);
    assert!(sgp.process.is_active(sgp.peers[0], sgp.servers[0]));
    let out = sgp.up(0, 1);
    assert_eq!(kinds(&out)[0], MessageType::AspUpAck);
    assert_eq!(only(&out).code, ErrorCode::UnexpectedMessage);
    assert!(!sgp.process.is_active(sgp.peers[0], sgp.servers[0]));
    // One that is only up is answered, and that is all.
    assert_eq!(kinds(&sgp.up(0, 1)), [MessageType::AspUpAck]);
}

#[test]
fn routing_contexts_that_nobody_knows_are_named_and_the_others_taken() {
    let mut sgp = sgp(Parameters::rfc4666());
    sgp.up(0, 1);
    let active = write(MessageType::AspActive, |it| {
        it.routing_contexts([2, 77, 78].map(RoutingContext).into_iter())
    });
    let out = sgp.hear(0, 0, active);
    let error = only(&out);
    assert_eq!((error.code, error.contexts), (ErrorCode::InvalidRoutingContext, vec![77, 78]));
    assert_eq!(kinds(&out)[0], MessageType::AspActiveAck);
    assert!(sgp.process.is_active(sgp.peers[0], sgp.servers[1]));
    let error = only(&sgp.hear(0, 3, data(Some(99), None)));
    assert_eq!((error.code, error.contexts), (ErrorCode::InvalidRoutingContext, vec![99]));
    // DATA without a context could be for either Application Server.
    assert_eq!(only(&sgp.hear(0, 3, data(None, None))).code, ErrorCode::NoConfiguredAs);
}

#[test]
fn an_asp_without_application_servers_cannot_be_active() {
    let settings = Settings { peers_max: 1, servers_max: 1, parameters: Parameters::rfc4666() };
    let mut process = Process::new(settings).unwrap();
    let peer = process.add_peer(PeerSettings::new(Role::Sgp)).unwrap();
    let mut out = Vec::new();
    process.step(Time::ZERO, In::CommunicationUp(peer, None), &mut out);
    for kind in [MessageType::AspUp, MessageType::AspActive] {
        out.clear();
        process.step(Time::ZERO, In::Message(peer, 0, write(kind, |it| it)), &mut out);
    }
    assert_eq!(only(&out).code, ErrorCode::NoConfiguredAs);
}

#[test]
fn traffic_modes_that_do_not_fit_are_refused() {
    let mut sgp = sgp(Parameters::rfc4666());
    sgp.up(0, 1);
    for (mode, context) in [(2, 1), (9, 1), (3, 2), (0, 2)] {
        let active = write(MessageType::AspActive, |it| {
            it.word(Tag::TrafficModeType, mode).word(Tag::RoutingContext, context)
        });
        let error = only(&sgp.hear(0, 0, active));
        assert_eq!(error.code, ErrorCode::UnsupportedTrafficModeType);
        assert_eq!(error.contexts, [context]);
    }
}

#[test]
fn a_blocked_asp_is_refused() {
    let mut sgp = sgp(Parameters::rfc4666());
    sgp.up(0, 1);
    let (peer, now) = (sgp.peers[0], sgp.now);
    let mut out = Vec::new();
    sgp.process.step(now, In::Block(peer, true), &mut out);
    assert_eq!(kinds(&out), [MessageType::AspDownAck]);
    assert_eq!(only(&sgp.up(0, 1)).code, ErrorCode::RefusedManagementBlocking);
}

#[test]
fn asp_identifiers_are_required_and_unique_where_that_is_set() {
    let parameters = Parameters { requires_asp_identifier: true, ..Parameters::rfc4666() };
    let mut sgp = sgp(parameters);
    let bare = sgp.hear(0, 0, write(MessageType::AspUp, |it| it));
    assert_eq!(only(&bare).code, ErrorCode::AspIdentifierRequired);
    assert!(errors(&sgp.up(0, 7)).is_empty());
    assert_eq!(only(&sgp.up(1, 7)).code, ErrorCode::InvalidAspIdentifier);
    assert!(errors(&sgp.up(1, 8)).is_empty());
}

#[test]
fn values_outside_of_their_range_are_refused() {
    let mut sgp = sgp(Parameters::rfc4666());
    sgp.up(0, 1);
    sgp.active(0, 1);
    let congestion = write(MessageType::Scon, |it| {
        it.affected(&[Affected::one(pc(1))]).word(Tag::CongestionIndications, 4)
    });
    assert_eq!(only(&sgp.hear(0, 0, congestion)).code, ErrorCode::InvalidParameterValue);
    let mut label = [0, 0, 0, 1, 0, 0, 0, 9, 3, 2, 0, 9];
    label[0] = 1;
    let bytes = write(MessageType::Data, |it| {
        it.word(Tag::RoutingContext, 1).octets(Tag::ProtocolData, &label)
    });
    assert_eq!(only(&sgp.hear(0, 1, bytes)).code, ErrorCode::InvalidParameterValue);
}

#[test]
fn an_asp_refuses_values_outside_of_their_range_too() {
    let settings = Settings { peers_max: 1, servers_max: 1, parameters: Parameters::rfc4666() };
    let mut process = Process::new(settings).unwrap();
    let peer = process.add_peer(PeerSettings::new(Role::Asp)).unwrap();
    let server = ServerSettings::new(Side::Here, Some(RoutingContext(1)), Key::of(pc(2)));
    let server = process.add_server(server).unwrap();
    let (now, mut out) = (Time::ZERO, Vec::new());
    process.assign(now, server, peer, &mut out).unwrap();
    process.step(now, In::CommunicationUp(peer, Some(4)), &mut out);
    for kind in [MessageType::AspUpAck, MessageType::AspActiveAck] {
        process.step(now, In::Message(peer, 0, write(kind, |it| it)), &mut out);
    }
    assert!(process.is_active(peer, server));
    let range = Affected { point_code: pc(8), mask: 1 };
    let user = |it: Writer<'_>| it.word(Tag::UserCause, 3).end();
    let mut two = Vec::new();
    user(
        Writer::begin(&mut two, MessageType::Dupu)
            .affected(&[Affected::one(pc(1)), Affected::one(pc(2))]),
    );
    let mut masked = Vec::new();
    user(Writer::begin(&mut masked, MessageType::Dupu).affected(&[range]));
    let notify = write(MessageType::Ntfy, |it| it.word(Tag::Status, 0x0001_0009));
    for bytes in [two.into(), masked.into(), notify] {
        out.clear();
        process.step(now, In::Message(peer, 0, bytes), &mut out);
        assert_eq!(only(&out).code, ErrorCode::InvalidParameterValue);
    }
}

#[test]
fn networks_that_are_not_configured_are_named() {
    let mut sgp = sgp(Parameters::rfc4666());
    sgp.up(0, 1);
    sgp.active(0, 1);
    let error = only(&sgp.hear(0, 1, data(Some(1), Some(66))));
    assert_eq!((error.code, error.network), (ErrorCode::InvalidNetworkAppearance, Some(66)));
    let audit = write(MessageType::Daud, |it| {
        it.word(Tag::NetworkAppearance, 67).affected(&[Affected::one(pc(1))])
    });
    let error = only(&sgp.hear(0, 0, audit));
    assert_eq!((error.code, error.network), (ErrorCode::InvalidNetworkAppearance, Some(67)));
    let out = sgp.hear(0, 1, data(Some(1), Some(NETWORK.0)));
    assert!(matches!(&out[..], [Out::Indicate(Indication::Transfer(..))]), "{out:?}");
}

#[test]
fn a_server_of_no_network_does_not_speak_in_one_that_others_have() {
    let mut sgp = sgp(Parameters::rfc4666());
    let settings = ServerSettings::new(Side::There, Some(RoutingContext(3)), Key::of(pc(13)));
    let server = sgp.process.add_server(settings).unwrap();
    sgp.process.assign(sgp.now, server, sgp.peers[0], &mut Vec::new()).unwrap();
    sgp.up(0, 1);
    sgp.active(0, 3);
    let error = only(&sgp.hear(0, 1, data(Some(3), Some(NETWORK.0))));
    assert_eq!(error.code, ErrorCode::InvalidNetworkAppearance);
    let out = sgp.hear(0, 1, data(Some(3), None));
    assert!(matches!(&out[..], [Out::Indicate(Indication::Transfer(_, _, _, it))]
        if it.network.is_none()));
}

#[test]
fn an_audit_can_be_refused() {
    let parameters = Parameters { refuses_audits: true, ..Parameters::rfc4666() };
    let mut sgp = sgp(parameters);
    sgp.up(0, 1);
    sgp.active(0, 1);
    let audit = write(MessageType::Daud, |it| {
        it.word(Tag::RoutingContext, 1).affected(&[Affected::one(pc(1)), Affected::one(pc(2))])
    });
    let error = only(&sgp.hear(0, 0, audit));
    assert_eq!(error.code, ErrorCode::DestinationStatusUnknown);
    assert_eq!((error.affected, error.contexts, error.network), (2, vec![1], Some(NETWORK.0)));
}

#[test]
fn registration_can_be_unsupported() {
    let registration = Registration::Unsupported;
    let mut sgp = sgp(Parameters { registration, ..Parameters::rfc4666() });
    sgp.up(0, 1);
    let dereg = write(MessageType::DeregReq, |it| it.word(Tag::RoutingContext, 1));
    assert_eq!(only(&sgp.hear(0, 0, dereg)).code, ErrorCode::UnsupportedMessageClass);
}

/// DATA and any damage in any state: nothing panics, and each message has at most one ERR.
#[test]
fn damaged_messages_meet_processes_in_every_role() {
    let wanted = std::env::var("TANDEM_FUZZ_MESSAGES").ok().and_then(|it| it.parse().ok());
    let corpus = every::every_message();
    let mut chance = every::Rng(0xA5);
    for (number, role) in
        [Role::Asp, Role::Sgp, Role::IpspClient, Role::IpspServer, Role::IpspDouble]
            .into_iter()
            .enumerate()
    {
        let mut parameters = Parameters::rfc4666();
        parameters.registration = Registration::Open;
        parameters.pending_messages_max = 16;
        let settings = Settings { peers_max: 2, servers_max: 32, parameters };
        let mut process = Process::new(settings).unwrap();
        let peer = process.add_peer(PeerSettings::new(role)).unwrap();
        for (context, side) in [(1, Side::Here), (2, Side::There)] {
            let key = Key::of(pc(2 * context));
            let settings = ServerSettings::new(side, Some(RoutingContext(context)), key);
            let server = process.add_server(settings).unwrap();
            let _ = process.assign(Time::ZERO, server, peer, &mut Vec::new());
        }
        let (mut out, mut now) = (Vec::new(), Time::from_millis(1));
        for turn in 0..wanted.unwrap_or(100_000u64) / 5 {
            now += Duration::from_millis(chance.below(300) as u64);
            out.clear();
            let sls = chance.number() as u8;
            match chance.below(40) {
                0 => process.step(now, In::CommunicationUp(peer, Some(4)), &mut out),
                1 if turn % 8 == 0 => process.step(now, In::CommunicationLost(peer), &mut out),
                2 => process.step(now, In::CommunicationRestart(peer), &mut out),
                3 | 4 => {
                    let payload = Bytes::from_static(b"x");
                    let (opc, dpc) = (pc(2), pc(4));
                    let transfer =
                        Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls, payload };
                    process.step(now, In::Transfer(transfer), &mut out);
                }
                5 => process.tick(now, &mut out),
                _ => {
                    let (_, mut bytes) = corpus[chance.below(corpus.len())].clone();
                    for _ in 0..chance.below(4) {
                        let other = &corpus[chance.below(corpus.len())].1;
                        every::mutate(&mut bytes, other, &mut chance);
                    }
                    let stream = chance.below(2) as u16;
                    process.step(now, In::Message(peer, stream, bytes.into()), &mut out);
                    assert!(errors(&out).len() <= 1, "{role:?} {number}: {out:?}");
                }
            }
            process.tick(now, &mut out);
            assert!(process.deadline().is_none_or(|at| at > now), "the deadline advances");
        }
    }
}
