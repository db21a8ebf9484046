//! From a section to what the plane is told, and from one section to the next.

mod asked;
pub(crate) mod learnt;
mod services;

use crate::compile::{Beside, compile};
use crate::config::Pe;
use crate::{CHANNELS, ProviderEdge, Settings};
use dataplane::{Desired, Numbers};
use forwarder::Launch;
use forwarder::ipc::{self, Reply, WorkerState};
use machine::{Duration, Time};
use nodes::Program;
use nodes::program::{Hop, LabelAction, Mode, Removed, Tunnel, Verdict};
use runtime::{ChannelEvent, Effects, Function as _, In, Seed};
use std::net::Ipv4Addr;
use std::sync::Arc;

const EDGE: &str = r#"
name = "pe1"
[[port]]
name = "ge0"
driver = "af_packet"
device = "veth0"
[[port]]
name = "ge1"
driver = "af_xdp"
[[vrf]]
name = "red"
label = 100
[[interface]]
name = "ge0"
addresses = ["10.0.0.1/24", "2001:db8::1/64"]
filter_in = ["guard"]
[[interface]]
name = "ge1.7"
port = "ge1"
vlan = 7
vrf = "red"
addresses = ["10.0.0.1/24"]
policer_in = "gold"
[[interface]]
name = "ge1.8"
port = "ge1"
vlan = 8
[[interface]]
name = "ge1.9"
port = "ge1"
vlan = 9
[[route]]
prefix = "10.9.1.1/16"
via = [{ gateway = "10.0.0.2" }, { gateway = "10.0.0.3", weight = 2 }]
[[route]]
prefix = "0.0.0.0/0"
vrf = "red"
via = [{ gateway = "10.0.0.2", interface = "ge0", labels = [200] }]
[[cross_connect]]
name = "wire"
interface = "ge1.8"
pseudowire = { label_in = 300, via = { gateway = "10.0.0.2", labels = [301] } }
[[bridge]]
name = "lan"
interfaces = ["ge1.9"]
pseudowire = [{ label_in = 400, via = { gateway = "10.0.0.2", labels = [16, 401] } }]
[[policer]]
name = "gold"
committed_kbps = 8
committed_burst = 3000
[[filter]]
name = "guard"
rule = [
  { action = "police gold", protocol = "icmp" },
  { action = "permit", source = "10.0.0.0/8", tcp_flags = "S!A", destination_ports = [
    "80", "90-99"] },
]
"#;

fn read(text: &str) -> Pe {
    let pe: Pe = toml::from_str(text).expect("a section");
    let mut issues = Vec::new();
    pe.validate(&mut issues);
    assert_eq!(issues, [], "it is valid");
    pe
}

fn compiled(text: &str, numbers: &mut Numbers) -> Desired {
    compile(&read(text), &Beside::default(), numbers).0
}

fn things<'a, T>(desired: &'a Desired, which: impl Fn(&'a Program) -> Option<T>) -> Vec<T> {
    desired.things.values().filter_map(which).collect()
}

#[test]
fn a_section_becomes_ports_interfaces_hops_and_routes() {
    let desired = compiled(EDGE, &mut Numbers::default());
    assert_eq!(desired.ports[&0].name, "ge0");
    let modes = things(&desired, |it| match it {
        Program::Interface(interface) => Some((interface.outer, interface.mode.clone())),
        _ => None,
    });
    assert_eq!(modes[0], (None, Mode::Routed { vrf: 0 }));
    assert_eq!(modes[1], (Some(7), Mode::Routed { vrf: 1 }));
    assert_eq!(modes[2], (Some(8), Mode::CrossConnect { hop: 0 }));
    assert!(matches!(modes[4], (Some(8), Mode::CrossConnect { hop: 1.. })), "as soon as it is");
    assert_eq!(modes[3], (Some(9), Mode::Bridged { bridge: 1, split_horizon: 0, macs_max: 0 }));
    let hop = |id: u32| {
        let found = things(&desired, |it| match it {
            Program::Hop { id: of, hop } if *of == id => Some(hop.clone()),
            _ => None,
        });
        found.into_iter().next().expect("every hop that is named is said")
    };
    let way = desired.routes4[&(0, Ipv4Addr::new(10, 9, 0, 0), 16)];
    let Hop::Group { members, resilient: false } = hop(way) else { panic!("two ways") };
    assert_eq!(members.iter().map(|(_, weight)| *weight).collect::<Vec<_>>(), [1, 2]);
    let gateway = Some("10.0.0.2".parse().expect("an address"));
    assert_eq!(hop(members[0].0), Hop::Via { interface: 1, gateway, labels: vec![] });
    let way = desired.routes4[&(1, Ipv4Addr::UNSPECIFIED, 0)];
    assert_eq!(hop(way), Hop::Via { interface: 1, gateway, labels: vec![200] });
    let labels = things(&desired, |it| match it {
        Program::Label { label, action } => Some((*label, action.clone())),
        _ => None,
    });
    let (control_word, flow_label) = (false, false);
    let vrf = LabelAction::PopVrf { vrf: 1, tunnel: Tunnel::Pipe };
    let (wire, lan) = (
        LabelAction::PopInterface { interface: 3, control_word, flow_label },
        LabelAction::PopPseudowire { pseudowire: 1, control_word, flow_label },
    );
    assert_eq!(labels, [(100, vrf), (300, wire), (400, lan)]);
    let filters = things(&desired, |it| match it {
        Program::Filter(filter) => Some(filter.rules.clone()),
        _ => None,
    });
    assert_eq!(filters[0][0].verdict, Verdict::Police(1));
    assert_eq!(filters[0][1].matches.tcp_flags, [(2, 0x12)]);
    assert_eq!(filters[0][1].matches.destination_ports, [(80, 80), (90, 99)]);
}

