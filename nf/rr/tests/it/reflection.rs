//! Routes through the reflector: who is told what, and what the operator sees of it.

use crate::world::{Speaker, World, s};
use bgp::codec::{AttributeType, Attributes, GracefulRestart};
use bgp::family::{Family, FamilySet};
use bgp::{In, Settings};
use serde_json::Value;

const SITE: &str = r#"
name = "rr1"
asn = 65000
identifier = "10.0.0.1"
cluster = "10.0.0.100"
listen = ["10.0.0.1"]
peer = [
  { name = "one", address = "10.0.1.1", client = true, passive = true, graceful_restart_s = 60 },
  { name = "two", address = "10.0.2.1", client = true, passive = true },
  { name = "far", address = "10.0.3.1", passive = true },
  { name = "other", address = "10.0.4.1", passive = true },
  { name = "ext", address = "10.0.5.1", passive = true, asn = 65001,
    default_policy = "accept" },
]
"#;

const NETS: [&str; 2] = ["192.0.2.0/24", "198.51.100.0/24"];

struct Scene {
    world: World,
    one: usize,
    two: usize,
    far: usize,
    other: usize,
    ext: usize,
}

fn restarting(address: &str) -> Speaker {
    let mut settings: Settings = Speaker::client(address).settings();
    let families = FamilySet::only(Family::Ipv4Unicast);
    settings.offer.graceful_restart = Some(GracefulRestart {
        restarting: false,
        notification: true,
        time_s: 30,
        families,
        forwarding: families,
    });
    Speaker::with(address, settings)
}

fn scene() -> Scene {
    let mut world = World::new(SITE);
    let one = world.add(restarting("10.0.1.1"));
    let [two, far, other] =
        ["10.0.2.1", "10.0.3.1", "10.0.4.1"].map(|address| world.add(Speaker::client(address)));
    let families = FamilySet::only(Family::Ipv4Unicast);
    let ext = world.add(Speaker::of("10.0.5.1", 65_001, families));
    world.pass(s(1));
    assert_eq!(world.metric("rr_peers_established"), 5);
    Scene { world, one, two, far, other, ext }
}

fn routes(world: &World, id: usize) -> Vec<String> {
    world.speakers[id].routes.keys().cloned().collect()
}

#[test]
fn a_clients_routes_go_to_everybody_else_and_a_non_clients_to_clients() {
    let Scene { mut world, one, two, far, other, ext } = scene();
    world.act(one, |it, _| it.announce(&NETS));
    world.pass(s(1));
    for id in [two, far, other, ext] {
        assert_eq!(routes(&world, id), NETS, "{id}");
    }
    assert_eq!(routes(&world, one), Vec::<String>::new());
    world.act(far, |it, _| it.announce(&["203.0.113.0/24"]));
    world.pass(s(1));
    let has = |world: &World, id| routes(world, id).contains(&"203.0.113.0/24".to_owned());
    let told: Vec<bool> = [one, two, other].map(|id| has(&world, id)).to_vec();
    assert_eq!(told, [true, true, false]);
    // Reflection says who brought the route, and by which cluster (RFC 4456 §8).
    let attributes = world.speakers[two].routes["192.0.2.0/24"].clone();
    let value = |kind| Attributes::new(&attributes).value(kind);
    assert_eq!(value(AttributeType::OriginatorId), Some(&[10, 0, 1, 1][..]));
    assert_eq!(value(AttributeType::ClusterList), Some(&[10, 0, 0, 100][..]));
    assert_eq!(value(AttributeType::NextHop), Some(&[10, 0, 1, 1][..]));
    world.act(one, |it, _| it.withdraw(&NETS));
    world.pass(s(1));
    assert_eq!(routes(&world, two), ["203.0.113.0/24"]);
}

