//! What an operator does and sees: wrong sections, changes while traffic runs, what is shown,
//! blocking, draining.

use crate::world::{Asp, World, read};
use m3ua::codec::{Affected, Notification};
use m3ua::{In, Indication};
use machine::Duration;
use runtime::Function;

const GATEWAY: &str = "10.0.0.1:2905";
const SITE: &str = r#"
name = "stp"
point_code_format = "decimal"
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 1000 }
peer = [
  { name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.1"] },
  { name = "b1", role = "asp", transport = "tcp", addresses = ["10.0.2.1"] },
  { name = "b2", role = "asp", transport = "tcp", addresses = ["10.0.2.2"] },
]
[[application_server]]
name = "one"
peers = ["a"]
routing_context = 1
destination = [{ point_code = "1" }]
[[application_server]]
name = "two"
peers = ["b1", "b2"]
routing_context = 2
traffic_mode = "override"
destination = [{ point_code = "2" }]
"#;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn site(text: &str) -> (World, usize, [usize; 3]) {
    let mut world = World::new();
    let gateway = world.gateway(text);
    let of = |ip, context, dpc| Asp::of(ip, GATEWAY, context, dpc);
    let asps = [of("10.0.1.1", 1, 1), of("10.0.2.1", 2, 2), of("10.0.2.2", 2, 2)];
    let asps = asps.map(|asp| world.asp(asp));
    world.pass(ms(800));
    (world, gateway, asps)
}

fn send(world: &mut World, from: usize, count: u32) {
    for _ in 0..count {
        world.at(from, |asp, now| (0..16).for_each(|sls| asp.send(now, 1, 2, sls)));
        world.pass(ms(1));
    }
}

fn received(world: &mut World, asps: [usize; 2]) -> [usize; 2] {
    asps.map(|asp| world.asp_of(asp).received.len())
}

#[test]
fn every_violation_is_named_with_its_path_and_its_mend() {
    let wrong = r#"
name = "s t p"
cores = [0, 1]
point_codes = ["8-0-0", "1-1-1"]
echo_service_indicators = [16]
[timers]
t_r_ms = 1
t_beat_ms = 3
[[peer]]
name = "a"
role = "asp"
transport = "tcp"
asks = true
[[peer]]
name = "a"
role = "sgp"
connect = true
[[application_server]]
name = "x"
peers = ["nobody", "a", "a"]
routing_context = 1
registers = true
destination = [{ point_code = "1-1-1" }, { point_code = "x", service_indicators = [99] }]
[[application_server]]
name = "x"
served_by = "here"
peers = ["a"]
destination = []
"#;
    let mut issues = Vec::new();
    read(wrong).validate(&mut issues);
    let paths: Vec<&str> = issues.iter().map(|issue| issue.path.as_str()).collect();
    let expected = [
        "name",
        "cores",
        "point_codes[0]",
        "echo_service_indicators[0]",
        "timers.t_r_ms",
        "timers.t_beat_ms",
        "peer[0].transport",
        "peer[0].asks",
        "peer[1].name",
        "peer[1]",
        "peer[1]",
        "peer[1].addresses",
        "application_server[0].peers[0]",
        "application_server[0].peers[2]",
        "application_server[0].destination[0].point_code",
        "application_server[0].destination[1].point_code",
        "application_server[0].destination[1].service_indicators[0]",
        "application_server[0].registers",
        "application_server[1].name",
        "application_server[1].peers[0]",
        "application_server[1].destination",
    ];
    assert_eq!(paths, expected);
    assert!(issues.iter().all(|issue| !issue.hint.is_empty()));
}

