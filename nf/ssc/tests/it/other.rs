//! Requests outside of calls, limits, probes, capture, management.

use crate::world::*;
use machine::Duration;
use runtime::{Flow, In, Transport};

#[test]
fn a_message_crosses_and_its_answer_comes_back() {
    let mut world = World::new(SITE);
    let alice = Caller::new("m1");
    let text =
        alice.request("MESSAGE", "", "").replace("Contact: <sip:alice@10.0.0.1:5062>\r\n", "");
    world.receive(ALICE, ACCESS, &text);
    let message = world.expect(BOB, "MESSAGE sip:bob@example.org");
    assert_ne!(header(&message, "Call-ID"), "m1");
    world.receive(BOB, CORE, &respond(&message, "202 Accepted", "b1", "", ""));
    let accepted = world.expect(ALICE, "SIP/2.0 202");
    assert_eq!(header(&accepted, "Call-ID"), "m1");
    world.expect_idle();
}

#[test]
fn an_unknown_method_crosses_with_its_name() {
    let mut world = World::new(SITE);
    let text = Caller::new("m2").request("NEWMETHOD", "X-Odd:\tvalue  \r\n", "");
    world.receive(ALICE, ACCESS, &text);
    let message = world.expect(BOB, "NEWMETHOD sip:bob@example.org");
    assert!(message.contains("\r\nX-Odd:\tvalue  \r\n"));
    world.receive(BOB, CORE, &respond(&message, "501 Not Implemented", "b1", "", ""));
    world.expect(ALICE, "SIP/2.0 501");
    world.expect_idle();
}

