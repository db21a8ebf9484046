//! A reflector and scripted BGP speakers joined by TCP connections, in virtual time.

pub mod speaker;

use bgp::codec::EXTENDED_MESSAGE_BYTES_MAX;
use machine::{Duration, Time};
use rr::Reflector;
use rr::config::Rr;
use runtime::{Ask, AskError, ConnId, Effects, Flow, Frame, Function, In, PortId, Seed, Transport};
use serde_json::Value;
pub use speaker::Speaker;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

/// One way of any connection.
pub const DELAY: Duration = Duration::from_millis(5);
pub const START: Time = Time::from_millis(1_700_000_000_000);
/// The reflector's address.
pub const HERE: &str = "10.0.0.1:179";

enum What {
    Up(Flow),
    Octets(Flow, Vec<u8>),
    Down(Flow, &'static str),
    Written(Flow, u64),
}

/// Who stands at an end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Reflector,
    Speaker(usize),
    /// A cache or a station.
    Outsider(SocketAddr),
}

/// Who listens, and says only what the test makes it say.
#[derive(Default)]
pub struct Outsider {
    /// What came over the connection that stands.
    pub heard: Vec<u8>,
    pub connections: usize,
    conn: Option<u32>,
}

/// One end of a connection, and the number of the other end.
#[derive(Clone, Copy)]
struct End {
    who: Who,
    flow: Flow,
    other: u32,
}

pub struct World {
    pub now: Time,
    pub reflector: Reflector,
    pub speakers: Vec<Speaker>,
    pub outsiders: BTreeMap<SocketAddr, Outsider>,
    ports: Vec<(PortId, SocketAddr)>,
    events: BTreeMap<(Time, u64), (Who, What)>,
    ends: BTreeMap<u32, End>,
    /// Octets of the reflector's connections that are not whole messages yet.
    partial: BTreeMap<u32, Vec<u8>>,
    /// Speakers that do nothing any more, and nobody is told.
    frozen: BTreeSet<usize>,
    /// Speakers whose connections are not read: nothing sent to them is taken.
    stuck: BTreeSet<usize>,
    /// So do all caches and stations.
    stuck_outsiders: bool,
    out: Effects,
    count: u64,
    next: u32,
}

pub fn read(text: &str) -> Rr {
    toml::from_str(text).expect("the section is well-formed")
}

pub fn issues(text: &str) -> Vec<config::Issue> {
    let mut issues = Vec::new();
    read(text).validate(&mut issues);
    issues
}

pub fn checked(text: &str) -> Rr {
    let found = issues(text);
    assert!(found.is_empty(), "{found:?}");
    read(text)
}

impl World {
    /// A reflector with this section, and nobody else.
    pub fn new(text: &str) -> Self {
        let config = checked(text);
        let ports = Self::listening(&config);
        let seed = Seed { shard: 0, shards: 1, random: [7; 32], now: START };
        Self {
            now: START,
            reflector: Reflector::new(seed, Arc::new(config)),
            speakers: Vec::new(),
            outsiders: BTreeMap::new(),
            ports,
            events: BTreeMap::new(),
            ends: BTreeMap::new(),
            partial: BTreeMap::new(),
            frozen: BTreeSet::new(),
            stuck: BTreeSet::new(),
            stuck_outsiders: false,
            out: Effects::default(),
            count: 0,
            next: 1,
        }
    }

    fn listening(config: &Rr) -> Vec<(PortId, SocketAddr)> {
        let ports = config.ports();
        ports.iter().filter(|it| it.listens()).map(|it| (it.id, it.listen)).collect()
    }

    pub fn add(&mut self, speaker: Speaker) -> usize {
        self.speakers.push(speaker);
        let id = self.speakers.len() - 1;
        self.act(id, Speaker::start);
        id
    }

    /// A cache or a station that listens there.
    pub fn listen(&mut self, at: &str) {
        self.outsiders.insert(speaker::address(at), Outsider::default());
    }

