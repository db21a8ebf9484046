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

use super::igp::{Capture, Peer, ZEBRA, awaited, key_files};
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

fn established(scene: &Scene, names: &[&str]) -> bool {
    let states = states(scene);
    let is_up = |name: &&str| states.iter().any(|it| it.0 == *name && it.1 == "Established");
    names.iter().all(is_up)
}

/// FRR with zebra and bgpd, whose networks it has on its loopback.
fn frr(peer: Peer, config: &str) -> Peer {
    peer.daemons(&[("zebra", ZEBRA), ("bgpd", config)])
}

/// What FRR's bgpd answers.
fn vtysh(peer: &Peer, command: &str) -> String {
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
    awaited("BIRD's route at FRR", || {
        vtysh(&a, "show bgp ipv4 unicast").contains("10.9.2.0/24")
    });
    awaited("ExaBGP's route at GoBGP", || {
        words(&c.host.run(&["gobgp", "global", "rib"]).stdout).contains("10.9.4.0/24")
    });
    // The operator's verbs are those of a reflector.
    scene.ctl(&["bgp", "clear", "frr", "--soft"]);
    scene.ctl(&["bgp", "shutdown", "frr6", "--text", "good night"]);
    awaited("the end", || vtysh(&a, "show bgp neighbors 2001:db8:1::1").contains("Administrative Shutdown"));
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
    key_files(&scene, &[("frr.key", "in-a-file\n")]);
    scene.ctl(&["reload-keys"]);
    awaited("the session again", || established(&scene, &["frr", "frr6"]));
    assert_eq!(scene.refusals(), Vec::<Value>::new());
    // OPEN, UPDATE, KEEPALIVE, ROUTE-REFRESH: tshark reads them without a complaint.
    kept.has("ip.src == 10.1.0.1 && bgp", "bgp.type", &["1", "2", "4", "5"]);
}