#[test]
fn a_subscription_lives_until_its_last_notify() {
    let mut world = World::new(SITE);
    let alice = Caller::new("n1");
    let more = "Event: presence\r\nExpires: 600\r\n";
    world.receive(ALICE, ACCESS, &alice.request("SUBSCRIBE", more, ""));
    let subscribe = world.expect(BOB, "SUBSCRIBE");
    assert_eq!(header(&subscribe, "Event"), "presence");
    // The NOTIFY overtakes the 2xx.
    let active = "Event: presence\r\nSubscription-State: active\r\n";
    world.receive(BOB, CORE, &from_bob(&subscribe, "b1", "NOTIFY", 10, active));
    let notify = world.expect(ALICE, "NOTIFY sip:alice@10.0.0.1:5062");
    world.receive(ALICE, ACCESS, &respond(&notify, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200");
    let more = format!("{BOB_CONTACT}Expires: 600\r\n");
    world.receive(BOB, CORE, &respond(&subscribe, "200 OK", "b1", &more, ""));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    assert_eq!(tag(&ok, "To"), tag(&notify, "From"));
    let last = "Event: presence\r\nSubscription-State: terminated;reason=timeout\r\n";
    world.receive(BOB, CORE, &from_bob(&subscribe, "b1", "NOTIFY", 11, last));
    let notify = world.expect(ALICE, "NOTIFY");
    world.receive(ALICE, ACCESS, &respond(&notify, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200");
    assert!(world.ask("calls", &[]).as_array().unwrap().is_empty());
    world.expect_idle();
}

#[test]
fn a_subscription_without_notify_ends_with_its_expiry() {
    let mut world = World::new(SITE);
    world.receive(ALICE, ACCESS, &Caller::new("n2").request("SUBSCRIBE", "Event: x\r\n", ""));
    let subscribe = world.expect(BOB, "SUBSCRIBE");
    let more = format!("{BOB_CONTACT}Expires: 60\r\n");
    world.receive(BOB, CORE, &respond(&subscribe, "200 OK", "b1", &more, ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.pass(Duration::from_secs(90));
    assert_eq!(world.ask("calls", &[]).as_array().unwrap().len(), 1);
    world.expect_idle();
}

#[test]
fn options_to_us_are_answered_here() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("q1");
    alice.target = "sip:127.0.0.1:5060".into();
    world.receive(ALICE, ACCESS, &alice.request("OPTIONS", "", ""));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    assert!(header(&ok, "Allow").contains("PRACK"));
    world.expect_idle();
}

#[test]
fn requests_that_must_not_go_on_are_refused_with_their_status() {
    let mut world = World::new(SITE);
    for (n, (from, to, status)) in [
        ("Max-Forwards: 70", "Max-Forwards: 0", "SIP/2.0 483"),
        ("INVITE sip:", "INVITE xyz:", "SIP/2.0 416"),
        ("Max-Forwards: 70", "Max-Forwards: 7\r\nProxy-Require: foo", "SIP/2.0 420"),
        ("Contact: <sip:alice@10.0.0.1:5062>", "X: y", "SIP/2.0 400"),
        ("Contact: <sip:alice@10.0.0.1:5062>", "Contact: <sip:@10.0.0.1>", "SIP/2.0 400"),
        ("Contact: <sip:alice@10.0.0.1:5062>", "Contact: *", "SIP/2.0 400"),
    ]
    .into_iter()
    .enumerate()
    {
        let text = Caller::new(&format!("e{n}")).request("INVITE", "", "").replacen(from, to, 1);
        world.receive(ALICE, ACCESS, &text);
        let answer = world.expect(ALICE, status);
        assert!(status != "SIP/2.0 420" || header(&answer, "Unsupported") == "foo");
        world.expect_nothing();
    }
    world.expect_idle();
}

#[test]
fn our_own_invite_that_comes_back_unchanged_is_a_loop_and_changed_is_a_spiral() {
    let mut world = World::new(SITE);
    world.receive(ALICE, ACCESS, &Caller::new("loop").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &invite.replacen("z9hG4bK", "z9hG4bKx", 1));
    world.expect(BOB, "SIP/2.0 482");
    let spiral = invite.replacen("z9hG4bK", "z9hG4bKy", 1).replacen("sip:bob@", "sip:carol@", 1);
    world.receive(BOB, CORE, &spiral);
    world.expect(BOB, "SIP/2.0 100");
    world.expect(ALICE, "INVITE sip:carol@example.org");
    world.expect_idle();
}

#[test]
fn what_is_no_sip_is_counted_and_answered_where_possible() {
    let mut world = World::new(SITE);
    world.receive(ALICE, ACCESS, "\r\n\r\n");
    world.expect_nothing();
    world.receive(ALICE, ACCESS, "rubbish");
    world.expect_nothing();
    let text = Caller::new("bad").request("INVITE", "", "").replace("CSeq: 1 INVITE", "CSeq: x");
    world.receive(ALICE, ACCESS, &text);
    world.expect(ALICE, "SIP/2.0 400");
    assert_eq!(world.metric("ssc_messages_malformed_total"), 2);
}

#[test]
fn a_full_table_answers_503_with_retry_after() {
    let mut world = World::new(&format!("{SITE}\n[limits]\ncalls_max = 1\n"));
    for (id, first) in [("v1", true), ("v2", false)] {
        world.receive(ALICE, ACCESS, &Caller::new(id).request("INVITE", "", SDP));
        if first {
            world.expect(ALICE, "SIP/2.0 100");
            world.expect(BOB, "INVITE");
        } else {
            let refused = world.expect(ALICE, "SIP/2.0 503");
            assert_eq!(header(&refused, "Retry-After"), "5");
        }
    }
    assert_eq!(world.metric("ssc_overload_refused_total"), 1);
}

#[test]
fn a_draining_site_takes_no_new_call() {
    let mut world = World::new(SITE);
    world.step(In::Drain);
    world.receive(ALICE, ACCESS, &Caller::new("d1").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 503");
    world.expect_idle();
}

#[test]
fn a_next_hop_that_does_not_answer_its_probes_raises_an_alarm_and_gets_no_calls() {
    let site = SITE.replacen("probe_interval_s = 0", "probe_interval_s = 10", 1);
    let mut world = World::new(&site);
    for _ in 0..60 {
        world.pass(Duration::from_secs(1));
        let probes: Vec<_> = world.sent.drain(..).collect();
        for probe in probes.iter().filter(|p| p.to.to_string() == BACKUP) {
            let to = probe.to.to_string();
            world.receive(&to, CORE, &respond(&probe.text, "200 OK", "p", "", ""));
        }
    }
    let alarms = world.ask("alarms", &[]);
    assert_eq!(alarms[0]["subject"], format!("switch/{BOB}"), "{alarms}");
    assert_eq!(alarms[0]["severity"], "major");
    assert_eq!(world.ask("next-hops", &[])[0]["state"], "down");
    world.receive(ALICE, ACCESS, &Caller::new("w1").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BACKUP, "INVITE");
    world.sent.clear();
    for _ in 0..20 {
        world.pass(Duration::from_secs(1));
        for probe in world.sent.drain(..).collect::<Vec<_>>() {
            if probe.text.starts_with("OPTIONS") {
                let to = probe.to.to_string();
                world.receive(&to, CORE, &respond(&probe.text, "404 Not Found", "p", "", ""));
            }
        }
    }
    assert!(world.ask("alarms", &[]).as_array().unwrap().is_empty());
}

#[test]
fn a_target_that_falls_silent_is_down_after_two_probes_and_their_interval_each() {
    let site = SITE.replacen("probe_interval_s = 0", "probe_interval_s = 10", 1);
    let mut world = World::new(&site);
    let state = |world: &mut World| world.ask("next-hops", &[])[0]["state"].clone();
    for _ in 0..19 {
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(state(&mut world), "up", "the second probe may still be answered");
    for _ in 0..2 {
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(state(&mut world), "down");
    // The end of a transaction that had failed before says nothing more, a late answer does.
    let probes: Vec<_> = world.sent.drain(..).filter(|it| it.to.to_string() == BOB).collect();
    world.receive(BOB, CORE, &respond(&probes.last().unwrap().text, "200 OK", "p", "", ""));
    assert_eq!(state(&mut world), "up");
    for _ in 0..8 {
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(state(&mut world), "up", "one probe has failed since");
}

#[test]
fn a_request_from_a_target_that_is_down_lets_it_be_probed_at_once_and_no_more() {
    let site = SITE.replacen("probe_interval_s = 0", "probe_interval_s = 60", 1);
    let mut world = World::new(&site);
    let state = |world: &mut World| world.ask("next-hops", &[])[0]["state"].clone();
    for _ in 0..125 {
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(state(&mut world), "down");
    world.sent.clear();
    let probes = |world: &World| {
        let to_bob = world.sent.iter().filter(|it| it.to.to_string() == BOB);
        to_bob.filter(|it| it.text.starts_with("OPTIONS")).count()
    };
    // Not from its address: nothing.
    world.receive(ALICE, ACCESS, &Caller::new("h0").request("OPTIONS", "", ""));
    world.pass(Duration::from_millis(10));
    assert_eq!(probes(&world), 0);
    // A forged source does not bring it up, and a flood of them is one probe a second.
    for number in 0..20 {
        let caller = Caller::new(&format!("h{number}"));
        world.receive(BOB, CORE, &caller.request("OPTIONS", "", ""));
        world.pass(Duration::from_millis(10));
    }
    assert_eq!((probes(&world), state(&mut world)), (1, "down".into()));
    let is_probe = |it: &Sent| it.to.to_string() == BOB && it.text.starts_with("OPTIONS");
    let probe = world.sent.drain(..).find(is_probe).unwrap();
    world.receive(BOB, CORE, &respond(&probe.text, "200 OK", "p", "", ""));
    assert_eq!(state(&mut world), "up");
}

#[test]
fn captured_messages_share_the_trail_of_both_legs_and_losses_raise_an_alarm() {
    let site =
        SITE.replacen("name = \"ssc1\"", "name = \"ssc1\"\ncapture = \"tcp:127.0.0.1:9060\"", 1);
    let mut world = World::new(&site);
    world.receive(ALICE, ACCESS, &Caller::new("cap").request("INVITE", "", SDP));
    world.pass(Duration::from_millis(10));
    let batch = world.raw_to("127.0.0.1:9060");
    let mut trails = Vec::new();
    let mut rest = &batch[..];
    while let hep::Framing::Packet(length) = hep::frame(rest) {
        let packet = hep::Packet::parse(&rest[..length]).unwrap();
        trails.push((packet.correlation.to_vec(), packet.source, packet.kind));
        rest = &rest[length..];
        if rest.is_empty() {
            break;
        }
    }
    let sip: Vec<_> = trails.iter().filter(|t| t.2 == hep::KIND_SIP).collect();
    assert_eq!(sip.len(), 3, "INVITE in, 100 and INVITE out");
    assert!(trails.iter().all(|t| t.0 == trails[0].0 && t.0.len() == 16));
    let port = world.config.capture_flow().unwrap();
    world.step(In::Down { flow: port, why: "connection refused" });
    let alarms = world.ask("alarms", &[]);
    let none = "the collector of captured messages takes none: connection refused";
    assert_eq!(alarms[0]["text"], none, "nothing is lost yet");
    world.receive(ALICE, ACCESS, &Caller::new("cap2").request("INVITE", "", SDP));
    let alarms = world.ask("alarms", &[]);
    assert_eq!(alarms[0]["name"], "capture-shed");
    let lost = alarms[0]["text"].as_str().unwrap();
    assert!(lost.starts_with("captured messages are lost: connection refused; "), "{lost}");
    assert!(world.ask("capture", &[])[0]["shed"].as_u64() > Some(0));
    assert!(
        world.metric("ssc_capture_shed_total") > 0 && world.metric("ssc_capture_packets_total") > 2
    );
}

#[test]
fn a_caller_behind_a_nat_is_followed_to_where_it_sends_from() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("nat");
    world.receive("192.0.2.9:1024", ACCESS, &alice.request("INVITE", "", SDP));
    let trying = world.expect("192.0.2.9:1024", "SIP/2.0 100");
    assert!(header(&trying, "Via").contains("received=192.0.2.9"));
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect("192.0.2.9:1024", "SIP/2.0 200"));
    world.receive("192.0.2.9:2048", ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    alice.cseq = 2;
    world.receive("192.0.2.9:2048", ACCESS, &alice.request("INFO", "", ""));
    world.expect(BOB, "INFO");
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "BYE", 1, ""));
    world.expect("192.0.2.9:2048", "BYE sip:alice@10.0.0.1:5062");
}

#[test]
fn a_new_configuration_keeps_the_calls() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("conf");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let site = SITE.replacen(
        "[[realm]]",
        "[[realm]]\nname = \"new\"\nlisten = [\"udp:127.0.0.1:5090\"]\n[[realm]]",
        1,
    );
    world.configure(&site);
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    world.expect_nothing();
}

#[test]
fn a_response_takes_the_connection_its_request_came_on() {
    let mut world = World::new(SITE);
    let port = world.port(ACCESS, Transport::Tcp);
    let remote = "10.0.0.1:40000".parse().unwrap();
    let mut flow = Flow::to(port, Transport::Tcp, ACCESS.parse().unwrap(), remote);
    flow.conn = runtime::ConnId(7);
    let text = Caller::new("tcp").request("INVITE", "", SDP).replace("SIP/2.0/UDP", "SIP/2.0/TCP");
    world.receive_on(flow, &text);
    world.expect("10.0.0.1:40000", "SIP/2.0 100");
    world.expect(BOB, "INVITE");
}
