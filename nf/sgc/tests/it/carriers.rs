//! The gateway with its runtime and real packets, in a network namespace of its own. Needs root:
//! without it the tests fail and say so.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use crate::namespace::Namespace;
use m3ua::codec::{
    Data, Framing, Message, MessageType, PointCode, ProtocolData, RoutingContext, Writer, frame,
};
use runtime::{Ask, Running, Seed, ShardSpec};
use sgc::Gateway;
use sgc::config::Sgc;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
const MSUS: u32 = 2_000;

/// A relay: an ASP over TCP on one side, one over SCTP with two paths on the other.
const RELAY: &str = r#"
name = "stp"
point_code_format = "decimal"
tcp = { listen = ["127.0.0.1:2905"] }
peer = [
  { name = "tester", role = "asp", transport = "tcp", addresses = ["127.0.0.1"] },
  { name = "hlr", role = "asp", addresses = ["127.0.1.2", "127.0.2.2"] },
]
application_server = [
  { name = "one", peers = ["tester"], routing_context = 1, destination = [{ point_code = "1" }] },
  { name = "two", peers = ["hlr"], routing_context = 2, destination = [{ point_code = "2" }] },
]
[sctp]
addresses = ["127.0.1.1", "127.0.2.1"]
carrier = "CARRIER"
preset = "telecom(2)"
parameters = { outbound_streams = 17, inbound_streams = 17 }
"#;

/// The ASP over SCTP: what comes for it goes back.
const HLR: &str = r#"
name = "hlr"
point_code_format = "decimal"
point_codes = ["2"]
echo_service_indicators = [12]
peer = [
  { name = "stp", role = "sgp", connect = true, addresses = ["127.0.1.1", "127.0.2.1"] },
]
application_server = [
  { name = "own", peers = ["stp"], served_by = "here", routing_context = 2,
    destination = [{ point_code = "2" }] },
]
timers = { reconnect_ms = 200 }
[sctp]
addresses = ["127.0.1.2", "127.0.2.2"]
carrier = "CARRIER"
preset = "telecom(2)"
parameters = { outbound_streams = 17, inbound_streams = 17 }
"#;

fn launch(text: &str, carrier: &str) -> Running<Gateway> {
    let config: Sgc = toml::from_str(&text.replace("CARRIER", carrier)).unwrap();
    let mut issues = Vec::new();
    config.validate(&mut issues);
    assert!(issues.is_empty(), "{issues:?}");
    let spec = ShardSpec { ports: config.ports(), ..ShardSpec::default() };
    runtime::start(spec, Arc::new(config), |seed: Seed, config| Gateway::new(seed, config)).unwrap()
}

fn rows(running: &Running<Gateway>, path: &str) -> Vec<serde_json::Value> {
    let ask = Ask { path: path.into(), ..Ask::default() };
    running.ask(ask).unwrap().as_array().unwrap().clone()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < end, "{what} within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An ASP over TCP.
struct Tester {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Tester {
    fn new() -> Self {
        let stream = TcpStream::connect("127.0.0.1:2905").unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut it = Self { stream, buffer: Vec::new() };
        it.say(MessageType::AspUp, None);
        it.hear(MessageType::AspUpAck);
        it.say(MessageType::AspActive, Some(RoutingContext(1)));
        it.hear(MessageType::AspActiveAck);
        it
    }

    fn say(&mut self, kind: MessageType, context: Option<RoutingContext>) {
        let mut out = Vec::new();
        Writer::begin(&mut out, kind).routing_contexts(context.into_iter()).end();
        self.stream.write_all(&out).unwrap();
    }

    /// The next message.
    fn next(&mut self) -> Vec<u8> {
        loop {
            if let Framing::Message(length) = frame(&self.buffer) {
                return self.buffer.drain(..length).collect();
            }
            let mut part = [0; 8_192];
            let count = self.stream.read(&mut part).unwrap();
            assert!(count > 0, "the gateway has closed the connection");
            self.buffer.extend_from_slice(&part[..count]);
        }
    }

    fn hear(&mut self, kind: MessageType) -> Vec<u8> {
        loop {
            let bytes = self.next();
            if Message::read(&bytes).unwrap().kind == kind {
                return bytes;
            }
        }
    }

    fn send(&mut self, number: u32) {
        let [opc, dpc] = [1, 2].map(|it| PointCode::new(it).unwrap());
        let (sls, payload) = ((number % 16) as u8, number.to_be_bytes());
        let mut out = Vec::new();
        Data {
            network: None,
            routing_context: Some(RoutingContext(1)),
            protocol_data: ProtocolData { opc, dpc, si: 12, ni: 2, mp: 0, sls, payload: &payload },
            correlation: None,
        }
        .write(&mut out);
        self.stream.write_all(&out).unwrap();
    }
}

/// Numbers of the MSUs that came back, by SLS.
fn echoes(tester: &mut Tester) -> BTreeMap<u8, Vec<u32>> {
    let mut came: BTreeMap<u8, Vec<u32>> = BTreeMap::new();
    for _ in 0..MSUS {
        let bytes = tester.hear(MessageType::Data);
        let message = Message::read(&bytes).unwrap();
        let msu = Data::of(&message).unwrap().protocol_data;
        assert_eq!((msu.opc.number(), msu.dpc.number(), msu.si), (2, 1, 12));
        let number = u32::from_be_bytes(msu.payload.try_into().unwrap());
        came.entry(msu.sls).or_default().push(number);
    }
    came
}

/// Sockets of that kind in the namespace.
fn sockets(kind: &str) -> usize {
    let table = std::fs::read_to_string(format!("/proc/thread-self/net/{kind}")).unwrap();
    table.lines().skip(1).count()
}

/// MSUs cross the relay to the ASP over SCTP and come back, all of them and in order. Returns how
/// many UDP sockets and raw ones there were.
fn cross(carrier: &str) -> (usize, usize) {
    let relay = launch(RELAY, carrier);
    let hlr = launch(HLR, carrier);
    let is_active = |row: &serde_json::Value| row["state"] == "active";
    until("the ASP is active", || rows(&hlr, "m3ua/asps").iter().all(is_active));
    let mut tester = Tester::new();
    (0..MSUS).for_each(|number| tester.send(number));
    let came = echoes(&mut tester);
    for sls in 0..16 {
        let expected: Vec<u32> = (0..MSUS).filter(|number| number % 16 == sls).collect();
        assert_eq!(came[&(sls as u8)], expected, "SLS {sls}");
    }
    assert_eq!(rows(&relay, "sctp/paths").len(), 2);
    assert_eq!(rows(&relay, "alarms"), Vec::<serde_json::Value>::new());
    (sockets("udp"), sockets("raw"))
}

#[test]
fn msus_cross_the_relay_as_ip_protocol_132_and_come_back_in_order() {
    let _space = Namespace::enter("relay-ip");
    assert_eq!(cross("ip"), (0, 4), "a raw socket for each address, and no UDP");
}

#[test]
fn msus_cross_the_relay_over_udp_and_come_back_in_order() {
    let _space = Namespace::enter("relay-udp");
    assert_eq!(cross("udp"), (4, 0));
}
