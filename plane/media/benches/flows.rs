//! What a packet of media costs, in memory, on one core: the calls' packets of 20 ms, in turn in
//! both directions, through the whole graph of a router, into a sink that frees them.
//!
//! `cargo bench -p tandem-media -- [row…] [--calls N] [--seconds S]`
//!
//! What the rows write into cells, and what they protect to have SRTP to open, is not measured.
#![allow(missing_docs, unsafe_code, reason = "a measurement")]
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and prints")]
#![allow(clippy::cast_possible_truncation, reason = "numbers of its own")]

use graph::{Counters, Graph, Outbox, Pool, STRIDE, Slot};
use machine::Time;
use media::program::{FEATURE, FlowSaid, Guard, Keys, Place, Range, Said};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::Program;
use nodes::program::{Address, Hop, Interface, Item, Mode, Neighbour, Port, Urpf};
use plane_control::Plane;
use rtp::{ClockRate, Rewrite};
use srtp::{KeyEntry, MasterKey, Packet, Parameters, Sender, Suite};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

const BURST: usize = 256;
const CELLS: usize = 2_048;
/// Octets of G.711 in 20 ms, with the header of RTP.
const RTP: usize = 172;
/// Ports of one range.
const PORTS: u16 = 40_000;
const FIRST: u16 = 20_000;

struct Row {
    name: &'static str,
    is_six: bool,
    suite: Option<Suite>,
    /// Millions of packets a second that are wanted.
    wanted: f64,
}

const ROWS: [Row; 5] = [
    Row { name: "rtp-ip4", is_six: false, suite: None, wanted: 10.0 },
    Row { name: "rtp-ip6", is_six: true, suite: None, wanted: 8.0 },
    Row { name: "srtp-cm", is_six: false, suite: Some(Suite::AesCm128HmacSha1_80), wanted: 4.0 },
    Row { name: "srtp-gcm", is_six: false, suite: Some(Suite::AeadAes128Gcm), wanted: 6.0 },
    Row { name: "srtp-cm-ip6", is_six: true, suite: Some(Suite::AesCm128HmacSha1_80), wanted: 4.0 },
];

/// One direction of a call: the frame up to the payload, and what protects it on the way here.
struct Source {
    port: u16,
    head: Vec<u8>,
    sender: Option<Sender>,
    sequence: u16,
}

fn address(is_six: bool, net: u8, number: u32) -> IpAddr {
    match is_six {
        false => Ipv4Addr::from(u32::from_be_bytes([10, net, 0, 0]) + number).into(),
        true => {
            let [a, b] = [(number >> 16) as u16, number as u16];
            Ipv6Addr::new(0xfd00, u16::from(net), 0, 0, 0, 0, a, b).into()
        }
    }
}

fn keys(suite: Suite, number: usize, side: u8) -> Keys {
    let mut octets = vec![side; MasterKey::octets_of(suite)];
    octets[..8].copy_from_slice(&number.to_be_bytes());
    let key = MasterKey::of(suite, &octets).expect("it fits");
    Keys { parameters: Parameters::of(suite), entries: vec![KeyEntry::alone(key)] }
}

fn item(said: &Said) -> Program {
    let (key, value) = (said.name().key(), said.value());
    Program::Item(Item { feature: FEATURE.to_owned(), key, value })
}

/// Nets: 1 and 2 are those of the ports with the places of media, 3 and 4 those behind them with
/// phones and cores.
fn plane(is_six: bool) -> Plane {
    let mut plane = Plane::new(7).expect("memory");
    let mut say = |program| plane.apply(&program).expect("it can be");
    for port in 0..2_u16 {
        let (index, name) = (u32::from(port) + 1, format!("port{port}"));
        let mac = [2, 0, 0, 0, 0, port as u8 + 1];
        say(Program::Port(Port { port, name, mac, mtu: 1_500, up: true }));
        say(Program::Interface(Interface {
            index,
            port,
            outer: None,
            inner: None,
            mode: Mode::Routed { vrf: 0 },
            mtu: 0,
            mac: None,
            mpls: false,
            transit_only: false,
            urpf: Urpf::Off,
            proxy_arp: false,
            directed_broadcast: false,
            speaks: Vec::new(),
        }));
        let net = index as u8;
        let length = if is_six { 64 } else { 24 };
        for own in 1..=4 {
            let address = address(is_six, net, own);
            say(Program::Address(Address { interface: index, address, length }));
        }
        let gateway = address(is_six, net, 99);
        let mac = [2, 0, 0, 1, 0, net];
        say(Program::Neighbour(Neighbour { interface: index, address: gateway, mac }));
        let hop = Hop::Via { interface: index, gateway: Some(gateway), labels: Vec::new() };
        say(Program::Hop { id: index, hop });
        match address(is_six, net + 2, 0) {
            IpAddr::V4(net) => say(Program::Routes4 { vrf: 0, routes: vec![(net, 14, index)] }),
            IpAddr::V6(net) => say(Program::Routes6 { vrf: 0, routes: vec![(net, 32, index)] }),
        };
    }
    plane
}

