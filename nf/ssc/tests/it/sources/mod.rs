//! Who may speak in a dialog: its far end, from where it is known to send.

use crate::world::*;
use runtime::{ConnId, Flow, Transport};

const EVE: &str = "10.6.6.6:5062";
const OTHER_REALM: &str = "ssc_dialog_other_realm_refused_total";
const ELSEWHERE: &str = "ssc_dialog_elsewhere_refused_total";

/// The site with this key in its access realm.
fn strict(source: &str) -> String {
    let key = format!("name = \"access\"\nin_dialog_source = \"{source}\"");
    SITE.replacen("name = \"access\"", &key, 1)
}

/// Alice hangs up from `from`; nothing is left.
fn hang_up(world: &mut World, alice: &mut Caller, from: &str) {
    alice.cseq += 1;
    world.receive(from, ACCESS, &alice.request("BYE", "", ""));
    world.answer_bye(BOB, CORE, from);
    world.expect_nothing();
    world.expect_idle();
}

/// A REGISTER of `user` from `at`, accepted by the core.
fn register(world: &mut World, user: &str, at: &str) {
    let text = format!(
        "REGISTER sip:example.com SIP/2.0\r\n\
         Via: SIP/2.0/UDP {at};rport;branch=z9hG4bK{user}{at}\r\nMax-Forwards: 70\r\n\
         From: <sip:{user}@example.com>;tag=r\r\nTo: <sip:{user}@example.com>\r\n\
         Call-ID: {user}{at}\r\nCSeq: 1 REGISTER\r\n\
         Contact: <sip:{user}@{at}>\r\nExpires: 600\r\nContent-Length: 0\r\n\r\n"
    );
    world.receive(at, ACCESS, &text);
    let forwarded = world.expect(BOB, "REGISTER");
    let more = format!("Contact: {};expires=1800\r\n", header(&forwarded, "Contact"));
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    world.expect(at, "SIP/2.0 200");
}

#[test]
fn a_stranger_who_has_read_every_name_of_a_call_neither_ends_nor_moves_nor_poisons_it() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = world.call("read");
    let mut eve = Caller { at: EVE, cseq: 1_000_000, ..alice.clone() };
    let methods = ["BYE", "UPDATE", "INVITE", "INFO", "PRACK", "REFER", "NOTIFY", "SUBSCRIBE"];
    for method in methods {
        eve.cseq += 1;
        world.receive(EVE, ACCESS, &eve.request(method, "", ""));
        let refused = world.expect(EVE, "SIP/2.0 403");
        assert!(header(&refused, "Warning").contains("does not send from there"), "{refused}");
        world.expect_nothing();
    }
    assert_eq!(world.metric(ELSEWHERE), methods.len() as u64);
    // What Bob sends still goes to Alice, at her own target.
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "INFO", 5, ""));
    let info = world.expect(ALICE, "INFO sip:alice@10.0.0.1:5062");
    world.receive(ALICE, ACCESS, &respond(&info, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200");
    hang_up(&mut world, &mut alice, ALICE);
}

#[test]
fn a_dialog_is_not_found_by_another_realm() {
    let mut world = World::new(SITE);
    let (mut alice, invite) = world.call("realm");
    alice.cseq = 2;
    world.receive(ALICE, CORE, &alice.request("BYE", "", ""));
    world.expect(ALICE, "SIP/2.0 481");
    world.receive(BOB, ACCESS, &from_bob(&invite, "b1", "BYE", 1, ""));
    world.expect(BOB, "SIP/2.0 481");
    world.expect_nothing();
    assert_eq!(world.metric(OTHER_REALM), 2);
    hang_up(&mut world, &mut alice, ALICE);
}

#[test]
fn an_ack_or_a_cancel_of_a_stranger_does_nothing() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("ack");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180");
    let cancel = alice.request("CANCEL", "", "").replace("z9hG4bKCANCEL", "z9hG4bKINVITE");
    world.receive(EVE, ACCESS, &cancel);
    world.expect(EVE, "SIP/2.0 403");
    world.expect_nothing();
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(EVE, ACCESS, &alice.request("ACK", "", ""));
    world.expect_nothing();
    assert_eq!(world.metric(ELSEWHERE), 2);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    hang_up(&mut world, &mut alice, ALICE);
}

