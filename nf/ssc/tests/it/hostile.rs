//! Messages of somebody who wants to leave something behind: whatever comes, every transaction,
//! relay and call ends.

use crate::world::*;
use machine::Duration;
use runtime::{ConnId, Flow, In, Transport};

#[test]
fn a_2xx_of_a_fork_too_many_ends_what_it_answers() {
    let mut world = World::new(SITE);
    let alice = Caller::new("sub");
    world.receive(ALICE, ACCESS, &alice.request("SUBSCRIBE", "Event: x\r\nExpires: 60\r\n", ""));
    let subscribe = world.expect(BOB, "SUBSCRIBE");
    for n in 1..=16 {
        let ringing = respond(&subscribe, "183 Progress", &format!("t{n}"), BOB_CONTACT, "");
        world.receive(BOB, CORE, &ringing);
    }
    world.sent.clear();
    let more = format!("{BOB_CONTACT}Expires: 60\r\n");
    world.receive(BOB, CORE, &respond(&subscribe, "200 OK", "t17", &more, ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.expect_idle();
}

#[test]
fn a_2xx_of_a_fork_too_many_that_crosses_a_cancel_ends_the_call() {
    let mut world = World::new(SITE);
    let alice = Caller::new("cancel");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    for n in 1..=16 {
        let ringing = respond(&invite, "180 Ringing", &format!("t{n}"), BOB_CONTACT, "");
        world.receive(BOB, CORE, &ringing);
    }
    world.sent.clear();
    let cancel = alice.request("CANCEL", "", "").replace("z9hG4bKCANCEL", "z9hG4bKINVITE");
    world.receive(ALICE, ACCESS, &cancel);
    world.expect(ALICE, "SIP/2.0 200");
    let cancel = world.expect(BOB, "CANCEL");
    world.receive(BOB, CORE, &respond(&cancel, "200 OK", "", "", ""));
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "t17", BOB_CONTACT, SDP));
    world.expect(ALICE, "SIP/2.0 200");
    world.expect_idle();
}

#[test]
fn a_bye_that_nobody_answers_does_not_keep_the_2xx_that_nobody_acknowledged() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("no-ack");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.pass(Duration::from_secs(10));
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    world.expect_idle();
}

