//! Edges that speak BGP: sessions with FRR, BIRD, GoBGP and ExaBGP over links of the edge and
//! between loopbacks through OSPF, with passwords and TTL security, of both families; what they
//! learn of each other, and packets that follow. All must be there (Debian: frr, bird2, gobgpd,
//! exabgp), and so must tshark.
//!
//! ```text
//!   FRR, AS 65001 ── a ┌──────────────┐ b ── BIRD, AS 65000, 10.9.2.1 by OSPF
//!   MD5, GTSM, IPv6    │ edge, 65000  │
//!   GoBGP, AS 65003 ─ c│ 10.255.0.1   │ d ── ExaBGP, AS 65004
//!                      └──────────────┘
//! ```

use super::igp::{Capture, Peer, ZEBRA, at_rest, awaited, key_files};
use super::{Scene, words};
use serde_json::Value;
use std::fs;

const EDGE: &str = r#"
[[pe]]
name = "pe1"
port = [
  { name = "a", driver = "af_packet" },
  { name = "b", driver = "af_packet" },
  { name = "c", driver = "af_packet" },
  { name = "d", driver = "af_packet" },
]
[[pe.interface]]
name = "a"
addresses = ["10.1.0.1/24", "10.255.0.1/32", "2001:db8:1::1/64"]
[[pe.interface]]
name = "b"
addresses = ["10.2.0.1/24"]
[[pe.interface]]
name = "c"
addresses = ["10.3.0.1/24"]
[[pe.interface]]
name = "d"
addresses = ["10.4.0.1/24"]
[pe.ospf]
router_id = "10.255.0.1"
redistribute = [{ from = "connected" }]
[[pe.ospf.area]]
id = "0.0.0.0"
[[pe.ospf.area.interface]]
name = "b"
network = "point-to-point"
hello_s = 1
dead_s = 5
[pe.bgp]
asn = 65000
identifier = "10.255.0.1"
[[pe.bgp.group]]
name = "outside"
default_policy = "accept"
idle_hold_s = 1
connect_retry_s = 2
[[pe.bgp.peer]]
name = "frr"
group = "outside"
address = "10.1.0.2"
asn = 65001
password_file = "frr.key"
ttl_security_hops = 1
[[pe.bgp.peer]]
name = "frr6"
group = "outside"
address = "2001:db8:1::2"
asn = 65001
password_file = "frr.key"
families = ["ipv6-unicast"]
[[pe.bgp.peer]]
name = "bird"
address = "10.9.2.1"
connect_retry_s = 2
[[pe.bgp.peer]]
name = "gobgp"
group = "outside"
address = "10.3.0.2"
asn = 65003
passive = true
[[pe.bgp.group]]
name = "walk-ins"
ranges = ["10.4.0.0/24"]
asn = 65004
default_policy = "accept"
"#;

const BGPD: &str = "frr defaults datacenter
log stdout informational
router bgp 65001
 bgp router-id 10.9.1.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor 10.1.0.1 remote-as 65000
 neighbor 10.1.0.1 password in-a-file
 neighbor 10.1.0.1 ttl-security hops 1
 neighbor 2001:db8:1::1 remote-as 65000
 neighbor 2001:db8:1::1 password in-a-file
 address-family ipv4 unicast
  network 10.9.1.0/24
  network 198.51.100.0/24
  neighbor 10.1.0.1 activate
 exit-address-family
 address-family ipv6 unicast
  network 2001:db8:9::/48
  neighbor 2001:db8:1::1 activate
 exit-address-family
";

const BIRD: &str = r#"
log "bird.log" all;
router id 10.9.2.1;
protocol device { scan time 1; }
protocol kernel { ipv4 { export all; }; }
protocol static { ipv4; route 10.9.2.0/24 blackhole; }
protocol ospf v2 o {
  tick 1;
  ipv4 { import all; export none; };
  area 0 {
    interface "lo" { stub yes; };
    interface "eth0" { type ptp; hello 1; dead 5; };
  };
}
protocol bgp edge {
  local 10.9.2.1 as 65000;
  neighbor 10.255.0.1 as 65000;
  multihop;
  connect retry time 2;
  ipv4 { import all; export where source = RTS_STATIC; next hop self; };
}
"#;

