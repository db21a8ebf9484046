//! Nodes whose connections are carried by hand.

use diameter::codec::{Message, ResultCode, Writer};
use diameter::rows::{base, s6c, sh};
use diameter::{Indication, Outcome, Outgoing, State};
use diameter_stack::config::{self, SCTP_PORTS, Section};
use diameter_stack::{Peers, frame};
use machine::{Duration, Time};
use runtime::{ConnId, Effects, Flow, Frame, PortId, Seed, Transport};
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

/// The keys of a function that has nothing but Diameter.
#[derive(Debug, Clone, Deserialize)]
pub struct Site {
    pub diameter: config::Node,
    #[serde(default)]
    pub peer: Vec<config::Peer>,
    #[serde(default)]
    pub route: Vec<config::Route>,
}

pub const FIRST: PortId = PortId(100);
pub const SECOND: Duration = Duration::from_secs(1);
const APPLICATIONS: &[u32] = &[sh::SH.id, s6c::S6C.id];

impl Site {
    pub fn read(text: &str) -> Self {
        toml::from_str(text).unwrap()
    }

    pub fn section(&self) -> Section<'_> {
        Section {
            key: "toy",
            name: "toy1",
            node: &self.diameter,
            peer: &self.peer,
            route: &self.route,
            applications: APPLICATIONS,
            first_port: FIRST,
        }
    }
}

