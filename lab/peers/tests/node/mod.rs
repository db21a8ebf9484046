//! An endpoint of ours on UDP sockets of the loopback, driven by hand.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use machine::Time;
use peers::free_port;
use sctp::{AssociationId, Endpoint, In, Indication, Out, Packet, Parameters, Settings};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const LIMIT: Duration = Duration::from_secs(20);
pub const OUR_PORT: u16 = 5_001;

pub fn program(name: &str) -> Option<PathBuf> {
    let path = Path::new("/usr/lib/usrsctp").join(name);
    if !path.exists() {
        println!("{} is not installed: nothing was checked", path.display());
        return None;
    }
    Some(path)
}

/// An endpoint of ours with a UDP socket for each of its addresses, all of one port.
pub struct Node {
    pub endpoint: Endpoint,
    sockets: Vec<(IpAddr, UdpSocket)>,
    begun: Instant,
    buffer: Vec<u8>,
    /// Messages that arrived, when `keeps` is false.
    pub arrived: usize,
    pub keeps: bool,
    pub told: Vec<(AssociationId, Indication)>,
}

impl Node {
    pub fn new(addresses: &[IpAddr], parameters: Parameters, listens: bool) -> Self {
        let udp_port = free_port(HERE).unwrap().port();
        let sockets = addresses.iter().map(|address| {
            let socket = UdpSocket::bind((*address, udp_port)).unwrap();
            socket.set_nonblocking(true).unwrap();
            (*address, socket)
        });
        let settings = Settings {
            port: OUR_PORT,
            addresses: addresses[..1].to_vec(),
            listens,
            associations_max: 4,
            parameters,
        };
        let seed = [udp_port as u8; 32];
        Self {
            endpoint: Endpoint::new(settings, seed),
            sockets: sockets.collect(),
            begun: Instant::now(),
            told: Vec::new(),
            buffer: vec![0; 65_536],
            arrived: 0,
            keeps: true,
        }
    }

    pub fn udp_port(&self) -> u16 {
        self.sockets[0].1.local_addr().unwrap().port()
    }

    pub fn now(&self) -> Time {
        Time::from_nanos(1 + self.begun.elapsed().as_nanos() as u64)
    }

    pub fn take(&mut self, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Transmit(sent) => {
                    let source = sent.source.unwrap_or(HERE);
                    let socket = self.sockets.iter().find(|it| it.0 == source);
                    let (_, socket) = socket.unwrap_or(&self.sockets[0]);
                    // What the kernel does not take is lost, as on any network.
                    drop(socket.send_to(&sent.bytes, sent.destination));
                    self.endpoint.recycle(sent.bytes);
                }
                Out::Indicate(_, Indication::Data(_)) if !self.keeps => self.arrived += 1,
                Out::Indicate(id, what) => self.told.push((id, what)),
            }
        }
    }

    pub fn step(&mut self, input: In) {
        let mut out = Vec::new();
        self.endpoint.step(self.now(), input, &mut out);
        self.take(out);
    }

    pub fn associate(&mut self, udp_port: u16, port: u16) -> AssociationId {
        let mut out = Vec::new();
        let peer = [SocketAddr::new(HERE, udp_port)];
        let id = self.endpoint.associate(self.now(), &peer, port, &mut out).unwrap();
        self.take(out);
        id
    }

    pub fn receive(&mut self) -> bool {
        /// Packets taken before time may pass.
        const BATCH: usize = 64;
        let mut arrived = Vec::new();
        for (address, socket) in &self.sockets {
            while let Ok((length, source)) = socket.recv_from(&mut self.buffer) {
                let bytes = bytes::Bytes::copy_from_slice(&self.buffer[..length]);
                arrived.push(Packet { source, destination: *address, bytes });
                if arrived.len() >= BATCH {
                    break;
                }
            }
        }
        let has_arrived = !arrived.is_empty();
        arrived.into_iter().for_each(|packet| self.step(In::Packet(packet)));
        has_arrived
    }

    /// Lets time pass until `ready`.
    pub fn run(&mut self, mut ready: impl FnMut(&mut Self) -> bool) {
        let until = Instant::now() + LIMIT;
        while !ready(self) {
            assert!(Instant::now() < until, "{LIMIT:?} are over: {:?}", self.ends_of_told());
            if !self.turn() {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }

    /// Takes what has arrived and lets time pass; false when nothing had.
    pub fn turn(&mut self) -> bool {
        let has_arrived = self.receive();
        let mut out = Vec::new();
        self.endpoint.tick(self.now(), &mut out);
        self.take(out);
        has_arrived
    }

    pub fn ends_of_told(&self) -> Vec<String> {
        let last = self.told.iter().rev().take(6);
        last.map(|(_, what)| format!("{what:?}").chars().take(120).collect()).collect()
    }

    pub fn was_told(&self, what: &Indication) -> bool {
        self.told.iter().any(|(_, it)| it == what)
    }

    pub fn messages(&self) -> impl Iterator<Item = &sctp::Message> {
        self.told.iter().filter_map(|(_, what)| match what {
            Indication::Data(message) => Some(message),
            _ => None,
        })
    }
}