#[test]
fn the_silence_of_a_target_that_was_given_up_does_not_end_the_call_at_the_next() {
    let mut world = World::new(SITE);
    let alice = Caller::new("next");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
    world.pass(Duration::from_secs(5));
    let at = world.sent.iter().position(|sent| sent.to == BACKUP.parse().unwrap()).unwrap();
    let invite = world.sent[at].text.clone();
    world.sent.clear();
    world.receive(BACKUP, CORE, &respond(&invite, "180 Ringing", "b2", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180");
    world.pass(Duration::from_secs(60));
    let said = world.sent.iter().find(|sent| sent.to == ALICE.parse().unwrap());
    assert!(said.is_none(), "{said:?}");
    world.sent.clear();
    world.receive(BACKUP, CORE, &respond(&invite, "200 OK", "b2", BOB_CONTACT, SDP));
    world.expect(ALICE, "SIP/2.0 200");
}

#[test]
fn no_connection_that_ended_is_forgotten_however_many_end_at_once() {
    const CALLS: u32 = 1_100;
    let mut world = World::new(SITE);
    let port = world.port(ACCESS, Transport::Tcp);
    let flow = |n: u32| Flow {
        conn: ConnId(n),
        ..Flow::to(
            port,
            Transport::Tcp,
            ACCESS.parse().unwrap(),
            format!("10.0.0.1:{}", 10_000 + n).parse().unwrap(),
        )
    };
    for n in 1..=CALLS {
        let mut alice = Caller::new(&format!("tcp{n}"));
        world.receive_on(flow(n), &alice.request("INVITE", "", SDP).replace("/UDP", "/TCP"));
        world.sent.pop_front();
        let invite = world.expect(BOB, "INVITE");
        world.receive(BOB, CORE, &respond(&invite, "200 OK", &format!("b{n}"), BOB_CONTACT, SDP));
        alice.learn(&world.sent.pop_front().unwrap().text);
        world.receive_on(flow(n), &alice.request("ACK", "", "").replace("/UDP", "/TCP"));
        world.expect(BOB, "ACK");
    }
    for n in 1..=CALLS {
        world.step(In::Down { flow: flow(n), why: "closed by the far end" });
    }
    world.tick();
    assert_eq!(world.metric("ssc_calls_torn_down_total"), u64::from(CALLS));
}

#[test]
fn the_to_of_a_stranger_makes_no_emergency_and_a_source_has_so_many_of_them() {
    let site =
        SITE.replacen("name = \"access\"", "name = \"access\"\nlimit = { calls_max = 1 }", 1);
    let mut world = World::new(&site);
    let _ = world.call("first");
    let to = |text: String| text.replace("To: <sip:bob@example.org>", "To: <urn:service:sos>");
    world.receive(ALICE, ACCESS, &to(Caller::new("sly").request("INVITE", "", SDP)));
    world.expect(ALICE, "SIP/2.0 486");
    // The Request-URI is where it goes: such a call is let in, and so are many, but not all.
    let (mut helped, mut refused) = (0, 0);
    for n in 0..500 {
        let mut alice = Caller::new(&format!("sos{n}"));
        alice.target = String::from("urn:service:sos");
        world.sent.clear();
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        match &world.sent.pop_front().unwrap().text[8..11] {
            "100" => helped += 1,
            "486" => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert!(helped >= 50 && refused > 0, "{helped} {refused}");
}

/// A rule that looks at what one message has too many lines of.
const LOOKS: &str = r#"
[[rule]]
realm = "access"
direction = "out"
message = "response"
[[rule.when]]
header = "HEADER"
matches = "nothing like it"
[[rule.do]]
add = "X-Site"
value = "tandem"
"#;

fn lines(line: &str, count: usize) -> String {
    line.repeat(count)
}

#[test]
fn a_response_that_no_rule_can_be_applied_to_is_answered_without_them() {
    for header_name in ["Reason", "Via"] {
        let mut world = World::new(&format!("{SITE}{}", LOOKS.replace("HEADER", header_name)));
        let routes = lines("Record-Route: <sip:10.0.0.9;lr>\r\n", 100);
        let reasons = lines("Reason: SIP;cause=486\r\n", 40);
        let vias = lines("Via: SIP/2.0/UDP 10.0.0.8;branch=z9hG4bK8\r\n", 115);
        for (n, status) in ["486 Busy Here", "200 OK"].into_iter().enumerate() {
            let alice = Caller::new(&format!("invite{n}"));
            world.receive(ALICE, ACCESS, &alice.request("INVITE", &routes, SDP));
            let Some(sent) =
                world.sent.iter().find(|sent| sent.text.starts_with("INVITE")).cloned()
            else {
                panic!("{:?}", world.sent)
            };
            world.sent.clear();
            let more = format!("{BOB_CONTACT}{reasons}");
            world.receive(BOB, CORE, &respond(&sent.text, status, "b1", &more, ""));
            let answers: Vec<String> = world.sent.drain(..).map(|sent| sent.text).collect();
            assert!(
                answers.iter().any(|it| it.starts_with("SIP/2.0 500") || header_name == "Via"),
                "{answers:?}"
            );
        }
        let mut probe = Caller::new("probe");
        probe.target = format!("sip:{ACCESS}");
        world.receive(ALICE, ACCESS, &probe.request("OPTIONS", &vias, ""));
        world.expect(ALICE, "SIP/2.0 ");
        world.receive(ALICE, ACCESS, &Caller::new("letter").request("MESSAGE", &vias, ""));
        let letter = world.expect(BOB, "MESSAGE");
        world.receive(BOB, CORE, &respond(&letter, "202 Accepted", "b2", &reasons, ""));
        world.expect_idle();
    }
}

#[test]
fn a_refusal_is_repeated_word_by_word() {
    let mut world = World::new(SITE);
    let mut probe = Caller::new("probe");
    probe.target = format!("sip:{ACCESS}");
    let options = probe.request("OPTIONS", "", "");
    let mut invite = Caller::new("twice");
    invite.target = String::from("mailto:somebody@example.org");
    let invite = invite.request("INVITE", "", "");
    for request in [options, invite] {
        world.receive(ALICE, ACCESS, &request);
        let first = world.expect(ALICE, "SIP/2.0 ");
        world.receive(ALICE, ACCESS, &request);
        assert_eq!(world.expect(ALICE, "SIP/2.0 "), first);
    }
    // The answer to a letter bears our tag as well.
    let letter = Caller::new("letter").request("MESSAGE", "", "");
    world.receive(ALICE, ACCESS, &letter);
    let theirs = world.expect(BOB, "MESSAGE");
    world.receive(BOB, CORE, &respond(&theirs, "404 Not Found", "b", "", ""));
    let first = world.expect(ALICE, "SIP/2.0 404");
    assert!(!tag(&first, "To").is_empty());
    world.receive(ALICE, ACCESS, &letter);
    assert_eq!(world.expect(ALICE, "SIP/2.0 404"), first);
    world.expect_idle();
}

#[test]
fn a_2xx_to_an_invite_without_a_tag_begins_no_call() {
    let mut world = World::new(SITE);
    let alice = Caller::new("untagged");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "", BOB_CONTACT, SDP));
    let mut said: Vec<String> = world.sent.drain(..).map(|sent| sent.text).collect();
    said.sort();
    let starts = ["ACK", "BYE", "SIP/2.0 502"];
    assert!(said.len() == 3 && said.iter().zip(starts).all(|(it, is)| it.starts_with(is)));
    world.expect_idle();
}

#[test]
fn further_2xx_are_released_where_they_came_from_and_so_many_times() {
    let mut world = World::new(SITE);
    let (_, invite) = world.call("many");
    let victim = "Contact: <sip:bob@192.0.2.99:5060>\r\n";
    for n in 0..200 {
        let ok = respond(&invite, "200 OK", &format!("x{n}"), victim, SDP);
        world.receive(BOB, CORE, &ok);
    }
    let bob = BOB.parse().unwrap();
    assert!(world.sent.iter().all(|sent| sent.to == bob), "nobody else gets anything");
    assert!(world.sent.len() <= 64, "{}", world.sent.len());
    assert!(world.sent.iter().any(|sent| sent.text.starts_with("BYE")));
}

#[test]
fn the_ack_of_a_2xx_says_no_more_of_addresses_than_its_invite() {
    let mut world =
        World::new(&SITE.replacen("trusted = true", "trusted = true\nhide_hosts = true", 1));
    let mut bob = Caller::new("veil");
    (bob.at, bob.listener) = (BOB, CORE);
    world.receive(BOB, CORE, &bob.request("INVITE", "", SDP));
    world.expect(BOB, "SIP/2.0 100");
    let invite = world.expect(ALICE, "INVITE");
    let contact = format!("Contact: <sip:alice@{ALICE}>\r\n");
    world.receive(ALICE, ACCESS, &respond(&invite, "200 OK", "a1", &contact, SDP));
    bob.learn(&world.expect(BOB, "SIP/2.0 200"));
    let more = "Referred-By: <sip:x@10.0.1.77>\r\n";
    world.receive(BOB, CORE, &bob.request("ACK", more, ""));
    let ack = world.expect(ALICE, "ACK");
    assert!(!ack.contains("10.0.1.77"), "{ack}");
}

/// A 2xx of another fork with the branch of an INVITE of ours, under names of its own.
fn misnamed(invite: &str, n: u32, from_tag: bool, call_id: bool) -> String {
    let ours = tag(invite, "From");
    let mut text = respond(invite, "200 OK", &format!("x{n}"), BOB_CONTACT, SDP);
    if from_tag {
        text = text.replacen(&ours[..16], &format!("{n:016x}"), 1);
    }
    if call_id {
        text = text.replacen(&format!("Call-ID: {}", &ours[..32]), "Call-ID: another", 1);
    }
    assert!(!from_tag && !call_id || !text.contains(&format!("Call-ID: {ours}")));
    text
}

#[test]
fn a_2xx_with_the_branch_of_an_invite_and_names_of_another_is_dropped_and_counted() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = world.call("names");
    for n in 0..100 {
        for (from_tag, call_id) in [(true, false), (false, true), (true, true)] {
            world.receive(BOB, CORE, &misnamed(&invite, n, from_tag, call_id));
        }
    }
    world.expect_nothing();
    assert_eq!(world.metric("ssc_stray_responses_total"), 300);
    world.receive(BOB, CORE, &misnamed(&invite, 1, false, false));
    world.expect(BOB, "ACK");
    world.expect(BOB, "BYE");
    // The same of an INVITE inside the dialog.
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let again = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&again, "200 OK", "b1", BOB_CONTACT, SDP));
    world.expect(ALICE, "SIP/2.0 200");
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    let theirs = again.replace(";tag=b1", "");
    world.receive(BOB, CORE, &misnamed(&theirs, 2, true, false));
    world.expect_nothing();
    world.receive(BOB, CORE, &misnamed(&theirs, 3, false, false));
    world.expect(BOB, "ACK");
    world.expect(BOB, "BYE");
}

