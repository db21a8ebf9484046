//! Headers that are there and name nothing: a list may be empty (RFC 3261 §7.3.1, RFC 4475 §3.1.1).

use crate::world::*;
use machine::Duration;
use sip::{Header, Shape};

const METHODS: [&str; 10] = [
    "INVITE",
    "SUBSCRIBE",
    "REFER",
    "REGISTER",
    "OPTIONS",
    "MESSAGE",
    "PUBLISH",
    "NOTIFY",
    "INFO",
    "UPDATE",
];

/// Every header that may stand on several lines, without a value.
fn empty_lines() -> impl Iterator<Item = String> {
    let lists = Header::all().filter(|header| header.shape() != Shape::Single);
    lists.flat_map(|header| [":", ": ,", ": , ,"].map(|v| format!("{}{v}\r\n", header.name())))
}

/// A message with that line, in place of a Contact if it is one.
fn with(text: &str, line: &str) -> String {
    let is_kept = |own: &&str| !(line.starts_with("Contact:") && own.starts_with("Contact:"));
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let kept: Vec<&str> = head.split("\r\n").filter(is_kept).collect();
    format!("{}\r\n{line}\r\n{body}", kept.join("\r\n"))
}

/// Bob answers what he was asked last, each time with the line.
fn answer(world: &mut World, line: &str) {
    let asked = world.sent.drain(..).rfind(|sent| sent.to == BOB.parse().unwrap());
    let Some(request) = asked.filter(|sent| !sent.text.starts_with("SIP/2.0")) else { return };
    for status in ["183 Progress", "200 OK"] {
        let text = respond(&request.text, status, "b1", BOB_CONTACT, "");
        world.receive(BOB, CORE, &with(&text, line));
    }
}

#[test]
fn an_empty_list_in_any_message_harms_nobody() {
    let mut world = World::new(SITE);
    for (n, line) in empty_lines().enumerate() {
        for method in METHODS {
            let alice = Caller::new(&format!("{method}{n}"));
            world.receive(ALICE, ACCESS, &with(&alice.request(method, "", ""), &line));
            answer(&mut world, &line);
            world.sent.clear();
        }
        let (mut alice, invite) = world.call(&format!("in{n}"));
        for (at, method) in (20..).zip(METHODS.into_iter().chain(["BYE"])) {
            alice.cseq += 1;
            world.receive(ALICE, ACCESS, &with(&alice.request(method, "", ""), &line));
            answer(&mut world, &line);
            world.receive(ALICE, ACCESS, &with(&alice.request("ACK", "", ""), &line));
            world.receive(BOB, CORE, &with(&from_bob(&invite, "b1", method, at, ""), &line));
            world.sent.clear();
        }
        world.pass(Duration::from_secs(1));
    }
    world.pass(Duration::from_secs(4_000));
    world.sent.clear();
    world.call("after");
}

#[test]
fn an_empty_record_route_is_none() {
    for line in ["Record-Route:\r\n", "Record-Route: ,\r\n"] {
        let mut world = World::new(SITE);
        let mut alice = Caller::new("routes");
        world.receive(ALICE, ACCESS, &with(&alice.request("INVITE", "", SDP), line));
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        let ringing = respond(&invite, "180 Ringing", "b1", BOB_CONTACT, "");
        world.receive(BOB, CORE, &with(&ringing, line));
        world.expect(ALICE, "SIP/2.0 180");
        let answer = respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP);
        world.receive(BOB, CORE, &with(&answer, line));
        alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
        world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        let ack = world.expect(BOB, "ACK sip:bob@10.0.1.1:5080");
        assert!(!ack.contains("Route:"), "{ack}");
        let bye = from_bob(&invite, "b1", "BYE", 1, "");
        world.receive(BOB, CORE, &bye);
        let bye = world.expect(ALICE, "BYE sip:alice@10.0.0.1:5062");
        assert!(!bye.contains("\r\nRoute:"), "{bye}");
        world.receive(ALICE, ACCESS, &respond(&bye, "200 OK", "", "", ""));
        world.expect(BOB, "SIP/2.0 200");
        world.expect_idle();
        // A NOTIFY that comes before the answer to its SUBSCRIBE begins the dialog as well.
        let subscribe = Caller::new("early").request("SUBSCRIBE", "Event: dialog\r\n", "");
        world.receive(ALICE, ACCESS, &subscribe);
        let subscribe = world.expect(BOB, "SUBSCRIBE");
        let state = "Event: dialog\r\nSubscription-State: active\r\n";
        world.receive(BOB, CORE, &with(&from_bob(&subscribe, "b1", "NOTIFY", 1, state), line));
        world.expect(ALICE, "NOTIFY sip:alice@10.0.0.1:5062");
    }
}
