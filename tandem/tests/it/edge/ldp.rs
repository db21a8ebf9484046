//! Edges that speak LDP: with FRR's ldpd, whose bindings are the same as seen from both sides, and
//! with each other, a ping through a label-switched path of three. FRR must be there (Debian: frr),
//! and so must tshark.

use super::igp::{Capture as Kept, Peer, ZEBRA, awaited};
use super::services::Capture;
use super::{Scene, words};
use serde_json::Value;

const WITH_FRR: &str = r#"
[[pe]]
name = "pe1"
port = [{ name = "a", driver = "af_packet" }, { name = "b", driver = "af_packet" }]
[[pe.interface]]
name = "a"
addresses = ["10.1.0.1/24"]
[[pe.interface]]
name = "b"
addresses = ["10.2.0.1/24"]
[pe.ospf]
router_id = "10.1.0.1"
[[pe.ospf.area]]
id = "0.0.0.0"
[[pe.ospf.area.interface]]
name = "a"
network = "point-to-point"
hello_s = 1
dead_s = 5
[[pe.ospf.area.interface]]
name = "b"
passive = true
[pe.ldp]
router_id = "10.1.0.1"
hold_s = 5
gtsm = false                                 # FRR says it, and sends hellos with hop limit 1
[[pe.ldp.interface]]
name = "a"
"#;

const OSPFD: &str = "frr defaults datacenter
log stdout informational
interface eth0
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 5
interface lo
 ip ospf area 0
router ospf
 ospf router-id 10.9.1.1
";

const LDPD: &str = "frr defaults datacenter
log stdout informational
mpls ldp
 router-id 10.9.1.1
 discovery hello interval 1
 discovery hello holdtime 5
 address-family ipv4
  discovery transport-address 10.1.0.2
  interface eth0
  exit
 exit-address-family
exit
";

/// Bindings as FRR has them: prefix, its own label, the neighbour's.
fn frr_bindings(peer: &Peer) -> Vec<(String, String, String)> {
    let folder = peer.folder.display().to_string();
    let show = "show mpls ldp binding json";
    let shown = peer.host.run(&["vtysh", "--vty_socket", &folder, "-d", "ldpd", "-c", show]);
    let Ok(value) = serde_json::from_slice::<Value>(&shown.stdout) else { return Vec::new() };
    let rows = value["bindings"].as_array().cloned().unwrap_or_default();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = rows.iter();
    rows.map(|it| (text(it, "prefix"), text(it, "localLabel"), text(it, "remoteLabel"))).collect()
}

/// The same as the edge has them: ours of FRR's neighbour are its remote ones.
fn edge_bindings(scene: &Scene) -> Vec<(String, String, String)> {
    let rows = scene.rows(&["ldp", "bindings"]);
    let text = |it: &Value| it.as_str().unwrap_or("-").to_owned();
    let rows = rows.iter();
    rows.map(|it| {
        let remote = it["remote"].as_array().and_then(|all| all.first());
        let remote = remote.map_or("-".to_owned(), |it| text(&it["label"]));
        (text(&it["prefix"]), remote, text(&it["local"]))
    })
    .collect()
}

#[test]
fn an_edge_and_frr_have_a_session_and_see_the_same_bindings() {
    let mut scene = Scene::new();
    let peer = Peer::new(&scene, "a", &["10.1.0.2/24"], &["10.9.1.1/32", "10.9.1.2/32"]);
    let host = scene.host("b", &["10.2.0.2/24"], &["10.2.0.1"]);
    let kept = Kept::filtered(&peer, "port 646");
    scene.start(WITH_FRR);
    let peer = peer.daemons(&[("zebra", ZEBRA), ("ospfd", OSPFD), ("ldpd", LDPD)]);
    let state = || {
        let rows = scene.rows(&["ldp", "neighbours"]);
        rows.first().map(|it| it["state"].as_str().unwrap_or_default().to_owned())
    };
    awaited("the session", || state().as_deref() == Some("Operational"));
    let told = |prefix: &str| edge_bindings(&scene).iter().any(|it| it.0 == prefix && it.1 != "-");
    awaited("FRR's labels", || told("10.9.1.1/32") && told("10.9.1.2/32"));
    awaited("the same bindings on both sides", || {
        let mut ours = edge_bindings(&scene);
        let mut theirs = frr_bindings(&peer);
        theirs.retain(|it| !it.0.contains(':'));
        ours.sort();
        theirs.sort();
        let is_same = ours.len() >= 4 && ours == theirs;
        if !is_same {
            eprintln!("ours {ours:?}\ntheirs {theirs:?}");
        }
        is_same
    });
    // FRR is the last router to its own addresses: packets leave without a label, as it wants them.
    host.reaches("10.9.1.1");
    let row = scene.rows(&["ldp"]).remove(0);
    assert_eq!((&row["sessions"], &row["door_open"]), (&1.into(), &true.into()), "{row}");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
    // The neighbour goes: an alarm, and its labels with it.
    peer.host.namespace.ip(&["link", "set", "eth0", "down"]).unwrap();
    awaited("the loss", || !told("10.9.1.1/32"));
    awaited("the alarm", || scene.ctl(&["alarms"]).contains("ldp-session-lost"));
    // Initialization, keepalives, addresses, labels: tshark reads them without a complaint. Of
    // hellos it notes that they say no GTSM.
    kept.has(
        "ip.src == 10.1.0.1 && ldp && tcp",
        "ldp.msg.type",
        &["0x0200", "0x0201", "0x0300", "0x0400"],
    );
}

