//! Every metric that the controller declares moves: one small scene for each.

use crate::world::pair::mirror;
use crate::world::*;
use machine::Duration;
use runtime::{Flow, Function, In, Mirrored, Pace, Transport};
use std::collections::BTreeSet;

/// Names of metrics, those that moved and all.
#[derive(Default)]
struct Seen {
    moved: BTreeSet<&'static str>,
    all: BTreeSet<&'static str>,
}

impl Seen {
    /// Reads a world's metrics.
    fn read(&mut self, world: &mut World) {
        let _ = world.ask("realms", &[]);
        for cells in world.controller.cells() {
            for (row, reading) in cells.samples() {
                self.all.insert(row.name);
                let moved = match reading {
                    event::Sample::Value(value) => value > 0,
                    event::Sample::Histogram { count, .. } => count > 0,
                };
                if moved {
                    self.moved.insert(row.name);
                }
            }
        }
    }
}

/// An INVITE of Alice, as Bob got it.
fn invited(world: &mut World, call_id: &str) -> (Caller, String) {
    let alice = Caller::new(call_id);
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "Supported: timer\r\n", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    (alice, invite)
}

/// A call from ringing to its end, and one that a second fork answers too.
fn calls(seen: &mut Seen) {
    let mut world = World::new(SITE);
    let (mut alice, invite) = invited(&mut world, "whole");
    seen.read(&mut world);
    let more = format!("{BOB_CONTACT}Require: 100rel\r\nRSeq: 1\r\n");
    world.pass(Duration::from_millis(50));
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b1", &more, ""));
    world.expect(ALICE, "SIP/2.0 180");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b2", BOB_CONTACT, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.pass(Duration::from_secs(2));
    world.sent.clear();
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "BYE", 1, ""));
    let bye = world.expect(ALICE, "BYE");
    world.receive(ALICE, ACCESS, &respond(&bye, "200 OK", "", "", ""));
    seen.read(&mut world);
}

/// Calls that end otherwise: rejected, cancelled, without ACK, without refresh.
fn endings(seen: &mut Seen) {
    let mut world = World::new(SITE);
    let (_, invite) = invited(&mut world, "busy");
    world.receive(BOB, CORE, &respond(&invite, "503 Service Unavailable", "b1", "", ""));
    let second = world.expect(BACKUP, "INVITE");
    world.receive(BACKUP, CORE, &respond(&second, "486 Busy Here", "b2", "", ""));
    world.sent.clear();
    let (alice, _) = invited(&mut world, "cancelled");
    let cancel = alice.request("CANCEL", "", "").replace("z9hG4bKCANCEL", "z9hG4bKINVITE");
    world.receive(ALICE, ACCESS, &cancel);
    world.sent.clear();
    let (_, invite) = invited(&mut world, "no-ack");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    world.pass(Duration::from_secs(40));
    world.sent.clear();
    let (mut alice, invite) = invited(&mut world, "no-refresh");
    let more = format!("{BOB_CONTACT}Session-Expires: 90;refresher=uac\r\n");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", &more, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.pass(Duration::from_secs(91));
    seen.read(&mut world);
}

/// What is refused, repeated, stray or no SIP, and a request outside of calls.
fn oddities(seen: &mut Seen) {
    let site = SITE.replacen("from = \"access\"", "from = \"access\"\nuser = \"^bob$\"", 1);
    let mut world = World::new(&format!("{site}\n[limits]\ncalls_max = 1\n"));
    world.receive(ALICE, ACCESS, "rubbish");
    let (alice, invite) = invited(&mut world, "only");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "Supported: timer\r\n", SDP));
    world.receive(ALICE, ACCESS, &Caller::new("too-many").request("INVITE", "", SDP));
    let stray = respond(&invite, "200 OK", "x", "", "").replace("z9hG4bK", "z9hG4bKstray");
    world.receive(BOB, CORE, &stray.replace("1 INVITE", "1 INFO"));
    let mut other = Caller::new("other");
    world.receive(ALICE, ACCESS, &other.request("MESSAGE", "", ""));
    other.target = "sip:nobody@example.org".into();
    other.cseq = 2;
    world.receive(ALICE, ACCESS, &other.request("MESSAGE", "", ""));
    other.cseq = 3;
    let spent = other.request("INVITE", "", SDP).replace("Max-Forwards: 70", "Max-Forwards: 0");
    world.receive(ALICE, ACCESS, &spent);
    seen.read(&mut world);
}

/// Probes that nobody answers, a collector that is away, and captures in brief.
fn surroundings(seen: &mut Seen) {
    let site = SITE.replacen("probe_interval_s = 0", "probe_interval_s = 10", 1).replacen(
        "name = \"ssc1\"",
        "name = \"ssc1\"\ncapture = \"tcp:127.0.0.1:9060\"",
        1,
    );
    let mut world = World::new(&site);
    world.pass(Duration::from_secs(90));
    let flow = world.config.capture_flow().unwrap();
    world.step(In::Down { flow, why: "connection refused" });
    world.receive(ALICE, ACCESS, &Caller::new("shed").request("INVITE", "", SDP));
    world.overload();
    world.controller.waited(world.now, Duration::ZERO);
    world.receive(ALICE, ACCESS, &Caller::new("brief").request("ACK", "", ""));
    seen.read(&mut world);
}

