//! Cross-connects, bridge domains, VPNs, filters, policers, and all of them at once.

use crate::case::{Case, Frame, PORTS, interface, neighbour, ports, random};
use crate::ip::{addresses, frame4};
use graph::{Outbox, Pool, STRIDE};
use machine::Time;
use nodes::Program;
use nodes::program::{
    Bridge, Direction, Family, Filter, FilterUse, Hop, Interface, LabelAction, Match, Meter, Mode,
    Policer, PolicerUse, Rule, Tunnel, Verdict,
};
use plane_control::Plane;
use std::net::{IpAddr, Ipv4Addr};

type Frames = Vec<(u16, Frame)>;

const CONNECTS: u32 = 1_000;
const BRIDGES: u32 = 250;
const MACS: u32 = 200_000;
const VPNS: u32 = 1_000;
/// Routes of each VPN.
const ROUTES: u32 = 1_000;
/// Where the numbers of each kind begin.
const FIRST_CONNECT: u32 = 1_000;
const FIRST_BRIDGED: u32 = 10_000;
/// VLANs of cross-connects end below those of bridges.
const BRIDGE_VLAN: u16 = 2_000;
/// The label of VPN n is this and n.
const LABEL: u32 = 5_000;

fn say(plane: &mut Plane, program: &Program) {
    plane.apply(program).unwrap_or_else(|why| panic!("{program:?}: {why}"));
}

fn tagged(plane: &mut Plane, index: u32, port: u16, vlan: u16, mode: Mode) {
    let made = Interface { index, outer: Some(vlan), ..interface(port, mode) };
    say(plane, &Program::Interface(made));
}

fn ethernet(to: [u8; 6], from: [u8; 6], vlan: u16) -> Frame {
    let mut frame = [0; 64];
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from);
    frame[12..14].copy_from_slice(&[0x81, 0]);
    frame[14..16].copy_from_slice(&vlan.to_be_bytes());
    frame[16..18].copy_from_slice(&[0x88, 0xb5]);
    frame
}

/// Interfaces of ports 0 and 1, a thousand VLANs each, crossed one by one.
fn connects(plane: &mut Plane, flows: usize) -> Frames {
    for at in 0..CONNECTS {
        for port in 0..2_u32 {
            let (own, other) = (FIRST_CONNECT + at * 2 + port, FIRST_CONNECT + at * 2 + 1 - port);
            say(plane, &Program::Hop { id: own, hop: Hop::Interface { interface: other } });
            tagged(plane, own, port as u16, at as u16 + 1, Mode::CrossConnect { hop: own });
        }
    }
    let mut state = 5;
    let frame = |_| {
        let bits = random(&mut state);
        let vlan = (bits % u64::from(CONNECTS)) as u16 + 1;
        let end = |shift: u32| [2, 0, 5, (bits >> shift) as u8, (bits >> (shift + 8)) as u8, 1];
        ((bits >> 63) as u16, ethernet(end(10), end(30), vlan))
    };
    (0..flows).map(frame).collect()
}

pub fn vpws(flows: usize) -> Case {
    let mut plane = ports(|_| Mode::Routed { vrf: 0 });
    let frames = connects(&mut plane, flows);
    Case { plane, frames, wanted: 60.0 }
}

fn station(number: u32) -> [u8; 6] {
    let [_, a, b, c] = number.to_be_bytes();
    [2, 0, 6, a, b, c]
}

/// Domains with an interface on every port; their stations were heard before it begins.
fn bridges(plane: &mut Plane, flows: usize) -> Frames {
    for bridge in 1..=BRIDGES {
        say(
            plane,
            &Program::Bridge(Bridge {
                bridge,
                ageing_s: 300,
                macs_max: 10_000,
                flood_unknown: true,
                learn: true,
                storm_pps: 0,
                moves_max: 0,
            }),
        );
        for port in 0..PORTS {
            let index = FIRST_BRIDGED + bridge * u32::from(PORTS) + u32::from(port);
            let mode = Mode::Bridged { bridge, split_horizon: 0, macs_max: 0 };
            tagged(plane, index, port, BRIDGE_VLAN + bridge as u16, mode);
        }
    }
    // Station n is in domain n mod 250, at port n / 250 mod 4.
    let place = |number: u32| (number % BRIDGES, (number / BRIDGES % u32::from(PORTS)) as u16);
    let frame = |from: u32, to: [u8; 6]| {
        let (bridge, port) = place(from);
        (port, ethernet(to, station(from), BRIDGE_VLAN + bridge as u16 + 1))
    };
    let heard: Frames = (0..MACS).map(|number| frame(number, [0xff; 6])).collect();
    learn(plane, &heard);
    let learnt: u32 = (1..=BRIDGES).map(|bridge| plane.macs(bridge)).sum();
    println!("  {learnt} stations heard");
    let mut state = 6;
    let pick = |_| {
        let from = random(&mut state) as u32 % MACS;
        let away = 1 + random(&mut state) as u32 % (MACS / BRIDGES - 1);
        // Another port of the same domain.
        let step = if away.is_multiple_of(u32::from(PORTS)) { away + 1 } else { away };
        frame(from, station((from + step * BRIDGES) % MACS))
    };
    (0..flows).map(pick).collect()
}

