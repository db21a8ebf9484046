//! VPNs over labels of LDP: two edges whose customers have the same addresses, a router between
//! them that knows neither, and packets behind two labels.
//!
//! ```text
//!   red, blue ── pe1 ══ labels ══ p ══ labels ══ pe3 ── red, blue
//!                 └──────── BGP, loopbacks ───────┘
//! ```

use super::igp::{Peer, ZEBRA, awaited};
use super::ldp::used;
use super::services::Capture;
use super::{Host, Scene, words};
use serde_json::Value;
use std::fs;

/// An edge, or what is between them: its number, and the ports of its core.
fn router(name: &str, number: u32, core: &[(&str, &str)], more: &str) -> String {
    let own = format!("10.255.0.{number}");
    let mut text = format!("[[pe]]\nname = \"{name}\"\n");
    let mut area = format!(
        "[pe.ospf]\nrouter_id = \"{own}\"\n[[pe.ospf.area]]\nid = \"0.0.0.0\"\n\
         [[pe.ospf.area.interface]]\nname = \"lo{number}\"\npassive = true\n"
    );
    let mut ldp = format!("[pe.ldp]\nrouter_id = \"{own}\"\nhold_s = 5\n");
    let loopback = (&*format!("lo{number}"), &*format!("{own}/32"));
    for (port, address) in core.iter().copied().chain([loopback]) {
        text += &format!("[[pe.port]]\nname = \"{port}\"\ndriver = \"af_packet\"\nmtu = 1550\n");
        text += &format!("[[pe.interface]]\nname = \"{port}\"\naddresses = [\"{address}\"]\n");
    }
    for (port, _) in core {
        area += &format!(
            "[[pe.ospf.area.interface]]\nname = \"{port}\"\nnetwork = \"point-to-point\"\n\
             hello_s = 1\ndead_s = 5\n"
        );
        ldp += &format!("[[pe.ldp.interface]]\nname = \"{port}\"\n");
    }
    text + more + &area + &ldp
}

/// An edge with two customers, whose tables another edge has too.
fn edge(name: &str, number: u32, other: u32, core: (&str, &str), customers: [&str; 2]) -> String {
    let mut more = String::new();
    for (port, vrf) in customers.iter().zip(["red", "blue"]) {
        more += &format!(
            "[[pe.port]]\nname = \"{port}\"\ndriver = \"af_packet\"\n[[pe.interface]]\n\
             name = \"{port}\"\naddresses = [\"10.{number}.0.1/24\", \
             \"2001:db8:{number}::1/64\"]\nvrf = \"{vrf}\"\n"
        );
    }
    for (vrf, target) in [("red", 1), ("blue", 2)] {
        more += &format!(
            "[[pe.vrf]]\nname = \"{vrf}\"\nrd = \"10.255.0.{number}:{target}\"\n\
             import_targets = [\"65000:{target}\"]\nexport_targets = [\"65000:{target}\"]\n"
        );
    }
    more += &format!(
        "[pe.bgp]\nasn = 65000\nidentifier = \"10.255.0.{number}\"\n[[pe.bgp.peer]]\n\
         name = \"pe{other}\"\naddress = \"10.255.0.{other}\"\nconnect_retry_s = 2\n\
         families = [\"vpnv4\", \"vpnv6\"]\n"
    );
    router(name, number, &[core], &more)
}

fn edges() -> String {
    edge("pe1", 1, 3, ("one", "192.0.2.1/30"), ["ra", "ba"])
        + &edge("pe3", 3, 1, ("four", "192.0.2.6/30"), ["rb", "bb"])
}

fn wired(scene: &Scene) {
    for number in 1..=3 {
        scene.wire(&format!("lo{number}"), &format!("lx{number}"));
    }
    scene.wire("one", "two");
    scene.wire("three", "four");
    for device in ["one", "two", "three", "four"] {
        scene.router.ip(&["link", "set", "dev", device, "mtu", "1600"]).unwrap();
    }
}

/// Red and blue at one edge; each has one more address that the other has not.
fn customers(scene: &Scene, number: u32, ports: [&str; 2]) -> [Host; 2] {
    let host = |device: &str, more: u32| {
        let own = [
            format!("10.{number}.0.2/24"),
            format!("2001:db8:{number}::2/64"),
            format!("10.{number}.0.{more}/24"),
        ];
        let gateways = [format!("10.{number}.0.1"), format!("2001:db8:{number}::1")];
        let [own, gateways] = [&own[..], &gateways[..]].map(|it| it.iter().map(String::as_str));
        scene.host(device, &own.collect::<Vec<_>>(), &gateways.collect::<Vec<_>>())
    };
    [host(ports[0], 8), host(ports[1], 9)]
}

