//! Labels, pseudowires and classes: from the section to what the plane is told.

use super::{EDGE, compiled, things};
use crate::config::Pe;
use dataplane::{Desired, Numbers};
use nodes::Program;
use nodes::program::{
    AS_IT_IS, BridgeMember, Class, Collector, Drops, Family, Hop, LabelAction, Mode, NO_PORT, Push,
    Removed, Tunnel, Verdict,
};

fn hops(desired: &Desired) -> Vec<(u32, Hop)> {
    things(desired, |it| match it {
        Program::Hop { id, hop } => Some((*id, hop.clone())),
        _ => None,
    })
}

fn actions(desired: &Desired) -> Vec<LabelAction> {
    things(desired, |it| match it {
        Program::Label { action, .. } => Some(action.clone()),
        _ => None,
    })
}

/// What is wrong with a section, each with its hint.
fn issues(text: &str) -> Vec<String> {
    let pe: Pe = toml::from_str(text).expect("a section");
    let mut issues = Vec::new();
    pe.validate(&mut issues);
    issues.iter().map(|it| format!("{}: {} ({})", it.path, it.what, it.hint)).collect()
}

#[test]
fn a_pseudowire_has_its_control_word_and_flow_label_both_ways_and_over_its_backup() {
    let with = "label_in = 300, control_word = true, flow_label = true, \
                backup = { gateway = \"10.0.0.3\", labels = [302] }";
    let desired = compiled(&EDGE.replace("label_in = 300", with), &mut Numbers::default());
    let hops = hops(&desired);
    let pushes: Vec<&Push> = hops
        .iter()
        .filter_map(|(_, hop)| match hop {
            Hop::Push(push) => Some(push),
            _ => None,
        })
        .collect();
    let labels: Vec<&[u32]> = pushes.iter().map(|push| &*push.labels).collect();
    assert_eq!(labels, [[301], [302]]);
    assert!(pushes.iter().all(|push| push.control_word && push.flow_label && !push.entropy));
    let place = |id: u32| hops.iter().position(|(hop, _)| *hop == id).expect("it is said");
    let modes = things(&desired, |it| match it {
        Program::Interface(it) => Some(it.mode.clone()),
        _ => None,
    });
    let way = modes.iter().find_map(|mode| match mode {
        Mode::CrossConnect { hop } if *hop != 0 => Some(*hop),
        _ => None,
    });
    let (_, Hop::Backup { primary, backup }) = &hops[place(way.expect("a way"))] else {
        panic!("{hops:?}")
    };
    assert!(place(*primary) < place(way.unwrap_or(0)) && place(pushes[0].over) < place(*primary));
    assert!(place(*backup) < place(way.unwrap_or(0)));
    let wire = LabelAction::PopInterface { interface: 3, control_word: true, flow_label: true };
    assert_eq!(actions(&desired)[1], wire);
}

#[test]
fn labels_hide_hops_or_do_not_as_their_model_says() {
    let text = EDGE
        .replace("label = 100", "label = 100\ntunnel = \"uniform\"")
        .replace("labels = [200]", "labels = [200], tunnel = \"uniform\", entropy = true")
        + "[[label]]\nlabel = 500\nvia = [{ gateway = \"10.0.0.2\", weight = 3 }]\n\
           backup = { gateway = \"10.0.0.3\", labels = [501] }\ntunnel = \"short-pipe\"\n";
    let desired = compiled(&text, &mut Numbers::default());
    let found = actions(&desired);
    assert_eq!(found[0], LabelAction::PopVrf { vrf: 1, tunnel: Tunnel::Uniform });
    let LabelAction::Forward { hop, tunnel: Tunnel::ShortPipe } = found[3] else {
        panic!("{found:?}")
    };
    let hops = hops(&desired);
    assert!(hops.iter().any(|(id, it)| *id == hop && matches!(it, Hop::Backup { .. })));
    let pushed = hops.iter().find_map(|(_, hop)| match hop {
        Hop::Push(push) if push.labels == [200] => Some((push.tunnel, push.entropy)),
        _ => None,
    });
    assert_eq!(pushed, Some((Tunnel::Uniform, true)));
}

