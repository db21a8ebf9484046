//! What a takeover costs the forwarder's writer: calls with SRTP at one side and RTCP apart, four
//! flows each, that stand already, beside the same told in one batch.
//!
//! `cargo bench -p tandem-media --bench takeover -- [calls]`
#![allow(missing_docs, reason = "a measurement")]
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and prints")]
#![allow(clippy::cast_possible_truncation, reason = "numbers of its own")]

use machine::Time;
use media::program::{
    Duty, FEATURE, FlowSaid, Guard, Keys, Place, Range, Said, Snapshot as Resume,
};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::Program;
use nodes::program::{Address, Interface, Item, Mode, Port, Urpf};
use plane_control::Plane;
use rtp::{ClockRate, Rewrite};
use srtp::{Index, KeyEntry, MasterKey, Parameters, StreamState, Suite};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

const FIRST: u16 = 20_000;
/// Calls of one address: two ports of each end.
const CALLS_OF_ADDRESS: u32 = 20_000;

fn item(said: &Said) -> Program {
    let (feature, key) = (FEATURE.to_owned(), said.name().key());
    Program::Item(Item { feature, key, value: said.value() })
}

fn address(net: u8, at: u32) -> IpAddr {
    Ipv4Addr::from(u32::from_be_bytes([10, net, 0, 1]) + at / CALLS_OF_ADDRESS).into()
}

fn keys(number: u32, way: u8) -> Keys {
    let suite = Suite::AesCm128HmacSha1_80;
    let mut octets = vec![way; MasterKey::octets_of(suite)];
    octets[..4].copy_from_slice(&number.to_be_bytes());
    let key = MasterKey::of(suite, &octets).expect("it is as long");
    Keys { parameters: Parameters::of(suite), entries: vec![KeyEntry::alone(key)] }
}

/// The flow of a side of a call, and that of its RTCP.
fn flows(call: u32, side: u8, resume: Option<Resume>) -> [FlowSaid; 2] {
    [0, 1].map(|rtcp| {
        let port = FIRST + 2 * (call % CALLS_OF_ADDRESS) as u16 + rtcp;
        let place = |net| Place { vrf: 0, address: address(net, call), port };
        let keys = || Guard::Keys { receive: keys(call, 1), send: keys(call, 2) };
        FlowSaid {
            at: place(side),
            to: Some(place(3 - side)),
            settings: Settings {
                of: if rtcp == 0 { Use::Rtp } else { Use::Rtcp },
                is_active: true,
                payload_types: PayloadTypes::ALL,
                untimed: PayloadTypes::default(),
                ssrcs: Sources::ANY,
                clock: ClockRate::TELEPHONY,
                rate: Rate::of_octet_ps(0),
                rewrite: Rewrite::default(),
            },
            expected: Expected::at(SocketAddr::new(Ipv4Addr::new(10, side, 200, 2).into(), port)),
            guard: if side == 1 { keys() } else { Guard::None },
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
            resume: resume.clone(),
        }
    })
}

fn resume(call: u32) -> Resume {
    let highest = Index::of(u64::from(call) + 70_000);
    let stream = StreamState { ssrc: call + 1, highest, rtcp: Some(9), moved: 0 };
    let latched = Some(SocketAddr::from(([10, 1, 200, 2], 4_000)));
    Resume { latched, receive: vec![stream], send: vec![stream], past: None }
}

fn plane(calls: u32) -> Plane {
    let mut plane = Plane::new(7).expect("a plane");
    for index in [1, 2_u8] {
        let (port, mac) = (u16::from(index), [2, 0, 0, 0, 0, index]);
        let name = format!("port{index}");
        let said = Port { port, name, mac, mtu: 1_500, up: true };
        plane.apply(&Program::Port(said)).expect("a port");
        let interface = Interface {
            index: index.into(),
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
        };
        plane.apply(&Program::Interface(interface)).expect("an interface");
        for at in (0..calls).step_by(CALLS_OF_ADDRESS as usize) {
            let ports = 2 * CALLS_OF_ADDRESS as u16;
            let range = Range { vrf: 0, address: address(index, at), first: FIRST, ports };
            plane.apply(&item(&Said::Range(range))).expect("a range");
        }
    }
    plane
}

fn said(calls: u32) -> Vec<Program> {
    let sides = (0..calls).flat_map(|call| [(call, 1), (call, 2)]);
    let flows = sides.flat_map(|(call, side)| flows(call, side, Some(resume(call))));
    flows.map(|flow| item(&Said::Flow(Box::new(flow)))).collect()
}

fn tell(plane: &mut Plane, programs: &[Program]) {
    for program in programs {
        plane.apply(program).expect("it is taken");
    }
    plane.publish();
}

fn addresses(calls: u32) -> Vec<Program> {
    let all = (0..calls).step_by(CALLS_OF_ADDRESS as usize);
    let all = all.flat_map(|at| [(1, at), (2, at)]);
    let own = |(net, at): (u8, u32)| Address {
        interface: net.into(),
        address: address(net, at),
        length: 32,
    };
    all.map(|it| Program::Address(own(it))).collect()
}

fn main() {
    let calls = std::env::args().skip(1).find_map(|text| text.parse().ok()).unwrap_or(25_000);
    let flows = said(calls);
    println!("{calls} calls, {} flows, SRTP at one side", flows.len());
    let ms = |began: Instant| began.elapsed().as_secs_f64() * 1e3;
    let takes_over = |plane: &mut Plane| {
        let began = Instant::now();
        tell(plane, &[item(&Said::Duty(Duty::Serves(2)))]);
        tell(plane, &addresses(calls));
        let (mut out, now) = (Vec::new(), Time::from_millis(1_000));
        plane.tick(now, &mut out);
        (ms(began), out.len())
    };
    for _ in 0..5 {
        let mut standing = plane(calls);
        tell(&mut standing, &[item(&Said::Duty(Duty::StandsBy))]);
        tell(&mut standing, &flows);
        let (took, announced) = takes_over(&mut standing);
        println!("  standing  {took:>8.2} ms until {announced} announcements leave");
    }
    let mut batch = plane(calls);
    let began = Instant::now();
    tell(&mut batch, &flows);
    let (took, _) = takes_over(&mut batch);
    println!("  one batch {:>8.2} ms, of which {took:.2} the takeover", ms(began));
}
