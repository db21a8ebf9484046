//! Calls that do not go straight: failover, forks, reliable provisionals, changes, ends.

use crate::world::*;
use machine::Duration;
use runtime::Function as _;

/// A call up to the INVITE as Bob got it.
fn invited(world: &mut World, call_id: &str, more: &str) -> (Caller, String) {
    let alice = Caller::new(call_id);
    world.receive(ALICE, ACCESS, &alice.request("INVITE", more, SDP));
    world.expect(ALICE, "SIP/2.0 100 Trying");
    let invite = world.expect(BOB, "INVITE");
    (alice, invite)
}

/// Alice hangs up; nothing is left.
fn hang_up(world: &mut World, alice: &mut Caller) {
    alice.cseq += 1;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    let bye = world.sent.pop_front().expect("a BYE").text;
    assert!(bye.starts_with("BYE"), "{bye}");
    let to = if bye.contains("10.0.1.2") { BACKUP } else { BOB };
    world.receive(to, CORE, &respond(&bye, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200 OK");
    world.expect_nothing();
    world.expect_idle();
}

#[test]
fn after_a_503_the_next_target_gets_the_call() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = invited(&mut world, "f1", "");
    world.receive(BOB, CORE, &respond(&invite, "503 Service Unavailable", "b1", "", ""));
    let second = world.expect(BACKUP, "INVITE");
    world.expect(BOB, "ACK");
    assert_ne!(header(&invite, "Via"), header(&second, "Via"));
    let contact = "Contact: <sip:bob@10.0.1.2:5080>\r\n";
    world.receive(BACKUP, CORE, &respond(&second, "200 OK", "b2", contact, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BACKUP, "ACK sip:bob@10.0.1.2:5080");
    assert_eq!(world.metric("ssc_failovers_total"), 1);
    hang_up(&mut world, &mut alice);
}

#[test]
fn a_silent_target_is_left_after_the_failover_time_and_cancelled_when_it_wakes_up() {
    let mut world = World::new(SITE);
    let (_, invite) = invited(&mut world, "f2", "");
    world.pass(Duration::from_millis(4_100));
    let second = world.sent.drain(..).find(|s| s.to.to_string() == BACKUP).expect("failover").text;
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", BOB_CONTACT, ""));
    world.expect(BOB, "CANCEL");
    world.expect_nothing();
    world.receive(BACKUP, CORE, &respond(&second, "486 Busy Here", "b2", "", ""));
    assert!(world.sent.iter().any(|s| s.text.starts_with("SIP/2.0 486")));
    world.expect_idle();
}

#[test]
fn when_the_last_target_fails_its_answer_goes_back() {
    let mut world = World::new(SITE);
    let (_, invite) = invited(&mut world, "f3", "");
    world.receive(BOB, CORE, &respond(&invite, "503 Service Unavailable", "b1", "", ""));
    let second = world.expect(BACKUP, "INVITE");
    world.expect(BOB, "ACK");
    world.receive(BACKUP, CORE, &respond(&second, "503 Service Unavailable", "b2", "", ""));
    assert!(world.sent.iter().any(|s| s.text.starts_with("SIP/2.0 503")));
    world.expect_idle();
}

#[test]
fn nobody_answers_and_the_caller_gets_408() {
    let mut world = World::new(SITE);
    let _ = invited(&mut world, "f4", "");
    world.pass(Duration::from_secs(40));
    assert!(world.sent.iter().any(|s| s.text.starts_with("SIP/2.0 408")));
    world.expect_idle();
}

#[test]
fn ringing_for_too_long_ends_with_408_and_a_cancel() {
    let mut world = World::new(SITE);
    let (_, invite) = invited(&mut world, "f5", "");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180");
    world.pass(Duration::from_secs(181));
    let texts: Vec<_> = world.sent.iter().map(|s| &s.text[..11]).collect();
    assert!(texts.contains(&"SIP/2.0 408"), "{texts:?}");
    assert!(texts.contains(&"CANCEL sip:"), "{texts:?}");
    world.expect_idle();
}

#[test]
fn early_dialogs_of_forks_are_told_apart_and_the_answered_one_becomes_the_call() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = invited(&mut world, "k1", "");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", BOB_CONTACT, ""));
    let first = world.expect(ALICE, "SIP/2.0 180");
    let other = "Contact: <sip:bob@10.0.1.9:5080>\r\n";
    world.receive(BOB, CORE, &respond(&invite, "183 Session Progress", "b2", other, SDP));
    let second = world.expect(ALICE, "SIP/2.0 183");
    assert_ne!(tag(&first, "To"), tag(&second, "To"));
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b2", other, SDP));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    assert_eq!(tag(&second, "To"), tag(&ok, "To"));
    alice.learn(&ok);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    let ack = world.expect("10.0.1.9:5080", "ACK sip:bob@10.0.1.9:5080");
    assert_eq!(tag(&ack, "To"), "b2");
    // The other fork answers too: acknowledged and released, the caller sees nothing.
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    let ack = world.expect(BOB, "ACK sip:bob@10.0.1.1:5080");
    assert_eq!(tag(&ack, "To"), "b1");
    let bye = world.expect(BOB, "BYE sip:bob@10.0.1.1:5080");
    assert_eq!((tag(&bye, "To"), header(&bye, "CSeq")), ("b1", "2 BYE"));
    world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    alice.cseq += 1;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    let bye = world.expect("10.0.1.9:5080", "BYE");
    world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.expect_idle();
}

#[test]
fn a_reliable_provisional_is_acknowledged_end_to_end() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = invited(&mut world, "p1", "Supported: 100rel\r\n");
    assert_eq!(header(&invite, "Supported"), "100rel");
    let more = format!("{BOB_CONTACT}Require: 100rel\r\nRSeq: 9021\r\n");
    world.receive(BOB, CORE, &respond(&invite, "183 Session Progress", "b1", &more, SDP));
    let progress = world.expect(ALICE, "SIP/2.0 183");
    assert_eq!(header(&progress, "RSeq"), "9021");
    alice.learn(&progress);
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("PRACK", "RAck: 9021 1 INVITE\r\n", ""));
    let prack = world.expect(BOB, "PRACK sip:bob@10.0.1.1:5080");
    assert_eq!(header(&prack, "RAck"), "9021 1 INVITE");
    world.receive(BOB, CORE, &respond(&prack, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
    alice.cseq = 3;
    world.receive(ALICE, ACCESS, &alice.request("UPDATE", "", SDP));
    let update = world.expect(BOB, "UPDATE");
    assert_eq!(header(&update, "CSeq"), "3 UPDATE");
    world.receive(BOB, CORE, &respond(&update, "200 OK", "", BOB_CONTACT, SDP));
    world.expect(ALICE, "SIP/2.0 200");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, ""));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    alice.cseq = 1;
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    assert_eq!(header(&world.expect(BOB, "ACK"), "CSeq"), "1 ACK");
    alice.cseq = 3;
    hang_up(&mut world, &mut alice);
}