#[test]
fn the_2xx_of_one_invite_do_not_make_room_for_those_of_another() {
    let mut world = World::new(SITE);
    let invites: Vec<String> = (0..300).map(|n| world.call(&format!("row{n}")).1).collect();
    for round in 0..100 {
        for invite in &invites {
            world.receive(BOB, CORE, &misnamed(invite, round, false, false));
        }
    }
    assert_eq!(world.metric("ssc_forks_released_total"), 32 * 300);
}

#[test]
fn the_end_of_a_connection_takes_no_calls_of_another_that_has_its_number_now() {
    let mut world = World::new(SITE);
    let port = world.port(ACCESS, Transport::Tcp);
    let flow = |remote: &str| Flow {
        conn: ConnId(7),
        ..Flow::to(port, Transport::Tcp, ACCESS.parse().unwrap(), remote.parse().unwrap())
    };
    let alice = Caller::new("number");
    world.receive_on(flow(ALICE), &alice.request("INVITE", "", SDP).replace("/UDP", "/TCP"));
    world.sent.pop_front();
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    for (remote, ended) in [("10.0.0.66:700", 0), (ALICE, 1)] {
        world.step(In::Down { flow: flow(remote), why: "the connection is gone" });
        world.tick();
        assert_eq!(world.metric("ssc_calls_torn_down_total"), ended, "{remote}");
    }
}

