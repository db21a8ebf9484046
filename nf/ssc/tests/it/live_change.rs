//! New configurations under calls that stand: nothing is dropped that still has its place.

use crate::world::*;
use machine::Duration;

const CALLS: usize = 50;

/// A realm that comes before the others and moves them.
fn with_trunk() -> String {
    SITE.replacen(
        "[[realm]]",
        "[[realm]]\nname = \"trunk\"\nlisten = [\"udp:127.0.0.1:5090\"]\n[[realm]]",
        1,
    )
}

fn stand(world: &mut World, from: usize) -> Vec<(Caller, String)> {
    (0..CALLS).map(|n| world.call(&format!("live-{from}-{n}"))).collect()
}

/// Every call answers a re-INVITE from either side and ends from either side.
fn end(world: &mut World, calls: Vec<(Caller, String)>) {
    for (n, (mut alice, invite)) in calls.into_iter().enumerate() {
        alice.cseq = 2;
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        world.expect(ALICE, "SIP/2.0 100");
        let again = world.expect(BOB, "INVITE sip:bob@10.0.1.1:5080");
        world.receive(BOB, CORE, &respond(&again, "200 OK", "", BOB_CONTACT, SDP));
        world.expect(ALICE, "SIP/2.0 200");
        world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        world.expect(BOB, "ACK");
        let bye = from_bob(&invite, "b1", "BYE", 7 + n as u32, "");
        world.receive(BOB, CORE, &bye);
        world.answer_bye(ALICE, ACCESS, BOB);
    }
    world.expect_nothing();
}

#[test]
fn limits_rules_realms_and_routes_change_under_calls_and_every_call_goes_on() {
    let rule = "[[rule]]\nrealm = \"core\"\ndirection = \"out\"\nmessage = \"request\"\n\
        [[rule.do]]\nadd = \"X-New\"\nvalue = \"1\"\n";
    let one_target = SITE.replace(", \"udp:10.0.1.2:5080\"", "");
    let changes = [
        ("limits", format!("{SITE}[limits]\ncalls_max = 1\n")),
        ("rules", format!("{SITE}{rule}")),
        ("a realm before the others", with_trunk()),
        ("that realm gone again", SITE.to_owned()),
        ("a next hop", one_target),
        ("timers", format!("{SITE}[timers]\nsession_expires_s = 1800\n")),
    ];
    for (what, site) in changes {
        let trunk = with_trunk();
        let mut world = World::new(if what.contains("gone") { &trunk } else { SITE });
        let calls = stand(&mut world, 0);
        world.configure(&site);
        world.expect_nothing();
        let rows = world.ask("calls", &[]);
        let realms = |row: &serde_json::Value| {
            row["realm_in"] == "access" && row["realm_out"] == "core" && row["state"] == "confirmed"
        };
        assert!(rows.as_array().unwrap().iter().all(realms), "{what}: {rows}");
        end(&mut world, calls);
        assert_eq!(world.metric("ssc_calls_torn_down_total"), 0, "{what}");
        assert_eq!(world.metric("ssc_calls_ended_total"), CALLS as u64, "{what}");
        world.expect_idle();
    }
}

#[test]
fn a_call_that_rings_while_its_routes_change_is_answered() {
    let mut world = World::new(SITE);
    let alice = Caller::new("ringing");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.configure(&with_trunk().replace(", \"udp:10.0.1.2:5080\"", ""));
    world.pass(Duration::from_millis(100));
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b", BOB_CONTACT, ""));
    world.expect(ALICE, "SIP/2.0 180");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b", BOB_CONTACT, SDP));
    world.expect(ALICE, "SIP/2.0 200");
}

#[test]
fn calls_on_a_realm_that_is_removed_end_on_both_legs_and_the_others_stay() {
    let mut world =
        World::new(&format!("{}[[route]]\nfrom = \"trunk\"\nto = [\"switch\"]\n", with_trunk()));
    let kept = stand(&mut world, 1);
    let mut carol = Caller::new("on-the-trunk");
    (carol.at, carol.listener) = ("10.0.2.1:5060", "127.0.0.1:5090");
    world.receive(carol.at, carol.listener, &carol.request("INVITE", "", SDP));
    world.expect(carol.at, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "bc", BOB_CONTACT, SDP));
    carol.learn(&world.expect(carol.at, "SIP/2.0 200"));
    world.receive(carol.at, carol.listener, &carol.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    world.configure(SITE);
    assert_eq!(world.metric("ssc_calls_torn_down_total"), 1);
    let byes: Vec<_> = world.sent.drain(..).filter(|sent| sent.text.starts_with("BYE")).collect();
    assert_eq!(byes.len(), 2, "{byes:?}");
    for bye in byes.iter().filter(|bye| bye.to == BOB.parse().unwrap()) {
        world.receive(BOB, CORE, &respond(&bye.text, "200 OK", "", "", ""));
    }
    world.sent.clear();
    let rows = world.ask("calls", &[]);
    let confirmed = rows.as_array().unwrap().iter().filter(|row| row["state"] == "confirmed");
    assert_eq!(confirmed.count(), CALLS);
    end(&mut world, kept);
}

