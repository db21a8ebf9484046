//! A function that answers: what each test of the runtime runs.
//!
//! Framing: four bytes of length (of the payload, big endian), then the payload; a zero byte as
//! the first of the four would be a length past the limit, so `0xFF` alone is a keep-alive. What
//! begins with `~` is text up to a line feed.
#![allow(clippy::expect_used, reason = "each test file uses its own part")]

use machine::{Duration, Time};
use runtime::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Octets in which the end of a text was searched, by every shard of this process.
static SEARCHED: AtomicUsize = AtomicUsize::new(0);
static COUNTING: Mutex<()> = Mutex::new(());

/// A count of the octets in which the end of a text was searched; one test at a time has it.
pub struct Searched {
    _turn: MutexGuard<'static, ()>,
}

impl Searched {
    /// Begins at none.
    pub fn begin() -> Self {
        let turn = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
        SEARCHED.store(0, Ordering::Relaxed);
        Self { _turn: turn }
    }

    /// So many by now.
    pub fn octets(&self) -> usize {
        SEARCHED.load(Ordering::Relaxed)
    }
}

/// What happened on a shard, for the test to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Message(u16, Flow, Vec<u8>),
    Up(u16, Flow),
    Proved(u16, Flow, Vec<String>),
    Down(u16, Flow, &'static str),
    Written(u16, Flow, u64, u64),
    Returned(u16, Flow, Why, Vec<u8>),
    Ready(PortId),
    Resolved(u64, Answer),
    Drained(u16),
}

/// How the function behaves.
#[derive(Debug, Clone, Default)]
pub struct Behaviour {
    /// Steer by the first byte of the payload.
    pub steer: bool,
    /// Report messages (slow) or only count them.
    pub quiet: bool,
    /// Times each message is sent back.
    pub copies: usize,
    /// What is sent back is shared, not copied.
    pub shared: bool,
    /// Version, to see a configuration arrive.
    pub version: u32,
    /// Panics when it is told of this configuration.
    pub refuses: bool,
}

pub struct Echo {
    shard: u16,
    behaviour: Arc<Behaviour>,
    seen: Sender<Seen>,
    messages: u64,
    timer: Option<Time>,
    ticks: u64,
    draining: bool,
    watched: Option<(std::net::UdpSocket, Arc<std::os::fd::OwnedFd>)>,
}

/// Payload → stream message.
pub fn framed(payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes().to_vec();
    out.extend_from_slice(payload);
    out
}

fn command<'a>(payload: &'a [u8], verb: &str) -> Option<&'a str> {
    std::str::from_utf8(payload).ok()?.strip_prefix(verb)
}

impl Echo {
    /// Has a socket of its own watched, under number 77.
    fn watch(&mut self, out: &mut Effects) -> SocketAddr {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("there is a free port");
        let local = socket.local_addr().expect("it is bound");
        let descriptor = Arc::new(socket.try_clone().expect("there are descriptors").into());
        out.watch(PortId(77), Arc::clone(&descriptor));
        self.watched = Some((socket, descriptor));
        local
    }

    fn payload<'a>(flow: &Flow, bytes: &'a [u8]) -> &'a [u8] {
        if flow.transport.is_stream() { &bytes[4..] } else { bytes }
    }

    fn obey(&mut self, now: Time, flow: Flow, payload: &[u8], out: &mut Effects) -> bool {
        if let Some(what) = command(payload, "panic:") {
            panic!("told to panic: {what}");
        }
        if let Some(ms) = command(payload, "sleep:") {
            std::thread::sleep(Duration::from_millis(ms.parse().expect("a number")));
            return true;
        }
        if let Some(ms) = command(payload, "timer:") {
            self.timer = Some(now + Duration::from_millis(ms.parse().expect("a number")));
            return true;
        }
        if let Some(remote) = command(payload, "alias:") {
            out.alias(flow, remote.parse().expect("an address"));
            return true;
        }
        if command(payload, "close").is_some() {
            out.send(flow, |b| b.extend_from_slice(&framed(b"bye")));
            out.close(flow);
            return true;
        }
        if let Some(host) = command(payload, "host:") {
            out.resolve(7, Query::Host(host.to_owned()));
            return true;
        }
        if let Some(name) = command(payload, "srv:") {
            out.resolve(8, Query::Srv(name.to_owned()));
            return true;
        }
        if let Some(name) = command(payload, "naptr:") {
            out.resolve(9, Query::Naptr(name.to_owned()));
            return true;
        }
        false
    }
}

