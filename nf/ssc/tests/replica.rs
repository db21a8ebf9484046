//! A pair of controllers: the standby holds what the active one holds, and calls go on there.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use machine::Duration;
use runtime::{Effects, Function, Mirrored};
use serde_json::Value;
use world::*;

/// An active controller and its standby, with what is on its way between them.
struct Pair {
    active: World,
    standby: World,
}

fn mirror(world: &mut World, input: Mirrored<'_>) -> Effects {
    let mut out = Effects::default();
    let now = world.now;
    world.controller.mirror(now, input, &mut out);
    assert_eq!(out.len(), 0, "nothing is said");
    out
}

impl Pair {
    fn new() -> Self {
        let mut active = World::new(SITE);
        let mut standby = World::new(SITE);
        mirror(&mut active, Mirrored::Deactivate);
        mirror(&mut active, Mirrored::Activate);
        mirror(&mut standby, Mirrored::Deactivate);
        let mut pair = Self { active, standby };
        pair.catch_up();
        pair
    }

    /// A snapshot, from its begin to its end.
    fn catch_up(&mut self) {
        mirror(&mut self.standby, Mirrored::Forget);
        self.active.deltas.clear();
        let secret = mirror(&mut self.active, Mirrored::Snapshot(1));
        self.active.deltas.extend(secret.deltas().map(<[u8]>::to_vec));
        self.active.pass(Duration::from_millis(1));
        self.replicate();
    }

    /// What the active one told reaches the standby.
    fn replicate(&mut self) {
        self.standby.now = self.active.now;
        for delta in std::mem::take(&mut self.active.deltas) {
            mirror(&mut self.standby, Mirrored::Delta(&delta));
        }
        self.standby.expect_nothing();
    }

    /// The active one dies; its far ends talk to the other from now on.
    fn fail_over(&mut self) -> &mut World {
        self.replicate();
        mirror(&mut self.standby, Mirrored::Activate);
        &mut self.standby
    }

    /// Both show the same calls and registrations.
    #[track_caller]
    fn compare(&mut self) {
        self.replicate();
        for about in ["calls", "registrations"] {
            let rows = |world: &mut World| -> Vec<Value> {
                let rows = world.ask(about, &[]).as_array().unwrap().clone();
                let lasts = |row: &Value| row["state"] != "early" && row["state"] != "ending";
                rows.into_iter().filter(lasts).collect()
            };
            let (one, two) = (rows(&mut self.active), rows(&mut self.standby));
            assert_eq!(one, two, "{about}");
        }
    }

    /// A call that stands; the INVITE as Bob got it.
    fn call(&mut self, name: &str) -> (Caller, String) {
        let world = &mut self.active;
        let mut alice = Caller::new(name);
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
        alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
        world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        world.expect(BOB, "ACK");
        (alice, invite)
    }
}

#[test]
fn a_call_is_changed_and_ended_by_either_side_after_a_failover() {
    let mut pair = Pair::new();
    let (mut alice, _) = pair.call("one");
    let (_, invite) = pair.call("two");
    pair.compare();
    let world = pair.fail_over();
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let again = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&again, "200 OK", "b1", BOB_CONTACT, SDP));
    world.expect(ALICE, "SIP/2.0 200");
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    alice.cseq = 3;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    let bye = world.expect(BOB, "BYE");
    world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "BYE", 1, ""));
    let bye = world.expect(ALICE, "BYE");
    world.receive(ALICE, ACCESS, &respond(&bye, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200");
    world.expect_idle();
}

#[test]
fn a_bye_that_was_under_way_when_its_node_died_is_sent_again_and_heard() {
    let mut pair = Pair::new();
    let (mut alice, _) = pair.call("one");
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
fn the_ack_of_a_call_that_was_just_answered_is_made_up_after_a_failover() {
    let mut pair = Pair::new();
    let alice = Caller::new("one");
    pair.active.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    pair.active.sent.pop_front();
    let invite = pair.active.expect(BOB, "INVITE");
    let answer = respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP);
    pair.active.receive(BOB, CORE, &answer);
    let world = pair.fail_over();
    world.receive(BOB, CORE, &answer);
    world.expect(BOB, "ACK");
}

#[test]
fn a_standby_neither_answers_nor_sends_and_early_calls_are_not_kept() {
    let mut pair = Pair::new();
    let alice = Caller::new("early");
    pair.active.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    pair.replicate();
    assert!(pair.standby.ask("calls", &[]).as_array().unwrap().is_empty());
    pair.standby.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    pair.standby.pass(Duration::from_secs(100));
    pair.standby.expect_nothing();
}

#[test]
fn whatever_happens_the_standby_holds_what_the_active_one_holds() {
    for seed in 0..20u64 {
        let mut pair = Pair::new();
        let mut calls = Vec::new();
        let mut dice = seed;
        for step in 0..120u64 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step | 1);
            match (dice >> 33) % 8 {
                0..=3 => calls.push(pair.call(&format!("call-{step}"))),
                4 | 5 if !calls.is_empty() => end(&mut pair, &mut calls, dice),
                6 if !calls.is_empty() => {
                    let at = (dice >> 40) as usize % calls.len();
                    reinvite(&mut pair, &mut calls[at].0);
                }
                7 if step % 3 == 0 => {
                    pair.standby = World::new(SITE);
                    mirror(&mut pair.standby, Mirrored::Deactivate);
                    pair.catch_up();
                }
                _ => register(&mut pair, step % 5, dice),
            }
            if step % 7 == 0 {
                pair.compare();
            }
        }
        pair.compare();
        let count = calls.len();
        let world = pair.fail_over();
        for (alice, _) in &mut calls {
            alice.cseq += 1;
            world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
            world.expect(BOB, "ACK");
            let bye = world.expect(BOB, "BYE");
            world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
            world.expect(ALICE, "SIP/2.0 200");
        }
        assert!(count > 0, "seed {seed}");
        assert!(world.ask("calls", &[]).as_array().unwrap().is_empty());
    }
}

fn end(pair: &mut Pair, calls: &mut Vec<(Caller, String)>, dice: u64) {
    let (mut alice, _) = calls.swap_remove((dice >> 40) as usize % calls.len());
    alice.cseq += 1;
    let world = &mut pair.active;
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    let bye = world.expect(BOB, "BYE");
    world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    world.expect(ALICE, "SIP/2.0 200");
}

fn reinvite(pair: &mut Pair, alice: &mut Caller) {
    alice.cseq += 1;
    let world = &mut pair.active;
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    world.expect(ALICE, "SIP/2.0 200");
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
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
