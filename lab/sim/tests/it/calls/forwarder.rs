//! A forwarder's process in memory: the plane with its graph, and what it says to its control.

use forwarder::ipc::{PortSpec, Reply, Request};
use graph::{Graph, Outbox, Pool, STRIDE};
use machine::Time;
use media::program::{Duty, Said};
use nodes::program::Port;
use nodes::{Out, Program};
use plane_control::Plane;
use std::collections::{BTreeMap, BTreeSet};

const CELLS: usize = 900;

pub(super) struct Forwarder {
    plane: Plane,
    graph: Graph,
    pool: Pool,
    ports: BTreeMap<u16, PortSpec>,
    /// By the number of an interface: its port.
    interfaces: BTreeMap<u32, u16>,
    /// Shows in the addresses of its ports whose frames are its.
    number: u8,
    memo: Vec<u8>,
    is_taken: bool,
    pub is_controlled: bool,
    pub duty: Option<Duty>,
    /// Flows that stand.
    pub flows: BTreeSet<Vec<u8>>,
}

/// What came of something: frames by their ports, and words to the control.
#[derive(Default)]
pub(super) struct Came {
    pub frames: Vec<(u16, Vec<u8>)>,
    pub replies: Vec<Reply>,
}

impl Forwarder {
    pub fn new(number: u8, seed: u32) -> Self {
        let mut plane = Plane::new(seed).unwrap();
        plane.publish();
        let graph = plane.graph().unwrap();
        Self {
            plane,
            graph,
            pool: Pool::new(CELLS, STRIDE),
            ports: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            number,
            memo: Vec::new(),
            is_taken: false,
            is_controlled: false,
            duty: None,
            flows: BTreeSet::new(),
        }
    }

    fn mac(&self, port: u16) -> [u8; 6] {
        [2, 0, 0, 0, self.number, port as u8 + 1]
    }

    /// A request of the control.
    pub fn request(&mut self, request: Request, came: &mut Came) {
        match request {
            Request::Hello => {
                let ports = self.ports.values().cloned().collect();
                let (memo, is_taken) = (self.memo.clone(), self.is_taken);
                came.replies.push(Reply::Welcome { ports, memo, is_taken });
                for port in self.ports.keys() {
                    came.replies.push(Reply::Link { port: *port, up: true, mac: None });
                }
            }
            Request::Open(spec) => {
                let port = spec.port;
                self.ports.insert(port, spec);
                self.program_port(port);
                came.replies.push(Reply::Link { port, up: true, mac: None });
            }
            Request::Apply(programs) => {
                for program in &programs {
                    self.apply(program, came);
                }
                self.plane.publish();
            }
            Request::Keep(memo) => (self.memo, self.is_taken) = (memo, false),
            _ => {}
        }
    }

    fn program_port(&mut self, port: u16) {
        let (name, mac) = (format!("port{port}"), self.mac(port));
        let program = Program::Port(Port { port, name, mac, mtu: 1_500, up: true });
        self.plane.apply(&program).unwrap();
    }

    fn apply(&mut self, program: &Program, came: &mut Came) {
        match program {
            Program::Begin { .. } => self.flows.clear(),
            Program::Interface(it) => drop(self.interfaces.insert(it.index, it.port)),
            Program::Item(it) => match Said::read(&it.key, &it.value) {
                Ok(Said::Duty(duty)) => self.duty = Some(duty),
                Ok(Said::Flow(_)) => _ = self.flows.insert(it.key.clone()),
                _ => {}
            },
            Program::Remove(nodes::program::Removed::Item(_, key)) => _ = self.flows.remove(key),
            _ => {}
        }
        if let Err(why) = self.plane.apply(program) {
            let (what, why) = (format!("{program:?}"), why.to_string());
            came.replies.push(Reply::Refused { what, why, of: None });
        }
        if matches!(program, Program::Begin { .. }) {
            let ports: Vec<u16> = self.ports.keys().copied().collect();
            ports.into_iter().for_each(|port| self.program_port(port));
        }
    }

    /// A frame comes to a port.
    pub fn frame(&mut self, now: Time, port: u16, frame: &[u8], came: &mut Came) {
        let slot = self.pool.put(frame).unwrap();
        self.pool.meta_mut(slot).port = port;
        let entry = self.graph.entry("ethernet-input").unwrap();
        self.graph.push(entry, &[slot], &mut self.pool);
        self.run(now, came);
    }