/// Both tables of both edges have the other's routes, of both families.
fn awaits_routes(scene: &Scene) {
    for pe in ["pe1", "pe3"] {
        awaited("routes of VPNs", || {
            let rows = scene.rows(&["bgp", "fib", pe]);
            let used = |it: &&Value| it["in_use"] == true && !it["vrf"].is_null();
            let is_there = rows.iter().filter(used).count() == 4;
            if !is_there {
                eprintln!("{pe} {rows:?} {:?}", scene.rows(&["bgp", "next-hops", pe]));
            }
            is_there
        });
    }
}

/// Each reaches its own, of both families, and nobody else's.
fn reach_their_own([red, blue]: &[Host; 2]) {
    red.reaches("10.3.0.2");
    red.reaches("2001:db8:3::2");
    red.reaches("10.3.0.8");
    blue.reaches("10.3.0.9");
    for (from, to) in [(red, "10.3.0.9"), (blue, "10.3.0.8")] {
        assert!(!from.ping(&["-c", "2", "-W", "1"], to).0, "{to}");
    }
}

/// The label of a table of pe3, as pe1 has it.
fn vpn_label(scene: &Scene) -> String {
    let rows = scene.rows(&["bgp", "fib", "pe1", "--within", "10.3.0.0/24"]);
    let row = rows.iter().find(|it| it["vrf"] == "red").unwrap();
    row["label"].as_u64().unwrap().to_string()
}

#[test]
fn customers_reach_their_own_over_a_router_between_that_knows_labels_alone() {
    let mut scene = Scene::new();
    wired(&scene);
    let near = customers(&scene, 1, ["ra", "ba"]);
    let _far = customers(&scene, 3, ["rb", "bb"]);
    let captures = ["two", "four", "one"].map(|device| Capture::start(&scene, device));
    let between = [("two", "192.0.2.2/30"), ("three", "192.0.2.5/30")];
    scene.start(&(edges() + &router("p", 2, &between, "")));
    awaits_routes(&scene);
    reach_their_own(&near);
    // Two labels as far as the router between them, which takes off its own: one from there.
    let label = vpn_label(&scene);
    let [on_two, on_four, on_one] = captures;
    let echo = "icmp.type == 8 && ip.dst == 10.3.0.8";
    let fields = ["mpls.label", "mpls.bottom"];
    let seen = on_two.sees(&[], &format!("mpls && {echo}"), &fields);
    let (outer, inner) = seen[0].split_once(',').expect("two labels");
    assert!(inner == label && outer != label, "{seen:?}");
    let seen = on_four.sees(&[], &format!("mpls && {echo}"), &fields);
    assert_eq!(seen[0], label, "{seen:?}");
    paths_of_labels(&scene);
    // tshark reads requests and replies; that the first go no further than their labels, it notes.
    let fields = ["mpls_echo.tlv.fec.ldp_ipv4", "_ws.malformed", "_ws.expert.message"];
    let request = on_two.sees(&[], "mpls && mpls_echo.msg_type == 1", &fields);
    assert_eq!(request[..2], ["10.255.0.3", ""], "{request:?}");
    assert!(request[2].is_empty() || request[2] == "\"Time To Live\" only 1", "{request:?}");
    let fields = ["mpls_echo.return_code", "_ws.malformed", "_ws.expert.message"];
    let reply = on_one.sees(&[], "mpls_echo.msg_type == 2 && ip.src == 10.255.0.3", &fields);
    assert_eq!(reply, ["3", "", ""]);
    for pe in ["pe1", "p", "pe3"] {
        assert_eq!(scene.rows(&["plane", "refusals", pe]), Vec::<Value>::new(), "{pe}");
    }
}

/// Ping and traceroute of the path to the other edge.
fn paths_of_labels(scene: &Scene) {
    let rows = scene.rows(&["lsp", "ping", "10.255.0.3", "pe1", "--count", "3"]);
    let said: Vec<_> = rows.iter().map(|it| (&it["from"], &it["said"])).collect();
    assert_eq!(said, [(&"10.255.0.3".into(), &"egress".into()); 3], "{rows:?}");
    let rows = scene.rows(&["lsp", "trace", "10.255.0.3", "pe1"]);
    let said = |row: &Value| format!("{} {} {}", row["hops"], row["from"], row["said"]);
    let said: Vec<String> = rows.iter().map(said).collect();
    let wanted = ["1 \"10.255.0.2\" \"label switched\"", "2 \"10.255.0.3\" \"egress\""];
    assert_eq!(said, wanted);
    let rows = scene.rows(&["label", "space", "pe1"]);
    let given = |giver: &str| rows.iter().find(|it| it["giver"] == giver).map(|it| &it["given"]);
    assert_eq!(given("vpn"), Some(&2.into()), "{rows:?}");
    let label = scene.rows(&["ldp", "bindings", "pe1", "--within", "10.255.0.3/32"]);
    let label = label[0]["local"].as_str().unwrap().to_owned();
    let rows = scene.rows(&["label", "given", "pe1", "--label", &label]);
    assert_eq!((&rows[0]["giver"], &rows[0]["of"]), (&"ldp".into(), &"10.255.0.3/32".into()));
}