#[test]
fn a_change_says_only_what_differs_and_takes_away_what_is_gone_last() {
    let mut numbers = Numbers::default();
    let before = compiled(EDGE, &mut numbers);
    assert_eq!(before.changes(&before), [], "nothing changed");
    let text = EDGE.replace("10.9.1.1/16", "10.8.0.0/16").replace("weight = 2", "weight = 3");
    let after = compiled(&text, &mut numbers);
    let changes = before.changes(&after);
    let group = after.routes4[&(0, Ipv4Addr::new(10, 8, 0, 0), 16)];
    let routes = vec![(Ipv4Addr::new(10, 8, 0, 0), 16, group), (Ipv4Addr::new(10, 9, 0, 0), 16, 0)];
    let [Program::Hop { id, .. }, told, gone] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((*id, told), (group, &Program::Routes4 { vrf: 0, routes }));
    assert!(matches!(gone, Program::Remove(Removed::Hop(old)) if *old != group));
}

#[test]
fn a_vlan_that_moves_is_taken_away_before_it_stands_anew() {
    let mut numbers = Numbers::default();
    let before = compiled(EDGE, &mut numbers);
    let after = compiled(&EDGE.replace("ge1.9", "other"), &mut numbers);
    let changes = before.changes(&after);
    assert_eq!(changes[0], Program::Remove(Removed::Interface(4)));
    assert!(matches!(&changes[1], Program::Interface(it) if it.index == 5), "{changes:?}");
    assert_eq!(changes.len(), 2, "the bridge is the same: {changes:?}");
}

#[test]
fn mistakes_are_named_with_their_place_and_their_hint() {
    let text = EDGE
        .replace("vrf = \"red\"\naddresses", "vrf = \"rad\"\naddresses")
        .replace("10.9.1.1/16\"", "10.9.1.1\"")
        .replace("label_in = 300", "label_in = 400")
        .replace("police gold", "polish gold")
        .replace("vlan = 9", "vlan = 8")
        .replace("gateway = \"10.0.0.3\"", "gateway = \"10.7.0.3\"");
    let pe: Pe = toml::from_str(&text).expect("a section");
    let mut issues = Vec::new();
    pe.validate(&mut issues);
    let found: Vec<String> = issues.iter().map(|it| format!("{}: {}", it.path, it.what)).collect();
    assert_eq!(
        found,
        [
            "interface[1].vrf: there is no routing table `rad`",
            "interface[3].vlan: `ge1.8` has these packets already",
            "route[0].prefix: `10.9.1.1` is no prefix",
            "route[0].via[1].gateway: 10.7.0.3 is in no subnet of an interface",
            "bridge[0].pseudowire[0].label_in: label 400 is that of \
             `cross_connect[0].pseudowire.label_in` already",
            "filter[0].rule[0].action: `polish gold` is no action",
        ]
    );
    assert_eq!(issues[0].hint, "did you mean `red`?");
}

