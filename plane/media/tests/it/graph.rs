//! Media through the whole graph: ports that are flows, both families, SRTP, what goes up and what
//! is told.

use super::world::{Left, World, ethernet, neighbour_mac, packet6};
use media::program::{
    Branch, FEATURE, FlowSaid, Guard, Keys, Name, Notice, Place, Range, Said, Snapshot,
};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::header::{checksum, seal_ip4, sum};
use nodes::program::{Item, Removed};
use nodes::{Out, Program, Refused};
use rtp::rtcp::{ReportBlock, SenderInfo, write_report};
use rtp::{ClockRate, Header, Ntp, Packet, Rewrite};
use srtp::{KeyEntry, MasterKey, Parameters, Receiver, Sender, Suite};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The phone, and the place where its packets come.
const PHONE: &str = "10.0.1.2:4000";
const ACCESS: &str = "10.0.1.1:20000";
/// The core, and the place where its packets come.
const CORE: &str = "10.0.2.2:5000";
const INNER: &str = "10.0.2.1:30000";
const CORE6: &str = "[2001:db8:2::2]:5000";
const INNER6: &str = "[2001:db8:2::1]:30000";

fn at(place: &str) -> Place {
    let socket: SocketAddr = place.parse().unwrap();
    Place { vrf: 0, address: socket.ip(), port: socket.port() }
}

fn settings() -> Settings {
    Settings {
        of: Use::Muxed,
        is_active: true,
        payload_types: PayloadTypes::ALL,
        untimed: PayloadTypes::default(),
        ssrcs: Sources::ANY,
        clock: ClockRate::TELEPHONY,
        rate: Rate::bits(10_000_000),
        rewrite: Rewrite::default(),
    }
}

fn flow(here: &str, to: Option<&str>, peer: &str) -> FlowSaid {
    FlowSaid {
        at: at(here),
        to: to.map(at),
        settings: settings(),
        expected: Expected::at(peer.parse().unwrap()),
        guard: Guard::None,
        dscp: Some(46),
        timeout: None,
        becomes: Vec::new(),
        branches: Vec::new(),
        up: PayloadTypes::default(),
        up_per_s: 0,
        digits: PayloadTypes::default(),
        stun: false,
        dtls: false,
        association: None,
        resume: None,
    }
}

fn program(said: &Said) -> Program {
    Program::Item(Item { feature: FEATURE.to_owned(), key: said.name().key(), value: said.value() })
}

fn say(world: &mut World, flow: &FlowSaid) {
    world.apply(program(&Said::Flow(Box::new(flow.clone()))));
}

fn ranges() -> Vec<Program> {
    let places = [ACCESS, INNER, INNER6];
    let ranges = places.map(|place| {
        let Place { vrf, address, port } = at(place);
        program(&Said::Range(Range { vrf, address, first: port, ports: 1_000 }))
    });
    ranges.to_vec()
}

/// A call between the phone and a core of this place.
fn call(inner: &str, core: &str) -> World {
    let mut world = World::new();
    ranges().into_iter().for_each(|program| world.apply(program));
    say(&mut world, &flow(ACCESS, Some(inner), PHONE));
    say(&mut world, &flow(inner, Some(ACCESS), core));
    world
}

fn rtp_packet(sequence: u16, payload: &[u8]) -> Vec<u8> {
    let timestamp = u32::from(sequence) * 160;
    let header = Header { payload_type: 8, sequence, timestamp, ssrc: 77, marker: false };
    let mut octets = Vec::new();
    Packet { header, payload, ..Packet::default() }.write(&mut octets);
    octets
}

fn rtp(sequence: u16) -> Vec<u8> {
    rtp_packet(sequence, &[0xd5; 160])
}

/// A frame of UDP that comes by the port where its source is.
fn frame(from: &str, to: &str, payload: &[u8]) -> (u16, Vec<u8>) {
    let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
    let length = (payload.len() + 8) as u16;
    let mut udp = [from.port().to_be_bytes(), to.port().to_be_bytes()].concat();
    udp.extend(length.to_be_bytes());
    udp.extend([0, 0]);
    udp.extend(payload);
    let mut pseudo = Vec::new();
    for ip in [from.ip(), to.ip()] {
        match ip {
            IpAddr::V4(ip) => pseudo.extend(ip.octets()),
            IpAddr::V6(ip) => pseudo.extend(ip.octets()),
        }
    }
    let check = checksum(sum(&udp, sum(&pseudo, u32::from(length) + 17)));
    udp[6..8].copy_from_slice(&check.to_be_bytes());
    let text = (from.ip().to_string(), to.ip().to_string());
    let port = u16::from(text.0.starts_with("10.0.2") || text.0.starts_with("2001:db8:2"));
    if from.is_ipv6() {
        return (port, ethernet(port, 0x86dd, &packet6(&text.0, &text.1, 60, 17, &udp)));
    }
    let total = (udp.len() + 20) as u16;
    let mut packet = vec![0x45, 0, (total >> 8) as u8, total as u8, 0, 9, 0x40, 0, 60, 17, 0, 0];
    packet.extend(pseudo);
    seal_ip4(&mut packet);
    packet.extend(udp);
    (port, ethernet(port, 0x0800, &packet))
}

fn send(world: &mut World, from: &str, to: &str, payload: &[u8]) -> Left {
    let (port, frame) = frame(from, to, payload);
    world.send(port, &frame)
}

/// What left: from where to where, with which mark, and the payload; its checksums are right.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    from: SocketAddr,
    to: SocketAddr,
    dscp: u8,
    hops: u8,
    payload: Vec<u8>,
}

fn seen(frame: &[u8]) -> Seen {
    let packet = &frame[14..];
    let is_four = packet[0] >> 4 == 4;
    let (header, addresses) = if is_four { (20, &packet[12..20]) } else { (40, &packet[8..40]) };
    let udp = &packet[header..];
    assert_eq!(udp.len(), usize::from(u16::from_be_bytes([udp[4], udp[5]])));
    let check = checksum(sum(udp, sum(addresses, udp.len() as u32 + 17)));
    assert_eq!(check, 0, "the checksum of UDP");
    if is_four {
        assert_eq!(checksum(sum(&packet[..20], 0)), 0, "the checksum of IP");
        assert_eq!(packet.len(), usize::from(u16::from_be_bytes([packet[2], packet[3]])));
    }
    let ip = |octets: &[u8]| match <[u8; 4]>::try_from(octets) {
        Ok(four) => IpAddr::from(four),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(octets).unwrap()),
    };
    let (from, to) = addresses.split_at(addresses.len() / 2);
    let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    let (dscp, hops) = match is_four {
        true => (packet[1] >> 2, packet[8]),
        false => ((packet[0] << 4 | packet[1] >> 4) >> 2, packet[7]),
    };
    Seen {
        from: SocketAddr::new(ip(from), port(0)),
        to: SocketAddr::new(ip(to), port(2)),
        dscp,
        hops,
        payload: udp[8..].to_vec(),
    }
}