#[test]
fn a_cancel_comes_from_another_port_of_the_caller_as_well() {
    let mut world = World::new(SITE);
    let alice = Caller::new("cancel");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180");
    let cancel = alice.request("CANCEL", "", "").replace("z9hG4bKCANCEL", "z9hG4bKINVITE");
    world.receive("10.0.0.1:40000", ACCESS, &cancel);
    world.expect("10.0.0.1:40000", "SIP/2.0 200");
    world.expect(BOB, "CANCEL");
}

#[test]
fn a_nat_that_changes_the_port_in_the_middle_of_a_call_is_followed() {
    let rebound = "10.0.0.1:40000";
    let mut world = World::new(SITE);
    let (mut alice, invite) = world.call("nat");
    alice.cseq = 2;
    world.receive(rebound, ACCESS, &alice.request("INFO", "", ""));
    let info = world.expect(BOB, "INFO");
    world.receive(BOB, CORE, &respond(&info, "200 OK", "", "", ""));
    world.expect(rebound, "SIP/2.0 200");
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "INFO", 5, ""));
    let info = world.expect(rebound, "INFO");
    world.receive(rebound, ACCESS, &respond(&info, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200");
    hang_up(&mut world, &mut alice, rebound);
}

#[test]
fn where_flows_are_held_another_port_is_another_sender_until_it_has_registered() {
    let rebound = "10.0.0.1:40000";
    let mut world = World::new(&strict("flow"));
    let (mut alice, _) = world.call("flow");
    alice.cseq = 2;
    world.receive(rebound, ACCESS, &alice.request("INFO", "", ""));
    world.expect(rebound, "SIP/2.0 403");
    register(&mut world, "alice", rebound);
    hang_up(&mut world, &mut alice, rebound);
}

#[test]
fn a_phone_that_has_registered_from_another_address_takes_its_calls_along() {
    let moved = "10.0.9.9:5062";
    for source in ["flow", "address"] {
        let mut world = World::new(&strict(source));
        register(&mut world, "alice", ALICE);
        let (mut alice, _) = world.call("moved");
        register(&mut world, "eve", EVE);
        alice.cseq = 2;
        for stranger in [EVE, moved] {
            world.receive(stranger, ACCESS, &alice.request("INFO", "", ""));
            world.expect(stranger, "SIP/2.0 403");
        }
        register(&mut world, "alice", moved);
        alice.cseq = 2;
        hang_up(&mut world, &mut alice, moved);
    }
}

#[test]
fn a_called_phone_is_known_by_the_binding_that_was_called_whatever_its_to_says() {
    let moved = "10.0.9.9:5062";
    let mut world = World::new(SITE);
    register(&mut world, "alice", ALICE);
    let mut bob = Caller { at: BOB, listener: CORE, ..Caller::new("forwarded") };
    bob.target = String::from("sip:alice@example.com");
    world.receive(BOB, CORE, &bob.request("INVITE", "", SDP));
    world.expect(BOB, "SIP/2.0 100");
    let invite = world.expect(ALICE, "INVITE");
    assert!(header(&invite, "To").contains("bob@"), "the call was forwarded: {invite}");
    let contact = format!("Contact: <sip:alice@{ALICE}>\r\n");
    world.receive(ALICE, ACCESS, &respond(&invite, "200 OK", "a1", &contact, SDP));
    bob.learn(&world.expect(BOB, "SIP/2.0 200"));
    world.receive(BOB, CORE, &bob.request("ACK", "", ""));
    world.expect(ALICE, "ACK");
    let bye = from_bob(&invite, "a1", "BYE", 1, "");
    let bye = bye.replace(BOB, moved);
    world.receive(moved, ACCESS, &bye);
    world.expect(moved, "SIP/2.0 403");
    register(&mut world, "alice", moved);
    world.receive(moved, ACCESS, &bye.replace("z9hG4bK", "z9hG4bKagain"));
    world.expect(BOB, "BYE");
}

#[test]
fn another_member_of_a_next_hop_may_hang_up_and_in_a_trusted_core_realm_anybody() {
    let untrusted = SITE.replacen("trusted = true", "trusted = false", 1);
    let elsewhere = "10.0.1.66:5080";
    for (site, members) in [(SITE, &[BACKUP, elsewhere][..]), (&untrusted, &[BACKUP])] {
        for member in members {
            let mut world = World::new(site);
            let (_, invite) = world.call("member");
            let bye = from_bob(&invite, "b1", "BYE", 1, "");
            world.receive(member, CORE, &bye.replace(BOB, member));
            world.answer_bye(ALICE, ACCESS, member);
        }
    }
    let mut world = World::new(&untrusted);
    let (_, invite) = world.call("member");
    let bye = from_bob(&invite, "b1", "BYE", 1, "");
    world.receive(elsewhere, CORE, &bye.replace(BOB, elsewhere));
    world.expect(elsewhere, "SIP/2.0 403");
    world.expect_nothing();
}

#[test]
fn in_an_untrusted_core_realm_the_addresses_of_contact_and_route_speak_as_well() {
    let untrusted = SITE.replacen("trusted = true", "trusted = false", 1);
    for (record_route, speaker) in [("", "10.0.3.3:5060"), ("10.0.4.4", "10.0.4.4:5060")] {
        let mut world = World::new(&untrusted);
        let mut alice = Caller::new("routed");
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        let mut more = String::from("Contact: <sip:bob@10.0.3.3:5060>\r\n");
        if !record_route.is_empty() {
            more += &format!("Record-Route: <sip:{record_route};lr>\r\n");
        }
        world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", &more, SDP));
        alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
        world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        world.expect(speaker, "ACK");
        for (n, from) in [speaker, BOB].into_iter().enumerate() {
            let info = from_bob(&invite, "b1", "INFO", 5 + n as u32, "");
            world.receive(from, CORE, &info.replace(BOB, from));
            let info = world.expect(ALICE, "INFO");
            world.receive(ALICE, ACCESS, &respond(&info, "200 OK", "", "", ""));
            world.expect(from, "SIP/2.0 200");
        }
        world.receive("10.0.5.5:5080", CORE, &from_bob(&invite, "b1", "INFO", 9, ""));
        world.expect("10.0.5.5:5080", "SIP/2.0 403");
    }
}

#[test]
fn over_tcp_another_connection_of_the_same_address_is_the_far_end() {
    let on = |world: &World, remote: &str, conn| {
        let port = world.port(ACCESS, Transport::Tcp);
        let flow = Flow::to(port, Transport::Tcp, ACCESS.parse().unwrap(), remote.parse().unwrap());
        Flow { conn: ConnId(conn), ..flow }
    };
    for source in ["flow", "address"] {
        let mut world = World::new(&strict(source));
        let (mut alice, _) = world.call("tcp");
        alice.cseq = 2;
        let again = on(&world, "10.0.0.1:40001", 3);
        world.receive_on(again, &alice.request("INFO", "", ""));
        let info = world.expect(BOB, "INFO");
        world.receive(BOB, CORE, &respond(&info, "200 OK", "", "", ""));
        world.expect("10.0.0.1:40001", "SIP/2.0 200");
        alice.cseq = 3;
        world.receive_on(on(&world, EVE, 4), &alice.request("INFO", "", ""));
        world.expect(EVE, "SIP/2.0 403");
    }
}

#[test]
fn a_notify_that_would_begin_a_dialog_is_held_against_its_subscribe() {
    let mut world = World::new(SITE);
    let mut alice = Caller::new("sub");
    alice.target = String::from("sip:bob@example.org");
    world.receive(ALICE, ACCESS, &alice.request("SUBSCRIBE", "Event: presence\r\n", ""));
    let subscribe = world.expect(BOB, "SUBSCRIBE");
    let state = "Event: presence\r\nSubscription-State: active\r\n";
    let notify = from_bob(&subscribe, "b1", "NOTIFY", 1, state);
    world.receive(EVE, ACCESS, &notify.replace(BOB, EVE));
    world.expect(EVE, "SIP/2.0 481");
    let call_id = |id: &str| format!("Call-ID: {id}\r\n");
    let other = notify.replace(&call_id(header(&subscribe, "Call-ID")), &call_id("another"));
    world.receive(BOB, CORE, &other);
    world.expect(BOB, "SIP/2.0 481");
    world.expect_nothing();
    world.receive(BOB, CORE, &notify.replace("z9hG4bK", "z9hG4bKagain"));
    world.expect(ALICE, "NOTIFY");
}