pub struct Node {
    pub peers: Peers,
    /// What it was told, in words.
    pub told: Vec<String>,
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
    /// Every datagram: whose, and its octets.
    pub datagrams: Vec<(usize, Vec<u8>)>,
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
            let peers = Peers::simulated(&site.section(), Arc::default(), seed).unwrap();
            let ports = site.section().ports();
            let listeners = ports.iter().filter(|port| port.listens());
            Node {
                peers,
                told: Vec::new(),
                out: Effects::default(),
                listeners: listeners.map(|port| (port.id, port.listen)).collect(),
                address: SocketAddr::from(([10, 0, 0, n], 40_000)),
            }
        };
        let nodes = (1..).zip(sites).map(node).collect();
        let (events, ends) = (VecDeque::new(), BTreeMap::new());
        let mut it = Self { now, nodes, events, ends, datagrams: Vec::new(), next: 1 };
        it.pass(SECOND);
        it
    }

    pub fn act(&mut self, at: usize, act: impl FnOnce(&mut Peers, Time, &mut Effects)) {
        let node = &mut self.nodes[at];
        act(&mut node.peers, self.now, &mut node.out);
        self.follow(at);
        self.deliver();
    }

    /// Asks for the data of a user in a realm.
    pub fn ask(&mut self, at: usize, token: u64, realm: &str) {
        let settings = self.nodes[at].peers.node().settings().clone();
        let mut message = Vec::new();
        let writer = Writer::request(&mut message, &sh::USER_DATA_COMMAND, sh::SH.id)
            .put(&base::SESSION_ID, format!("{};1;{token}", settings.host))
            .group(&base::VENDOR_SPECIFIC_APPLICATION_ID, |out| {
                out.number(&base::VENDOR_ID, 10_415);
                out.number(&base::AUTH_APPLICATION_ID, sh::SH.id);
            })
            .integer(&base::AUTH_SESSION_STATE, 1)
            .put(&base::ORIGIN_HOST, &settings.host)
            .put(&base::ORIGIN_REALM, &settings.realm)
            .put(&base::DESTINATION_REALM, realm)
            .group(&sh::USER_IDENTITY, |out| out.put(&sh::MSISDN, [0x94, 0x71]))
            .integer(&sh::DATA_REFERENCE, 25);
        writer.end().unwrap();
        let outgoing = Outgoing { token, message, timeout: None };
        self.act(at, |peers, now, out| peers.request(now, outgoing, out));
    }

    /// Both are open, and the second one's request is answered by the first one.
    pub fn open_and_ask(&mut self) {
        for node in [0, 1] {
            assert_eq!(self.take(node), ["up"]);
        }
        self.ask(1, 7, "home");
        self.pass(SECOND);
        assert_eq!(self.take(0), ["asked"]);
        assert_eq!(self.take(1), ["answer 7"]);
    }

    pub fn take(&mut self, at: usize) -> Vec<String> {
        core::mem::take(&mut self.nodes[at].told)
    }

    pub fn states(&self, at: usize) -> Vec<State> {
        self.nodes[at].peers.node().peers().map(|it| it.1.state).collect()
    }

    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let own = self.nodes.iter().filter_map(|node| node.peers.deadline());
            let events = self.events.front().map(|it| it.0);
            let Some(at) = own.chain(events).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            for node in 0..self.nodes.len() {
                self.act(node, Peers::tick);
            }
        }
        self.now = end;
    }

    fn follow(&mut self, at: usize) {
        let (node, now) = (&mut self.nodes[at], self.now);
        while let Some(indication) = node.peers.indication() {
            let word = match indication {
                Indication::Request(request, _, octets) => {
                    let answer = answer(&node.peers, &octets);
                    node.peers.answer(now, request, answer, &mut node.out);
                    String::from("asked")
                }
                Indication::Answer(token, Outcome::Answer(_)) => format!("answer {token}"),
                Indication::Answer(token, outcome) => format!("{token} {outcome:?}"),
                Indication::PeerUp(_) => String::from("up"),
                Indication::PeerDown(_, why) => format!("down: {why}"),
                Indication::Complaint(_, violation) => format!("{violation}"),
            };
            node.told.push(word);
        }
        node.peers.flush(&mut node.out);
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
        self.datagrams.push((at, bytes.to_vec()));
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

    /// The flow of a connection from that address to a node.
    pub fn listener(&mut self, at: usize, from: &str) -> Flow {
        let (port, listen) = self.nodes[at].listeners[0];
        let conn = ConnId(self.next);
        self.next += 2;
        let flow = Flow { conn, ..Flow::to(port, Transport::Tcp, listen, from.parse().unwrap()) };
        self.ends.insert(conn.0, (at, flow, conn.0 + 1));
        flow
    }

    /// Somebody with that address connects to a node.
    pub fn claim(&mut self, at: usize, from: &str) -> Flow {
        let flow = self.listener(at, from);
        self.plan(at, What::Up(flow));
        self.pass(SECOND / 100);
        flow
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
        let there = Flow { conn: ConnId(two), ..Flow::to(port, flow.transport, listen, local) };
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

    /// Breaks the first connection that stands; both ends are told.
    pub fn break_one(&mut self) {
        let (at, flow, _) = *self.ends.values().next().unwrap();
        self.act(at, |peers, now, out| {
            peers.step(now, &runtime::In::Down { flow, why: "it broke" }, out);
        });
        self.cut(flow.conn);
    }

    pub fn say(&mut self, at: usize, flow: Flow, bytes: &[u8]) {
        self.act(at, |peers, now, out| {
            peers.step(now, &runtime::In::Message { flow, bytes }, out);
        });
    }

    fn deliver(&mut self) {
        while self.events.front().is_some_and(|it| it.0 <= self.now) {
            let (_, at, what) = self.events.pop_front().unwrap();
            let node = &mut self.nodes[at];
            let (now, out) = (self.now, &mut node.out);
            match what {
                What::Up(flow) => node.peers.step(now, &runtime::In::Up { flow }, out),
                What::Down(flow) => {
                    let why = "it was closed";
                    node.peers.step(now, &runtime::In::Down { flow, why }, out);
                }
                What::Message(flow, bytes) => {
                    let is_stream = flow.transport.is_stream();
                    assert!(!is_stream || frame(&bytes) == Frame::Message(bytes.len()));
                    let bytes = &bytes[..];
                    node.peers.step(now, &runtime::In::Message { flow, bytes }, out);
                }
            }
            self.follow(at);
        }
    }
}

/// What the application of a node answers.
fn answer(peers: &Peers, request: &[u8]) -> Vec<u8> {
    let request = Message::read(request).unwrap();
    let settings = peers.node().settings();
    let mut octets = Vec::new();
    let mut writer = Writer::answer(&mut octets, &request.header);
    for row in [&base::SESSION_ID, &base::VENDOR_SPECIFIC_APPLICATION_ID] {
        writer.avps().copy(request.avps().find(row).unwrap().whole);
    }
    let writer = writer
        .result(ResultCode::Success)
        .integer(&base::AUTH_SESSION_STATE, 1)
        .put(&base::ORIGIN_HOST, &settings.host)
        .put(&base::ORIGIN_REALM, &settings.realm);
    writer.end().unwrap();
    octets
}
