//! Two speakers, each with an owner that keeps what it is told.

use bgp::family::Family;
use bgp_stack::config::{Group, Peer, Section};
use bgp_stack::{In, Out, PolicyChange, Speaker, frame};
use bytes::Bytes;
use machine::{Duration, Time};
use policy::PolicyConfig;
use rib::PeerId;
use runtime::{ConnId, Effects, Flow, Frame, PortId, Seed, Transport};
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// The keys of a function that has nothing but a speaker.
#[derive(Debug, Clone, Deserialize)]
pub struct Site {
    pub asn: u32,
    pub identifier: std::net::Ipv4Addr,
    #[serde(default)]
    pub listen: Vec<String>,
    #[serde(default)]
    pub group: Vec<Group>,
    #[serde(default)]
    pub peer: Vec<Peer>,
    #[serde(default)]
    pub policy: Vec<PolicyConfig>,
}

impl Site {
    pub fn read(text: &str) -> Self {
        toml::from_str(text).unwrap()
    }

    pub fn section(&self) -> Section<'_> {
        Section {
            key: "toy",
            asn: self.asn,
            identifier: self.identifier,
            listen: &self.listen,
            group: &self.group,
            peer: &self.peer,
            policy: &self.policy,
            locations: Vec::new(),
            vrfs: BTreeMap::new(),
            first_port: PortId(2_000),
        }
    }
}

/// What an owner was told, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    Up(PeerId),
    Down(PeerId, String),
    Update(PeerId, Vec<u8>),
    Refresh(PeerId, Family),
    Limits(PeerId),
}

pub struct Side {
    pub speaker: Speaker,
    pub told: Vec<Observed>,
    /// Names of peers, and types of the messages that were sent to them.
    pub sent: Vec<(String, u8)>,
    /// UPDATEs of this length end the session of who sent them.
    pub refuses: Option<usize>,
    address: IpAddr,
    listener: Option<(PortId, SocketAddr)>,
    out: Effects,
    partial: BTreeMap<u32, Vec<u8>>,
}

enum What {
    Up(Flow),
    Octets(Flow, Vec<u8>),
    Down(Flow),
    Written(Flow, u64),
}

pub struct World {
    pub now: Time,
    pub sides: [Side; 2],
    events: VecDeque<(usize, What)>,
    /// By connection: whose it is, its flow, the connection at the other end.
    ends: BTreeMap<u32, (usize, Flow, u32)>,
    next: u32,
}

pub const SECOND: Duration = Duration::from_secs(1);

impl World {
    pub fn new(sites: [&str; 2]) -> Self {
        Self::after(sites, Duration::ZERO)
    }

    /// One whose sides have begun anew, and wait for what the other one has for so long.
    pub fn after(sites: [&str; 2], deferral: Duration) -> Self {
        let now = Time::from_millis(1_700_000_000_000);
        let side = |n: u8, text: &str| {
            let site = Site::read(text);
            let mut issues = Vec::new();
            site.section().validate(&mut issues);
            assert!(issues.is_empty(), "{issues:?}");
            let seed = Seed { shard: 0, shards: 1, random: [n; 32], now };
            let ports = site.section().ports();
            let listener = ports.iter().find(|port| port.listens());
            Side {
                speaker: Speaker::new(&seed, &site.section(), deferral, None),
                told: Vec::new(),
                sent: Vec::new(),
                refuses: None,
                address: IpAddr::from([10, 0, 0, n]),
                listener: listener.map(|port| (port.id, port.listen)),
                out: Effects::default(),
                partial: BTreeMap::new(),
            }
        };
        let [a, b] = sites;
        let sides = [side(1, a), side(2, b)];
        let mut it = Self { now, sides, events: VecDeque::new(), ends: BTreeMap::new(), next: 1 };
        it.pass(SECOND);
        it
    }