#[test]
fn bob_changes_the_session_with_numbers_of_his_own() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = world.call("r1");
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "INVITE", 77, ""));
    world.expect(BOB, "SIP/2.0 100");
    let again = world.expect(ALICE, "INVITE sip:alice@10.0.0.1:5062");
    assert_eq!(header(&again, "CSeq"), "1 INVITE", "leg A: our first request");
    // Alice wants to change it at the same time.
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 491");
    let contact = "Contact: <sip:alice@10.0.0.1:5064>\r\n";
    world.receive(ALICE, ACCESS, &respond(&again, "200 OK", "", contact, SDP));
    world.expect(BOB, "SIP/2.0 200");
    let ack = from_bob(&invite, "b1", "ACK", 77, "");
    world.receive(BOB, CORE, &ack);
    let ack = world.expect(ALICE, "ACK sip:alice@10.0.0.1:5064");
    assert_eq!(header(&ack, "CSeq"), "1 ACK");
    hang_up(&mut world, &mut alice);
}

#[test]
fn a_request_with_an_old_number_is_refused() {
    let mut world = World::new(SITE);
    let (mut alice, _) = world.call("o1");
    alice.cseq = 0;
    world.receive(ALICE, ACCESS, &alice.request("INFO", "", ""));
    world.expect(ALICE, "SIP/2.0 500");
    alice.cseq = 1;
    hang_up(&mut world, &mut alice);
}

