//! Streams as a route reflector uses them, each beside the bare system calls on the same sockets:
//! `cargo bench -p tandem-runtime --bench streams -- [read|write]`.
//!
//! Reading: messages of 110 octets over one connection. Writing: shared pieces of 64 KB to 1,000
//! connections. CPU time is that of the thread that reads or writes, system calls included.
#![allow(clippy::print_stdout, clippy::expect_used, reason = "a bench prints and gives up")]

use bytes::Bytes;
use driver::{Interest, Poll};
use machine::{Duration, Time};
use runtime::*;
use serde_json::json;
use std::io::{IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Octets of an UPDATE with one route.
const MESSAGE_BYTES: usize = 110;
/// Octets of a head that frames it: BGP's marker and length.
const HEAD_BYTES: usize = 19;
/// Octets that the feeder writes at once.
const BLOCK_BYTES: usize = 595 * MESSAGE_BYTES;
const PIECE_BYTES: usize = 64 << 10;
const CONNECTIONS: usize = 1_000;
/// Octets that may be on their way to one connection.
const WINDOW_BYTES: u64 = 4 * PIECE_BYTES as u64;
const RUN: Duration = Duration::from_secs(3);

fn cpu_ns() -> u64 {
    let cpu = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    cpu.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Counts what comes; gives everybody who connects pieces without end, if it shall.
struct Mill {
    piece: Option<Bytes>,
    messages: u64,
    octets: u64,
}

impl Mill {
    fn feed(&mut self, flow: Flow, mut octets: u64, out: &mut Effects) {
        let Some(piece) = &self.piece else { return };
        while octets >= PIECE_BYTES as u64 {
            out.send_shared(flow, piece.clone());
            octets -= PIECE_BYTES as u64;
        }
    }
}

impl Function for Mill {
    type Config = ();

    fn step(&mut self, _now: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Message { .. } => self.messages += 1,
            In::Up { flow } => self.feed(flow, WINDOW_BYTES, out),
            In::Written { flow, octets, left } => {
                self.octets += octets;
                // In whole pieces: those that left since one was given last.
                let before = (left + octets).div_ceil(PIECE_BYTES as u64);
                let gone = before - left.div_ceil(PIECE_BYTES as u64);
                self.feed(flow, gone * PIECE_BYTES as u64, out);
            }
            _ => {}
        }
    }

    fn tick(&mut self, _now: Time, _out: &mut Effects) {}

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn configure(&mut self, _now: Time, _config: Arc<()>, _out: &mut Effects) {}

    fn frame(_port: PortId, buffer: &[u8]) -> Frame {
        frame(buffer).map_or(Frame::Partial, Frame::Message)
    }

    fn ask(
        &mut self,
        _now: Time,
        _ask: &Ask,
        _out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        Ok(json!({"messages": self.messages, "octets": self.octets, "cpu_ns": cpu_ns()}))
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

fn frame(buffer: &[u8]) -> Option<usize> {
    let head = buffer.get(..HEAD_BYTES)?;
    Some(usize::from(u16::from_be_bytes([head[16], head[17]])))
}

fn launch(piece: Option<Bytes>) -> Running<Mill> {
    let carrier = Carrier::Stream(StreamSpec { paced: true, ..StreamSpec::default() });
    let port = PortSpec { carrier, ..PortSpec::default() };
    let spec = ShardSpec { ports: vec![port], ..ShardSpec::default() };
    let make = move |_: Seed, _: Arc<()>| Mill { piece: piece.clone(), messages: 0, octets: 0 };
    start(spec, Arc::new(()), make).expect("it starts")
}

fn reading(running: &Running<Mill>, what: &str) -> (u64, u64) {
    let answer = running.ask(Ask::default()).expect("it answers");
    let part = |name: &str| answer[name].as_u64().expect("a number");
    (part(what), part("cpu_ns"))
}

/// Writes messages until the far end hangs up.
fn pour(to: SocketAddr) {
    let mut stream = TcpStream::connect(to).expect("it listens");
    let mut message = [0xFF; MESSAGE_BYTES];
    message[16..HEAD_BYTES].copy_from_slice(&[0, MESSAGE_BYTES as u8, 2]);
    let block = message.repeat(BLOCK_BYTES / MESSAGE_BYTES);
    while stream.write_all(&block).is_ok() {}
}

fn read() {
    let running = launch(None);
    let to = running.local_addr(PortId(0));
    let feeder = std::thread::spawn(move || pour(to));
    std::thread::sleep(RUN / 4);
    let from = reading(&running, "messages");
    std::thread::sleep(RUN);
    let to = reading(&running, "messages");
    drop(running);
    feeder.join().expect("it ends");
    let ours = (to.1 - from.1) as f64 / (to.0 - from.0) as f64;

    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let to = listener.local_addr().expect("bound");
    let feeder = std::thread::spawn(move || pour(to));
    let (stream, _) = listener.accept().expect("it comes");
    let bare = read_bare(stream);
    feeder.join().expect("it ends");
    println!("read   {ours:>8.1} ns a message of {MESSAGE_BYTES} octets, bare {bare:>8.1} ns");
}

/// Reads and cuts without a runtime; nanoseconds a message.
fn read_bare(mut stream: TcpStream) -> f64 {
    let mut buffer = vec![0; 256 << 10];
    let (mut held, mut messages, start) = (0, 0u64, cpu_ns());
    let until = std::time::Instant::now() + RUN;
    while std::time::Instant::now() < until {
        held += stream.read(&mut buffer[held..]).expect("it goes on");
        let mut at = 0;
        while let Some(length) = frame(&buffer[at..held]).filter(|length| at + length <= held) {
            at += length;
            messages += 1;
        }
        buffer.copy_within(at..held, 0);
        held -= at;
    }
    (cpu_ns() - start) as f64 / messages as f64
}

/// Far ends that connect and read all they can until told to stop.
fn drink(to: SocketAddr, stop: &AtomicBool, ready: &AtomicU64) {
    let mut poll = Poll::new().expect("a descriptor");
    let mut streams = Vec::new();
    for n in 0..CONNECTIONS {
        let stream = TcpStream::connect(to).expect("it listens");
        stream.set_nonblocking(true).expect("a socket");
        poll.add(&stream, n as u64, Interest::Read).expect("watched");
        streams.push(stream);
    }
    ready.store(1, Relaxed);
    let mut buffer = vec![0; 1 << 20];
    while !stop.load(Relaxed) {
        let events = poll.wait(Some(Duration::from_millis(50))).expect("it waits").to_vec();
        for event in events {
            // The end and errors are seen by the loop's flag.
            let _ = (&streams[event.token as usize]).read(&mut buffer);
        }
    }
}

fn write() {
    let piece = Bytes::from(vec![7; PIECE_BYTES]);
    let running = launch(Some(piece.clone()));
    let to = running.local_addr(PortId(0));
    let ours = with_readers(to, || {
        let from = reading(&running, "octets");
        std::thread::sleep(RUN);
        let to = reading(&running, "octets");
        ((to.1 - from.1) as f64 / (to.0 - from.0) as f64, to.0 - from.0)
    });
    drop(running);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let to = listener.local_addr().expect("bound");
    let accepting = std::thread::spawn(move || {
        let accept = |_| listener.accept().expect("it comes").0;
        (0..CONNECTIONS).map(accept).collect::<Vec<TcpStream>>()
    });
    let bare = with_readers(to, || write_bare(&accepting.join().expect("all came"), &piece));
    for (name, (ns, octets)) in [("ours", ours), ("bare", bare)] {
        let rate = octets as f64 / RUN.as_secs_f64() / 1e6;
        println!("write  {:>8.3} ns CPU an octet, {rate:>6.0} MB/s to {CONNECTIONS}: {name}", ns);
    }
}

fn with_readers<T>(to: SocketAddr, run: impl FnOnce() -> T) -> T {
    let (stop, ready) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let flags = (Arc::clone(&stop), Arc::clone(&ready));
    let readers = std::thread::spawn(move || drink(to, &flags.0, &flags.1));
    while ready.load(Relaxed) == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let result = run();
    stop.store(true, Relaxed);
    readers.join().expect("they end");
    result
}

/// The same octets by epoll and writev alone; nanoseconds an octet, and how many.
fn write_bare(streams: &[TcpStream], piece: &Bytes) -> (f64, u64) {
    let mut poll = Poll::new().expect("a descriptor");
    for (n, stream) in streams.iter().enumerate() {
        stream.set_nonblocking(true).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        poll.add(stream, n as u64, Interest::Write).expect("watched");
    }
    let (mut octets, start) = (0u64, cpu_ns());
    let until = std::time::Instant::now() + RUN;
    let pieces = [IoSlice::new(piece); (WINDOW_BYTES / PIECE_BYTES as u64) as usize];
    while std::time::Instant::now() < until {
        let events = poll.wait(Some(Duration::from_millis(50))).expect("it waits").to_vec();
        for event in events {
            let wrote = driver::tcp::write(&streams[event.token as usize], &pieces);
            octets += wrote.expect("it stands").unwrap_or(0) as u64;
        }
    }
    ((cpu_ns() - start) as f64 / octets as f64, octets)
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let runs: [(&str, fn()); 2] = [("read", read), ("write", write)];
    for (name, run) in runs {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            run();
        }
    }
}
