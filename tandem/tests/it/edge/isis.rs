//! An edge that speaks IS-IS with FRR's isisd, thrice: on a LAN with keys, and on two links of two,
//! one of which BFD watches. What they learn of each other, in IPv4 and IPv6, and packets that
//! follow it. FRR must be there (Debian: frr), and so must tshark.
//!
//! ```text
//!   FRR, LAN, hmac-md5 ── eth0 ── a ┌──────┐ b ── eth0 ── FRR, link of two, password
//!     10.9.1.1, 10.9.9.9            │ edge │     10.9.2.1
//!     2001:db8:9:1::1               │      │     2001:db8:9:2::1
//!   FRR, link of two, BFD ─ eth0 ── c└──────┘
//!     10.9.3.1, 10.9.9.9
//! ```

use super::igp::{Capture, Peer, ZEBRA, awaited, key_files, states};
use super::{LONG, Scene};
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};

const EDGE: &str = r#"
[[pe]]
name = "pe1"
[[pe.port]]
name = "a"
driver = "af_packet"
[[pe.port]]
name = "b"
driver = "af_packet"
[[pe.port]]
name = "c"
driver = "af_packet"
[[pe.interface]]
name = "a"
addresses = ["10.1.0.1/24", "2001:db8:1::1/64"]
[[pe.interface]]
name = "b"
addresses = ["10.2.0.1/24", "2001:db8:2::1/64"]
[[pe.interface]]
name = "c"
addresses = ["10.3.0.1/24"]
[[pe.route]]
prefix = "198.51.100.0/24"
via = [{ gateway = "10.1.0.2" }]
[[pe.route]]
prefix = "2001:db8:ffff::/48"
via = [{ gateway = "2001:db8:1::2" }]
[pe.isis]
net = "49.0001.0000.0000.0001.00"
level = "2"
key_file = "domain.keys"
redistribute = [{ from = "static", metric = 33 }]
[[pe.isis.interface]]
name = "a"
hello_s = 1
multiplier = 10
key_file = "a.keys"
[[pe.isis.interface]]
name = "b"
network = "point-to-point"
hello_s = 1
multiplier = 10
key_file = "b.keys"
[[pe.isis.interface]]
name = "c"
network = "point-to-point"
hello_s = 1
multiplier = 10
bfd = { interval_ms = 200 }
"#;

/// isisd's configuration; what stands in capitals is replaced. What its LSPs depend on stands
/// before `net`, with which it makes the first one.
const ISISD: &str = "frr defaults datacenter
hostname NAME
log stdout informational
interface eth0
 ip router isis 1
 isis circuit-type level-2-only
 isis hello-interval 1
 isis hello-multiplier 10
LINES
interface lo
 ip router isis 1
 ipv6 router isis 1
 isis passive
router isis 1
 is-type level-2-only
 metric-style wide
 lsp-gen-interval 1
 domain-password md5 secret-of-all authenticate snp validate
 net 49.0001.0000.0000.NUMBER.00
";

const BFDD: &str = "frr defaults datacenter\nlog stdout informational\n";

fn isisd(name: &str, number: &str, lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|it| format!(" {it}")).collect();
    let text = ISISD.replace("LINES", &lines.join("\n")).replace("NUMBER", number);
    text.replace("NAME", name)
}

fn adjacent(scene: &Scene, interfaces: &[&str]) -> bool {
    let wanted = interfaces.iter().map(|it| ((*it).to_owned(), "Up".to_owned()));
    states(scene) == wanted.collect::<Vec<_>>()
}