#[test]
fn a_stranger_with_the_right_tag_but_another_call_id_finds_no_dialog() {
    let mut world = World::new(SITE);
    let (mut alice, _) = world.call("s1");
    let mut eve = alice.clone();
    eve.call_id = "s2".into();
    eve.cseq = 5;
    world.receive(ALICE, ACCESS, &eve.request("BYE", "", ""));
    world.expect(ALICE, "SIP/2.0 481");
    hang_up(&mut world, &mut alice);
}

#[test]
fn both_hang_up_at_once() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = world.call("h1");
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    let bye = world.expect(BOB, "BYE");
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "BYE", 1, ""));
    world.expect(BOB, "SIP/2.0 200");
    world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.expect_idle();
}

#[test]
fn a_bye_that_nobody_answers_ends_the_call_all_the_same() {
    let mut world = World::new(SITE);
    let (mut alice, _) = world.call("h2");
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    world.expect(BOB, "BYE");
    world.pass(Duration::from_secs(33));
    assert!(world.sent.drain(..).any(|s| s.text.starts_with("SIP/2.0 408")));
    world.expect_idle();
}

#[test]
fn the_operator_ends_a_call_on_both_legs() {
    let mut world = World::new(SITE);
    let _ = world.call("t1");
    let rows = world.ask("calls", &[]);
    assert_eq!(rows[0]["state"], "confirmed");
    assert_eq!(rows[0]["from"], "sip:alice@example.com");
    assert_eq!(rows[0]["to"], "sip:bob@example.org");
    assert_eq!(rows[0]["call_id_a"], "t1");
    let id = rows[0]["id"].as_str().unwrap().to_owned();
    world.ask("calls/terminate", &[("id", &id)]);
    let a = world.expect(ALICE, "BYE sip:alice@10.0.0.1:5062");
    assert!(header(&a, "Reason").contains("operator"));
    let b = world.expect(BOB, "BYE sip:bob@10.0.1.1:5080");
    world.receive(ALICE, ACCESS, &respond(&a, "200 OK", "", "", ""));
    world.receive(BOB, CORE, &respond(&b, "200 OK", "", "", ""));
    assert!(world.ask("calls", &[]).as_array().unwrap().is_empty());
    world.expect_idle();
}

#[test]
fn the_operator_ends_a_ringing_call() {
    let mut world = World::new(SITE);
    let (_, invite) = invited(&mut world, "t2", "");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180");
    let id = world.ask("calls", &[])[0]["id"].as_str().unwrap().to_owned();
    world.ask("calls/terminate", &[("id", &id)]);
    let texts: Vec<_> = world.sent.drain(..).map(|s| s.text[..11].to_owned()).collect();
    assert!(texts.contains(&"SIP/2.0 480".to_owned()), "{texts:?}");
    assert!(texts.contains(&"CANCEL sip:".to_owned()), "{texts:?}");
    world.receive(BOB, CORE, &respond(&invite, "487 Request Terminated", "b1", "", ""));
    world.expect(BOB, "ACK");
    world.expect_idle();
}

#[test]
fn a_2xx_that_crosses_the_cancel_goes_through() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = invited(&mut world, "x1", "");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180");
    let cancel = alice.request("CANCEL", "", "").replace("z9hG4bKCANCEL", "z9hG4bKINVITE");
    world.receive(ALICE, ACCESS, &cancel);
    world.expect(ALICE, "SIP/2.0 200");
    world.expect(BOB, "CANCEL");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200 OK"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    hang_up(&mut world, &mut alice);
}

