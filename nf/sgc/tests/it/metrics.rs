//! Every metric that the gateway declares moves: one small scene for each.

use crate::world::{Asp, World};
use event::Metric as _;
use m3ua::In;
use m3ua::codec::{Affected, MessageType, PointCode, Tag, Writer};
use machine::Duration;
use runtime::Function;
use sgc::Metric;
use std::collections::BTreeSet;

const GATEWAY: &str = "10.0.0.1:2905";
const SITE: &str = r#"
name = "stp"
point_code_format = "decimal"
point_codes = ["9"]
echo_service_indicators = [12]
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 1000, reconnect_ms = 100 }
peer = [
  { name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.1"],
    screening = { destinations = ["1..5", "9"], service_indicators = [3, 12] } },
  { name = "b", role = "asp", transport = "tcp", addresses = ["10.0.2.1"] },
  { name = "sg", role = "sgp", transport = "tcp", addresses = ["10.0.3.1"], connect = true },
]
application_server = [
  { name = "one", peers = ["a"], routing_context = 1, destination = [{ point_code = "1" }] },
  { name = "two", peers = ["b"], routing_context = 2, destination = [{ point_code = "2" }] },
]
"#;

/// Metrics that need an association over SCTP: `lab/sim` has a test for each.
const OVER_SCTP: &[&str] = &[
    "sgc_msus_transport_shed_total",
    "sgc_messages_lost_total",
    "sgc_congestion_level",
    "sgc_association_claims_refused_total",
];
/// Metrics of several shards: `shards` has a test of it.
const ON_SHARDS: &[&str] = &["sgc_dialogue_messages_unserved_total"];
/// Metrics of rules for what peers send: `rules` has tests of them.
const OF_RULES: &str = "sgc_screening_";

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn read(world: &mut World, gateway: usize, moved: &mut BTreeSet<&'static str>) {
    world.ask(gateway, "alarms", &[]);
    for cells in world.gateway_of(gateway).cells() {
        for (row, reading) in cells.samples() {
            let has_moved = match reading {
                event::Sample::Value(value) => value > 0,
                event::Sample::Histogram { count, .. } => count > 0,
            };
            if has_moved {
                moved.insert(row.name);
            }
        }
    }
}

#[test]
fn every_fact_moves() {
    let (mut world, mut moved) = (World::new(), BTreeSet::new());
    let gateway = world.gateway(SITE);
    let a = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    read(&mut world, gateway, &mut moved);
    let b = world.asp(Asp::of("10.0.2.1", GATEWAY, 2, 2));
    world.asp(Asp::of("10.9.9.9", GATEWAY, 2, 2));
    world.pass(ms(500));
    world.at(a, |asp, now| {
        asp.send(now, 1, 2, 0);
        asp.send(now, 1, 5, 0);
        asp.send(now, 1, 9, 0);
        asp.send(now, 1, 1, 0);
        asp.send(now, 2, 2, 0);
        asp.send(now, 9, 2, 0);
        asp.send(now, 1, 7, 0);
        asp.send_of(now, (1, 2), 0, 5);
        asp.send_of(now, (1, 9), 0, 12);
        let mut congested = Vec::new();
        Writer::begin(&mut congested, MessageType::Scon)
            .word(Tag::RoutingContext, 1)
            .affected(&[Affected::one(PointCode::new(2).unwrap())])
            .end();
        asp.say(0, congested.into());
    });
    world.pass(ms(50));
    let now = world.now;
    world.gateway_of(gateway).waited(now, ms(900));
    world.at(a, |asp, now| asp.send(now, 1, 2, 0));
    world.pass(ms(50));
    let now = world.now;
    world.gateway_of(gateway).waited(now, ms(0));
    // An answer meets a connection that has gone: T(r) of a, whose wish is on its way.
    world.deafen(b);
    world.pass(ms(20));
    world.at(a, |asp, now| asp.send(now, 1, 2, 0));
    world.pass(ms(20));
    read(&mut world, gateway, &mut moved);
    world.ask(gateway, "m3ua/audit", &[("peer", "sg"), ("point_code", "1")]);
    world.at(a, |asp, now| {
        let peer = asp.peer(0);
        asp.tell(now, In::AspDown(peer));
    });
    world.pass(ms(50));
    read(&mut world, gateway, &mut moved);
    // What b is told of the end of its Application Server finds no association any more.
    world.hear(b);
    world.pass(ms(1_500));
    let lines = SITE.lines().filter(|line| !line.contains("\"b\""));
    let without = lines.collect::<Vec<_>>().join("\n");
    world.configure(gateway, &without);
    read(&mut world, gateway, &mut moved);
    let all: BTreeSet<&str> = Metric::ROWS.iter().map(|row| row.name).collect();
    let still: Vec<&&str> =
        all.iter().filter(|name| !moved.contains(*name) && !OVER_SCTP.contains(name)).collect();
    let elsewhere = |name: &str| ON_SHARDS.contains(&name) || name.starts_with(OF_RULES);
    let still: Vec<&&str> = still.into_iter().filter(|name| !elsewhere(name)).collect();
    assert_eq!(still, Vec::<&&str>::new());
}

