//! Every machine of the house, held to the laws of `machine::Machine`.

use bgp::codec::{Cease, Offer};
use bgp::family::{Family, FamilySet};
use bgp::{ConnectionId, PeerAs, Session};
use link::{Pipe, PipeSpec, Schedule};
use m3ua::codec::{PointCode, RoutingContext};
use m3ua::{Key, PeerSettings, Process, Role, ServerSettings, Side};
use machine::{Machine, Time};
use rpki::CacheId;
use sim::{Random, hold};

const SEEDS: std::ops::Range<u64> = 0..40;

#[test]
fn a_bgp_session() {
    let make = || {
        let offer = Offer::modern(65_000, 1, 90, FamilySet::only(Family::Ipv4Unicast));
        Session::new(bgp::Settings::new(offer, PeerAs::Any), 1)
    };
    let input = |random: &mut Random| {
        let connection = ConnectionId(u32::try_from(random.below(3)).unwrap());
        match random.below(11) {
            0 => bgp::In::Stop(Cease::AdministrativeShutdown, None),
            1 => bgp::In::Reset(Cease::AdministrativeReset, None),
            2 | 3 => bgp::In::Connected(connection),
            4 => bgp::In::ConnectFailed,
            5 => bgp::In::Accepted(connection),
            6 => bgp::In::Closed(connection),
            7 => bgp::In::Blocked(connection),
            8 => bgp::In::Written(connection, random.chance(0.5)),
            9 => bgp::In::EndOfRib(Family::Ipv4Unicast),
            _ => bgp::In::Start,
        }
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}

#[test]
fn a_bmp_sender() {
    let make = || bmp::Sender::new(bmp::Settings::new(String::new(), String::new()));
    let input = |random: &mut Random| {
        let peer = bmp::PeerId(u32::try_from(random.below(3)).unwrap());
        match random.below(10) {
            0 => bmp::In::Stop(String::new()),
            1 | 2 => bmp::In::Connected,
            3 => bmp::In::ConnectFailed,
            4 => bmp::In::Closed,
            5 => bmp::In::Blocked,
            6 => bmp::In::Written(random.chance(0.5)),
            7 => bmp::In::PeerUp(peer),
            8 => bmp::In::Live(peer, vec![0; 48]),
            9 => bmp::In::PeerDown(peer, vec![0; 48]),
            _ => bmp::In::Start,
        }
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}

#[test]
fn a_client_of_validated_prefixes() {
    let make = || rpki::Client::new(rpki::Settings::new(2));
    let input = |random: &mut Random| {
        let cache = CacheId(u8::try_from(random.below(2)).unwrap());
        match random.below(6) {
            0 => rpki::In::Stop,
            1 => rpki::In::Refresh,
            2 => rpki::In::Connected(cache),
            3 => rpki::In::ConnectFailed(cache),
            4 => rpki::In::Closed(cache),
            _ => rpki::In::Start,
        }
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}

#[test]
fn an_m3ua_process() {
    for role in [Role::Sgp, Role::Asp, Role::IpspDouble] {
        let made = || {
            let parameters = m3ua::Parameters::rfc4666();
            let settings = m3ua::Settings { peers_max: 1, servers_max: 1, parameters };
            // A server stands where its traffic goes: behind the ASP, or here.
            let side = if role == Role::Asp { Side::Here } else { Side::There };
            let mut process = Process::new(settings).expect("they are valid");
            let peer = process.add_peer(PeerSettings::new(role)).expect("there is room");
            let key = Key::of(PointCode::truncated(1));
            let server = ServerSettings::new(side, Some(RoutingContext(1)), key);
            let server = process.add_server(server).expect("there is room");
            process.assign(Time::from_millis(1), server, peer, &mut Vec::new()).expect("once");
            (process, peer, server)
        };
        let (_, peer, server) = made();
        let input = |random: &mut Random| match random.below(10) {
            0 => m3ua::In::CommunicationLost(peer),
            1 => m3ua::In::CommunicationRestart(peer),
            2 => m3ua::In::TransportCongestion(peer, 1),
            3 => m3ua::In::AspUp(peer),
            4 => m3ua::In::AspDown(peer),
            5 => m3ua::In::AspActive(peer, server),
            6 => m3ua::In::AspInactive(peer, server),
            7 => m3ua::In::Block(peer, random.chance(0.5)),
            8 => m3ua::In::Message(peer, 0, vec![1, 0, 3, 4, 0, 0, 0, 8].into()),
            _ => m3ua::In::CommunicationUp(peer, Some(4)),
        };
        SEEDS.for_each(|seed| hold(seed, || made().0, input));
    }
}

#[test]
fn a_diameter_node() {
    use diameter::codec::Writer;
    use diameter::rows::{base, sh};
    use diameter::{Connection, DisconnectCause, In, Node, Outgoing, PeerSettings};
    use std::sync::Arc;
    let made = || {
        let settings = diameter::Settings {
            host: String::from("node.example"),
            realm: String::from("example"),
            product: String::from("Tandem"),
            vendor: 0,
            addresses: Vec::new(),
            origin_state: 1,
            applications: vec![sh::SH.id],
            relays: false,
            shard: 0,
            seed: 7,
            parameters: diameter::Parameters::default(),
        };
        let now = Time::from_millis(1);
        let mut node = Node::new(settings, Arc::default(), now).expect("they are valid");
        let settings =
            PeerSettings { host: String::from("peer.example"), realm: None, connects: true };
        let peer = node.add_peer(now, settings).expect("there is room");
        (node, peer)
    };
    let (_, peer) = made();
    let message = |command: &diameter::row::Command| {
        let mut octets = Vec::new();
        let mut writer = Writer::request(&mut octets, command, 0)
            .put(&base::ORIGIN_HOST, "peer.example")
            .put(&base::ORIGIN_REALM, "example");
        writer.avps().address(&base::HOST_IP_ADDRESS, [10, 0, 0, 1].into());
        let writer = writer
            .number(&base::VENDOR_ID, 0)
            .put(&base::PRODUCT_NAME, "laws")
            .integer(&base::DISCONNECT_CAUSE, 0)
            .number(&base::AUTH_APPLICATION_ID, sh::SH.id);
        writer.end().expect("it is short");
        bytes::Bytes::from(octets)
    };
    let input = |random: &mut Random| {
        let way = Connection(random.below(3));
        match random.below(12) {
            0 => In::Lost(way, "it broke"),
            1 => In::NotConnected(peer, "nobody listens"),
            2 => In::Start(peer),
            3 => In::Stop(peer, DisconnectCause::Busy),
            4 | 5 => In::Connected(peer, way, Vec::new()),
            6 | 7 => In::Accepted(way, Vec::new()),
            8 => In::Message(way, message(&base::DEVICE_WATCHDOG)),
            9 => In::Message(way, message(&base::DISCONNECT_PEER)),
            10 => {
                let message = message(&sh::USER_DATA_COMMAND).to_vec();
                In::Request(Outgoing { token: 1, message, timeout: None })
            }
            _ => In::Message(way, message(&base::CAPABILITIES_EXCHANGE)),
        }
    };
    SEEDS.for_each(|seed| hold(seed, || made().0, input));
}

/// A check of ICE as one sends it who knows the password.
fn check(random: &mut Random, password: &[u8]) -> stun::ice::In {
    use stun::{Algorithm, AttributeType, BINDING, Class, TransactionId, Writer};
    let mut octets = Vec::new();
    let transaction = TransactionId([7; 12]);
    let mut writer = Writer::new(Class::Request, BINDING, transaction, &mut octets);
    writer.attribute(AttributeType::Username, b"ours:ours");
    writer.attribute(AttributeType::Priority, &[0, 0, 0, 1]);
    if random.chance(0.5) {
        writer.attribute(AttributeType::UseCandidate, &[]);
    }
    let password = if random.chance(0.9) { password } else { &b"wrong"[..] };
    writer.integrity(Algorithm::Sha1, password).fingerprint();
    let component = u8::try_from(random.below(4)).unwrap();
    let local = ([192, 0, 2, 1], 4_000).into();
    let remote = ([192, 0, 2, component], 5_000).into();
    stun::ice::In::Datagram(stun::ice::Datagram { component, local, remote, octets })
}

#[test]
fn a_lite_agent_of_ice() {
    use stun::ice::{Agent, Credentials, In, Role, Settings};
    const PASSWORD: &[u8] = b"localpasswordof22chars";
    let credentials = || Credentials::read(b"ours", PASSWORD).expect("they are valid");
    let make = || {
        let (local, remote) = (credentials(), Some(credentials()));
        Agent::new(Settings { local, remote, role: Role::Controlled, asks_consent: true }, [7; 32])
    };
    let input = |random: &mut Random| match random.below(12) {
        0 => In::Restart(credentials()),
        1 => In::Remote(credentials()),
        _ => check(random, PASSWORD),
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}

#[test]
fn an_ip_short_message_gateway() {
    use ipsmgw::store::Answer;
    use ipsmgw::{Gateway, In, Msisdn, Received, Register, Seeds, Sent};
    let make = |local: Option<ipsmgw::Local>| {
        let seeds = Seeds { proofs: [1; 16], correlations: [2; 16], share: (0, 1) };
        Gateway::new(ipsmgw::Settings { local, ..sms_settings() }, seeds, Time::from_millis(1))
    };
    let identities = ["sip:+447700900123@ims.example.org", "sip:alice@ims.example.org"];
    let input = |random: &mut Random| match random.below(9) {
        8 => {
            let ticket = random.below(8) << 32;
            let charged = match random.below(3) {
                0 => ipsmgw::Charged::Debited,
                1 => ipsmgw::Charged::Free,
                _ => ipsmgw::Charged::Refused(sms::Cause::OperatorBarring),
            };
            In::Charged { ticket, charged }
        }
        7 => {
            let ticket = random.below(8) << 32;
            let number = Msisdn::of("447700900124");
            let answer = match random.below(3) {
                0 => ipsmgw::HomeAnswer::Failed,
                1 => ipsmgw::HomeAnswer::Number(None),
                _ => ipsmgw::HomeAnswer::Number(number),
            };
            In::Home { ticket, answer }
        }
        0 => In::Connected(random.chance(0.8)),
        1 => In::Register {
            transaction: random.below(99),
            register: Register {
                identity: identities[random.below(2) as usize].into(),
                s_cscf: "sip:scscf".into(),
                expires_s: if random.chance(0.2) { 0 } else { 600 },
                msisdn: Msisdn::of("447700900123").filter(|_| random.chance(0.5)),
                imsi: None,
                contacts: None,
            },
        },
        2 | 3 => {
            let mut body = Vec::new();
            let kind = sms::rp::Kind::of(random.below(7) as u8).expect("there are seven");
            kind.sample(&mut || random.below(u64::MAX), &mut body);
            let message = Received {
                to: "tel:+447700000099".into(),
                asserted: vec!["sip:+447700900123@ims.example.org".into()],
                call_id: "call".into(),
                in_reply_to: None,
                content_type: sms::rp::CONTENT_TYPE.into(),
                body,
                trail: 7,
            };
            In::Message { transaction: random.below(99), message }
        }
        4 => {
            let number = Sent { flow: random.below(8) << 32, attempt: 0 };
            In::Response { number, status: 202 }
        }
        5 => {
            let (reference, dialogue) = (random.below(8) << 32, random.below(9));
            In::Network(tcu::Indication::Begun { reference, dialogue })
        }
        _ => In::Stored { ticket: random.below(8) << 32, answer: Answer::Row(None) },
    };
    SEEDS.for_each(|seed| {
        hold(seed, || make(None), input);
        hold(seed, || make(Some(sms_centre())), input);
    });
}

fn sms_centre() -> ipsmgw::Local {
    use machine::Duration;
    let retries = vec![Duration::from_secs(9)];
    ipsmgw::Local {
        numbers: Vec::new(),
        country_code: None,
        plan: ipsmgw::centre::Plan { messages_max: 9, messages_per_receiver_max: 3, retries },
        validity: Duration::from_secs(600),
        validity_max: Duration::from_secs(600),
        parts_max: 2,
        quarters: 0,
    }
}

fn sms_settings() -> ipsmgw::Settings {
    use machine::Duration;
    use sccp::codec::{Address, Digits, Title};
    let number = "447700000099";
    let title = Title::e164(Digits::parse(number).expect("they are digits"));
    ipsmgw::Settings {
        number: ipsmgw::Msisdn::of(number).expect("it is a number"),
        address: Address::title(title, 8),
        subsystems: ipsmgw::Subsystems { hlr: 6, centre: 8, msc: 8 },
        networks: vec![ipsmgw::Network {
            name: "own".to_owned(),
            numbers: Vec::new(),
            hlr: ipsmgw::Hlr::Number(9),
            ways: vec![ipsmgw::Way::PacketSwitched],
            centres: vec!["*".to_owned()],
        }],
        shares: ipsmgw::Shares {
            correlations_max: 4,
            waiting_max: 4,
            waiting_rate: machine::bucket::Rate::new(1.0, Some(3)),
            deliveries_max: 4,
        },
        correlation_prefix: "23415".into(),
        correlation_time: Duration::from_secs(60),
        report_time: Duration::from_secs(40),
        flow_time: Duration::from_secs(90),
        duplicate_time: Duration::from_secs(60),
        waiting_time: Duration::from_secs(600),
        final_causes: vec![22],
        begin_octets_max: 120,
        sender_rate: machine::bucket::Rate::new(9.0, Some(9)),
        allowed: vec!["*".to_owned()],
        flows_max: 16,
        has_standby: true,
        terminals: ipsmgw::Terminals {
            domains: vec!["ims.example.org".to_owned()],
            take_by_default: true,
        },
        local: None,
        home: ipsmgw::Home {
            numbers: true,
            reachability: true,
            charges: true,
            ..Default::default()
        },
    }
}

#[test]
fn a_pipe() {
    let make = || Pipe::new(7, PipeSpec::default(), Schedule::default());
    SEEDS.for_each(|seed| hold(seed, make, |random| vec![0; 1 + random.below(99) as usize]));
}

/// A machine whose tick moves nothing on.
struct Stuck;

impl Machine for Stuck {
    type In = ();
    type Out = ();
    fn step(&mut self, _: Time, (): (), _: &mut Vec<()>) {}
    fn tick(&mut self, _: Time, _: &mut Vec<()>) {}
    fn deadline(&self) -> Option<Time> {
        Some(Time::from_millis(1))
    }
}

#[test]
#[should_panic(expected = "a tick moves the deadline on")]
fn one_that_stands_still_is_seen() {
    hold(1, || Stuck, |_| ());
}

#[test]
fn sessions_of_bfd() {
    use bfd::{In, Limits, Path, Received, SessionSettings, Sessions, Timers};
    let path = |fec| Path::Lsp { fec };
    let timers = |ms| Timers::every(machine::Duration::from_millis(ms), 3);
    let made = || {
        let mut machine = Sessions::new(Limits::default(), [5; 32]);
        let add =
            |fec| machine.add(Time::from_millis(1), SessionSettings::new(path(fec), timers(50)));
        let ids = [0, 1].map(add).map(|id| id.expect("there is room"));
        (machine, ids)
    };
    let (machine, ids) = made();
    let named = ids.map(|id| machine.summary(id).unwrap().discriminator);
    let input = |random: &mut Random| {
        let which = usize::try_from(random.below(2)).unwrap();
        let id = ids[which];
        match random.below(9) {
            0 => In::Disabled(id),
            1 => In::PathDown(id, bfd::Diagnostic::PathDown),
            2 => In::PollWanted(id),
            3 => In::TimersChanged(id, timers(1 + random.below(2_000))),
            4 => In::EchoReturned(vec![0; 16]),
            5 => In::Enabled(id),
            _ => {
                let state = bfd::State::ALL[usize::try_from(random.below(4)).unwrap()];
                let knows = random.chance(0.8);
                let packet = bfd::Packet {
                    diagnostic: bfd::Diagnostic::None,
                    state,
                    poll: random.chance(0.2),
                    is_final: false,
                    control_plane_independent: false,
                    demand: random.chance(0.1),
                    detect_mult: 3,
                    my_discriminator: 7,
                    your_discriminator: if knows { named[which] } else { 0 },
                    desired_min_tx_us: 20_000,
                    required_min_rx_us: 20_000,
                    required_min_echo_rx_us: 0,
                };
                let octets = packet.write().octets().to_vec();
                In::Received(Received {
                    path: path(u32::try_from(which).unwrap()),
                    ttl: 255,
                    octets,
                })
            }
        }
    };
    SEEDS.for_each(|seed| hold(seed, || made().0, input));
}

#[test]
fn an_ospf_instance() {
    use ospf::packet::{Hello, PacketType, Writer};
    use ospf::{In, Instance, InterfaceSettings, Prefix, Redistributed, Settings};
    use std::net::Ipv4Addr;
    let make = || {
        let mut made =
            Instance::new(Settings::new(Ipv4Addr::new(9, 9, 9, 1)), Time::from_millis(1));
        for index in 0..3u32 {
            let address = Ipv4Addr::new(10, 0, u8::try_from(index).unwrap(), 1);
            made.add_interface(InterfaceSettings::new(index, index / 2, address, 24));
        }
        made
    };
    let input = |random: &mut Random| {
        let interface = u32::try_from(random.below(3)).unwrap();
        let host = u8::try_from(2 + random.below(3)).unwrap();
        let source = Ipv4Addr::new(10, 0, u8::try_from(interface).unwrap(), host);
        let prefix = Prefix::new(0xCB00_7100, 24);
        match random.below(9) {
            0 => In::InterfaceDown(interface),
            1 => In::NeighbourDown(interface, source),
            2 => In::Redistribute(prefix, Redistributed { metric: 1, is_type2: true, tag: 0 }),
            3 => In::WithdrawExternal(prefix),
            4 => In::StubRouter(random.chance(0.5)),
            5 => In::InterfaceUp(interface),
            _ => {
                let hello = Hello {
                    mask: 0xFFFF_FF00,
                    interval_s: 10,
                    options: 2,
                    priority: host,
                    dead_s: 40,
                    designated: if random.chance(0.3) { source } else { Ipv4Addr::UNSPECIFIED },
                    backup: Ipv4Addr::UNSPECIFIED,
                    neighbours: vec![0x0909_0901],
                };
                let writer = Writer::new(PacketType::Hello, u32::from(source), interface / 2);
                let writer = writer.hello(&hello);
                let octets = writer.finish(&ospf::packet::Authentication::Null, 0);
                let (octets, destination) = (octets.expect("it is short"), ospf::ALL_SPF_ROUTERS);
                In::Packet { interface, source, destination, octets }
            }
        }
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}

#[test]
fn an_isis_instance() {
    use isis::pdu::{Hello, HelloKind, HelloTlvs, ThreeWay, ThreeWayState, write_hello};
    use isis::{Advertised, AreaAddress, Authentication, CircuitSettings, In, Instance};
    use isis::{Level, Levels, LinkType, NodeId, Prefix, Settings, Snpa, SystemId};
    use machine::Duration;
    let area = || AreaAddress::new(&[0x49, 0, 1]).expect("three octets");
    let own = Snpa([2, 0, 0, 0, 0, 1]);
    let make = || {
        let settings = Settings::new(SystemId([0, 0, 0, 0, 0, 1]), area());
        let mut made = Instance::new(settings, Time::from_millis(1)).expect("it can be");
        for index in 1..4u32 {
            let link = if index == 3 { LinkType::PointToPoint } else { LinkType::Broadcast };
            let circuit = CircuitSettings { link, ..CircuitSettings::new(index, own) };
            made.add_circuit(circuit).expect("it can be");
        }
        made
    };
    let input = |random: &mut Random| {
        let circuit = u32::try_from(1 + random.below(3)).unwrap();
        let number = u8::try_from(2 + random.below(3)).unwrap();
        let system = SystemId([0, 0, 0, 0, 0, number]);
        let prefix = Prefix::new([203, 0, 113, 0].into(), 24);
        match random.below(11) {
            0 => In::CircuitDown(circuit),
            1 => In::NeighbourDown(circuit, system),
            2 => In::Advertise(
                prefix,
                Advertised {
                    metric: 1,
                    is_external: true,
                    tag: None,
                    sid: None,
                    levels: Levels::BOTH,
                },
            ),
            3 => In::WithdrawAdvertised(prefix),
            4 => In::Overload(random.chance(0.5)),
            5 => In::RestartAhead(Duration::from_secs(3)),
            6 | 7 => In::CircuitUp(circuit),
            _ => {
                let lan = NodeId { system, pseudonode: u8::from(random.chance(0.5)) };
                let lan = HelloKind::Lan { priority: 64 + number, lan };
                let (level, kind) = match random.below(3) {
                    0 => (Some(Level::One), lan),
                    1 => (Some(Level::Two), lan),
                    _ => (None, HelloKind::PointToPoint { circuit: 1 }),
                };
                let state =
                    if random.chance(0.5) { ThreeWayState::Up } else { ThreeWayState::Down };
                let tlvs = HelloTlvs {
                    areas: vec![area()],
                    neighbours: vec![own],
                    three_way: Some(ThreeWay { state, circuit: 7, neighbour: None }),
                    ..HelloTlvs::default()
                };
                let hello = Hello { levels: Levels::BOTH, system, hold_s: 9, kind };
                let octets = write_hello(level, &hello, &tlvs, 0, &Authentication::Null);
                In::Pdu { circuit, source: Snpa([2, 0, 0, 0, 0, number]), octets }
            }
        }
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}

#[test]
fn an_ldp_speaker() {
    use ldp::codec::{Body, CommonHello, HelloBody, write_pdus};
    use ldp::{ConnectionId, In, InterfaceSettings, LdpId, NextHop, Prefix, Settings, Speaker};
    use std::net::Ipv4Addr;
    let make = || Speaker::new(Settings::new(Ipv4Addr::new(9, 9, 9, 2))).expect("it can be");
    let input = |random: &mut Random| {
        let number = u8::try_from(random.below(3)).unwrap();
        let index = u32::from(number);
        let peer = LdpId::of(Ipv4Addr::new(9, 9, 9, 1 + 2 * number));
        let gateway = Ipv4Addr::new(10, 0, number, 2).into();
        let prefix = Prefix::new(Ipv4Addr::new(10, number, 0, 0).into(), 16);
        let connection = ConnectionId { number: index, is_own: random.chance(0.5) };
        match random.below(11) {
            0 => In::InterfaceDown(index),
            1 => In::Target(peer.router.into()),
            2 => In::TargetGone(peer.router.into()),
            3 => In::Connected(connection),
            4 => In::Accepted(connection, peer.router.into()),
            5 => In::Closed(connection),
            6 => In::Octets(connection, vec![0, 1, 0, 10, 9, 9, 9, number, 0, 0, 2, 1, 0, 4]),
            7 => In::Route(prefix, vec![NextHop { interface: index, gateway }]),
            8 => In::NoRoute(prefix),
            9 => {
                let addresses = vec![Ipv4Addr::new(10, 0, number, 1).into()];
                In::InterfaceUp(InterfaceSettings {
                    index,
                    is_ipv4: true,
                    is_ipv6: false,
                    addresses,
                })
            }
            _ => {
                let common = CommonHello { hold_s: 9, has_gtsm: true, ..CommonHello::default() };
                let ipv4 = Some(peer.router);
                let body = HelloBody { common, ipv4, ..HelloBody::default() };
                let octets = write_pdus(peer, &[Body::Hello(body).write(1)], 4_096);
                let (interface, source, is_multicast, hop_limit) = (index, gateway, true, 255);
                In::Datagram { interface, source, is_multicast, hop_limit, octets }
            }
        }
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}

/// An end of a connection of TCP, with what leaves.
struct TcpEnd(tcp::Connection);

/// What happens to it.
#[derive(Clone)]
enum TcpIn {
    Segment { off: (u32, u32), flags: u8, window: u16, octets: usize },
    Send(usize),
    Take,
    Close,
}

impl TcpEnd {
    fn leave(&mut self, now: Time, out: &mut Vec<Vec<u8>>) {
        let ends = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut octets = Vec::new();
        while self.0.next(now, ends, &mut octets) {
            out.push(core::mem::take(&mut octets));
        }
    }
}

impl Machine for TcpEnd {
    type In = TcpIn;
    type Out = Vec<u8>;

    fn step(&mut self, now: Time, input: TcpIn, out: &mut Vec<Vec<u8>>) {
        match input {
            TcpIn::Segment { off: (seq, ack), flags, window, octets } => {
                let (source, destination, payload) = (5_062, 6_200, vec![7; octets]);
                let (flags, payload, mss) = (tcp::Flags(flags), &payload[..], None);
                let it =
                    tcp::Segment { source, destination, seq, ack, flags, window, mss, payload };
                self.0.receive(now, &it);
            }
            TcpIn::Send(octets) => drop(self.0.send(&vec![1; octets])),
            TcpIn::Take => self.0.incoming().clear(),
            TcpIn::Close => self.0.close(),
        }
        self.leave(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Vec<u8>>) {
        self.0.tick(now);
        self.leave(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.0.deadline()
    }
}

#[test]
fn a_connection_of_tcp() {
    let syn = tcp::Segment {
        source: 5_062,
        destination: 6_200,
        seq: 0,
        ack: 0,
        flags: tcp::Flags::SYN,
        window: 3_000,
        mss: None,
        payload: &[],
    };
    let make = || TcpEnd(tcp::Connection::accept(Time::ZERO, &syn, 0, 1_300).expect("a SYN"));
    let input = |random: &mut Random| match random.below(12) {
        0 => TcpIn::Close,
        1 | 2 => TcpIn::Send(random.below(5_000) as usize),
        3 => TcpIn::Take,
        _ => TcpIn::Segment {
            off: (1 + random.below(3_000) as u32, 1 + random.below(3_000) as u32),
            flags: if random.chance(0.8) { 16 } else { random.below(32) as u8 },
            window: random.below(4_000) as u16,
            octets: random.below(2_000) as usize,
        },
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}