#[test]
fn the_far_end_lost_the_dialog_and_both_legs_end() {
    let mut world = World::new(SITE);
    let (mut alice, _) = world.call("l1");
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("UPDATE", "", ""));
    let update = world.expect(BOB, "UPDATE");
    world.receive(BOB, CORE, &respond(&update, "481 Call Does Not Exist", "", "", ""));
    world.expect(ALICE, "SIP/2.0 481");
    let a = world.expect(ALICE, "BYE");
    let b = world.expect(BOB, "BYE");
    world.receive(ALICE, ACCESS, &respond(&a, "200 OK", "", "", ""));
    world.receive(BOB, CORE, &respond(&b, "481 Call Does Not Exist", "", "", ""));
    world.expect_idle();
}

#[test]
fn a_bye_without_a_record_for_it_ends_the_call_all_the_same() {
    let mut world = World::new(&format!("{SITE}\n[limits]\nrelays_max = 1\n"));
    let (mut alice, _) = world.call("full");
    // Somebody else's request has the only record.
    world.receive(ALICE, ACCESS, &Caller::new("other").request("MESSAGE", "", ""));
    let other = world.expect(BOB, "MESSAGE");
    alice.cseq += 1;
    let bye = alice.request("BYE", "", "");
    world.receive(ALICE, ACCESS, &bye);
    world.expect(ALICE, "SIP/2.0 200");
    let ours = world.expect(BOB, "BYE sip:bob@10.0.1.1:5080");
    assert!(header(&ours, "Reason").contains("hung up"));
    world.receive(ALICE, ACCESS, &bye);
    world.expect(ALICE, "SIP/2.0 200");
    world.receive(BOB, CORE, &respond(&ours, "200 OK", "", "", ""));
    assert!(world.ask("calls", &[]).as_array().unwrap().is_empty());
    world.receive(BOB, CORE, &respond(&other, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.expect_idle();
}

/// Alice's re-INVITE, to which Bob says that it rings and nothing more.
fn changing(world: &mut World, call_id: &str) -> (Caller, String) {
    let (mut alice, _) = world.call(call_id);
    alice.cseq += 1;
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let again = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&again, "180 Ringing", "", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180");
    (alice, again)
}

#[test]
fn a_bye_ends_the_invite_under_way_in_its_call_as_well() {
    for answers in [true, false] {
        let mut world = World::new(SITE);
        let (mut alice, again) = changing(&mut world, "pending");
        alice.cseq += 1;
        world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
        world.answer_bye(BOB, CORE, ALICE);
        let end = world.expect(ALICE, "SIP/2.0 487");
        assert_eq!(header(&end, "CSeq"), "2 INVITE");
        let cancel = world.expect(BOB, "CANCEL");
        assert_eq!(header(&cancel, "Via"), header(&again, "Via"));
        if answers {
            world.receive(BOB, CORE, &respond(&cancel, "200 OK", "", "", ""));
            // It crossed the CANCEL: acknowledged, and nothing stays.
            world.receive(BOB, CORE, &respond(&again, "200 OK", "", BOB_CONTACT, SDP));
            world.expect(BOB, "ACK");
        }
        assert!(world.controller.is_idle(), "no relay is left");
        world.expect_idle();
    }
}

#[test]
fn an_invite_in_a_call_that_nobody_answers_is_cancelled_and_the_call_stands() {
    let mut world = World::new(SITE);
    let (mut alice, _) = changing(&mut world, "unanswered");
    world.pass(Duration::from_secs(181));
    world.expect(BOB, "CANCEL");
    world.pass(Duration::from_secs(40));
    assert!(world.sent.iter().any(|sent| sent.text.starts_with("SIP/2.0 487")));
    world.sent.clear();
    alice.cseq += 1;
    hang_up(&mut world, &mut alice);
}