#[test]
fn what_the_process_would_refuse_is_refused_before() {
    let overlap = SITE.replace(r#"point_code = "2""#, r#"point_code = "1""#);
    let twice = SITE.replace("routing_context = 2", "routing_context = 1");
    let without = SITE
        .replace("routing_context = 1\n", "")
        .replace(r#"peers = ["b1", "b2"]"#, r#"peers = ["a", "b2"]"#);
    let cases = [
        (overlap, "application_server[1].destination"),
        (twice, "application_server[1]"),
        (without, "application_server[1].peers[0]"),
    ];
    for (text, path) in cases {
        let mut issues = Vec::new();
        read(&text).validate(&mut issues);
        assert_eq!(issues.len(), 1, "{issues:?}");
        assert_eq!(issues[0].path, path);
    }
}

#[test]
fn the_traffic_mode_changes_under_traffic_and_nothing_is_lost() {
    let (mut world, gateway, [a, b1, b2]) = site(SITE);
    send(&mut world, a, 5);
    world.configure(gateway, &SITE.replace("\"override\"", "\"loadshare\""));
    send(&mut world, a, 5);
    world.pass(ms(20));
    let loadshare = received(&mut world, [b1, b2]);
    assert_eq!(loadshare.iter().sum::<usize>(), 160);
    assert!(loadshare.contains(&0), "the one that was overridden has not asked again");
    let idle = if loadshare[0] == 0 { b1 } else { b2 };
    world.at(idle, |asp, now| {
        let (peer, server) = (asp.peer(0), asp.process.servers().next().unwrap());
        asp.tell(now, In::AspActive(peer, server));
    });
    world.pass(ms(100));
    send(&mut world, a, 5);
    world.pass(ms(20));
    assert_eq!(world.asp_of(idle).received.len(), 40, "half of the flows");
    world.configure(gateway, SITE);
    world.pass(ms(20));
    send(&mut world, a, 5);
    world.pass(ms(20));
    let after = received(&mut world, [b1, b2]);
    assert_eq!(after.iter().sum::<usize>(), 320);
    let heard = |it: &Indication| {
        matches!(it, Indication::Notified(.., Notification::AlternateAspActive, _))
    };
    assert!(world.asp_of(b2).indications.iter().any(heard), "override again: b1 stands first");
}

#[test]
fn peers_and_application_servers_come_and_go_while_others_carry_traffic() {
    let (mut world, gateway, [a, b1, b2]) = site(SITE);
    let third = format!(
        "{}\n[[application_server]]\nname = \"three\"\npeers = [\"c\"]\nrouting_context = 3\n\
         destination = [{{ point_code = \"3\" }}]\n",
        SITE.replace(
            "peer = [",
            "peer = [{ name = \"c\", role = \"asp\", transport = \"tcp\", addresses = \
             [\"10.0.3.1\"] },"
        )
    );
    world.configure(gateway, &third);
    let c = world.asp(Asp::of("10.0.3.1", GATEWAY, 3, 3));
    world.pass(ms(600));
    send(&mut world, a, 2);
    world.at(a, |asp, now| asp.send(now, 1, 3, 0));
    world.pass(ms(50));
    assert_eq!(world.asp_of(c).received.len(), 1);
    world.asp_of(a).indications.clear();
    world.configure(gateway, SITE);
    world.pass(ms(50));
    let paused =
        |it: &Indication| matches!(it, Indication::Pause(_, at) if at.point_code.number() == 3);
    assert!(world.asp_of(a).indications.iter().any(paused), "what is gone is told");
    send(&mut world, a, 2);
    world.pass(ms(50));
    assert_eq!(received(&mut world, [b1, b2]).iter().sum::<usize>(), 64);
    assert_eq!(world.metric(gateway, "m3ua_associations_lost_total"), 1, "only that of c");
    // Another key: its ASPs are told and ask anew by themselves.
    let other = SITE.replace(r#"point_code = "2""#, r#"point_code = "22""#);
    world.configure(gateway, &other);
    world.pass(ms(600));
    let servers = world.ask(gateway, "m3ua/servers", &[]);
    let two = servers.as_array().unwrap().iter().find(|row| row["name"] == "two").unwrap();
    assert_eq!((&two["state"], &two["point_codes"][0]), (&"AS-ACTIVE".into(), &"22".into()));
    // An ASP that is taken out of its Application Server.
    world.configure(gateway, &SITE.replace(r#"peers = ["b1", "b2"]"#, r#"peers = ["b1"]"#));
    world.pass(ms(600));
    let asps = world.ask(gateway, "m3ua/asps", &[]);
    let b2 = asps.as_array().unwrap().iter().find(|row| row["name"] == "b2").unwrap();
    assert_eq!((&b2["association"], &b2["state"]), (&"up".into(), &"inactive".into()));
}

#[test]
fn a_blocked_peer_is_down_until_it_is_let_in_again() {
    let (mut world, gateway, [_, b1, b2]) = site(SITE);
    for peer in ["b1", "b2"] {
        world.ask(gateway, "m3ua/block", &[("peer", peer)]);
    }
    world.pass(ms(100));
    let kept_out = ["peer-blocked b1", "peer-blocked b2"];
    assert_eq!(world.alarms(gateway), [kept_out[0], kept_out[1], "as-pending two"]);
    let asps = world.ask(gateway, "m3ua/asps", &[]);
    let b1_row = asps.as_array().unwrap().iter().find(|row| row["name"] == "b1").unwrap();
    assert_eq!(b1_row["why"], "blocked until `m3ua unblock`");
    world.pass(ms(1_500));
    assert_eq!(world.alarms(gateway), [kept_out[0], kept_out[1], "as-down two"]);
    for (number, peer) in [(b1, "b1"), (b2, "b2")] {
        world.ask(gateway, "m3ua/unblock", &[("peer", peer)]);
        world.at(number, |asp, now| {
            let peer = asp.peer(0);
            asp.tell(now, In::AspUp(peer));
        });
    }
    world.pass(ms(3_000));
    assert_eq!(world.alarms(gateway), Vec::<String>::new());
    let refused = world.try_ask(gateway, "m3ua/block", &[("peer", "nobody")]);
    assert!(refused.is_err());
}

#[test]
fn this_node_gives_the_traffic_of_an_application_server_back_and_asks_for_it_again() {
    let mut world = World::new();
    let gateway = world.gateway(
        r#"
name = "asp"
point_code_format = "decimal"
point_codes = ["1"]
peer = [{ name = "sg", role = "sgp", transport = "tcp", addresses = ["10.0.0.9"], connect = true }]
[[application_server]]
name = "own"
served_by = "here"
peers = ["sg"]
routing_context = 1
destination = [{ point_code = "1" }]
"#,
    );
    let mut sg = Asp::new("10.0.0.9");
    sg.listens(m3ua::Role::Sgp, "10.0.0.9:2905");
    sg.serves(m3ua::Side::There, Some(1), 1, &[0]);
    world.asp(sg);
    world.pass(ms(500));
    let state = |world: &mut World| world.ask(gateway, "m3ua/asps", &[])[0]["state"].clone();
    assert_eq!(state(&mut world), "active");
    let order = [("peer", "sg"), ("server", "own")];
    world.ask(gateway, "m3ua/deactivate", &order);
    world.pass(ms(100));
    assert_eq!(state(&mut world), "inactive");
    world.ask(gateway, "m3ua/activate", &order);
    world.pass(ms(100));
    assert_eq!(state(&mut world), "active");
    world.drain(gateway);
    world.pass(ms(500));
    assert!(world.gateway_of(gateway).is_idle(), "it has said ASP Down and closed");
}

#[test]
fn an_asp_is_not_asked_for_traffic_and_is_told_what_to_do_instead() {
    let (mut world, gateway, _) = site(SITE);
    let asps = world.ask(gateway, "m3ua/asps", &[]);
    let (peer, servers) = (asps[0]["name"].as_str().unwrap(), &asps[0]["active_for"]);
    let server = servers[0].as_str().unwrap();
    for act in ["m3ua/activate", "m3ua/deactivate"] {
        let refused = world.try_ask(gateway, act, &[("peer", peer), ("server", server)]);
        let said = format!("{:?}", refused.unwrap_err());
        assert!(said.contains("not an ASP towards it") && said.contains("m3ua block"), "{said}");
    }
}

#[test]
fn a_gateway_that_drains_sends_what_waits_before_it_leaves() {
    let (mut world, gateway, [a, b1, b2]) = site(SITE);
    world.deafen(b1);
    world.deafen(b2);
    world.pass(ms(20));
    send(&mut world, a, 1);
    world.pass(ms(20));
    world.drain(gateway);
    world.pass(ms(100));
    assert!(!world.gateway_of(gateway).is_idle(), "MSUs wait for an ASP");
    world.pass(ms(1_500));
    assert!(world.gateway_of(gateway).is_idle());
    assert_eq!(world.metric(gateway, "m3ua_expired_total"), 16);
}

#[test]
fn a_connection_from_nowhere_is_refused_and_a_newer_one_takes_the_place_of_a_dead_one() {
    let (mut world, gateway, [a, _, b2]) = site(SITE);
    world.asp(Asp::of("10.9.9.9", GATEWAY, 1, 1));
    world.pass(ms(100));
    assert!(world.metric(gateway, "sgc_associations_refused_total") > 0);
    // Point code 1's ASP begins anew without its old connection having ended.
    world.freeze(a);
    let again = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    world.pass(ms(5_000));
    world.at(b2, |asp, now| asp.send(now, 2, 1, 0));
    world.pass(ms(50));
    let came = [a, again].map(|asp| world.asp_of(asp).received.len());
    assert_eq!(came, [0, 1]);
}

#[test]
fn a_peer_that_vanishes_behind_tcp_is_found_by_its_heartbeat() {
    let (mut world, gateway, [a, b1, b2]) =
        site(&SITE.replace("t_r_ms", "t_beat_ms = 200, t_r_ms"));
    world.freeze(b1);
    world.freeze(b2);
    world.pass(ms(700));
    let alarms = world.alarms(gateway);
    assert_eq!(alarms, ["association-down b1", "association-down b2", "as-pending two"]);
    let asps = world.ask(gateway, "m3ua/asps", &[]);
    assert_eq!(asps[1]["why"], "its heartbeat stopped");
    assert_eq!(world.metric(gateway, "m3ua_heartbeats_lost_total"), 2);
    send(&mut world, a, 1);
    world.pass(ms(20));
    assert_eq!(world.metric(gateway, "sgc_msus_waiting"), 16);
}

#[test]
fn a_trace_tells_what_the_relay_would_do_and_does_nothing() {
    let text = format!("point_codes = [\"9\"]\necho_service_indicators = [12]\n{SITE}");
    let (mut world, gateway, asps) = site(&text);
    let mut trace = |params: &[(&str, &str)]| {
        let answer = world.ask(gateway, "m3ua/trace", params);
        let word = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
        let to = answer["to"].to_string();
        ([word("verdict"), word("server"), word("told")], to, word("why"), answer)
    };
    let words = |a: &str, b: &str, c: &str| [a.to_owned(), b.to_owned(), c.to_owned()];
    // Override: the ASP that was active last has all flows.
    let (said, to, _, answer) = trace(&[("from", "a"), ("opc", "1"), ("dpc", "2"), ("sls", "3")]);
    assert_eq!((said, &*to), (words("relayed", "two", ""), r#"["b2"]"#), "{answer}");
    assert_eq!((&answer["route"], &answer["mode"]), (&"key of two".into(), &"override".into()));
    let asps_of = answer["asps"].as_array().unwrap();
    assert_eq!(asps_of.iter().filter(|it| it["chosen"] == true).count(), 1);
    let (said, _, why, _) = trace(&[("from", "a"), ("opc", "2"), ("dpc", "2")]);
    assert_eq!(said, words("discarded", "", ""));
    assert!(why.contains("not the peer's"), "{why}");
    let (said, _, why, _) = trace(&[("from", "b1"), ("opc", "2"), ("dpc", "2")]);
    assert_eq!((said, &*why), (words("discarded", "two", ""), "the sender serves it itself"));
    let (said, _, why, _) = trace(&[("from", "a"), ("opc", "1"), ("dpc", "7")]);
    assert_eq!((said, &*why), (words("discarded", "", "DUNA"), "no gateway reaches it"));
    assert_eq!(trace(&[("dpc", "9"), ("si", "12")]).0, words("local", "", ""));
    let (said, ..) = trace(&[("from", "a"), ("opc", "1"), ("dpc", "9"), ("si", "3")]);
    assert_eq!(said, words("discarded", "", "DUPU"));
    for wrong in
        [&[("dpc", "x")][..], &[("from", "a"), ("dpc", "2")], &[("dpc", "2"), ("si", "16")]]
    {
        assert!(world.try_ask(gateway, "m3ua/trace", wrong).is_err(), "{wrong:?}");
    }
    assert_eq!(world.metric(gateway, "sgc_msus_received_total"), 0, "nothing was counted");
    assert_eq!(received(&mut world, [asps[1], asps[2]]), [0, 0]);
}

/// A gateway that is an ASP of the SGP `sg`, whose end is returned as well.
fn behind_a_gateway(policy: &str) -> (World, usize, usize, usize) {
    let text = SITE
        .replace(
            "peer = [",
            "peer = [\n  { name = \"sg\", role = \"sgp\", transport = \"tcp\", \
            addresses = [\"10.0.4.1\"] },",
        )
        .replacen(
            "[[application_server]]",
            "[[application_server]]\nname = \"own\"\n\
            served_by = \"here\"\nfollows = false\npeers = [\"sg\"]\nrouting_context = 9\n\
            destination = [{ point_code = \"9\" }]\n[[application_server]]",
            1,
        )
        .replace("timers = {", &format!("{policy}\npoint_codes = [\"9\"]\ntimers = {{"));
    let (mut world, gateway, [a, ..]) = site(&text);
    let mut sg = Asp::new("10.0.4.1");
    sg.connects(m3ua::Role::Sgp, GATEWAY, 0);
    sg.serves(m3ua::Side::There, Some(9), 9, &[0]);
    let sg = world.asp(sg);
    world.pass(ms(1_500));
    (world, gateway, sg, a)
}

#[test]
fn what_an_audit_of_all_brings_is_shown_with_what_is_well() {
    let (mut world, gateway, sg, _) = behind_a_gateway("");
    let five = Affected::one(crate::world::asp::point_code(5));
    world.at(sg, |asp, now| asp.tell(now, In::Resume(None, five)));
    world.ask(gateway, "m3ua/audit", &[("peer", "sg"), ("point_code", "all")]);
    world.pass(ms(100));
    let rows = world.ask(gateway, "m3ua/destinations", &[]);
    let rows = rows.as_array().unwrap().iter().filter(|row| row["told_by"] != "this node");
    let rows: Vec<_> = rows.map(|row| (row["point_code"].clone(), row["state"].clone())).collect();
    assert_eq!(rows[0], ("all others".into(), "unavailable".into()), "{rows:?}");
    assert_eq!(rows[1], ("5".into(), "available".into()), "{rows:?}");
}

#[test]
fn a_destination_that_a_gateway_restricts_is_told_so_unless_that_is_hidden() {
    for (policy, hidden) in [("", false), ("policy = { hides_restricted = true }", true)] {
        let (mut world, _, sg, a) = behind_a_gateway(policy);
        let five = Affected::one(crate::world::asp::point_code(5));
        world.at(sg, |asp, now| asp.tell(now, In::Restrict(None, five)));
        world.pass(ms(100));
        // What it knows it has from the answer to a DAUD.
        world.at(a, |asp, now| asp.audit(now, five));
        world.pass(ms(100));
        let has_it = world.asp_of(a).process.destinations(8).iter().any(|it| {
            it.affected == five && it.availability == Some(m3ua::Availability::Restricted)
        });
        assert_eq!(has_it, !hidden, "{policy}");
    }
}

#[test]
fn whoever_drains_gives_back_what_it_has_registered() {
    let text = r#"
name = "own"
point_code_format = "decimal"
point_codes = ["9"]
peer = [
  { name = "sg", role = "sgp", transport = "tcp", addresses = ["10.0.4.1"], connect = true },
]
[[application_server]]
name = "own"
served_by = "here"
registers = true
peers = ["sg"]
destination = [{ point_code = "9" }]
"#;
    let mut world = World::new();
    let mut sg = Asp::new("10.0.4.1");
    sg.listens(m3ua::Role::Sgp, "10.0.4.1:2905");
    let sg = world.asp(sg);
    let gateway = world.gateway(text);
    world.pass(ms(1_500));
    assert_eq!(world.asp_of(sg).process.servers().count(), 1, "it was registered");
    world.drain(gateway);
    world.pass(ms(3_000));
    assert_eq!(world.asp_of(sg).process.servers().count(), 0);
    assert!(world.gateway_of(gateway).is_idle());
}
