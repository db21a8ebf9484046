//! A responder without a site: what it answers, and what it does not.

use echo::{Responder, config::Echo};
use machine::Time;
use runtime::{Ask, AskError, Effects, Flow, Function as _, In, PortId, Seed, Transport};
use std::sync::Arc;

const NOW: Time = Time::ZERO;

fn responder(octets_max: u32) -> Responder {
    let listen = ([127, 0, 0, 1], 7).into();
    let section = Echo { name: "echo1".into(), listen, octets_max, cores: Vec::new() };
    Responder::new(Seed { shard: 0, shards: 1, random: [0; 32], now: NOW }, Arc::new(section))
}

/// What leaves after `octets` came from `port`.
fn sent(it: &mut Responder, port: u16, octets: &[u8]) -> Vec<Vec<u8>> {
    let (own, remote) = (([127, 0, 0, 1], 7).into(), ([127, 0, 0, 1], port).into());
    let flow = Flow::to(PortId(0), Transport::Udp, own, remote);
    let mut out = Effects::default();
    it.step(NOW, In::Message { flow, bytes: octets }, &mut out);
    assert!(out.sends().all(|(to, _)| to == flow), "it answers whoever asked");
    out.sends().map(|(_, octets)| octets.to_vec()).collect()
}

#[test]
fn what_comes_goes_back_but_for_what_is_too_long_or_comes_from_a_service() {
    let mut it = responder(5);
    assert_eq!(sent(&mut it, 40_000, b"hello"), [b"hello"]);
    assert!(sent(&mut it, 40_000, b"hello!").is_empty());
    assert!(sent(&mut it, 7, b"hello").is_empty(), "another responder would never end");
    let ask = |path: &str| Ask { path: path.into(), ..Ask::default() };
    let row = it.ask(NOW, &ask("echoes"), &mut Effects::default()).unwrap();
    let said = serde_json::json!([{"listen": "127.0.0.1:7", "answered": 1, "refused": 2}]);
    assert_eq!(row, said);
    let unknown = it.ask(NOW, &ask("voices"), &mut Effects::default());
    assert!(matches!(unknown, Err(AskError::NotFound(of)) if of == "voices"));
}