const GOBGP: &str = r#"
[global.config]
as = 65003
router-id = "10.9.3.1"
[[neighbors]]
[neighbors.config]
neighbor-address = "10.3.0.1"
peer-as = 65000
[neighbors.timers.config]
connect-retry = 2
"#;

const EXABGP: &str = r#"
neighbor 10.4.0.1 {
  router-id 10.9.4.1;
  local-address 10.4.0.2;
  local-as 65004;
  peer-as 65000;
  static { route 10.9.4.0/24 next-hop self; }
}
"#;

/// The state of each peer, by name.
fn states(scene: &Scene) -> Vec<(String, String)> {
    let rows = scene.rows(&["bgp"]);
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = rows.iter().map(|it| (text(it, "peer"), text(it, "state"))).collect();
    all.sort();
    all
}

pub(super) fn established(scene: &Scene, names: &[&str]) -> bool {
    let states = states(scene);
    let is_up = |name: &&str| states.iter().any(|it| it.0 == *name && it.1 == "Established");
    names.iter().all(is_up)
}

/// FRR with zebra and bgpd, whose networks it has on its loopback.
pub(super) fn frr(peer: Peer, config: &str) -> Peer {
    peer.daemons(&[("zebra", ZEBRA), ("bgpd", config)])
}

/// What FRR's bgpd answers.
pub(super) fn vtysh(peer: &Peer, command: &str) -> String {
    let folder = peer.folder.display().to_string();
    let said = peer.host.run(&["vtysh", "--vty_socket", &folder, "-d", "bgpd", "-c", command]);
    words(&said.stdout)
}

#[test]
fn sessions_stand_with_four_others_by_passwords_and_by_loopbacks() {
    let mut scene = Scene::new();
    let a = ["10.1.0.2/24", "2001:db8:1::2/64"];
    let own = ["10.9.1.1/24", "198.51.100.1/24", "2001:db8:9::1/48"];
    let a = Peer::new(&scene, "a", &a, &own);
    let mut b = Peer::new(&scene, "b", &["10.2.0.2/24"], &["10.9.2.1/32"]);
    let mut c = Peer::new(&scene, "c", &["10.3.0.2/24"], &[]);
    let mut d = Peer::new(&scene, "d", &["10.4.0.2/24"], &[]);
    key_files(&scene, &[("frr.key", "in-a-file\n")]);
    let kept = Capture::filtered(&a, "port 179");
    scene.start(EDGE);
    let a = frr(a, BGPD);
    fs::write(b.folder.join("bird.conf"), BIRD).unwrap();
    b.start("/usr/sbin/bird", &["-f", "-c", "bird.conf", "-s", "bird.ctl"]);
    fs::write(c.folder.join("gobgpd.toml"), GOBGP).unwrap();
    c.start("/usr/bin/gobgpd", &["-f", "gobgpd.toml", "-p", "--pprof-disable"]);
    fs::write(d.folder.join("exabgp.conf"), EXABGP).unwrap();
    d.start("/usr/sbin/exabgp", &["exabgp.conf"]);
    awaited("the sessions", || {
        let is_up = established(&scene, &["frr", "frr6", "bird", "gobgp", "10.4.0.2"]);
        if !is_up {
            eprintln!("{:?}", states(&scene));
        }
        is_up
    });
    // What each tells the edge, and the edge the others.
    let has = |prefix: &str| {
        let family = if prefix.contains(':') { "ipv6-unicast" } else { "ipv4-unicast" };
        let rows = scene.rows(&["bgp", "routes", "pe1", family]);
        rows.iter().any(|it| it["route"] == prefix)
    };
    for prefix in ["10.9.1.0/24", "10.9.2.0/24", "10.9.4.0/24", "2001:db8:9::/48"] {
        awaited(prefix, || has(prefix));
    }
    awaited("BIRD's route at FRR", || vtysh(&a, "show bgp ipv4 unicast").contains("10.9.2.0/24"));
    awaited("ExaBGP's route at GoBGP", || {
        words(&c.host.run(&["gobgp", "global", "rib"]).stdout).contains("10.9.4.0/24")
    });
    // The operator's verbs are those of a reflector.
    scene.ctl(&["bgp", "clear", "frr", "--soft"]);
    scene.ctl(&["bgp", "shutdown", "frr6", "--text", "good night"]);
    awaited("the end", || {
        vtysh(&a, "show bgp neighbors 2001:db8:1::1").contains("Administrative Shutdown")
    });
    scene.ctl(&["bgp", "enable", "frr6"]);
    awaited("it is back", || established(&scene, &["frr6"]));
    let shown = scene.ctl(&["bgp", "peer", "frr"]);
    assert!(shown.contains("TCP password") && shown.contains("10.1.0.1:"), "{shown}");
    assert!(!shown.contains("in-a-file"), "{shown}");
    // A peer that goes is an alarm.
    scene.router.ip(&["link", "set", "dev", "c", "down"]).unwrap();
    scene.ctl(&["bgp", "clear", "gobgp", "--hard"]);
    awaited("the alarm", || scene.ctl(&["alarms"]).contains("bgp-session-down"));
    // Another password, and FRR hears nothing that it believes any more.
    key_files(&scene, &[("frr.key", "another-one\n")]);
    scene.ctl(&["reload-keys"]);
    awaited("the end of the session", || !established(&scene, &["frr"]));
    awaited("why", || {
        let said = scene.ctl(&["bgp", "peers"]);
        said.contains("segments with a wrong password come from its address")
    });
    key_files(&scene, &[("frr.key", "in-a-file\n")]);
    scene.ctl(&["reload-keys"]);
    awaited("the session again", || established(&scene, &["frr", "frr6"]));
    assert_eq!(scene.refusals(), Vec::<Value>::new());
    // OPEN, UPDATE, KEEPALIVE, ROUTE-REFRESH: tshark reads them without a complaint.
    kept.has("ip.src == 10.1.0.1 && bgp && tcp.flags.fin == 0", "bgp.type", &["1", "2", "4", "5"]);
}