const OSPFD: &str = "frr defaults datacenter
log stdout informational
interface eth0
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 5
interface eth1
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 5
interface lo
 ip ospf area 0
router ospf
 ospf router-id 10.255.0.2
";

const LDPD: &str = "frr defaults datacenter
log stdout informational
mpls ldp
 router-id 10.255.0.2
 discovery hello interval 1
 discovery hello holdtime 5
 address-family ipv4
  discovery transport-address 10.255.0.2
  interface eth0
  exit
  interface eth1
  exit
 exit-address-family
exit
";

/// What FRR's kernel would do if it had labels: takes off the outermost one, and sends what is
/// below to whoever is behind it, as it was told: `label,device,address`.
const FORWARDER: &str = "import select, socket, struct, sys
table = {}
for word in sys.argv[1:]:
    label, device, address = word.split(',')
    table[int(label)] = (device, bytes.fromhex(address.replace(':', '')))
links = {}
for device in ('eth0', 'eth1'):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x8847))
    link.bind((device, 0x8847))
    links[device] = link
while True:
    for link in select.select(list(links.values()), [], [])[0]:
        frame = link.recv(4096)
        entry, = struct.unpack('!I', frame[14:18])
        if entry >> 12 not in table or entry & 255 < 2:
            continue
        device, to = table[entry >> 12]
        kind = b'\\x08\\x00' if entry & 256 else b'\\x88\\x47'
        own = links[device].getsockname()[4]
        links[device].send(to + own + kind + frame[18:])
";

/// FRR between the edges, with `eth0` towards pe1 and `eth1` towards pe3.
fn frr_between(scene: &Scene) -> Peer {
    let peer = Peer::new(scene, "one", &["192.0.2.2/30"], &["10.255.0.2/32"]);
    let name = peer.host.namespace.name();
    let second = ["link", "add", "name", "four", "type", "veth", "peer", "name", "eth1", "netns"];
    scene.router.ip(&[&second[..], &[name]].concat()).unwrap();
    scene.router.ip(&["link", "set", "dev", "four", "up"]).unwrap();
    peer.host.namespace.ip(&["link", "set", "eth1", "up"]).unwrap();
    peer.host.namespace.ip(&["address", "add", "192.0.2.5/30", "dev", "eth1"]).unwrap();
    for device in ["one", "four"] {
        scene.router.ip(&["link", "set", "dev", device, "mtu", "1600"]).unwrap();
    }
    for device in ["eth0", "eth1"] {
        peer.host.namespace.ip(&["link", "set", device, "mtu", "1550"]).unwrap();
    }
    peer
}

/// A label, the device that it leads to, and who is there.
fn way(peer: &Peer, label: &str, device: &str, neighbour: &str) -> String {
    let mut found = String::new();
    awaited("the neighbour", || {
        let said = peer.host.run(&["ip", "neighbour", "show", neighbour, "dev", device]);
        let said = words(&said.stdout);
        found = said.split("lladdr ").nth(1).unwrap_or("").split(' ').next().unwrap().to_owned();
        !found.is_empty()
    });
    format!("{label},{device},{found}")
}

#[test]
fn frr_tells_the_labels_between_two_edges_and_customers_reach_their_own_over_them() {
    let mut scene = Scene::new();
    for number in [1, 3] {
        scene.wire(&format!("lo{number}"), &format!("lx{number}"));
    }
    let mut peer = frr_between(&scene);
    let near = customers(&scene, 1, ["ra", "ba"]);
    let _far = customers(&scene, 3, ["rb", "bb"]);
    let on_four = Capture::inside(&scene, &peer.host.namespace, "eth1");
    // FRR says that it wants near packets, and sends hellos with a hop limit of 1.
    scene.start(&edges().replace("hold_s = 5\n", "hold_s = 5\ngtsm = false\n"));
    peer = peer.daemons(&[("zebra", ZEBRA), ("ospfd", OSPFD), ("ldpd", LDPD)]);
    let label = |pe: &str, to: &str| {
        let mut found = None;
        awaited("FRR's labels", || {
            found = used(&scene, pe, to).filter(|it| it != "imp-null");
            found.is_some()
        });
        found.unwrap()
    };
    let ways = [
        way(&peer, &label("pe1", "10.255.0.3/32"), "eth1", "192.0.2.6"),
        way(&peer, &label("pe3", "10.255.0.1/32"), "eth0", "192.0.2.1"),
    ];
    fs::write(peer.folder.join("forward.py"), FORWARDER).unwrap();
    peer.start("/usr/bin/python3", &["forward.py", &ways[0], &ways[1]]);
    awaits_routes(&scene);
    reach_their_own(&near);
    let label = vpn_label(&scene);
    let echo = "mpls && icmp.type == 8 && ip.dst == 10.3.0.8";
    assert_eq!(on_four.sees(&[], echo, &["mpls.label"])[0], label);
}
