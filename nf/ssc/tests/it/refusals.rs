//! What is refused can be found again: in the service assurance and in `limits`.

use crate::world::*;
use machine::Duration;
use runtime::{Flow, Function as _, Transport};
use serde_json::Value;

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
    // Who is not known is known by his address, whatever he writes into From; the names that a
    // trusted realm gives are believed.
    let trusted = site.replacen("[[realm]]", "[[realm]]\ntrusted = true", 1);
    for (site, other, name) in [
        (&site, "eve@example.com", "10.0.0.1"),
        (&trusted, "alice@example.com", "sip:alice@example.com"),
    ] {
        let mut world = World::new(site);
        for n in 0..3 {
            let invite = Caller::new(&format!("call{n}")).request("INVITE", "", SDP);
            let from = if n == 2 { other } else { "alice@example.com" };
            world.receive(ALICE, ACCESS, &invite.replace("alice@example.com", from));
            world.pass(Duration::from_millis(100));
        }
        let limits = world.ask("limits", &[]);
        let mut rows = limits.as_array().unwrap().iter();
        let row = rows.find(|row| row["kind"] == "subscriber").unwrap();
        assert_eq!(row["name"], name);
        let counts = (&row["calls"], &row["calls_max"], &row["refused"]);
        assert_eq!(counts, (&1.into(), &1.into(), &2.into()));
        assert_eq!(row["calls_per_s"], 50.0);
    }
    let mut world = World::new(&trusted);
    for n in 0..2 {
        let invite = Caller::new(&format!("call{n}")).request("INVITE", "", SDP);
        world.receive(ALICE, ACCESS, &invite.replace("alice@example.com", &format!("a{n}@b.c")));
    }
    assert_eq!(world.metric("ssc_limit_subscriber_refused_total"), 0, "two subscribers");
}

/// A call whose dialog is as long as may be, and the function that has it.
fn long_call(from_octets: usize) -> (World, Caller) {
    let mut world = World::new(SITE);
    let caller = Caller::new(&"c".repeat(1_000));
    let invite = caller.request("INVITE", "", SDP);
    world.receive(ALICE, ACCESS, &invite.replace("Alice", &"A".repeat(from_octets)));
    (world, caller)
}

