//! Nodes whose links are carried by hand.

use bytes::Bytes;
use m3ua::codec::{MessageType, Writer};
use m3ua::{In, PeerId};
use m3ua_stack::config::{Peer, SCTP_PORTS, Section, Tcp};
use m3ua_stack::{Links, frame};
use machine::{Duration, Time};
use runtime::{ConnId, Effects, Flow, Frame, PortId, Seed, Transport};
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// The keys of a function that has nothing but links.
#[derive(Debug, Clone, Deserialize)]
pub struct Site {
    #[serde(default)]
    pub sctp: Option<sctp_stack::Config>,
    #[serde(default)]
    pub tcp: Tcp,
    #[serde(default)]
    pub peer: Vec<Peer>,
}

pub const FIRST: PortId = PortId(100);
pub const SECOND: Duration = Duration::from_secs(1);

impl Site {
    pub fn read(text: &str) -> Self {
        toml::from_str(text).unwrap()
    }

    pub fn section(&self) -> Section<'_> {
        Section {
            key: "toy",
            name: "toy1",
            sctp: self.sctp.as_ref(),
            tcp: &self.tcp,
            peer: &self.peer,
            reconnect: Duration::from_millis(100),
            first_port: FIRST,
        }
    }
}

/// A BEAT.
pub fn beat() -> Vec<u8> {
    let mut message = Vec::new();
    Writer::begin(&mut message, MessageType::Beat).end();
    message
}

pub struct Node {
    pub links: Links,
    /// What its M3UA process would have been told, in words.
    pub told: Vec<&'static str>,
    /// Its peers, by their place.
    pub peers: Vec<PeerId>,
    out: Effects,
    listeners: Vec<(PortId, SocketAddr)>,
    address: SocketAddr,
}

enum What {
    Up(Flow),
    Message(Flow, Vec<u8>),
    Down(Flow),
}

pub struct World {
    pub now: Time,
    pub nodes: Vec<Node>,
    events: VecDeque<(Time, usize, What)>,
    /// By connection: whose it is, its flow, the connection at the other end.
    pub ends: BTreeMap<u32, (usize, Flow, u32)>,
    next: u32,
}

impl World {
    /// The first node is 10.0.0.1, the second one 10.0.0.2, …
    pub fn new(sites: &[&str]) -> Self {
        let now = Time::from_millis(1_700_000_000_000);
        let node = |(n, text): (u8, &&str)| {
            let site = Site::read(text);
            let mut issues = Vec::new();
            site.section().validate(&mut issues);
            assert!(issues.is_empty(), "{issues:?}");
            let seed = Seed { shard: 0, shards: 1, random: [n; 32], now };
            let mut links = Links::simulated(&site.section(), seed);
            let numbers: Vec<PeerId> = process(&site.peer);
            for (id, peer) in numbers.iter().zip(&site.peer) {
                links.add(now, *id, peer, &site.section());
            }
            links.know(&site.section());
            let ports = site.section().ports();
            let listeners = ports.iter().filter(|port| port.listens());
            Node {
                links,
                told: Vec::new(),
                peers: numbers,
                out: Effects::default(),
                listeners: listeners.map(|port| (port.id, port.listen)).collect(),
                address: SocketAddr::from(([10, 0, 0, n], 40_000)),
            }
        };
        let nodes = (1..).zip(sites).map(node).collect();
        let (events, ends) = (VecDeque::new(), BTreeMap::new());
        let mut it = Self { now, nodes, events, ends, next: 1 };
        it.pass(SECOND);
        it
    }

    pub fn act(&mut self, at: usize, act: impl FnOnce(&mut Links, Time, &mut Effects)) {
        let node = &mut self.nodes[at];
        act(&mut node.links, self.now, &mut node.out);
        self.follow(at);
        self.deliver();
    }

    pub fn send(&mut self, at: usize, message: Vec<u8>) {
        let peer = self.nodes[at].peers[0];
        self.act(at, |links, now, out| links.send(now, peer, 0, Bytes::from(message), out));
    }