/// A registration of Alice at the trunk realm.
fn registered(world: &mut World) {
    let trunk = "127.0.0.1:5090";
    let register = format!(
        "REGISTER sip:example.com SIP/2.0\r\n\
         Via: SIP/2.0/UDP {ALICE};rport;branch=z9hG4bKgone\r\n\
         Max-Forwards: 70\r\nFrom: <sip:alice@example.com>;tag=r\r\n\
         To: <sip:alice@example.com>\r\nCall-ID: gone\r\nCSeq: 1 REGISTER\r\n\
         Contact: <sip:alice@{ALICE}>\r\nExpires: 600\r\nContent-Length: 0\r\n\r\n"
    );
    world.receive(ALICE, trunk, &register);
}

fn accept(world: &mut World, forwarded: &str) {
    let more = format!("Contact: {};expires=1800\r\n", header(forwarded, "Contact"));
    world.receive(BOB, CORE, &respond(forwarded, "200 OK", "b", &more, ""));
    world.sent.clear();
}

#[test]
fn registrations_of_a_realm_that_is_removed_end_and_those_under_way_come_to_nothing() {
    let site = format!("{}[[route]]\nfrom = \"trunk\"\nto = [\"switch\"]\n", with_trunk());
    let shown = |world: &mut World| world.ask("registrations", &[]).as_array().unwrap().len();
    let mut world = World::new(&site);
    registered(&mut world);
    let forwarded = world.expect(BOB, "REGISTER");
    accept(&mut world, &forwarded);
    assert_eq!(shown(&mut world), 1);
    world.configure(SITE);
    assert_eq!(shown(&mut world), 0, "nobody is reached through another realm instead");
    assert_eq!(world.metric("ssc_bindings_live"), 0);

    let mut world = World::new(&site);
    registered(&mut world);
    let forwarded = world.expect(BOB, "REGISTER");
    world.configure(SITE);
    accept(&mut world, &forwarded);
    assert_eq!(shown(&mut world), 0, "its answer comes too late");
    assert_eq!(world.metric("ssc_bindings_live"), 0);
}

#[test]
fn the_answer_to_a_probe_says_nothing_about_the_target_that_took_its_place() {
    let site = SITE.replacen("probe_interval_s = 0", "probe_interval_s = 10", 1);
    let mut world = World::new(&site);
    world.pass(Duration::from_millis(1));
    let probe = world.expect(BOB, "OPTIONS");
    world.sent.clear();
    // The same place now has a target that never answers.
    world.configure(&site.replace("10.0.1.1:5080", "10.0.1.9:5080"));
    let down = |world: &mut World| {
        let rows = world.ask("next-hops", &[]);
        rows[0]["state"] == "down"
    };
    let until = world.now + Duration::from_secs(100);
    while !down(&mut world) && world.now < until {
        world.pass(Duration::from_secs(1));
    }
    assert!(down(&mut world), "nobody answers at the new one");
    world.receive(BOB, CORE, &respond(&probe, "200 OK", "p", "", ""));
    assert!(down(&mut world), "the old one's answer is not its");
    let mut world = World::new(&site);
    world.pass(Duration::from_millis(1));
    let probe = world.expect(BOB, "OPTIONS");
    world.configure(&site.replace("10.0.1.1:5080", "10.0.1.9:5080"));
    let failures = |world: &mut World| world.ask("next-hops", &[])[0]["failures"].clone();
    world.receive(BOB, CORE, &respond(&probe, "503 Service Unavailable", "p", "", ""));
    assert_eq!(failures(&mut world), 0, "nor its failure");
}

#[test]
fn a_target_that_was_down_takes_calls_when_it_is_probed_no_more() {
    let site = SITE.replacen("probe_interval_s = 0", "probe_interval_s = 10", 1);
    let mut world = World::new(&site);
    for _ in 0..40 {
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(world.ask("next-hops", &[])[0]["state"], "down");
    world.configure(SITE);
    assert_eq!(world.ask("next-hops", &[])[0]["state"], "up");
    assert!(world.ask("alarms", &[]).as_array().unwrap().is_empty());
    world.sent.clear();
    world.receive(ALICE, ACCESS, &Caller::new("u1").request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
}