#[test]
fn labels_that_cannot_be_are_refused_with_their_hint() {
    let wire = "label_in = 300, flow_label = true";
    let text = EDGE
        .replace("label_in = 300", wire)
        .replace("labels = [301]", "labels = [301], entropy = true, tunnel = \"uniform\"")
        + "[[label]]\nlabel = 500\nvia = [{ gateway = \"10.0.0.2\", entropy = true }]\n\
           [[label]]\nlabel = 501\npop = true\nbackup = { interface = \"ge0\", labels = [16] }\n";
    assert_eq!(
        issues(&text),
        [
            "label[0].via[0].entropy: an entropy label needs labels before it (add `labels`)",
            "label[0].via[0].entropy: the edge where the packet came in has put its entropy label \
             (remove it)",
            "label[1].backup: packets with labels go to a neighbour (add `gateway`)",
            "label[1].backup: there is no way that this one stands in for (add `via`)",
            "cross_connect[0].pseudowire.via.tunnel: a frame has no time to live that its labels \
             could have (use `pipe`)",
            "cross_connect[0].pseudowire.via.entropy: an entropy label and a flow label do the \
             same (use one of them)",
        ]
    );
}

#[test]
fn maps_have_a_row_for_every_mark_and_leave_alone_what_no_row_names() {
    let text = EDGE.replace(
        "addresses = [\"10.0.0.1/24\", \"2001",
        "marking = \"core\"\naddresses = [\"10.0.0.1/24\", \"2001",
    ) + r#"
[[marking]]
name = "core"
dscp_in = [{ dscp = [46, 44], class = 5 }, { dscp = [12], class = 1, colour = "yellow" }]
priority_in = [{ priority = [7], class = 6 }]
dscp_out = [{ class = [1], colour = "yellow", dscp = 14 }, { class = [5], dscp = 46 }]
priority_out = [{ class = [5], priority = 5 }]
"#;
    let desired = compiled(&text, &mut Numbers::default());
    let found = things(&desired, |it| match it {
        Program::Marking(marking) => Some(marking.clone()),
        _ => None,
    });
    let [marking] = &found[..] else { panic!("{found:?}") };
    let by = |dscp: usize| marking.by_dscp[dscp];
    assert_eq!((marking.interface, marking.by_dscp.len()), (1, 64));
    assert_eq!([by(46), by(44), by(45), by(12), by(0)], [(5, 0), (5, 0), (5, 0), (1, 1), (0, 0)]);
    assert_eq!((marking.by_priority[7], marking.by_priority[3]), ((6, 0), (3, 0)));
    assert_eq!(marking.to_dscp[3..6], [AS_IT_IS, 14, AS_IT_IS]);
    assert_eq!(marking.to_dscp[15..18], [46; 3]);
    assert_eq!(marking.to_priority[4..6], [AS_IT_IS, 5]);
}

#[test]
fn queues_drop_early_and_bridges_keep_their_limits_and_samples_have_a_collector() {
    let text = EDGE
        .replace("name = \"ge1.9\"\n", "name = \"ge1.9\"\nmacs_max = 9\nsplit_horizon = 2\n")
        .replace(
            "name = \"lan\"",
            "name = \"lan\"\nstorm_pps = 100\nmoves_max = 5\nstation = [\
            { mac = \"02:00:00:00:00:09\", label_in = 400 }]",
        )
        .replace("policer_in", "sample_one_in = 100\nsample_octets = 0\npolicer_in")
        + r#"
[collector]
address = "10.0.0.77"
[[scheduler]]
port = "ge0"
queue = [{ name = "q", class = 0, wred = { green = { min_octets = 3000, max_octets = 9000,
  permille = 100 }, red = { min_octets = 0, max_octets = 0, permille = 1000 } } }]
"#;
    let desired = compiled(&text, &mut Numbers::default());
    let told: Vec<&Program> = desired.things.values().collect();
    let has = |what: &dyn Fn(&Program) -> bool| told.iter().any(|it| what(it));
    let mode = Mode::Bridged { bridge: 1, split_horizon: 2, macs_max: 9 };
    assert!(has(&|it| matches!(it, Program::Interface(it) if it.mode == mode)));
    assert!(has(
        &|it| matches!(it, Program::Bridge(it) if (it.storm_pps, it.moves_max) == (100, 5))
    ));
    assert!(has(&|it| matches!(it, Program::StaticMac(it) if it.mac == [2, 0, 0, 0, 0, 9]
        && it.member == BridgeMember::Pseudowire(1))));
    assert!(has(&|it| matches!(it, Program::Sampling(it) if (it.one_in, it.octets) == (100, 0))));
    let collector = Collector {
        vrf: 0,
        source: "10.0.0.1".parse().expect("an address"),
        address: "10.0.0.77".parse().expect("an address"),
        port: 4_739,
    };
    assert!(has(&|it| *it == Program::Collector(collector.clone())));
    let green = Drops { min_octets: 3_000, max_octets: 9_000, permille: 100 };
    let wred = [green, green, Drops { min_octets: 0, max_octets: 0, permille: 1_000 }];
    assert!(has(&|it| matches!(it, Program::Scheduler(it) if it.queues[0].wred == Some(wred))));
}

