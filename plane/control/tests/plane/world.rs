//! A router in memory with two ports: 0 (interface 1, 10.0.1.1/24, 2001:db8:1::1/64) and 1
//! (interface 2, 10.0.2.1/24, 2001:db8:2::1/64), each with neighbour .2 or ::2.

use graph::{Graph, Outbox, Pool, STRIDE};
use machine::Time;
use nodes::header::{ICMP6, IP6, checksum, pseudo6, seal_ip4, sum};
use nodes::program::{Address, Class, Hop, Interface, Mode, Neighbour, Port, Urpf};
use nodes::{Out, Program};
use plane_control::Plane;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

pub const HOST: [u8; 6] = [2, 0, 0, 0, 9, 9];
/// Cells: more than reassembly, queues and a vector hold.
const CELLS: usize = 900;

pub struct World {
    pub plane: Plane,
    pub graph: Graph,
    pub pool: Pool,
    pub now: Time,
}

/// What came out of one packet.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub sent: Vec<(u16, Vec<u8>)>,
    pub punted: Vec<Vec<u8>>,
    pub classes: Vec<u32>,
}

pub fn mac(port: u16) -> [u8; 6] {
    [2, 0, 0, 0, 0, port as u8 + 1]
}

pub fn neighbour_mac(port: u16) -> [u8; 6] {
    [2, 0, 0, 0, 1, port as u8 + 1]
}

pub fn interface(index: u32, port: u16) -> Interface {
    Interface {
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
        speaks: Class::OF_LINKS.to_vec(),
    }
}

pub fn port(port: u16) -> Port {
    Port { port, name: format!("port{port}"), mac: mac(port), mtu: 1_500, up: true }
}

pub fn via(interface: u32, gateway: &str) -> Hop {
    Hop::Via { interface, gateway: Some(gateway.parse().unwrap()), labels: Vec::new() }
}

/// All that [`World::new`] applies.
pub fn programs() -> Vec<Program> {
    let mut said = vec![];
    for at in 0..2_u16 {
        let index = u32::from(at) + 1;
        said.push(Program::Port(port(at)));
        said.push(Program::Interface(interface(index, at)));
        let subnets = [(format!("10.0.{index}."), 24), (format!("2001:db8:{index}::"), 64)];
        for (subnet, length) in subnets {
            let address: IpAddr = format!("{subnet}1").parse().unwrap();
            said.push(Program::Address(Address { interface: index, address, length }));
            let address = format!("{subnet}2").parse().unwrap();
            let mac = neighbour_mac(at);
            said.push(Program::Neighbour(Neighbour { interface: index, address, mac }));
        }
    }
    said
}

impl World {
    pub fn new() -> Self {
        Self::of(&programs())
    }

    pub fn of(programs: &[Program]) -> Self {
        Self::on(Plane::new(1).unwrap(), programs)
    }

    pub fn on(mut plane: Plane, programs: &[Program]) -> Self {
        for program in programs {
            plane.apply(program).unwrap_or_else(|why| panic!("{program:?}: {why}"));
        }
        plane.publish();
        let graph = plane.graph().unwrap();
        let now = Time::from_millis(1_000_000);
        let mut world = Self { plane, graph, pool: Pool::new(CELLS, STRIDE), now };
        world.tick();
        world
    }

    pub fn apply(&mut self, program: Program) {
        self.plane.apply(&program).unwrap_or_else(|why| panic!("{program:?}: {why}"));
        self.plane.publish();
    }

    pub fn tick(&mut self) -> Vec<Out> {
        let mut out = Vec::new();
        self.plane.tick(self.now, &mut out);
        out
    }

    pub fn pass(&mut self, time: Duration) -> Vec<Out> {
        self.now += time;
        self.tick()
    }

    pub fn send(&mut self, port: u16, frame: &[u8]) -> Left {
        self.send_all(&[(port, frame.to_vec())])
    }

    /// Frames that come at once, in one vector.
    pub fn send_all(&mut self, frames: &[(u16, Vec<u8>)]) -> Left {
        let put = |(port, frame): &(u16, Vec<u8>)| {
            let slot = self.pool.put(frame).expect("it fits");
            self.pool.meta_mut(slot).port = *port;
            slot
        };
        let slots: Vec<_> = frames.iter().map(put).collect();
        let entry = self.graph.entry("ethernet-input").unwrap();
        self.graph.push(entry, &slots, &mut self.pool);
        self.run()
    }

    /// Pushes a packet into `inject`, to leave by an interface or to be routed in a table.
    pub fn inject(&mut self, transmit: u32, vrf: u32, packet: &[u8]) -> Left {
        let slot = self.pool.put(packet).expect("it fits");
        let meta = self.pool.meta_mut(slot);
        (meta.transmit, meta.vrf) = (transmit, vrf);
        let entry = self.graph.entry("inject").unwrap();
        self.graph.push(entry, &[slot], &mut self.pool);
        self.run()
    }

