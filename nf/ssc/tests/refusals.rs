//! What is refused can be found again: in the service assurance and in `limits`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use machine::Duration;
use runtime::{Flow, Function as _, Transport};
use serde_json::Value;
use world::*;

const COLLECTOR: &str = "127.0.0.1:9060";

/// The counts that were told of a source.
fn counts(captured: &str, source: &str) -> Vec<u64> {
    let events = captured.match_indices("{\"event\":\"RequestsRejected\"");
    let events = events.filter_map(|(at, _)| {
        let text = &captured[at..];
        let event: Value = serde_json::from_str(&text[..=text.find('}')?]).ok()?;
        (event["source"] == source).then(|| event["count"].as_u64().unwrap())
    });
    events.collect()
}

#[test]
fn every_refusal_under_overload_is_counted_in_the_service_assurance_by_source() {
    let site =
        SITE.replacen("name = \"ssc1\"", "name = \"ssc1\"\ncapture = \"udp:127.0.0.1:9060\"", 1);
    let mut world = World::new(&site);
    world.overload();
    world.raw_to(COLLECTOR);
    for n in 0..400 {
        world.controller.waited(world.now, Duration::from_millis(200));
        let from = if n % 4 == 0 { "10.0.0.9:5060" } else { "10.0.0.8:5060" };
        let invite = Caller::new(&format!("late{n}")).request("INVITE", "", SDP);
        world.receive(from, ACCESS, &invite);
    }
    world.pass(Duration::from_secs(2));
    let captured = String::from_utf8_lossy(&world.raw_to(COLLECTOR)).into_owned();
    let whole = captured.matches("{\"event\":\"RequestRejected\"").count() as u64;
    let (eight, nine) = (counts(&captured, "10.0.0.8"), counts(&captured, "10.0.0.9"));
    assert_eq!((eight.len(), nine.len()), (1, 1), "one record each for the second");
    assert_eq!(whole + eight[0] + nine[0], 400, "{whole} in full");
    assert!((1..=100).contains(&whole) && nine[0] >= 60, "{whole} {nine:?}");
    world.pass(Duration::from_secs(5));
    assert!(world.raw_to(COLLECTOR).is_empty(), "nothing is told twice");
}

fn register(contact: &str) -> String {
    format!(
        "REGISTER sip:example.com SIP/2.0\r\n\
         Via: SIP/2.0/UDP {ALICE};rport;branch=z9hG4bKsips\r\n\
         Max-Forwards: 70\r\nFrom: <sip:alice@example.com>;tag=r\r\n\
         To: <sip:alice@example.com>\r\nCall-ID: sips\r\nCSeq: 1 REGISTER\r\n\
         Contact: <{contact}>\r\nExpires: 600\r\nContent-Length: 0\r\n\r\n"
    )
}

#[test]
fn a_sips_contact_is_registered_over_tls_only() {
    let mut world = World::new(SITE);
    let contact = "SIPS:alice@10.0.0.1:5062";
    world.receive(ALICE, ACCESS, &register(contact));
    world.expect(ALICE, "SIP/2.0 403");
    let port = world.port(ACCESS, Transport::Tcp);
    let (local, remote) = (ACCESS.parse().unwrap(), ALICE.parse().unwrap());
    let mut flow = Flow::to(port, Transport::Tcp, local, remote);
    world.receive_on(flow, &register(contact).replace("z9hG4bKsips", "z9hG4bKtcp"));
    world.expect(ALICE, "SIP/2.0 403");
    flow.transport = Transport::Tls;
    world.receive_on(flow, &register(contact).replace("z9hG4bKsips", "z9hG4bKtls"));
    world.expect(BOB, "REGISTER");
    let mut world = World::new(SITE);
    world.receive(ALICE, ACCESS, &register("sip:alice@10.0.0.1:5062"));
    world.expect(BOB, "REGISTER");
}

#[test]
fn a_subscriber_who_was_refused_is_shown_with_his_limit() {
    let limit = "subscriber_limit = { calls_max = 1, calls_per_s = 50.0 }";
    let site = SITE.replacen("name = \"access\"", &format!("name = \"access\"\n{limit}"), 1);
    let mut world = World::new(&site);
    for n in 0..3 {
        let invite = Caller::new(&format!("call{n}")).request("INVITE", "", SDP);
        world.receive(ALICE, ACCESS, &invite);
        world.pass(Duration::from_millis(100));
    }
    let limits = world.ask("limits", &[]);
    let row = limits.as_array().unwrap().iter().find(|row| row["kind"] == "subscriber").unwrap();
    assert_eq!(row["name"], "sip:alice@example.com");
    assert_eq!(
        (&row["calls"], &row["calls_max"], &row["refused"]),
        (&1.into(), &1.into(), &2.into())
    );
    assert_eq!(row["calls_per_s"], 50.0);
}
