//! Whole calls through the controller: both legs, every answer, in virtual time.

use crate::world::*;
use machine::Duration;

/// A call up to its ACK; returns the caller and the INVITE as Bob got it.
fn answered(world: &mut World, call_id: &str) -> (Caller, String) {
    let mut alice = Caller::new(call_id);
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100 Trying");
    let invite = world.expect(BOB, "INVITE sip:bob@example.org SIP/2.0");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180 Ringing");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    let ok = world.expect(ALICE, "SIP/2.0 200 OK");
    assert!(ok.ends_with(SDP));
    alice.learn(&ok);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    let ack = world.expect(BOB, "ACK sip:bob@10.0.1.1:5080 SIP/2.0");
    assert_eq!(header(&ack, "CSeq"), "1 ACK");
    assert_eq!(header(&ack, "Call-ID"), header(&invite, "Call-ID"));
    assert_eq!(tag(&ack, "To"), "b1");
    (alice, invite)
}

#[test]
fn a_call_crosses_with_seven_messages_and_leaves_nothing_behind() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = answered(&mut world, "c1");
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    let bye = world.expect(BOB, "BYE sip:bob@10.0.1.1:5080 SIP/2.0");
    assert_eq!(header(&bye, "CSeq"), "2 BYE");
    assert_eq!(tag(&bye, "From"), tag(&invite, "From"));
    world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    let ok = world.expect(ALICE, "SIP/2.0 200 OK");
    assert_eq!(header(&ok, "CSeq"), "2 BYE");
    world.expect_nothing();
    world.expect_idle();
    assert_eq!(world.metric("ssc_calls_ended_total"), 1);
}

#[test]
fn a_request_that_comes_again_is_answered_the_same_for_64_t1() {
    let mut world = World::new(SITE);
    let (mut alice, _) = answered(&mut world, "again");
    alice.cseq = 2;
    let info = alice.request("INFO", "", "how are you");
    world.receive(ALICE, ACCESS, &info);
    let theirs = world.expect(BOB, "INFO");
    let fine = "Server: bob/1\r\nX-Unknown:  kept\r\n";
    world.receive(BOB, CORE, &respond(&theirs, "200 Fine", "", fine, "thank you"));
    let ok = world.expect(ALICE, "SIP/2.0 200 Fine");
    assert!(ok.ends_with("thank you") && ok.contains(fine));
    for seconds in [0, 1, 30] {
        world.pass(Duration::from_secs(seconds));
        world.receive(ALICE, ACCESS, &info);
        assert_eq!(world.expect(ALICE, "SIP/2.0 200 Fine"), ok);
        world.expect_nothing();
    }
    assert_eq!(world.metric("ssc_retransmissions_received_total"), 3);
    world.pass(Duration::from_secs(2));
    world.receive(ALICE, ACCESS, &info);
    world.expect(BOB, "INFO");
}

#[test]
fn a_refusal_of_a_change_is_sent_again_until_its_ack() {
    let mut world = World::new(SITE);
    let (mut alice, _) = answered(&mut world, "refused");
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "488 Not Acceptable Here", "", "", ""));
    let refused = world.expect(ALICE, "SIP/2.0 488");
    world.expect(BOB, "ACK");
    assert_eq!(header(&refused, "Call-ID"), "refused");
    world.pass(Duration::from_millis(600));
    assert_eq!(world.expect(ALICE, "SIP/2.0 488"), refused);
}

#[test]
fn nothing_of_one_leg_shows_on_the_other() {
    let mut world = World::new(SITE);
    let alice = Caller::new("secret-call-id");
    let routes = "Record-Route: <sip:10.9.9.9;lr>\r\nX-Unknown:  kept ; byte=for byte\r\n";
    world.receive(ALICE, ACCESS, &alice.request("INVITE", routes, SDP));
    let trying = world.expect(ALICE, "SIP/2.0 100");
    assert!(header(&trying, "Via").contains(";rport=5062"));
    let invite = world.expect(BOB, "INVITE");
    for secret in ["secret-call-id", "10.9.9.9", ALICE, "tag=a-"] {
        assert!(!invite.replace(SDP, "").contains(secret), "{secret} shows in\n{invite}");
    }
    assert!(invite.contains("\r\nX-Unknown:  kept ; byte=for byte\r\n"));
    assert_eq!(header(&invite, "Contact"), "<sip:alice@127.0.0.1:5070>");
    assert_eq!(header(&invite, "Max-Forwards"), "69");
    assert!(header(&invite, "Via").starts_with("SIP/2.0/UDP 127.0.0.1:5070;rport;branch=z9hG4bK"));
    let more = format!("{BOB_CONTACT}Record-Route: <sip:10.8.8.8;lr>\r\nServer: x\r\n");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", &more, ""));
    let ringing = world.expect(ALICE, "SIP/2.0 180");
    for secret in ["10.8.8.8", "10.0.1.1", "tag=b1", "127.0.0.1:5070"] {
        assert!(!ringing.contains(secret), "{secret} shows in\n{ringing}");
    }
    assert_eq!(header(&ringing, "Contact"), "<sip:bob@127.0.0.1:5060>");
    assert_eq!(header(&ringing, "Record-Route"), "<sip:10.9.9.9;lr>");
}