    /// Pushes a packet to a group of an interface's link into `inject`.
    pub fn inject_group(&mut self, transmit: u32, packet: &[u8]) -> Left {
        let slot = self.pool.put(packet).expect("it fits");
        let meta = self.pool.meta_mut(slot);
        meta.transmit = transmit;
        meta.flags |= graph::meta::OWN | graph::meta::GROUP_ADDRESSED;
        let entry = self.graph.entry("inject").unwrap();
        self.graph.push(entry, &[slot], &mut self.pool);
        self.run()
    }

    /// Pushes a packet of this machine's kernel into `inject`.
    pub fn inject_hosted(&mut self, packet: &[u8]) -> Left {
        let slot = self.pool.put(packet).expect("it fits");
        self.pool.meta_mut(slot).flags |= graph::meta::OWN | graph::meta::HOSTED;
        let entry = self.graph.entry("inject").unwrap();
        self.graph.push(entry, &[slot], &mut self.pool);
        self.run()
    }

    fn run(&mut self) -> Left {
        let mut out = Outbox::default();
        self.graph.run(&mut self.pool, &mut out, self.now);
        let mut left = Left::default();
        for port in 0..16 {
            for slot in out.port(usize::from(port)).map(std::mem::take).unwrap_or_default() {
                left.sent.push((port, self.pool.bytes(slot).to_vec()));
                self.pool.free(slot);
            }
        }
        for slot in std::mem::take(out.punted()) {
            left.punted.push(self.pool.bytes(slot).to_vec());
            left.classes.push(self.pool.meta(slot).words[0]);
            self.pool.free(slot);
        }
        assert_eq!(self.pool.free_slots(), self.pool.slots(), "every cell came back");
        left
    }

    /// Why packets were dropped so far.
    pub fn dropped(&self) -> BTreeMap<&'static str, u64> {
        let counters = self.graph.counters();
        counters.iter().flat_map(|node| node.dropped.clone()).collect()
    }
}

/// A frame to a port's address, or to the group of a packet to one of IPv4.
pub fn ethernet(port: u16, ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let group = packet.get(16..20).filter(|to| ethertype == 0x0800 && to[0] & 0xf0 == 0xe0);
    let group = group.map(|to| [1, 0, 0x5e, to[1] & 0x7f, to[2], to[3]]);
    let mut frame = group.unwrap_or(mac(port)).to_vec();
    frame.extend(HOST);
    frame.extend(ethertype.to_be_bytes());
    frame.extend_from_slice(packet);
    frame
}

/// A UDP packet of so many octets in all.
pub fn udp4(source: &str, destination: &str, ttl: u8, octets: usize) -> Vec<u8> {
    let (source, destination): (Ipv4Addr, Ipv4Addr) =
        (source.parse().unwrap(), destination.parse().unwrap());
    let mut packet = vec![0x45, 0, (octets >> 8) as u8, octets as u8, 0x12, 0x34, 0, 0];
    packet.extend([ttl, 17, 0, 0]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend([0x30, 0x39, 0, 80, ((octets - 20) >> 8) as u8, (octets - 20) as u8, 0, 0]);
    packet.extend((packet.len()..octets).map(|at| at as u8));
    seal_ip4(&mut packet[..20]);
    packet
}

pub fn packet6(source: &str, destination: &str, limit: u8, next: u8, body: &[u8]) -> Vec<u8> {
    let (source, destination): (Ipv6Addr, Ipv6Addr) =
        (source.parse().unwrap(), destination.parse().unwrap());
    let mut packet = vec![0x60, 0, 0, 0, (body.len() >> 8) as u8, body.len() as u8, next, limit];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend_from_slice(body);
    if next == ICMP6 {
        packet[IP6 + 2..IP6 + 4].fill(0);
        let so_far = pseudo6(&packet[8..IP6], body.len(), ICMP6);
        let check = checksum(sum(&packet[IP6..], so_far));
        packet[IP6 + 2..IP6 + 4].copy_from_slice(&check.to_be_bytes());
    }
    packet
}

pub fn echo4(source: &str, destination: &str, octets: usize) -> Vec<u8> {
    let mut packet = udp4(source, destination, 64, octets);
    packet[9] = 1;
    packet[20..28].copy_from_slice(&[8, 0, 0, 0, 0, 7, 0, 1]);
    let check = checksum(sum(&packet[20..], 0));
    packet[22..24].copy_from_slice(&check.to_be_bytes());
    seal_ip4(&mut packet[..20]);
    packet
}
