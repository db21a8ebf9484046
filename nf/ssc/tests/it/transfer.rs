//! Call transfer across the controller (RFC 3515, RFC 3891, RFC 5589).

use crate::world::*;
use machine::Duration;

const CAROL: &str = "10.0.1.9:5080";
const CAROL_CONTACT: &str = "Contact: <sip:carol@10.0.1.9:5080>\r\n";

/// A call of Alice, answered at `at`; returns the caller and the INVITE as it got there.
fn answered(
    world: &mut World,
    call_id: &str,
    at: &str,
    (tag, contact): (&str, &str),
) -> (Caller, String) {
    let mut alice = Caller::new(call_id);
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", tag, contact, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(at, "ACK");
    (alice, invite)
}

#[test]
fn a_transfer_without_progress_ends_with_its_call_and_wakes_nobody_meanwhile() {
    let site = format!("{SITE}\n[timers]\ncall_max_s = 600\n");
    let refer = |world: &mut World, alice: &mut Caller| {
        alice.cseq += 1;
        let to = "Refer-To: <sip:carol@example.org>\r\n";
        world.receive(ALICE, ACCESS, &alice.request("REFER", to, ""));
        let refer = world.expect(BOB, "REFER sip:bob@10.0.1.1:5080");
        world.receive(BOB, CORE, &respond(&refer, "202 Accepted", "", BOB_CONTACT, ""));
        world.expect(ALICE, "SIP/2.0 202");
    };
    // No NOTIFY ever comes, and the caller hangs up: the call ends when the REFER's time is over.
    let mut world = World::new(SITE);
    let (mut alice, _) = answered(&mut world, "hung-up", BOB, ("b1", BOB_CONTACT));
    refer(&mut world, &mut alice);
    alice.cseq += 1;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    let bye = world.expect(BOB, "BYE");
    world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.expect_idle();
    // The call stands on behind it: once its time is over, nothing is due until the call's end.
    let mut world = World::new(&site);
    let (mut alice, _) = answered(&mut world, "on", BOB, ("b1", BOB_CONTACT));
    refer(&mut world, &mut alice);
    alice.cseq += 1;
    world.change(&mut alice);
    let wakes = world.pass(Duration::from_secs(599));
    assert!(wakes < 1_000, "{wakes} times");
    world.pass(Duration::from_secs(2));
    world.expect(ALICE, "BYE");
    world.expect(BOB, "BYE");
    world.expect_idle();
}

