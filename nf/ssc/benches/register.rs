//! Registrations through the controller with in-memory endpoints: a first one (the core answers)
//! and a refresh from the cache, kernel and runtime left out.
//!
//! `cargo bench -p tandem-ssc --bench register` measures, with one subscriber and with many
//! (caches cold); `-- --refreshes N` and `-- --firsts N` do that and end, for callgrind;
//! `-- --memory N` tells the resident octets of a binding with N of them standing.

use machine::{Duration, Time};
use runtime::{Effects, Flow, Function, In, Seed, Transport};
use ssc::{Controller, config};
use std::io::Write as _;
use std::sync::Arc;

const SITE: &str = r#"
name = "bench"
[[realm]]
name = "access"
listen = ["udp:127.0.0.1:5060"]
[[realm]]
name = "core"
side = "core"
listen = ["udp:127.0.0.1:5070"]
trusted = true
[[next_hop]]
name = "registrar"
realm = "core"
targets = ["udp:127.0.0.1:5080"]
probe_interval_s = 0
[[route]]
from = "access"
to = ["registrar"]
[registrar]
client_expires_s = 600
core_expires_s = 100000
"#;

struct Bench {
    controller: Controller,
    out: Effects,
    now: Time,
    access: Flow,
    core: Flow,
    text: Vec<u8>,
    answer: Vec<u8>,
}

impl Bench {
    fn new() -> Self {
        let site: config::Ssc = toml::from_str(SITE).expect("the site is well-formed");
        let ports = site.ports();
        let flow = |at: usize, remote: &str| {
            let port = &ports[at];
            Flow::to(port.id, Transport::Udp, port.listen, remote.parse().expect("an address"))
        };
        let (access, core) = (flow(0, "127.0.0.1:5062"), flow(1, "127.0.0.1:5080"));
        let now = Time::from_millis(1_700_000_000_000);
        let seed = Seed { shard: 0, shards: 1, random: [7; 32], now };
        Self {
            controller: Controller::new(seed, Arc::new(site)),
            out: Effects::default(),
            now,
            access,
            core,
            text: Vec::new(),
            answer: Vec::new(),
        }
    }

    fn register(&mut self, subscriber: u32, cseq: u32) {
        let number = 2_000_000_000 + u64::from(subscriber);
        self.text.clear();
        let _ = write!(
            self.text,
            "REGISTER sip:lab.example.org SIP/2.0\r\n\
             Via: SIP/2.0/UDP 127.0.0.1:5062;rport;branch=z9hG4bK{subscriber:08x}{cseq:08x}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:+{number}@lab.example.org>;tag={subscriber:08x}\r\n\
             To: <sip:+{number}@lab.example.org>\r\nCall-ID: {subscriber:08x}@127.0.0.1:5062\r\n\
             CSeq: {cseq} REGISTER\r\nContact: <sip:+{number}@127.0.0.1:5062>\r\n\
             Expires: 600\r\nContent-Length: 0\r\n\r\n"
        );
    }

    fn step(&mut self, flow: Flow, is_answer: bool) {
        self.now += Duration::from_micros(10);
        if self.controller.deadline().is_some_and(|at| at <= self.now) {
            self.out.clear();
            self.controller.tick(self.now, &mut self.out);
        }
        self.out.clear();
        let bytes = if is_answer { &self.answer } else { &self.text };
        self.controller.step(self.now, In::Message { flow, bytes }, &mut self.out);
    }

    /// A first registration: to the core and back.
    fn first(&mut self, subscriber: u32) {
        self.register(subscriber, 1);
        self.step(self.access, false);
        let (_, forwarded) = self.out.last().expect("the REGISTER went to the core");
        assert!(forwarded.starts_with(b"REGISTER "));
        self.answer.clear();
        self.answer.extend_from_slice(b"SIP/2.0 200 OK\r\n");
        let wanted = [&b"Via"[..], b"From", b"To:", b"Call", b"CSeq", b"Contact"];
        for line in forwarded.split_inclusive(|&b| b == b'\n') {
            if wanted.iter().any(|name| line.starts_with(name)) {
                self.answer.extend_from_slice(line);
            }
        }
        self.answer.extend_from_slice(b"Content-Length: 0\r\n\r\n");
        self.step(self.core, true);
        let (_, answer) = self.out.last().expect("the 200 went to the subscriber");
        assert!(answer.starts_with(b"SIP/2.0 200") && self.out.len() == 1);
    }

    /// A refresh that the cache answers.
    fn refresh(&mut self, subscriber: u32, cseq: u32) {
        self.register(subscriber, cseq);
        self.step(self.access, false);
        let (flow, answer) = self.out.last().expect("an answer");
        assert!(answer.starts_with(b"SIP/2.0 200") && flow.port == self.access.port);
    }
}

fn resident_octets() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kb.unwrap_or_default() * 1024
}

fn memory(bindings: u32) {
    let mut bench = Bench::new();
    bench.first(0);
    let before = resident_octets();
    (1..=bindings).for_each(|subscriber| bench.first(subscriber));
    let each = (resident_octets() - before) / u64::from(bindings);
    let _ = writeln!(std::io::stdout(), "{bindings} bindings: {each} octets each");
}

fn main() {
    let asked = |name: &str| {
        let mut args = std::env::args().skip_while(|arg| arg != name);
        args.nth(1).and_then(|n| n.parse::<u32>().ok())
    };
    if let Some(bindings) = asked("--memory") {
        return memory(bindings);
    }
    let mut bench = Bench::new();
    if let Some(count) = asked("--firsts") {
        return (0..count).for_each(|subscriber| bench.first(subscriber));
    }
    bench.first(0);
    if let Some(count) = asked("--refreshes") {
        return (0..count).for_each(|n| bench.refresh(0, n + 2));
    }
    let mut criterion = criterion::Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(10)
        .configure_from_args();
    let mut cseq = 1;
    let mut refresh = |bench: &mut Bench, subscribers: u32| {
        cseq += 1;
        bench.refresh(cseq % subscribers, cseq);
    };
    criterion.bench_function("refresh", |b| b.iter(|| refresh(&mut bench, 1)));
    const MANY: u32 = 300_000;
    (1..MANY).for_each(|subscriber| bench.first(subscriber));
    criterion.bench_function("refresh, many", |b| b.iter(|| refresh(&mut bench, MANY)));
    let mut subscriber = MANY;
    criterion.bench_function("first registration", |b| {
        b.iter(|| {
            subscriber += 1;
            bench.first(subscriber);
        });
    });
    criterion.bench_function("endpoint alone", |b| b.iter(|| bench.register(0, 7)));
}
