//! The shield before the controller: who floods is refused unread, who is known is served.

use crate::world::*;
use machine::Duration;
use runtime::{Flow, Transport};

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
    assert!(world.metric("ssc_registers_forwarded_total") < 100 + 20 + 20 + 2 * 20);
    world.pass(Duration::from_secs(7));
    assert_eq!(world.ask("alarms", &[]), serde_json::json!([]), "the alarm is cleared");
}

/// The REGISTER of a phone with the credentials that `challenge` asks for.
fn answer(challenge: &str, cseq: u32, at: &str) -> String {
    let nonce = challenge.split("nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    let line = format!("Authorization: Digest username=\"new\", nonce=\"{nonce}\", uri=\"sip:x\"");
    register("new", at, cseq).replace("Expires: 600", &format!("{line}\r\nExpires: 600"))
}

#[test]
fn in_a_flood_an_unknown_phone_registers_through_two_challenges() {
    let mut world = World::new(&guarded());
    alice_registers(&mut world);
    flood(&mut world, 1, 1_000, 20);
    let phone = "203.0.113.9:5062";
    world.receive(phone, ACCESS, &register("new", phone, 1));
    let challenge = world.expect(phone, "SIP/2.0 401");
    world.receive(phone, ACCESS, &register("new", phone, 1));
    assert_eq!(world.expect(phone, "SIP/2.0 401"), challenge, "a copy gets the same answer");
    world.expect_nothing();
    assert!(header(&challenge, "WWW-Authenticate").starts_with("Digest realm=\"example.com\""));
    // Another host cannot use what it has overheard.
    world.receive("203.0.113.8:5062", ACCESS, &answer(&challenge, 2, phone));
    world.expect("203.0.113.8:5062", "SIP/2.0 401");
    world.receive(phone, ACCESS, &answer(&challenge, 2, phone));
    let forwarded = world.expect(BOB, "REGISTER");
    assert!(!forwarded.contains("Authorization"), "the core does not know the nonce: {forwarded}");
    let core = "WWW-Authenticate: Digest realm=\"Core\", nonce=\"n\"\r\n";
    world.receive(BOB, CORE, &respond(&forwarded, "401 Unauthorized", "b", core, ""));
    let second = world.expect(phone, "SIP/2.0 401");
    let wanted = "Digest realm=\"Core\", nonce=\"n\", stale=TRUE";
    assert_eq!(header(&second, "WWW-Authenticate"), wanted);
    flood(&mut world, 2_000_000, 100, 20);
    world.receive(phone, ACCESS, &answer(&second, 3, phone));
    let forwarded = world.expect(BOB, "REGISTER");
    assert!(header(&forwarded, "Authorization").contains("nonce=\"n\""));
    let more = format!("Contact: {};expires=1800\r\n", header(&forwarded, "Contact"));
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    world.expect(phone, "SIP/2.0 200");
    assert_eq!(world.metric("ssc_shield_proven_total"), 1);
    // The realm is the core's from now on.
    let next = "203.0.113.10:5062";
    world.receive(next, ACCESS, &register("next", next, 1));
    let challenge = world.expect(next, "SIP/2.0 401");
    assert!(header(&challenge, "WWW-Authenticate").starts_with("Digest realm=\"Core\""));
}

#[test]
fn no_more_challenges_are_sent_than_configured_and_none_without_a_flood() {
    let site = format!("{}challenge_rate = 100\n", guarded());
    let mut world = World::new(&site);
    world.receive(PHONE, ACCESS, &register("new", PHONE, 1));
    world.expect(BOB, "REGISTER");
    assert_eq!(world.metric("ssc_shield_challenged_total"), 0);
    flood(&mut world, 1, 2_000, 20);
    let challenged = world.metric("ssc_shield_challenged_total");
    assert!((150..=210).contains(&challenged), "{challenged}");
    assert!(world.metric("ssc_shield_refused_registers_total") > 35_000);
}

#[test]
fn trusted_realms_next_hops_and_listed_prefixes_pass_whatever_the_rate() {
    let site = guarded() + "trusted = [\"10.7.0.0/16\"]\n";
    let mut world = World::new(&site);
    for n in 0..500 {
        for (from, listener) in
            [(BOB, CORE), (BACKUP, CORE), (ALICE, ACCESS), ("10.7.1.1:5060", ACCESS)]
        {
            world.receive(from, listener, &register("peer", from, n));
        }
    }
    assert_eq!(world.metric("ssc_messages_received_total"), 2_000);
    assert_eq!(world.metric("ssc_shield_refused_registers_total"), 0);
}

#[test]
fn whoever_sends_rubbish_is_blacklisted_shown_and_pardoned() {
    let mut world = World::new(&guarded());
    let rubbish = "11.0.0.7:5060";
    for _ in 0..8 {
        world.receive(rubbish, ACCESS, "INVITE nonsense\r\n\r\n");
    }
    assert_eq!(world.ask("blacklist", &[]), serde_json::json!([]), "a datagram may be forged");
    let local = ACCESS.parse().unwrap();
    let port = world.port(ACCESS, Transport::Tcp);
    let flow = Flow::to(port, Transport::Tcp, local, rubbish.parse().unwrap());
    for _ in 0..4 {
        world.receive_on(flow, "INVITE nonsense\r\n\r\n");
    }
    let rows = world.ask("blacklist", &[]);
    assert_eq!(rows[0]["address"], "11.0.0.7");
    assert_eq!((&rows[0]["count"], &rows[0]["refused"]), (&9.into(), &3.into()));
    assert_eq!(world.metric("ssc_shield_refused_blacklisted_total"), 3);
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
    let refused = |world: &mut World| {
        world.metric("ssc_shield_refused_registers_total")
            + world.metric("ssc_shield_challenged_total")
    };
    assert!(refused(&mut world) > 5_000);
    world.configure(&format!("{SITE}\n[shield]\nenabled = false\n"));
    let before = refused(&mut world);
    flood(&mut world, 2_000_000, 100, 5);
    assert_eq!(refused(&mut world), before);
}