/// An edge between FRR, of another AS, and two BIRDs of its own, behind which the same prefix is.
fn routed() -> (Scene, [Peer; 3]) {
    let mut scene = Scene::new();
    let a = ["10.1.0.2/24", "2001:db8:1::2/64"];
    let a = Peer::new(&scene, "a", &a, &["10.9.1.1/24", "10.66.0.1/16", "2001:db8:9::1/48"]);
    let mut b = Peer::new(&scene, "b", &["10.2.0.2/24"], &["10.9.2.1/32", "10.77.0.1/32"]);
    let mut c = Peer::new(&scene, "c", &["10.3.0.2/24"], &["10.9.3.1/32", "10.77.0.1/32"]);
    scene.start(ROUTED);
    let a = frr(a, FRR_ROUTED);
    for (peer, net) in [(&mut b, 2), (&mut c, 3)] {
        let text = BIRD.replace("10.9.2.", &format!("10.9.{net}."));
        let static_ = "route 10.77.0.0/24 blackhole; route 10.9.2.0/24 blackhole;";
        let text = text.replace("10.255.0.1", "10.1.0.1");
        let text = text.replace(&format!("route 10.9.{net}.0/24 blackhole;"), static_);
        fs::write(peer.folder.join("bird.conf"), text).unwrap();
        peer.start("/usr/sbin/bird", &["-f", "-c", "bird.conf", "-s", "bird.ctl"]);
    }
    awaited("the sessions", || established(&scene, &["frr", "frr6", "b", "c"]));
    (scene, [a, b, c])
}

const ROUTED: &str = r#"
[[pe]]
name = "pe1"
port = [
  { name = "a", driver = "af_packet" },
  { name = "b", driver = "af_packet" },
  { name = "c", driver = "af_packet" },
]
[[pe.interface]]
name = "a"
addresses = ["10.1.0.1/24", "2001:db8:1::1/64"]
[[pe.interface]]
name = "b"
addresses = ["10.2.0.1/24"]
[[pe.interface]]
name = "c"
addresses = ["10.3.0.1/24"]
[[pe.route]]
prefix = "198.51.100.0/24"
via = [{ gateway = "10.2.0.2" }]
[pe.ospf]
router_id = "10.1.0.1"
restart_s = 20
[[pe.ospf.area]]
id = "0.0.0.0"
[[pe.ospf.area.interface]]
name = "a"
passive = true
[[pe.ospf.area.interface]]
name = "b"
network = "point-to-point"
cost = 10
hello_s = 1
dead_s = 5
[[pe.ospf.area.interface]]
name = "c"
network = "point-to-point"
cost = 10
hello_s = 1
dead_s = 5
[pe.bgp]
asn = 65000
identifier = "10.1.0.1"
paths_max = 4
networks = ["203.0.113.0/24"]
redistribute = [
  { from = "connected", within = ["10.0.0.0/8", "2001:db8::/32"] },
  { from = "static", metric = 33 },
  { from = "ospf", within = ["10.9.0.0/16"] },
]
[[pe.bgp.group]]
name = "inside"
connect_retry_s = 2
graceful_restart_s = 60
[[pe.bgp.peer]]
name = "frr"
address = "10.1.0.2"
asn = 65001
default_policy = "accept"
connect_retry_s = 2
graceful_restart_s = 60
[[pe.bgp.peer]]
name = "frr6"
address = "2001:db8:1::2"
asn = 65001
default_policy = "accept"
connect_retry_s = 2
families = ["ipv6-unicast"]
graceful_restart_s = 60
[[pe.bgp.peer]]
name = "b"
group = "inside"
address = "10.9.2.1"
local = "10.1.0.1"
[[pe.bgp.peer]]
name = "c"
group = "inside"
address = "10.9.3.1"
local = "10.1.0.1"
"#;

