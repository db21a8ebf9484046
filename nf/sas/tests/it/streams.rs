//! HEP over TCP on a real shard: packets are cut from the stream, however it is cut on the way.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use crate::bench;
use runtime::{Carrier, Function as _, PortId, PortSpec, ShardSpec, StreamSpec};
use std::io::Write as _;
use std::net::TcpStream;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn packets(numbers: Range<u32>) -> Vec<u8> {
    let mut stream = Vec::new();
    for n in numbers {
        let leg = bench::Leg::new("alice", "bob", &format!("stream-{n}"));
        hep::Packet {
            protocol: hep::TCP,
            source: bench::UA.parse().unwrap(),
            destination: bench::SSC.parse().unwrap(),
            seconds: 1_700_000_000 + n,
            micros: 0,
            kind: hep::KIND_SIP,
            capture_id: 1,
            correlation: b"",
            auth_key: b"",
            tags: b"",
            payload: leg.request("OPTIONS", 1).as_bytes(),
        }
        .write(&mut stream);
    }
    stream
}

#[test]
fn packets_over_tcp_are_cut_and_kept() {
    kept(1, 1);
}

#[test]
fn what_any_shard_receives_is_kept_by_the_first() {
    kept(3, 8);
}

/// So many agents send to a server of so many shards; all that they send is found.
fn kept(shards: u16, agents: u32) {
    let directory = tempfile::tempdir().unwrap();
    let config = Arc::new(sas::config::Sas::default());
    let archive = sas::Archive::open(&config, directory.path()).unwrap();
    let carrier = Carrier::Stream(StreamSpec::default());
    let port = PortSpec { carrier, ..PortSpec::default() };
    let spec = ShardSpec { name: "sas".into(), shards, ports: vec![port], ..ShardSpec::default() };
    let making = Arc::clone(&archive);
    let make = move |seed: runtime::Seed, config| making.function(&seed, config);
    let running = Arc::new(runtime::start::<sas::Sas>(spec, config, make).unwrap());
    let asked = Arc::clone(&running);
    let ask: sas::AskFn = Arc::new(move |ask| asked.ask(ask));
    let each = 200 / agents;
    for agent in 0..agents {
        let mut stream = TcpStream::connect(running.local_addr(PortId(0))).unwrap();
        for piece in packets(agent * each..(agent + 1) * each).chunks(333) {
            stream.write_all(piece).unwrap();
        }
    }
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let params = [("limit".to_owned(), "500".to_owned())].into();
        let page = sas::archive::search(&archive, &ask, params).unwrap();
        if page.trails.len() == 200 {
            break;
        }
        assert!(Instant::now() < until, "{} of 200 trails", page.trails.len());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_stream_that_is_not_hep_is_broken() {
    let frame = |bytes: &[u8]| sas::Sas::frame(PortId(0), bytes);
    assert!(matches!(frame(b"GET / HTTP/1.1\r\n"), runtime::Frame::Broken(_)));
    assert_eq!(frame(b"HE"), runtime::Frame::Partial);
    assert_eq!(frame(b"HEP3\x01\x00"), runtime::Frame::Message(256));
}