    fn run(&mut self, now: Time, came: &mut Came) {
        let mut out = Outbox::default();
        self.graph.run(&mut self.pool, &mut out, now);
        for port in 0..4_u16 {
            for slot in out.port(usize::from(port)).map(std::mem::take).unwrap_or_default() {
                came.frames.push((port, self.pool.bytes(slot).to_vec()));
                self.pool.free(slot);
            }
        }
        for slot in std::mem::take(out.punted()) {
            self.pool.free(slot);
        }
    }

    /// Time passes for its main thread.
    pub fn tick(&mut self, now: Time, came: &mut Came) {
        let mut outs = Vec::new();
        self.plane.tick(now, &mut outs);
        for out in outs {
            match out {
                Out::Send { interface, frame } => {
                    if let Some(port) = self.interfaces.get(&interface) {
                        came.frames.push((*port, frame));
                    }
                }
                Out::Item(item) => came.replies.push(Reply::Item(item)),
                Out::Claimed { interface, address, is_proved: Some(true), .. }
                    if !self.is_controlled =>
                {
                    self.is_taken = true;
                    let _ = self.plane.give_way(interface, address);
                }
                _ => {}
            }
        }
        self.plane.publish();
    }
}

/// The headers of a frame of UDP over IPv4: what a host's kernel reads of it.
pub(super) struct Datagram {
    pub from: std::net::SocketAddr,
    pub to: std::net::SocketAddr,
    pub payload: Vec<u8>,
}

impl Datagram {
    pub fn read(frame: &[u8]) -> Option<Self> {
        if frame.get(12..14)? != [8, 0] || *frame.get(23)? != 17 {
            return None;
        }
        let ip = |at: usize| <[u8; 4]>::try_from(frame.get(at..at + 4)?).ok();
        let port = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        Some(Self {
            from: (ip(26)?, port(34)?).into(),
            to: (ip(30)?, port(36)?).into(),
            payload: frame.get(42..)?.to_vec(),
        })
    }

    /// As a frame to that system; without a sum of UDP, which IPv4 leaves to the sender.
    pub fn frame(&self, to: [u8; 6]) -> Vec<u8> {
        let (std::net::IpAddr::V4(from_ip), std::net::IpAddr::V4(to_ip)) =
            (self.from.ip(), self.to.ip())
        else {
            panic!("IPv4 alone");
        };
        let length = (self.payload.len() + 28) as u16;
        let mut packet = vec![0x45, 0, (length >> 8) as u8, length as u8, 0, 9, 0x40, 0, 60, 17];
        packet.extend([0, 0]);
        packet.extend(from_ip.octets());
        packet.extend(to_ip.octets());
        nodes::header::seal_ip4(&mut packet);
        packet.extend(self.from.port().to_be_bytes());
        packet.extend(self.to.port().to_be_bytes());
        packet.extend((length - 20).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(&self.payload);
        let mut frame = to.to_vec();
        frame.extend(HOST);
        frame.extend([8, 0]);
        frame.extend(packet);
        frame
    }
}

/// The hosts of phones.
pub(super) const HOST: [u8; 6] = [2, 0, 0, 0, 99, 99];

/// What a frame of ARP says.
pub(super) struct Arp {
    pub is_request: bool,
    pub mac: [u8; 6],
    pub source: [u8; 4],
    pub target: [u8; 4],
}

impl Arp {
    pub fn read(frame: &[u8]) -> Option<Self> {
        if frame.get(12..14)? != [8, 6] {
            return None;
        }
        Some(Self {
            is_request: frame.get(21)? == &1,
            mac: frame.get(22..28)?.try_into().ok()?,
            source: frame.get(28..32)?.try_into().ok()?,
            target: frame.get(38..42)?.try_into().ok()?,
        })
    }

    /// The answer of the phones' host.
    pub fn answer(&self) -> Vec<u8> {
        let mut frame = self.mac.to_vec();
        frame.extend(HOST);
        frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 2]);
        frame.extend(HOST);
        frame.extend(self.target);
        frame.extend(self.mac);
        frame.extend(self.source);
        frame
    }
}