    /// A cache or a station says something.
    pub fn say(&mut self, at: &str, octets: Vec<u8>) {
        let conn = self.outsiders[&speaker::address(at)].conn.expect("it has a connection");
        let near = self.ends.get(&conn).and_then(|end| self.ends.get(&end.other));
        let near = near.copied().expect("its connection stands");
        self.plan(near.who, What::Octets(near.flow, octets));
    }

    /// A cache or a station goes, with its connection.
    pub fn leave(&mut self, at: &str) {
        let gone = self.outsiders.remove(&speaker::address(at));
        if let Some(conn) = gone.and_then(|it| it.conn) {
            self.break_off(conn, false);
        }
    }

    /// Does something at a speaker; what it wants leaves.
    pub fn act(&mut self, id: usize, act: impl FnOnce(&mut Speaker, Time)) {
        let now = self.now;
        act(&mut self.speakers[id], now);
        self.flush(id);
    }

    pub fn configure(&mut self, text: &str) {
        let config = checked(text);
        self.ports = Self::listening(&config);
        self.run(|reflector, now, out| reflector.configure(now, Arc::new(config), out));
    }

    pub fn drain(&mut self) {
        self.run(|reflector, now, out| reflector.step(now, In::Drain, out));
    }

    pub fn ask(&mut self, path: &str, params: &[(&str, &str)]) -> Value {
        self.try_ask(path, params).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn try_ask(&mut self, path: &str, params: &[(&str, &str)]) -> Result<Value, AskError> {
        let params = params.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let ask = Ask { path: path.to_owned(), params: params.collect() };
        let mut answer = Err(AskError::Unreachable);
        self.run(|reflector, now, out| answer = reflector.ask(now, &ask, out));
        answer
    }

    /// The row of a peer in the summary.
    pub fn row(&mut self, peer: &str) -> Value {
        let rows = self.ask("bgp/summary", &[]);
        let mut rows = rows.as_array().cloned().unwrap_or_default().into_iter();
        rows.find(|row| row["peer"] == peer).unwrap_or(Value::Null)
    }

    pub fn state(&mut self, peer: &str) -> String {
        self.row(peer)["state"].as_str().unwrap_or("absent").to_owned()
    }

    /// Names of the alarms that stand, with their subjects.
    pub fn alarms(&mut self) -> Vec<String> {
        let rows = self.ask("alarms", &[]);
        let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let rows = rows.as_array().cloned().unwrap_or_default();
        rows.iter().map(|row| format!("{} {}", word(row, "name"), word(row, "subject"))).collect()
    }

    pub fn metric(&mut self, name: &str) -> u64 {
        self.ask("bgp/summary", &[]);
        let cells = self.reflector.cells();
        let mut rows = cells.iter().flat_map(event::MetricCells::samples);
        match rows.find(|(row, _)| row.name == name) {
            Some((_, event::Sample::Value(value))) => value,
            _ => panic!("there is no {name}"),
        }
    }

    /// It does nothing any more, and nobody is told.
    pub fn freeze(&mut self, id: usize) {
        self.frozen.insert(id);
    }

    /// Nothing that is sent to it is taken.
    pub fn stick(&mut self, id: usize) {
        self.stuck.insert(id);
    }

    /// Nothing that is sent to caches and stations is taken from now on.
    pub fn stick_outsiders(&mut self) {
        self.stuck_outsiders = true;
    }

    /// What is sent to it is taken again.
    pub fn unstick(&mut self, id: usize) {
        self.stuck.remove(&id);
    }

    /// The reflector hears that so many octets wait for it.
    pub fn clog(&mut self, id: usize, left: u64) {
        let far = self.ends.values().find(|end| end.who == Who::Speaker(id));
        let near = far.and_then(|end| self.ends.get(&end.other)).map(|end| end.flow);
        let flow = near.expect("it has a connection");
        let written = In::Written { flow, octets: 0, left };
        self.run(|reflector, now, out| reflector.step(now, written, out));
    }

    /// Its connections break, and both sides are told.
    pub fn cut(&mut self, id: usize) {
        let of_it = self.ends.iter().filter(|(_, end)| end.who == Who::Speaker(id));
        for conn in of_it.map(|(conn, _)| *conn).collect::<Vec<_>>() {
            self.break_off(conn, true);
        }
    }

    fn run(&mut self, act: impl FnOnce(&mut Reflector, Time, &mut Effects)) {
        let mut out = core::mem::take(&mut self.out);
        act(&mut self.reflector, self.now, &mut out);
        self.carry_out(&mut out);
        out.clear();
        self.out = out;
    }

    /// Carries out what the reflector wants.
    fn carry_out(&mut self, out: &mut Effects) {
        for flow in core::mem::take(&mut out.opens) {
            if self.outsiders.contains_key(&flow.remote) {
                self.open(Who::Reflector, flow, Who::Outsider(flow.remote), PortId(0));
                continue;
            }
            let of = |it: &Speaker| it.listens && it.address == flow.remote.ip();
            let far = self.speakers.iter().position(of);
            match far.filter(|id| !self.frozen.contains(id)) {
                Some(id) => self.open(Who::Reflector, flow, Who::Speaker(id), PortId(0)),
                None => self.plan(Who::Reflector, What::Down(flow, "nobody listens there")),
            }
        }
        let sends: Vec<(Flow, Vec<u8>)> =
            out.sends().map(|(flow, bytes)| (flow, bytes.to_vec())).collect();
        for (flow, bytes) in sends {
            let Some(end) = self.ends.get(&flow.conn.0).copied() else { continue };
            let Some(other) = self.ends.get(&end.other).copied() else { continue };
            let is_stuck = match other.who {
                Who::Speaker(id) => self.stuck.contains(&id),
                Who::Outsider(_) => self.stuck_outsiders,
                Who::Reflector => false,
            };
            if is_stuck {
                continue;
            }
            self.plan_at(self.now, Who::Reflector, What::Written(flow, bytes.len() as u64));
            self.plan(other.who, What::Octets(other.flow, bytes));
        }
        for flow in core::mem::take(&mut out.closes) {
            self.break_off(flow.conn.0, false);
        }
    }

    /// What a speaker wants leaves.
    fn flush(&mut self, id: usize) {
        let wanted = self.speakers[id].take();
        for want in wanted {
            match want {
                speaker::Want::Connect => {
                    let port = self.ports.iter().find(|(_, at)| *at == speaker::address(HERE));
                    let Some((port, _)) = port.copied() else { continue };
                    let local = SocketAddr::new(self.speakers[id].address, 0);
                    let remote = speaker::address(HERE);
                    let flow = Flow::to(PortId(0), Transport::Tcp, local, remote);
                    self.open(Who::Speaker(id), flow, Who::Reflector, port);
                }
                speaker::Want::Send(conn, bytes) => {
                    let other = self.ends.get(&conn).and_then(|end| self.ends.get(&end.other));
                    if let Some(other) = other.copied() {
                        self.plan(other.who, What::Octets(other.flow, bytes));
                    }
                }
                speaker::Want::Close(conn) => self.break_off(conn, false),
            }
        }
    }

    fn open(&mut self, near: Who, flow: Flow, far: Who, far_port: PortId) {
        let (one, two) = (self.next, self.next + 1);
        self.next += 2;
        let local = SocketAddr::new(flow.local.ip(), 30_000 + (one % 30_000) as u16);
        let near_flow = Flow { conn: ConnId(one), local, ..flow };
        let far_flow =
            Flow { conn: ConnId(two), ..Flow::to(far_port, Transport::Tcp, flow.remote, local) };
        self.ends.insert(one, End { who: near, flow: near_flow, other: two });
        self.ends.insert(two, End { who: far, flow: far_flow, other: one });
        self.plan(near, What::Up(near_flow));
        self.plan(far, What::Up(far_flow));
    }

    fn break_off(&mut self, conn: u32, tells_both: bool) {
        let Some(end) = self.ends.remove(&conn) else { return };
        if let Some(other) = self.ends.remove(&end.other) {
            self.plan(other.who, What::Down(other.flow, "the far end closed the connection"));
        }
        if tells_both {
            self.plan(end.who, What::Down(end.flow, "the connection broke"));
        }
    }

    fn plan(&mut self, who: Who, what: What) {
        self.plan_at(self.now + DELAY, who, what);
    }

    fn plan_at(&mut self, at: Time, who: Who, what: What) {
        self.count += 1;
        self.events.insert((at, self.count), (who, what));
    }

    fn deadline(&self) -> Option<Time> {
        let awake = self.speakers.iter().enumerate().filter(|(id, _)| !self.frozen.contains(id));
        let speakers = awake.filter_map(|(_, speaker)| speaker.deadline());
        let events = self.events.keys().next().map(|(at, _)| *at);
        speakers.chain(events).chain(self.reflector.deadline()).min()
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            while let Some(entry) = self.events.first_entry().filter(|it| it.key().0 <= self.now) {
                let (who, what) = entry.remove();
                self.deliver(who, what);
            }
            if self.reflector.deadline().is_some_and(|at| at <= self.now) {
                self.run(|reflector, now, out| reflector.tick(now, out));
            }
            for id in 0..self.speakers.len() {
                if !self.frozen.contains(&id) {
                    self.act(id, Speaker::tick);
                }
            }
        }
        self.now = end;
    }