#[test]
fn a_worker_that_crashed_is_an_alarm_for_ten_minutes_and_one_that_hangs_another() {
    let (socket, command, log) = ("/".into(), Vec::new(), "/".into());
    let launch = Launch { socket, command, log, ..Launch::default() };
    let settings = Settings {
        pe: read(EDGE),
        routes: Vec::new(),
        launch,
        ospf_keys: Default::default(),
        isis_keys: Default::default(),
        bfd_keys: Default::default(),
    };
    let now = Time::from_millis(1);
    let seed = Seed { shard: 0, shards: 1, random: [0; 32], now };
    let mut edge = ProviderEdge::new(seed, Arc::new(settings));
    let names = |edge: &mut ProviderEdge, now| {
        let rows = edge.alarms(now);
        let of_workers = rows.iter().filter(|row| row.subject == "pe1 worker 1");
        of_workers.map(|row| format!("{} {}", row.name, row.severity)).collect::<Vec<_>>()
    };
    let mut out = Effects::default();
    let mut hear = |edge: &mut ProviderEdge, event: ChannelEvent<'_>| {
        edge.step(now, In::Channel { port: CHANNELS.control, event }, &mut out);
    };
    edge.tick(now, &mut Effects::default());
    hear(&mut edge, ChannelEvent::Up);
    let mut say = |edge: &mut ProviderEdge, state| {
        let mut octets = Vec::new();
        let reply = Reply::Worker { worker: 1, state, why: "index".to_owned() };
        ipc::write(&reply, &mut octets).expect("it is short");
        hear(edge, ChannelEvent::Message(&octets));
    };
    say(&mut edge, WorkerState::Dead);
    assert_eq!(names(&mut edge, now), ["worker-crashed critical"]);
    say(&mut edge, WorkerState::Forwards);
    assert_eq!(names(&mut edge, now), ["worker-crashed major"]);
    say(&mut edge, WorkerState::Hung);
    assert_eq!(names(&mut edge, now), ["worker-hung critical"]);
    assert!(names(&mut edge, now + Duration::from_secs(600)).is_empty());
}

/// The section of an edge with these tables of VPNs and four labels for them.
fn vpns(names: &[&str]) -> String {
    let tables = names.iter().map(|name| {
        let number = name.as_bytes()[0];
        format!("[[vrf]]\nname = \"{name}\"\nrd = \"65000:{number}\"\n")
    });
    let head = "name = \"pe1\"\n[bgp]\nasn = 65000\nidentifier = \"192.0.2.1\"\n";
    format!("{head}vpn_labels = [1000, 1003]\n{}", tables.collect::<String>())
}

#[test]
fn the_label_of_a_table_that_has_gone_is_not_that_of_the_next_one() {
    let mut numbers = Numbers::default();
    let mut labels = |names: &[&str]| {
        things(&compiled(&vpns(names), &mut numbers), |it| match it {
            Program::Label { label, action: LabelAction::PopVrf { vrf, .. } } => {
                Some((*label, *vrf))
            }
            _ => None,
        })
    };
    assert_eq!(labels(&["x", "y"]), [(1_001, 1), (1_002, 2)]);
    assert_eq!(labels(&["y"]), [(1_002, 2)]);
    assert_eq!(labels(&["y", "z"]), [(1_000, 1), (1_002, 2)], "the number is given again");
    let all = labels(&["y", "z", "v", "w"]);
    assert_eq!(all, [(1_000, 1), (1_002, 2), (1_003, 3)], "for the last one there is none");
}

#[test]
fn a_table_without_a_label_is_an_alarm_until_one_has_rested() {
    let settings = |names: &[&str]| {
        Arc::new(Settings {
            pe: read(&vpns(names)),
            routes: Vec::new(),
            launch: Launch::default(),
            ospf_keys: Default::default(),
            isis_keys: Default::default(),
            bfd_keys: Default::default(),
        })
    };
    let (now, mut out) = (Time::from_millis(1), Effects::default());
    let seed = Seed { shard: 0, shards: 1, random: [0; 32], now };
    let mut edge = ProviderEdge::new(seed, settings(&["v", "w", "x", "y"]));
    edge.tick(now, &mut out);
    let without = |edge: &mut ProviderEdge, now| {
        let rows = edge.alarms(now).into_iter().filter(|it| it.name == "vpn-labels-used-up");
        rows.map(|it| it.subject).collect::<Vec<_>>()
    };
    assert!(without(&mut edge, now).is_empty(), "nobody was asked yet");
    let mut welcome = Vec::new();
    let reply = Reply::Welcome { ports: Vec::new(), memo: Vec::new(), is_taken: false };
    ipc::write(&reply, &mut welcome).expect("it is short");
    for event in [ChannelEvent::Up, ChannelEvent::Message(&welcome)] {
        edge.step(now, In::Channel { port: CHANNELS.control, event }, &mut out);
    }
    assert!(without(&mut edge, now).is_empty());
    edge.configure(now, settings(&["v", "w", "x", "z"]), &mut out);
    assert_eq!(without(&mut edge, now), ["z"]);
    let later = |hours: u64| now + Duration::from_secs(3_600 * hours);
    edge.tick(later(23), &mut out);
    assert_eq!(without(&mut edge, later(23)), ["z"]);
    edge.tick(later(24), &mut out);
    assert!(without(&mut edge, later(24)).is_empty());
}