#[test]
fn classes_that_cannot_be_are_refused_with_their_hint() {
    let text = EDGE
        .replace("policer_in", "sample_one_in = 5\nmacs_max = 3\nmarking = \"cor\"\npolicer_in")
        + r#"
[[marking]]
name = "core"
dscp_in = [{ dscp = [64], class = 8 }]
priority_out = [{ class = [], priority = 8 }]
[[scheduler]]
port = "ge0"
queue = [{ name = "q", wred = { green = { min_octets = 9, max_octets = 8, permille = 1001 } } },
  { name = "r", parent = "q", class = 1 }]
"#;
    assert_eq!(
        issues(&text),
        [
            "interface[1].marking: there is no marking `cor` (did you mean `core`?)",
            "interface[1].sample_one_in: nobody is told of samples (add `collector`)",
            "interface[1].macs_max: the interface is in no bridge domain (name it in the \
             `interfaces` of one)",
            "scheduler[0].queue[0].wred: packets wait in the queues below (say it of those)",
            "scheduler[0].queue[0].wred.green: all are dropped before the first is (use \
             min_octets up to max_octets)",
            "scheduler[0].queue[0].wred.green.permille: more than all (use 1000 or fewer)",
            "marking[0].dscp_in[0]: its list is out of range (use 0 to 63)",
            "marking[0].dscp_in[0]: 8 is out of range (use 0 to 7)",
            "marking[0].priority_out[0]: a row of nothing (name one or more)",
            "marking[0].priority_out[0]: 8 is out of range (use 0 to 7)",
        ]
    );
    let text = EDGE.replace(
        "name = \"lan\"",
        "name = \"lan\"\nstation = [{ mac = \"02:00:00:00:00:09\", \
        interface = \"ge0\" }]",
    ) + "[collector]\naddress = \"2001:db8::9\"\nvrf = \"red\"\n";
    assert_eq!(
        issues(&text),
        [
            "collector.source: no interface of that table has such an address (name an own \
             address)",
            "bridge[0].station[0].interface: there is no member `ge0` (there are: ge1.9)",
        ]
    );
}