/// The one packet that left.
fn one(left: &Left) -> Seen {
    assert_eq!((left.sent.len(), left.punted.len()), (1, 0), "{left:?}");
    let (port, frame) = &left.sent[0];
    assert_eq!(frame[..6], neighbour_mac(*port));
    seen(frame)
}

fn drops(world: &World, why: &str) -> u64 {
    world.dropped().get(why).copied().unwrap_or(0)
}

fn notices(out: Vec<Out>) -> Vec<(Place, Notice)> {
    let of = |out| match out {
        Out::Item(item) => match Name::read(&item.key).unwrap() {
            Name::Flow(at) => Some((at, Notice::read(&item.value).unwrap())),
            Name::Range(_) | Name::Duty | Name::Tokens | Name::Followed => None,
        },
        _ => None,
    };
    out.into_iter().filter_map(of).collect()
}

fn keys(suite: Suite, octet: u8) -> Keys {
    let key = MasterKey::of(suite, &vec![octet; MasterKey::octets_of(suite)]).unwrap();
    Keys { parameters: Parameters::of(suite), entries: vec![KeyEntry::alone(key)] }
}

/// The phone's half of SRTP.
struct Phone {
    sender: Sender,
    receiver: Receiver,
}

fn guard(suite: Suite) -> Guard {
    Guard::Keys { receive: keys(suite, 1), send: keys(suite, 2) }
}

impl Phone {
    fn new(suite: Suite) -> Self {
        let (receive, send) = (keys(suite, 2), keys(suite, 1));
        Self {
            sender: Sender::new(send.parameters, &send.entries).unwrap(),
            receiver: Receiver::new(receive.parameters, &receive.entries).unwrap(),
        }
    }

    fn protect(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut buffer = packet.to_vec();
        buffer.resize(packet.len() + 64, 0);
        let length = self.sender.protect(&mut buffer, packet.len()).unwrap();
        buffer.truncate(length);
        buffer
    }

    fn protect_rtcp(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut buffer = packet.to_vec();
        buffer.resize(packet.len() + 64, 0);
        let length = self.sender.protect_rtcp(&mut buffer, packet.len()).unwrap();
        buffer.truncate(length);
        buffer
    }

    fn open(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut packet = packet.to_vec();
        let length = self.receiver.unprotect(&mut packet).unwrap();
        packet.truncate(length);
        packet
    }
}

fn class(world: &World, name: &str) -> u32 {
    world.plane.handed().find(|it| it.name == name).unwrap().number
}

#[test]
fn packets_of_a_call_leave_from_the_other_sides_place_marked_and_with_right_checksums() {
    let mut world = call(INNER, CORE);
    let out = one(&send(&mut world, PHONE, ACCESS, &rtp(1)));
    let expected = Seen {
        from: INNER.parse().unwrap(),
        to: CORE.parse().unwrap(),
        dscp: 46,
        hops: 59,
        payload: rtp(1),
    };
    assert_eq!(out, expected);
    let back = one(&send(&mut world, CORE, INNER, &rtp(9)));
    assert_eq!((back.from, back.to), (ACCESS.parse().unwrap(), PHONE.parse().unwrap()));
    assert_eq!(back.payload, rtp(9));
}

#[test]
fn where_no_mark_was_agreed_packets_keep_theirs_in_either_family() {
    for (inner, core) in [(INNER, CORE), (INNER6, CORE6)] {
        let mut world = call(inner, core);
        for (number, class) in [(1, 0), (2, 0xb8), (3, 0x2b), (4, 0xff)] {
            let of = FlowSaid { dscp: None, ..flow(inner, Some(ACCESS), core) };
            say(&mut world, &of);
            let (port, mut frame) = frame(PHONE, ACCESS, &rtp(number));
            frame[14 + 1] = class;
            seal_ip4(&mut frame[14..34]);
            assert_eq!(one(&world.send(port, &frame)).dscp, class >> 2);
            say(&mut world, &FlowSaid { dscp: Some(8), ..of });
            assert_eq!(one(&world.send(port, &frame)).dscp, 8);
        }
    }
}

#[test]
fn datagrams_pass_whatever_is_in_them_from_where_they_may_come() {
    let mut world = call(INNER, CORE);
    let udptl = |here: &str, to: &str, peer: &str| {
        let of = Settings {
            of: Use::Datagrams,
            ssrcs: Sources::of([1]),
            payload_types: PayloadTypes::default(),
            ..settings()
        };
        FlowSaid { settings: of, ..flow(here, Some(to), peer) }
    };
    say(&mut world, &udptl(ACCESS, INNER, PHONE));
    say(&mut world, &udptl(INNER, ACCESS, CORE));
    let payloads = [vec![0, 1, 3, 6, 0x80, 0, 0], vec![0x80; 40], vec![22, 254, 253], vec![0; 3]];
    for payload in payloads {
        let out = one(&send(&mut world, PHONE, ACCESS, &payload));
        assert_eq!((out.from, out.to), (INNER.parse().unwrap(), CORE.parse().unwrap()));
        assert_eq!(out.payload, payload);
        assert_eq!(one(&send(&mut world, CORE, INNER, &payload)).payload, payload);
        let stranger = send(&mut world, "10.0.1.2:4001", ACCESS, &payload);
        assert_eq!(stranger, Left::default());
    }
    assert_eq!(drops(&world, "media: source was not signalled") + drops(&world, OTHER), 4);
    let guard = guard(Suite::AesCm128HmacSha1_80);
    let keyed = Said::Flow(Box::new(FlowSaid { guard, ..udptl(ACCESS, INNER, PHONE) }));
    assert!(world.plane.apply(&program(&keyed)).is_err(), "SRTP protects nothing but RTP");
}

const OTHER: &str = "media: source is not the latched one";

/// A report of a source of its own stream, or of what it receives.
fn report(ssrc: u32, sent: Option<u64>, received: &[ReportBlock]) -> Vec<u8> {
    let mut octets = Vec::new();
    let sender = sent.map(|ntp| SenderInfo { ntp: Ntp(ntp), ..SenderInfo::default() });
    write_report(ssrc, sender.as_ref(), received, &mut octets);
    octets
}

/// Reports name `(who, of whom)`.
fn named(octets: &[u8]) -> (u32, u32) {
    let word = |at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().unwrap());
    (word(4), word(8))
}