/// A registration and its refresh.
fn registrations(seen: &mut Seen) {
    let mut world = World::new(SITE);
    let register = |cseq: u32| {
        format!(
            "REGISTER sip:example.com SIP/2.0\r\n\
             Via: SIP/2.0/UDP {ALICE};rport;branch=z9hG4bKr{cseq}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:alice@example.com>;tag=r\r\n\
             To: <sip:alice@example.com>\r\nCall-ID: r\r\nCSeq: {cseq} REGISTER\r\n\
             Contact: <sip:alice@{ALICE}>\r\nExpires: 600\r\nContent-Length: 0\r\n\r\n"
        )
    };
    world.receive(ALICE, ACCESS, &register(1));
    let forwarded = world.expect(BOB, "REGISTER");
    let more = format!("Contact: {};expires=1800\r\n", header(&forwarded, "Contact"));
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    world.pass(Duration::from_secs(5));
    world.receive(ALICE, ACCESS, &register(2));
    seen.read(&mut world);
}

/// An overload, and every limit.
fn refusals(seen: &mut Seen) {
    let mut world = World::new(SITE);
    world.overload();
    world.controller.waited(world.now, Duration::from_millis(200));
    world.receive(ALICE, ACCESS, &Caller::new("late").request("INVITE", "", SDP));
    let register = Caller::new("register").request("REGISTER", "", "");
    world.receive(ALICE, ACCESS, &register);
    seen.read(&mut world);
    let mut world = World::new(SITE);
    let register = |cseq: u32| {
        let mut alice = Caller::new("refresh");
        alice.cseq = cseq;
        alice.request("REGISTER", "", "").replace("bob@example.org", "alice@example.com")
    };
    world.receive(ALICE, ACCESS, &register(1));
    let forwarded = world.expect(BOB, "REGISTER");
    let more = format!("Contact: {};expires=1800\r\n", header(&forwarded, "Contact"));
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    world.overload();
    world.controller.waited(world.now, Duration::from_millis(200));
    world.receive(ALICE, ACCESS, &register(2));
    world.controller.waited(world.now, Duration::from_millis(2));
    world.receive(ALICE, ACCESS, &Caller::new("late").request("INVITE", "", SDP));
    seen.read(&mut world);
    let none = "limit = { calls_max = 0 }";
    let places = [
        SITE.replacen("name = \"access\"", &format!("name = \"access\"\n{none}"), 1),
        SITE.replacen("name = \"access\"", &format!("name = \"access\"\nsubscriber_{none}"), 1),
        SITE.replacen("name = \"switch\"", &format!("name = \"switch\"\n{none}"), 1),
        format!("{SITE}\n[resources]\nunits_max = 0\n"),
    ];
    for site in places {
        let mut world = World::new(&site);
        world.receive(ALICE, ACCESS, &Caller::new("excess").request("INVITE", "", SDP));
        seen.read(&mut world);
    }
}

/// A flood of every kind from unknown sources, one of which is blacklisted.
fn floods(seen: &mut Seen) {
    let shield = "\n[shield]\nunknown_burst = 10\nunknown_rate = 10\nflood_rate = 1\n\
        flood_refused = 10\nrefused_max = 5\nsource_burst = 5\nsource_rate = 5\n";
    let mut world = World::new(&format!("{SITE}{shield}"));
    let port = world.port(ACCESS, Transport::Tcp);
    let (local, remote) = (ACCESS.parse().unwrap(), "11.0.1.1:5060".parse().unwrap());
    let loud = Flow::to(port, Transport::Tcp, local, remote);
    for n in 0..60 {
        let method = ["INVITE", "REGISTER", "OPTIONS"][n % 3];
        let text = Caller::new(&format!("flood{n}")).request(method, "", "");
        world.receive(&format!("11.0.0.{n}:5060"), ACCESS, &text);
        world.receive_on(loud, &text);
    }
    world.sent.clear();
    let (phone, more) =
        ("11.0.2.1:5060", "Subject: a phone with a return path, and enough words\r\n");
    let mut caller = Caller::new("phone");
    caller.at = phone;
    world.receive(phone, ACCESS, &caller.request("REGISTER", more, ""));
    let challenge = world.expect(phone, "SIP/2.0 401");
    let nonce = challenge.split("nonce=").nth(1).unwrap().split(',').next().unwrap();
    let more = format!("Authorization: Digest nonce={nonce}\r\n");
    world.receive(phone, ACCESS, &caller.request("REGISTER", &more, ""));
    seen.read(&mut world);
}

