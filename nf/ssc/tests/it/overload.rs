//! Under overload, and at limits: who is let in, what the others are told, and what is left.

use crate::world::*;
use machine::Duration;
use runtime::{ConnId, Flow, Function, Transport};

/// A world in which messages have waited `ms` for a while.
fn loaded(site: &str, ms: u64) -> World {
    let mut world = World::new(site);
    world.overload();
    world.controller.waited(world.now, Duration::from_millis(ms));
    world
}

fn ack(caller: &Caller, refusal: &str) -> String {
    let to = format!("To: {}", header(refusal, "To"));
    caller
        .request("ACK", "", "")
        .replace("z9hG4bKACK", "z9hG4bKINVITE")
        .replace("To: <sip:bob@example.org>", &to)
}

#[test]
fn a_call_that_waited_too_long_is_refused_without_a_trace_and_its_ack_is_absorbed() {
    let mut world = loaded(SITE, 50);
    let transactions = world.metric("ssc_transactions_live");
    let caller = Caller::new("late");
    let invite = caller.request("INVITE", "", SDP);
    world.receive(ALICE, ACCESS, &invite);
    let refusal = world.expect(ALICE, "SIP/2.0 503 Service Unavailable\r\nVia: ");
    let after: u32 = header(&refusal, "Retry-After").parse().unwrap();
    assert!((5..=10).contains(&after), "{after}");
    assert!(header(&refusal, "Via").contains(";rport=5062"), "{refusal}");
    assert_eq!(header(&refusal, "CSeq"), "1 INVITE");
    assert!(!tag(&refusal, "To").is_empty());
    world.receive(ALICE, ACCESS, &ack(&caller, &refusal));
    world.expect_nothing();
    assert_eq!(world.metric("ssc_transactions_live"), transactions);
    assert_eq!(world.metric("ssc_overload_calls_shed_total"), 2, "the last probe and this one");
    assert_eq!(world.metric("ssc_overloaded"), 1);
    let alarms = world.ask("alarms", &[]).to_string();
    assert!(alarms.contains("overload") && !alarms.contains("capture"), "nothing is captured here");
}

#[test]
fn a_retransmission_gets_the_same_answer_even_when_there_is_time_again() {
    let mut world = loaded(SITE, 50);
    let invite = Caller::new("again").request("INVITE", "", SDP);
    world.receive(ALICE, ACCESS, &invite);
    let first = world.expect(ALICE, "SIP/2.0 503");
    for wait_ms in [50, 1] {
        world.controller.waited(world.now, Duration::from_millis(wait_ms));
        world.receive(ALICE, ACCESS, &invite);
        assert_eq!(world.expect(ALICE, "SIP/2.0 503"), first);
    }
    assert_eq!(world.metric("ssc_overload_calls_shed_total"), 2, "counted once");
}

#[test]
fn a_call_that_was_let_in_is_not_refused_when_it_asks_again() {
    let mut world = World::new(SITE);
    let invite = Caller::new("in").request("INVITE", "", SDP);
    world.receive(ALICE, ACCESS, &invite);
    let trying = world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
    world.overload();
    world.controller.waited(world.now, Duration::from_millis(200));
    world.receive(ALICE, ACCESS, &invite);
    assert_eq!(world.expect(ALICE, "SIP/2.0 100"), trying);
    world.expect_nothing();
}

#[test]
fn calls_in_progress_and_emergency_calls_cross_an_overload() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("talk");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.overload();
    world.controller.waited(world.now, Duration::from_millis(500));
    world.receive(ALICE, ACCESS, &Caller::new("new").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 503");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
    let mut sos = Caller::new("sos");
    sos.target = "urn:service:sos.fire".into();
    let text = sos.request("INVITE", "", SDP);
    world.receive(ALICE, ACCESS, &text);
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE urn:service:sos.fire SIP/2.0");
    let priority = "Resource-Priority: ets.0\r\n";
    world.receive(ALICE, ACCESS, &Caller::new("liar").request("INVITE", priority, SDP));
    world.expect(ALICE, "SIP/2.0 503");
    let mut trusted = Caller::new("ets");
    (trusted.at, trusted.listener) = (BOB, CORE);
    world.receive(BOB, CORE, &trusted.request("INVITE", priority, SDP));
    world.expect(BOB, "SIP/2.0 100");
}

