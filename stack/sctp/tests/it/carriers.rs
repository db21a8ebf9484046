//! A function with an endpoint, run by the runtime over every carrier, each test in a network
//! namespace of its own. That needs root: without it the tests fail and say so.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use crate::namespace::Namespace;
use bytes::Bytes;
use core::net::IpAddr;
use machine::Time;
use runtime::{Ask, AskError, Effects, Frame, Function, In, PortId, Running, Seed, ShardSpec};
use sctp::{Indication, Lost, Outgoing};
use sctp_stack::{AssociationMetric, Carrier, Config, Peer, SctpEndpoint};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const FIRST: PortId = PortId(0);
const LIMIT: Duration = Duration::from_secs(60);

/// Associates when asked to, sends one message of so many octets, and tells what happens.
struct Talker {
    endpoint: SctpEndpoint,
    told: Sender<Indication>,
    is_first: bool,
}

impl Talker {
    fn settle(&mut self, now: Time, out: &mut Effects) {
        while let Some((id, told)) = self.endpoint.next() {
            if let Indication::Data(message) = &told
                && message.stream == 0
            {
                let echo = Outgoing::new(1, 0, message.payload.clone());
                self.endpoint.wish(now, sctp::In::Send(id, echo));
            }
            // The test may have seen enough and gone.
            let _ = self.told.send(told);
        }
        self.endpoint.flush(out);
    }
}

impl Function for Talker {
    type Config = Config;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Message { flow, bytes } => self.endpoint.message(now, &flow, bytes),
            In::Returned { flow, why, quoted } => self.endpoint.returned(now, &flow, why, quoted),
            _ => {}
        }
        self.settle(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.endpoint.tick(now);
        self.settle(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.endpoint.deadline()
    }

    fn configure(&mut self, now: Time, config: Arc<Config>, out: &mut Effects) {
        self.endpoint.configure(now, &config, FIRST);
        self.settle(now, out);
    }

    fn frame(_: PortId, _: &[u8]) -> Frame {
        Frame::Partial
    }

    fn steer(_: &Config, _: &runtime::Flow, _: &[u8], _: u16) -> Option<u16> {
        SctpEndpoint::steer()
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        if !self.is_first {
            return Err(AskError::NotFound(ask.path.clone())); // the first shard has the endpoint
        }
        if let Some(parts) = ask.params.get("parts") {
            throw(parts.parse().unwrap(), out);
            return Ok(serde_json::Value::Null);
        }
        let Some(octets) = ask.params.get("octets") else { return self.endpoint.ask(ask) };
        let peer: Peer = serde_json::from_str(&ask.params["peer"]).unwrap();
        if let Ok(id) = self.endpoint.associate(now, &peer) {
            let payload = Bytes::from(vec![7; octets.parse().unwrap()]);
            self.endpoint.wish(now, sctp::In::Send(id, Outgoing::new(0, 0, payload)));
        }
        self.settle(now, out);
        Ok(serde_json::Value::Array(Vec::new()))
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        vec![self.endpoint.cells()]
    }
}

/// Sends 3,000 octets past the endpoint, in parts or not.
fn throw(in_parts: bool, out: &mut Effects) {
    let [local, remote] = ["127.0.0.1:9899", "127.0.0.2:9900"].map(|it| it.parse().unwrap());
    let flow = runtime::Flow::to(FIRST, runtime::Transport::Udp, local, remote);
    let write = |bytes: &mut Vec<u8>| bytes.extend([u8::from(in_parts); 3_000]);
    match in_parts {
        true => out.send_in_parts(flow, write),
        false => out.send(flow, write),
    }
}

