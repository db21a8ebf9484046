//! MSUs through the gateway, in memory: what comes in is a frame of TCP or a packet of SCTP, what
//! leaves is one again. Only the time in the gateway counts, with its SCTP and M3UA; the ASPs at
//! both sides have theirs besides. No sockets and no runtime.
#![allow(missing_docs, reason = "the macros of criterion make public items")]
#![allow(clippy::disallowed_methods, reason = "a measurement needs a clock")]

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use m3ua::codec::{
    Data, MessageType, PointCode, ProtocolData, RoutingContext, SCTP_PPID, Writer, frame,
};
use machine::{Duration, Time};
use runtime::{ConnId, Effects, Flow, Function, In, PortId, Seed, Transport};
use sctp::{AssociationId, Indication, Outgoing};
use sctp_stack::{Config, Peer, SctpEndpoint};
use sgc::Gateway;
use sgc::config::Sgc;
use std::collections::VecDeque;
use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

const SITE: &str = r#"
name = "stp"
point_code_format = "decimal"
tcp = { listen = ["10.0.0.1:2905"] }
peer = [
  { name = "a", role = "asp", addresses = ["10.0.0.2"] },
  { name = "b", role = "asp", addresses = ["10.0.0.3"] },
  { name = "c", role = "asp", transport = "tcp", addresses = ["10.0.0.4"] },
  { name = "d", role = "asp", transport = "tcp", addresses = ["10.0.0.5"] },
]
application_server = [
  { name = "one", peers = ["a"], routing_context = 1, destination = [{ point_code = "1" }] },
  { name = "two", peers = ["b"], routing_context = 2, destination = [{ point_code = "2" }] },
  { name = "three", peers = ["c"], routing_context = 3, destination = [{ point_code = "3" }] },
  { name = "four", peers = ["d"], routing_context = 4, destination = [{ point_code = "4" }] },
]
[sctp]
addresses = ["10.0.0.1"]
preset = "telecom(2)"
parameters = { outbound_streams = 17, inbound_streams = 17 }
"#;
const MSU: [u8; 100] = [7; 100];
/// MSUs that are offered at once.
const BURST: u64 = 64;
/// Time between bursts: every SACK that is delayed has come.
const PACE: Duration = Duration::from_millis(50);
/// Streams each way: one for each value of SLS, and stream 0 for management.
const STREAMS: u16 = 17;

