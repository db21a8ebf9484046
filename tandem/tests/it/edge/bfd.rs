//! BFD of the forwarder's workers with FRR's bfdd and with BIRD 2, packets every ten milliseconds:
//! sessions, keys, a control that dies, and a neighbour that falls silent.
//!
//! ```text
//!              ┌──────┐ a ── bridge ── eth0 ─ FRR   10.9.1.1
//!   host ─── h │ edge │                        │ eth1
//!              └──────┘ c ──────────── eth0 ─ BIRD  10.9.3.1
//! ```
//! Fifty packets may stay away: on a busy machine, programs of a debug build are late.

use super::igp::{Capture, Peer, ZEBRA, at_rest, awaited, key_files};
use super::{Host, Scene};
use serde_json::Value;
use std::fs;
use std::thread;
use std::time::Duration;

const EDGE: &str = r#"
[[pe]]
name = "pe1"
[[pe.port]]
name = "a"
driver = "af_packet"
[[pe.port]]
name = "c"
driver = "af_packet"
[[pe.port]]
name = "h"
driver = "af_packet"
[[pe.interface]]
name = "a"
addresses = ["10.1.0.1/24"]
[[pe.interface]]
name = "c"
addresses = ["10.3.0.1/24"]
[[pe.interface]]
name = "h"
addresses = ["10.4.0.1/24"]
[pe.ospf]
router_id = "10.255.0.1"
repair = "lfa"
microloop_delay_ms = 3000
[[pe.ospf.area]]
id = "0"
[[pe.ospf.area.interface]]
name = "a"
network = "point-to-point"
cost = 10
hello_s = 1
dead_s = 40
bfd = { interval_ms = 10, multiplier = 50 }
[[pe.ospf.area.interface]]
name = "c"
network = "point-to-point"
cost = 20
hello_s = 1
dead_s = 40
bfd = { interval_ms = 10, multiplier = 50, key_file = "bfd.keys" }
[[pe.ospf.area.interface]]
name = "h"
passive = true
"#;

const BFDD: &str = "frr defaults datacenter
log stdout informational
bfd
 profile fast
  transmit-interval 10
  receive-interval 10
  detect-multiplier 50
";

const OSPFD: &str = "frr defaults datacenter
log stdout informational
interface eth0
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 40
 ip ospf bfd
 ip ospf bfd profile fast
interface eth1
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 40
interface lo
 ip ospf area 0
router ospf
 ospf router-id 10.255.0.2
 capability opaque
 graceful-restart helper enable
";

const BIRD: &str = r#"
log "bird.log" all;
router id 10.255.0.4;
protocol device { scan time 1; }
protocol kernel { ipv4 { export all; }; }
protocol bfd {
  interface "eth0" {
    min rx interval 10 ms; min tx interval 10 ms; idle tx interval 1 s; multiplier 50;
    authentication meticulous keyed sha1;
    password "secret-of-bfd" { id 7; };
  };
}
protocol ospf v2 o {
  graceful restart aware;
  ipv4 { import all; export none; };
  area 0 {
    interface "lo" { stub yes; };
    interface "eth0" { type ptp; hello 1; dead 40; cost 10; bfd on; };
    interface "eth1" { type ptp; hello 1; dead 40; cost 10; };
  };
}
"#;

/// The edge, FRR behind a bridge, BIRD, and a host.
fn started() -> (Scene, Peer, Peer, Host) {
    let mut scene = Scene::new();
    let ip = |words: &str| scene.router.ip(&words.split(' ').collect::<Vec<_>>()).unwrap();
    let frr = Peer::new(&scene, "ma", &["10.1.0.2/24"], &["10.9.1.1/32"]);
    scene.wire("a", "mb");
    ip("link add name m type bridge mcast_snooping 0");
    for end in ["ma", "mb"] {
        ip(&format!("link set dev {end} master m"));
    }
    ip("link set dev m up");
    let mut bird = Peer::new(&scene, "c", &["10.3.0.2/24"], &["10.9.3.1/32"]);
    let between = ["link", "add", "name", "eth1", "type", "veth", "peer", "name", "eth1", "netns"];
    let other = bird.host.namespace.name().to_owned();
    frr.host.namespace.ip(&[&between[..], &[&other]].concat()).unwrap();
    for (peer, address) in [(&frr, "10.5.0.1/24"), (&bird, "10.5.0.2/24")] {
        let namespace = &peer.host.namespace;
        namespace.ip(&["address", "add", address, "dev", "eth1"]).unwrap();
        namespace.ip(&["link", "set", "dev", "eth1", "up"]).unwrap();
    }
    let host = scene.host("h", &["10.4.0.2/24"], &["10.4.0.1"]);
    key_files(&scene, &[("bfd.keys", "7 meticulous-sha1 secret-of-bfd\n")]);
    scene.start(EDGE);
    let frr = frr.daemons(&[("zebra", ZEBRA), ("bfdd", BFDD), ("ospfd", OSPFD)]);
    fs::write(bird.folder.join("bird.conf"), BIRD).unwrap();
    bird.start("/usr/sbin/bird", &["-f", "-c", "bird.conf", "-s", "bird.ctl"]);
    let up = || rows(&scene).iter().filter(|it| it["state"] == "Up").count() == 2;
    awaited("two sessions", || {
        let is_up = up();
        if !is_up {
            thread::sleep(Duration::from_millis(200));
        }
        is_up
    });
    (scene, frr, bird, host)
}

