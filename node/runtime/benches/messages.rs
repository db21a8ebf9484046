//! Messages a second through a function that answers each, on one core; the generator has the
//! other. `cargo bench -p tandem-runtime -- [udp|gso|tcp|tls]`.
//!
//! Both ends are the same function: what comes in goes back, with a fixed number of messages on
//! their way. CPU time is that of the answering shard's thread, system calls included.
#![allow(clippy::print_stdout, clippy::expect_used, reason = "a bench prints and gives up")]

use machine::{Duration, Time};
use runtime::*;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a message: a short SIP request.
const MESSAGE_BYTES: usize = 400;
/// Messages on their way.
const WINDOW: usize = 256;
/// Far ends of the generator where runs shall not form.
const FAR_ENDS: u16 = WINDOW as u16;
const RUN: Duration = Duration::from_secs(2);

/// Sends back what comes.
struct Bounce {
    messages: u64,
}

impl Function for Bounce {
    type Config = ();

    fn step(&mut self, _now: Time, input: In<'_>, out: &mut Effects) {
        if let In::Message { flow, bytes } = input {
            self.messages += 1;
            out.send(flow, |b| b.extend_from_slice(bytes));
        }
    }

    fn tick(&mut self, _now: Time, _out: &mut Effects) {}

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn configure(&mut self, _now: Time, _config: Arc<()>, _out: &mut Effects) {}

    fn frame(_port: PortId, buffer: &[u8]) -> Frame {
        if buffer.len() < 4 { Frame::Partial } else { Frame::Message(MESSAGE_BYTES) }
    }

    fn ask(
        &mut self,
        _now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        if ask.path == "serve" {
            serve(ask, out);
        }
        let cpu = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let cpu_ns: u64 = cpu.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
        Ok(json!({"messages": self.messages, "cpu_ns": cpu_ns}))
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

/// Puts the first messages on their way.
fn serve(ask: &Ask, out: &mut Effects) {
    let part = |name: &str| ask.params.get(name).expect("given").as_str();
    let transport = match part("transport") {
        "tcp" => Transport::Tcp,
        "tls" => Transport::Tls,
        _ => Transport::Udp,
    };
    let ports: u16 = part("ports").parse().expect("a number");
    let remote: SocketAddr = part("remote").parse().expect("an address");
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    for n in 0..WINDOW {
        let port = PortId(n as u16 % ports);
        let flow = Flow::to(port, transport, local, remote);
        out.send(flow, |b| b.resize(b.len() + MESSAGE_BYTES, b'x'));
    }
}

fn certificate() -> (tempfile::TempDir, TlsSpec) {
    let directory = tempfile::tempdir().expect("a directory");
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("made");
    let path = |name: &str| Some(directory.path().join(name));
    let spec = TlsSpec {
        certificate: path("crt"),
        key: path("key"),
        roots: path("crt"),
        ..TlsSpec::default()
    };
    std::fs::write(directory.path().join("crt"), made.cert.pem()).expect("written");
    std::fs::write(directory.path().join("key"), made.signing_key.serialize_pem())
        .expect("written");
    (directory, spec)
}

fn launch(core: usize, ports: u16, transport: Transport, tls: &TlsSpec) -> Running<Bounce> {
    let port = |id| PortSpec {
        id: PortId(id),
        name: format!("port {id}"),
        carrier: Carrier::of(
            transport,
            true,
            StreamSpec { tls: Some(Arc::new(tls.clone())), ..StreamSpec::default() },
        ),
        ..PortSpec::default()
    };
    let spec = ShardSpec {
        name: format!("core{core}"),
        cores: vec![core],
        ports: (0..ports).map(port).collect(),
        ..ShardSpec::default()
    };
    start(spec, Arc::new(()), |_, _| Bounce { messages: 0 }).expect("it starts")
}

fn reading(running: &Running<Bounce>) -> (u64, u64) {
    let answer = running.ask(Ask { path: "count".into(), ..Ask::default() }).expect("it answers");
    let part = |name: &str| answer[name].as_u64().expect("a number");
    (part("messages"), part("cpu_ns"))
}

fn run(name: &str, ports: u16, transport: Transport, tls: &TlsSpec) {
    let server = launch(0, 1, transport, tls);
    let client = launch(1, ports, transport, tls);
    let word = match transport {
        Transport::Udp => "udp",
        Transport::Tcp => "tcp",
        Transport::Tls => "tls",
    };
    let params = [
        ("transport", word.to_owned()),
        ("ports", ports.to_string()),
        ("remote", server.local_addr(PortId(0)).to_string()),
    ];
    let params = params.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    client.ask(Ask { path: "serve".into(), params }).expect("it answers");
    std::thread::sleep(RUN / 4);
    let (from, start) = (reading(&server), Instant::now());
    std::thread::sleep(RUN);
    let (to, elapsed) = (reading(&server), start.elapsed());
    let messages = to.0 - from.0;
    let rate = messages as f64 / elapsed.as_secs_f64();
    let cpu = (to.1 - from.1) as f64 / messages.max(1) as f64;
    println!(
        "{name:24} {rate:>12.0} in and as many out per second, {cpu:>6.0} ns CPU for the pair"
    );
}

fn main() {
    let (_directory, tls) = certificate();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let runs = [
        ("udp", FAR_ENDS, Transport::Udp, "UDP, single datagrams"),
        ("gso", 1, Transport::Udp, "UDP, runs"),
        ("tcp", 1, Transport::Tcp, "TCP, one connection"),
        ("tls", 1, Transport::Tls, "TLS, one connection"),
    ];
    for (key, ports, transport, name) in runs {
        if wanted.is_empty() || wanted.iter().any(|word| word == key) {
            run(name, ports, transport, &tls);
        }
    }
}
