//! What may not cross the border between two realms, and what must: addresses, identities,
//! requests by two ways, connections that end.

use crate::world::*;
use machine::Duration;
use runtime::{Flow, Function as _, In, Transport};
use sip::trust;

/// A request of Alice, whose From and To have IP addresses.
fn by_address(alice: &Caller, method: &str, more: &str, body: &str) -> String {
    alice
        .request(method, more, body)
        .replace("<sip:alice@example.com>", "<sip:alice@10.0.0.1:5062;x=1>")
        .replace("<sip:bob@example.org>", "<sip:bob@127.0.0.1>")
}

const PARTIES: [&str; 2] = ["From", "To"];

#[test]
fn addresses_in_from_and_to_stay_in_their_realm_and_both_ends_see_their_own_all_the_call() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("hide");
    let more = "Referred-By: <sip:10.0.0.7:5090>\r\nX-Other: 10.0.0.1\r\n";
    let sent = by_address(&alice, "INVITE", more, SDP);
    world.receive(ALICE, ACCESS, &sent);
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    assert!(header(&invite, "From").starts_with("\"Alice\" <sip:alice@127.0.0.1;x=1>;tag="));
    assert_eq!(header(&invite, "To"), "<sip:bob@127.0.0.1>");
    assert_eq!(header(&invite, "Referred-By"), "<sip:127.0.0.1>");
    assert_eq!(header(&invite, "X-Other"), "10.0.0.1", "other people's headers stay");
    let more = format!("{BOB_CONTACT}P-Asserted-Identity: \"B\" <sip:bob@10.0.1.1>\r\n");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", &more, SDP));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    assert_eq!(header(&ok, "From"), header(&sent, "From"));
    assert!(header(&ok, "To").starts_with("<sip:bob@127.0.0.1>;tag="));
    assert_eq!(header(&ok, "P-Asserted-Identity"), "\"B\" <sip:bob@127.0.0.1>");
    alice.learn(&ok);
    world.receive(ALICE, ACCESS, &by_address(&alice, "ACK", "", ""));
    let ack = world.expect(BOB, "ACK");
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &by_address(&alice, "INFO", "", ""));
    let info = world.expect(BOB, "INFO");
    for request in [&ack, &info] {
        assert_eq!(header(request, "From"), header(&invite, "From"));
        assert_eq!(header(request, "To"), format!("{};tag=b1", header(&invite, "To")));
    }
    world.receive(BOB, CORE, &respond(&info, "200 OK", "", "", ""));
    let answer = world.expect(ALICE, "SIP/2.0 200");
    assert!(PARTIES.iter().all(|name| header(&answer, name) == header(&ok, name)));
    let bye = from_bob(&invite, "b1", "BYE", 1, "");
    world.receive(BOB, CORE, &bye);
    let at_alice = world.expect(ALICE, "BYE");
    assert_eq!(header(&at_alice, "To"), header(&sent, "From"), "she is called as she called");
    assert_eq!(header(&at_alice, "From"), header(&ok, "To"));
    world.receive(ALICE, ACCESS, &respond(&at_alice, "200 OK", "", "", ""));
    let answer = world.expect(BOB, "SIP/2.0 200");
    assert!(PARTIES.iter().all(|name| header(&answer, name) == header(&bye, name)));
    world.expect_idle();
}

#[test]
fn a_caller_from_the_core_is_hidden_from_the_access_side_unless_the_realm_shows_its_hosts() {
    for (hides, host) in [(true, "127.0.0.1"), (false, "10.0.1.1:5080")] {
        let line = format!("trusted = true\nhide_hosts = {hides}\n");
        let mut world = World::new(&SITE.replacen("trusted = true\n", &line, 1));
        let mut bob = Caller::new("core");
        (bob.at, bob.listener) = (BOB, CORE);
        let text = bob.request("INVITE", "", SDP).replace("alice@example.com", "bob@10.0.1.1:5080");
        world.receive(BOB, CORE, &text);
        world.expect(BOB, "SIP/2.0 100");
        let invite = world.expect(ALICE, "INVITE");
        assert!(header(&invite, "From").contains(&format!("<sip:bob@{host}>")), "{invite}");
    }
}