/// The sessions, that of `a` first.
fn rows(scene: &Scene) -> Vec<Value> {
    let mut rows = scene.rows(&["bfd"]);
    rows.sort_by_key(|it| it["interface"].to_string());
    rows
}

#[test]
fn sessions_with_frr_and_bird_outlive_the_control_and_do_not_flap() {
    let (mut scene, frr, bird, _host) = started();
    awaited("the times in force", || {
        rows(&scene).iter().all(|it| it["interval_us"] == 10_000 && it["detection_us"] == 500_000)
    });
    at_rest(&scene);
    let before = rows(&scene);
    assert_eq!(before[1]["authentication"], "Meticulous Keyed SHA1");
    assert!(before.iter().all(|it| it["remote_state"] == "Up" && it["lost"] == false));
    let captures = [&frr, &bird].map(|it| Capture::filtered(it, "udp port 3784"));
    scene.kill();
    thread::sleep(Duration::from_secs(3));
    scene.start_again();
    awaited("adjacencies", || scene.rows(&["igp"])[0]["adjacencies"] == 2);
    awaited("the end of the restart", || scene.rows(&["igp"])[0]["state"] == "running");
    awaited("the sessions", || rows(&scene).len() == 2);
    for (before, after) in before.iter().zip(&rows(&scene)) {
        for key in ["discriminator", "remote_discriminator", "downs", "state"] {
            assert_eq!(before[key], after[key], "{key}: {after}");
        }
        let packets = |row: &Value| row["received"].as_u64().unwrap();
        assert!(packets(after) > packets(before), "{after}");
    }
    let [of_frr, of_bird] = captures;
    of_frr.has("bfd", "bfd.sta", &["0x03"]);
    of_bird.has("bfd", "bfd.sta", &["0x03"]);
    assert!(!frr.logs().contains("Down"), "{}", frr.logs());
}

#[test]
fn a_neighbour_that_falls_silent_is_done_without_and_its_routes_repaired() {
    let (scene, _frr, _bird, host) = started();
    let route = || {
        let rows = scene.rows(&["igp", "routes", "--within", "10.9.1.1/32"]);
        let row = rows.into_iter().next().unwrap_or_default();
        (row["via"][0]["gateway"].clone(), row["repair"]["state"].clone())
    };
    awaited("the route and its repair", || route() == ("10.1.0.2".into(), "ready".into()));
    host.reaches("10.9.1.1");
    let said = thread::scope(|scope| {
        let pings = scope.spawn(|| host.ping(&["-c", "700", "-i", "0.01"], "10.9.1.1").1);
        thread::sleep(Duration::from_secs(2));
        // Packets vanish, and both ends keep their carrier.
        scene.router.ip(&["link", "set", "dev", "ma", "nomaster"]).unwrap();
        awaited("the loss", || scene.ctl(&["alarms"]).contains("bfd-neighbour-lost"));
        let lost = &rows(&scene)[0];
        assert_eq!(lost["diagnostic"], "Control Detection Time Expired", "{lost}");
        pings.join().unwrap()
    });
    let lost = said.lines().find(|line| line.contains("packet loss")).unwrap_or_default();
    eprintln!("{lost}");
    let words: Vec<u64> = lost.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    let [sent, received, ..] = words[..] else { panic!("{said}") };
    // Not a time: the detection takes 50 packets, and packets go on to be answered after it.
    assert!(received > 350 && sent - received < 350, "{said}");
    awaited("SPF's own way", || route().0 == "10.3.0.2");
    scene.router.ip(&["link", "set", "dev", "ma", "master", "m"]).unwrap();
    awaited("the neighbour again", || rows(&scene).iter().all(|it| it["state"] == "Up"));
    awaited("the route again", || route().0 == "10.1.0.2");
    host.reaches("10.9.1.1");
    assert!(!scene.ctl(&["alarms"]).contains("bfd-neighbour-lost"));
}
