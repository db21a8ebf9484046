//! A pair of controllers: the standby holds what the active one holds, and calls go on there.

use crate::world::pair::{Pair, mirror};
use crate::world::*;
use machine::Duration;
use runtime::{ConnId, Flow, Mirrored, Pace, Transport};
use serde_json::Value;

/// Both show the same calls and registrations.
#[track_caller]
fn compare(pair: &mut Pair) {
    pair.replicate();
    for about in ["calls", "registrations"] {
        let rows = |world: &mut World| -> Vec<Value> {
            let rows = world.ask(about, &[]).as_array().unwrap().clone();
            let lasts = |row: &Value| row["state"] != "early" && row["state"] != "ending";
            rows.into_iter().filter(lasts).collect()
        };
        let (one, two) = (rows(&mut pair.active), rows(&mut pair.standby));
        assert_eq!(one, two, "{about}");
    }
}

#[test]
fn a_call_is_changed_and_ended_by_either_side_after_a_failover() {
    let mut pair = Pair::new(SITE);
    let (mut alice, _) = pair.active.call("one");
    let (_, invite) = pair.active.call("two");
    compare(&mut pair);
    let world = pair.fail_over();
    world.change(&mut alice);
    world.end(&mut alice);
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "BYE", 1, ""));
    world.answer_bye(ALICE, ACCESS, BOB);
    world.expect_idle();
}

#[test]
fn a_bye_that_was_under_way_when_its_node_died_is_sent_again_and_heard() {
    let mut pair = Pair::new(SITE);
    let (mut alice, _) = pair.active.call("one");
    alice.cseq = 2;
    let bye = alice.request("BYE", "", "");
    pair.active.receive(ALICE, ACCESS, &bye);
    pair.active.expect(BOB, "BYE");
    let world = pair.fail_over();
    world.receive(ALICE, ACCESS, &bye);
    world.expect(BOB, "ACK"); // once more: whether it had come before is not kept
    let bye = world.expect(BOB, "BYE");
    assert_eq!(header(&bye, "CSeq"), "3 BYE", "a number that Bob has not seen");
    world.receive(BOB, CORE, &respond(&bye, "481 Gone", "", "", ""));
    world.expect(ALICE, "SIP/2.0 481");
    world.expect_idle();
}

#[test]
fn a_call_that_was_just_answered_gets_its_answer_again_and_its_own_ack_after_a_failover() {
    let mut pair = Pair::new(SITE);
    let mut alice = Caller::new("one");
    pair.active.receive(ALICE, ACCESS, &alice.request("INVITE", "", ""));
    pair.active.sent.pop_front();
    let invite = pair.active.expect(BOB, "INVITE");
    let answer = respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP);
    pair.active.receive(BOB, CORE, &answer);
    pair.active.sent.clear();
    let world = pair.fail_over();
    world.receive(BOB, CORE, &answer);
    world.expect_nothing();
    world.pass(Duration::from_millis(500));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", SDP));
    let ack = world.expect(BOB, "ACK");
    assert!(ack.ends_with(SDP), "the answer to a late offer: {ack}");
    world.receive(BOB, CORE, &answer);
    assert_eq!(world.expect(BOB, "ACK"), ack);
    world.end(&mut alice);
    world.expect_idle();
}

#[test]
fn a_standby_neither_answers_nor_sends_and_early_calls_are_not_kept() {
    let mut pair = Pair::new(SITE);
    let alice = Caller::new("early");
    pair.active.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    pair.replicate();
    assert!(pair.standby.ask("calls", &[]).as_array().unwrap().is_empty());
    pair.standby.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    pair.standby.pass(Duration::from_secs(100));
    pair.standby.expect_nothing();
}

