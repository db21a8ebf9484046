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

/// The events that left while a peer connected and said its OPEN.
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
fn a_collector_that_cannot_be_read_is_refused() {
    let issues = world::issues(&format!("capture = \"9060\"\n{SITE}"));
    assert_eq!(issues.iter().map(|issue| issue.path.as_str()).collect::<Vec<_>>(), ["capture"]);
}