    pub fn take(&mut self, at: usize) -> Vec<&'static str> {
        core::mem::take(&mut self.nodes[at].told)
    }

    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let own = self.nodes.iter().filter_map(|node| node.links.deadline());
            let events = self.events.front().map(|it| it.0);
            let Some(at) = own.chain(events).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            for node in 0..self.nodes.len() {
                self.act(node, Links::tick);
            }
        }
        self.now = end;
    }

    fn follow(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        while let Some(input) = node.links.next(self.now) {
            node.told.push(match input {
                In::CommunicationUp(..) => "up",
                In::CommunicationLost(_) => "lost",
                In::CommunicationRestart(_) => "restart",
                In::TransportCongestion(..) => "congestion",
                In::Message(..) => "message",
                _ => "something else",
            });
        }
        node.links.flush(&mut node.out);
        let out = core::mem::take(&mut node.out);
        for flow in &out.opens {
            self.open(at, *flow);
        }
        for (flow, bytes) in out.sends() {
            match flow.transport {
                Transport::Udp => self.datagram(at, &flow, bytes),
                _ => {
                    let far = self.ends.get(&flow.conn.0).and_then(|it| self.ends.get(&it.2));
                    if let Some((node, flow, _)) = far.copied() {
                        self.plan(node, What::Message(flow, bytes.to_vec()));
                    }
                }
            }
        }
        for flow in &out.closes {
            self.cut(flow.conn);
        }
    }

    fn plan(&mut self, at: usize, what: What) {
        self.events.push_back((self.now + Duration::from_millis(1), at, what));
    }

    fn datagram(&mut self, at: usize, flow: &Flow, bytes: &[u8]) {
        let is_it = |(_, listen): &&(PortId, SocketAddr)| *listen == flow.remote;
        for (n, node) in self.nodes.iter().enumerate() {
            let sctp = node.listeners.iter().filter(|(port, _)| port.0 >= FIRST.0 + SCTP_PORTS);
            if let Some((port, listen)) = sctp.clone().find(is_it) {
                let from = SocketAddr::new(self.nodes[at].address.ip(), flow.local.port());
                let flow = Flow::to(*port, Transport::Udp, *listen, from);
                return self.plan(n, What::Message(flow, bytes.to_vec()));
            }
        }
    }

    /// Somebody with that address connects to a node, and says nothing.
    pub fn claim(&mut self, at: usize, from: &str) {
        let (port, listen) = self.nodes[at].listeners[0];
        let conn = ConnId(self.next);
        self.next += 2;
        let from = from.parse().unwrap();
        let flow = Flow { conn, ..Flow::to(port, Transport::Tcp, listen, from) };
        self.ends.insert(conn.0, (at, flow, conn.0 + 1));
        self.plan(at, What::Up(flow));
        self.pass(SECOND / 100);
    }

    fn open(&mut self, at: usize, flow: Flow) {
        let is_it = |(_, listen): &&(PortId, SocketAddr)| *listen == flow.remote;
        let far = self.nodes.iter().position(|node| node.listeners.iter().any(|it| is_it(&it)));
        let Some(far) = far else {
            return self.plan(at, What::Down(flow));
        };
        let (port, listen) = *self.nodes[far].listeners.iter().find(is_it).unwrap();
        let (one, two) = (self.next, self.next + 1);
        self.next += 2;
        let local = SocketAddr::new(self.nodes[at].address.ip(), 40_000 + one as u16);
        let near = Flow { conn: ConnId(one), local, ..flow };
        let there = Flow { conn: ConnId(two), ..Flow::to(port, Transport::Tcp, listen, local) };
        self.ends.insert(one, (at, near, two));
        self.ends.insert(two, (far, there, one));
        self.plan(at, What::Up(near));
        self.plan(far, What::Up(there));
    }

    /// Ends a connection; the other end is told.
    pub fn cut(&mut self, conn: ConnId) {
        let Some((_, _, far)) = self.ends.remove(&conn.0) else { return };
        if let Some((node, flow, _)) = self.ends.remove(&far) {
            self.plan(node, What::Down(flow));
        }
    }

    fn deliver(&mut self) {
        while self.events.front().is_some_and(|it| it.0 <= self.now) {
            let (_, at, what) = self.events.pop_front().unwrap();
            let node = &mut self.nodes[at];
            let (now, out) = (self.now, &mut node.out);
            match what {
                What::Up(flow) => node.links.step(now, &runtime::In::Up { flow }, out),
                What::Down(flow) => {
                    let why = "it was closed";
                    node.links.step(now, &runtime::In::Down { flow, why }, out);
                }
                What::Message(flow, bytes) => {
                    let is_stream = flow.transport == Transport::Tcp;
                    assert!(!is_stream || frame(&bytes) == Frame::Message(bytes.len()));
                    let bytes = &bytes[..];
                    node.links.step(now, &runtime::In::Message { flow, bytes }, out);
                }
            }
            self.follow(at);
        }
    }
}

/// The numbers that an M3UA process gives these peers.
fn process(peers: &[Peer]) -> Vec<PeerId> {
    let settings =
        m3ua::Settings { peers_max: 16, servers_max: 16, parameters: m3ua::Parameters::default() };
    let mut process = m3ua::Process::new(settings).unwrap();
    peers.iter().map(|peer| process.add_peer(peer.settings()).unwrap()).collect()
}
