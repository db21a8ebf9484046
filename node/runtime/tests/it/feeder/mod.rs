//! A function that feeds whoever connects: owned and shared pieces of one endless stream, no more
//! on their way than its window. What it is told is told to the test.
#![allow(clippy::expect_used, reason = "a test's own part")]

use bytes::Bytes;
use driver::SocketOptions;
use machine::{Duration, Time};
use runtime::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pieces of the stream, one after the other: owned ones below 100 octets, shared ones else.
const PIECES: [usize; 8] = [19, 65_536, 19, 45, 700, 4_096, 30_000, 200];

/// What the function does.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Octets for each far end that connects.
    pub octets: usize,
    /// Octets that may be on their way to one of them.
    pub window: usize,
    /// How long its first message takes.
    pub sleep: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Self { octets: 1 << 20, window: 1 << 20, sleep: Duration::ZERO }
    }
}

/// What the function was told.
#[derive(Debug)]
pub enum Seen {
    Up(u16, Flow),
    Down(Flow, &'static str),
    Written(u16, u64, u64),
    Message(u16, Vec<u8>),
}

struct Feed {
    sent: usize,
    written: usize,
    end: usize,
    pieces: usize,
}

pub struct Feeder {
    shard: u16,
    plan: Arc<Plan>,
    feeds: HashMap<SocketAddr, Feed>,
    seen: Sender<Seen>,
    messages: u64,
}

/// Octet number `at` of every stream.
pub fn stream_octet(at: usize) -> u8 {
    (at * 31 + at / 251) as u8
}

fn piece(at: usize, length: usize) -> Vec<u8> {
    (at..at + length).map(stream_octet).collect()
}

/// A message with its length before it.
pub fn octets_of(payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes().to_vec();
    out.extend_from_slice(payload);
    out
}

impl Feeder {
    fn feed(&mut self, flow: Flow, out: &mut Effects) {
        let Some(feed) = self.feeds.get_mut(&flow.remote) else { return };
        while feed.sent < feed.end && feed.sent - feed.written < self.plan.window {
            let room = self.plan.window - (feed.sent - feed.written);
            let length = PIECES[feed.pieces % PIECES.len()];
            let length = length.min(feed.end - feed.sent).min(room);
            let octets = piece(feed.sent, length);
            if length < 100 {
                out.send(flow, |b| b.extend_from_slice(&octets));
            } else {
                out.send_shared(flow, Bytes::from(octets));
            }
            feed.sent += length;
            feed.pieces += 1;
        }
    }

    fn start(&mut self, flow: Flow, end: usize, out: &mut Effects) {
        self.feeds.insert(flow.remote, Feed { sent: 0, written: 0, end, pieces: 0 });
        self.feed(flow, out);
    }
}

impl Function for Feeder {
    type Config = Plan;

    fn step(&mut self, _now: Time, input: In<'_>, out: &mut Effects) {
        let seen = match input {
            In::Up { flow } => {
                if !self.feeds.contains_key(&flow.remote) {
                    self.start(flow, self.plan.octets, out);
                }
                Seen::Up(self.shard, flow)
            }
            In::Written { flow, octets, left } => {
                let feed = self.feeds.get_mut(&flow.remote).expect("it was fed");
                feed.written += octets as usize;
                assert!(octets > 0 && feed.written + left as usize <= feed.sent);
                self.feed(flow, out);
                Seen::Written(self.shard, octets, left)
            }
            In::Down { flow, why } => Seen::Down(flow, why),
            In::Message { bytes, .. } => {
                if self.messages == 0 {
                    std::thread::sleep(self.plan.sleep);
                }
                self.messages += 1;
                Seen::Message(self.shard, bytes.to_vec())
            }
            _ => return,
        };
        // The test may have seen enough and gone.
        let _ = self.seen.send(seen);
    }

    fn tick(&mut self, _now: Time, _out: &mut Effects) {}

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn configure(&mut self, _now: Time, plan: Arc<Plan>, _out: &mut Effects) {
        self.plan = plan;
    }

    fn frame(_port: PortId, buffer: &[u8]) -> Frame {
        match buffer {
            [a, b, c, d, ..] => Frame::Message(4 + u32::from_be_bytes([*a, *b, *c, *d]) as usize),
            _ => Frame::Partial,
        }
    }

    fn steer(_plan: &Plan, _flow: &Flow, _bytes: &[u8], _shards: u16) -> Option<u16> {
        Some(0)
    }