    /// Does something at one side, as its owner would; everything that follows is done.
    pub fn act<T>(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Speaker, Time, &mut Effects) -> T,
    ) -> T {
        let side = &mut self.sides[at];
        let result = act(&mut side.speaker, self.now, &mut side.out);
        self.follow(at, &[]);
        self.settle();
        result
    }

    pub fn configure(&mut self, at: usize, text: &str) -> Option<PolicyChange> {
        let site = Site::read(text);
        self.act(at, |speaker, now, out| {
            let change = speaker.set_policies(&site.section());
            speaker.configure(now, &site.section(), out);
            change
        })
    }

    /// The only peer of a side.
    pub fn peer(&self, at: usize) -> PeerId {
        self.sides[at].speaker.peers().iter().next().unwrap().0
    }

    pub fn send(&mut self, at: usize, messages: &[u8]) -> bool {
        let (id, bytes) = (self.peer(at), Bytes::copy_from_slice(messages));
        self.act(at, |speaker, now, out| speaker.send_updates(now, id, bytes, 1, out))
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let deadlines = self.sides.iter().filter_map(|side| side.speaker.deadline());
            let Some(at) = deadlines.min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            for side in 0..2 {
                self.act(side, |speaker, now, out| {
                    speaker.tick(now, out);
                    speaker.is_deferring(now, out)
                });
            }
        }
        self.now = end;
    }

    fn follow(&mut self, at: usize, bytes: &[u8]) {
        let (now, side) = (self.now, &mut self.sides[at]);
        while let Some(wanted) = side.speaker.next(now, bytes, &mut side.out) {
            side.told.push(match wanted {
                Out::Up(id, _) => Observed::Up(id),
                Out::Down(id, ended) => {
                    assert!(ended.negotiated.is_some(), "what was agreed on is still told");
                    Observed::Down(id, format!("{:?}", ended.cause))
                }
                Out::Update(id, message) => {
                    if side.refuses == Some(message.len()) {
                        let violation = violation();
                        side.speaker.refuse_update(now, id, &violation, message, &mut side.out);
                    }
                    Observed::Update(id, message.to_vec())
                }
                Out::Refresh(id, family, _) => Observed::Refresh(id, family),
                Out::Limits(id) => Observed::Limits(id),
                Out::Sent(sent) => {
                    side.sent.push((sent.name, sent.message[18]));
                    continue;
                }
                Out::LongLived(..) | Out::Purge(..) | Out::Written(..) => continue,
            });
        }
        self.carry(at);
    }

    /// Carries what a side wants to the other one.
    fn carry(&mut self, at: usize) {
        let out = core::mem::take(&mut self.sides[at].out);
        for flow in &out.opens {
            self.open(at, *flow);
        }
        for (flow, bytes) in out.sends() {
            let Some((_, _, far)) = self.ends.get(&flow.conn.0) else { continue };
            let Some((side, far, _)) = self.ends.get(far) else { continue };
            self.events.push_back((*side, What::Octets(*far, bytes.to_vec())));
            self.events.push_back((at, What::Written(flow, bytes.len() as u64)));
        }
        for flow in &out.closes {
            self.cut(flow.conn);
        }
    }

    fn open(&mut self, at: usize, flow: Flow) {
        let far = &self.sides[1 - at];
        let listener = far.listener.filter(|(_, listen)| *listen == flow.remote);
        let Some((port, listen)) = listener else {
            return self.events.push_back((at, What::Down(flow)));
        };
        let (one, two) = (self.next, self.next + 1);
        self.next += 2;
        let local = SocketAddr::new(self.sides[at].address, 40_000);
        let near = Flow { conn: ConnId(one), local, ..flow };
        let far = Flow { conn: ConnId(two), ..Flow::to(port, Transport::Tcp, listen, local) };
        self.ends.insert(one, (at, near, two));
        self.ends.insert(two, (1 - at, far, one));
        self.events.push_back((at, What::Up(near)));
        self.events.push_back((1 - at, What::Up(far)));
    }

    /// Ends a connection; the other end is told.
    pub fn cut(&mut self, conn: ConnId) {
        let Some((_, _, far)) = self.ends.remove(&conn.0) else { return };
        if let Some((side, flow, _)) = self.ends.remove(&far) {
            self.events.push_back((side, What::Down(flow)));
        }
    }

    fn settle(&mut self) {
        while let Some((at, what)) = self.events.pop_front() {
            match what {
                What::Octets(flow, bytes) => self.octets(at, &flow, &bytes),
                What::Up(flow) => self.step(at, In::Connected(flow), &[]),
                What::Down(flow) => {
                    self.step(at, In::Lost(&flow, "the far end closed the connection"), &[])
                }
                What::Written(flow, octets) => self.step(at, In::Written(&flow, octets, 0), &[]),
            }
        }
    }

    fn step(&mut self, at: usize, input: In<'_>, bytes: &[u8]) {
        let side = &mut self.sides[at];
        side.speaker.step(self.now, input, &mut side.out);
        self.follow(at, bytes);
    }

    /// Cuts a stream as the runtime does.
    fn octets(&mut self, at: usize, flow: &Flow, bytes: &[u8]) {
        let mut buffer = self.sides[at].partial.remove(&flow.conn.0).unwrap_or_default();
        buffer.extend_from_slice(bytes);
        let mut from = 0;
        while let Frame::Message(count) = frame(&buffer[from..]) {
            if count > buffer.len() - from || from == buffer.len() {
                break;
            }
            let messages = &buffer[from..from + count];
            self.step(at, In::Octets(flow, messages), messages);
            from += count;
        }
        buffer.drain(..from);
        self.sides[at].partial.insert(flow.conn.0, buffer);
    }
}

/// A violation that ends a session, as the tables would find it.
fn violation() -> bgp::codec::Violation {
    let notice = bgp::codec::Notice::update(bgp::codec::UpdateError::MalformedAttributeList);
    bgp::codec::Violation::reset(notice, 0, "it is refused here", "RFC 4271 §6.3")
}