/// Sends the frames once, and lets the plane hear what its worker saw.
fn learn(plane: &mut Plane, frames: &Frames) {
    plane.publish();
    let mut graph = plane.graph().expect("a graph");
    let (mut pool, mut out) = (Pool::new(4_096, STRIDE), Outbox::default());
    let entry = graph.entry("ethernet-input").expect("the first node");
    let (mut heard, now) = (Vec::new(), Time::from_millis(1_000));
    for frames in frames.chunks(64) {
        for (port, frame) in frames {
            let slot = pool.put(frame).expect("room");
            pool.meta_mut(slot).port = *port;
            graph.push(entry, &[slot], &mut pool);
        }
        graph.run(&mut pool, &mut out, now);
        out.clear(&mut pool);
        plane.tick(now, &mut heard);
    }
}

pub fn vpls(flows: usize) -> Case {
    let mut plane = ports(|_| Mode::Routed { vrf: 0 });
    let frames = bridges(&mut plane, flows);
    Case { plane, frames, wanted: 25.0 }
}

/// VPNs whose packets come with their label and go to customers.
fn vpns(plane: &mut Plane, flows: usize) -> Frames {
    addresses(plane, false);
    for port in 0..PORTS {
        let index = u32::from(port) + 1;
        let gateway: IpAddr = Ipv4Addr::new(10, 255, index as u8, 2).into();
        neighbour(plane, index, gateway, 2);
        let hop = Hop::Via { interface: index, gateway: Some(gateway), labels: Vec::new() };
        say(plane, &Program::Hop { id: index, hop });
    }
    let mut state = 7;
    for vrf in 1..=VPNS {
        say(plane, &Program::Vrf { vrf });
        let route = |at: u32| {
            let hop = random(&mut state) as u32 % u32::from(PORTS) + 1;
            (Ipv4Addr::from(0x1400_0000 | at << 12), 20, hop)
        };
        let routes = (0..ROUTES).map(route).collect();
        say(plane, &Program::Routes4 { vrf, routes });
        let action = LabelAction::PopVrf { vrf, tunnel: Tunnel::Pipe };
        say(plane, &Program::Label { label: LABEL + vrf, action });
    }
    let frame = |flow: usize| {
        let (bits, port) = (random(&mut state), (flow % usize::from(PORTS)) as u16);
        let destination = 0x1400_0000 | (bits as u32 % ROUTES) << 12 | (bits >> 40) as u32 & 0xfff;
        let inner = frame4(port, (bits >> 20) as u32, destination);
        let mut frame = [0; 64];
        frame[..12].copy_from_slice(&inner[..12]);
        frame[12..14].copy_from_slice(&[0x88, 0x47]);
        let label = LABEL + 1 + (bits >> 12) as u32 % VPNS;
        frame[14..18].copy_from_slice(&(label << 12 | 0x100 | 64).to_be_bytes());
        frame[18..].copy_from_slice(&inner[14..60]);
        (port, frame)
    };
    (0..flows).map(frame).collect()
}

pub fn vrf_mpls(flows: usize) -> Case {
    let mut plane = ports(|_| Mode::Routed { vrf: 0 });
    let frames = vpns(&mut plane, flows);
    Case { plane, frames, wanted: 20.0 }
}