#[test]
fn every_peer_has_its_own_figures() {
    let mut world = World::new();
    let gateway = world.gateway(SITE);
    let a = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    world.asp(Asp::of("10.0.2.1", GATEWAY, 2, 2));
    world.pass(ms(500));
    world.at(a, |asp, now| asp.send(now, 1, 2, 0));
    world.pass(ms(50));
    world.ask(gateway, "alarms", &[]);
    let cells = world.gateway_of(gateway).cells();
    let all: Vec<_> = cells.iter().flat_map(event::MetricCells::labelled).collect();
    let of = |peer: &str, name: &str| {
        let found = all.iter().find(|(row, labels, _)| {
            row.name == name && labels.iter().any(|(label, it)| *label == "peer" && **it == *peer)
        });
        found.map(|(_, _, reading)| reading.clone())
    };
    let values = |name| ["a", "b", "sg"].map(|peer| of(peer, name));
    let is = |values: [u64; 3]| values.map(|value| Some(event::Sample::Value(value)));
    assert_eq!(values("m3ua_peer_associated"), is([1, 1, 0]));
    assert_eq!(values("m3ua_peer_without_association"), is([0, 0, 1]));
    assert_eq!(values("m3ua_peer_active_servers"), is([1, 1, 0]));
    assert_eq!(values("m3ua_peer_msus_received_total"), is([1, 0, 0]));
    assert_eq!(values("m3ua_peer_msus_sent_total"), is([0, 1, 0]));
}

#[test]
fn what_has_not_failed_yet_is_starting_and_what_has_served_is_not() {
    let mut world = World::new();
    let gateway = world.gateway(SITE);
    world.pass(ms(20));
    let starting = |world: &mut World, name: &str, subject: &str| {
        let rows = world.ask(gateway, "alarms", &[]);
        let rows = rows.as_array().cloned().unwrap();
        let row = rows.iter().find(|row| row["name"] == name && row["subject"] == subject);
        row.map(|row| row["starting"] == true)
    };
    assert_eq!(starting(&mut world, "association-down", "a"), Some(true));
    assert_eq!(starting(&mut world, "as-down", "one"), Some(true));
    assert_eq!(starting(&mut world, "association-down", "sg"), Some(false), "it was refused");
    let a = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    world.pass(ms(500));
    assert_eq!(starting(&mut world, "as-down", "one"), None);
    world.deafen(a);
    world.pass(ms(2_000));
    assert_eq!(starting(&mut world, "association-down", "a"), Some(false));
    assert_eq!(starting(&mut world, "as-down", "one"), Some(false));
}