/// The place of a call's flow: ports of several addresses.
fn place(is_six: bool, net: u8, call: usize) -> Place {
    let address = address(is_six, net, 1 + (call / usize::from(PORTS)) as u32);
    Place { vrf: 0, address, port: FIRST + (call % usize::from(PORTS)) as u16 }
}

fn flow(at: Place, to: Place, peer: SocketAddr, guard: Guard) -> Program {
    let settings = Settings {
        of: Use::Muxed,
        is_active: true,
        payload_types: PayloadTypes::default().with(8).with(101),
        untimed: PayloadTypes::default().with(101),
        ssrcs: Sources::ANY,
        clock: ClockRate::TELEPHONY,
        rate: Rate::bits(1_000_000),
        rewrite: Rewrite::default(),
    };
    item(&Said::Flow(Box::new(FlowSaid {
        at,
        to: Some(to),
        settings,
        expected: Expected::at(peer),
        guard,
        dscp: Some(46),
        timeout: Some(Duration::from_secs(30)),
        becomes: Vec::new(),
        branches: Vec::new(),
        up: PayloadTypes::default(),
        up_per_s: 0,
        digits: PayloadTypes::default(),
        stun: false,
        dtls: false,
        association: None,
        resume: None,
    })))
}

/// Ethernet, IP and UDP before so many octets.
fn head(port: u16, from: SocketAddr, to: SocketAddr, octets: usize) -> Vec<u8> {
    let mut head = vec![2, 0, 0, 0, 0, port as u8 + 1, 2, 0, 0, 1, 0, port as u8 + 1];
    let udp = octets + 8;
    match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            head.extend([8, 0, 0x45, 0]);
            head.extend(((udp + 20) as u16).to_be_bytes());
            head.extend([0, 0, 0, 0, 64, 17, 0, 0]);
            head.extend(from.octets().into_iter().chain(to.octets()));
            nodes::header::seal_ip4(&mut head[14..]);
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            head.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            head.extend((udp as u16).to_be_bytes());
            head.extend([17, 64]);
            head.extend(from.octets().into_iter().chain(to.octets()));
        }
        _ => unreachable!("one family"),
    }
    head.extend(from.port().to_be_bytes().into_iter().chain(to.port().to_be_bytes()));
    head.extend((udp as u16).to_be_bytes());
    head.extend([0x12, 0x34]);
    head
}

/// All calls of a row, and the two directions of each.
fn calls(row: &Row, calls: usize) -> (Plane, Vec<Source>) {
    let mut plane = plane(row.is_six);
    for net in [1, 2] {
        for number in 0..calls.div_ceil(usize::from(PORTS)) {
            let Place { vrf, address, port } = place(row.is_six, net, number * usize::from(PORTS));
            let range = Range { vrf, address, first: port, ports: PORTS };
            plane.apply(&item(&Said::Range(range))).expect("a range");
        }
    }
    let (mut phones, mut cores) = (Vec::new(), Vec::new());
    for call in 0..calls {
        let (access, inner) = (place(row.is_six, 1, call), place(row.is_six, 2, call));
        let phone = SocketAddr::new(address(row.is_six, 3, call as u32), 4_000);
        let core = SocketAddr::new(address(row.is_six, 4, call as u32 % 64), 5_000);
        let guard = row.suite.map_or(Guard::None, |suite| Guard::Keys {
            receive: keys(suite, call, 1),
            send: keys(suite, call, 2),
        });
        plane.apply(&flow(access, inner, phone, guard)).expect("a flow");
        plane.apply(&flow(inner, access, core, Guard::None)).expect("a flow");
        let sender = row.suite.map(|suite| {
            let keys = keys(suite, call, 1);
            Sender::new(keys.parameters, &keys.entries).expect("sound")
        });
        let overhead = sender.as_ref().map_or(0, Sender::overhead);
        let at = |place: Place| SocketAddr::new(place.address, place.port);
        let phone = head(0, phone, at(access), RTP + overhead);
        phones.push(Source { port: 0, head: phone, sender, sequence: 7 });
        let core = head(1, core, at(inner), RTP);
        cores.push(Source { port: 1, head: core, sender: None, sequence: 7 });
    }
    // In bursts of one port each, as a worker receives them.
    let mut all = Vec::new();
    let (mut phones, mut cores) = (phones.into_iter(), cores.into_iter());
    while phones.len() > 0 {
        all.extend(phones.by_ref().take(BURST));
        all.extend(cores.by_ref().take(BURST));
    }
    (plane, all)
}