/// A pool of sessions that is used up, and whose keeper goes away.
fn pool(seen: &mut Seen) {
    let mut world = World::new(SITE);
    let terms = [("grace_s", "60"), ("overdraft", "5")];
    for (serial, block) in [(1, 1), (2, 0)] {
        let row = world.ask("pool/exchange", &terms);
        let report = row[0]["report"].as_array().unwrap();
        let grant = format!("7 {} {} {serial} {block} 1", report[1], report[2]);
        world.pass(Duration::from_millis(20));
        world.ask("pool/exchange", &[&terms[..], &[("0", &grant)]].concat());
        seen.read(&mut world);
    }
    world.receive(ALICE, ACCESS, &Caller::new("no-session").request("INVITE", "", SDP));
    world.pass(Duration::from_secs(10));
    world.receive(ALICE, ACCESS, &Caller::new("grace").request("INVITE", "", SDP));
    seen.read(&mut world);
}

/// A standby that lacks too much.
fn standby(seen: &mut Seen) {
    let mut world = World::new(&format!("{SITE}\n[limits]\nrefuse_while_behind = true\n"));
    mirror(&mut world, Mirrored::Paced(Pace::Behind));
    world.receive(ALICE, ACCESS, &Caller::new("late").request("INVITE", "", SDP));
    seen.read(&mut world);
}

/// A next hop that wants no calls.
fn feedback(seen: &mut Seen) {
    let hop = "name = \"switch\"\noverload_control = true";
    let site = SITE.replacen("name = \"switch\"", hop, 1).replace(", \"udp:10.0.1.2:5080\"", "");
    let mut world = World::new(&site);
    world.receive(ALICE, ACCESS, &Caller::new("one").request("INVITE", "", SDP));
    let invite = world.sent.pop_back().unwrap().text;
    let ringing = respond(&invite, "180 Ringing", "b1", "", "");
    let all = ";oc=100;oc-algo=\"loss\";oc-validity=5000;oc-seq=1.0";
    world.receive(BOB, CORE, &ringing.replace(";oc;oc-algo=\"loss\"", all));
    world.receive(ALICE, ACCESS, &Caller::new("two").request("INVITE", "", SDP));
    seen.read(&mut world);
}

/// Messages that are too long once rules have had them, on their way in and on their way out.
fn growth(seen: &mut Seen) {
    let rule = |direction: &str| {
        format!(
            "[[rule]]\ndirection = '{direction}'\n[[rule.do]]\nreplace = 'Subject'\n\
             pattern = '(.+)'\nvalue = '$1$1$1$1$1$1$1$1'\n"
        )
    };
    for direction in ["in", "out"] {
        let mut world = World::new(&format!("{SITE}{}", rule(direction)));
        let subject = format!("Subject: {}\r\n", "s".repeat(10_000));
        world.receive(ALICE, ACCESS, &Caller::new("long").request("INVITE", &subject, ""));
        seen.read(&mut world);
    }
}

/// Requests inside a call from elsewhere, and from another realm.
fn strangers(seen: &mut Seen) {
    let mut world = World::new(SITE);
    let (mut alice, invite) = world.call("stranger");
    let (call_id, ours) = (header(&invite, "Call-ID"), tag(&invite, "From"));
    let replaces = format!("Replaces: {call_id};to-tag=b1;from-tag={ours}\r\n");
    let claim = "P-Preferred-Identity: <tel:+1;verstat=TN-Validation-Passed>\r\n";
    world.receive(ALICE, ACCESS, &Caller::new("thief").request("INVITE", &replaces, SDP));
    world.receive(ALICE, ACCESS, &Caller::new("liar").request("OPTIONS", claim, ""));
    alice.cseq = 2;
    world.receive("10.6.6.6:5062", ACCESS, &alice.request("BYE", "", ""));
    world.receive(ALICE, CORE, &alice.request("INFO", "", ""));
    seen.read(&mut world);
}

/// Media, and what media controllers say of them.
fn media(seen: &mut Seen) {
    crate::media::everything(&mut |world| seen.read(world));
}

#[test]
fn every_fact_moves() {
    let mut seen = Seen::default();
    let scenes = [
        calls,
        endings,
        oddities,
        surroundings,
        registrations,
        refusals,
        floods,
        pool,
        standby,
        feedback,
        growth,
        strangers,
        media,
    ];
    for scene in scenes {
        scene(&mut seen);
    }
    assert!(seen.all.len() > 30, "the metrics were read");
    // Those of phones with IPsec move in lab/handset, which has such phones.
    let is_of_phones = |name: &&&str| name.starts_with("ims_") || name.starts_with("ipsec_");
    let still = seen.all.difference(&seen.moved).filter(|name| !is_of_phones(name));
    let still: Vec<_> = still.collect();
    assert!(still.is_empty(), "these never moved: {still:?}");
}