#[test]
fn a_blind_transfer_crosses_and_its_progress_comes_back() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = answered(&mut world, "blind", BOB, ("b1", BOB_CONTACT));
    alice.cseq = 2;
    world.receive(
        ALICE,
        ACCESS,
        &alice.request("REFER", "Refer-To: <sip:carol@example.org>\r\n", ""),
    );
    let refer = world.expect(BOB, "REFER sip:bob@10.0.1.1:5080");
    assert_eq!(header(&refer, "Refer-To"), "<sip:carol@example.org>");
    world.receive(BOB, CORE, &respond(&refer, "202 Accepted", "", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 202");
    let state = "Event: refer\r\nSubscription-State: terminated;reason=noresource\r\n";
    let notify = from_bob(&invite, "b1", "NOTIFY", 3, state);
    let sipfrag = "Content-Type: message/sipfrag\r\nContent-Length: 16\r\n\r\nSIP/2.0 200 OK\r\n";
    let notify = notify.replace("Content-Length: 0\r\n\r\n", sipfrag);
    world.receive(BOB, CORE, &notify);
    let notify = world.expect(ALICE, "NOTIFY sip:alice@10.0.0.1:5062");
    assert_eq!(header(&notify, "Content-Type"), "message/sipfrag");
    assert!(notify.ends_with("\r\n\r\nSIP/2.0 200 OK\r\n"));
    world.receive(ALICE, ACCESS, &respond(&notify, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200");
    alice.cseq = 3;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    let bye = world.expect(BOB, "BYE");
    world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.expect_idle();
}

#[test]
fn in_an_attended_transfer_replaces_names_the_dialog_that_its_receiver_knows() {
    let mut world = World::new(SITE);
    let (mut alice, with_bob) = answered(&mut world, "one", BOB, ("b1", BOB_CONTACT));
    let (second, with_carol) = answered(&mut world, "two@10.0.0.1", CAROL, ("c1", CAROL_CONTACT));
    alice.cseq = 2;
    let refer_to = format!(
        "Refer-To: \"C\" <{}?Replaces=two%4010.0.0.1%3Bto-tag%3D{}%3Bfrom-tag%3Da-{}&X=1>\r\n",
        second.target, second.to_tag, second.call_id
    );
    world.receive(ALICE, ACCESS, &alice.request("REFER", &refer_to, ""));
    let refer = world.expect(BOB, "REFER");
    let (call_id, ours) = (header(&with_carol, "Call-ID"), tag(&with_carol, "From"));
    assert_eq!(
        header(&refer, "Refer-To"),
        format!(
            "\"C\" <sip:carol@127.0.0.1:5070\
             ?Replaces={call_id}%3bto-tag%3dc1%3bfrom-tag%3d{ours}&X=1>"
        )
    );
    world.receive(BOB, CORE, &respond(&refer, "202 Accepted", "", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 202");
    // Bob does as he was told; his INVITE goes straight to Carol.
    let mut bob = Caller::new("three");
    (bob.at, bob.listener, bob.target) = (BOB, CORE, "sip:carol@127.0.0.1:5070".into());
    let replaces = format!("Replaces: {call_id};to-tag=c1;from-tag={ours}\r\n");
    let more = format!("Require: replaces\r\n{replaces}");
    world.receive(BOB, CORE, &bob.request("INVITE", &more, SDP));
    world.expect(BOB, "SIP/2.0 100");
    let invite = world.expect(CAROL, "INVITE sip:carol@10.0.1.9:5080");
    assert!(invite.contains(&replaces), "{invite}");
    // Carol gives up her dialog with Alice.
    let bye = from_bob(&with_carol, "c1", "BYE", 1, "");
    world.receive(CAROL, CORE, &bye);
    assert_eq!(header(&world.expect(ALICE, "BYE"), "Call-ID"), "two@10.0.0.1");
    drop(with_bob);
}

#[test]
fn an_invite_whose_replaces_names_the_senders_own_dialog_gets_that_of_the_far_end() {
    let mut world = World::new(SITE);
    let (alice, with_bob) = answered(&mut world, "mine", BOB, ("b1", BOB_CONTACT));
    let replaces = format!("Replaces: mine;from-tag=a-mine;to-tag={};early-only\r\n", alice.to_tag);
    world.receive(ALICE, ACCESS, &Caller::new("new").request("INVITE", &replaces, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE sip:bob@10.0.1.1:5080");
    let (call_id, ours) = (header(&with_bob, "Call-ID"), tag(&with_bob, "From"));
    let wanted = format!("{call_id};to-tag=b1;from-tag={ours};early-only");
    assert_eq!(header(&invite, "Replaces"), wanted);
    // A dialog of others, or one that is guessed, is not ours to change.
    let guessed = format!("Replaces: mine;from-tag=wrong;to-tag={}\r\n", alice.to_tag);
    world.receive(ALICE, ACCESS, &Caller::new("guess").request("INVITE", &guessed, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    assert!(world.expect(BOB, "INVITE sip:bob@example.org").contains(&guessed));
}

/// Alice's two calls, with Bob and with Carol, and the Refer-To that names the second one.
fn two_calls(world: &mut World) -> (Caller, String, String) {
    let (mut alice, _) = answered(world, "one", BOB, ("b1", BOB_CONTACT));
    let (second, with_carol) = answered(world, "two", CAROL, ("c1", CAROL_CONTACT));
    alice.cseq = 2;
    let refer_to = format!(
        "Refer-To: <{}?Replaces=two%3Bto-tag%3D{}%3Bfrom-tag%3Da-two>\r\n",
        second.target, second.to_tag
    );
    let (call_id, ours) = (header(&with_carol, "Call-ID"), tag(&with_carol, "From"));
    (alice, refer_to, format!("{call_id};to-tag=c1;from-tag={ours}"))
}

/// Bob's INVITE to Carol with that line.
fn to_carol(call_id: &str, line: &str) -> String {
    let mut bob = Caller::new(call_id);
    (bob.at, bob.listener, bob.target) = (BOB, CORE, "sip:carol@127.0.0.1:5070".into());
    bob.request("INVITE", line, SDP)
}

#[test]
fn the_dialog_of_others_is_replaced_only_by_whom_its_names_were_handed_to() {
    let mut world = World::new(SITE);
    let (alice, refer_to, names) = two_calls(&mut world);
    let replaces = format!("Replaces: {names}\r\n");
    // Whoever has read the names has them from nobody; another case of a tag does not help.
    for (n, line) in [
        replaces.clone(),
        format!("Join: {names}\r\n"),
        replaces.replace("to-tag=c1", "to-tag=C1"),
        format!("Replaces: x;to-tag=y;from-tag=z\r\n{replaces}"),
    ]
    .into_iter()
    .enumerate()
    {
        world.receive(BOB, CORE, &to_carol(&format!("eve{n}"), &line));
        world.expect(BOB, "SIP/2.0 403");
    }
    for (n, tag) in ["to-tag=c1;to-tag=c1", "to-tag=\"c1\""].into_iter().enumerate() {
        let malformed = replaces.replace("to-tag=c1", tag);
        world.receive(BOB, CORE, &to_carol(&format!("malformed{n}"), &malformed));
        world.expect(BOB, "SIP/2.0 400");
    }
    // Alice names it to Bob, so that one from Bob's realm may use it, not one from hers.
    world.receive(ALICE, ACCESS, &alice.request("REFER", &refer_to, ""));
    world.expect(BOB, "REFER");
    world.receive(ALICE, ACCESS, &Caller::new("eve").request("INVITE", &replaces, SDP));
    world.expect(ALICE, "SIP/2.0 403");
    world.receive(BOB, CORE, &to_carol("three", &replaces));
    world.expect(BOB, "SIP/2.0 100");
    world.expect(CAROL, "INVITE sip:carol@10.0.1.9:5080");
    assert_eq!(world.metric("ssc_replaces_refused_total"), 5);
    // Not for ever.
    world.pass(Duration::from_secs(181));
    world.sent.clear();
    world.receive(BOB, CORE, &to_carol("late", &replaces));
    world.expect(BOB, "SIP/2.0 403");
}

#[test]
fn an_own_dialog_is_named_from_where_its_requests_may_come_from() {
    const EVE: &str = "10.9.9.9:5060";
    let mut world = World::new(SITE);
    let (alice, refer_to, _) = two_calls(&mut world);
    // With the names of Alice's leg, from another address: in Replaces, in a REFER.
    let value = refer_to.split_once("Replaces=").unwrap().1.trim_end().trim_end_matches('>');
    let value = value.replace("%3B", ";").replace("%3D", "=");
    let replaces = format!("Replaces: {value}\r\n");
    world.receive(EVE, ACCESS, &Caller::new("eve").request("INVITE", &replaces, SDP));
    world.expect(EVE, "SIP/2.0 403");
    world.receive(EVE, ACCESS, &Caller::new("eve2").request("REFER", &refer_to, ""));
    world.expect(EVE, "SIP/2.0 403");
    // From another realm there is none by that name.
    world.receive(BOB, CORE, &to_carol("eve3", &replaces));
    world.expect(BOB, "SIP/2.0 481");
    world.receive(ALICE, ACCESS, &Caller::new("own").request("INVITE", &replaces, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(CAROL, "INVITE sip:carol@10.0.1.9:5080");
    drop(alice);
}

#[test]
fn a_refer_to_names_one_dialog_once() {
    let mut world = World::new(SITE);
    let (mut alice, refer_to, _) = two_calls(&mut world);
    let flood = "&Replaces=x".repeat(3_000) + ">\r\n";
    let flood = refer_to.replacen(">\r\n", &flood, 1);
    world.receive(ALICE, ACCESS, &alice.request("REFER", &flood, ""));
    world.expect(ALICE, "SIP/2.0 400");
    world.expect_nothing();
    alice.cseq = 3;
    world.receive(ALICE, ACCESS, &alice.request("REFER", &refer_to, ""));
    world.expect(BOB, "REFER");
}