#[test]
fn an_interface_advertises_its_subnets_or_what_it_is_told_to() {
    let own = "addresses = [\"10.0.0.1/24\", \"2001:db8::1/64\"]";
    let text = EDGE.replace(own, &(own.to_owned() + "\nadvertise = { interval_s = 30 }"));
    let desired = compiled(&text, &mut Numbers::default());
    let found = things(&desired, |it| match it {
        Program::Advertisement(it) => Some(it.clone()),
        _ => None,
    });
    let [said] = &found[..] else { panic!("{found:?}") };
    let times = (said.interval_min_s, said.interval_max_s, said.lifetime_s);
    assert_eq!((times, said.interface), ((10, 30, 90), 1));
    let [subnet] = &said.prefixes[..] else { panic!("{said:?}") };
    assert_eq!((subnet.prefix.to_string(), subnet.length), ("2001:db8::".to_owned(), 64));
    assert!(subnet.autonomous && subnet.on_link);
    let wrong = "addresses = [\"10.0.0.1/24\"]\nadvertise = { interval_s = 3, lifetime_s = 9001, \
                 mtu = 1279, prefix = [{ prefix = \"2001:db8::/56\", autonomous = true, \
                 preferred_s = 9, valid_s = 8 }, { prefix = \"10.0.0.0/8\" }] }";
    assert_eq!(
        issues(&EDGE.replace(own, wrong)),
        [
            "interface[0].advertise: an interface without an IPv6 address has nothing to speak \
             from (add one to `addresses`)",
            "interface[0].advertise.interval_s: 3 is out of range (use 4 to 1800)",
            "interface[0].advertise.lifetime_s: 9001 is out of range (use 0, or 3 to 9000)",
            "interface[0].advertise.mtu: less than every IPv6 link has (use 1280 or more)",
            "interface[0].advertise.prefix[0].autonomous: hosts make addresses of prefixes of 64 \
             bits only (remove it)",
            "interface[0].advertise.prefix[0].preferred_s: preferred longer than valid (use 8 or \
             less)",
            "interface[0].advertise.prefix[1].prefix: hosts hear of IPv6 prefixes only (write \
             `2001:db8::/64`)",
        ]
    );
}

#[test]
fn an_interface_is_the_routed_side_of_a_bridge_domain_or_of_a_port() {
    let side = "[[interface]]\nname = \"irb\"\nbridge = \"lan\"\nmac = \"02:00:00:00:00:01\"\n\
                vrf = \"red\"\naddresses = [\"10.5.0.1/24\"]\n";
    let desired = compiled(&(EDGE.to_owned() + side), &mut Numbers::default());
    let found = things(&desired, |it| match it {
        Program::Interface(it) if it.port == NO_PORT => Some(it.clone()),
        _ => None,
    });
    let [irb] = &found[..] else { panic!("{found:?}") };
    assert_eq!(irb.mode, Mode::BridgeRouted { bridge: 1, vrf: 1 });
    assert_eq!(irb.mac, Some([2, 0, 0, 0, 0, 1]));
    let renamed = compiled(&(EDGE.to_owned() + &side.replace("irb", "other")), &mut {
        let mut numbers = Numbers::default();
        compiled(&(EDGE.to_owned() + side), &mut numbers);
        numbers
    });
    let changes = desired.changes(&renamed);
    let gone = changes.iter().position(|it| *it == Program::Remove(Removed::Interface(irb.index)));
    let new = changes.iter().position(|it| matches!(it, Program::Interface(_)));
    assert!(gone.is_some() && gone < new, "one routed side at a time: {changes:?}");
    let wrong = "[[interface]]\nname = \"irb2\"\nbridge = \"lan\"\nport = \"ge0\"\n";
    assert_eq!(
        issues(&(EDGE.to_owned() + side + wrong)),
        [
            "interface[5].bridge: `irb` is the routed side of it already ()",
            "interface[5].port: the routed side of a bridge domain has none (remove it)",
            "interface[5]: there is no device that it could take a MAC address from (add `mac`, \
             one of your own: `02:…`)",
        ]
    );
}

const FILTERS: &str = r#"
name = "pe1"
[[port]]
name = "ge0"
driver = "af_xdp"
[[port]]
name = "ge1"
driver = "af_xdp"
[[interface]]
name = "ge0"
addresses = ["10.0.0.1/24"]
filter_in = ["aside"]
policer_in = "all"
class_policer_in = [{ class = 5, policer = "voice" }]
[[interface]]
name = "ge1"
filter_in = ["frames"]
[[bridge]]
name = "lan"
interfaces = ["ge1"]
[[policer]]
name = "all"
committed_kbps = 8
committed_burst = 3000
[[policer]]
name = "voice"
committed_kbps = 16
committed_burst = 3000
[[filter]]
name = "aside"
rule = [
  { action = "redirect", via = { gateway = "10.0.0.9" }, protocol = "tcp" },
  { action = "permit" },
]
[[filter]]
name = "frames"
ethernet = true
rule = [
  { action = "deny", source_mac = "02:00:5e:00:00:00/24", ethertypes = ["arp", "0x88cc"] },
  { action = "class 5", vlans = ["0", "100-199"], priority = 5 },
]
"#;

