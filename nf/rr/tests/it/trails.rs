//! What a reflector tells the service assurance of its sessions.

use crate::world::{self, START, checked};
use machine::{Duration, Time};
use rr::Reflector;
use runtime::{ConnId, Effects, Flow, Function, In, PortId, Seed, Transport};
use std::sync::Arc;

const SITE: &str = r#"
name = "rr1"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
peer = [{ name = "a", address = "10.0.1.1", client = true, passive = true }]
"#;

/// An OPEN of AS 65000 (RFC 4271 §4.2), without options.
fn open() -> Vec<u8> {
    let mut open = vec![0xff; 16];
    open.extend_from_slice(&[0, 29, 1, 4, 0xfd, 0xe8, 0, 90, 10, 0, 1, 1, 0]);
    open
}

/// A KEEPALIVE (RFC 4271 §4.4).
fn keepalive() -> Vec<u8> {
    [&[0xff; 16][..], &[0, 19, 4]].concat()
}

/// An UPDATE (RFC 4271 §4.3): 192.0.2.0/24 by 10.0.1.1, which it is told in its turn.
fn update() -> Vec<u8> {
    let attributes = [
        &[0x40, 1, 1, 0][..],
        &[0x40, 2, 0],
        &[0x40, 3, 4, 10, 0, 1, 1],
        &[0x40, 5, 4, 0, 0, 0, 100],
    ];
    let head = [&[0xff; 16][..], &[0, 48, 2, 0, 0, 0, 21]].concat();
    [head, attributes.concat(), vec![24, 192, 0, 2]].concat()
}

/// The events that left while a peer connected, came up and said an UPDATE three times.
fn events(site: &str) -> Vec<serde_json::Value> {
    let seed = Seed { shard: 0, shards: 1, random: [7; 32], now: START };
    let mut reflector = Reflector::new(seed, Arc::new(checked(site)));
    let flow = Flow {
        conn: ConnId(1),
        ..Flow::to(
            PortId(0),
            Transport::Tcp,
            "10.0.0.1:179".parse().unwrap(),
            "10.0.1.1:50000".parse().unwrap(),
        )
    };
    let mut events = Vec::new();
    let mut run = |now: Time, input: Option<In<'_>>| {
        let mut out = Effects::default();
        match input {
            Some(input) => reflector.step(now, input, &mut out),
            None => reflector.tick(now, &mut out),
        }
        for (_, bytes) in out.sends().filter(|(to, _)| to.remote.port() == 9060) {
            let packet = hep::Packet::parse(bytes).expect("a packet");
            assert_eq!((packet.kind, packet.capture_id), (hep::KIND_LOG, 2001));
            assert_eq!(packet.correlation.len(), 16);
            events.push(serde_json::from_slice(packet.payload).unwrap());
        }
    };
    run(START, None);
    run(START, Some(In::Up { flow }));
    run(START, Some(In::Message { flow, bytes: &open() }));
    run(START, Some(In::Message { flow, bytes: &keepalive() }));
    for _ in 0..3 {
        run(START, Some(In::Message { flow, bytes: &update() }));
    }
    for _ in 0..10 {
        run(START, None);
    }
    run(START + Duration::from_secs(1), None);
    run(START + Duration::from_secs(1), Some(In::Down { flow, why: "reset" }));
    run(START + Duration::from_secs(2), None);
    events
}

#[test]
fn what_manages_a_session_is_told_once_a_collector_is_named() {
    assert!(events(SITE).is_empty());
    let events = events(&format!("capture = \"udp:127.0.0.1:9060\"\n{SITE}"));
    let of = |name: &str| events.iter().find(|event| event["event"] == name).unwrap();
    for name in ["SessionMessageSent", "SessionMessageReceived"] {
        let event = of(name);
        assert_eq!((&event["peer"], &event["message"]), (&"a".into(), &"OPEN".into()), "{event}");
    }
    let received = of("SessionMessageReceived");
    assert_eq!(received["octets"], 29);
    assert!(received["text"].as_str().unwrap().ends_with("001d0104fde8005a0a00010100"));
}

#[test]
fn of_updates_as_many_are_told_as_the_configuration_allows() {
    let told = |keys: &str| {
        let all = events(&format!("capture = \"udp:127.0.0.1:9060\"\n{keys}{SITE}"));
        let updates = all.into_iter().filter(|event| event["message"] == "UPDATE");
        updates.collect::<Vec<_>>()
    };
    assert!(told("").is_empty());
    let count = |all: &[serde_json::Value], name: &str| {
        all.iter().filter(|event| event["event"] == name).count()
    };
    let some = told("capture_updates_per_s = 2\n");
    let received = count(&some, "SessionMessageReceived");
    assert_eq!(received, 2, "the third one came within the same second: {some:?}");
    let all = told("capture_updates_per_s = 100\n");
    assert_eq!(count(&all, "SessionMessageReceived"), 3);
    assert!(count(&all, "SessionMessageSent") > 0, "{all:?}");
    let received = all.iter().find(|event| event["event"] == "SessionMessageReceived").unwrap();
    assert_eq!(received["octets"], 48);
    assert_eq!(received["text"].as_str().unwrap().len(), 96, "it is told whole");
}

#[test]
fn a_collector_that_cannot_be_read_is_refused() {
    let issues = world::issues(&format!("capture = \"9060\"\n{SITE}"));
    assert_eq!(issues.iter().map(|issue| issue.path.as_str()).collect::<Vec<_>>(), ["capture"]);
}
