//! IPv4 and IPv6 with tables like those of the Internet.

use crate::case::{Case, Frame, PORTS, interface, mac, neighbour, ports, random};
use nodes::Program;
use nodes::header::seal_ip4;
use nodes::program::{Address, Hop, Mode};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Neighbours of each port, and hops to them.
const NEIGHBOURS: u32 = 16;
const ROUTES4: usize = 1_000_000;
const ROUTES6: usize = 250_000;
/// How many of a thousand prefixes have which length, in the global tables of 2025.
const LENGTHS4: &[(u8, u64)] = &[
    (24, 600),
    (23, 100),
    (22, 120),
    (21, 50),
    (20, 45),
    (19, 30),
    (18, 15),
    (17, 10),
    (16, 20),
    (15, 5),
    (14, 5),
];
const LENGTHS6: &[(u8, u64)] =
    &[(48, 480), (44, 80), (40, 90), (36, 60), (32, 180), (29, 60), (46, 30), (47, 20)];

fn length(of: &[(u8, u64)], state: &mut u64) -> u8 {
    let mut left = random(state) % 1_000;
    for (length, share) in of {
        if left < *share {
            return *length;
        }
        left -= share;
    }
    of[0].0
}

/// The port of a flow.
fn port_of(flow: usize) -> u16 {
    (flow % usize::from(PORTS)) as u16
}

/// Hop n + 1 leads to neighbour n.
fn hops(plane: &mut plane_control::Plane, six: bool) {
    for id in 0..NEIGHBOURS * u32::from(PORTS) {
        let (interface, last) = (id % u32::from(PORTS) + 1, (id / u32::from(PORTS)) as u8 + 2);
        let gateway: IpAddr = if six {
            Ipv6Addr::new(0xfd00, interface as u16, 0, 0, 0, 0, 0, last.into()).into()
        } else {
            Ipv4Addr::new(10, 255, interface as u8, last).into()
        };
        neighbour(plane, interface, gateway, last);
        let hop = Hop::Via { interface, gateway: Some(gateway), labels: Vec::new() };
        plane.apply(&Program::Hop { id: id + 1, hop }).expect("a hop");
    }
}

pub fn addresses(plane: &mut plane_control::Plane, six: bool) {
    for interface in 1..=u32::from(PORTS) {
        let (address, length): (IpAddr, u8) = if six {
            (Ipv6Addr::new(0xfd00, interface as u16, 0, 0, 0, 0, 0, 1).into(), 64)
        } else {
            (Ipv4Addr::new(10, 255, interface as u8, 1).into(), 24)
        };
        let said = Address { interface, address, length };
        plane.apply(&Program::Address(said)).expect("an address");
    }
}

pub fn ipv4(flows: usize) -> Case {
    let plane = ports(|_| Mode::Routed { vrf: 0 });
    filled4(plane, flows, &[0], ROUTES4, 30.0)
}

/// A thousand routing tables of a thousand routes; the port's interface is in one of them.
pub fn ipv4_vrf(flows: usize) -> Case {
    let mut plane = ports(|_| Mode::Routed { vrf: 0 });
    for vrf in 1..=u32::from(PORTS) {
        plane.apply(&Program::Vrf { vrf }).expect("a table");
        let port = vrf as u16 - 1;
        plane.apply(&Program::Interface(interface(port, Mode::Routed { vrf }))).expect("moved");
    }
    filled4(plane, flows, &[1, 2, 3, 4], 1_000, 0.0)
}