fn register(source: &str, call_id: &str, cseq: u32) -> String {
    format!(
        "REGISTER sip:example.com SIP/2.0\r\n\
         Via: SIP/2.0/UDP {source};rport;branch=z9hG4bK{call_id}{cseq}\r\n\
         Max-Forwards: 70\r\nFrom: <sip:{call_id}@example.com>;tag=r\r\n\
         To: <sip:{call_id}@example.com>\r\nCall-ID: {call_id}\r\nCSeq: {cseq} REGISTER\r\n\
         Contact: <sip:{call_id}@{source}>\r\nExpires: 600\r\nContent-Length: 0\r\n\r\n"
    )
}

#[test]
fn refreshes_go_before_first_registrations_and_those_before_calls() {
    let mut world = World::new(SITE);
    world.receive(ALICE, ACCESS, &register(ALICE, "alice", 1));
    let forwarded = world.expect(BOB, "REGISTER");
    let more = format!("Contact: {};expires=1800\r\n", header(&forwarded, "Contact"));
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    world.expect(ALICE, "SIP/2.0 200");
    let other = "10.0.0.9:5062";
    let mut verdicts = |ms: u64, n: u32| {
        world.overload();
        world.controller.waited(world.now, Duration::from_millis(ms));
        world.sent.clear();
        let mut refused = |from: &str, text: &str| {
            world.receive(from, ACCESS, text);
            let is = world.sent.iter().any(|sent| sent.text.starts_with("SIP/2.0 503"));
            world.sent.clear();
            is
        };
        let call = refused(ALICE, &Caller::new(&format!("c{n}")).request("INVITE", "", SDP));
        let first = refused(other, &register(other, &format!("bob{n}"), 1));
        let refresh = refused(ALICE, &register(ALICE, "alice", 2 + n));
        (call, first, refresh)
    };
    assert_eq!(verdicts(20, 1), (true, false, false));
    assert_eq!(verdicts(30, 2), (true, true, false));
    assert_eq!(verdicts(40, 3), (true, true, true));
    assert!(world.metric("ssc_overload_registrations_shed_total") > 0);
    assert!(world.metric("ssc_overload_refreshes_shed_total") > 0);
}

#[test]
fn a_refusal_answers_whatever_names_are_written_like() {
    let second = "SIP/2.0/UDP 198.51.100.9;branch=z9hG4bKsecond";
    let invite = Caller::new("brief").request("INVITE", &format!("VIA:{second}\r\n"), SDP);
    let lines = [
        ("Via: SIP", "v:SIP"),
        ("From: ", "f: "),
        ("To: ", "t:\t"),
        ("Call-ID: ", "i: "),
        ("CSeq: ", "cseq:"),
    ];
    let brief = lines.iter().fold(invite, |text, (from, to)| {
        assert!(text.contains(from));
        text.replacen(from, to, 1)
    });
    let mut world = loaded(SITE, 50);
    world.receive(ALICE, ACCESS, &brief);
    let text = world.expect(ALICE, "SIP/2.0 503");
    let refusal = sip::Message::parse(text.as_bytes()).unwrap();
    let asked = sip::Message::parse(brief.as_bytes()).unwrap();
    let vias: Vec<_> = refusal.lines_of(sip::Header::Via).map(|line| line.value).collect();
    assert_eq!((vias.len(), vias[1]), (2, second.as_bytes()), "{text}");
    assert_eq!(refusal.via().branch, asked.via().branch);
    assert_eq!((refusal.from(), refusal.call_id()), (asked.from(), asked.call_id()));
    assert_eq!((refusal.cseq(), refusal.to().uri), (asked.cseq(), asked.to().uri));

    // A blank before a colon: read with more care, and let in rather than answered wrongly.
    let odd = Caller::new("odd").request("INVITE", &format!("v : {second}\r\n"), SDP);
    world.receive(ALICE, ACCESS, &odd);
    world.expect(ALICE, "SIP/2.0 100");
}