/// The edge between three of FRR, all adjacent.
fn started() -> (Scene, [Peer; 3], [Capture; 2]) {
    let mut scene = Scene::new();
    let (a, b) = (["10.1.0.2/24", "2001:db8:1::2/64"], ["10.2.0.2/24", "2001:db8:2::2/64"]);
    let a = Peer::new(&scene, "a", &a, &["10.9.1.1/32", "10.9.9.9/32", "2001:db8:9:1::1/128"]);
    let b = Peer::new(&scene, "b", &b, &["10.9.2.1/32", "2001:db8:9:2::1/128"]);
    let c = Peer::new(&scene, "c", &["10.3.0.2/24"], &["10.9.3.1/32", "10.9.9.9/32"]);
    let captures = [&a, &b].map(|it| Capture::filtered(it, "isis"));
    key_files(
        &scene,
        &[
            ("domain.keys", "1 hmac-md5 secret-of-all\n"),
            ("a.keys", "1 hmac-md5 secret-of-a\n"),
            ("b.keys", "password secret-of-b\n"),
        ],
    );
    scene.start(EDGE);
    let on_a = isisd("on-a", "0002", &["ipv6 router isis 1", "isis password md5 secret-of-a"]);
    let on_b = isisd(
        "on-b",
        "0003",
        &["ipv6 router isis 1", "isis network point-to-point", "isis password clear secret-of-b"],
    );
    let on_c = isisd("on-c", "0004", &["isis network point-to-point", "isis bfd"]);
    let peers = [
        a.daemons(&[("zebra", ZEBRA), ("isisd", &on_a)]),
        b.daemons(&[("zebra", ZEBRA), ("isisd", &on_b)]),
        c.daemons(&[("zebra", ZEBRA), ("bfdd", BFDD), ("isisd", &on_c)]),
    ];
    let until = Instant::now() + LONG;
    while !adjacent(&scene, &["a", "b", "c"]) {
        let logs: Vec<String> = peers.iter().map(Peer::logs).collect();
        assert!(Instant::now() < until, "{:?}\n{}", states(&scene), logs.join("\n---\n"));
        thread::sleep(Duration::from_millis(200));
    }
    (scene, peers, captures)
}

#[test]
fn an_edge_and_frr_learn_each_others_routes_of_both_families_and_packets_follow() {
    let (scene, [a, b, c], captures) = started();
    let learnt = |peer: &Peer, what: &str| peer.routes().contains(what);
    awaited("a route behind b at a", || learnt(&a, "10.9.2.1"));
    awaited("a route behind a at b", || learnt(&b, "10.9.1.1"));
    awaited("the same of IPv6", || learnt(&b, "2001:db8:9:1::1"));
    awaited("… at a", || learnt(&a, "2001:db8:9:2::1"));
    awaited("the static route", || learnt(&b, "198.51.100.0/24"));
    awaited("the static route of IPv6", || learnt(&b, "2001:db8:ffff::/48"));
    b.host.reaches("10.9.1.1");
    b.host.reaches("2001:db8:9:1::1");
    let (reached, said) = a.host.ping(&["-c", "5", "-I", "10.9.1.1"], "10.9.2.1");
    assert!(reached, "{said}");
    let (reached, said) = a.host.ping(&["-c", "5", "-I", "2001:db8:9:1::1"], "2001:db8:9:2::1");
    assert!(reached, "{said}");
    // Two ways of one price.
    let shared = || scene.rows(&["igp", "routes", "--covering", "10.9.9.9"]);
    let ways = || shared().first().and_then(|row| row["via"].as_array().map(Vec::len));
    awaited("two ways", || ways() == Some(2));
    assert_eq!(shared()[0]["kind"], "level-2");
    awaited("names of all", || {
        let rows = scene.rows(&["igp", "neighbours"]);
        rows.iter().map(|it| it["name"].as_str().unwrap_or_default()).collect::<Vec<_>>()
            == ["on-a", "on-b", "on-c"]
    });
    let lsps = scene.rows(&["igp", "database", "--area", "level-2", "--router", "on-a"]);
    assert!(lsps.iter().any(|it| it["says"].as_str().unwrap().contains("10.9.1.1/32")), "{lsps:?}");
    let row = scene.rows(&["igp"]).remove(0);
    assert_eq!((&row["protocol"], &row["adjacencies"]), (&"isis".into(), &3.into()), "{row}");
    awaited("BFD", || scene.rows(&["igp"])[0]["bfd_up"] == 1);
    assert_eq!(scene.refusals(), Vec::<Value>::new());
    // A link goes: the other way of the two stays, and what was behind it is gone everywhere.
    scene.router.ip(&["link", "set", "dev", "a", "down"]).unwrap();
    awaited("the loss", || !learnt(&b, "10.9.1.1") && !learnt(&b, "2001:db8:9:1::1"));
    awaited("one way", || ways() == Some(1));
    awaited("that the static route goes too", || !learnt(&b, "198.51.100.0"));
    b.host.reaches("10.9.9.9");
    scene.router.ip(&["link", "set", "dev", "a", "up"]).unwrap();
    awaited("the repair", || adjacent(&scene, &["a", "b", "c"]));
    awaited("the route again", || learnt(&b, "10.9.1.1"));
    b.host.reaches("10.9.1.1");
    // Another price, live: no adjacency ends.
    let lost = || scene.logs().matches("adjacency lost").count();
    let before = lost();
    assert!(before > 0, "the link that went was told");
    scene.change(&EDGE.replace("name = \"c\"\nnetwork", "name = \"c\"\nmetric = 20\nnetwork"));
    assert!(adjacent(&scene, &["a", "b", "c"]));
    assert_eq!(lost(), before);
    awaited("one way is cheaper", || ways() == Some(1));
    assert!(learnt(&c, "10.9.2.1"), "{}", c.routes());
    let own = |device: &str| {
        let mac = scene.router.ip(&["-br", "link", "show", "dev", device]).unwrap();
        let mac = mac.split_whitespace().nth(2).unwrap().to_owned();
        format!("eth.src == {mac}")
    };
    let [of_a, of_b] = captures;
    // Hellos, LSPs, and what tells of them, on a LAN and on a link of two.
    of_a.has(&own("a"), "isis.type", &["16", "20"]);
    of_b.has(&own("b"), "isis.type", &["17", "20", "25", "27"]);
}