#[test]
fn bob_hangs_up() {
    let mut world = World::new(SITE);
    let (alice, invite) = answered(&mut world, "c2");
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "BYE", 1, ""));
    let bye = world.expect(ALICE, "BYE sip:alice@10.0.0.1:5062 SIP/2.0");
    assert_eq!(header(&bye, "Call-ID"), "c2");
    assert_eq!(tag(&bye, "From"), alice.to_tag);
    assert_eq!(tag(&bye, "To"), "a-c2");
    world.receive(ALICE, ACCESS, &respond(&bye, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200 OK");
    world.expect_idle();
}

#[test]
fn a_busy_callee_ends_the_call_on_both_legs() {
    let mut world = World::new(SITE);
    let alice = Caller::new("c3");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "486 Busy Here", "b1", "", ""));
    let mut starts: Vec<_> = world.sent.iter().map(|s| s.text[..11].to_owned()).collect();
    starts.sort();
    assert_eq!(starts, ["ACK sip:bob", "SIP/2.0 486"]);
    world.sent.clear();
    let ack = alice.request("ACK", "", "").replace("branch=z9hG4bKACK", "branch=z9hG4bKINVITE");
    world.receive(ALICE, ACCESS, &ack);
    world.expect_nothing();
    world.expect_idle();
}

#[test]
fn a_cancel_crosses_and_the_invite_ends_with_487() {
    let mut world = World::new(SITE);
    let alice = Caller::new("c4");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180");
    let cancel = alice.request("CANCEL", "", "").replace("z9hG4bKCANCEL", "z9hG4bKINVITE");
    world.receive(ALICE, ACCESS, &cancel);
    world.expect(ALICE, "SIP/2.0 200 OK");
    let cancel = world.expect(BOB, "CANCEL sip:bob@example.org SIP/2.0");
    assert_eq!(header(&cancel, "Via"), header(&invite, "Via"));
    world.receive(BOB, CORE, &respond(&cancel, "200 OK", "b1", "", ""));
    world.receive(BOB, CORE, &respond(&invite, "487 Request Terminated", "b1", "", ""));
    let texts: Vec<_> = world.sent.drain(..).map(|s| s.text).collect();
    assert!(texts.iter().any(|t| t.starts_with("SIP/2.0 487")));
    assert!(texts.iter().any(|t| t.starts_with("ACK ")));
    world.expect_idle();
}

#[test]
fn a_cancel_before_any_answer_waits_for_one() {
    let mut world = World::new(SITE);
    let alice = Caller::new("c5");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let cancel = alice.request("CANCEL", "", "").replace("z9hG4bKCANCEL", "z9hG4bKINVITE");
    world.receive(ALICE, ACCESS, &cancel);
    world.expect(ALICE, "SIP/2.0 200 OK");
    world.expect_nothing();
    world.receive(BOB, CORE, &respond(&invite, "100 Trying", "", "", ""));
    world.expect(BOB, "CANCEL");
    world.expect_idle();
}

#[test]
fn a_2xx_is_repeated_until_its_ack_and_the_call_ends_when_none_comes() {
    let mut world = World::new(SITE);
    let alice = Caller::new("c6");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    world.expect(ALICE, "SIP/2.0 200");
    world.pass(Duration::from_secs(31));
    let count = world.sent.drain(..).filter(|s| s.text.starts_with("SIP/2.0 200")).count();
    assert_eq!(count, 9, "after 0.5, 1.5, 3.5, then every 4 s");
    world.pass(Duration::from_secs(2));
    let starts: Vec<_> =
        world.sent.drain(..).map(|s| (s.text[..4].to_owned(), s.to.port())).collect();
    assert!(starts.contains(&("ACK ".to_owned(), 5080)), "{starts:?}");
    assert!(starts.contains(&("BYE ".to_owned(), 5080)), "{starts:?}");
    assert!(starts.contains(&("BYE ".to_owned(), 5062)), "{starts:?}");
    world.expect_idle();
}

#[test]
fn a_repeated_2xx_is_acknowledged_again_with_the_same_ack() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("c7");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", ""));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let ok = respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP);
    world.receive(BOB, CORE, &ok);
    let answer = world.expect(ALICE, "SIP/2.0 200");
    world.receive(BOB, CORE, &ok);
    world.expect_nothing();
    alice.learn(&answer);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", SDP));
    let ack = world.expect(BOB, "ACK");
    assert!(ack.ends_with(SDP), "a late offer is answered in the ACK");
    world.receive(BOB, CORE, &ok);
    assert_eq!(world.expect(BOB, "ACK"), ack);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", SDP));
    world.expect_nothing();
}

#[test]
fn a_callee_with_a_contact_that_cannot_be_asked_is_asked_by_its_to_header() {
    for contact in ["<sip:@10.0.1.1:5080>", "<>", "*"] {
        let mut world = World::new(SITE);
        let mut alice = Caller::new("odd");
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE ");
        let more = format!("Contact: {contact}\r\n");
        world.receive(BOB, CORE, &respond(&invite, "200 OK", "b", &more, SDP));
        alice.learn(&world.expect(ALICE, "SIP/2.0 200 OK"));
        world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        world.expect(BOB, "ACK sip:bob@example.org SIP/2.0");
    }
}

#[test]
fn a_call_whose_network_died_ends_after_twelve_hours_unless_told_otherwise() {
    let mut world = World::new(SITE);
    answered(&mut world, "dead");
    world.pass(Duration::from_secs(43_199));
    world.expect_nothing();
    assert_eq!(world.ask("calls", &[]).as_array().unwrap().len(), 1);
    world.pass(Duration::from_secs(1));
    let bye = world.expect(ALICE, "BYE sip:alice@10.0.0.1:5062");
    assert!(header(&bye, "Reason").contains("lasted too long"), "{bye}");
    world.expect(BOB, "BYE sip:bob@10.0.1.1:5080");
    world.expect_idle();
    assert_eq!(world.metric("ssc_calls_torn_down_total"), 1);

    let mut world = World::new(&format!("{SITE}\n[timers]\ncall_max_s = 0\n"));
    answered(&mut world, "immortal");
    world.pass(Duration::from_secs(100_000));
    world.expect_nothing();
}