/// FRR helps those that restart (its default). For two minutes it says that it has restarted
/// itself, so that nobody waits for its routes: what it tells is no measure of that time.
const FRR_ROUTED: &str = "frr defaults datacenter
log stdout informational
router bgp 65001
 bgp router-id 10.9.1.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor 10.1.0.1 remote-as 65000
 neighbor 10.1.0.1 timers connect 2
 neighbor 2001:db8:1::1 remote-as 65000
 neighbor 2001:db8:1::1 timers connect 2
 address-family ipv4 unicast
  network 10.66.0.0/16
  neighbor 10.1.0.1 activate
 exit-address-family
 address-family ipv6 unicast
  network 2001:db8:9::/48
  neighbor 2001:db8:1::1 activate
 exit-address-family
";

/// How many paths of a prefix are the best one, and how many there are.
fn paths(scene: &Scene, prefix: &str) -> Vec<Value> {
    scene.rows(&["bgp", "route", prefix])
}

#[test]
fn routes_of_peers_are_routes_of_the_plane_and_own_ones_are_theirs() {
    let (scene, [a, b, c]) = routed();
    // What the edge tells: subnets, a static route, a network, what OSPF has; and what others do.
    let told = || vtysh(&a, "show bgp ipv4 unicast");
    for prefix in ["10.2.0.0/24", "10.9.2.1/32", "198.51.100.0/24", "203.0.113.0/24"] {
        awaited(prefix, || told().contains(prefix));
    }
    let row = vtysh(&a, "show bgp ipv4 unicast 198.51.100.0/24");
    assert!(row.contains("metric 33") && row.contains("65000"), "{row}");
    awaited("BIRD's route at FRR", || told().contains("10.77.0.0/24"));
    awaited("IPv6", || vtysh(&a, "show bgp ipv6 unicast").contains("2001:db8:1::/64"));
    awaited("FRR's route at BIRD", || b.routes().contains("10.66.0.0/16"));
    // Packets follow: from FRR to an address behind both BIRDs, from BIRD to one behind FRR.
    a.host.namespace.ip(&["route", "replace", "10.9.0.0/16", "via", "10.1.0.1"]).unwrap();
    b.host.reaches("10.66.0.1");
    a.host.reaches("10.77.0.1");
    assert_eq!(paths(&scene, "10.77.0.0/24").len(), 2);
    let next_hops = |to: &str| -> Vec<String> {
        let rows = scene.rows(&["bgp", "fib", "--within", to]);
        let all = rows.first().and_then(|it| it["next_hops"].as_array().cloned());
        all.unwrap_or_default().iter().filter_map(|it| Some(it.as_str()?.to_owned())).collect()
    };
    awaited("two ways", || next_hops("10.77.0.0/24") == ["10.9.2.1", "10.9.3.1"]);
    let rows = scene.rows(&["bgp", "next-hops"]);
    let row = rows.iter().find(|it| it["next_hop"] == "10.9.2.1").unwrap();
    assert_eq!(row["via"], serde_json::json!(["10.2.0.2 by b"]), "{row}");
    assert_eq!(row["metric"], 10, "what OSPF says: {row}");
    // What OSPF says a way costs decides: one of two, and packets go there.
    let dearer = ROUTED.replacen(
        "name = \"b\"\nnetwork = \"point-to-point\"\ncost = 10",
        "name = \"b\"\nnetwork = \"point-to-point\"\ncost = 20",
        1,
    );
    assert_ne!(dearer, ROUTED);
    scene.change(&dearer);
    awaited("one way", || next_hops("10.77.0.0/24") == ["10.9.3.1"]);
    a.host.reaches("10.77.0.1");
    // A next hop that is gone takes its routes along.
    scene.router.ip(&["link", "set", "dev", "c", "down"]).unwrap();
    awaited("the other way", || next_hops("10.77.0.0/24") == ["10.9.2.1"]);
    a.host.reaches("10.77.0.1");
    drop(c);
    // A peer that withdraws: nothing leads there any more.
    let folder = a.folder.display().to_string();
    let mut words = vec!["vtysh", "--vty_socket", &folder, "-d", "bgpd"];
    let lines =
        ["conf t", "router bgp 65001", "address-family ipv4 unicast", "no network 10.66.0.0/16"];
    words.extend(lines.iter().flat_map(|it| ["-c", it]));
    assert!(a.host.run(&words).status.success());
    awaited("the loss", || !b.routes().contains("10.66.0.0/16"));
    let (reached, _) = b.host.ping(&["-c", "1", "-W", "1"], "10.66.0.1");
    assert!(!reached);
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn a_control_that_is_killed_loses_its_sessions_and_no_packet() {
    let (mut scene, [a, _b, _c]) = routed();
    awaited("BIRD's route at FRR", || a.routes().contains("10.77.0.0/24"));
    a.host.reaches("10.77.0.1");
    at_rest(&scene);
    let host = &a.host;
    let pinging = std::thread::scope(|scope| {
        let pings = scope.spawn(|| host.ping(&["-c", "300", "-i", "0.1"], "10.77.0.1"));
        std::thread::sleep(std::time::Duration::from_secs(2));
        scene.kill();
        std::thread::sleep(std::time::Duration::from_secs(1));
        scene.start_again();
        awaited("the sessions", || established(&scene, &["frr", "frr6", "b", "c"]));
        awaited("the routes", || paths(&scene, "10.77.0.0/24").len() == 2);
        pings.join().unwrap()
    });
    let (reached, said) = pinging;
    assert!(reached && said.contains(" 0% packet loss"), "{said}");
    let shown = vtysh(&a, "show bgp neighbors 10.1.0.1");
    assert!(shown.contains("Remote GR Mode: Restart"), "{shown}");
    awaited("what it told before", || {
        vtysh(&a, "show bgp ipv4 unicast").contains("203.0.113.0/24")
    });
}

/// Two edges on a wire; behind each two customers whose addresses are the same.
fn vpns() -> String {
    let edge = |n: u32, core: &str, customers: &[(&str, &str, &str)]| {
        let mut text = format!(
            "[[pe]]\nname = \"pe{n}\"\n[[pe.port]]\nname = \"{core}\"\n\
             driver = \"af_packet\"\nmtu = 1550\n[[pe.interface]]\nname = \"{core}\"\n\
             addresses = [\"192.0.2.{n}/30\"]\nmpls = true\n"
        );
        for (port, vrf, addresses) in customers {
            let vrf = if vrf.is_empty() { String::new() } else { format!("vrf = \"{vrf}\"\n") };
            text += &format!(
                "[[pe.port]]\nname = \"{port}\"\ndriver = \"af_packet\"\n\
                 [[pe.interface]]\nname = \"{port}\"\naddresses = [{addresses}]\n{vrf}"
            );
        }
        for (vrf, number) in [("red", 1), ("blue", 2)] {
            text += &format!(
                "[[pe.vrf]]\nname = \"{vrf}\"\nrd = \"10.255.0.{n}:{number}\"\n\
                 import_targets = [\"65000:{number}\"]\nexport_targets = [\"65000:{number}\"]\n"
            );
        }
        let other = 3 - n;
        text += &format!(
            "[pe.bgp]\nasn = 65000\nidentifier = \"192.0.2.{n}\"\n[[pe.bgp.peer]]\n\
             name = \"pe{other}\"\naddress = \"192.0.2.{other}\"\nconnect_retry_s = 2\n\
             families = [\"vpnv4\", \"vpnv6\"]\n"
        );
        if n == 1 {
            text += "[[pe.bgp.peer]]\nname = \"frr\"\naddress = \"10.3.0.2\"\n\
                     families = [\"vpnv4\"]\nconnect_retry_s = 2\n";
        }
        text
    };
    let [near, far] = [1, 2].map(|net| format!("\"10.{net}.0.1/24\", \"2001:db8:{net}::1/64\""));
    let near = [("ra", "red", &*near), ("ba", "blue", &near), ("c", "", "\"10.3.0.1/24\"")];
    edge(1, "one", &near) + &edge(2, "two", &[("rb", "red", &far), ("bb", "blue", &far)])
}

const FRR_VPN: &str = "frr defaults datacenter
log stdout informational
router bgp 65000
 bgp router-id 10.3.0.2
 no bgp default ipv4-unicast
 neighbor 10.3.0.1 remote-as 65000
 neighbor 10.3.0.1 timers connect 2
 address-family ipv4 vpn
  neighbor 10.3.0.1 activate
 exit-address-family
";

#[test]
fn customers_with_the_same_addresses_reach_their_own_over_labels() {
    let mut scene = Scene::new();
    scene.wire("one", "two");
    for device in ["one", "two"] {
        scene.router.ip(&["link", "set", "dev", device, "mtu", "1600"]).unwrap();
    }
    let host = |device: &str, net: u32, more: &str| {
        let own = [format!("10.{net}.0.2/24"), format!("2001:db8:{net}::2/64")];
        let gateways = [format!("10.{net}.0.1"), format!("2001:db8:{net}::1")];
        let mut own: Vec<&str> = own.iter().map(String::as_str).collect();
        own.extend(Some(more).filter(|it| !it.is_empty()));
        scene.host(device, &own, &gateways.each_ref().map(String::as_str))
    };
    let (red, blue) = (host("ra", 1, ""), host("ba", 1, ""));
    let _far = (host("rb", 2, "10.2.0.8/24"), host("bb", 2, "10.2.0.9/24"));
    let frr_peer = Peer::new(&scene, "c", &["10.3.0.2/24"], &[]);
    let kept = Capture::filtered(&frr_peer, "port 179");
    let on_two = super::services::Capture::start(&scene, "two");
    scene.start(&vpns());
    let frr_peer = frr(frr_peer, FRR_VPN);
    awaited("routes of VPNs", || {
        let rows = scene.rows(&["bgp", "fib", "pe1"]);
        rows.iter().filter(|it| it["in_use"] == true && !it["vrf"].is_null()).count() == 4
    });
    // Both families, two tables with the same addresses, and nobody reaches the other's.
    red.reaches("10.2.0.2");
    red.reaches("2001:db8:2::2");
    red.reaches("10.2.0.8");
    blue.reaches("10.2.0.9");
    for (from, to) in [(&red, "10.2.0.9"), (&blue, "10.2.0.8")] {
        assert!(!from.ping(&["-c", "2", "-W", "1"], to).0, "{to}");
    }
    // Packets have the label that the far table told.
    let rows = scene.rows(&["bgp", "fib", "pe1", "--within", "10.2.0.0/24"]);
    let row = rows.iter().find(|it| it["vrf"] == "red").unwrap();
    let label = row["label"].as_u64().unwrap().to_string();
    let echo = "icmp.type == 8 && ip.dst == 10.2.0.8";
    let filter = format!("mpls && mpls.label == {label} && {echo}");
    let seen = on_two.sees(&[], &filter, &["mpls.label", "mpls.bottom"]);
    assert_eq!(seen[0], label, "{seen:?}");
    // FRR has what pe1 tells: distinguisher, target, label.
    let shown = || vtysh(&frr_peer, "show bgp ipv4 vpn 10.1.0.0/24");
    awaited("FRR's table", || {
        let said = shown();
        said.contains("10.255.0.1:1") && said.contains("10.255.0.1:2")
    });
    let said = shown();
    assert!(said.contains("RT:65000:1") && said.contains("10.255.0.1"), "{said}");
    kept.has("ip.src == 10.3.0.1 && bgp && tcp.flags.fin == 0", "bgp.type", &["1", "2", "4"]);
    for pe in ["pe1", "pe2"] {
        let refused = scene.rows(&["plane", "refusals", pe]);
        assert_eq!(refused, Vec::<Value>::new(), "{pe}");
    }
}