    /// Makes the owner speak first.
    fn ask(
        &mut self,
        _now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        if self.shard == 0 {
            let part = |name: &str| ask.params[name].parse::<SocketAddr>().expect("an address");
            let flow = Flow::to(PortId(0), Transport::Tcp, part("local"), part("remote"));
            let octets = ask.params["octets"].parse().expect("a number");
            self.start(flow, octets, out);
        }
        Ok(serde_json::json!([]))
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

/// One paced port on a free number of 127.0.0.1.
pub fn spec(shards: u16) -> ShardSpec {
    let carrier = Carrier::Stream(StreamSpec { paced: true, ..StreamSpec::default() });
    let port = PortSpec { carrier, ..PortSpec::default() };
    ShardSpec { shards, ports: vec![port], ..ShardSpec::default() }
}

/// Starts the function.
pub fn launch(spec: ShardSpec, plan: Plan) -> (Running<Feeder>, Observed) {
    let (seen, events) = channel();
    let seen = Mutex::new(seen);
    let running = start(spec, Arc::new(plan), move |seed, plan| Feeder {
        shard: seed.shard,
        plan,
        feeds: HashMap::new(),
        seen: seen.lock().expect("no panic holds it").clone(),
        messages: 0,
    });
    let told = Observed { events, shards: RefCell::default() };
    (running.expect("the ports are free"), told)
}

/// What the function was told, for the test to look at.
pub struct Observed {
    events: Receiver<Seen>,
    shards: RefCell<BTreeSet<u16>>,
}

impl Observed {
    fn next<T>(&self, mut pick: impl FnMut(Seen) -> Option<T>) -> T {
        loop {
            let seen = self.events.recv_timeout(PATIENCE).expect("it must happen");
            if let Seen::Up(shard, _) | Seen::Written(shard, ..) = &seen {
                self.shards.borrow_mut().insert(*shard);
            }
            if let Some(found) = pick(seen) {
                return found;
            }
        }
    }

    /// Sums what is told as written up to that many octets: the sum, what was left in the end, and
    /// whether anything ever was.
    pub fn written_until(&self, all: u64) -> (u64, u64, bool) {
        let (mut sum, mut waited) = (0, false);
        let left = self.next(|seen| {
            let Seen::Written(_, octets, left) = seen else { return None };
            sum += octets;
            waited |= left > 0;
            (sum >= all).then_some(left)
        });
        (sum, left, waited)
    }

    pub fn up(&self) -> Flow {
        self.next(|seen| if let Seen::Up(_, flow) = seen { Some(flow) } else { None })
    }

    pub fn down(&self) -> (Flow, &'static str) {
        self.next(|seen| if let Seen::Down(flow, why) = seen { Some((flow, why)) } else { None })
    }

    pub fn message(&self) -> (u16, Vec<u8>) {
        self.next(|seen| if let Seen::Message(n, bytes) = seen { Some((n, bytes)) } else { None })
    }

    /// What comes within a while, if anything does.
    pub fn within(&self, time: Duration) -> Option<Seen> {
        self.events.recv_timeout(time).ok()
    }

    /// The shards that were told of connections and of what was written.
    pub fn shards(&self) -> Vec<u16> {
        self.shards.borrow().iter().copied().collect()
    }

    /// Makes the function open a connection and send so many octets.
    pub fn speak(&self, running: &Running<Feeder>, local: &str, to: SocketAddr, octets: usize) {
        let params = BTreeMap::from([
            ("local".to_owned(), format!("{local}:0")),
            ("remote".to_owned(), to.to_string()),
            ("octets".to_owned(), octets.to_string()),
        ]);
        running.ask(Ask { path: "speak".into(), params }).expect("the function lives");
    }

    /// Sum over the shards of one of the runtime's counters or gauges.
    pub fn sum(&self, running: &Running<Feeder>, metric: RuntimeMetric) -> u64 {
        let name = event::Metric::row(metric).name;
        let cells = running.port_cells();
        let readings =
            cells.iter().flat_map(|(_, cells)| cells).flat_map(event::MetricCells::samples);
        readings
            .filter(|(row, _)| row.name == name)
            .map(|(_, reading)| match reading {
                event::Sample::Value(value) => value,
                event::Sample::Histogram { count, .. } => count,
            })
            .sum()
    }

    /// Turns that had something to do.
    pub fn turns(&self, running: &Running<Feeder>) -> u64 {
        self.sum(running, RuntimeMetric::TurnTime)
    }
}

/// A far end that reads.
pub struct Sink {
    stream: TcpStream,
    at: usize,
}

impl Sink {
    /// Connects with so small a receive buffer.
    pub fn connect(to: SocketAddr, receive_buffer_bytes: usize) -> Self {
        Self::connect_with(to, receive_buffer_bytes, |_| Ok(())).expect("it listens")
    }

    /// Connects with what `guard` sets before; `None` when nobody answers within half a second.
    pub fn connect_with(
        to: SocketAddr,
        receive_buffer_bytes: usize,
        guard: impl FnOnce(&std::os::fd::OwnedFd) -> std::io::Result<()>,
    ) -> Option<Self> {
        let options = SocketOptions { receive_buffer_bytes, ..SocketOptions::default() };
        let stream = driver::tcp::connect(None, to, &options, guard).expect("a socket");
        let mut poll = driver::Poll::new().expect("a descriptor");
        poll.add(&stream, 1, driver::Interest::Write).expect("watched");
        let ready = poll.wait(Some(Duration::from_millis(500))).expect("it waits").len();
        (ready > 0 && driver::tcp::outcome(&stream).is_ok()).then(|| Self::of(stream))
    }

    pub fn of(stream: TcpStream) -> Self {
        stream.set_nonblocking(false).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        Self { stream, at: 0 }
    }

    /// Reads so many octets, which must be the stream's next ones.
    pub fn expect(&mut self, octets: usize) {
        let mut buffer = vec![0; 50_000];
        let end = self.at + octets;
        while self.at < end {
            let room = buffer.len().min(end - self.at);
            let count = self.stream.read(&mut buffer[..room]).expect("it goes on");
            assert!(count > 0, "it ended after {} octets", self.at);
            assert!(buffer[..count] == piece(self.at, count), "wrong after {}", self.at);
            self.at += count;
        }
    }

    /// Reads to the end, however it ends.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        // Reset instead of finished is an end as well.
        let _ = self.stream.read_to_end(&mut all);
        all
    }

    /// Writes one message.
    pub fn say(&mut self, payload: &[u8]) {
        self.stream.write_all(&octets_of(payload)).expect("it stands");
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }
}