#[test]
fn a_further_2xx_from_elsewhere_is_acknowledged_and_draws_no_bye() {
    let mut world = World::new(SITE);
    let mut bob = Caller::new("elsewhere");
    (bob.at, bob.listener) = (BOB, CORE);
    world.receive(BOB, CORE, &bob.request("INVITE", "", SDP));
    world.expect(BOB, "SIP/2.0 100");
    let invite = world.expect(ALICE, "INVITE");
    let ok =
        |tag, at| respond(&invite, "200 OK", tag, &format!("Contact: <sip:alice@{at}>\r\n"), SDP);
    world.receive(ALICE, ACCESS, &ok("a1", ALICE));
    bob.learn(&world.expect(BOB, "SIP/2.0 200"));
    world.receive(BOB, CORE, &bob.request("ACK", "", ""));
    world.expect(ALICE, "ACK");
    let victim = "192.0.2.99:5060";
    world.receive(victim, ACCESS, &ok("a2", victim));
    world.expect(victim, "ACK");
    world.expect_nothing();
    world.receive(ALICE, ACCESS, &ok("a3", ALICE));
    world.expect(ALICE, "ACK");
    world.expect(ALICE, "BYE");
}

#[test]
fn calls_are_looked_through_for_far_ends_without_connections_a_part_at_a_time() {
    const CALLS: u32 = 4_500;
    let site = SITE.replace("udp:10.0.0.1:5062", "tcp:10.0.0.1:5062");
    let mut world = World::new(&site);
    let port = world.port(ACCESS, Transport::Tcp);
    let alice = Flow::to(port, Transport::Tcp, ACCESS.parse().unwrap(), ALICE.parse().unwrap());
    let contact = format!("Contact: <sip:alice@{ALICE};transport=tcp>\r\n");
    for n in 0..CALLS {
        let mut bob = Caller::new(&format!("part{n}"));
        (bob.at, bob.listener) = (BOB, CORE);
        world.receive(BOB, CORE, &bob.request("INVITE", "", SDP));
        world.expect(BOB, "SIP/2.0 100");
        let invite = world.expect(ALICE, "INVITE");
        world.receive_on(alice, &respond(&invite, "200 OK", "a1", &contact, SDP));
        bob.learn(&world.expect(BOB, "SIP/2.0 200"));
        world.receive(BOB, CORE, &bob.request("ACK", "", ""));
        world.expect(ALICE, "ACK");
    }
    world.step(In::Down { flow: alice, why: "refused" });
    world.tick();
    let first = world.metric("ssc_calls_torn_down_total");
    assert!((1..u64::from(CALLS)).contains(&first), "{first}");
    world.pass(Duration::from_millis(500));
    assert_eq!(world.metric("ssc_calls_torn_down_total"), u64::from(CALLS));
}