#[test]
fn while_the_standby_lacks_too_much_new_calls_are_refused_and_nothing_else_where_that_is_wanted() {
    let lines = "name = \"ssc1\"\n[limits]\nrefuse_while_behind = true";
    for site in [SITE.replacen("name = \"ssc1\"", lines, 1), SITE.to_owned()] {
        let mut pair = Pair::new(&site);
        let (mut alice, _) = pair.active.call("stands");
        for pace in [Pace::Busy, Pace::Lost, Pace::Current] {
            mirror(&mut pair.active, Mirrored::Paced(pace));
            pair.active.call(&format!("{pace:?}"));
        }
        mirror(&mut pair.active, Mirrored::Paced(Pace::Behind));
        let world = &mut pair.active;
        world.change(&mut alice);
        world.end(&mut alice);
        if site == SITE {
            world.call("served");
            continue;
        }
        world.receive(ALICE, ACCESS, &Caller::new("late").request("INVITE", "", SDP));
        let refusal = world.expect(ALICE, "SIP/2.0 503");
        assert!(!header(&refusal, "Retry-After").is_empty(), "{refusal}");
        world.expect_nothing();
        assert_eq!(world.metric("ssc_behind_refused_total"), 1);
        let mut help = Caller::new("help");
        help.target = "urn:service:sos".into();
        world.receive(ALICE, ACCESS, &help.request("INVITE", "", SDP));
        world.expect(ALICE, "SIP/2.0 100");
        mirror(&mut pair.active, Mirrored::Paced(Pace::Busy));
        pair.active.sent.clear();
        pair.active.call("served");
    }
}

#[test]
fn whatever_happens_the_standby_holds_what_the_active_one_holds() {
    for seed in 0..20u64 {
        let mut pair = Pair::new(SITE);
        let mut calls = Vec::new();
        let mut dice = seed;
        for step in 0..120u64 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step | 1);
            match (dice >> 33) % 8 {
                0..=3 => calls.push(pair.active.call(&format!("call-{step}"))),
                4..=6 if !calls.is_empty() => {
                    let at = (dice >> 40) as usize % calls.len();
                    if (dice >> 33) % 8 == 6 {
                        pair.active.change(&mut calls[at].0);
                    } else {
                        pair.active.end(&mut calls.swap_remove(at).0);
                    }
                }
                7 if step % 3 == 0 => {
                    pair.restart_standby(SITE);
                    pair.catch_up();
                }
                _ => register(&mut pair, step % 5, dice),
            }
            if step % 7 == 0 {
                compare(&mut pair);
            }
        }
        compare(&mut pair);
        let count = calls.len();
        let world = pair.fail_over();
        for (alice, _) in &mut calls {
            world.end(alice);
        }
        assert!(count > 0, "seed {seed}");
        assert!(world.ask("calls", &[]).as_array().unwrap().is_empty());
    }
}

fn register(pair: &mut Pair, who: u64, dice: u64) {
    let world = &mut pair.active;
    let from = format!("10.0.2.{}:5062", who + 1);
    let expires = if dice.is_multiple_of(5) { 0 } else { 600 };
    let text = format!(
        "REGISTER sip:example.org SIP/2.0\r\n\
         Via: SIP/2.0/UDP {from};rport;branch=z9hG4bKr{dice}\r\n\
         Max-Forwards: 70\r\nFrom: <sip:u{who}@example.org>;tag=r{dice}\r\n\
         To: <sip:u{who}@example.org>\r\nCall-ID: reg-{dice}\r\nCSeq: {} REGISTER\r\n\
         Contact: <sip:u{who}@{from}>;expires={expires}\r\nContent-Length: 0\r\n\r\n",
        dice % 1000 + 1,
    );
    world.receive(&from, ACCESS, &text);
    let forwarded = world.expect(BOB, "REGISTER");
    let contact = format!("Contact: {};expires={expires}\r\n", first(&forwarded, "Contact"));
    let more = if expires == 0 { String::new() } else { contact };
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "reg", &more, ""));
    world.expect(&from, "SIP/2.0 200");
}

/// The address in a header, without its parameters.
fn first<'a>(text: &'a str, name: &str) -> &'a str {
    header(text, name).split(';').next().unwrap()
}

/// The listener for TLS; where a phone's connections come from before a takeover and after it.
const TLS_LISTENER: &str = "127.0.0.1:5061";
const BEFORE: &str = "10.0.0.1:40001";
const AFTER: &str = "10.0.0.1:40002";