#[test]
fn an_external_peer_is_told_this_as_and_this_node_as_next_hop() {
    let Scene { mut world, one, ext, two, .. } = scene();
    world.act(one, |it, _| it.announce(&NETS));
    world.act(ext, |it, _| it.announce(&["203.0.113.0/24"]));
    world.pass(s(1));
    let attributes = world.speakers[ext].routes["192.0.2.0/24"].clone();
    let value = |kind| Attributes::new(&attributes).value(kind);
    assert_eq!(value(AttributeType::NextHop), Some(&[10, 0, 0, 1][..]));
    assert_eq!(value(AttributeType::AsPath), Some(&[2, 1, 0, 0, 0xFD, 0xE8][..]));
    assert_eq!(value(AttributeType::LocalPref), None);
    assert!(routes(&world, two).contains(&"203.0.113.0/24".to_owned()));
}

#[test]
fn whoever_comes_late_is_told_everything_and_then_that_it_was_all() {
    let Scene { mut world, one, two, .. } = scene();
    world.act(one, |it, _| it.announce(&NETS));
    world.cut(two);
    world.pass(s(200));
    assert!(world.speakers[two].is_up());
    assert_eq!(routes(&world, two), NETS);
    assert!(world.speakers[two].ended_ribs.contains(&Family::Ipv4Unicast));
}

#[test]
fn the_routes_of_a_peer_that_is_gone_are_withdrawn_and_those_of_one_that_restarts_stay() {
    let Scene { mut world, one, two, far, .. } = scene();
    world.act(one, |it, _| it.announce(&NETS[..1]));
    world.act(two, |it, _| it.announce(&NETS[1..]));
    world.pass(s(1));
    assert_eq!(routes(&world, far), NETS);
    world.cut(one);
    world.act(two, |it, now| {
        it.tell(now, In::Stop(bgp::codec::Cease::AdministrativeShutdown, None));
    });
    world.pass(s(1));
    assert_eq!(routes(&world, far), NETS[..1]);
    // It is back, and ends its table without that route.
    world.pass(s(10));
    assert!(world.speakers[one].is_up());
    let mut end = Vec::new();
    bgp::pack::end_of_rib(Family::Ipv4Unicast, &mut end);
    world.act(one, |it, _| it.say(end));
    world.pass(s(1));
    assert_eq!(routes(&world, far), Vec::<String>::new());
}

#[test]
fn a_restart_that_takes_too_long_costs_the_routes() {
    let Scene { mut world, one, far, .. } = scene();
    world.act(one, |it, _| it.announce(&NETS));
    world.pass(s(1));
    world.freeze(one);
    world.pass(s(91));
    assert_eq!(routes(&world, far), NETS);
    world.pass(s(32));
    assert_eq!(routes(&world, far), Vec::<String>::new());
}

#[test]
fn routes_and_their_paths_are_shown_with_why_the_best_is_it() {
    let Scene { mut world, one, two, .. } = scene();
    world.act(one, |it, _| it.announce(&NETS));
    world.act(two, |it, _| it.announce(&NETS[..1]));
    world.pass(s(1));
    let page = world.ask("bgp/routes", &[]);
    assert_eq!(page["rows"].as_array().unwrap().len(), 2);
    assert_eq!(page["next"], Value::Null);
    let page = world.ask("bgp/routes", &[("limit", "1")]);
    assert_eq!(page["rows"].as_array().unwrap().len(), 1);
    let next = page["next"].as_u64().unwrap().to_string();
    let rest = world.ask("bgp/routes", &[("limit", "9"), ("skip", &next)]);
    assert_eq!(rest["rows"].as_array().unwrap().len(), 1);
    let count = |world: &mut World, params: &[(&str, &str)]| {
        world.ask("bgp/routes", params)["rows"].as_array().unwrap().len()
    };
    assert_eq!(count(&mut world, &[("received", "two")]), 1);
    assert_eq!(count(&mut world, &[("advertised", "far")]), 2);
    assert_eq!(count(&mut world, &[("within", "192.0.0.0/8")]), 1);
    assert_eq!(count(&mut world, &[("text", "198.51")]), 1);
    assert_eq!(count(&mut world, &[("family", "evpn")]), 0);
    // The longest prefix that covers the address, all its paths, and why the others lose.
    let paths = world.ask("bgp/route", &[("prefix", "192.0.2.77")]);
    let rows = paths.as_array().unwrap();
    let of = |at: usize, key: &str| rows[at][key].clone();
    assert_eq!((rows.len(), of(0, "route")), (2, "192.0.2.0/24".into()));
    assert_eq!((of(0, "peer"), of(0, "best")), ("one".into(), true.into()));
    assert_eq!((of(1, "peer"), of(1, "loses_by")), ("two".into(), "identifier".into()));
    assert_eq!(of(0, "next_hop"), "10.0.1.1");
    assert_eq!(of(0, "origin"), "IGP");
    let families = world.ask("bgp/families", &[]);
    assert_eq!((&families[0]["routes"], &families[0]["paths"]), (&2.into(), &3.into()));
    let groups = world.ask("bgp/groups", &[]);
    let peers: u64 = groups.as_array().unwrap().iter().filter_map(|it| it["peers"].as_u64()).sum();
    assert_eq!(peers, 5);
    assert_eq!(world.row("far")["routes_out"], 2);
    assert_eq!(world.row("one")["routes_accepted"], 2);
    for wrong in [("family", "ipv5"), ("within", "x"), ("limit", "many"), ("received", "nobody")] {
        assert!(world.try_ask("bgp/routes", &[wrong]).is_err(), "{wrong:?}");
    }
    assert!(
        world
            .try_ask("bgp/route", &[("prefix", "2001:db8::/32"), ("family", "ipv4-multicast")])
            .is_err()
    );
}

