//! MSUs between ASPs through a gateway: where they go, in which order, and what becomes of them
//! when ASPs come and go.

use crate::world::{self, Asp, World};
use bytes::Bytes;
use m3ua::codec::{
    Affected, MessageType, Notification, PointCode, ServerState, Tag, TrafficMode, Writer,
};
use m3ua::{Cause, In, Indication, Role, Side};
use machine::Duration;

const GATEWAY: &str = "10.0.0.1:2905";
/// Two Application Servers: one ASP serves point code 1, two ASPs point code 2.
const RELAY: &str = r#"
name = "stp"
point_code_format = "decimal"
point_codes = ["9"]
echo_service_indicators = [12]
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 1000, reconnect_ms = 500 }
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
destination = [{ point_code = "2" }]
"#;

fn relay(mode: &str) -> String {
    RELAY.replace("routing_context = 2", &format!("routing_context = 2\ntraffic_mode = \"{mode}\""))
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A gateway and its three ASPs, up and active.
fn site(mode: &str) -> (World, usize, [usize; 3]) {
    let mut world = World::new();
    let gateway = world.gateway(&relay(mode));
    let a = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    world.pass(ms(300));
    let b1 = world.asp(Asp::of("10.0.2.1", GATEWAY, 2, 2));
    world.pass(ms(300));
    let b2 = world.asp(Asp::of("10.0.2.2", GATEWAY, 2, 2));
    world.pass(ms(500));
    (world, gateway, [a, b1, b2])
}

/// `count` MSUs on each of sixteen SLS, a little apart.
fn burst(world: &mut World, from: usize, dpc: u32, count: u32) {
    for _ in 0..count {
        world.at(from, |asp, now| (0..16).for_each(|sls| asp.send(now, 1, dpc, sls)));
        world.pass(ms(1));
    }
}

fn in_order(numbers: &[u32]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

#[test]
fn an_msu_reaches_the_asp_of_its_key_and_the_answer_comes_back() {
    let (mut world, gateway, [a, _, b2]) = site("override");
    burst(&mut world, a, 2, 3);
    world.at(b2, |asp, now| asp.send(now, 2, 1, 7));
    world.pass(ms(100));
    let came = world.asp_of(b2).numbers();
    assert_eq!(came.len(), 16);
    assert!(came.values().all(|numbers| *numbers == [0, 1, 2]), "{came:?}");
    let back = world.asp_of(a).received.clone();
    assert_eq!((back.len(), back[0].sls, back[0].opc.number()), (1, 7, 2));
    assert_eq!(world.metric(gateway, "sgc_msus_relayed_total"), 49);
    assert_eq!(world.alarms(gateway), Vec::<String>::new());
}

#[test]
fn loadshare_deals_flows_evenly_and_keeps_the_order_of_each_when_an_asp_goes() {
    let (mut world, gateway, [a, b1, b2]) = site("loadshare");
    burst(&mut world, a, 2, 10);
    world.pass(ms(100));
    let flows = [b1, b2].map(|asp| world.asp_of(asp).numbers().len());
    assert_eq!(flows, [8, 8]);
    // One leaves in order: from its ASP Inactive on the other has everything, nothing is lost.
    world.at(b1, |asp, now| {
        let (peer, server) = (asp.peer(0), asp.process.servers().next().unwrap());
        asp.tell(now, In::AspInactive(peer, server));
    });
    burst(&mut world, a, 2, 20);
    world.pass(ms(100));
    let (first, second) = (world.asp_of(b1).numbers(), world.asp_of(b2).numbers());
    for sls in 0..16 {
        let mut all = first.get(&sls).cloned().unwrap_or_default();
        all.extend(second.get(&sls).into_iter().flatten());
        assert!(in_order(&all) && all.len() == 30, "SLS {sls}: {all:?}");
    }
    assert_eq!(world.alarms(gateway), Vec::<String>::new());
}

#[test]
fn with_override_the_one_that_becomes_active_last_has_all_and_the_other_hears_of_it() {
    let (mut world, _, [a, b1, b2]) = site("override");
    burst(&mut world, a, 2, 2);
    world.at(b1, |asp, now| {
        let (peer, server) = (asp.peer(0), asp.process.servers().next().unwrap());
        asp.tell(now, In::AspActive(peer, server));
    });
    burst(&mut world, a, 2, 40);
    world.pass(ms(100));
    let (first, second) = (world.asp_of(b1).numbers(), world.asp_of(b2).numbers());
    for sls in 0..16 {
        let mut all = second[&sls].clone();
        all.extend(&first[&sls]);
        assert!(in_order(&all) && all.len() == 42, "SLS {sls}: {all:?}");
    }
    let heard = |it: &Indication| {
        matches!(it, Indication::Notified(.., Notification::AlternateAspActive, _))
    };
    assert!(world.asp_of(b2).indications.iter().any(heard));
}

#[test]
fn broadcast_gives_every_asp_everything() {
    let (mut world, _, [a, b1, b2]) = site("broadcast");
    burst(&mut world, a, 2, 5);
    world.pass(ms(100));
    for asp in [b1, b2] {
        assert_eq!(world.asp_of(asp).received.len(), 80);
    }
}

#[test]
fn traffic_waits_for_t_r_when_the_last_asp_is_lost_and_goes_on_in_order() {
    let (mut world, gateway, [a, b1, b2]) = site("override");
    burst(&mut world, a, 2, 2);
    world.pass(ms(50));
    world.deafen(b1);
    world.deafen(b2);
    world.pass(ms(50));
    assert!(world.alarms(gateway).contains(&"as-pending two".to_owned()));
    burst(&mut world, a, 2, 10);
    world.pass(ms(50));
    assert_eq!(world.metric(gateway, "sgc_msus_waiting"), 160);
    world.hear(b2);
    world.pass(ms(900));
    let mut came = world.asp_of(b2).numbers();
    came.values_mut().for_each(|numbers| drop(numbers.drain(..2)));
    assert_eq!(came.len(), 16);
    assert!(came.values().all(|numbers| numbers[..] == (2..12).collect::<Vec<_>>()), "{came:?}");
    assert_eq!(world.metric(gateway, "m3ua_recovered_total"), 160);
    assert_eq!(world.alarms(gateway), ["association-down b1"]);
}

#[test]
fn after_t_r_what_waited_is_counted_and_the_other_side_hears_that_nobody_is_there() {
    let (mut world, gateway, [a, b1, b2]) = site("loadshare");
    world.deafen(b1);
    world.deafen(b2);
    world.pass(ms(50));
    burst(&mut world, a, 2, 1);
    world.pass(ms(1_200));
    assert_eq!(world.metric(gateway, "m3ua_expired_total"), 16);
    let paused =
        |it: &Indication| matches!(it, Indication::Pause(_, at) if at.point_code.number() == 2);
    assert!(world.asp_of(a).indications.iter().any(paused), "DUNA at the end of T(r)");
    assert!(world.alarms(gateway).contains(&"as-down two".to_owned()));
    let there = world.ask(gateway, "m3ua/destinations", &[]);
    assert_eq!((&there[0]["point_code"], &there[0]["state"]), (&"2".into(), &"unavailable".into()));
    world.hear(b1);
    world.asp_of(a).indications.clear();
    world.pass(ms(1_500));
    let resumed =
        |it: &Indication| matches!(it, Indication::Resume(_, at) if at.point_code.number() == 2);
    assert!(world.asp_of(a).indications.iter().any(resumed), "DAVA when one is back");
    burst(&mut world, a, 2, 1);
    world.pass(ms(50));
    assert_eq!(world.asp_of(b1).received.len(), 16);
}

#[test]
fn the_buffer_has_a_limit_and_what_exceeds_it_is_counted() {
    let mut world = World::new();
    let text = format!("{}\n[limits]\npending_messages_max = 20\n", relay("override"));
    let gateway = world.gateway(&text);
    let a = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    let b = world.asp(Asp::of("10.0.2.1", GATEWAY, 2, 2));
    world.pass(ms(500));
    world.deafen(b);
    world.pass(ms(20));
    burst(&mut world, a, 2, 2);
    world.hear(b);
    world.pass(ms(900));
    assert_eq!(world.metric(gateway, "m3ua_shed_total"), 12);
    let came = world.asp_of(b).numbers();
    assert_eq!(came.values().map(Vec::len).sum::<usize>(), 20);
    assert!(came.values().all(|numbers| in_order(numbers)), "those that waited keep their order");
}

#[test]
fn an_msu_that_leads_nowhere_is_counted_by_its_reason_and_its_sender_hears_so() {
    let (mut world, gateway, [a, ..]) = site("override");
    world.asp_of(a).indications.clear();
    world.at(a, |asp, now| {
        asp.send(now, 1, 5, 0); // nobody has 5
        asp.send(now, 1, 5, 0); // told already
        asp.send(now, 1, 9, 0); // the node has no SCCP
        asp.send(now, 1, 1, 0); // back to its sender
    });
    world.pass(ms(100));
    let counts = ["no_route", "no_user", "circular"]
        .map(|reason| world.metric(gateway, &format!("sgc_msus_{reason}_total")));
    assert_eq!(counts, [2, 1, 1]);
    let told = &world.asp_of(a).indications;
    let pauses = told.iter().filter(|it| matches!(it, Indication::Pause(..))).count();
    let has_upu = told.iter().any(|it| {
        matches!(it, Indication::Status(_, at, Cause::UserPartUnavailable(user), _)
            if at.point_code.number() == 9 && user.user == 3)
    });
    assert!(pauses == 1 && has_upu, "{told:?}");
}

#[test]
fn an_echo_comes_back_and_two_echoes_do_not_answer_each_other() {
    let (mut world, gateway, [a, ..]) = site("override");
    world.at(a, |asp, now| {
        asp.send_of(now, (1, 9), 4, 12);
        asp.send_of(now, (9, 9), 4, 12);
    });
    world.pass(ms(100));
    let back = &world.asp_of(a).received;
    assert_eq!(back.len(), 1);
    assert_eq!((back[0].opc.number(), back[0].dpc.number(), back[0].si), (9, 1, 12));
    assert_eq!(world.metric(gateway, "sgc_msus_local_total"), 1);
    assert_eq!(world.metric(gateway, "sgc_msus_screened_own_total"), 1);
}

#[test]
fn ipsps_of_both_exchanges_speak_to_asps() {
    let mut world = World::new();
    let text = RELAY
        .replace(r#""b1", role = "asp""#, r#""b1", role = "ipsp""#)
        .replace(r#""b2", role = "asp""#, r#""b2", role = "ipsp-double""#)
        .replace(r#"peers = ["b1", "b2"]"#, r#"peers = ["b1"]"#);
    let text = format!(
        "{text}[[application_server]]\nname = \"three\"\nrouting_context = 3\npeers = [\"b2\"]\n\
         destination = [{{ point_code = \"3\" }}]\n[[application_server]]\nname = \"own\"\n\
         served_by = \"here\"\nrouting_context = 4\npeers = [\"b2\"]\n\
         destination = [{{ point_code = \"1\" }}]\n"
    );
    let gateway = world.gateway(&text);
    let a = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    let mut single = Asp::new("10.0.2.1");
    single.connects(Role::IpspClient, GATEWAY, 0);
    single.serves(Side::There, Some(2), 1, &[0]);
    let single = world.asp(single);
    let mut double = Asp::new("10.0.2.2");
    double.connects(Role::IpspDouble, GATEWAY, 0);
    double.serves(Side::Here, Some(3), 3, &[0]);
    double.serves(Side::There, Some(4), 1, &[0]);
    let double = world.asp(double);
    world.pass(ms(1_000));
    assert_eq!(world.alarms(gateway), Vec::<String>::new());
    world.at(a, |asp, now| {
        asp.send(now, 1, 2, 0);
        asp.send(now, 1, 3, 1);
    });
    world.at(single, |asp, now| asp.send(now, 2, 1, 2));
    world.at(double, |asp, now| asp.send(now, 3, 1, 3));
    world.pass(ms(100));
    assert_eq!(world.asp_of(single).received.len(), 1);
    assert_eq!(world.asp_of(double).received.len(), 1);
    let sls: Vec<u8> = world.asp_of(a).received.iter().map(|msu| msu.sls).collect();
    assert_eq!(sls, [2, 3]);
}

fn point_code(number: u32) -> PointCode {
    PointCode::new(number).unwrap()
}

/// SCON of destinations, from an ASP.
fn congested(context: u32, affected: Affected) -> Bytes {
    let mut bytes = Vec::new();
    Writer::begin(&mut bytes, MessageType::Scon)
        .word(Tag::RoutingContext, context)
        .affected(&[affected])
        .word(Tag::CongestionIndications, 3)
        .end();
    bytes.into()
}

#[test]
fn an_asp_tells_of_its_own_destinations_and_of_no_others() {
    let (mut world, gateway, [a, b1, _]) = site("loadshare");
    let two = Affected::one(point_code(2));
    let heard = |world: &mut World| {
        let all = core::mem::take(&mut world.asp_of(b1).indications);
        all.iter().filter(|it| matches!(it, Indication::Status(..))).count()
    };
    world.at(a, |asp, _| asp.say(0, congested(1, two)));
    world.at(a, |asp, _| asp.say(0, congested(1, Affected::ALL)));
    world.pass(ms(50));
    assert_eq!((heard(&mut world), world.metric(gateway, "sgc_ssnm_screened_total")), (0, 2));
    world.at(a, |asp, _| asp.say(0, congested(1, Affected::one(point_code(1)))));
    world.at(b1, |asp, _| asp.say(0, congested(2, two)));
    world.pass(ms(50));
    assert_eq!((heard(&mut world), world.metric(gateway, "sgc_ssnm_screened_total")), (2, 2));
    let alarms = world.alarms(gateway);
    for at in ["destination-congested 1", "destination-congested 2"] {
        assert!(alarms.iter().any(|it| it == at), "{alarms:?}");
    }
}

/// A gateway into the network, and an IPSP that serves point code 5.
const BESIDE: &str = r#"
[[application_server]]
name = "net"
served_by = "here"
peers = ["net"]
routing_context = 9
destination = [{ point_code = "9" }]
[[application_server]]
name = "five"
peers = ["five"]
routing_context = 5
destination = [{ point_code = "5" }]
"#;

#[test]
fn who_says_that_there_is_no_way_takes_no_way_from_what_is_served_here() {
    let mut world = World::new();
    let peers = r#"peer = [
  { name = "net", role = "sgp", transport = "tcp", addresses = ["10.0.9.1"], connect = true },
  { name = "five", role = "ipsp", transport = "tcp", addresses = ["10.0.5.1"] },"#;
    let text = format!("{}{BESIDE}", RELAY.replace("peer = [", peers));
    let gateway = world.gateway(&text);
    let a = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    let b = world.asp(Asp::of("10.0.2.1", GATEWAY, 2, 2));
    let mut net = Asp::new("10.0.9.1");
    net.listens(Role::Sgp, "10.0.9.1:2905");
    net.serves(Side::There, Some(9), 9, &[0]);
    let net = world.asp(net);
    let mut five = Asp::new("10.0.5.1");
    five.connects(Role::IpspClient, GATEWAY, 0);
    five.serves(Side::There, Some(5), 5, &[0]);
    let five = world.asp(five);
    world.pass(ms(1_000));
    world.asp_of(a).indications.clear();
    let gone = |number: u32| {
        let mut bytes = Vec::new();
        Writer::begin(&mut bytes, MessageType::Duna)
            .affected(&[Affected::one(point_code(number))])
            .end();
        Bytes::from(bytes)
    };
    world.at(net, |asp, _| asp.say(0, gone(2)));
    world.at(five, |asp, _| asp.say(0, gone(2)));
    world.at(five, |asp, _| asp.say(0, gone(7)));
    world.pass(ms(50));
    burst(&mut world, a, 2, 1);
    world.pass(ms(50));
    assert_eq!(world.asp_of(b).received.len(), 16, "nothing is lost");
    let paused = |it: &&Indication| matches!(it, Indication::Pause(..));
    assert_eq!(world.asp_of(a).indications.iter().filter(paused).count(), 0);
    assert_eq!(world.metric(gateway, "sgc_ssnm_screened_total"), 2);
    world.at(net, |asp, _| asp.say(0, gone(7)));
    world.pass(ms(50));
    assert_eq!(world.asp_of(a).indications.iter().filter(paused).count(), 1, "the network's own");
}

#[test]
fn who_has_no_point_codes_says_of_no_node_that_it_has_no_sccp() {
    let mut world = World::new();
    let peers = r#"peer = [
  { name = "net", role = "sgp", transport = "tcp", addresses = ["10.0.9.1"], connect = true },
  { name = "five", role = "ipsp-double", transport = "tcp", addresses = ["10.0.5.1"] },"#;
    let beside = BESIDE.replace(r#"point_code = "5""#, r#"point_code = "8""#);
    let beside = beside.replace("name = \"five\"\n", "name = \"five\"\nserved_by = \"here\"\n");
    let rule = "[[translation]]\nname = \"net\"\ndigits = \"4\"\n\
                target = [{ point_code = \"7\" }]\n";
    let text = RELAY.replace("point_codes = [\"9\"]", "point_codes = [\"9\", \"8\"]");
    let text = format!("{}{beside}{rule}", text.replace("peer = [", peers));
    let gateway = world.gateway(&text);
    let mut net = Asp::new("10.0.9.1");
    net.listens(Role::Sgp, "10.0.9.1:2905");
    net.serves(Side::There, Some(9), 9, &[0]);
    let net = world.asp(net);
    let mut five = Asp::new("10.0.5.1");
    five.connects(Role::IpspDouble, GATEWAY, 0);
    five.serves(Side::There, Some(5), 8, &[0]);
    let five = world.asp(five);
    world.pass(ms(1_000));
    let without_sccp = |number: u32| {
        let mut bytes = Vec::new();
        Writer::begin(&mut bytes, MessageType::Dupu)
            .affected(&[Affected::one(point_code(number))])
            .word(Tag::UserCause, 1 << 16 | 3)
            .end();
        Bytes::from(bytes)
    };
    let remotes = |world: &mut World| world.ask(gateway, "sccp/remotes", &[]);
    world.at(five, |asp, _| asp.say(0, without_sccp(7)));
    world.pass(ms(50));
    assert_eq!(world.metric(gateway, "sgc_ssnm_screened_total"), 1);
    assert_eq!(remotes(&mut world), serde_json::json!([]));
    world.at(net, |asp, _| asp.say(0, without_sccp(7)));
    world.pass(ms(50));
    assert_eq!(remotes(&mut world)[0]["point_code"], "7", "the network's own");
    // Of those that nothing leads to it may say what it likes.
    world.at(net, |asp, _| asp.say(0, without_sccp(6)));
    world.pass(ms(50));
    assert_eq!(remotes(&mut world).as_array().map(Vec::len), Some(1));
}

#[test]
fn two_gateways_in_a_row_carry_msus_both_ways_and_tell_each_other_what_is_gone() {
    let mut world = World::new();
    // West is an SGP for its ASP and an ASP of east; east is an SGP for both.
    let west = world.gateway(
        r#"
name = "west"
point_code_format = "decimal"
tcp = { listen = ["10.0.0.2:2905"] }
timers = { t_r_ms = 500, reconnect_ms = 200 }
peer = [
  { name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.1"] },
  { name = "east", role = "sgp", transport = "tcp", addresses = ["10.0.0.1"], connect = true },
]
[[application_server]]
name = "a"
peers = ["a"]
routing_context = 1
destination = [{ point_code = "1" }]
[[application_server]]
name = "at-east"
served_by = "here"
peers = ["east"]
routing_context = 11
destination = [{ point_code = "1" }]
"#,
    );
    let east = world.gateway(
        r#"
name = "east"
point_code_format = "decimal"
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 500 }
peer = [
  { name = "west", role = "asp", transport = "tcp", addresses = ["10.0.0.2"] },
  { name = "b", role = "asp", transport = "tcp", addresses = ["10.0.2.1"] },
]
[[application_server]]
name = "west"
peers = ["west"]
routing_context = 11
destination = [{ point_code = "1" }]
[[application_server]]
name = "b"
peers = ["b"]
routing_context = 2
destination = [{ point_code = "2" }]
"#,
    );
    let a = world.asp(Asp::of("10.0.1.1", "10.0.0.2:2905", 1, 1));
    let b = world.asp(Asp::of("10.0.2.1", GATEWAY, 2, 2));
    world.pass(ms(1_000));
    assert_eq!((world.alarms(west), world.alarms(east)), (Vec::new(), Vec::new()));
    burst(&mut world, a, 2, 5);
    world.at(b, |asp, now| (0..16).for_each(|sls| asp.send(now, 2, 1, sls)));
    world.pass(ms(100));
    assert_eq!((world.asp_of(b).received.len(), world.asp_of(a).received.len()), (80, 16));
    world.asp_of(a).indications.clear();
    world.deafen(b);
    world.pass(ms(1_000));
    let paused =
        |it: &Indication| matches!(it, Indication::Pause(_, at) if at.point_code.number() == 2);
    assert!(world.asp_of(a).indications.iter().any(paused), "the DUNA has come through both");
    // What west's own ASP served goes back to east, and to west again when it is there again.
    world.deafen(a);
    world.pass(ms(1_000));
    let state = |world: &mut World| world.ask(east, "m3ua/asps", &[])[0]["state"].clone();
    assert_eq!(state(&mut world), "inactive");
    world.hear(a);
    world.pass(ms(1_500));
    assert_eq!(state(&mut world), "active");
    // It has asked by itself when it became active there again; now the operator asks.
    let before = world.metric(east, "m3ua_audits_total");
    let audited = world.ask(west, "m3ua/audit", &[("peer", "east"), ("point_code", "2")]);
    assert_eq!(audited[0]["asked"], "2");
    world.pass(ms(100));
    assert_eq!(world.metric(east, "m3ua_audits_total"), before + 1);
}

#[test]
fn a_key_that_is_registered_gets_its_traffic_and_goes_with_its_asp() {
    let mut world = World::new();
    let gateway = world.gateway(&format!("{RELAY}\n[policy]\nregistration = \"open\"\n"));
    let a = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    let mut other = Asp::new("10.0.2.1");
    other.connects(Role::Asp, GATEWAY, 0);
    let key = m3ua::Key::of(world::asp::point_code(77));
    let mut settings = m3ua::ServerSettings::new(Side::Here, None, key);
    settings.registers = true;
    settings.mode = Some(TrafficMode::Loadshare);
    other.serves_as(settings, &[0]);
    let other = world.asp(other);
    world.pass(ms(1_000));
    let keys = world.ask(gateway, "m3ua/keys", &[]);
    assert_eq!((&keys[0]["peer"], &keys[0]["point_codes"][0]), (&"b1".into(), &"77".into()));
    world.at(a, |asp, now| asp.send(now, 1, 77, 3));
    world.pass(ms(100));
    assert_eq!(world.asp_of(other).received.len(), 1);
    world.deafen(other);
    world.pass(ms(1_500));
    assert_eq!(world.ask(gateway, "m3ua/keys", &[]), serde_json::json!([]));
    let routes = world.ask(gateway, "m3ua/routes", &[]);
    assert!(!routes.as_array().unwrap().iter().any(|row| row["point_code"] == "77"), "{routes}");
}

#[test]
fn msus_that_waited_too_long_are_shed_by_priority_and_management_is_not() {
    let (mut world, gateway, [a, _, b2]) = site("override");
    let now = world.now;
    runtime::Function::waited(world.gateway_of(gateway), now, ms(700));
    world.at(a, |asp, now| {
        asp.send(now, 1, 2, 0);
        let mut msu = m3ua::Transfer {
            network: None,
            opc: world::asp::point_code(1),
            dpc: world::asp::point_code(2),
            si: 3,
            ni: 2,
            mp: 1,
            sls: 0,
            payload: bytes::Bytes::from_static(&[0, 0, 0, 9]),
        };
        asp.tell(now, In::Transfer(msu.clone()));
        msu.mp = 0;
        asp.tell(now, In::Transfer(msu));
        let (peer, server) = (asp.peer(0), asp.process.servers().next().unwrap());
        asp.tell(now, In::AspInactive(peer, server));
    });
    world.pass(ms(50));
    assert_eq!(world.metric(gateway, "sgc_msus_overload_shed_total"), 2);
    assert_eq!(world.asp_of(b2).numbers()[&0], [9], "priority 1 may wait twice as long");
    let server = world.asp_of(a).process.servers().next().unwrap();
    assert_eq!(world.asp_of(a).process.server_state(server), Some(ServerState::Inactive));
}

#[test]
fn an_origin_that_is_not_the_peers_goes_nowhere_and_is_an_alarm_for_a_minute() {
    let (mut world, gateway, [a, b1, b2]) = site("override");
    world.at(a, |asp, now| {
        asp.send(now, 1, 2, 0);
        asp.send(now, 2, 2, 0); // b's
        asp.send(now, 7, 2, 0); // nobody's
        asp.send(now, 9, 2, 0); // the node's own
    });
    world.pass(ms(100));
    let origins = |world: &mut World, asp| -> Vec<u32> {
        world.asp_of(asp).received.iter().map(|msu| msu.opc.number()).collect()
    };
    assert_eq!((origins(&mut world, b1), origins(&mut world, b2)), (vec![], vec![1]));
    assert_eq!(world.metric(gateway, "sgc_msus_screened_origin_total"), 2);
    assert_eq!(world.metric(gateway, "sgc_msus_screened_own_total"), 1);
    assert_eq!(world.alarms(gateway), ["point-code-screened a"]);
    world.pass(ms(61_000));
    assert_eq!(world.alarms(gateway), Vec::<String>::new());
}

#[test]
fn a_commit_changes_what_may_come_from_a_peer_and_its_association_stands() {
    let (mut world, gateway, [a, _, b2]) = site("override");
    let peer = "addresses = [\"10.0.1.1\"]";
    let screening = "screening = { originating = [\"5..8\"], destinations = [\"2\"], \
                     service_indicators = [3], network_indicators = [2] }";
    let open = format!("{peer}, screening = {{ originating = [\"any\"] }}");
    world.configure(gateway, &relay("override").replace(peer, &open));
    world.at(a, |asp, now| [1, 6, 7, 9].into_iter().for_each(|opc| asp.send(now, opc, 2, 0)));
    world.pass(ms(100));
    world.configure(gateway, &relay("override").replace(peer, &format!("{peer}, {screening}")));
    world.at(a, |asp, now| {
        asp.send(now, 1, 2, 0);
        asp.send(now, 8, 2, 0);
        asp.send(now, 8, 1, 0);
        asp.send_of(now, (8, 2), 0, 5);
    });
    world.pass(ms(100));
    let came: Vec<u32> = world.asp_of(b2).received.iter().map(|msu| msu.opc.number()).collect();
    assert_eq!(came, [1, 6, 7, 8]);
    let counted = ["own", "origin", "destination", "service"]
        .map(|why| world.metric(gateway, &format!("sgc_msus_screened_{why}_total")));
    assert_eq!(counted, [1, 1, 1, 1]);
}

#[test]
fn a_connection_from_the_address_of_a_peer_that_lives_is_turned_away() {
    let (mut world, gateway, [a, _, b2]) = site("override");
    let before = world.asp_of(a).indications.len();
    world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    world.pass(ms(400));
    world.at(a, |asp, now| asp.send(now, 1, 2, 0));
    world.pass(ms(100));
    assert_eq!(world.asp_of(b2).received.len(), 1, "the one that stands is heard");
    assert_eq!(world.asp_of(a).indications.len(), before, "and hears of nothing");
    assert!(world.metric(gateway, "sgc_association_claims_refused_total") > 0);
    assert_eq!(world.alarms(gateway), Vec::<String>::new());
}

#[test]
fn a_connection_whose_peer_is_dead_gives_its_place_to_the_newcomer() {
    let (mut world, gateway, [a, _, b2]) = site("override");
    world.freeze(a);
    let again = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    world.pass(ms(1_500));
    assert_eq!(world.asp_of(again).process.servers().count(), 1);
    world.at(again, |asp, now| asp.send(now, 1, 2, 0));
    world.pass(ms(100));
    assert_eq!(world.asp_of(b2).received.len(), 0, "the newcomer waits unheard");
    world.pass(ms(5_000));
    world.at(again, |asp, now| asp.send(now, 1, 2, 0));
    world.pass(ms(100));
    assert_eq!(world.asp_of(b2).received.len(), 1);
    assert_eq!(world.alarms(gateway), Vec::<String>::new());
}
