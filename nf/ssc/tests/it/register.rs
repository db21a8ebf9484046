//! Registrations through the controller, and requests to those registered.

use crate::world::*;
use machine::Duration;

const STRICT: &str = "register_required = true\n";

fn register(cseq: u32, more: &str) -> String {
    format!(
        "REGISTER sip:example.com SIP/2.0\r\n\
         Via: SIP/2.0/UDP {ALICE};rport;branch=z9hG4bKreg{cseq}{}\r\nMax-Forwards: 70\r\n\
         From: <sip:alice@example.com>;tag=r\r\nTo: <sip:alice@example.com>\r\n\
         Call-ID: reg-1\r\nCSeq: {cseq} REGISTER\r\nContact: <sip:alice@{ALICE}>\r\n\
         Expires: 600\r\n{more}Content-Length: 0\r\n\r\n",
        more.len()
    )
}

/// A registration that the core accepts; returns the REGISTER as the core got it.
fn registered(world: &mut World) -> String {
    world.receive(ALICE, ACCESS, &register(1, ""));
    let challenged = world.expect(BOB, "REGISTER sip:example.com");
    let challenge = "WWW-Authenticate: Digest realm=\"x\", nonce=\"n\"\r\n";
    world.receive(BOB, CORE, &respond(&challenged, "401 Unauthorized", "b", challenge, ""));
    let answer = world.expect(ALICE, "SIP/2.0 401");
    assert!(header(&answer, "WWW-Authenticate").contains("nonce"));
    world.receive(ALICE, ACCESS, &register(2, "Authorization: Digest username=\"a\"\r\n"));
    let forwarded = world.expect(BOB, "REGISTER");
    assert_eq!(header(&forwarded, "Authorization"), "Digest username=\"a\"");
    assert!(header(&forwarded, "Path").contains("127.0.0.1:5070;lr"), "{forwarded}");
    assert_eq!(header(&forwarded, "Expires"), "1800");
    let contact = header(&forwarded, "Contact").to_owned();
    assert!(!contact.contains("10.0.0.1"), "{contact}");
    let more = format!(
        "Contact: {contact};expires=1800\r\nService-Route: <sip:orig@10.0.1.1:5080;lr>\r\n\
         P-Associated-URI: <sip:alice@example.com>, <tel:+15550100>\r\n"
    );
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    assert!(header(&ok, "Contact").starts_with("<sip:alice@10.0.0.1:5062>;expires=30"), "{ok}");
    assert!(header(&ok, "Service-Route").contains("127.0.0.1:5060"));
    forwarded
}

#[test]
fn a_refresh_is_answered_here_and_the_core_is_asked_again_in_time() {
    let mut world = World::new(SITE);
    registered(&mut world);
    for cseq in 3..13 {
        world.pass(Duration::from_secs(25));
        world.receive(ALICE, ACCESS, &register(cseq, ""));
        world.expect(ALICE, "SIP/2.0 200");
        world.expect_nothing();
    }
    assert_eq!(world.metric("ssc_registers_local_total"), 10);
    let rows = world.ask("registrations", &[]);
    assert_eq!(rows[0]["aor"], "alice@example.com");
    assert_eq!(rows[0]["source"], ALICE);
    world.pass(Duration::from_secs(40));
    assert!(world.ask("registrations", &[]).as_array().unwrap().is_empty(), "not refreshed");
}

#[test]
fn a_call_for_a_subscriber_goes_to_where_he_registered_from() {
    let mut world = World::new(SITE);
    let forwarded = registered(&mut world);
    let contact = header(&forwarded, "Contact").trim_start_matches('<').split('>').next().unwrap();
    for (n, target) in [contact, "sip:alice@example.com"].into_iter().enumerate() {
        let mut core = Caller::new(&format!("in{n}"));
        (core.at, core.listener, core.target) = (BOB, CORE, target.to_owned());
        world.receive(BOB, CORE, &core.request("INVITE", "", SDP));
        world.expect(BOB, "SIP/2.0 100");
        world.expect(ALICE, "INVITE sip:alice@10.0.0.1:5062 SIP/2.0");
    }
}

#[test]
fn a_registered_callers_requests_follow_the_service_route() {
    let mut world = World::new(SITE);
    registered(&mut world);
    let mut alice = Caller::new("out");
    alice.target = "sip:bob@example.org".into();
    let routes = "Route: <sip:127.0.0.1:5060;lr>\r\n";
    world.receive(ALICE, ACCESS, &alice.request("INVITE", routes, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE sip:bob@example.org");
    assert_eq!(header(&invite, "Route"), "<sip:orig@10.0.1.1:5080;lr>");
}

#[test]
fn where_registration_is_required_strangers_are_refused() {
    let site = SITE.replacen("name = \"access\"\n", &format!("name = \"access\"\n{STRICT}"), 1);
    let mut world = World::new(&site);
    world.receive(ALICE, ACCESS, &Caller::new("no").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 403");
    registered(&mut world);
    world.receive(ALICE, ACCESS, &Caller::new("yes").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
}

#[test]
fn a_core_that_does_not_answer_leaves_no_record() {
    let mut world = World::new(SITE);
    world.receive(ALICE, ACCESS, &register(1, ""));
    world.expect(BOB, "REGISTER");
    world.pass(Duration::from_secs(80));
    assert!(world.sent.drain(..).any(|s| s.text.starts_with("SIP/2.0 408")));
    assert!(world.ask("registrations", &[]).as_array().unwrap().is_empty());
    world.expect_idle();
}

#[test]
fn a_register_that_comes_again_gets_the_same_answer_and_no_transaction_stands_for_it() {
    let mut world = World::new(SITE);
    registered(&mut world);
    world.receive(ALICE, ACCESS, &register(2, ""));
    let again = world.expect(ALICE, "SIP/2.0 200");
    assert_eq!(header(&again, "CSeq"), "2 REGISTER", "the forwarded one, lost on its way back");
    world.pass(Duration::from_secs(20));
    world.receive(ALICE, ACCESS, &register(3, ""));
    let first = world.expect(ALICE, "SIP/2.0 200");
    world.receive(ALICE, ACCESS, &register(3, ""));
    assert_eq!(world.expect(ALICE, "SIP/2.0 200"), first);
    world.expect_nothing();
    assert_eq!(world.metric("ssc_registers_local_total"), 1);
    assert_eq!(world.metric("ssc_retransmissions_received_total"), 2);
    world.pass(Duration::from_secs(13));
    assert_eq!(world.metric("ssc_transactions_live"), 0, "only the challenge left some");
}

#[test]
fn of_two_subscribers_behind_one_address_each_follows_his_own_service_route() {
    let mut world = World::new(SITE);
    for (user, cseq) in [("alice", 1), ("carol", 2), ("dave", 3)] {
        let text = register(cseq, "").replace("alice", user).replace("reg-1", user);
        world.receive(ALICE, ACCESS, &text);
        let forwarded = world.expect(BOB, "REGISTER");
        let contact = header(&forwarded, "Contact");
        let more = format!("Contact: {contact}\r\nService-Route: <sip:{user}@10.0.1.1;lr>\r\n");
        world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
        world.expect(ALICE, "SIP/2.0 200");
    }
    for user in ["carol", "alice", "dave"] {
        let invite = Caller::new(user).request("INVITE", "", SDP);
        world.receive(ALICE, ACCESS, &invite.replace("sip:alice@", &format!("sip:{user}@")));
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        assert_eq!(header(&invite, "Route"), format!("<sip:{user}@10.0.1.1;lr>"));
    }
}
