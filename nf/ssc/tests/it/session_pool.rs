//! Calls within the site's pool of sessions.

use crate::world::pair::Pair;
use crate::world::*;
use machine::Duration;
use serde_json::Value;

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
    assert_eq!(world.metric("ssc_pool_refused_total"), 1);
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
    assert!(world.metric("ssc_pool_overdraft_total") >= 1);
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
    let mut pair = Pair::new(&site);
    let silent = pair.standby.ask("pool/exchange", &TERMS);
    assert_eq!(silent, Value::Array(Vec::new()), "it is silent");
    let (mut alice, _) = pair.active.call("one");
    pair.active.call("two");
    let before = pair.active.ask("limits", &[]);
    let standby = pair.fail_over();
    assert_eq!(standby.ask("limits", &[]), before, "the same is counted");
    let row = exchange(standby, Some((1, 2)));
    assert_eq!(row[0]["report"][5], 2, "two run");
    assert_eq!(call(standby, "beyond"), "500", "the pool's block is used up");
    exchange(standby, Some((2, 9)));
    assert_eq!(call(standby, "third"), "100");
    exchange(standby, Some((3, 9)));
    assert_eq!(call(standby, "fourth"), "486", "and the limits know the two as well");
    standby.sent.clear();
    standby.end(&mut alice);
    assert_eq!(standby.ask("pool", &[])[0]["live"], 2);
    exchange(standby, Some((4, 9)));
    assert_eq!(call(standby, "fifth"), "100", "one ended");
}
