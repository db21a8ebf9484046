//! Probes of next hops, of the function as its shard runs it.

use ipsmgw::ShortMessageGateway;
use ipsmgw::config::Ipsmgw;
use machine::{Duration, Time};
use runtime::{Ask, Effects, Flow, Function, In, Seed, Transport};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

const OWN: &str = "127.0.0.1:5090";
const CORE: &str = "127.0.0.1:6060";
const COLLECTOR: &str = "127.0.0.1:9060";
const SECTION: &str = r#"
name = "sms1"
number = "447700000099"
domain = "ims.example.org"
listen = ["udp:127.0.0.1:5090"]
next_hop = [{ name = "scscf", targets = ["udp:127.0.0.1:6060"], probe_interval_s = 60 }]
"#;

struct World {
    gateway: ShortMessageGateway,
    flow: Flow,
    now: Time,
    out: Effects,
    /// Each once, however often it was sent.
    probes: Vec<String>,
    /// What the collector has got.
    captured: String,
}

impl World {
    fn new() -> Self {
        let section = format!("{SECTION}capture = \"udp:{COLLECTOR}\"\n");
        let config: Ipsmgw = toml::from_str(&section).unwrap();
        let now = Time::from_millis(1);
        let [own, core] = [OWN, CORE].map(|it| it.parse::<SocketAddr>().unwrap());
        let ports = config.ports();
        let port = ports.iter().find(|it| it.listen == own).unwrap().id;
        let seed = Seed { shard: 0, shards: 1, random: [7; 32], now };
        let gateway = ShortMessageGateway::new(seed, Arc::new(config));
        let flow = Flow::to(port, Transport::Udp, own, core);
        Self {
            gateway,
            flow,
            now,
            out: Effects::default(),
            probes: Vec::new(),
            captured: String::new(),
        }
    }

    fn collect(&mut self) {
        for (to, bytes) in self.out.sends() {
            let text = String::from_utf8_lossy(bytes);
            if to.remote == COLLECTOR.parse().unwrap() {
                self.captured.push_str(&text);
            } else if to.remote == self.flow.remote && text.starts_with("OPTIONS ") {
                let is_again = self.probes.iter().any(|it| *it == text);
                self.probes.extend((!is_again).then(|| text.into_owned()));
            }
        }
        self.out.clear();
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.gateway.deadline().filter(|it| *it <= end) {
            self.now = at.max(self.now);
            self.gateway.tick(self.now, &mut self.out);
            self.collect();
        }
        self.now = end;
    }

    fn state(&mut self) -> serde_json::Value {
        let ask = Ask { path: "next-hops".into(), params: BTreeMap::new() };
        self.gateway.ask(self.now, &ask, &mut self.out).unwrap()[0]["state"].clone()
    }

    /// The core asks by OPTIONS whether the gateway is there.
    fn asked(&mut self, number: u32) {
        let text = format!(
            "OPTIONS sip:127.0.0.1:5090 SIP/2.0\r\n\
             Via: SIP/2.0/UDP {CORE};branch=z9hG4bK{number}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:core@{CORE}>;tag={number}\r\nTo: <sip:sms@{OWN}>\r\n\
             Call-ID: {number}@core\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
        );
        self.received(&text);
    }

    fn received(&mut self, text: &str) {
        let input = In::Message { flow: self.flow, bytes: text.as_bytes() };
        self.gateway.step(self.now, input, &mut self.out);
        self.collect();
    }
}

#[test]
fn a_request_from_a_core_that_is_down_lets_it_be_probed_at_once_and_once_a_second_at_most() {
    let mut world = World::new();
    world.asked(1);
    world.pass(Duration::from_secs(125));
    assert_eq!(world.state(), "down", "two probes had no answer");
    let before = world.probes.len();
    for number in 2..22 {
        world.asked(number);
        world.pass(Duration::from_millis(10));
    }
    assert_eq!(world.probes.len() - before, 1);
    world.pass(Duration::from_secs(1));
    world.asked(22);
    world.pass(Duration::from_millis(10));
    assert_eq!(world.probes.len() - before, 2);
}

#[test]
fn the_answer_to_a_probe_is_captured_beside_it() {
    let mut world = World::new();
    world.pass(Duration::from_millis(100));
    let probe = world.probes.first().expect("the first probe leaves at once").clone();
    let line = |name: &str| probe.lines().find(|it| it.starts_with(name)).unwrap().to_owned();
    let [via, from, to, id, number] = ["Via", "From", "To", "Call-ID", "CSeq"].map(line);
    let head = [via, from, format!("{to};tag=core"), id.clone(), number].join("\r\n");
    world.received(&format!("SIP/2.0 200 OK\r\n{head}\r\nContent-Length: 0\r\n\r\n"));
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(), "up");
    assert!(world.captured.contains("SIP/2.0 200 OK"), "{}", world.captured);
    assert_eq!(world.captured.matches(&id).count(), 2, "{}", world.captured);
}