#[test]
fn an_asserted_identity_is_believed_from_the_trusted_side_only() {
    const ASSERTED: &str = "P-Asserted-Identity: <sip:boss@example.org>\r\n";
    let mut world = World::new(SITE);
    let preferred = "P-Preferred-Identity: <sip:alice@example.com>\r\n";
    let charging = "P-Charging-Vector: icid-value=1\r\n";
    let more = format!("{ASSERTED}{preferred}{charging}");
    world.receive(ALICE, ACCESS, &Caller::new("t1").request("INVITE", &more, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    assert!(!invite.contains("P-Asserted-Identity") && !invite.contains("P-Charging-Vector"));
    assert!(invite.contains(preferred), "a wish may reach the trust domain");
    for (privacy, is_shown) in [("", true), ("Privacy: id\r\n", false), ("Privacy: none\r\n", true)]
    {
        let mut bob = Caller::new(&format!("t2{}", privacy.len()));
        (bob.at, bob.listener) = (BOB, CORE);
        world.receive(BOB, CORE, &bob.request("INVITE", &format!("{more}{privacy}"), SDP));
        world.expect(BOB, "SIP/2.0 100");
        let invite = world.expect(ALICE, "INVITE");
        assert_eq!(invite.contains(ASSERTED), is_shown, "{privacy}");
        assert!(!invite.contains("P-Charging-Vector") && !invite.contains(preferred));
    }
    let more = format!("{BOB_CONTACT}{ASSERTED}Privacy: id\r\n");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", &more, ""));
    assert!(!world.expect(ALICE, "SIP/2.0 180").contains("P-Asserted-Identity"));
}

/// A line of each header that the border of a trust domain is closed to, in that direction.
fn closed(inward: bool) -> Vec<String> {
    let when = |row: &&trust::Row| if inward { row.inward } else { row.outward };
    let rows = trust::ROWS.iter().filter(|row| when(row) == trust::When::Always);
    rows.map(|row| format!("{}: <sip:x@example.org>\r\n", row.header.name())).collect()
}

#[test]
fn what_the_network_alone_may_say_neither_comes_from_nor_goes_to_the_untrusted_side() {
    let (from_alice, to_alice) = (closed(true), closed(false));
    assert!(from_alice.len() > 20 && to_alice.len() > 20);
    let mut world = World::new(SITE);
    let mut alice = Caller::new("closed");
    let more = from_alice.concat();
    world.receive(ALICE, ACCESS, &alice.request("INVITE", &more, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let answer = format!("{BOB_CONTACT}{}", to_alice.concat());
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", &answer, SDP));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    alice.learn(&ok);
    world.receive(ALICE, ACCESS, &alice.request("ACK", &more, ""));
    let ack = world.expect(BOB, "ACK");
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("INFO", &more, ""));
    let info = world.expect(BOB, "INFO");
    for sent in [&invite, &ack, &info] {
        let passed = from_alice.iter().find(|line| sent.contains(line.as_str()));
        assert_eq!(passed, None, "{sent}");
    }
    let passed = to_alice.iter().find(|line| ok.contains(line.as_str()));
    assert_eq!(passed, None, "{ok}");
}

#[test]
fn the_operator_lets_single_headers_cross_by_name() {
    let key = "name = \"access\"\npass_headers = [\"history-info\", \"P-Charging-Vector\"]";
    let mut world = World::new(&SITE.replacen("name = \"access\"", key, 1));
    let passing = ["History-Info: <sip:x@y>;index=1\r\n", "P-Charging-Vector: icid-value=1\r\n"];
    let more = format!("{}Diversion: <sip:x@y>\r\n", passing.concat());
    world.receive(ALICE, ACCESS, &Caller::new("pass").request("INVITE", &more, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    assert!(passing.iter().all(|line| invite.contains(line)) && !invite.contains("Diversion"));
    let more = format!("{BOB_CONTACT}{}", passing.concat());
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", &more, ""));
    let ringing = world.expect(ALICE, "SIP/2.0 180");
    assert!(passing.iter().all(|line| ringing.contains(line)), "{ringing}");
    let mut issues = Vec::new();
    let wrong = SITE.replacen("name = \"access\"", &key.replace("history-info", "Subject"), 1);
    toml::from_str::<ssc::config::Ssc>(&wrong).unwrap().validate(&mut issues);
    let paths: Vec<_> = issues.iter().map(|issue| issue.path.as_str()).collect();
    assert_eq!(paths, ["realm[0].pass_headers[0]"]);
    assert!(issues[0].what.contains("Subject") && issues[0].hint.contains("History-Info"));
}

#[test]
fn a_request_that_came_by_another_way_is_merged_and_a_new_number_is_not() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("merged");
    let first = alice.request("INVITE", "", SDP);
    world.receive(ALICE, ACCESS, &first);
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let again = first.replacen("z9hG4bK", "z9hG4bKother", 1);
    world.receive(ALICE, ACCESS, &again);
    let refused = world.expect(ALICE, "SIP/2.0 482");
    assert!(header(&refused, "Via").contains("z9hG4bKother"));
    world.expect_nothing();
    world.receive(BOB, CORE, &respond(&invite, "407 Proxy Authentication Required", "b", "", ""));
    world.sent.clear();
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
    // What ended is forgotten: the same request is new.
    world.receive(ALICE, ACCESS, &first.replacen("z9hG4bK", "z9hG4bKlate", 1));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
    world.sent.clear();
    world.expect_idle();
}

/// A connection of Alice to the access side, or of Bob to the core side.
fn connection(world: &World, listener: &str, remote: &str, number: u32) -> Flow {
    let port = world.port(listener, Transport::Tcp);
    let (local, remote) = (listener.parse().unwrap(), remote.parse().unwrap());
    let mut flow = Flow::to(port, Transport::Tcp, local, remote);
    flow.conn = runtime::ConnId(number);
    flow
}

fn over_tcp(text: &str) -> String {
    text.replace("SIP/2.0/UDP", "SIP/2.0/TCP")
}

#[test]
fn a_subscriber_whose_connection_ends_in_a_call_loses_it_on_both_legs() {
    let mut world = World::new(SITE);
    let flow = connection(&world, ACCESS, "10.0.0.1:40000", 7);
    let mut alice = Caller::new("gone");
    world.receive_on(flow, &over_tcp(&alice.request("INVITE", "", SDP)));
    world.expect("10.0.0.1:40000", "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect("10.0.0.1:40000", "SIP/2.0 200"));
    world.receive_on(flow, &over_tcp(&alice.request("ACK", "", "")));
    world.expect(BOB, "ACK");
    world.step(In::Down { flow, why: "closed by the far end" });
    world.pass(Duration::from_millis(1));
    let byes: Vec<_> = world.sent.drain(..).filter(|s| s.text.starts_with("BYE")).collect();
    let bye = byes.iter().find(|bye| bye.to == BOB.parse().unwrap()).expect("a BYE for Bob");
    assert!(header(&bye.text, "Reason").contains("connection"), "{}", bye.text);
    world.receive(BOB, CORE, &respond(&bye.text, "200 OK", "", "", ""));
    world.expect_idle();
}

#[test]
fn towards_the_core_a_call_outlives_its_connection() {
    let site = SITE.replacen("udp:10.0.1.1:5080", "tcp:10.0.1.1:5080", 1);
    let mut world = World::new(&site);
    let mut alice = Caller::new("again");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let flow = connection(&world, CORE, BOB, 9);
    let contact = "Contact: <sip:bob@10.0.1.1:5080;transport=tcp>\r\n";
    world.receive_on(flow, &respond(&invite, "200 OK", "b1", contact, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    world.step(In::Down { flow, why: "closed by the far end" });
    world.pass(Duration::from_millis(1));
    world.expect_nothing();
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    let bye = world.expect(BOB, "BYE sip:bob@10.0.1.1:5080;transport=tcp");
    world.receive_on(connection(&world, CORE, BOB, 10), &respond(&bye, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.expect_idle();
}

#[test]
fn a_next_hop_is_not_told_another_transport_than_the_one_it_is_reached_by() {
    let over_udp = SITE.to_owned();
    let over_tcp_to_bob = SITE.replacen("udp:10.0.1.1:5080", "tcp:10.0.1.1:5080", 1);
    for (n, (site, uri, sent)) in [
        (&over_udp, "sip:bob@example.org;transport=tcp", "sip:bob@example.org"),
        (&over_udp, "sip:bob@example.org;a=1;Transport=TCP;b", "sip:bob@example.org;a=1;b"),
        (&over_udp, "sip:bob@example.org;transport=tls;c", "sip:bob@example.org;c"),
        (&over_udp, "sip:bob@example.org;transport=UDP;d", "sip:bob@example.org;transport=UDP;d"),
        (&over_udp, "sip:bob@example.org;e", "sip:bob@example.org;e"),
        (
            &over_tcp_to_bob,
            "sip:bob@example.org;transport=tcp",
            "sip:bob@example.org;transport=tcp",
        ),
        (&over_tcp_to_bob, "sip:bob@example.org;transport=udp", "sip:bob@example.org"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut world = World::new(site);
        let flow = connection(&world, ACCESS, "10.0.0.1:40000", 7);
        let invite = Caller::new(&format!("way{n}")).request("INVITE", "", SDP);
        let invite =
            over_tcp(&invite).replace("INVITE sip:bob@example.org ", &format!("INVITE {uri} "));
        world.receive_on(flow, &invite);
        world.expect("10.0.0.1:40000", "SIP/2.0 100");
        let text = world.expect(BOB, "INVITE");
        let first = format!("INVITE {sent} SIP/2.0\r\n");
        assert!(text.starts_with(&first), "{uri}: {text}");
    }
}

#[test]
fn info_crosses_both_ways_with_its_body() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = world.call("info");
    alice.cseq = 2;
    let text = alice.request("INFO", "Info-Package: dtmf\r\n", "Signal=5\r\n");
    world.receive(ALICE, ACCESS, &text);
    let info = world.expect(BOB, "INFO");
    assert!(info.contains("Info-Package: dtmf\r\n") && info.ends_with("\r\n\r\nSignal=5\r\n"));
    world.receive(BOB, CORE, &respond(&info, "469 Bad Info Package", "", "Recv-Info: x\r\n", ""));
    assert_eq!(header(&world.expect(ALICE, "SIP/2.0 469"), "Recv-Info"), "x");
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "INFO", 4, "Info-Package: dtmf\r\n"));
    let info = world.expect(ALICE, "INFO sip:alice@10.0.0.1:5062");
    world.receive(ALICE, ACCESS, &respond(&info, "200 OK", "", "", ""));
    assert_eq!(header(&world.expect(BOB, "SIP/2.0 200"), "CSeq"), "4 INFO");
    assert_eq!(world.ask("calls", &[])[0]["state"], "confirmed");
}

#[test]
fn a_next_hop_that_is_a_domain_is_looked_up_and_its_second_address_takes_over() {
    use runtime::{Answer, Query};
    let site = SITE.replacen(
        "[\"udp:10.0.1.1:5080\", \"udp:10.0.1.2:5080\"]",
        "[\"sip:core.example\"]",
        1,
    );
    let mut world = World::new(&site);
    world.receive(ALICE, ACCESS, &Caller::new("early").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 503");
    world.pass(Duration::from_millis(1));
    let mut asked = Vec::new();
    for _ in 0..8 {
        let Some((query, question)) = world.queries.pop() else { break };
        let answer = match &question {
            Query::Naptr(_) => Answer::Naptr(Vec::new()),
            Query::Srv(name) if name == "_sip._udp.core.example" => {
                let row = |priority, host: &str| (priority, 0, 5080, host.to_owned());
                Answer::Srv(vec![row(2, "b.example"), row(1, "a.example")])
            }
            Query::Srv(_) => Answer::Srv(Vec::new()),
            Query::Host(name) if name == "a.example" => {
                Answer::Host(vec!["10.0.1.1".parse().unwrap()])
            }
            Query::Host(_) => Answer::Host(vec!["10.0.1.2".parse().unwrap()]),
        };
        asked.push(question);
        world.step(In::Resolved { query, answer });
    }
    assert!(matches!(&asked[0], Query::Naptr(name) if name == "core.example"), "{asked:?}");
    assert!(asked.len() >= 4, "{asked:?}");
    world.receive(ALICE, ACCESS, &Caller::new("found").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "503 Service Unavailable", "b1", "", ""));
    world.expect(BACKUP, "INVITE");
    world.ask("alarms", &[]);
    let labelled = world.controller.cells()[1].labelled();
    let of = |name: &str, target: &str| {
        let found = labelled.iter().find(|(row, labels, _)| {
            row.name == name && *labels[0].1 == *"switch" && *labels[1].1 == *target
        });
        found.map(|(.., reading)| reading.clone())
    };
    for (target, failed) in [(BOB, 1), (BACKUP, 0)] {
        assert_eq!(of("ssc_next_hop_up", target), Some(event::Sample::Value(1)));
        assert_eq!(of("ssc_next_hop_calls_total", target), Some(event::Sample::Value(1)));
        assert_eq!(of("ssc_next_hop_failures_total", target), Some(event::Sample::Value(failed)));
    }
    // An answer to a question that nobody asked changes nothing.
    world.step(In::Resolved { query: 999, answer: Answer::Host(Vec::new()) });
    // The domain is looked up again after a minute; a DNS that is down takes nothing away.
    world.sent.clear();
    world.pass(Duration::from_secs(61));
    let (query, _) = world.queries.pop().expect("asked again");
    world.step(In::Resolved { query, answer: Answer::Naptr(Vec::new()) });
    while let Some((query, question)) = world.queries.pop() {
        let answer = match question {
            Query::Host(_) => Answer::Host(Vec::new()),
            _ => Answer::Srv(Vec::new()),
        };
        world.step(In::Resolved { query, answer });
    }
    world.sent.clear();
    world.receive(ALICE, ACCESS, &Caller::new("still").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
}

#[test]
fn parameters_that_speak_for_the_network_do_not_come_from_the_untrusted_side() {
    let credentials =
        "Digest username=\"a\", realm=\"r\", integrity-protected=\"tls-yes\", nonce=\"n\"";
    let identity = "<sip:+1;verstat=TN-Validation-Passed;cpc=operator@example.com>";
    let lie = |text: String| text.replace("<sip:alice@example.com>", identity);
    for (site, is_believed) in [
        (SITE.to_owned(), false),
        (SITE.replacen("[[realm]]", "[[realm]]\ntrusted = true", 1), true),
    ] {
        let mut world = World::new(&site);
        let more = format!("Authorization: {credentials}\r\nP-Preferred-Identity: {identity}\r\n");
        for method in ["REGISTER", "INVITE"] {
            let alice = Caller::new(method);
            world.receive(ALICE, ACCESS, &lie(alice.request(method, &more, "")));
            let sent = world.sent.drain(..).find(|sent| sent.to == BOB.parse().unwrap()).unwrap();
            assert_eq!(sent.text.contains("integrity-protected"), is_believed, "{}", sent.text);
            assert_eq!(sent.text.matches("verstat").count(), usize::from(is_believed) * 2);
            assert_eq!(sent.text.contains("cpc="), is_believed);
            assert!(is_believed || header(&sent.text, "From").contains("<sip:+1@example.com>"));
            let kept = ["username=\"a\"", "realm=\"r\"", "nonce=\"n\""];
            assert!(kept.iter().all(|kept| header(&sent.text, "Authorization").contains(kept)));
        }
        let lies = world.metric("ssc_claims_removed_total");
        assert_eq!(lies, if is_believed { 0 } else { 2 });
    }
}

#[test]
fn a_second_contact_does_not_cross_with_its_address() {
    let own = format!("Contact: <sip:alice@{ALICE}>");
    for (contact, wanted) in [
        (
            "Contact: <sip:alice@10.0.0.1:5062>;q=1, <sip:alice@10.9.9.9>",
            "<sip:alice@127.0.0.1:5070>;q=1",
        ),
        (
            "Contact: \"a\\\" <sip:eve@10.9.9.9>\" <sip:alice@10.0.0.1:5062>;+sip.x",
            "<sip:alice@127.0.0.1:5070>;+sip.x",
        ),
    ] {
        let mut world = World::new(SITE);
        let invite = Caller::new("two").request("INVITE", "", SDP).replace(&own, contact);
        world.receive(ALICE, ACCESS, &invite);
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        assert_eq!(header(&invite, "Contact"), wanted);
        assert!(!invite.contains("10.9.9.9"), "{invite}");
    }
}