fn filled4(
    mut plane: plane_control::Plane,
    flows: usize,
    tables: &[u32],
    count: usize,
    wanted: f64,
) -> Case {
    addresses(&mut plane, false);
    hops(&mut plane, false);
    let mut state = 1;
    let routes: Vec<(Ipv4Addr, u8, u32)> = (0..count)
        .map(|_| {
            let length = length(LENGTHS4, &mut state);
            let first = 11 + random(&mut state) as u32 % 200;
            let first = if first == 127 { 11 } else { first };
            let bits = first << 24 | random(&mut state) as u32 & 0x00ff_ffff;
            let hop = random(&mut state) as u32 % (NEIGHBOURS * u32::from(PORTS)) + 1;
            (Ipv4Addr::from(bits & u32::MAX << (32 - length)), length, hop)
        })
        .collect();
    let began = std::time::Instant::now();
    for vrf in tables {
        let routes = routes.clone();
        plane.apply(&Program::Routes4 { vrf: *vrf, routes }).expect("routes");
    }
    println!("  {} routes in {:.2} s", count * tables.len(), began.elapsed().as_secs_f64());
    let frames = (0..flows)
        .map(|flow| {
            let (prefix, length, _) = routes[random(&mut state) as usize % routes.len()];
            let host = random(&mut state) as u32 & u32::MAX.checked_shr(length.into()).unwrap_or(0);
            let port = port_of(flow);
            (port, frame4(port, random(&mut state) as u32, u32::from(prefix) | host))
        })
        .collect();
    Case { plane, frames, wanted }
}

/// A UDP packet of 46 octets.
pub fn frame4(port: u16, source: u32, destination: u32) -> Frame {
    let mut frame = [0; 64];
    frame[..6].copy_from_slice(&mac(port));
    frame[6..12].copy_from_slice(&[2, 0, 0, 9, 9, 9]);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..18].copy_from_slice(&[0x45, 0, 0, 46]);
    (frame[22], frame[23]) = (64, 17);
    frame[26..30].copy_from_slice(&(0x0b00_0000 | source >> 8).to_be_bytes());
    frame[30..34].copy_from_slice(&destination.to_be_bytes());
    frame[34..38].copy_from_slice(&(source ^ 0x1234_5678).to_be_bytes());
    seal_ip4(&mut frame[14..34]);
    frame
}

pub fn ipv6(flows: usize) -> Case {
    let mut plane = ports(|_| Mode::Routed { vrf: 0 });
    addresses(&mut plane, true);
    hops(&mut plane, true);
    let mut state = 1;
    let routes: Vec<(Ipv6Addr, u8, u32)> = (0..ROUTES6)
        .map(|_| {
            let length = length(LENGTHS6, &mut state);
            // Allocations of the registries are dense: 2001:: to 2a0f::, from a few thousand.
            let block = 0x2001 + u128::from(random(&mut state) % 0xa0f);
            let rest = u128::from(random(&mut state) % 4_096) << 84
                | u128::from(random(&mut state) % 65_536) << 64;
            let bits = block << 112 | rest | u128::from(random(&mut state) & 0xffff) << 80;
            let hop = random(&mut state) as u32 % (NEIGHBOURS * u32::from(PORTS)) + 1;
            (Ipv6Addr::from(bits & u128::MAX << (128 - length)), length, hop)
        })
        .collect();
    let routes_6 = routes.clone();
    let began = std::time::Instant::now();
    plane.apply(&Program::Routes6 { vrf: 0, routes: routes_6 }).expect("routes");
    println!("  {ROUTES6} routes in {:.2} s", began.elapsed().as_secs_f64());
    let frames = (0..flows)
        .map(|flow| {
            let (prefix, length, _) = routes[random(&mut state) as usize % routes.len()];
            let host = u128::from(random(&mut state)) << 64 | u128::from(random(&mut state));
            let host = host & u128::MAX >> length;
            let port = port_of(flow);
            (port, frame6(port, random(&mut state), u128::from(prefix) | host))
        })
        .collect();
    Case { plane, frames, wanted: 25.0 }
}

fn frame6(port: u16, source: u64, destination: u128) -> Frame {
    let mut frame = [0; 64];
    frame[..6].copy_from_slice(&mac(port));
    frame[6..12].copy_from_slice(&[2, 0, 0, 9, 9, 9]);
    frame[12..14].copy_from_slice(&[0x86, 0xdd]);
    frame[14..22].copy_from_slice(&[0x60, 0, 0, 0, 0, 10, 17, 64]);
    frame[22..24].copy_from_slice(&[0x2a, 0]);
    frame[24..32].copy_from_slice(&source.to_be_bytes());
    frame[38..54].copy_from_slice(&destination.to_be_bytes());
    frame[54..58].copy_from_slice(&(source as u32).to_be_bytes());
    frame
}
