//! The shield before the controller: who floods is refused unread, who is known is served.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use machine::Duration;
use world::*;

/// Unknown sources may send 100 at once and 200 a second, in a flood 20 a second.
fn guarded() -> String {
    format!(
        "{SITE}\n[shield]\nsource_rate = 50\nsource_burst = 50\nunknown_rate = 200\n\
         unknown_burst = 100\nflood_rate = 20\nflood_refused = 100\nrefused_max = 100\n\
         malformed_max = 5\nblacklist_s = 30\n"
    )
}

fn register(user: &str, at: &str, cseq: u32) -> String {
    format!(
        "REGISTER sip:example.com SIP/2.0\r\n\
         Via: SIP/2.0/UDP {at};rport;branch=z9hG4bKr{user}{cseq}\r\n\
         Max-Forwards: 70\r\nFrom: <sip:{user}@example.com>;tag=r\r\n\
         To: <sip:{user}@example.com>\r\nCall-ID: r{user}\r\nCSeq: {cseq} REGISTER\r\n\
         Contact: <sip:{user}@{at}>\r\nExpires: 600\r\nContent-Length: 0\r\n\r\n"
    )
}

/// The core accepts Alice's contact; she calls from 10.0.0.1, which is no next hop here.
fn alice_registers(world: &mut World) {
    world.receive(PHONE, ACCESS, &register("alice", PHONE, 1));
    let forwarded = world.expect(BOB, "REGISTER");
    let more = format!("Contact: {};expires=1800\r\n", header(&forwarded, "Contact"));
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    world.expect(PHONE, "SIP/2.0 200");
}

const PHONE: &str = "10.0.9.9:5060";

/// REGISTERs of forged sources, `per_s` for `ms`; answers go nowhere.
fn flood(world: &mut World, seed: u32, ms: u32, per_ms: u32) {
    for step in 0..ms {
        for n in 0..per_ms {
            let host = (seed + step * per_ms + n).wrapping_mul(0x9e37_79b1) >> 8;
            let [_, b, c, d] = host.to_be_bytes();
            let from = format!("11.{b}.{c}.{d}:5060");
            world.receive(&from, ACCESS, &register("mallory", &from, step * per_ms + n));
        }
        world.pass(Duration::from_millis(1));
        world.sent.clear();
    }
}

#[test]
fn a_register_flood_is_recognised_in_a_second_and_registered_callers_are_served() {
    let mut world = World::new(&guarded());
    alice_registers(&mut world);
    assert_eq!(world.ask("alarms", &[]), serde_json::json!([]));
    let began = world.now;
    for call in 0..10 {
        flood(&mut world, call * 1_000_000, 100, 20);
        let mut alice = Caller::new(&format!("during-{call}"));
        alice.at = PHONE;
        world.receive(PHONE, ACCESS, &alice.request("INVITE", "", SDP));
        world.expect(PHONE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        world.receive(BOB, CORE, &respond(&invite, "486 Busy", "b", "", ""));
        world.sent.clear();
        world.receive(PHONE, ACCESS, &alice.request("ACK", "", ""));
    }
    let alarms = world.ask("alarms", &[]);
    assert_eq!((&alarms[0]["name"], &alarms[0]["subject"]), (&"flood".into(), &"REGISTER".into()));
    let shown = world.ask("shield", &[]);
    let at = shown[0]["flood"]["recognised_at_us"].as_u64().unwrap();
    assert!(at - began.as_micros() < 1_000_000, "{shown}");
    assert!(world.fact("ssc_registers_forwarded_total") < 100 + 20 + 20 + 2 * 20);
    world.pass(Duration::from_secs(7));
    assert_eq!(world.ask("alarms", &[]), serde_json::json!([]), "the alarm is cleared");
}

#[test]
fn trusted_realms_next_hops_and_listed_prefixes_pass_whatever_the_rate() {
    let site = guarded() + "trusted = [\"10.7.0.0/16\"]\n";
    let mut world = World::new(&site);
    for n in 0..500 {
        for (from, door) in
            [(BOB, CORE), (BACKUP, CORE), (ALICE, ACCESS), ("10.7.1.1:5060", ACCESS)]
        {
            world.receive(from, door, &register("peer", from, n));
        }
    }
    assert_eq!(world.fact("ssc_messages_received_total"), 2_000);
    assert_eq!(world.fact("ssc_shield_refused_registers_total"), 0);
}

#[test]
fn whoever_sends_rubbish_is_blacklisted_shown_and_pardoned() {
    let mut world = World::new(&guarded());
    let rubbish = "11.0.0.7:5060";
    for _ in 0..8 {
        world.receive(rubbish, ACCESS, "INVITE nonsense\r\n\r\n");
    }
    let rows = world.ask("blacklist", &[]);
    assert_eq!(rows[0]["address"], "11.0.0.7");
    assert_eq!((&rows[0]["count"], &rows[0]["refused"]), (&5.into(), &3.into()));
    assert_eq!(world.fact("ssc_shield_refused_blacklisted_total"), 3);
    world.sent.clear();
    assert_eq!(world.ask("blacklist/clear", &[("address", "11.0.0.8")])[0]["cleared"], 0);
    assert_eq!(world.ask("blacklist/clear", &[("address", "11.0.0.7")])[0]["cleared"], 1);
    world.receive(rubbish, ACCESS, &register("mallory", rubbish, 1));
    world.expect(BOB, "REGISTER");
    world.receive(ALICE, ACCESS, "INVITE nonsense\r\n\r\n");
    assert_eq!(world.ask("blacklist", &[]), serde_json::json!([]));
}

#[test]
fn limits_change_while_a_flood_goes_on() {
    let mut world = World::new(&guarded());
    flood(&mut world, 1, 300, 20);
    assert!(world.fact("ssc_shield_refused_registers_total") > 5_000);
    world.configure(&format!("{SITE}\n[shield]\nenabled = false\n"));
    let before = world.fact("ssc_shield_refused_registers_total");
    flood(&mut world, 2_000_000, 100, 5);
    assert_eq!(world.fact("ssc_shield_refused_registers_total"), before);
}