#[test]
fn a_control_that_dies_and_comes_back_is_not_noticed_and_no_packet_is_lost() {
    let (mut scene, [a, b, _c], _captures) = started();
    for to in ["10.9.1.1", "2001:db8:9:1::1"] {
        awaited(to, || b.routes().contains(to));
        b.host.reaches(to);
    }
    let host = &b.host;
    let pinging = thread::scope(|scope| {
        let pings = ["10.9.1.1", "2001:db8:9:1::1"]
            .map(|to| scope.spawn(move || host.ping(&["-c", "400", "-i", "0.1"], to)));
        thread::sleep(Duration::from_secs(2));
        scene.kill();
        thread::sleep(Duration::from_secs(1));
        scene.start_again();
        let state = || scene.rows(&["igp"])[0]["state"].clone();
        awaited("the end of the restart", || state() == "running");
        awaited("adjacencies", || adjacent(&scene, &["a", "b", "c"]));
        pings.map(|it| it.join().unwrap())
    });
    for (reached, said) in pinging {
        assert!(reached && said.contains(" 0% packet loss"), "{said}");
    }
    for to in ["10.9.2.1", "2001:db8:9:2::1"] {
        assert!(a.routes().contains(to), "{}", a.routes());
    }
}

#[test]
fn what_frr_says_otherwise_is_the_reason_why_it_is_no_neighbour() {
    let mut scene = Scene::new();
    let [a, b, c] = [("a", 1), ("b", 2), ("c", 3)].map(|(device, net)| {
        let own = format!("10.9.{net}.1/32");
        Peer::new(&scene, device, &[&format!("10.{net}.0.2/24")], &[&own])
    });
    key_files(
        &scene,
        &[
            ("domain.keys", "1 hmac-md5 secret-of-all\n"),
            ("a.keys", "1 hmac-md5 another\n"),
            ("b.keys", "password secret-of-b\n"),
        ],
    );
    scene.start(EDGE);
    let on_a = isisd("on-a", "0002", &["isis password md5 secret-of-a"]);
    // FRR's default on Ethernet is a LAN.
    let on_b = isisd("on-b", "0003", &["isis password clear secret-of-b"]);
    let level_1 = |text: String| text.replace("level-2-only", "level-1");
    let on_c = level_1(isisd("on-c", "0004", &["isis network point-to-point"]));
    let _peers = [(a, &on_a), (b, &on_b), (c, &on_c)]
        .map(|(peer, text)| peer.daemons(&[("zebra", ZEBRA), ("isisd", text)]));
    let wanted = [
        ("a", "it knows another secret: both say a digest of HMAC-MD5"),
        ("b", "it takes the link for a broadcast one, here it is point-to-point"),
        ("c", "its level is level-1, here level-2"),
    ];
    let wanted = wanted.map(|(at, why)| [at, "refused", why].map(str::to_owned));
    let until = Instant::now() + LONG;
    loop {
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let rows = scene.rows(&["igp", "neighbours"]);
        let rows: Vec<[String; 3]> = rows
            .iter()
            .map(|row| ["interface", "state", "why"].map(|key| text(row, key)))
            .collect();
        if rows == wanted {
            break;
        }
        assert!(Instant::now() < until, "{rows:?}");
        thread::sleep(Duration::from_millis(200));
    }
    let logs = scene.logs();
    for [.., why] in &wanted {
        let lines = logs.lines().filter(|line| line.contains("WARN") && line.contains(why));
        assert_eq!(lines.count(), 1, "{why}: {logs}");
    }
}