    fn deliver(&mut self, who: Who, what: What) {
        match (who, what) {
            (Who::Outsider(at), what) => {
                let Some(outsider) = self.outsiders.get_mut(&at) else { return };
                match what {
                    What::Up(flow) => {
                        outsider.conn = Some(flow.conn.0);
                        outsider.connections += 1;
                        outsider.heard.clear();
                    }
                    What::Octets(_, bytes) => outsider.heard.extend_from_slice(&bytes),
                    What::Down(..) => outsider.conn = None,
                    What::Written(..) => {}
                }
            }
            (Who::Speaker(id), what) => {
                if self.frozen.contains(&id) {
                    return;
                }
                self.act(id, |speaker, now| match &what {
                    What::Up(flow) => speaker.stands(now, flow),
                    What::Octets(flow, bytes) => speaker.octets(now, flow.conn.0, bytes),
                    What::Down(flow, _) => speaker.lost(now, flow.conn.0),
                    What::Written(..) => {}
                });
            }
            (Who::Reflector, What::Octets(flow, bytes)) => self.cut_stream(flow, &bytes),
            (Who::Reflector, What::Up(flow)) => {
                self.run(|reflector, now, out| reflector.step(now, In::Up { flow }, out));
            }
            (Who::Reflector, What::Down(flow, why)) => {
                self.run(|reflector, now, out| reflector.step(now, In::Down { flow, why }, out));
            }
            (Who::Reflector, What::Written(flow, octets)) => {
                let written = In::Written { flow, octets, left: 0 };
                self.run(|reflector, now, out| reflector.step(now, written, out));
            }
        }
    }

    /// Cuts a stream as the runtime does.
    fn cut_stream(&mut self, flow: Flow, bytes: &[u8]) {
        let mut buffer = self.partial.remove(&flow.conn.0).unwrap_or_default();
        buffer.extend_from_slice(bytes);
        let mut at = 0;
        while at < buffer.len() && self.ends.contains_key(&flow.conn.0) {
            match Reflector::frame(flow.port, &buffer[at..]) {
                Frame::Message(count) if count <= buffer.len() - at => {
                    assert!(count <= 2 * EXTENDED_MESSAGE_BYTES_MAX, "the runtime refuses that");
                    let bytes = &buffer[at..at + count];
                    let message = In::Message { flow, bytes };
                    let mut out = core::mem::take(&mut self.out);
                    self.reflector.step(self.now, message, &mut out);
                    self.carry_out(&mut out);
                    out.clear();
                    self.out = out;
                    at += count;
                }
                _ => break,
            }
        }
        buffer.drain(..at);
        self.partial.insert(flow.conn.0, buffer);
    }
}

pub const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