/// Writes the next packet of each source into a cell.
fn fill(sources: &mut [Source], slots: &[Slot], pool: &mut Pool) {
    let mut senders: Vec<Sender> = Vec::new();
    let mut packets = Vec::new();
    for (source, slot) in sources.iter_mut().zip(slots) {
        source.sequence = source.sequence.wrapping_add(1);
        let (meta, cell) = pool.parts(*slot);
        let start = usize::from(meta.offset);
        let payload = start + source.head.len();
        cell[start..payload].copy_from_slice(&source.head);
        let rtp = &mut cell[payload..payload + RTP];
        rtp.fill(0xd5);
        rtp[..2].copy_from_slice(&[0x80, 8]);
        rtp[2..4].copy_from_slice(&source.sequence.to_be_bytes());
        rtp[4..8].copy_from_slice(&(u32::from(source.sequence) * 160).to_be_bytes());
        rtp[8..12].copy_from_slice(&[1, 2, 3, 4]);
        let mut octets = source.head.len() + RTP;
        if let Some(sender) = source.sender.take() {
            octets += sender.overhead();
            let at = slot.0 as usize * STRIDE + payload;
            packets.push(Packet::rtp(senders.len(), at, RTP, RTP + 64));
            senders.push(sender);
        }
        (meta.port, meta.length) = (source.port, octets as u16);
    }
    srtp::protect(&mut senders[..], pool.memory_mut(), &mut packets);
    let mut senders = senders.into_iter();
    let wants = |it: &&mut Source| it.port == 0;
    for source in sources.iter_mut().filter(wants) {
        source.sender = senders.next();
    }
}

fn clocks() -> u64 {
    // SAFETY: reads a counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

fn measure(row: &Row, count: usize, seconds: f64, passes: usize) {
    let (mut plane, mut sources) = calls(row, count);
    plane.publish();
    let mut graph = plane.graph().expect("a graph");
    plane.publish();
    let mut pool = Pool::new(CELLS, STRIDE);
    let mut out = Outbox::default();
    let entry = graph.entry("ethernet-input").expect("the first node");
    let mut slots = [Slot(0); BURST];
    let (mut spent, mut packets, mut left) = (0_u64, 0_u64, 0_u64);
    let mut rounds: Vec<u64> = Vec::new();
    let mut before: Vec<Counters> = Vec::new();
    let mut now = Time::from_millis(1_000);
    let step = Duration::from_millis(20) * BURST as u32 / sources.len() as u32;
    let (mut started, mut began) = (Instant::now(), clocks());
    'all: for pass in 0_usize.. {
        if passes > 0 && pass == passes {
            break;
        }
        if pass == 2 {
            before = graph.counters();
            (spent, packets, left) = (0, 0, 0);
            rounds.clear();
            (started, began) = (Instant::now(), clocks());
        }
        for sources in sources.chunks_mut(BURST) {
            let slots = &mut slots[..sources.len()];
            assert_eq!(pool.take_all(slots), sources.len(), "all cells came back");
            fill(sources, slots, &mut pool);
            let first = clocks();
            graph.push(entry, slots, &mut pool);
            graph.run(&mut pool, &mut out, now);
            let took = clocks() - first;
            spent += took;
            rounds.push(took * BURST as u64 / slots.len() as u64);
            packets += slots.len() as u64;
            for port in 0..2 {
                if let Some(queue) = out.port(port) {
                    left += queue.len() as u64;
                    pool.free_all(queue);
                    queue.clear();
                }
            }
            now += step;
            if pass > 2 && passes == 0 && started.elapsed().as_secs_f64() > seconds {
                break 'all;
            }
        }
    }
    let hertz = (clocks() - began) as f64 / started.elapsed().as_secs_f64();
    let each = spent as f64 / packets as f64;
    rounds.sort_unstable();
    let half = rounds[rounds.len() / 2] as f64 / BURST as f64;
    let rate = |clocks: f64| hertz / clocks / 1e6;
    let (name, mean, half_rate) = (row.name, rate(each), rate(half));
    print!("{name:<12} {count:>7} calls  mean {mean:>5.2} Mpps {each:>6.1} clocks");
    print!("  median {half_rate:>5.2} Mpps {half:>6.1} clocks");
    println!("  wanted {:>4.1}", row.wanted);
    if left != packets {
        println!("  left {left} of {packets}");
    }
    by_node(&graph, &before);
}

fn by_node(graph: &Graph, before: &[Counters]) {
    for (now, before) in graph.counters().iter().zip(before) {
        let packets = now.packets - before.packets;
        if packets > 0 {
            let each = (now.clocks - before.clocks) as f64 / packets as f64;
            let vector = packets as f64 / (now.vectors - before.vectors) as f64;
            println!("  {:<20} {each:>8.1} clocks  {vector:>6.1} packets a vector", now.name);
        }
        for (reason, count) in &now.dropped {
            println!("    {reason}: {count}");
        }
    }
}

fn main() {
    let (mut rows, mut count, mut seconds, mut passes) = (Vec::new(), 78_000, 2.0, 0);
    let mut arguments = std::env::args().skip(1);
    let number = |text: Option<String>| -> f64 {
        text.and_then(|text| text.parse().ok()).expect("a number")
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--calls" => count = number(arguments.next()) as usize,
            "--passes" => passes = number(arguments.next()) as usize,
            "--seconds" => seconds = number(arguments.next()),
            row => rows.push(row.to_owned()),
        }
    }
    for row in &ROWS {
        if rows.is_empty() || rows.iter().any(|it| it == row.name) {
            measure(row, count, seconds, passes);
        }
    }
}