fn launch(config: &Config, shards: u16) -> (Running<Talker>, Receiver<Indication>) {
    let mut issues = Vec::new();
    config.validate(&mut issues);
    assert_eq!(issues, []);
    let ports = config.ports(FIRST, "talker");
    let spec = ShardSpec { shards, ports, ..ShardSpec::default() };
    let (told, telling) = channel();
    let make = move |seed: Seed, config: Arc<Config>| Talker {
        endpoint: SctpEndpoint::new(&config, FIRST, &seed),
        is_first: seed.shard == 0,
        told: told.clone(),
    };
    // A program that another test starts holds what was open here until it has begun.
    let start = || runtime::start(spec.clone(), Arc::new(config.clone()), make.clone());
    let until = Instant::now() + LIMIT;
    loop {
        match start() {
            Ok(running) => return (running, telling),
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait(telling: &Receiver<Indication>, wanted: impl Fn(&Indication) -> bool) -> Indication {
    let until = Instant::now() + LIMIT;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let told = telling.recv_timeout(left).expect("it is told within the limit");
        if wanted(&told) {
            return told;
        }
    }
}

fn speak(running: &Running<Talker>, peer: &Peer, octets: usize) {
    let mut ask = Ask { path: "speak".into(), ..Ask::default() };
    ask.params.insert("octets".into(), octets.to_string());
    ask.params.insert("peer".into(), serde_json::to_string(peer).unwrap());
    running.ask(ask).unwrap();
}

fn both(carrier: Carrier, addresses: [&[&str]; 2], shards: u16) {
    let parse =
        |list: &[&str]| -> Vec<IpAddr> { list.iter().map(|it| it.parse().unwrap()).collect() };
    let config = |list: &[&str]| Config {
        addresses: parse(list),
        carrier,
        preset: "telecom(2)".into(),
        ..Config::default()
    };
    let (_server, heard) = launch(&config(addresses[1]), shards);
    let (client, answered) = launch(&config(addresses[0]), shards);
    let peer = Peer { addresses: parse(addresses[1]), port: 2_905, encapsulation_port: 9_899 };
    speak(&client, &peer, 20_000);
    let is_data = |told: &Indication| matches!(told, Indication::Data(_));
    let Indication::Data(message) = wait(&heard, is_data) else { unreachable!("it is data") };
    assert_eq!((message.payload.len(), message.payload[19_999]), (20_000, 7));
    let Indication::Data(echo) = wait(&answered, is_data) else { unreachable!("it is data") };
    assert_eq!((echo.stream, echo.payload.len()), (1, 20_000));
    let ask = Ask { path: "sctp/paths".into(), ..Ask::default() };
    let paths = client.ask(ask).unwrap();
    assert_eq!(paths.as_array().unwrap().len(), addresses[1].len(), "{paths}");
}

#[test]
fn messages_cross_over_udp_and_over_ip_of_both_families_with_one_shard_and_two() {
    let space = Namespace::enter("carriers");
    space.ip(&["address", "add", "fd00::1/64", "dev", "lo", "nodad"]);
    space.ip(&["address", "add", "fd00::2/64", "dev", "lo", "nodad"]);
    let v4: [&[&str]; 2] = [&["127.0.1.1", "127.0.2.1"], &["127.0.1.2", "127.0.2.2"]];
    let v6: [&[&str]; 2] = [&["fd00::1"], &["fd00::2"]];
    for (carrier, shards) in
        [(Carrier::Udp, 1), (Carrier::Ip, 1), (Carrier::Udp, 2), (Carrier::Ip, 2)]
    {
        both(carrier, v4, shards);
        both(carrier, v6, shards);
    }
}

#[test]
fn packets_are_no_larger_than_the_interface_and_none_is_fragmented() {
    let space = Namespace::enter("mtu");
    space.ip(&["link", "set", "lo", "mtu", "1500"]);
    for carrier in [Carrier::Udp, Carrier::Ip] {
        both(carrier, [&["127.0.0.1"], &["127.0.0.2"]], 1);
    }
    let snmp = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut ip = snmp.lines().filter(|line| line.starts_with("Ip:"));
    let (names, values) = (ip.next().unwrap(), ip.next().unwrap());
    let fragments = names.split(' ').zip(values.split(' ')).filter(|it| it.0.contains("Frag"));
    let fragments: Vec<_> = fragments.collect();
    assert!(fragments.len() >= 3 && fragments.iter().all(|it| it.1 == "0"), "{fragments:?}");
}

#[test]
fn only_what_may_be_fragmented_is_and_the_port_keeps_the_rest_whole() {
    let space = Namespace::enter("parts");
    space.ip(&["link", "set", "lo", "mtu", "1500"]);
    let here = vec!["127.0.0.1".parse().unwrap()];
    let (running, _told) = launch(&Config { addresses: here, ..Config::default() }, 1);
    let far = std::net::UdpSocket::bind("127.0.0.2:9900").unwrap();
    far.set_read_timeout(Some(LIMIT)).unwrap();
    for in_parts in ["false", "true", "false", "true"] {
        let mut ask = Ask { path: "throw".into(), ..Ask::default() };
        ask.params.insert("parts".into(), in_parts.into());
        running.ask(ask).unwrap();
    }
    let mut buffer = [0; 4_000];
    for _ in 0..2 {
        assert_eq!(far.recv(&mut buffer).unwrap(), 3_000);
        assert!(buffer[..3_000].iter().all(|it| *it == 1));
    }
    far.set_nonblocking(true).unwrap();
    assert!(far.recv(&mut buffer).is_err(), "the whole ones were not sent");
}

#[test]
fn where_nobody_speaks_sctp_the_association_is_lost_at_once() {
    let _space = Namespace::enter("nobody");
    for carrier in [Carrier::Udp, Carrier::Ip] {
        let here = vec!["127.0.0.1".parse().unwrap()];
        let config = Config { addresses: here, carrier, ..Config::default() };
        let (client, told) = launch(&config, 1);
        let there = vec!["127.0.0.2".parse().unwrap()];
        speak(&client, &Peer { addresses: there, port: 1, encapsulation_port: 9_900 }, 1);
        let lost = wait(&told, |it| matches!(it, Indication::CommunicationLost(_)));
        assert_eq!(lost, Indication::CommunicationLost(Lost::Unreachable));
        let cells = client.cells();
        let sent = cells[0].1[0].samples().find(|it| it.0.name == "sctp_packets_out_total");
        let once = event::Sample::Value(1);
        assert_eq!(sent.unwrap().1, once, "by ICMP, not by a time-out");
    }
}

#[test]
fn an_address_that_is_not_ours_is_refused_in_words() {
    let _space = Namespace::enter("refused");
    for carrier in [Carrier::Udp, Carrier::Ip] {
        let there = vec!["192.0.2.1".parse().unwrap()];
        let config = Config { addresses: there, carrier, ..Config::default() };
        let ports = config.ports(FIRST, "sigtran");
        let spec = ShardSpec { ports, ..ShardSpec::default() };
        let make = |seed: Seed, config: Arc<Config>| Talker {
            endpoint: SctpEndpoint::new(&config, FIRST, &seed),
            is_first: seed.shard == 0,
            told: channel().0,
        };
        let refused = runtime::start(spec, Arc::new(config), make);
        let words = refused.err().unwrap().to_string();
        assert!(words.contains("sigtran 192.0.2.1") && words.contains("no interface"), "{words}");
    }
}

#[test]
fn the_metrics_have_names_of_their_own() {
    let rows = <AssociationMetric as event::Metric>::ROWS;
    let names: std::collections::BTreeSet<_> = rows.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), rows.len());
}