#[test]
fn a_dialog_that_is_too_long_is_refused_with_513_and_what_stands_goes_on() {
    // A From of 10 kB, then a Contact of 55 kB: offsets of the leg's text once wrapped at 65,535.
    let (mut world, _) = long_call(10_000);
    assert!(world.expect(ALICE, "SIP/2.0 513").contains("the headers of its dialog are too long"));
    let (mut world, mut alice) = long_call(6_000);
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    for octets in [55_000, 5_500, 30_000] {
        alice.cseq += 1;
        let update = alice.request("UPDATE", "", "");
        let contact = format!("sip:{}@{ALICE}", "x".repeat(octets));
        world.receive(ALICE, ACCESS, &update.replace(&format!("sip:alice@{ALICE}"), &contact));
        if octets == 5_500 {
            let update = world.expect(BOB, "UPDATE");
            world.receive(BOB, CORE, &respond(&update, "200 OK", "", BOB_CONTACT, ""));
            world.expect(ALICE, "SIP/2.0 200");
        } else {
            world.expect(ALICE, "SIP/2.0 513");
        }
        assert_eq!(world.ask("calls", &[]).as_array().unwrap().len(), 1);
    }
    let bye = from_bob(&invite, "b1", "BYE", 7, "");
    world.receive(BOB, CORE, &bye);
    let bye = world.expect(ALICE, "BYE");
    assert!(bye.len() > 5_500, "to the Contact that was taken");
    world.receive(ALICE, ACCESS, &respond(&bye, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200");
    assert!(world.metric("ssc_messages_unpassable_total") > 0);
    world.expect_idle();
}

#[test]
fn an_answer_that_is_too_long_is_dropped_and_the_call_ends_in_order() {
    let mut world = World::new(SITE);
    world.receive(ALICE, ACCESS, &Caller::new("long").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let contact = format!("Contact: <sip:{}@10.0.1.1>\r\n", "b".repeat(50_000));
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", &contact, SDP));
    world.expect_nothing();
    assert_eq!(world.metric("ssc_messages_unpassable_total"), 1);
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    world.expect(ALICE, "SIP/2.0 200");
}

#[test]
fn a_message_that_rules_cannot_be_applied_to_goes_no_further() {
    let rules = "[[rule]]\nrealm = 'access'\ndirection = 'in'\n[[rule.do]]\nadd = 'X-Mark'\n\
        value = 'here'\n[[rule]]\nrealm = 'core'\ndirection = 'out'\n[[rule.do]]\n\
        replace = 'Subject'\npattern = '(.+)'\nvalue = '$1$1$1$1$1$1$1$1'\n";
    let mut world = World::new(&format!("{SITE}{rules}"));
    let lines = "X-Pad: 1\r\n".repeat(120);
    world.receive(ALICE, ACCESS, &Caller::new("pad").request("INVITE", &lines, ""));
    world.expect(ALICE, "SIP/2.0 513");
    let subject = format!("Subject: {}\r\n", "s".repeat(10_000));
    world.receive(ALICE, ACCESS, &Caller::new("grow").request("INVITE", &subject, ""));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(ALICE, "SIP/2.0 513");
    assert_eq!(world.metric("ssc_messages_unsendable_total"), 1);
    world.receive(ALICE, ACCESS, &Caller::new("fits").request("INVITE", "Subject: a\r\n", ""));
    world.expect(ALICE, "SIP/2.0 100");
    assert!(world.expect(BOB, "INVITE").contains("Subject: aaaaaaaa\r\n"));
}

/// RFC 3261 §17.2.1 sends a refusal ten times more until its ACK comes; who forged the INVITE has
/// named somebody else for that.
#[test]
fn a_refused_invite_is_answered_once_for_each_time_that_it_comes() {
    let mut world = World::new(SITE);
    let invite = Caller::new("forged").request("INVITE", "", SDP).replace("\r\nContact:", "\r\nX:");
    for _ in 0..2 {
        world.receive(ALICE, ACCESS, &invite);
        let refused = world.expect(ALICE, "SIP/2.0 400");
        assert!(refused.len() < invite.len() + 200, "no more octets than came: {refused}");
        world.pass(Duration::from_secs(10));
        world.expect_nothing();
    }
    world.pass(Duration::from_secs(30));
    world.expect_idle();
}

#[test]
fn a_source_of_long_requests_takes_no_more_memory_than_it_leaves_to_others() {
    const MAX: u64 = 4 << 20;
    let site = format!("{SITE}\n[limits]\nrequests_octets_max = {MAX}\n");
    let mut world = World::new(&site);
    let long = format!("{SDP}a={}\r\n", "x".repeat(40_000));
    let mut begin = |from: &str, n: u32, body: &str| {
        let invite = Caller::new(&format!("long{n}{from}")).request("INVITE", "", body);
        world.receive(from, ACCESS, &invite);
        let answer = world.sent.iter().find(|sent| sent.to == from.parse().unwrap());
        let is_taken = answer.unwrap().text.starts_with("SIP/2.0 100");
        world.sent.clear();
        let octets = world.metric("ssc_requests_octets");
        assert!(octets <= MAX, "{octets}");
        (is_taken, octets)
    };
    let begun: Vec<_> = (0..60).map(|n| begin("10.0.0.9:5060", n, &long)).collect();
    let taken = begun.iter().filter(|(is_taken, _)| *is_taken).count() as u64;
    // With the last one it had no more than was left to others, beside the part that is kept for
    // it; with one more it would have.
    let (shared, kept, held) = (MAX / 8 * 7, MAX / 8 / 1_024, begun[59].1);
    let one = held / taken;
    assert!(held <= shared - (held - one) + 2 * kept, "{held} of {taken}");
    assert!(held + one > shared - held, "{held} of {taken}");
    let (is_taken, octets) = begin("10.0.0.8:5060", 100, SDP);
    assert!(is_taken && octets > shared / 2 - 130_000, "others begin calls: {octets}");
    assert_eq!(world.metric("ssc_overload_refused_total"), 60 - taken);
    world.expect_idle();
}

#[test]
fn a_long_provisional_response_counts_as_memory_of_its_request() {
    let mut world = World::new(SITE);
    world.receive(ALICE, ACCESS, &Caller::new("long").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let before = world.metric("ssc_requests_octets");
    let more = format!("{BOB_CONTACT}X-Long: {}\r\n", "x".repeat(30_000));
    for _ in 0..3 {
        world.receive(BOB, CORE, &respond(&invite, "183 Session Progress", "b1", &more, ""));
        world.expect(ALICE, "SIP/2.0 183");
    }
    let grown = world.metric("ssc_requests_octets") - before;
    assert!((30_000..40_000).contains(&grown), "the last one is kept, once: {grown}");
    // Where no room is left it crosses all the same, and the one before it is kept.
    let mut world = World::new(&format!("{SITE}\n[limits]\nrequests_octets_max = 1048576\n"));
    for n in 0..40 {
        world.receive(ALICE, ACCESS, &Caller::new(&format!("c{n}")).request("INVITE", "", SDP));
        let trying = world.sent.pop_front().unwrap().text;
        if n > 15 && trying.starts_with("SIP/2.0 503") {
            break;
        }
        let invite = world.expect(BOB, "INVITE");
        world.receive(BOB, CORE, &respond(&invite, "183 Session Progress", "b1", &more, ""));
        world.expect(ALICE, "SIP/2.0 183");
    }
    let octets = world.metric("ssc_requests_octets");
    assert!(octets <= 1 << 19, "a source has what it leaves to others: {octets}");
    world.sent.clear();
    world.pass(Duration::from_secs(200));
    world.sent.clear();
    world.expect_idle();
}

#[test]
fn an_ack_with_a_body_is_kept_while_its_2xx_may_come_again() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("late");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", ""));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let answer = respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP);
    world.receive(BOB, CORE, &answer);
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", SDP));
    for (after_s, has_body) in [(0, true), (20, true), (20, false)] {
        world.pass(Duration::from_secs(after_s));
        world.sent.clear();
        if after_s > 0 {
            world.receive(BOB, CORE, &answer);
        } else {
            world.receive(ALICE, ACCESS, &alice.request("ACK", "", SDP));
            world.receive(BOB, CORE, &answer);
        }
        let ack = world.sent.pop_back().unwrap().text;
        assert!(ack.starts_with("ACK") && ack.contains("v=0") == has_body, "{ack}");
    }
    assert_eq!(world.ask("calls", &[]).as_array().unwrap().len(), 1, "the call stands on");
}

#[test]
fn a_subscription_lasts_no_longer_than_was_asked_whatever_the_answer_says() {
    for (asked, told, lasts_s) in [
        ("Expires: 60\r\n", "Expires: 4000000000\r\n", 60 + 32),
        ("Expires: 600\r\n", "Expires: 60\r\n", 60 + 32),
        ("Expires: 4000000000\r\n", "Expires: 4000000000\r\n", 43_200 + 32),
        ("", "Expires: 4000000000\r\n", 43_200 + 32),
        ("", "", 3_600 + 32),
    ] {
        let mut world = World::new(SITE);
        let more = format!("Event: dialog\r\n{asked}");
        world.receive(ALICE, ACCESS, &Caller::new("sub").request("SUBSCRIBE", &more, ""));
        let subscribe = world.expect(BOB, "SUBSCRIBE");
        let more = format!("{BOB_CONTACT}{told}");
        world.receive(BOB, CORE, &respond(&subscribe, "200 OK", "b1", &more, ""));
        world.expect(ALICE, "SIP/2.0 200");
        world.pass(Duration::from_secs(lasts_s - 1));
        assert!(!world.controller.is_idle(), "{asked} {told}");
        world.pass(Duration::from_secs(2));
        assert!(world.controller.is_idle(), "{asked} {told}");
    }
}
