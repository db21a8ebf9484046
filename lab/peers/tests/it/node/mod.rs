//! An endpoint of ours on UDP sockets or on wires (IP protocol 132), driven by hand.
#![allow(clippy::print_stdout)]

pub mod capture;
pub mod malformed;
pub mod raw;
pub mod wire;

use machine::Time;
use peers::free_port;
use raw::RawSocket;
use sctp::{
    AssociationId, Endpoint, Failure, In, Indication, Out, Outgoing, Packet, Parameters, Settings,
    State, Transmit,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::Wire;

pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const LIMIT: Duration = Duration::from_secs(60);
pub const OUR_PORT: u16 = 5_001;
/// Ports that are tried until one is free at every address.
const PORT_TRIES_MAX: usize = 16;

/// A program of usrsctp's examples.
pub fn program(name: &str) -> PathBuf {
    let path = Path::new("/usr/lib/usrsctp").join(name);
    assert!(path.exists(), "{} is not there (Debian: libusrsctp-examples)", path.display());
    path
}

/// What packets travel over.
pub enum Carrier {
    /// A UDP socket for each address, all of one port (RFC 6951).
    Udp(Vec<(IpAddr, UdpSocket)>),
    /// IP protocol 132, a wire for each address.
    Ip(Vec<Wire>),
    /// IP protocol 132 by a socket of the host's kernel.
    Raw(Box<RawSocket>),
}

/// An endpoint of ours.
pub struct Node {
    pub endpoint: Endpoint,
    settings: Settings,
    carrier: Carrier,
    /// Packets that passed the wires, with their IP headers.
    pub passed: Vec<Vec<u8>>,
    /// Told from others of the process.
    number: u64,
    begun: Instant,
    buffer: Vec<u8>,
    pub told: Vec<(AssociationId, Indication)>,
}

impl Node {
    pub fn new(addresses: &[IpAddr], parameters: Parameters, listens: bool) -> Self {
        let mut sockets = None;
        for _ in 0..PORT_TRIES_MAX {
            // Another test may take the port first.
            let udp_port = free_port(HERE).unwrap().port();
            let bind = |address: &IpAddr| {
                let socket = UdpSocket::bind((*address, udp_port))?;
                socket.set_nonblocking(true)?;
                Ok((*address, socket))
            };
            sockets = addresses.iter().map(bind).collect::<std::io::Result<_>>().ok();
            if sockets.is_some() {
                break;
            }
        }
        let carrier = Carrier::Udp(sockets.expect("a port is free at every address"));
        Self::over(carrier, addresses[..1].to_vec(), parameters, listens)
    }

    /// One on wires, of which it announces the first ones.
    pub fn on(wires: Vec<Wire>, announced: usize, parameters: Parameters, listens: bool) -> Self {
        let addresses = wires[..announced].iter().map(|it| it.address.into()).collect();
        Self::over(Carrier::Ip(wires), addresses, parameters, listens)
    }

    pub fn over(
        carrier: Carrier,
        addresses: Vec<IpAddr>,
        parameters: Parameters,
        listens: bool,
    ) -> Self {
        let settings =
            Settings { port: OUR_PORT, addresses, listens, associations_max: 4, parameters };
        let number = NODES.fetch_add(1, Ordering::Relaxed);
        Self {
            endpoint: Endpoint::new(settings.clone(), fresh_seed(number)),
            number,
            settings,
            carrier,
            passed: Vec::new(),
            begun: Instant::now(),
            told: Vec::new(),
            buffer: vec![0; 65_536],
        }
    }

    /// Packets may have that source too.
    pub fn use_address(&mut self, address: IpAddr) {
        self.settings.addresses.push(address);
    }

    /// Forgets every association, as after a crash.
    pub fn restart(&mut self) {
        self.endpoint = Endpoint::new(self.settings.clone(), fresh_seed(self.number));
        self.told.clear();
    }

    pub fn udp_port(&self) -> u16 {
        let Carrier::Udp(sockets) = &self.carrier else { return 0 };
        sockets[0].1.local_addr().unwrap().port()
    }

    pub fn wire(&mut self, number: usize) -> &mut Wire {
        let Carrier::Ip(wires) = &mut self.carrier else { panic!("it has no wires") };
        &mut wires[number]
    }

    pub fn now(&self) -> Time {
        Time::from_nanos(1 + self.begun.elapsed().as_nanos() as u64)
    }

    pub fn take(&mut self, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Transmit(sent) => {
                    self.transmit(&sent);
                    self.endpoint.recycle(sent.bytes);
                }
                Out::Indicate(id, what) => self.told.push((id, what)),
            }
        }
    }

    fn transmit(&mut self, sent: &Transmit) {
        match &mut self.carrier {
            Carrier::Udp(sockets) => {
                let source = sent.source.unwrap_or(HERE);
                let socket = sockets.iter().find(|it| it.0 == source);
                let (_, socket) = socket.unwrap_or(&sockets[0]);
                // What the kernel does not take is lost, as on any network.
                drop(socket.send_to(&sent.bytes, sent.destination));
            }
            Carrier::Raw(socket) => socket.send(sent),
            Carrier::Ip(wires) => {
                // The route of each destination is its wire.
                let network = |it: IpAddr| match it {
                    IpAddr::V4(it) => it.octets()[..3].to_vec(),
                    IpAddr::V6(_) => panic!("IPv4 only"),
                };
                let to = network(sent.destination.ip());
                let wire = wires.iter_mut().find(|it| network(it.address.into()) == to);
                // A peer may name addresses that nothing leads to.
                let Some(wire) = wire else { return };
                // Only what the peer knows is a source, also where another one is nearer.
                let known = &self.settings.addresses;
                let near = known.iter().find(|it| network(**it) == to);
                let source = sent.source.or(near.copied()).unwrap_or(known[0]);
                self.passed.extend(wire.send(source, sent));
            }
        }
    }

    pub fn step(&mut self, input: In) {
        let mut out = Vec::new();
        self.endpoint.step(self.now(), input, &mut out);
        self.take(out);
    }

    pub fn associate(&mut self, udp_port: u16, port: u16) -> AssociationId {
        self.associate_with(&[SocketAddr::new(HERE, udp_port)], port)
    }

    pub fn associate_with(&mut self, peer: &[SocketAddr], port: u16) -> AssociationId {
        let mut out = Vec::new();
        let id = self.endpoint.associate(self.now(), peer, port, &mut out).unwrap();
        self.take(out);
        id
    }

    pub fn receive(&mut self) -> bool {
        /// Packets taken before time may pass.
        const BATCH: usize = 64;
        let mut arrived = Vec::new();
        match &mut self.carrier {
            Carrier::Udp(sockets) => {
                for (address, socket) in sockets {
                    while let Ok((length, source)) = socket.recv_from(&mut self.buffer) {
                        let bytes = bytes::Bytes::copy_from_slice(&self.buffer[..length]);
                        arrived.push(Packet { source, destination: *address, bytes });
                        if arrived.len() >= BATCH {
                            break;
                        }
                    }
                }
            }
            Carrier::Raw(socket) => arrived = socket.receive(),
            Carrier::Ip(wires) => {
                for (packet, whole) in wires.iter_mut().flat_map(Wire::receive) {
                    arrived.push(packet);
                    self.passed.push(whole);
                }
            }
        }
        let has_arrived = !arrived.is_empty();
        arrived.into_iter().for_each(|packet| self.step(In::Packet(packet)));
        has_arrived
    }

    /// Lets so much time pass.
    pub fn wait(&mut self, time: Duration) {
        let until = Instant::now() + time;
        self.run(|_| Instant::now() >= until);
    }

    /// Lets time pass until the association stands.
    pub fn run_until_up(&mut self, id: AssociationId) {
        self.run(|it| it.endpoint.status(id).is_some_and(|it| it.state == State::Established));
    }

    /// Sends, and lets time pass while there is no room.
    pub fn send(&mut self, id: AssociationId, message: &Outgoing) {
        loop {
            self.step(In::Send(id, message.clone()));
            let full = Indication::SendFailure(message.context, Failure::BufferFull);
            let Some(at) = self.told.iter().rposition(|(_, it)| *it == full) else { return };
            self.told.remove(at);
            self.run(|it| it.was_told(&Indication::SendBufferFree));
            self.told.retain(|(_, it)| *it != Indication::SendBufferFree);
        }
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

static NODES: AtomicU64 = AtomicU64::new(0);

/// One that no other endpoint has, here or in another process.
fn fresh_seed(number: u64) -> [u8; 32] {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_be_bytes());
    seed[8..12].copy_from_slice(&std::process::id().to_be_bytes());
    seed[16..].copy_from_slice(&since.as_nanos().to_be_bytes());
    seed
}

/// What the driver program of the peers sends as its message number `n`.
pub fn pattern(n: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (n * 31 + at) as u8).collect()
}

/// FNV-1a, 64 bits, over all of them.
pub fn sum_of<'a>(all: impl Iterator<Item = &'a [u8]>) -> u64 {
    let octets = all.flatten();
    octets.fold(0xcbf2_9ce4_8422_2325, |sum, &it| {
        (sum ^ u64::from(it)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What passed in a test that failed can be read by other programs.
impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.passed.is_empty() {
            let name = std::thread::current().name().unwrap_or("test").replace("::", ".");
            let name = format!("{name}.{}.{}.pcap", std::process::id(), self.number);
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            drop(std::fs::write(&file, capture::pcap(&self.passed)));
            eprintln!("what passed: {}", file.display());
        }
    }
}