#[test]
fn filters_of_frames_redirection_and_policers_of_classes_are_told() {
    let desired = compiled(FILTERS, &mut Numbers::default());
    let filters = things(&desired, |it| match it {
        Program::Filter(filter) => Some(filter.clone()),
        _ => None,
    });
    let [aside, frames] = &filters[..] else { panic!("two filters") };
    let Verdict::Redirect(id) = aside.rules[0].verdict else { panic!("{aside:?}") };
    let gateway = Some("10.0.0.9".parse().expect("an address"));
    let hop = Program::Hop { id, hop: Hop::Via { interface: 1, gateway, labels: vec![] } };
    assert!(desired.things.values().any(|it| *it == hop));
    assert_eq!((aside.family, frames.family), (Family::Ip4, Family::Ethernet));
    let [deny, class] = [&frames.rules[0].matches, &frames.rules[1].matches];
    assert_eq!(deny.macs, [Some(([2, 0, 0x5e, 0, 0, 0], 24)), None]);
    assert_eq!(deny.ethertypes, [0x0806, 0x88cc]);
    assert_eq!(
        (&class.destination_ports[..], &class.dscp[..]),
        (&[(0, 0), (100, 199)][..], &[5][..])
    );
    let policers = things(&desired, |it| match it {
        Program::PolicerUse(used) => Some((used.class, used.policer)),
        _ => None,
    });
    assert_eq!(policers, [(None, 1), (Some(5), 2)]);
}

#[test]
fn mistakes_in_filters_are_named() {
    let mistakes = [
        ("ethertypes = [\"arp\"", "ethertypes = [\"arb\"", "no such EtherType"),
        ("00/24\"", "00/49\"", "no MAC address"),
        ("100-199", "100-5000", "`100-5000` is no range of VLANs"),
        ("priority = 5", "priority = 8", "priorities are 0 to 7"),
        ("priority = 5", "dscp = 5", "the filter is of frames"),
        ("protocol = \"tcp\"", "priority = 5", "the filter is of packets, not of frames"),
        ("\"redirect\"", "\"permit\"", "nothing is redirected"),
        ("via = { gateway = \"10.0.0.9\" }, ", "", "there is no way"),
        ("10.0.0.9", "10.7.0.9", "10.7.0.9 is in no subnet of an interface"),
        ("\"deny\",", "\"redirect\", via = { interface = \"ge0\" },", "frames are not routed"),
        ("\"class 5\"", "\"mark 5\"", "frames have no code point"),
        (
            "[\"aside\"]",
            "[\"aside\", \"frames\"]",
            "no frames of a bridge or a cross-connect pass here",
        ),
        ("class = 5", "class = 8", "classes are 0 to 7"),
        ("policer = \"voice\" }", "policer = \"voce\" }", "there is no policer `voce`"),
        (
            "5, policer",
            "5, policer = \"all\" }, { class = 5, policer",
            "the class has a policer already",
        ),
        (
            "filter_in = [\"aside\"]",
            "filter_out = [\"aside\"]",
            "packets that leave are not redirected any more",
        ),
        (
            "ethernet = true",
            "ethernet = true\nipv6 = true",
            "a filter is of frames or of IPv6 packets",
        ),
    ];
    for (right, wrong, what) in mistakes {
        let text = FILTERS.replacen(right, wrong, 1);
        assert_ne!(text, FILTERS, "{right}");
        let pe: Pe = toml::from_str(&text).expect("a section");
        let mut issues = Vec::new();
        pe.validate(&mut issues);
        assert_eq!(issues.iter().map(|it| &it.what[..]).collect::<Vec<_>>(), [what], "{wrong}");
    }
}

