//! Calls within the site's pool of sessions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use machine::Duration;
use runtime::{Effects, Function, Mirrored};
use serde_json::Value;
use world::*;

const TERMS: [(&str, &str); 3] = [("grace_s", "60"), ("overdraft", "2"), ("status", "500")];

/// The driver's round: brings this block, of which one may idle.
fn exchange(world: &mut World, grant: Option<(u64, u32)>) -> Value {
    world.pass(Duration::from_millis(20));
    let row = world.ask("pool/exchange", &TERMS);
    let Some((serial, block)) = grant else { return row };
    let report = row[0]["report"].as_array().unwrap();
    let words = format!("77 {} {} {serial} {block} 1", report[1], report[2]);
    world.pass(Duration::from_millis(20));
    world.ask("pool/exchange", &[&TERMS[..], &[("0", &words)]].concat())
}

fn call(world: &mut World, call_id: &str) -> String {
    world.receive(ALICE, ACCESS, &Caller::new(call_id).request("INVITE", "", SDP));
    let answer = world.sent.pop_front().unwrap().text;
    world.sent.clear();
    answer["SIP/2.0 ".len()..].split(' ').next().unwrap().to_owned()
}

#[test]
fn calls_start_within_the_block_and_in_its_overdraft_while_the_keeper_is_away() {
    let mut world = World::new(SITE);
    assert_eq!(call(&mut world, "free"), "100", "without a pool");
    let row = exchange(&mut world, Some((1, 2)));
    let report = row[0]["report"].as_array().unwrap();
    let expected: [Value; 5] =
        [77.into(), report[1].clone(), report[2].clone(), 1.into(), 2.into()];
    assert_eq!((&report[..5], &report[5]), (&expected[..], &Value::from(1)));
    assert_eq!(call(&mut world, "second"), "100");
    assert_eq!(call(&mut world, "third"), "500", "the block is used up");
    assert_eq!(world.fact("ssc_pool_refused_total"), 1);
    let row = exchange(&mut world, None);
    assert_eq!((&row[0]["report"][6], &row[0]["low"]), (&1.into(), &true.into()), "one short");
    let sos = Caller::new("sos").request("INVITE", "", SDP);
    let sos = sos.replacen("sip:bob@example.org", "urn:service:sos", 1);
    world.receive(ALICE, ACCESS, &sos);
    assert!(!world.sent.pop_front().unwrap().text.starts_with("SIP/2.0 500"), "an emergency");
    world.sent.clear();
    assert_eq!(world.ask("pool", &[])[0]["keeper"], "present");
    world.pass(Duration::from_secs(4));
    world.sent.clear();
    assert_eq!(world.ask("pool", &[])[0]["keeper"], "away");
    assert!(world.ask("alarms", &[]).to_string().contains("pool-keeper-away"));
    let live = world.ask("pool", &[])[0]["live"].as_u64().unwrap();
    for n in live..4 {
        assert_eq!(call(&mut world, &format!("grace{n}")), "100", "two beyond the block");
    }
    assert_eq!(call(&mut world, "overdrawn"), "500");
    assert!(world.fact("ssc_pool_overdraft_total") >= 1);
    world.pass(Duration::from_secs(60));
    world.sent.clear();
    assert_eq!(world.ask("pool", &[])[0]["grace_left_s"], 0);
}

#[test]
fn idle_sessions_go_back_and_without_a_pool_every_call_starts_again() {
    let mut world = World::new(SITE);
    exchange(&mut world, Some((1, 100)));
    let row = exchange(&mut world, None);
    assert_eq!(row[0]["report"][4], 1, "what is more than spare went back");
    exchange(&mut world, Some((2, 0)));
    assert_eq!(call(&mut world, "none"), "500");
    world.ask("pool/exchange", &[]);
    assert_eq!(call(&mut world, "free"), "100");
    assert_eq!(world.ask("pool", &[]), Value::Array(Vec::new()));
}

fn mirror(world: &mut World, input: Mirrored<'_>) {
    let mut out = Effects::default();
    let now = world.now;
    world.controller.mirror(now, input, &mut out);
}

#[test]
fn calls_that_a_standby_takes_over_count_in_its_limits_and_in_the_pool() {
    let limits = "limit = { calls_max = 3 }\n";
    let site = SITE
        .replacen(
            "name = \"access\"",
            &format!("name = \"access\"\n{limits}subscriber_{limits}"),
            1,
        )
        .replacen("name = \"switch\"", &format!("name = \"switch\"\n{limits}"), 1);
    let (mut active, mut standby) = (World::new(&site), World::new(&site));
    mirror(&mut active, Mirrored::Deactivate);
    mirror(&mut active, Mirrored::Activate);
    mirror(&mut standby, Mirrored::Deactivate);
    assert_eq!(standby.ask("pool/exchange", &TERMS), Value::Array(Vec::new()), "it is silent");
    let mut callers = Vec::new();
    for name in ["one", "two"] {
        let mut alice = Caller::new(name);
        active.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        active.expect(ALICE, "SIP/2.0 100");
        let invite = active.expect(BOB, "INVITE");
        active.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
        alice.learn(&active.expect(ALICE, "SIP/2.0 200"));
        active.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        active.expect(BOB, "ACK");
        callers.push(alice);
    }
    let before = active.ask("limits", &[]);
    standby.now = active.now;
    for delta in std::mem::take(&mut active.deltas) {
        mirror(&mut standby, Mirrored::Delta(&delta));
    }
    mirror(&mut standby, Mirrored::Activate);
    assert_eq!(standby.ask("limits", &[]), before, "the same is counted");
    let row = exchange(&mut standby, Some((1, 2)));
    assert_eq!(row[0]["report"][5], 2, "two run");
    assert_eq!(call(&mut standby, "beyond"), "500", "the pool's block is used up");
    exchange(&mut standby, Some((2, 9)));
    assert_eq!(call(&mut standby, "third"), "100");
    exchange(&mut standby, Some((3, 9)));
    assert_eq!(call(&mut standby, "fourth"), "486", "and the limits know the two as well");
    callers[0].cseq = 2;
    standby.receive(ALICE, ACCESS, &callers[0].request("BYE", "", ""));
    standby.expect(BOB, "ACK");
    let bye = standby.expect(BOB, "BYE");
    standby.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
    standby.sent.clear();
    assert_eq!(standby.ask("pool", &[])[0]["live"], 2);
    exchange(&mut standby, Some((4, 9)));
    assert_eq!(call(&mut standby, "fifth"), "100", "one ended");
}
