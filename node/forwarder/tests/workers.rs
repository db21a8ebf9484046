//! A forwarder whose workers share one memif, and a peer with as many rings and with fewer.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use driver::ports::memif::{Hub, Role, Spec as Memif};
use driver::ports::{MemifPort, Port};
use forwarder::wire::{Driver, PortSpec, Reply};
use forwarder::{Control, STRIDE, Spec, serve};
use graph::Pool;
use nodes::Program;
use nodes::header::seal_ip4;
use nodes::program::{Address, Hop, Interface, Mode, Neighbour};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 1];
const HOST: [u8; 6] = [2, 0, 0, 0, 9, 9];
const WORKERS: u16 = 2;
const LONG: Duration = Duration::from_secs(20);
/// Packets that each part of the peer sends.
const PACKETS: usize = 200;

/// Looks again and again until it is there.
fn awaited<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
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
fn programs() -> Vec<Program> {
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

/// The parts of the peer, each with its packets.
struct Peer(Vec<(Port, Pool)>);

impl Peer {
    /// Meets the forwarder; each part has a ring each way.
    fn meet(socket: &Path, parts: usize) -> Self {
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
    fn exchange(&mut self) -> Vec<Vec<[u8; 2]>> {
        let mut got = vec![Vec::new(); self.0.len()];
        for first in (0..PACKETS).step_by(20) {
            let mut wanted = got.iter().map(Vec::len).sum::<usize>();
            for (part, (port, pool)) in self.0.iter_mut().enumerate() {
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
                        assert_eq!((&frame[..6], frame[22]), (&HOST[..], 63), "{frame:x?}");
                        got.push([frame[18], frame[19]]);
                        pool.free(slot);
                    }
                }
                (got.iter().map(Vec::len).sum::<usize>() >= wanted).then_some(())
            });
        }
        got
    }
}

fn numbers(part: usize) -> Vec<[u8; 2]> {
    (0..PACKETS).map(|number| [part as u8, number as u8]).collect()
}

#[test]
fn workers_forward_what_comes_by_the_rings_of_one_memif() {
    let folder = tempfile::tempdir().unwrap();
    let (doorway, socket) = (folder.path().join("control"), folder.path().join("memif"));
    let spec = Spec {
        socket: doorway.clone(),
        workers: WORKERS,
        cores: Vec::new(),
        packets: 2_048,
        stride: STRIDE,
        host: None,
    };
    let forwarder = std::thread::spawn(move || serve(&spec));
    let mut control = awaited("the forwarder", || Control::connect(&doorway).ok());
    let driver = Driver::Memif { socket: socket.display().to_string(), id: 3, master: true };
    let name = "m".to_owned();
    control.open(PortSpec { port: 0, name, driver, mac: Some(ROUTER), mtu: 1_500 }).unwrap();
    control.apply(&programs()).unwrap();
    let is_up = |control: &mut Control, wanted: bool| {
        awaited("the link", || {
            let said = control.replies().unwrap();
            let refused = said.iter().find(|reply| matches!(reply, Reply::Refused { .. }));
            assert_eq!(refused, None);
            said.contains(&Reply::Link { port: 0, up: wanted }).then_some(())
        });
    };
    awaited("the socket", || socket.exists().then_some(()));
    let mut peer = Peer::meet(&socket, 2);
    is_up(&mut control, true);
    // Ring n is worker n's both ways.
    assert_eq!(peer.exchange(), [numbers(0), numbers(1)]);
    drop(peer);
    is_up(&mut control, false);
    // One ring: the first worker hears, and all is there as before.
    let mut peer = Peer::meet(&socket, 1);
    is_up(&mut control, true);
    assert_eq!(peer.exchange(), [numbers(0)]);
    control.ask(1, "ports", Vec::new()).unwrap();
    let answer = awaited("the answer", || {
        control.replies().unwrap().into_iter().find_map(|reply| match reply {
            Reply::Answer { id: 1, answer } => Some(answer.unwrap()),
            _ => None,
        })
    });
    let port = &answer[0];
    assert_eq!((&port["workers"], &port["received"]), (&json!(2), &json!(3 * PACKETS)), "{port}");
    assert_eq!(port["sent"], json!(3 * PACKETS), "{port}");
    control.stop().unwrap();
    forwarder.join().unwrap().unwrap();
}