#[test]
fn protocols_of_links_go_up_by_the_interfaces_alone_that_speak_them() {
    let text = r#"
name = "pe1"
port = [
  { name = "core", driver = "af_packet" },
  { name = "side", driver = "af_packet" },
  { name = "lan", driver = "af_packet" },
]
interface = [
  { name = "core", addresses = ["192.0.2.1/30"] },
  { name = "side", addresses = ["192.0.2.5/30"] },
  { name = "lan", addresses = ["10.1.0.1/24"] },
]
[ospf]
router_id = "192.0.2.1"
[[ospf.area]]
id = "0.0.0.0"
interface = [{ name = "core", bfd = {} }, { name = "lan", passive = true }]
[isis]
net = "49.0001.1921.6800.2001.00"
interface = [{ name = "side" }, { name = "lan", passive = true }]
[ldp]
router_id = "192.0.2.1"
interface = [{ name = "core" }]
"#;
    let spoken = things(&compiled(text, &mut Numbers::default()), |it| match it {
        Program::Interface(it) => Some(it.speaks.clone()),
        _ => None,
    });
    let core = vec![Class::Ospf, Class::Ldp, Class::Bfd];
    assert_eq!(spoken, [core, vec![Class::Isis], vec![]]);
}

#[test]
fn repairs_by_tunnels_of_ldp_need_it() {
    let text = r#"
name = "pe1"
port = [{ name = "core", driver = "af_packet" }]
interface = [{ name = "core", addresses = ["192.0.2.1/30"] }]
[ospf]
router_id = "192.0.2.1"
repair = "remote-lfa"
"#;
    assert_eq!(
        issues(text),
        ["ospf.repair: `remote-lfa` goes by tunnels of LDP, which is not spoken \
          (add `[pe.ldp]`, or use `lfa`)"]
    );
    let spoken = format!("{text}[ldp]\nrouter_id = \"192.0.2.1\"\n");
    assert_eq!(issues(&spoken), Vec::<String>::new());
}

#[test]
fn routes_with_labels_are_for_internal_peers_whose_next_hops_stay() {
    let of = |keys: &str| {
        let text = format!(
            "name = \"pe1\"\nport = [{{ name = \"core\", driver = \"af_packet\" }}]\n\
             interface = [{{ name = \"core\", addresses = [\"192.0.2.1/30\"] }}]\n\
             [bgp]\nasn = 65000\nidentifier = \"192.0.2.1\"\n\
             [[bgp.group]]\nname = \"edges\"\nfamilies = [\"vpnv4\", \"vpnv6\"]\n\
             [[bgp.peer]]\nname = \"west\"\naddress = \"192.0.2.2\"\ngroup = \"edges\"\n{keys}"
        );
        issues(&text)
    };
    assert_eq!(of(""), Vec::<String>::new());
    let refused =
        ["bgp.peer[0].families: routes with labels would be told on with this router as \
                    next hop, and the label of another one (tell them to internal peers alone, \
                    without `next_hop_self`)"];
    assert_eq!(of("asn = 65001\ndefault_policy = \"accept\"\n"), refused);
    assert_eq!(of("next_hop_self = true\n"), refused);
    assert_eq!(of("asn = 65001\nfamilies = [\"ipv4-unicast\"]\n"), Vec::<String>::new());
}