/// `send:PORT TRANSPORT LOCAL REMOTE TEXT` makes the function speak first; zero `times`, it opens a
/// connection and says nothing.
fn speak(ask: &Ask, out: &mut Effects) {
    let part = |name: &str| ask.params.get(name).cloned().unwrap_or_default();
    let transport = match part("transport").as_str() {
        "udp" => Transport::Udp,
        "tcp" => Transport::Tcp,
        _ => Transport::Tls,
    };
    let port = PortId(part("port").parse().expect("a port number"));
    let local: SocketAddr = part("local").parse().expect("an address");
    let remote: SocketAddr = part("remote").parse().expect("an address");
    if let Some(name) = ask.params.get("name") {
        out.name(remote, name);
    }
    let flow = Flow::to(port, transport, local, remote);
    let text = part("text");
    let bytes = if transport.is_stream() { framed(text.as_bytes()) } else { text.into_bytes() };
    let times = part("times").parse().unwrap_or(1usize);
    if times == 0 {
        out.open(flow);
    }
    for _ in 0..times {
        out.send(flow, |b| b.extend_from_slice(&bytes));
    }
}

impl Function for Echo {
    type Config = Behaviour;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        let seen = match input {
            In::Message { flow, bytes } => {
                self.messages += 1;
                if !self.obey(now, flow, Self::payload(&flow, bytes), out) {
                    for _ in 0..self.behaviour.copies.max(1) {
                        if self.behaviour.shared {
                            out.send_shared(flow, bytes::Bytes::copy_from_slice(bytes));
                        } else {
                            out.send(flow, |b| b.extend_from_slice(bytes));
                        }
                    }
                }
                if self.behaviour.quiet {
                    return;
                }
                Seen::Message(self.shard, flow, bytes.to_vec())
            }
            In::Up { flow } => Seen::Up(self.shard, flow),
            In::Proved { flow, names } => Seen::Proved(self.shard, flow, names.to_vec()),
            In::Down { flow, why } => Seen::Down(self.shard, flow, why),
            In::Written { flow, octets, left } => Seen::Written(self.shard, flow, octets, left),
            In::Returned { flow, why, quoted } => {
                Seen::Returned(self.shard, flow, why, quoted.to_vec())
            }
            In::Ready { port } => {
                let (socket, _) = self.watched.as_ref().expect("it is watched");
                socket.recv(&mut [0; 16]).expect("there is something");
                Seen::Ready(port)
            }
            In::Channel { .. } => return,
            In::Resolved { query, answer } => Seen::Resolved(query, answer),
            In::Work { .. } | In::HandedBack { .. } => return, // work.rs
            In::Drain => {
                self.draining = true;
                Seen::Drained(self.shard)
            }
        };
        // The test may have seen enough and gone.
        let _ = self.seen.send(seen);
    }

    fn tick(&mut self, now: Time, _out: &mut Effects) {
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            self.ticks += 1;
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.timer
    }

    fn configure(&mut self, _now: Time, config: Arc<Behaviour>, _out: &mut Effects) {
        assert!(!config.refuses, "told to panic");
        self.behaviour = config;
    }

    fn frame(_port: PortId, buffer: &[u8]) -> Frame {
        match buffer {
            [0xFF, ..] => Frame::Skip(1),
            [0xFE, ..] => Frame::Answer(1, b"pong"),
            [0xEE, ..] => Frame::Broken("not a length"),
            [b'~', ..] => {
                SEARCHED.fetch_add(buffer.len(), Ordering::Relaxed);
                let end = buffer.iter().position(|&octet| octet == b'\n');
                end.map_or(Frame::Partial, |end| Frame::Message(end + 1))
            }
            [a, b, c, d, ..] => Frame::Message(4 + u32::from_be_bytes([*a, *b, *c, *d]) as usize),
            _ => Frame::Partial,
        }
    }

    fn ends_frame(_port: PortId, buffer: &[u8], seen: usize) -> bool {
        buffer[0] != b'~' || {
            SEARCHED.fetch_add(buffer.len() - seen, Ordering::Relaxed);
            buffer[seen..].contains(&b'\n')
        }
    }

    fn steer(config: &Behaviour, flow: &Flow, bytes: &[u8], shards: u16) -> Option<u16> {
        let first = Self::payload(flow, bytes).first()?;
        config.steer.then_some(u16::from(*first) % shards)
    }

    fn ask(
        &mut self,
        _now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        match ask.path.as_str() {
            "counts" => Ok(json!([{"shard": self.shard, "messages": self.messages,
                "ticks": self.ticks, "version": self.behaviour.version}])),
            "only-zero" if self.shard == 0 => Ok(json!({"shard": 0})),
            "bad" => Err(AskError::BadParameter("no".into())),
            "panic" => panic!("asked to panic"),
            "speak" => {
                speak(ask, out);
                Ok(json!([]))
            }
            "watch" => Ok(json!(self.watch(out).to_string())),
            other => Err(AskError::NotFound(other.into())),
        }
    }

    fn is_idle(&self) -> bool {
        self.draining && self.timer.is_none()
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

/// Starts the function.
pub fn launch(spec: ShardSpec, behaviour: Behaviour) -> (Running<Echo>, Receiver<Seen>) {
    try_launch(spec, behaviour).expect("the ports are free")
}

pub fn try_launch(
    spec: ShardSpec,
    behaviour: Behaviour,
) -> Result<(Running<Echo>, Receiver<Seen>), RuntimeError> {
    let (seen, events) = channel();
    let seen = std::sync::Mutex::new(seen);
    let running = start(spec, Arc::new(behaviour), move |seed, behaviour| Echo {
        shard: seed.shard,
        behaviour,
        seen: seen.lock().expect("no panic holds it").clone(),
        messages: 0,
        timer: None,
        ticks: 0,
        draining: false,
        watched: None,
    })?;
    Ok((running, events))
}

/// A port on a free number of `ip`.
pub fn port(id: u16, transport: Transport, ip: &str) -> PortSpec {
    PortSpec {
        id: PortId(id),
        name: format!("port {id}"),
        listen: SocketAddr::new(ip.parse().expect("an address"), 0),
        carrier: Carrier::of(transport, true, StreamSpec::default()),
        ..PortSpec::default()
    }
}

/// A port of TLS on a free number of `ip`, that accepts when it has a certificate.
pub fn secured(id: u16, tls: TlsSpec, ip: &str) -> PortSpec {
    let connect_only = tls.certificate.is_none();
    let tls = Some(Arc::new(tls));
    let carrier = Carrier::Stream(StreamSpec { tls, connect_only, ..StreamSpec::default() });
    PortSpec { carrier, ..port(id, Transport::Tcp, ip) }
}

/// Makes the function send `text` to `remote`.
pub fn say(running: &Running<Echo>, from: u16, remote: SocketAddr, params: &[(&str, &str)]) {
    let local = running.local_addr(PortId(from));
    let mut map = BTreeMap::from([
        ("port".to_owned(), from.to_string()),
        ("transport".to_owned(), "udp".to_owned()),
        ("local".to_owned(), local.to_string()),
        ("remote".to_owned(), remote.to_string()),
        ("text".to_owned(), "hello".to_owned()),
    ]);
    map.extend(params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    running.ask(Ask { path: "speak".into(), params: map }).expect("the function lives");
}

/// Sum over the shards of one of the runtime's counters.
pub fn count(running: &Running<Echo>, metric: RuntimeMetric) -> u64 {
    let name = event::Metric::row(metric).name;
    let cells = running.port_cells();
    let readings = cells.iter().flat_map(|(_, cells)| cells).flat_map(event::MetricCells::samples);
    readings
        .filter(|(row, _)| row.name == name)
        .map(|(_, reading)| match reading {
            event::Sample::Value(value) => value,
            event::Sample::Histogram { count, .. } => count,
        })
        .sum()
}

/// Waits until `happened` says yes; gives up after 20 seconds, which no healthy run comes near.
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    for _ in 0..4_000 {
        if happened() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("never happened: {what}");
}

/// The next event that `pick` takes; others are skipped.
pub fn wait_for<T>(events: &Receiver<Seen>, mut pick: impl FnMut(&Seen) -> Option<T>) -> T {
    loop {
        let seen = events.recv_timeout(Duration::from_secs(20)).expect("it must happen");
        if let Some(found) = pick(&seen) {
            return found;
        }
    }
}