#[test]
fn the_round_trip_of_a_stream_is_that_of_the_reports_that_pass() {
    for is_apart in [false, true] {
        let mut world = call(INNER, CORE);
        let (phone, access) =
            if is_apart { ("10.0.1.2:4001", "10.0.1.1:20001") } else { (PHONE, ACCESS) };
        let (core, inner) =
            if is_apart { ("10.0.2.2:5001", "10.0.2.1:30001") } else { (CORE, INNER) };
        if is_apart {
            let of =
                |of, said: FlowSaid| FlowSaid { settings: Settings { of, ..settings() }, ..said };
            say(&mut world, &of(Use::Rtcp, flow(access, Some(inner), phone)));
            say(&mut world, &of(Use::Rtp, flow(ACCESS, Some(INNER), PHONE)));
            say(&mut world, &of(Use::Rtp, flow(INNER, Some(ACCESS), CORE)));
            say(&mut world, &of(Use::Rtcp, flow(inner, Some(access), core)));
        }
        one(&send(&mut world, PHONE, ACCESS, &rtp(1)));
        let sent = report(77, Some(0x0001_2345_6789_0000), &[]);
        assert_eq!(one(&send(&mut world, phone, access, &sent)).payload, sent);
        drop(world.pass(Duration::from_millis(80)));
        // Half of that was the receiver's.
        let block = ReportBlock {
            ssrc: 77,
            last_sr: 0x2345_6789,
            delay_since_last_sr: 65_536 / 25,
            ..ReportBlock::default()
        };
        let received = report(5, None, &[block]);
        assert_eq!(one(&send(&mut world, core, inner, &received)).payload, received);
        let told = notices(world.pass(Duration::from_secs(6)));
        let mut told = told.iter().filter(|(place, _)| *place == at(ACCESS));
        let stream = told.find_map(|(_, notice)| notice.statistics?.stream).expect("statistics");
        assert!(stream.round_trip_us.abs_diff(40_000) < 100, "{is_apart}: {stream:?}");
    }
}

#[test]
fn a_flow_that_is_said_again_tells_what_passed_there_at_once() {
    let mut world = call(INNER, CORE);
    drop(world.pass(Duration::from_secs(10)));
    one(&send(&mut world, PHONE, ACCESS, &rtp(1)));
    drop(world.pass(Duration::from_secs(2)));
    one(&send(&mut world, PHONE, ACCESS, &rtp(2)));
    let packets = |out: Vec<Out>| -> Vec<u64> {
        let told = notices(out).into_iter().filter(|(place, _)| *place == at(ACCESS));
        told.filter_map(|(_, notice)| Some(notice.statistics?.packets)).collect()
    };
    assert!(packets(world.pass(Duration::from_millis(1))).is_empty());
    say(&mut world, &flow(ACCESS, Some(INNER), PHONE));
    assert_eq!(packets(world.pass(Duration::from_millis(1))), [2]);
    assert!(packets(world.pass(Duration::from_millis(1))).is_empty(), "once");
}

#[test]
fn reports_name_sources_as_the_other_side_knows_them() {
    let rewrite = Rewrite { ssrc: Some(1_000), ..Rewrite::default() };
    let mut world = call(INNER, CORE);
    let of = Settings { rewrite, ..settings() };
    say(&mut world, &FlowSaid { settings: of, ..flow(ACCESS, Some(INNER), PHONE) });
    let out = one(&send(&mut world, PHONE, ACCESS, &rtp(1)));
    assert_eq!(Header::peek(&out.payload).unwrap().ssrc, 1_000);
    let block = |ssrc| ReportBlock { ssrc, ..ReportBlock::default() };
    // Whoever is there hears the source's report under its other name, and reports of that.
    let sent = one(&send(&mut world, PHONE, ACCESS, &report(77, None, &[block(5)])));
    assert_eq!(named(&sent.payload), (1_000, 5));
    let received = report(5, None, &[block(1_000), block(6)]);
    let back = one(&send(&mut world, CORE, INNER, &received));
    assert_eq!(named(&back.payload), (5, 77));
    assert_eq!(back.payload[32..36], 6_u32.to_be_bytes(), "of others it says what it said");
    // And so it is when the flows are said again.
    say(&mut world, &FlowSaid { timeout: None, ..flow(INNER, Some(ACCESS), CORE) });
    assert_eq!(named(&one(&send(&mut world, CORE, INNER, &received)).payload), (5, 77));
}

#[test]
fn a_report_that_is_changed_changes_no_checksum_but_its_own() {
    let (secure, clear) = ("10.0.1.1:20002", "10.0.1.1:20004");
    let (inner, other) = ("10.0.2.1:30002", "10.0.2.1:30004");
    let (suite, mut phone) = (Suite::AeadAes128Gcm, Phone::new(Suite::AeadAes128Gcm));
    let mut world = call(INNER, CORE);
    let of = Settings { rewrite: Rewrite { ssrc: Some(9), ..Rewrite::default() }, ..settings() };
    let said = FlowSaid { settings: of, guard: guard(suite), ..flow(secure, Some(inner), PHONE) };
    say(&mut world, &said);
    say(&mut world, &flow(inner, Some(secure), CORE));
    // Nothing of it goes on.
    say(&mut world, &FlowSaid { settings: of, to: None, ..flow(clear, Some(other), PHONE) });
    // Their sources are named.
    send(&mut world, PHONE, secure, &phone.protect(&rtp(1)));
    send(&mut world, PHONE, clear, &rtp(1));
    let reported = report(77, None, &[]);
    for is_secure in [true, false] {
        // As many as are opened at once, the report last; and a report that ends there.
        let before: Vec<_> = match is_secure {
            true => {
                let packets = (2..65).map(|number| phone.protect(&rtp(number)));
                let mut all: Vec<_> = packets.map(|it| frame(PHONE, secure, &it)).collect();
                all.push(frame(PHONE, secure, &phone.protect_rtcp(&reported)));
                all
            }
            false => vec![frame(PHONE, clear, &reported)],
        };
        let mut broken = frame(PHONE, ACCESS, &rtp(1));
        let last = broken.1.len() - 1;
        broken.1[last] ^= 1;
        let left = world.send_all(&[before, vec![broken]].concat());
        let of_call = left.sent.iter().map(|(_, frame)| &frame[14..]);
        let mut of_call = of_call.filter(|it| it[20..22] == 30_000_u16.to_be_bytes());
        let packet = of_call.next().expect("the packet that was broken on its way");
        let pseudo = sum(&packet[12..20], packet.len() as u32 - 20 + 17);
        assert_ne!(checksum(sum(&packet[20..], pseudo)), 0, "whoever takes it sees that");
    }
}

#[test]
fn ip4_and_ip6_talk_to_each_other_and_so_do_two_of_ip6() {
    let mut world = call(INNER6, CORE6);
    let out = one(&send(&mut world, PHONE, ACCESS, &rtp(1)));
    assert_eq!((out.from, out.to), (INNER6.parse().unwrap(), CORE6.parse().unwrap()));
    assert_eq!((out.dscp, out.hops, out.payload), (46, 59, rtp(1)));
    let back = one(&send(&mut world, CORE6, INNER6, &rtp_packet(3, b"odd")));
    assert_eq!((back.from, back.to), (ACCESS.parse().unwrap(), PHONE.parse().unwrap()));
    assert_eq!(back.payload, rtp_packet(3, b"odd"));
    let (phone6, other) = ("[2001:db8:2::2]:6000", "[2001:db8:2::1]:30002");
    say(&mut world, &flow(other, Some(INNER6), phone6));
    say(&mut world, &flow(INNER6, Some(other), CORE6));
    let out = one(&send(&mut world, phone6, other, &rtp(7)));
    assert_eq!((out.from, out.to), (INNER6.parse().unwrap(), CORE6.parse().unwrap()));
}