#[test]
fn policies_refuse_at_import_and_change_at_export() {
    let policies = r#"
[[policy]]
name = "in"
default = "accept"
[[policy.rule]]
match.prefixes = ["198.51.100.0/24"]
then = "reject"
[[policy]]
name = "out"
[[policy.rule]]
set.local_pref = 77
set.next_hop = "self"
then = "accept"
"#;
    let text = SITE.replace("graceful_restart_s = 60", "import = \"in\"");
    let text = text.replace("name = \"two\",", "name = \"two\", export = \"out\",");
    let text = format!("{text}{policies}");
    let mut world = World::new(&text);
    let [one, two, far] =
        ["10.0.1.1", "10.0.2.1", "10.0.3.1"].map(|address| world.add(Speaker::client(address)));
    world.pass(s(1));
    world.act(one, |it, _| it.announce(&NETS));
    world.pass(s(1));
    assert_eq!(routes(&world, far), NETS[..1]);
    let attributes = world.speakers[two].routes["192.0.2.0/24"].clone();
    let value = |kind| Attributes::new(&attributes).value(kind);
    assert_eq!(value(AttributeType::LocalPref), Some(&[0, 0, 0, 77][..]));
    assert_eq!(value(AttributeType::NextHop), Some(&[10, 0, 0, 1][..]));
    assert_eq!(world.ask("bgp/peer", &[("peer", "one")])[0]["routes_refused"], 1);
    // What came is judged anew by another policy, and no session ends.
    world.configure(&text.replace("198.51.100.0/24", "192.0.2.0/24"));
    world.pass(s(1));
    assert_eq!(routes(&world, far), NETS[1..]);
    world.configure(&text.replace("local_pref = 77", "local_pref = 78"));
    world.pass(s(1));
    let attributes = world.speakers[two].routes["192.0.2.0/24"].clone();
    let value = Attributes::new(&attributes).value(AttributeType::LocalPref);
    assert_eq!(value, Some(&[0, 0, 0, 78][..]));
    assert!([one, two, far].iter().all(|id| world.speakers[*id].endings.is_empty()));
}