/// A rule as access lists have them: a few hundred subnets and hosts, well-known services.
fn usual(state: &mut u64, at: u32) -> Rule {
    const SERVICES: [u16; 16] =
        [22, 25, 53, 80, 110, 123, 143, 161, 179, 389, 443, 445, 993, 1521, 5060, 8080];
    let mut prefix = |lengths: &[u8]| {
        let (site, bits) = (random(state) % 64, random(state) as u32);
        let length = lengths[random(state) as usize % lengths.len()];
        let address = 0x0b00_0000 | (site as u32) << 18 | bits & 0x3_ffff;
        (length > 0).then(|| (Ipv4Addr::from(address).into(), length))
    };
    let source = prefix(&[0, 0, 16, 24, 24, 28, 32]);
    let destination = prefix(&[24, 27, 28, 30, 32, 32, 32]);
    let service = SERVICES[random(state) as usize % SERVICES.len()];
    let destination_ports = match random(state) % 10 {
        0..2 => Vec::new(),
        2..8 => vec![(service, service)],
        8 => vec![(service, service + 200)],
        _ => vec![(1_024, 65_535)],
    };
    let protocols = vec![if random(state).is_multiple_of(3) { 17 } else { 6 }];
    let matches = Match { source, destination, protocols, destination_ports, ..Match::default() };
    Rule { matches, verdict: verdict(at) }
}

/// A rule that differs from all others in every field.
fn apart(state: &mut u64, at: u32) -> Rule {
    let bits = random(state);
    let from = (bits % 60_000) as u16;
    let matches = Match {
        source: Some((Ipv4Addr::from((bits >> 20) as u32).into(), 16 + (at % 17) as u8)),
        destination: Some((Ipv4Addr::from((bits >> 30) as u32).into(), 8 + (at % 25) as u8)),
        protocols: vec![if at.is_multiple_of(2) { 6 } else { 17 }],
        destination_ports: vec![(from, from + (at % 1_000) as u16)],
        ..Match::default()
    };
    Rule { matches, verdict: verdict(at) }
}

fn verdict(at: u32) -> Verdict {
    if at.is_multiple_of(3) { Verdict::Permit } else { Verdict::Deny }
}

/// A thousand rules, the last of which permits the rest, for the packets of interfaces.
fn filters(
    plane: &mut Plane,
    interfaces: std::ops::RangeInclusive<u32>,
    rule: fn(&mut u64, u32) -> Rule,
) {
    let mut state = 8;
    let mut rules: Vec<Rule> = (0..999).map(|at| rule(&mut state, at)).collect();
    rules.push(Rule { matches: Match::default(), verdict: Verdict::Permit });
    say(plane, &Program::Filter(Filter { filter: 1, family: Family::Ip4, rules }));
    for interface in interfaces {
        let used = FilterUse { interface, direction: Direction::In, filter: 1 };
        say(plane, &Program::FilterUse(used));
    }
}

fn policers(plane: &mut Plane, interfaces: std::ops::RangeInclusive<u32>) {
    for interface in interfaces {
        let policer = Policer {
            policer: interface,
            meter: Meter::TwoRate,
            colour_aware: false,
            committed_bytes: 50_000_000_000,
            committed_burst: 100_000_000,
            excess_bytes: 100_000_000_000,
            excess_burst: 100_000_000,
            mark_yellow: None,
            mark_red: None,
        };
        say(plane, &Program::Policer(policer));
        let direction = Direction::In;
        let used = PolicerUse { interface, direction, class: None, policer: interface };
        say(plane, &Program::PolicerUse(used));
    }
}

pub fn filter(flows: usize) -> Case {
    let mut case = crate::ip::ipv4(flows);
    filters(&mut case.plane, 1..=u32::from(PORTS), usual);
    Case { wanted: 0.0, ..case }
}

pub fn filter_apart(flows: usize) -> Case {
    let mut case = crate::ip::ipv4(flows);
    filters(&mut case.plane, 1..=u32::from(PORTS), apart);
    Case { wanted: 0.0, ..case }
}

pub fn policer(flows: usize) -> Case {
    let mut case = crate::ip::ipv4(flows);
    policers(&mut case.plane, 1..=u32::from(PORTS));
    Case { wanted: 0.0, ..case }
}

/// All at once: a third each of VPN packets (filtered and policed), crossed and bridged frames.
pub fn services(flows: usize) -> Case {
    let mut plane = ports(|_| Mode::Routed { vrf: 0 });
    let mut frames = vpns(&mut plane, flows / 3);
    frames.extend(connects(&mut plane, flows / 3));
    frames.extend(bridges(&mut plane, flows / 3));
    filters(&mut plane, 1..=u32::from(PORTS), usual);
    policers(&mut plane, 1..=u32::from(PORTS));
    let mut state = 9;
    for at in (1..frames.len()).rev() {
        frames.swap(at, random(&mut state) as usize % (at + 1));
    }
    Case { plane, frames, wanted: 10.0 }
}