#[test]
fn what_comes_to_a_port_of_a_range_without_a_flow_is_dropped_and_all_else_goes_its_way() {
    let mut world = call(INNER, CORE);
    let left = send(&mut world, PHONE, "10.0.1.1:20002", &rtp(1));
    assert_eq!((left, drops(&world, "media: no flow has the port")), (Left::default(), 1));
    let left = send(&mut world, PHONE, "10.0.1.1:5060", b"OPTIONS sip:a SIP/2.0\r\n\r\n");
    assert_eq!(left.punted.len(), 1, "it is for the kernel");
    let left = send(&mut world, PHONE, "10.0.2.2:20000", &rtp(1));
    assert_eq!(left.sent.len(), 1, "it is routed");
}

#[test]
fn a_flow_without_its_other_side_sends_nothing_on_until_that_is_said() {
    let mut world = World::new();
    ranges().into_iter().for_each(|program| world.apply(program));
    say(&mut world, &flow(ACCESS, Some(INNER), PHONE));
    assert_eq!(send(&mut world, PHONE, ACCESS, &rtp(1)), Left::default());
    assert_eq!(drops(&world, "media: no other side"), 1);
    say(&mut world, &flow(INNER, Some(ACCESS), CORE));
    one(&send(&mut world, PHONE, ACCESS, &rtp(2)));
    world.apply(Program::Remove(Removed::Item(FEATURE.to_owned(), Name::Flow(at(INNER)).key())));
    assert_eq!(send(&mut world, PHONE, ACCESS, &rtp(3)), Left::default());
    // Its cell and number are another's now, of whom the phone must not hear.
    say(&mut world, &flow("10.0.2.1:30500", None, "10.0.2.2:9"));
    assert_eq!(send(&mut world, PHONE, ACCESS, &rtp(4)), Left::default());
    assert_eq!(drops(&world, "media: no other side"), 3);
}

#[test]
fn packets_go_to_where_those_of_the_other_side_come_from() {
    let mut world = call(INNER, CORE);
    let mut said = flow(ACCESS, Some(INNER), "192.168.0.7:4000");
    said.expected.signaller = Some("10.0.1.2".parse().unwrap());
    say(&mut world, &said);
    let left = send(&mut world, CORE, INNER, &rtp(1));
    assert_ne!(left.sent.len(), 1, "where it is signalled to be nobody is");
    one(&send(&mut world, "10.0.1.2:4999", ACCESS, &rtp(1)));
    let back = one(&send(&mut world, CORE, INNER, &rtp(2)));
    assert_eq!(back.to, "10.0.1.2:4999".parse().unwrap());
    let told = notices(world.pass(Duration::from_millis(5)));
    let latched = told.iter().find(|(place, _)| *place == at(ACCESS)).unwrap().1.latched;
    assert_eq!(latched, Some("10.0.1.2:4999".parse().unwrap()));
}

#[test]
fn a_call_that_comes_back_here_passes_both_its_legs_and_a_circle_ends() {
    let mut world = call(INNER, "10.0.2.1:30200");
    let (again, other, second) = ("10.0.2.1:30200", "10.0.1.1:20300", "10.0.1.2:6000");
    say(&mut world, &flow(again, Some(other), INNER));
    say(&mut world, &flow(other, Some(again), second));
    let out = one(&send(&mut world, PHONE, ACCESS, &rtp(1)));
    assert_eq!((out.from, out.to), (other.parse().unwrap(), second.parse().unwrap()));
    let back = one(&send(&mut world, second, other, &rtp(2)));
    assert_eq!((back.from, back.to), (ACCESS.parse().unwrap(), PHONE.parse().unwrap()));
    assert_eq!(back.payload, rtp(2));
    // The second leg ends, and the first one leads to nobody.
    world.apply(Program::Remove(Removed::Item(FEATURE.to_owned(), Name::Flow(at(again)).key())));
    assert_eq!(send(&mut world, PHONE, ACCESS, &rtp(3)), Left::default());
    assert_eq!(drops(&world, "media: no flow has the port"), 1);
    // Two flows that lead to each other only.
    let (one_end, other_end) = ("10.0.2.1:30300", "10.0.2.1:30302");
    let circle = flow(one_end, Some(other_end), other_end);
    say(&mut world, &circle);
    say(&mut world, &flow(other_end, Some(one_end), one_end));
    let mut opened = circle;
    opened.expected.anywhere = true;
    say(&mut world, &opened);
    assert_eq!(send(&mut world, CORE, one_end, &rtp(1)), Left::default());
}

#[test]
fn all_who_go_on_to_a_side_follow_it_when_it_speaks_from_elsewhere() {
    let mut world = call(INNER, CORE);
    // Two branches of a fork, and one phone.
    let (other, branch) = ("10.0.2.1:30100", "10.0.2.2:5100");
    let mut said = flow(ACCESS, Some(INNER), "192.168.0.7:4000");
    said.expected.signaller = Some("10.0.1.2".parse().unwrap());
    say(&mut world, &said);
    say(&mut world, &flow(other, Some(ACCESS), branch));
    one(&send(&mut world, PHONE, ACCESS, &rtp(1)));
    world.pass(Duration::from_millis(5));
    for (from, place) in [(CORE, INNER), (branch, other)] {
        let back = one(&send(&mut world, from, place, &rtp(1)));
        assert_eq!((back.from, back.to), (ACCESS.parse().unwrap(), PHONE.parse().unwrap()));
    }
}

#[test]
fn srtp_is_opened_towards_the_core_and_protected_towards_the_phone() {
    let suites = [Suite::AesCm128HmacSha1_80, Suite::AesCm128HmacSha1_32, Suite::AeadAes128Gcm];
    for suite in suites {
        for (inner, core) in [(INNER, CORE), (INNER6, CORE6)] {
            let mut world = call(inner, core);
            let guard = guard(suite);
            say(&mut world, &FlowSaid { guard, ..flow(ACCESS, Some(inner), PHONE) });
            let mut phone = Phone::new(suite);
            for sequence in [65_534, 65_535, 0, 1] {
                let plain = rtp(sequence);
                let out = one(&send(&mut world, PHONE, ACCESS, &phone.protect(&plain)));
                assert_eq!((out.from, out.payload), (inner.parse().unwrap(), plain.clone()));
                let back = one(&send(&mut world, core, inner, &plain));
                assert_eq!(back.to, PHONE.parse().unwrap());
                assert_ne!(back.payload, plain);
                assert_eq!(phone.open(&back.payload), plain);
            }
            let plain = send(&mut world, PHONE, ACCESS, &rtp(9));
            assert_eq!((plain, drops(&world, "srtp: wrong tag")), (Left::default(), 1));
        }
    }
}