#[test]
fn policies_are_named_changed_and_taken_away_while_sessions_stand_and_routes_change() {
    let policies = "[[policy]]\nname = \"none\"\n[[policy]]\nname = \"first\"\n\
        default = \"accept\"\n[[policy.rule]]\nmatch.prefixes = [\"198.51.100.0/24\"]\n\
        then = \"reject\"\n";
    let site = |one: &str, two: &str| {
        let text = SITE.replace("name = \"one\",", &format!("name = \"one\", {one}"));
        let text = text.replace("name = \"two\",", &format!("name = \"two\", {two}"));
        format!("{text}{policies}")
    };
    let mut world = World::new(&site("", ""));
    let [one, two, far] =
        ["10.0.1.1", "10.0.2.1", "10.0.3.1"].map(|address| world.add(Speaker::client(address)));
    world.pass(s(1));
    world.act(one, |it, _| it.announce(&NETS));
    world.pass(s(1));
    assert_eq!(routes(&world, far), NETS);
    let steps = [
        ("import = \"first\",", "", &NETS[..1], &NETS[..1]),
        ("import = \"none\",", "", &NETS[..0], &NETS[..0]),
        ("import = \"first\",", "export = \"none\",", &NETS[..0], &NETS[..1]),
        ("default_policy = \"refuse\",", "", &NETS[..0], &NETS[..0]),
        ("", "default_policy = \"refuse\",", &NETS[..0], &NETS[..]),
        ("", "export = \"first\",", &NETS[..1], &NETS[..]),
        ("", "", &NETS[..], &NETS[..]),
    ];
    for (of_one, of_two, at_two, at_far) in steps {
        world.configure(&site(of_one, of_two));
        world.pass(s(1));
        assert_eq!(routes(&world, two), at_two, "{of_one} {of_two}");
        assert_eq!(routes(&world, far), at_far, "{of_one} {of_two}");
    }
    for id in [one, two, far] {
        assert!(world.speakers[id].endings.is_empty() && world.speakers[id].is_up());
        assert_eq!(world.speakers[id].session.counters().established, 1);
    }
}

#[test]
fn a_policy_that_begins_to_look_at_peers_knows_who_they_are() {
    let policies = |import: &str, export: &str| {
        format!(
            "[[policy]]\nname = \"in\"\ndefault = \"accept\"\n{import}\n\
             [[policy]]\nname = \"out\"\ndefault = \"accept\"\n{export}\n"
        )
    };
    let rejects =
        |peer: &str| format!("[[policy.rule]]\nmatch.peers = [\"{peer}\"]\nthen = \"reject\"");
    let text = SITE.replace("graceful_restart_s = 60", "import = \"in\"");
    let text =
        text.replace("name = \"two\",", "name = \"two\", import = \"in\", export = \"out\",");
    let text = text.replace("name = \"far\",", "name = \"far\", export = \"out\",");
    let mut world = World::new(&format!("{text}{}", policies("", "")));
    let [one, two, far] =
        ["10.0.1.1", "10.0.2.1", "10.0.3.1"].map(|address| world.add(Speaker::client(address)));
    world.pass(s(1));
    world.act(one, |it, _| it.announce(&NETS[..1]));
    world.act(two, |it, _| it.announce(&NETS[1..]));
    world.pass(s(1));
    assert_eq!(routes(&world, far), NETS);
    assert_eq!(routes(&world, two), NETS[..1]);
    world.configure(&format!("{text}{}", policies(&rejects("two"), "")));
    world.pass(s(1));
    assert_eq!(routes(&world, far), NETS[..1], "what two says is refused, what one says is not");
    world.configure(&format!("{text}{}", policies(&rejects("one"), &rejects("far"))));
    world.pass(s(1));
    assert!(routes(&world, far).is_empty(), "far is told nothing");
    assert_eq!(routes(&world, one), NETS[1..]);
    world.configure(&format!("{text}{}", policies("", "")));
    world.pass(s(1));
    assert_eq!(routes(&world, far), NETS);
    assert!([one, two, far].iter().all(|id| world.speakers[*id].endings.is_empty()));
}

#[test]
fn an_update_that_offends_costs_its_routes_and_not_the_session() {
    let Scene { mut world, one, two, .. } = scene();
    world.act(one, |it, _| it.announce(&NETS));
    world.pass(s(1));
    // ORIGIN 9 does not exist: treat-as-withdraw (RFC 7606 §7.1).
    world.act(one, |it, _| {
        let mut attributes = it.attributes();
        attributes[3] = 9;
        it.announce_with(&attributes, &NETS[..1]);
    });
    world.pass(s(1));
    assert!(world.speakers[one].is_up());
    assert_eq!(routes(&world, two), NETS[1..]);
    assert_eq!(world.metric("rr_offences_tolerated_total"), 1);
    let row = world.ask("bgp/peer", &[("peer", "one")]);
    let text = row[0]["last_offence"]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("no such origin") && text.contains("treat-as-withdraw"), "{text}");
}