/// A pair with a call of a phone that is registered over TLS; the INVITE as Bob got it.
fn over_tls() -> (Pair, Caller, String) {
    let listener = format!("\"tls:{TLS_LISTENER}\"]\ntls = {{ certificate = \"c\", key = \"k\" }}");
    let site = SITE.replacen("\"tcp:127.0.0.1:5060\"]", &listener, 1);
    let mut pair = Pair::new(&site);
    let mut alice = Caller::new("tls");
    let world = &mut pair.active;
    register_over_tls(world, BEFORE, 1);
    say(world, BEFORE, &alice.request("INVITE", "", SDP));
    world.expect(BEFORE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect(BEFORE, "SIP/2.0 200"));
    say(world, BEFORE, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    (pair, alice, invite)
}

/// A message of the phone over its connection from there.
fn say(world: &mut World, from: &str, text: &str) {
    let (local, remote) = (TLS_LISTENER.parse().unwrap(), from.parse().unwrap());
    let flow = Flow::to(world.port(TLS_LISTENER, Transport::Tls), Transport::Tls, local, remote);
    let flow = Flow { conn: ConnId(u32::from(remote.port())), ..flow };
    world.receive_on(flow, &text.replace("SIP/2.0/UDP", "SIP/2.0/TLS"));
}

/// The phone registers from there; the core grants it.
fn register_over_tls(world: &mut World, from: &str, cseq: u32) {
    let phone = Caller { cseq, ..Caller::new("registration") };
    let text = phone.request("REGISTER", "", "");
    say(world, from, &text.replace("To: <sip:bob@example.org>", "To: <sip:alice@example.com>"));
    let register = world.expect(BOB, "REGISTER");
    let granted = format!("Contact: {};expires=1800\r\n", first(&register, "Contact"));
    world.receive(BOB, CORE, &respond(&register, "200 OK", "reg", &granted, ""));
    world.expect(from, "SIP/2.0 200");
}

/// The phone changes the call over its new connection.
fn changed_by_the_phone(world: &mut World, alice: &mut Caller) {
    alice.cseq += 1;
    say(world, AFTER, &alice.request("INVITE", "", SDP));
    world.expect(AFTER, "SIP/2.0 100");
    let again = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&again, "200 OK", "b1", BOB_CONTACT, SDP));
    world.expect(AFTER, "SIP/2.0 200");
    say(world, AFTER, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
}

/// Bob changes the call, then ends it; the phone is where it opened its new connection.
fn changed_and_ended_by_bob(world: &mut World, invite: &str) {
    world.receive(BOB, CORE, &from_bob(invite, "b1", "INVITE", 1, ""));
    world.expect(BOB, "SIP/2.0 100");
    let again = world.expect(AFTER, "INVITE");
    say(
        world,
        AFTER,
        &respond(&again, "200 OK", "", "Contact: <sip:alice@10.0.0.1:5062>\r\n", SDP),
    );
    world.expect(BOB, "SIP/2.0 200");
    world.receive(BOB, CORE, &from_bob(invite, "b1", "ACK", 1, ""));
    world.expect(AFTER, "ACK");
    world.receive(BOB, CORE, &from_bob(invite, "b1", "BYE", 2, ""));
    let bye = world.expect(AFTER, "BYE");
    say(world, AFTER, &respond(&bye, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200");
    assert!(world.ask("calls", &[]).as_array().unwrap().is_empty());
}

#[test]
fn a_call_over_tls_is_changed_by_both_sides_over_a_new_connection_after_a_failover() {
    let (mut pair, mut alice, invite) = over_tls();
    let world = pair.fail_over();
    changed_by_the_phone(world, &mut alice);
    changed_and_ended_by_bob(world, &invite);
}

#[test]
fn a_change_over_a_connection_that_ended_with_its_node_is_let_go_and_made_again() {
    let (mut pair, mut alice, _) = over_tls();
    alice.cseq += 1;
    say(&mut pair.active, BEFORE, &alice.request("INVITE", "", SDP));
    pair.active.expect(BEFORE, "SIP/2.0 100");
    let again = pair.active.expect(BOB, "INVITE");
    let world = pair.fail_over();
    world.pass(Duration::from_secs(1));
    world.expect_nothing();
    world.receive(BOB, CORE, &respond(&again, "200 OK", "b1", BOB_CONTACT, SDP));
    world.expect(BOB, "ACK");
    changed_by_the_phone(world, &mut alice);
}

#[test]
fn a_phone_that_registers_again_over_tls_after_a_failover_is_reached_in_its_call() {
    for is_ended_by_bob in [true, false] {
        let (mut pair, _, invite) = over_tls();
        let world = pair.fail_over();
        register_over_tls(world, AFTER, 2);
        let rows = world.ask("registrations", &[]);
        assert_eq!((rows.as_array().unwrap().len(), &rows[0]["source"]), (1, &AFTER.into()));
        if is_ended_by_bob {
            changed_and_ended_by_bob(world, &invite);
            continue;
        }
        let id = world.ask("calls", &[])[0]["id"].as_str().unwrap().to_owned();
        world.ask("calls/terminate", &[("id", &id)]);
        world.expect(BOB, "ACK");
        world.expect(AFTER, "BYE");
        world.expect(BOB, "BYE");
    }
}