#[test]
fn an_overload_ends_and_what_is_out_of_the_ordinary_is_never_lost() {
    let mut world = loaded(SITE, 50);
    let folded = Caller::new("folded").request("INVITE", "Subject: a\r\n b\r\n", SDP);
    world.receive(ALICE, ACCESS, &folded);
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
    world.pass(Duration::from_millis(400));
    world.sent.clear();
    world.controller.waited(world.now, Duration::ZERO);
    world.receive(ALICE, ACCESS, &Caller::new("fresh").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    assert_eq!(world.metric("ssc_overloaded"), 0);
}

/// The site with a limit for what comes from the access realm.
fn limited(limit: &str) -> String {
    SITE.replacen("name = \"access\"", &format!("name = \"access\"\n{limit}"), 1)
}

#[test]
fn the_excess_over_a_limit_gets_its_status_and_a_change_drops_no_call() {
    let mut world = World::new(&limited("limit = { calls_max = 1 }"));
    let mut alice = Caller::new("stays");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(ALICE, ACCESS, &Caller::new("more").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 486 Busy Here");
    assert_eq!(world.metric("ssc_limit_realm_refused_total"), 1);
    let busy = "limit = { calls_max = 1, excess_status = 503, retry_after_s = 77 }";
    world.configure(&limited(busy));
    world.receive(ALICE, ACCESS, &Caller::new("even-more").request("INVITE", "", SDP));
    assert_eq!(header(&world.expect(ALICE, "SIP/2.0 503"), "Retry-After"), "77");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "BYE", 1, ""));
    let bye = world.expect(ALICE, "BYE");
    world.receive(ALICE, ACCESS, &respond(&bye, "200 OK", "", "", ""));
    world.sent.clear();
    world.receive(ALICE, ACCESS, &Caller::new("next").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
}

#[test]
fn every_end_of_a_call_gives_back_what_it_held() {
    let mut world = World::new(&limited("limit = { calls_max = 100 }"));
    let calls = |world: &mut World| world.ask("limits", &[])[0]["calls"].as_u64().unwrap();
    let invited = |world: &mut World, call_id: &str| {
        let alice = Caller::new(call_id);
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        (alice, invite)
    };
    let (_, busy) = invited(&mut world, "busy");
    assert_eq!(calls(&mut world), 1);
    assert!(world.metric("ssc_resource_units_live") >= 10);
    world.receive(BOB, CORE, &respond(&busy, "486 Busy Here", "b", "", ""));
    world.sent.clear();
    let (alice, _) = invited(&mut world, "cancelled");
    let cancel = alice.request("CANCEL", "", "").replace("z9hG4bKCANCEL", "z9hG4bKINVITE");
    world.receive(ALICE, ACCESS, &cancel);
    world.sent.clear();
    invited(&mut world, "silent");
    let (_, invite) = invited(&mut world, "no-ack");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b", BOB_CONTACT, SDP));
    world.pass(Duration::from_secs(400));
    assert_eq!(calls(&mut world), 0);
    assert_eq!(world.metric("ssc_resource_units_live"), 0);
    world.expect_idle();
}

#[test]
fn subscribers_and_units_are_limited_and_told() {
    let mut world = World::new(&limited("subscriber_limit = { calls_max = 1 }"));
    world.receive(ALICE, ACCESS, &Caller::new("one").request("INVITE", "", SDP));
    world.sent.clear();
    world.receive(ALICE, ACCESS, &Caller::new("two").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 486");
    let other = Caller::new("three").request("INVITE", "", SDP).replace("alice@", "carol@");
    world.receive(ALICE, ACCESS, &other);
    world.expect(ALICE, "SIP/2.0 486");
    world.receive("10.0.0.3:5062", ACCESS, &other.replace("three", "four"));
    world.expect("10.0.0.3:5062", "SIP/2.0 100");
    assert_eq!(world.metric("ssc_limit_subscriber_refused_total"), 2);
    let mut world = World::new(&format!("{SITE}\n[resources]\nunits_max = 15\n"));
    world.receive(ALICE, ACCESS, &Caller::new("one").request("INVITE", "", SDP));
    world.sent.clear();
    world.receive(ALICE, ACCESS, &Caller::new("two").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 503");
    assert_eq!(world.metric("ssc_limit_units_refused_total"), 1);
}

#[test]
fn a_refusal_at_a_limit_names_it_in_the_service_assurance() {
    let site = limited("limit = { calls_per_s = 0.0 }").replacen(
        "name = \"ssc1\"",
        "name = \"ssc1\"\ncapture = \"udp:127.0.0.1:9060\"",
        1,
    );
    let mut world = World::new(&site);
    world.receive(ALICE, ACCESS, &Caller::new("no").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 486");
    world.pass(Duration::from_millis(20));
    let captured = String::from_utf8_lossy(&world.raw_to("127.0.0.1:9060")).into_owned();
    assert!(captured.contains("\"event\":\"RequestRejected\""), "{captured}");
    assert!(captured.contains("the realm's calls per second are reached"), "{captured}");
    assert!(captured.contains("\"limit\":\"access\""), "{captured}");
}

/// First lines of the SIP messages that were captured, and whether all have one trail.
fn captured(world: &mut World) -> (Vec<String>, bool) {
    let batch = world.raw_to("127.0.0.1:9060");
    let (mut lines, mut trails, mut rest) = (Vec::new(), Vec::new(), &batch[..]);
    while let hep::Framing::Packet(length) = hep::frame(rest) {
        let packet = hep::Packet::parse(&rest[..length]).unwrap();
        if packet.kind == hep::KIND_SIP {
            let text = String::from_utf8_lossy(packet.payload);
            lines.push(text.split(" sip:").next().unwrap().lines().next().unwrap().to_owned());
            trails.push(packet.correlation.to_vec());
        }
        rest = &rest[length..];
        if rest.is_empty() {
            break;
        }
    }
    let is_one = trails.iter().all(|trail| trail == &trails[0] && trail.len() == 16);
    (lines, is_one)
}

#[test]
fn under_overload_a_call_is_captured_in_brief_unless_captures_are_kept_whole() {
    for is_thin in [true, false] {
        let capture = "name = \"ssc1\"\ncapture = \"tcp:127.0.0.1:9060\"";
        let site = SITE.replacen("name = \"ssc1\"", capture, 1);
        let mut world = loaded(&format!("{site}\n[overload]\nthin_captures = {is_thin}\n"), 1);
        world.raw_to("127.0.0.1:9060");
        let (mut alice, _) = world.call("brief");
        world.end(&mut alice);
        world.pass(Duration::from_millis(20));
        let (lines, is_one) = captured(&mut world);
        let brief = ["INVITE", "SIP/2.0 200 OK", "BYE", "SIP/2.0 200 OK"];
        let alarms = world.ask("alarms", &[]).to_string();
        let thinned = world.metric("ssc_capture_thinned_total");
        if is_thin {
            assert_eq!(lines, brief);
            assert!(is_one && thinned > 0 && alarms.contains("capture-thinned"), "{alarms}");
        } else {
            assert!(lines.len() > 8 && thinned == 0, "{lines:?}");
            assert!(!alarms.contains("capture-thinned"), "{alarms}");
        }
    }
}

/// A call for help from `from`, under overload; its answer's status, and nothing else is left.
fn help(world: &mut World, name: &str, flow: Flow) -> String {
    let mut caller = Caller::new(name);
    caller.target = "urn:service:sos".into();
    let mut text = caller.request("INVITE", "", SDP);
    if flow.transport.is_stream() {
        text = text.replace("/UDP", "/TCP");
    }
    world.sent.clear();
    world.receive_on(flow, &text);
    let answer = world.sent.front().map_or("it waits", |sent| &sent.text);
    let status = answer[..11.min(answer.len())].replace("SIP/2.0 ", "");
    world.sent.clear();
    status
}

fn from(world: &World, remote: &str, transport: Transport) -> Flow {
    let port = world.port(ACCESS, transport);
    let flow = Flow::to(port, transport, ACCESS.parse().unwrap(), remote.parse().unwrap());
    Flow { conn: ConnId(u32::from(transport.is_stream())), ..flow }
}

#[test]
fn a_call_for_help_is_counted_once_and_not_when_it_asks_again() {
    let mut world = World::new(SITE);
    world.overload();
    world.controller.waited(world.now, Duration::from_millis(500));
    let flow = from(&world, ALICE, Transport::Udp);
    for n in 0..100 {
        for _ in 0..4 {
            assert_eq!(help(&mut world, &format!("sos{n}"), flow), "100", "{n}");
        }
    }
    assert_eq!(help(&mut world, "beyond", flow), "503");
    assert_eq!(help(&mut world, "sos5", flow), "100", "it was let in");
    world.now += Duration::from_millis(1_000);
    let helped = (0..20).filter(|n| help(&mut world, &format!("later{n}"), flow) == "100");
    assert_eq!(helped.count(), 10);
}

/// `user` registers a contact at `from`.
fn bind(world: &mut World, user: &str, from: &str) {
    let name = format!("{user}-{}", from.replace(':', "-"));
    let register = format!(
        "REGISTER sip:example.com SIP/2.0\r\nVia: SIP/2.0/UDP {from};rport;branch=z9hG4bK{name}\r\n\
         Max-Forwards: 70\r\nFrom: <sip:{user}@example.com>;tag=r\r\n\
         To: <sip:{user}@example.com>\r\nCall-ID: {name}\r\nCSeq: 1 REGISTER\r\n\
         Contact: <sip:{user}@{from}>\r\nExpires: 600\r\nContent-Length: 0\r\n\r\n"
    );
    world.receive(from, ACCESS, &register);
    let forwarded = world.expect(BOB, "REGISTER");
    let more = format!("Contact: {};expires=1800\r\n", header(&forwarded, "Contact"));
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    world.expect(from, "SIP/2.0 200");
}

#[test]
fn who_forges_an_address_takes_no_help_from_those_who_registered_or_are_connected() {
    let mut world = World::new(SITE);
    bind(&mut world, "alice", ALICE);
    world.overload();
    world.controller.waited(world.now, Duration::from_millis(500));
    let forged = from(&world, &ALICE.replace("5062", "999"), Transport::Udp);
    let refused = (0..200).filter(|n| help(&mut world, &format!("forged{n}"), forged) == "503");
    assert_eq!(refused.count(), 100);
    for (remote, transport) in [(ALICE, Transport::Udp), ("10.0.0.1:700", Transport::Tcp)] {
        let flow = from(&world, remote, transport);
        assert_eq!(help(&mut world, &format!("real{remote}"), flow), "100", "{remote}");
    }
}

#[test]
fn a_subscriber_has_one_budget_of_calls_for_help_wherever_he_registers_and_so_has_an_address() {
    for (is_one, sources, helped) in [(true, 5, 100), (false, 15, 1_000)] {
        let mut world = World::new(SITE);
        let at = |n: u16| format!("10.0.{}.9:{}", if is_one { n } else { 0 }, 7_000 + n);
        for n in 0..sources {
            let user = if is_one { String::from("alice") } else { format!("user{n}") };
            bind(&mut world, &user, &at(n));
        }
        world.overload();
        world.controller.waited(world.now, Duration::from_millis(500));
        let mut count = 0;
        for n in 0..sources {
            let flow = from(&world, &at(n), Transport::Udp);
            let is_helped = |m: &u32| help(&mut world, &format!("{n}x{m}"), flow) == "100";
            count += (0..120).filter(is_helped).count();
        }
        assert_eq!(count, helped, "{is_one}");
    }
}