#[test]
fn each_place_is_told_the_path_whose_next_hop_is_nearest_there() {
    let places = |east: u32| {
        format!(
            r#"
metrics = [{{ prefix = "10.0.1.0/24", metric = 10 }}, {{ prefix = "10.0.2.0/24", metric = 20 }}]
[[location]]
name = "east"
metrics = [
  {{ prefix = "10.0.1.0/24", metric = 30 }},
  {{ prefix = "10.0.2.1", metric = {east} }},
]
"#
        )
    };
    let site = |east: u32| {
        let (head, peers) = SITE.split_once("peer = [").unwrap();
        let peers = peers.replace("\"far\", address", "\"far\", location = \"east\", address");
        format!("{head}peer = [{peers}{}", places(east))
    };
    let mut world = World::new(&site(5));
    let [one, two, far, other] = ["10.0.1.1", "10.0.2.1", "10.0.3.1", "10.0.4.1"]
        .map(|address| world.add(Speaker::client(address)));
    world.pass(s(1));
    world.act(one, |it, _| it.announce(&NETS[..1]));
    world.act(two, |it, _| it.announce(&NETS[..1]));
    world.pass(s(1));
    let next_hop = |world: &World, id: usize| {
        let attributes = world.speakers[id].routes[NETS[0]].clone();
        Attributes::new(&attributes).value(AttributeType::NextHop).unwrap().to_vec()
    };
    assert_eq!(next_hop(&world, other), [10, 0, 1, 1]);
    assert_eq!(next_hop(&world, far), [10, 0, 2, 1]);
    // The way becomes longer; no session ends.
    world.configure(&site(50));
    world.pass(s(1));
    assert_eq!(next_hop(&world, far), [10, 0, 1, 1]);
    assert_eq!(world.metric("rr_sessions_dropped_total"), 0);
}

#[test]
fn after_a_start_nobody_is_told_anything_until_all_have_said_what_they_have() {
    let deferring = SITE.replace("listen =", "deferral_s = 60\nlisten =");
    let mut world = World::new(&deferring);
    let one = world.add(restarting("10.0.1.1"));
    let others: Vec<usize> = ["10.0.2.1", "10.0.3.1", "10.0.4.1"]
        .map(|address| world.add(Speaker::client(address)))
        .to_vec();
    let families = FamilySet::only(Family::Ipv4Unicast);
    world.add(Speaker::of("10.0.5.1", 65_001, families));
    world.pass(s(1));
    let heard = world.speakers[one].up.as_ref().unwrap().1.peer.graceful_restart;
    assert!(heard.unwrap().restarting, "it says that it has restarted");
    world.act(one, |it, _| it.announce(&NETS));
    world.pass(s(5));
    assert!(others.iter().all(|id| world.speakers[*id].updates.is_empty()));
    let mut end = Vec::new();
    bgp::pack::end_of_rib(Family::Ipv4Unicast, &mut end);
    world.act(one, |it, _| it.say(end));
    world.pass(s(1));
    assert!(others.iter().all(|id| routes(&world, *id) == NETS));
    assert!(others.iter().all(|id| world.speakers[*id].ended_ribs.len() == 1));
    // One who never says it is waited for no longer than that.
    let mut world = World::new(&deferring);
    let one = world.add(restarting("10.0.1.1"));
    let two = world.add(Speaker::client("10.0.2.1"));
    world.pass(s(1));
    world.act(one, |it, _| it.announce(&NETS));
    world.pass(s(50));
    assert_eq!(routes(&world, two).len(), 0);
    world.pass(s(10));
    assert_eq!(routes(&world, two), NETS);
}