fn host(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

/// The messages by which an ASP becomes active for an Application Server.
fn rise(context: u32) -> [Bytes; 2] {
    let (mut up, mut active) = (Vec::new(), Vec::new());
    Writer::begin(&mut up, MessageType::AspUp).end();
    let contexts = std::iter::once(RoutingContext(context));
    Writer::begin(&mut active, MessageType::AspActive).routing_contexts(contexts).end();
    [up.into(), active.into()]
}

/// An MSU between the point codes of two Application Servers.
fn msu(from: u32, to: u32, sls: u8) -> Bytes {
    let [opc, dpc] = [from, to].map(|number| PointCode::new(number).expect("24 bits"));
    let mut out = Vec::new();
    Data {
        network: None,
        routing_context: Some(RoutingContext(from)),
        protocol_data: ProtocolData { opc, dpc, si: 3, ni: 2, mp: 0, sls, payload: &MSU },
        correlation: None,
    }
    .write(&mut out);
    out.into()
}

fn gateway() -> (Gateway, Sgc) {
    let config: Sgc = toml::from_str(SITE).expect("the section is well-formed");
    let mut issues = Vec::new();
    config.validate(&mut issues);
    assert!(issues.is_empty(), "{issues:?}");
    let seed = Seed { shard: 0, shards: 1, random: [7; 32], now: Time::from_millis(1) };
    (Gateway::simulated(seed, Arc::new(config.clone())), config)
}

/// A gateway with two ASPs over TCP.
struct Tcp {
    gateway: Gateway,
    from: Flow,
    out: Effects,
}

impl Tcp {
    fn new() -> Self {
        let (mut gateway, config) = gateway();
        let port = config.ports()[0].id;
        let (now, mut out) = (Time::from_millis(1), Effects::default());
        let flows = [3u32, 4].map(|number| {
            let remote = SocketAddr::new(host(number as u8 + 1), 40_000);
            let local = SocketAddr::new(host(1), 2_905);
            let flow =
                Flow { conn: ConnId(number), ..Flow::to(port, Transport::Tcp, local, remote) };
            gateway.step(now, In::Up { flow }, &mut out);
            for message in rise(number) {
                gateway.step(now, In::Message { flow, bytes: &message }, &mut out);
            }
            flow
        });
        out.clear();
        Self { gateway, from: flows[0], out }
    }

    /// One MSU in, one out.
    fn relay(&mut self, bytes: &[u8]) {
        let input = In::Message { flow: self.from, bytes };
        self.gateway.step(Time::from_millis(2), input, &mut self.out);
        let sent = self.out.sends().last().map(|(flow, bytes)| (flow.conn, bytes.len()));
        assert_eq!(sent.map(|(conn, _)| conn), Some(ConnId(4)), "it leaves to the other ASP");
        self.out.clear();
    }
}

/// An ASP over SCTP.
struct Asp {
    endpoint: SctpEndpoint,
    association: AssociationId,
    came: u64,
}

/// A gateway with two ASPs over SCTP, whose packets are carried at once.
struct Sctp {
    now: Time,
    gateway: Gateway,
    port: PortId,
    asps: [Asp; 2],
    out: Effects,
    /// From the gateway to an ASP, and back.
    wire: VecDeque<(Option<usize>, Flow, Vec<u8>)>,
    /// Spent in the gateway.
    spent: std::time::Duration,
}

impl Sctp {
    fn new() -> Self {
        let now = Time::from_millis(1);
        let (gateway, config) = gateway();
        let port = config.ports().last().expect("the SCTP port is the last one").id;
        let there = Peer { addresses: vec![host(1)], port: 2_905, encapsulation_port: 9_899 };
        let asps = [2, 3].map(|last| {
            let mut config = Config {
                addresses: vec![host(last)],
                preset: "telecom(2)".into(),
                ..Config::default()
            };
            let parameters = &mut config.parameters;
            (parameters.outbound_streams, parameters.inbound_streams) =
                (Some(STREAMS), Some(STREAMS));
            let seed = Seed { shard: 0, shards: 1, random: [last; 32], now };
            let mut endpoint = SctpEndpoint::simulated(&config, PortId(0), &seed);
            let association = endpoint.associate(now, &there).expect("there is room");
            Asp { endpoint, association, came: 0 }
        });
        let (out, wire, spent) = (Effects::default(), VecDeque::new(), std::time::Duration::ZERO);
        let mut it = Self { now, gateway, port, asps, out, wire, spent };
        it.settle();
        for (asp, context) in [(0, 1), (1, 2)] {
            for message in rise(context) {
                it.send(asp, 0, message);
                it.settle();
            }
        }
        it
    }

    fn send(&mut self, asp: usize, stream: u16, bytes: Bytes) {
        let Asp { endpoint, association, .. } = &mut self.asps[asp];
        let message = Outgoing::new(stream, SCTP_PPID, bytes);
        endpoint.wish(self.now, sctp::In::Send(*association, message));
    }

    /// What an ASP was told, and what it sends.
    fn collect(&mut self, asp: usize) {
        let Asp { endpoint, came, .. } = &mut self.asps[asp];
        while let Some((_, told)) = endpoint.next() {
            let Indication::Data(message) = told else { continue };
            *came += u64::from(message.payload[2..4] == [1, 1]); // DATA
        }
        let mut out = Effects::default();
        endpoint.flush(&mut out);
        let packet = |(flow, bytes): (Flow, &[u8])| {
            let there = Flow::to(self.port, Transport::Udp, flow.remote, flow.local);
            (None, there, bytes.to_vec())
        };
        self.wire.extend(out.sends().map(packet));
    }

    /// Carries packets until there is none. As in the runtime, who wants to go on at once does so
    /// when it has taken all that came.
    fn settle(&mut self) {
        loop {
            self.tick();
            if self.wire.is_empty() {
                return;
            }
            while let Some((to, flow, bytes)) = self.wire.pop_front() {
                match to {
                    Some(asp) => self.asps[asp].endpoint.message(self.now, &flow, &bytes),
                    None => {
                        let input = In::Message { flow, bytes: &bytes };
                        let begun = Instant::now();
                        self.gateway.step(self.now, input, &mut self.out);
                        self.spent += begun.elapsed();
                    }
                }
            }
            self.leave();
        }
    }

    /// What is due is done.
    fn tick(&mut self) {
        for asp in 0..2 {
            let endpoint = &mut self.asps[asp].endpoint;
            if endpoint.deadline().is_some_and(|at| at <= self.now) {
                endpoint.tick(self.now);
            }
            self.collect(asp);
        }
        let begun = Instant::now();
        if self.gateway.deadline().is_some_and(|at| at <= self.now) {
            self.gateway.tick(self.now, &mut self.out);
        }
        self.spent += begun.elapsed();
        self.leave();
    }

    /// Takes what the gateway sends.
    fn leave(&mut self) {
        for (flow, bytes) in self.out.sends() {
            let there = Flow::to(PortId(0), Transport::Udp, flow.remote, flow.local);
            let asp = [host(2), host(3)].iter().position(|it| *it == flow.remote.ip());
            self.wire.push_back((asp, there, bytes.to_vec()));
        }
        self.out.clear();
    }

    /// A burst of MSUs, so many in a packet, is offered and arrives; what the gateway took for it.
    fn relay(&mut self, msus: &[Bytes], is_bundled: bool) -> std::time::Duration {
        let (before, came) = (self.spent, self.asps[1].came);
        for (stream, bytes) in (1..STREAMS).cycle().zip(msus) {
            self.send(0, stream, bytes.clone());
            if !is_bundled {
                self.settle();
            }
        }
        self.settle();
        self.now += PACE;
        self.settle();
        assert_eq!(self.asps[1].came - came, msus.len() as u64, "all have arrived");
        self.spent - before
    }
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("relay");
    group.throughput(Throughput::Elements(1));
    let mut tcp = Tcp::new();
    let bytes = msu(3, 4, 5);
    assert!(matches!(frame(&bytes), m3ua::codec::Framing::Message(_)));
    group.bench_function("tcp", |b| b.iter(|| tcp.relay(black_box(&bytes))));
    group.throughput(Throughput::Elements(BURST));
    let msus: Vec<Bytes> = (0..BURST).map(|it| msu(1, 2, (it % 16) as u8)).collect();
    for (name, is_bundled) in
        [("sctp, as many as fit a packet", true), ("sctp, one a packet", false)]
    {
        let mut sctp = Sctp::new();
        group.bench_function(name, |b| {
            b.iter_custom(|bursts| (0..bursts).map(|_| sctp.relay(&msus, is_bundled)).sum());
        });
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