/// An edge whose core is `core`, with a customer's table.
fn labelled(first: &str, core: &str, customer: &str, more: &str) -> String {
    format!(
        "name = \"pe1\"\n{first}\nport = [{{ name = \"core\", driver = \"af_packet\" }}, \
         {{ name = \"lan\", driver = \"af_packet\" }}]\n\
         interface = [{{ name = \"core\", addresses = [\"192.0.2.1/30\"], {core} }},
         {{ name = \"lan\", addresses = [\"10.1.0.1/24\"], vrf = \"red\", {customer} }}]\n\
         vrf = [{{ name = \"red\", label = 100 }}]\n{more}"
    )
}

#[test]
fn every_label_has_one_giver_and_is_one_of_this_router() {
    let more = "label = [{ label = 100_500, pop = true }]\n[ldp]\nrouter_id = \"192.0.2.1\"\n\
                [bgp]\nasn = 65000\nidentifier = \"192.0.2.1\"\nvpn_labels = [150_000, 260_000]\n";
    assert_eq!(
        issues(&labelled("labels = [150, 250_000]", "mpls = true", "mpls = false", more)),
        [
            "vrf[0].label: 100 is out of range (use 150 to 250000)",
            "ldp.labels: label 100500 is that of `label[0].label` already (give others)",
            "bgp.vpn_labels: 150000 to 260000 is out of range (use 150 to 250000)",
        ]
    );
    let more = "label = [{ label = 100, pop = true }]\n[ldp]\nrouter_id = \"192.0.2.1\"\n\
                [bgp]\nasn = 65000\nidentifier = \"192.0.2.1\"\nvpn_labels = [199_999, 260_000]\n";
    assert_eq!(
        issues(&labelled("", "mpls = true", "mpls = false", more)),
        [
            "label[0].label: label 100 is that of `vrf[0].label` already ()",
            "bgp.vpn_labels: label 199999 is that of `ldp.labels` already (give others)",
        ]
    );
    let none = labelled("labels = [7, 9]", "mpls = true", "mpls = false", "");
    assert_eq!(issues(&none), ["labels: 7 to 9 are no labels to give (use 16 to 1048575)"]);
}

#[test]
fn vpns_without_an_interface_that_takes_labels_are_advised_of() {
    let section = |core: &str, more: &str, rd: &str, families: &str| {
        let text = format!(
            "name = \"pe1\"\nport = [{{ name = \"core\", driver = \"af_packet\" }}]\n\
             interface = [{{ name = \"core\", addresses = [\"192.0.2.1/30\"]{core} }}]\n\
             [[vrf]]\nname = \"red\"\n{rd}\n{more}\n[bgp]\nasn = 65000\n\
             identifier = \"192.0.2.1\"\n[[bgp.peer]]\nname = \"far\"\n\
             address = \"192.0.2.2\"\nfamilies = [{families}]\n"
        );
        let pe: Pe = toml::from_str(&text).unwrap();
        pe.advice().into_iter().map(|it| it.path).collect::<Vec<String>>()
    };
    let rd = "rd = \"65000:1\"";
    assert_eq!(section("", "", rd, "\"vpnv4\""), ["interface[0].mpls"]);
    let elsewhere = section(", vrf = \"red\"", "", rd, "\"ipv4-unicast\", \"vpnv6\"");
    assert_eq!(elsewhere, ["bgp.peer[0].families"]);
    let ldp = "[ldp]\nrouter_id = \"192.0.2.1\"\ninterface = [{ name = \"core\" }]";
    for (core, more, rd, families) in [
        (", mpls = true", "", rd, "\"vpnv4\""),
        ("", ldp, rd, "\"vpnv4\""),
        ("", "", "", "\"vpnv4\""),
        ("", "", rd, "\"ipv4-unicast\""),
    ] {
        let said = section(core, more, rd, families);
        assert_eq!(said, Vec::<String>::new(), "{core} {more} {rd} {families}");
    }
}

#[test]
fn labels_of_services_come_by_interfaces_of_the_core_and_who_else_may_send_them_is_said() {
    let peer = "[bgp]\nasn = 65000\nidentifier = \"192.0.2.1\"\n[[bgp.peer]]\nname = \"west\"\n\
                address = \"192.0.2.2\"\nasn = ";
    let of = |core: &str, customer: &str, asn: u32| {
        let more = format!("{peer}{asn}\ndefault_policy = \"accept\"\n");
        let text = labelled("", core, customer, &more);
        assert_eq!(issues(&text), Vec::<String>::new());
        let pe: Pe = toml::from_str(&text).unwrap();
        let desired = compiled(&text, &mut Numbers::default());
        let transit = things(&desired, |it| match it {
            Program::Interface(it) => Some(it.mpls && it.transit_only),
            _ => None,
        });
        let said: Vec<String> = pe.advice().iter().map(|it| it.path.clone()).collect();
        (transit, said)
    };
    let said = |paths: &[&str]| paths.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(of("mpls = true", "mpls = true", 65_000), (vec![false, true], said(&[])));
    assert_eq!(
        of("mpls = true", "mpls = true, core = true", 65_001),
        (vec![false, false], said(&["interface[0].mpls", "interface[1].core"]))
    );
    assert_eq!(
        of("mpls = true, core = false", "mpls = false", 65_001),
        (vec![true, false], said(&[]))
    );
}
