//! The other end of a memif whose packets a forwarder sends back, for tests.
#![allow(dead_code, reason = "each test uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use graph::{Pool, STRIDE};
use nodes::Program;
use nodes::header::seal_ip4;
use nodes::program::{Address, Hop, Interface, Mode, Neighbour};
use ports::memif::{Hub, Role, Spec as Memif};
use ports::{MemifPort, Port};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

pub const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 1];
const HOST: [u8; 6] = [2, 0, 0, 0, 9, 9];
const LONG: Duration = Duration::from_secs(20);
/// Packets that each part of the peer sends.
pub const PACKETS: usize = 200;

/// Looks again and again until it is there.
pub fn awaited<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{what} does not come");
}

/// Packets for 192.0.2.0/24 go back to 10.0.0.2, behind the same interface.
pub fn programs() -> Vec<Program> {
    let text = json!({ "index": 1, "port": 0, "outer": null, "mode": Mode::Routed { vrf: 0 } });
    let interface: Interface = serde_json::from_value(text).unwrap();
    let (own, near) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
    let via = Hop::Via { interface: 1, gateway: Some(near), labels: Vec::new() };
    vec![
        Program::Interface(interface),
        Program::Address(Address { interface: 1, address: own, length: 24 }),
        Program::Neighbour(Neighbour { interface: 1, address: near, mac: HOST }),
        Program::Hop { id: 1, hop: via },
        Program::Routes4 { vrf: 0, routes: vec![("192.0.2.0".parse().unwrap(), 24, 1)] },
    ]
}

/// A packet that says which part of the peer sent it, and its number.
fn packet(part: usize, number: usize) -> Vec<u8> {
    let mut frame = [ROUTER, HOST].concat();
    frame.extend([8, 0, 0x45, 0, 0, 46, part as u8, number as u8, 0, 0, 64, 253, 0, 0]);
    frame.extend([10, 0, 0, 2, 192, 0, 2, number as u8]);
    frame.resize(60, 7);
    seal_ip4(&mut frame[14..34]);
    frame
}

/// Whether the forwarder announces an address (ARP), as it does when a port is up.
fn is_announcement(frame: &[u8]) -> bool {
    frame[12..14] == [8, 6]
}

/// The parts of the peer, each with its packets.
pub struct Peer(Vec<(Port, Pool)>);

impl Peer {
    /// Meets the forwarder; each part has a ring each way.
    pub fn meet(socket: &Path, parts: usize) -> Self {
        let rings = (parts, parts);
        let spec = Memif { rings, ..Memif::new(socket, 3, Role::Slave, HOST) };
        let hub = Hub::new(&spec, parts);
        let part =
            |part| (Port::Memif(MemifPort::join(&hub, part).unwrap()), Pool::new(512, STRIDE));
        let mut it = Self((0..parts).map(part).collect());
        awaited("the connection", || {
            it.0.iter_mut().for_each(|(port, pool)| port.attend(pool));
            it.0.iter().all(|(port, _)| port.is_up()).then_some(())
        });
        it
    }

    /// Each part sends its packets, a vector at a time; what each gets back until all are there.
    pub fn exchange(&mut self) -> Vec<Vec<[u8; 2]>> {
        self.exchange_of(self.0.len())
    }

    /// The first parts only.
    pub fn exchange_of(&mut self, parts: usize) -> Vec<Vec<[u8; 2]>> {
        let mut got = vec![Vec::new(); self.0.len()];
        for first in (0..PACKETS).step_by(20) {
            let mut wanted = got.iter().map(Vec::len).sum::<usize>();
            for (part, (port, pool)) in self.0.iter_mut().take(parts).enumerate() {
                let numbers = first..first + 20;
                wanted += numbers.len();
                let mut slots =
                    numbers.map(|number| pool.put(&packet(part, number)).unwrap()).collect();
                port.send(pool, &mut slots);
            }
            awaited("every packet", || {
                let mut slots = Vec::new();
                for ((port, pool), got) in self.0.iter_mut().zip(&mut got) {
                    port.receive(pool, &mut slots);
                    for slot in slots.drain(..) {
                        let frame = pool.bytes(slot);
                        if !is_announcement(frame) {
                            assert_eq!((&frame[..6], frame[22]), (&HOST[..], 63), "{frame:x?}");
                            got.push([frame[18], frame[19]]);
                        }
                        pool.free(slot);
                    }
                }
                (got.iter().map(Vec::len).sum::<usize>() >= wanted).then_some(())
            });
        }
        got
    }
}

impl Peer {
    /// A part sends packets of a protocol.
    pub fn sends(&mut self, part: usize, protocol: u8, count: usize) {
        self.sends_to([192, 0, 2, 1], part, protocol, count);
    }

    /// The same to an address.
    pub fn sends_to(&mut self, to: [u8; 4], part: usize, protocol: u8, count: usize) {
        let (port, pool) = &mut self.0[part];
        let slots = (0..count).map(|number| {
            let mut frame = packet(part, number);
            (frame[23], frame[24], frame[25]) = (protocol, 0, 0);
            frame[30..34].copy_from_slice(&to);
            seal_ip4(&mut frame[14..34]);
            pool.put(&frame).unwrap()
        });
        let mut slots = slots.collect();
        port.send(pool, &mut slots);
        port.attend(pool);
    }

    /// The same; so many frames that any part hears afterwards.
    pub fn sends_and_hears(
        &mut self,
        part: usize,
        protocol: u8,
        count: usize,
        wanted: usize,
    ) -> Vec<Vec<u8>> {
        self.sends(part, protocol, count);
        let mut heard = Vec::new();
        awaited("every packet", || {
            let mut slots = Vec::new();
            for (port, pool) in &mut self.0 {
                port.receive(pool, &mut slots);
                for slot in slots.drain(..) {
                    let frame = pool.bytes(slot);
                    heard.extend((!is_announcement(frame)).then(|| frame.to_vec()));
                    pool.free(slot);
                }
            }
            (heard.len() >= wanted).then_some(())
        });
        heard
    }
}

impl Peer {
    /// A part sends packets of RTP from a port to another; as many frames as any part hears then.
    pub fn media(
        &mut self,
        part: usize,
        from: ([u8; 4], u16),
        to: ([u8; 4], u16),
        count: u8,
    ) -> Vec<Vec<u8>> {
        let (port, pool) = &mut self.0[part];
        let slots = (0..count).map(|number| {
            let mut frame = [ROUTER, HOST].concat();
            frame.extend([8, 0, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0]);
            frame.extend([from.0, to.0].concat());
            frame.extend([from.1.to_be_bytes(), to.1.to_be_bytes()].concat());
            frame.extend([0, 40, 0, 0, 0x80, 8, 0, number, 0, 0, 0, number, 0, 0, 0, 7]);
            frame.resize(74, 0xd5);
            seal_ip4(&mut frame[14..34]);
            pool.put(&frame).unwrap()
        });
        let mut slots = slots.collect();
        port.send(pool, &mut slots);
        port.attend(pool);
        let mut heard = Vec::new();
        awaited("every packet", || {
            let mut slots = Vec::new();
            for (port, pool) in &mut self.0 {
                port.receive(pool, &mut slots);
                for slot in slots.drain(..) {
                    let frame = pool.bytes(slot);
                    heard.extend((!is_announcement(frame)).then(|| frame.to_vec()));
                    pool.free(slot);
                }
            }
            (heard.len() >= usize::from(count)).then_some(())
        });
        heard
    }
}

pub fn numbers(part: usize) -> Vec<[u8; 2]> {
    (0..PACKETS).map(|number| [part as u8, number as u8]).collect()
}