#[test]
fn nothing_is_in_the_clear_while_keys_are_being_agreed() {
    let mut world = call(INNER, CORE);
    let waiting = FlowSaid { guard: Guard::Dtls, dtls: true, ..flow(ACCESS, Some(INNER), PHONE) };
    say(&mut world, &waiting);
    assert_eq!(send(&mut world, PHONE, ACCESS, &rtp(1)), Left::default());
    assert_eq!(send(&mut world, CORE, INNER, &rtp(1)), Left::default());
    assert_eq!(drops(&world, "media: no keys yet"), 2);
    let hello = [22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    let left = send(&mut world, PHONE, ACCESS, &hello);
    assert_eq!(left.classes, [class(&world, "media/dtls")]);
    let suite = Suite::AeadAes128Gcm;
    let agreed = FlowSaid { guard: guard(suite), association: Some(7), ..waiting.clone() };
    say(&mut world, &agreed);
    let mut phone = Phone::new(suite);
    assert_eq!(one(&send(&mut world, PHONE, ACCESS, &phone.protect(&rtp(2)))).payload, rtp(2));
    // A control that comes next knows neither the keys nor the place that checks have chosen.
    let expected = Expected::at("0.0.0.0:0".parse().unwrap());
    let kept = FlowSaid { association: Some(7), expected, ..waiting.clone() };
    say(&mut world, &kept);
    assert_eq!(one(&send(&mut world, PHONE, ACCESS, &phone.protect(&rtp(3)))).payload, rtp(3));
    let back = one(&send(&mut world, CORE, INNER, &rtp(3)));
    assert_eq!((phone.open(&back.payload), back.to), (rtp(3), PHONE.parse().unwrap()));
    // Keys of another association are none, and what was in the clear waits for some.
    for (n, before) in (4..).zip([agreed, FlowSaid { guard: Guard::None, ..kept.clone() }]) {
        say(&mut world, &before);
        let association = if before.guard == Guard::None { 7 } else { 8 };
        say(&mut world, &FlowSaid { association: Some(association), ..waiting.clone() });
        for packet in [rtp(n), phone.protect(&rtp(n))] {
            assert_eq!(send(&mut world, PHONE, ACCESS, &packet), Left::default());
        }
        assert_eq!(send(&mut world, CORE, INNER, &rtp(n)), Left::default());
    }
}

#[test]
fn keys_that_stay_keep_their_counters_whatever_else_changes() {
    let suite = Suite::AesCm128HmacSha1_80;
    let mut world = call(INNER, CORE);
    let said = FlowSaid { guard: guard(suite), ..flow(ACCESS, Some(INNER), PHONE) };
    say(&mut world, &said);
    let mut phone = Phone::new(suite);
    let there_and_back = |world: &mut World, phone: &mut Phone, sequence, here: &str| {
        let plain = rtp(sequence);
        let out = one(&send(world, PHONE, here, &phone.protect(&plain)));
        assert_eq!(out.payload, plain, "{sequence}");
        let back = one(&send(world, CORE, INNER, &plain));
        assert_eq!(phone.open(&back.payload), plain, "{sequence}");
        back.payload
    };
    let first = there_and_back(&mut world, &mut phone, 65_535, ACCESS);
    there_and_back(&mut world, &mut phone, 0, ACCESS);
    // Held, and taken up again.
    let mut held = said.clone();
    held.settings.is_active = false;
    say(&mut world, &held);
    say(&mut world, &said);
    there_and_back(&mut world, &mut phone, 1, ACCESS);
    assert_eq!(send(&mut world, CORE, INNER, &rtp(65_535)), Left::default(), "it was used");
    // Another port: the flow is another one, and the key it sends with is the same.
    let elsewhere = "10.0.1.1:20400";
    say(&mut world, &FlowSaid { at: at(elsewhere), ..said.clone() });
    say(&mut world, &flow(INNER, Some(elsewhere), CORE));
    world.apply(Program::Remove(Removed::Item(FEATURE.to_owned(), Name::Flow(at(ACCESS)).key())));
    let back = one(&send(&mut world, CORE, INNER, &rtp(2)));
    assert_eq!(phone.open(&back.payload), rtp(2), "the rollover counter went on");
    assert_eq!(send(&mut world, CORE, INNER, &rtp(1)), Left::default(), "it was used");
    // All is taken away, and the key said again: what it had used stays used.
    world
        .apply(Program::Remove(Removed::Item(FEATURE.to_owned(), Name::Flow(at(elsewhere)).key())));
    say(&mut world, &said);
    say(&mut world, &flow(INNER, Some(ACCESS), CORE));
    assert_eq!(send(&mut world, CORE, INNER, &rtp(65_535)), Left::default(), "it was used");
    let last = one(&send(&mut world, CORE, INNER, &rtp(3)));
    assert_eq!(phone.open(&last.payload), rtp(3));
    assert_ne!(first, last.payload);
}

#[test]
fn a_standby_goes_on_ahead_of_what_it_was_told() {
    let suite = Suite::AesCm128HmacSha1_80;
    let mut world = call(INNER, CORE);
    let said = FlowSaid { guard: guard(suite), ..flow(ACCESS, Some(INNER), PHONE) };
    say(&mut world, &said);
    let mut phone = Phone::new(suite);
    one(&send(&mut world, PHONE, ACCESS, &phone.protect(&rtp(7))));
    let before = one(&send(&mut world, CORE, INNER, &rtp(7))).payload;
    phone.open(&before);
    let told = notices(world.pass(Duration::from_secs(1)));
    let told: Vec<Snapshot> = told
        .into_iter()
        .filter_map(|(place, notice)| {
            notice.snapshot.filter(|it| place == at(ACCESS) && !it.send.is_empty())
        })
        .collect();
    let snapshot = told.last().expect("a snapshot").clone();
    assert_eq!(snapshot.latched, Some(PHONE.parse().unwrap()));

    let mut standby = World::new();
    ranges().into_iter().for_each(|program| standby.apply(program));
    say(&mut standby, &FlowSaid { resume: Some(snapshot), ..said });
    say(&mut standby, &flow(INNER, Some(ACCESS), CORE));
    let back = one(&send(&mut standby, CORE, INNER, &rtp(8)));
    let opened = phone.open(&back.payload);
    let header = Header::peek(&opened).unwrap();
    assert_eq!(header.sequence, 8 + srtp::SKIP_MAX, "ahead of all that may have been used");
    let again = phone.protect(&rtp(8));
    assert_eq!(one(&send(&mut standby, PHONE, ACCESS, &again)).payload, rtp(8));
    let stranger = send(&mut standby, "10.0.1.2:4001", ACCESS, &again);
    assert_eq!(
        (stranger, drops(&standby, "media: source is not the latched one")),
        (Left::default(), 1)
    );
}

#[test]
fn a_new_control_is_told_at_once_what_the_one_before_it_knew() {
    let suite = Suite::AesCm128HmacSha1_80;
    let mut world = call(INNER, CORE);
    let said = FlowSaid { guard: guard(suite), ..flow(ACCESS, Some(INNER), PHONE) };
    say(&mut world, &said);
    let mut phone = Phone::new(suite);
    one(&send(&mut world, PHONE, ACCESS, &phone.protect(&rtp(7))));
    one(&send(&mut world, CORE, INNER, &rtp(7)));
    let snapshots = |world: &mut World| -> Vec<Notice> {
        let told = notices(world.pass(Duration::from_secs(1)));
        let of_phone = told.into_iter().filter(|(place, _)| *place == at(ACCESS));
        of_phone.map(|(_, notice)| notice).filter(|it| it.snapshot.is_some()).collect()
    };
    let before = snapshots(&mut world).pop().expect("a snapshot").snapshot;
    assert_eq!(snapshots(&mut world), [], "it is known");
    world.apply(Program::Begin { generation: 1 });
    super::world::programs().into_iter().for_each(|program| world.apply(program));
    ranges().into_iter().for_each(|program| world.apply(program));
    say(&mut world, &said);
    say(&mut world, &flow(INNER, Some(ACCESS), CORE));
    world.apply(Program::End { generation: 1 });
    let again = snapshots(&mut world);
    assert_eq!((again.len(), &again[0].snapshot), (1, &before));
    assert_eq!(again[0].latched, Some(PHONE.parse().unwrap()));
    assert_eq!(snapshots(&mut world), [], "once");
}

#[test]
fn what_a_standby_has_to_know_is_told_before_all_else() {
    let mut world = World::new();
    world.apply(program(&Said::Range(Range {
        vrf: 0,
        address: at(ACCESS).address,
        first: at(ACCESS).port,
        ports: 5_000,
    })));
    let place = |number: u16| Place { port: at(ACCESS).port + number, ..at(ACCESS) };
    let timeout = Some(Duration::from_secs(1));
    for number in 0..5_000 {
        say(&mut world, &FlowSaid { at: place(number), timeout, ..flow(ACCESS, None, PHONE) });
    }
    let told = notices(world.pass(Duration::from_secs(1)));
    assert!(told.len() >= 2_000 && told.iter().all(|(_, notice)| notice.timed_out));
    let last = format!("10.0.1.1:{}", place(4_999).port);
    send(&mut world, PHONE, &last, &rtp(1));
    let told = notices(world.pass(Duration::from_millis(5)));
    assert!(told.iter().any(|(it, notice)| *it == place(4_999) && notice.snapshot.is_some()));
}

#[test]
fn a_flow_whose_change_is_refused_lets_nothing_pass_until_it_is_said_anew() {
    let suite = Suite::AesCm128HmacSha1_80;
    let mut world = call(INNER, CORE);
    let said = FlowSaid { guard: guard(suite), ..flow(ACCESS, Some(INNER), PHONE) };
    say(&mut world, &said);
    // Two keys without identifiers, in either direction, beside a good one in the other.
    let two = |octet| {
        let mut two = keys(suite, octet);
        two.entries.extend(keys(suite, octet + 1).entries);
        two
    };
    let mut phone = Phone::new(suite);
    for (sequence, receive, send_keys) in [(1, two(3), keys(suite, 5)), (2, keys(suite, 6), two(7))]
    {
        let guard = Guard::Keys { receive, send: send_keys };
        let bad = Said::Flow(Box::new(FlowSaid { guard, ..said.clone() }));
        assert!(world.plane.apply(&program(&bad)).is_err());
        // The place of a sender that nobody has is another call's now.
        let (other, there) = ("10.0.1.1:20600", "10.0.1.2:6600");
        let guard = Guard::Keys { receive: keys(suite, 8), send: keys(suite, 9) };
        say(&mut world, &FlowSaid { guard, ..flow(other, None, there) });
        // Neither what was agreed before counts any more, nor does anything leave in the clear.
        let protected = phone.protect(&rtp(sequence));
        assert_eq!(send(&mut world, PHONE, ACCESS, &protected), Left::default());
        assert_eq!(send(&mut world, CORE, INNER, &rtp(sequence)), Left::default());
        say(&mut world, &said);
        let sequence = sequence + 10;
        let back = one(&send(&mut world, CORE, INNER, &rtp(sequence)));
        assert_eq!(phone.open(&back.payload), rtp(sequence));
        let out = one(&send(&mut world, PHONE, ACCESS, &phone.protect(&rtp(sequence))));
        assert_eq!(out.payload, rtp(sequence));
    }
}

#[test]
fn packets_leave_with_the_hops_that_are_left_to_them() {
    let mut world = call(INNER, CORE);
    for hops in [255, 64, 3, 2] {
        let (port, mut frame) = frame(PHONE, ACCESS, &rtp(u16::from(hops)));
        frame[14 + 8] = hops;
        seal_ip4(&mut frame[14..34]);
        assert_eq!(one(&world.send(port, &frame)).hops, hops - 1);
    }
    let (port, mut frame) = frame(PHONE, ACCESS, &rtp(1));
    frame[14 + 8] = 1;
    seal_ip4(&mut frame[14..34]);
    assert_eq!(world.send(port, &frame), Left::default());
    assert_eq!(drops(&world, "media: time to live"), 1);
    // A call that comes back here takes one more.
    let (again, other, second) = ("10.0.2.1:30200", "10.0.1.1:20300", "10.0.1.2:6000");
    say(&mut world, &flow(INNER, Some(ACCESS), again));
    say(&mut world, &flow(again, Some(other), INNER));
    say(&mut world, &flow(other, Some(again), second));
    assert_eq!(one(&send(&mut world, PHONE, ACCESS, &rtp(2))).hops, 58);
}

#[test]
fn stun_goes_up_under_its_class_where_it_is_wanted() {
    let mut world = call(INNER, CORE);
    let mut request = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    request.extend([7; 12]);
    assert_eq!(send(&mut world, PHONE, ACCESS, &request), Left::default());
    assert_eq!(drops(&world, "media: STUN is not wanted"), 1);
    say(&mut world, &FlowSaid { stun: true, ..flow(ACCESS, Some(INNER), PHONE) });
    let left = send(&mut world, PHONE, ACCESS, &request);
    assert_eq!(left.classes, [class(&world, "media/stun")]);
    assert_eq!(left.punted[0][28..], request);
}

#[test]
fn what_is_transcoded_goes_up_in_the_clear_and_comes_down_to_leave_as_the_flow_does() {
    let suite = Suite::AeadAes128Gcm;
    let mut world = call(INNER, CORE);
    let up = PayloadTypes::default().with(8);
    let said = FlowSaid { guard: guard(suite), up, ..flow(ACCESS, Some(INNER), PHONE) };
    say(&mut world, &said);
    let mut phone = Phone::new(suite);
    let left = send(&mut world, PHONE, ACCESS, &phone.protect(&rtp(1)));
    let frames = world.plane.handed().find(|it| it.name == "media/frames").unwrap();
    assert_eq!(left.classes, [frames.number]);
    let packet = &left.punted[0];
    assert_eq!(packet[28..], rtp(1));
    assert_eq!(packet.len(), usize::from(u16::from_be_bytes([packet[2], packet[3]])));
    assert_eq!(checksum(sum(&packet[..20], 0)), 0);
    // Down: from the place of the phone's flow, to whatever is written there.
    let (_, down) = frame(ACCESS, "10.0.1.9:9", &rtp(5));
    let slot = world.pool.put(&down[14..]).unwrap();
    let entry = world.graph.entry(frames.down.unwrap()).unwrap();
    world.graph.push(entry, &[slot], &mut world.pool);
    let out = one(&world.send(0, &[]));
    assert_eq!((out.from, out.to), (ACCESS.parse().unwrap(), PHONE.parse().unwrap()));
    assert_eq!((phone.open(&out.payload), out.dscp), (rtp(5), 46));
}

#[test]
fn no_more_is_handed_up_to_be_transcoded_than_twice_what_such_an_end_sends() {
    let mut world = call(INNER, CORE);
    let up = PayloadTypes::default().with(8);
    let said = FlowSaid { up, up_per_s: 100, ..flow(ACCESS, Some(INNER), PHONE) };
    say(&mut world, &said);
    let mut went_up = 0;
    for number in 0..2_000 {
        went_up += send(&mut world, PHONE, ACCESS, &rtp(number)).punted.len();
        world.pass(Duration::from_millis(1));
    }
    // Two seconds of it, and half a second's at once.
    assert!((245..=251).contains(&went_up), "{went_up}");
    assert_eq!(drops(&world, "media: beyond the rate of frames"), 2_000 - went_up as u64);
    // Another flow has a rate of its own.
    say(&mut world, &FlowSaid { up, ..flow(INNER, Some(ACCESS), CORE) });
    assert_eq!(send(&mut world, CORE, INNER, &rtp(1)).punted.len(), 1);
}

#[test]
fn payload_types_become_others_and_digits_are_told() {
    let mut world = call(INNER, CORE);
    let digits = PayloadTypes::default().with(101);
    let becomes = vec![(101, 96), (8, 0)];
    say(&mut world, &FlowSaid { becomes, digits, ..flow(ACCESS, Some(INNER), PHONE) });
    let out = one(&send(&mut world, PHONE, ACCESS, &rtp(1)));
    assert_eq!(Header::peek(&out.payload).unwrap().payload_type, 0);
    for (sequence, octets) in [(2, [5, 10, 0, 160]), (3, [5, 0x8a, 3, 32]), (4, [5, 0x8a, 3, 32])] {
        let header =
            Header { payload_type: 101, sequence, timestamp: 900, ssrc: 77, marker: sequence == 2 };
        let mut packet = Vec::new();
        Packet { header, payload: &octets, ..Packet::default() }.write(&mut packet);
        let out = one(&send(&mut world, PHONE, ACCESS, &packet));
        let header = Header::peek(&out.payload).unwrap();
        assert_eq!((header.payload_type, header.marker), (96, sequence == 2));
    }
    let told = notices(world.pass(Duration::from_millis(5)));
    let digits: Vec<_> = told.into_iter().flat_map(|(_, notice)| notice.digits).collect();
    assert_eq!(digits, [media::program::Digit { code: 5, duration_ms: 100 }]);
}

/// An empty sender report (RFC 3550 §6.4.1).
fn empty_report(ssrc: u8) -> Vec<u8> {
    [&[0x80, 200, 0, 6, 0, 0, 0, ssrc][..], &[0; 20]].concat()
}

fn rtp_of(payload_type: u8, ssrc: u32, sequence: u16) -> Vec<u8> {
    let header = Header { payload_type, sequence, timestamp: 0, ssrc, marker: false };
    let mut octets = Vec::new();
    Packet { header, payload: &[1; 40], ..Packet::default() }.write(&mut octets);
    octets
}

#[test]
fn reports_leave_apart_and_the_streams_of_a_shared_port_each_from_its_own() {
    let suite = Suite::AeadAes128Gcm;
    let [reports, video, video_reports] = ["10.0.2.1:30001", "10.0.2.1:30002", "10.0.2.1:30003"];
    let [core_reports, screen, screen_reports] =
        ["10.0.2.2:5001", "10.0.2.2:5002", "10.0.2.2:5003"];
    let mut world = call(INNER, CORE);
    let types = PayloadTypes::default().with(97);
    let branch = |to, payload_types, reports| Branch { to: at(to), payload_types, reports };
    let branches = vec![
        branch(reports, PayloadTypes::default(), true),
        branch(video, types, false),
        branch(video_reports, types, true),
    ];
    // The branches are there before the places that they lead to.
    say(&mut world, &FlowSaid { branches, ..flow(ACCESS, Some(INNER), PHONE) });
    let rtcp = Settings { of: Use::Rtcp, ..settings() };
    for (here, peer) in [(reports, core_reports), (video_reports, screen_reports)] {
        say(&mut world, &FlowSaid { settings: rtcp, ..flow(here, Some(ACCESS), peer) });
    }
    let guarded = FlowSaid { guard: guard(suite), ..flow(video, Some(ACCESS), screen) };
    say(&mut world, &guarded);
    let mut far = Phone::new(suite);
    let mut leaves = |world: &mut World, payload: &[u8], from: &str, to: &str| {
        let out = one(&send(world, PHONE, ACCESS, payload));
        assert_eq!((out.from, out.to), (from.parse().unwrap(), to.parse().unwrap()));
        let plain = if from == video { far.open(&out.payload) } else { out.payload };
        assert_eq!(plain, payload);
    };
    leaves(&mut world, &rtp(1), INNER, CORE);
    leaves(&mut world, &empty_report(77), reports, core_reports);
    leaves(&mut world, &empty_report(78), reports, core_reports);
    leaves(&mut world, &rtp_of(97, 78, 1), video, screen);
    leaves(&mut world, &empty_report(78), video_reports, screen_reports);
    leaves(&mut world, &empty_report(77), reports, core_reports);
    leaves(&mut world, &rtp(2), INNER, CORE);
    // The other way all of it comes to the one place.
    let out = one(&send(&mut world, core_reports, reports, &empty_report(5)));
    assert_eq!((out.from, out.to), (ACCESS.parse().unwrap(), PHONE.parse().unwrap()));
    // Where a branch leads to nobody nothing of it leaves, least of all by another way.
    let key = Name::Flow(at(video)).key();
    world.apply(Program::Remove(Removed::Item(FEATURE.to_owned(), key)));
    assert_eq!(send(&mut world, PHONE, ACCESS, &rtp_of(97, 78, 2)), Left::default());
    assert_eq!(drops(&world, "media: no other side"), 1);
    leaves(&mut world, &rtp(3), INNER, CORE);
}

#[test]
fn silence_and_one_way_audio_are_told_once_and_so_is_the_return() {
    let mut world = call(INNER, CORE);
    let timeout = Some(Duration::from_secs(10));
    say(&mut world, &FlowSaid { timeout, ..flow(INNER, Some(ACCESS), CORE) });
    let mut told = Vec::new();
    let of = |told: &[(Place, Notice)], place: &str, is: fn(&Notice) -> bool| {
        told.iter().filter(|(it, notice)| *it == at(place) && is(notice)).count()
    };
    for sequence in 0..600 {
        one(&send(&mut world, PHONE, ACCESS, &rtp(sequence)));
        told.extend(notices(world.pass(Duration::from_millis(20))));
        if sequence == 110 {
            assert_ne!(of(&told, ACCESS, |it| it.statistics.is_some()), 0, "in the first seconds");
        }
    }
    assert_eq!(of(&told, ACCESS, |it| it.one_way), 1);
    assert_eq!(of(&told, INNER, |it| it.timed_out), 1);
    assert_eq!(of(&told, ACCESS, |it| it.timed_out), 0);
    let counted = of(&told, ACCESS, |it| it.statistics.is_some());
    assert!((10..=13).contains(&counted), "each second, for flows are few: {counted}");
    assert!(told.len() < 30, "many packets are few notices: {}", told.len());
    one(&send(&mut world, CORE, INNER, &rtp(1)));
    let told = notices(world.pass(Duration::from_secs(1)));
    assert_eq!(of(&told, INNER, |it| it.is_back), 1);
    let name = Name::Flow(at(ACCESS)).key();
    world.apply(Program::Remove(Removed::Item(FEATURE.to_owned(), name)));
    let told = notices(world.pass(Duration::from_millis(5)));
    let last = told.iter().find(|(place, _)| *place == at(ACCESS)).unwrap();
    let statistics = last.1.statistics.unwrap();
    assert_eq!((statistics.packets, statistics.stream.unwrap().lost), (600, 0));
}

#[test]
fn what_is_not_said_again_is_swept_away_and_what_is_goes_on_as_it_was() {
    let suite = Suite::AesCm128HmacSha1_80;
    let mut world = call(INNER, CORE);
    let said = FlowSaid { guard: guard(suite), ..flow(ACCESS, Some(INNER), PHONE) };
    say(&mut world, &said);
    let mut phone = Phone::new(suite);
    let again = |world: &mut World, generation, flows: &[&FlowSaid]| {
        world.apply(Program::Begin { generation });
        super::world::programs().into_iter().for_each(|program| world.apply(program));
        ranges().into_iter().for_each(|program| world.apply(program));
        flows.iter().for_each(|flow| say(world, flow));
        world.apply(Program::End { generation });
    };
    one(&send(&mut world, PHONE, ACCESS, &phone.protect(&rtp(65_535))));
    let inner = flow(INNER, Some(ACCESS), CORE);
    again(&mut world, 1, &[&said, &inner]);
    one(&send(&mut world, PHONE, ACCESS, &phone.protect(&rtp(0))));
    again(&mut world, 2, &[&inner]);
    let left = send(&mut world, PHONE, ACCESS, &phone.protect(&rtp(1)));
    assert_eq!((left, drops(&world, "media: no flow has the port")), (Left::default(), 1));
    assert_eq!(send(&mut world, CORE, INNER, &rtp(1)), Left::default());
}

#[test]
fn what_cannot_be_is_refused_and_of_a_flow_nothing_stands_then() {
    let mut world = call(INNER, CORE);
    let refused = |world: &mut World, said: Said| match world.plane.apply(&program(&said)) {
        Err(Refused::Conflict(why)) => why,
        other => panic!("{other:?}"),
    };
    let stray = Said::Flow(Box::new(flow("10.0.1.1:9", None, PHONE)));
    assert_eq!(refused(&mut world, stray), "no range has the flow's port");
    let address = at(ACCESS).address;
    let range = Said::Range(Range { vrf: 0, address, first: 20_500, ports: 9 });
    assert_eq!(refused(&mut world, range), "two ranges have one port");
    let range = Said::Range(Range { vrf: 9, address, first: 1, ports: 9 });
    assert!(world.plane.apply(&program(&range)).is_err(), "there is no such table");
    let garbage = Item { feature: FEATURE.to_owned(), key: vec![7], value: vec![1, 2] };
    assert!(world.plane.apply(&Program::Item(garbage)).is_err());
    one(&send(&mut world, PHONE, ACCESS, &rtp(1)));
    let own = Said::Flow(Box::new(flow(ACCESS, Some(ACCESS), PHONE)));
    assert_eq!(refused(&mut world, own), "a flow cannot be its own other side");
    let good = flow(ACCESS, Some(INNER), PHONE);
    for (sequence, value) in [(2, vec![1, 2]), (3, Vec::new())] {
        assert_eq!(send(&mut world, PHONE, ACCESS, &rtp(sequence)), Left::default());
        say(&mut world, &good);
        one(&send(&mut world, PHONE, ACCESS, &rtp(sequence)));
        let Program::Item(item) = program(&Said::Flow(Box::new(good.clone()))) else { return };
        assert!(world.plane.apply(&Program::Item(Item { value, ..item })).is_err());
    }
    assert_eq!(send(&mut world, PHONE, ACCESS, &rtp(4)), Left::default());
}

#[test]
fn fragments_bad_lengths_and_missing_checksums_have_their_reasons() {
    let mut world = call(INNER6, CORE6);
    let (port, whole) = frame(PHONE, ACCESS, &rtp(1));
    let mut fragment = whole.clone();
    fragment[14 + 6] = 0x20;
    seal_ip4(&mut fragment[14..34]);
    assert_eq!(world.send(port, &fragment), Left::default());
    assert_eq!(drops(&world, "media: fragment"), 1);
    for length in [0_u16, 7, 500] {
        let mut frame = whole.clone();
        frame[14 + 24..14 + 26].copy_from_slice(&length.to_be_bytes());
        assert_eq!(world.send(port, &frame), Left::default());
    }
    assert_eq!(drops(&world, "media: length of UDP"), 3);
    let (port, mut six) = frame(CORE6, INNER6, &rtp(1));
    six[14 + 46..14 + 48].fill(0);
    assert_eq!(world.send(port, &six), Left::default());
    assert_eq!(drops(&world, "media: ip6 without a checksum of UDP"), 1);
    let mut none = whole;
    none[14 + 26..14 + 28].fill(0);
    assert_eq!(one(&world.send(0, &none)).payload, rtp(1), "over IPv4 it may lack");
}