/// Three edges in a row, a customer at each end.
fn row() -> String {
    let edge = |name: &str, ports: &[(&str, &str, bool)], own: &str| {
        let mut text = format!("[[pe]]\nname = \"{name}\"\n");
        for (port, address, _) in ports {
            text +=
                &format!("[[pe.port]]\nname = \"{port}\"\ndriver = \"af_packet\"\nmtu = 1550\n");
            text += &format!("[[pe.interface]]\nname = \"{port}\"\naddresses = [\"{address}\"]\n");
        }
        text += &format!(
            "[pe.ospf]\nrouter_id = \"{own}\"\nrestart_s = 10\n[[pe.ospf.area]]\nid = \"0.0.0.0\"\n"
        );
        for (port, _, is_core) in ports {
            let more = if *is_core {
                "network = \"point-to-point\"\nhello_s = 1\ndead_s = 5"
            } else {
                "passive = true"
            };
            text += &format!("[[pe.ospf.area.interface]]\nname = \"{port}\"\n{more}\n");
        }
        text += &format!("[pe.ldp]\nrouter_id = \"{own}\"\nhold_s = 5\nigp_sync = true\n");
        for (port, ..) in ports.iter().filter(|it| it.2) {
            text += &format!("[[pe.ldp.interface]]\nname = \"{port}\"\n");
        }
        text
    };
    edge("pe1", &[("a", "10.1.0.1/24", false), ("one", "192.0.2.1/30", true)], "192.0.2.1")
        + &edge(
            "pe2",
            &[("two", "192.0.2.2/30", true), ("three", "192.0.2.5/30", true)],
            "192.0.2.2",
        )
        + &edge("pe3", &[("four", "192.0.2.6/30", true), ("b", "10.2.0.1/24", false)], "192.0.2.6")
}

/// The label of a next router that packets within a prefix leave an edge with.
pub fn used(scene: &Scene, pe: &str, within: &str) -> Option<String> {
    let rows = scene.rows(&["ldp", "bindings", pe, "--within", within]);
    let remote = rows.first()?["remote"].as_array()?.clone();
    let used = remote.into_iter().find(|it| it["in_use"] == true)?;
    Some(used["label"].as_str()?.to_owned())
}

#[test]
fn a_ping_goes_through_a_label_switched_path_of_three_edges() {
    let mut scene = Scene::new();
    scene.wire("one", "two");
    scene.wire("three", "four");
    for device in ["one", "two", "three", "four"] {
        scene.router.ip(&["link", "set", "dev", device, "mtu", "1600"]).unwrap();
    }
    let a = scene.host("a", &["10.1.0.2/24"], &["10.1.0.1"]);
    let b = scene.host("b", &["10.2.0.2/24"], &["10.2.0.1"]);
    let captures = ["two", "four", "one"].map(|device| Capture::start(&scene, device));
    scene.start(&row());
    awaited("labels to b", || used(&scene, "pe2", "10.2.0.0/24").as_deref() == Some("imp-null"));
    awaited("labels to b at pe1", || {
        used(&scene, "pe1", "10.2.0.0/24").is_some_and(|it| it != "imp-null")
    });
    awaited("labels to a at pe3", || {
        used(&scene, "pe3", "10.1.0.0/24").is_some_and(|it| it != "imp-null")
    });
    a.reaches("10.2.0.2");
    let (reached, said) = b.ping(&["-c", "20"], "10.1.0.2");
    assert!(reached && said.contains(" 0% packet loss"), "{said}");
    // pe1 pushes what pe2 told, pe2 takes it off for pe3: one label on one link, none on the other.
    let label = used(&scene, "pe1", "10.2.0.0/24").unwrap();
    let echo = "icmp.type == 8 && ip.dst == 10.2.0.2";
    let [on_two, on_four, on_one] = captures;
    let pushed = on_two.sees(&[], &format!("mpls && {echo}"), &["mpls.label", "mpls.bottom"]);
    assert_eq!(pushed[0], label, "{pushed:?}");
    on_four.sees(&[], &format!("!mpls && {echo}"), &["ip.ttl"]);
    // And back: from pe3 by pe2, which takes it off for pe1.
    on_one.sees(&[], "!mpls && icmp.type == 8 && ip.dst == 10.1.0.2", &["ip.ttl"]);
    // Labels do not hide hops: a trace shows all three.
    let steps = a.run(&["traceroute", "-n", "-q", "1", "-N", "1", "-m", "6", "10.2.0.2"]);
    let steps = words(&steps.stdout);
    assert!(steps.contains("10.1.0.1") && steps.contains("10.2.0.2"), "{steps}");
    for pe in ["pe1", "pe2", "pe3"] {
        let refused = scene.rows(&["plane", "refusals", pe]);
        assert_eq!(refused, Vec::<Value>::new(), "{pe}");
    }
    // A control that dies: packets go on, by labels or without, and labels come back.
    scene.kill();
    let (reached, said) = a.ping(&["-c", "20"], "10.2.0.2");
    assert!(reached && said.contains(" 0% packet loss"), "{said}");
    scene.start_again();
    awaited("labels again", || {
        used(&scene, "pe1", "10.2.0.0/24").is_some_and(|it| it != "imp-null")
    });
    assert_ne!(used(&scene, "pe1", "10.2.0.0/24"), Some(label), "of the other half");
    a.reaches("10.2.0.2");
}
