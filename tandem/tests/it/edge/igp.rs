//! An edge that speaks OSPF with FRR's ospfd and with BIRD 2, each in a namespace of its own: what
//! they learn of each other, and packets that follow it. Both must be there (Debian: frr, bird2),
//! and so must tshark.
//!
//! ```text
//!   FRR, area 0 ── eth0 ── a ┌──────┐ b ── eth0 ── BIRD, area 0.0.0.1
//!     10.9.1.1, 10.9.9.9     │ edge │     10.9.2.1
//!   BIRD, area 0 ─ eth0 ── c └──────┘
//!     10.9.3.1, 10.9.9.9
//! ```

use super::{Host, LONG, Scene, words};
use peers::{Process, ProcessSpec};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
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
addresses = ["10.1.0.1/24"]
[[pe.interface]]
name = "b"
addresses = ["10.2.0.1/24"]
[[pe.interface]]
name = "c"
addresses = ["10.3.0.1/24"]
[[pe.route]]
prefix = "198.51.100.0/24"
via = [{ gateway = "10.1.0.2" }]
[pe.ospf]
router_id = "10.255.0.1"
redistribute = [{ from = "static", metric = 33, tag = 7 }]
[[pe.ospf.area]]
id = "0.0.0.0"
[[pe.ospf.area.interface]]
name = "a"
cost = 10
hello_s = 1
dead_s = 5
retransmit_s = 1
key_file = "a.keys"
[[pe.ospf.area.interface]]
name = "c"
network = "point-to-point"
cost = 10
hello_s = 1
dead_s = 5
retransmit_s = 1
bfd = { interval_ms = 200 }
[[pe.ospf.area]]
id = "0.0.0.1"
[[pe.ospf.area.interface]]
name = "b"
hello_s = 1
dead_s = 5
retransmit_s = 1
key_file = "b.keys"
"#;

pub const ZEBRA: &str = "frr defaults datacenter\nlog stdout errors\n";

const OSPFD: &str = "frr defaults datacenter
log stdout informational
interface eth0
 ip ospf area 0
 ip ospf cost 10
 ip ospf hello-interval 1
 ip ospf dead-interval 5
 ip ospf retransmit-interval 2
 ip ospf authentication message-digest
 ip ospf message-digest-key 1 md5 secret-of-a
interface lo
 ip ospf area 0
router ospf
 ospf router-id 10.255.0.2
 capability opaque
 graceful-restart helper enable
 timers throttle spf 10 50 500
";

/// BIRD's configuration; what stands in capitals is replaced.
const BIRD: &str = r#"
log "bird.log" all;
router id ROUTER;
protocol device { scan time 1; }
protocol kernel { ipv4 { export all; }; merge paths on; }
protocol bfd { interface "eth0" { min rx interval 200 ms; min tx interval 200 ms; multiplier 3; }; }
protocol ospf v2 o {
  tick 1;
  graceful restart aware;
  ipv4 { import all; export none; };
  area AREA {
    interface "lo" { stub yes; };
    interface "eth0" {
      type KIND; hello 1; dead 5; retransmit 2; cost 10;
      MORE
    };
  };
}
"#;

const DIGESTS: &str = r#"authentication cryptographic;
      password "secret-of-b" { id 9; algorithm hmac sha256; };"#;

/// A router of somebody else's beside the edge.
pub struct Peer {
    pub host: Host,
    pub folder: PathBuf,
    processes: Vec<Process>,
    _kept: tempfile::TempDir,
}

impl Peer {
    /// One on a device of the edge, with the address of its own there, and others.
    pub fn new(scene: &Scene, device: &str, addresses: &[&str], own: &[&str]) -> Self {
        let host = scene.host(device, addresses, &[]);
        for address in own {
            host.namespace.ip(&["address", "add", address, "dev", "lo"]).unwrap();
        }
        host.namespace.set("net.ipv4.ip_forward", "1").unwrap();
        host.namespace.set("net.ipv6.conf.all.forwarding", "1").unwrap();
        // FRR is a user of its own, who writes there.
        let kept = tempfile::tempdir().unwrap();
        fs::set_permissions(kept.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let folder = kept.path().to_owned();
        Self { host, folder, processes: Vec::new(), _kept: kept }
    }

    pub fn start(&mut self, program: &str, arguments: &[&str]) {
        let name = Path::new(program).file_name().unwrap().to_string_lossy().into_owned();
        let spec = ProcessSpec {
            namespace: Some(self.host.namespace.name().to_owned()),
            ..ProcessSpec::new(&name, program, &self.folder).with(arguments)
        };
        self.processes.push(Process::start(&spec).unwrap());
    }

    fn frr(self) -> Self {
        self.daemons(&[("zebra", ZEBRA), ("ospfd", OSPFD)])
    }

    /// Daemons of FRR with their configurations, zebra first.
    pub fn daemons(mut self, all: &[(&str, &str)]) -> Self {
        for (daemon, text) in all {
            let at = |name: &str| self.folder.join(name).display().to_string();
            fs::write(at(daemon), text).unwrap();
            let pid = at(&format!("{daemon}.pid"));
            let (file, socket, vty) = (at(daemon), at("zserv.api"), at(""));
            let mut words =
                vec!["-f", &file, "-i", &pid, "-z", &socket, "--vty_socket", &vty, "-P", "0"];
            let bfd = at("bfdd.sock");
            if *daemon == "bfdd" {
                words.extend(["--bfdctl", &bfd]);
            }
            self.start(&format!("/usr/lib/frr/{daemon}"), &words);
            if *daemon == "zebra" {
                awaited("zebra", || self.folder.join("zserv.api").exists());
            }
        }
        self
    }

    fn bird(mut self, router: &str, area: &str, kind: &str, more: &str) -> Self {
        let text = BIRD.replace("ROUTER", router).replace("AREA", area).replace("KIND", kind);
        fs::write(self.folder.join("bird.conf"), text.replace("MORE", more)).unwrap();
        self.start("/usr/sbin/bird", &["-f", "-c", "bird.conf", "-s", "bird.ctl"]);
        self
    }

    /// The routes of its kernel, of both families.
    pub fn routes(&self) -> String {
        let shown = |family| words(&self.host.run(&["ip", family, "route"]).stdout);
        shown("-4") + &shown("-6")
    }

    pub fn logs(&self) -> String {
        self.processes.iter().map(Process::log_end).collect::<Vec<_>>().join("\n")
    }
}

pub fn awaited(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !is() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// What leaves and comes by the device of a host, until it is dropped.
pub struct Capture {
    file: PathBuf,
    process: Process,
}

impl Capture {
    fn of(peer: &Peer) -> Self {
        Self::filtered(peer, "ip proto 89 or udp port 3784")
    }

    /// What of it passes a filter.
    pub fn filtered(peer: &Peer, filter: &str) -> Self {
        let file = peer.folder.join("capture.pcap");
        let spec = ProcessSpec {
            namespace: Some(peer.host.namespace.name().to_owned()),
            ..ProcessSpec::new("tshark", "tshark", &peer.folder).with([
                "-q",
                "-i",
                "eth0",
                "-f",
                filter,
                "-w",
                &file.display().to_string(),
            ])
        };
        let process = Process::start(&spec).expect("tshark is installed (make setup)");
        awaited("tshark", || file.exists());
        Self { file, process }
    }

    /// Nothing that the edge sent has a fault that tshark finds.
    fn check(self, own: &str) {
        self.has(&format!("ip.src == {own}"), "ospf.msg", &["1", "2", "3", "4", "5"]);
    }

    /// What passes a filter is of all these kinds, by a field, and has no fault.
    pub fn has(mut self, filter: &str, field: &str, kinds: &[&str]) {
        self.process.stop();
        let mut command = std::process::Command::new("tshark");
        command.args(["-o", "ip.check_checksum:TRUE", "-Y", filter, "-T", "fields"]);
        command.args(["-E", "separator=|", "-E", "occurrence=a"]);
        for field in [field, "_ws.expert.message", "_ws.malformed"] {
            command.args(["-e", field]);
        }
        let output = command.arg("-r").arg(&self.file).output().unwrap();
        let text = words(&output.stdout);
        for kind in kinds {
            let is_it = |line: &str| {
                line.split('|').next().is_some_and(|it| it.split(',').any(|it| it == *kind))
            };
            assert!(text.lines().any(is_it), "type {kind} with {filter}: {text}");
        }
        let faulty: Vec<&str> = text.lines().filter(|line| !line.ends_with("||")).collect();
        assert_eq!(faulty, Vec::<&str>::new(), "with {filter}");
    }
}

/// Files of keys in the site's directory.
pub fn key_files(scene: &Scene, files: &[(&str, &str)]) {
    let folder = scene.folder.path().join("var");
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// The states of the edge's neighbours, by interface.
pub fn states(scene: &Scene) -> Vec<(String, String)> {
    let rows = scene.rows(&["igp", "neighbours"]);
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let mut all: Vec<_> =
        rows.iter().map(|row| (text(row, "interface"), text(row, "state"))).collect();
    all.sort();
    all
}

fn adjacent(scene: &Scene, interfaces: &[&str]) -> bool {
    let wanted: Vec<(String, String)> =
        interfaces.iter().map(|it| ((*it).to_owned(), "Full".to_owned())).collect();
    states(scene) == wanted
}

/// OSPF is at rest: what routers held back, since they had just said another thing (MinLSInterval,
/// five seconds), is said. An edge that is killed before has not said its last adjacency: its
/// restart is over without that (RFC 3623 §2.2 (1)), and what the forwarder had of it, a session of
/// BFD, goes. Others bear a restart only where nothing changes meanwhile (§3.2 (3)).
pub fn at_rest(scene: &Scene) {
    awaited("rest", || {
        let all = scene.rows(&["igp", "database"]);
        !all.is_empty() && all.iter().all(|it| it["age_s"].as_u64() > Some(6))
    });
}

/// The edge between FRR and two BIRDs, all adjacent.
fn started() -> (Scene, [Peer; 3], [Capture; 2]) {
    let mut scene = Scene::new();
    let a = Peer::new(&scene, "a", &["10.1.0.2/24"], &["10.9.1.1/32", "10.9.9.9/32"]);
    let b = Peer::new(&scene, "b", &["10.2.0.2/24"], &["10.9.2.1/32"]);
    let c = Peer::new(&scene, "c", &["10.3.0.2/24"], &["10.9.3.1/32", "10.9.9.9/32"]);
    let captures = [Capture::of(&a), Capture::of(&b)];
    let keys = [("a.keys", "1 md5 secret-of-a\n"), ("b.keys", "9 hmac-sha-256 secret-of-b\n")];
    key_files(&scene, &keys);
    scene.start(EDGE);
    let peers = [
        a.frr(),
        b.bird("10.255.0.3", "0.0.0.1", "broadcast", DIGESTS),
        c.bird("10.255.0.4", "0.0.0.0", "ptp", "bfd on;"),
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
fn an_edge_frr_and_bird_learn_each_others_routes_and_packets_follow() {
    let (scene, [a, b, c], captures) = started();
    // Through the edge, from an area to another one, both ways.
    awaited("BIRD's route at FRR", || a.routes().contains("10.9.2.1"));
    awaited("FRR's route at BIRD", || b.routes().contains("10.9.1.1"));
    awaited("the static route", || b.routes().contains("198.51.100.0/24 via 10.2.0.1"));
    b.host.reaches("10.9.1.1");
    let (reached, said) = a.host.ping(&["-c", "5", "-I", "10.9.1.1"], "10.9.2.1");
    assert!(reached, "{said}");
    // Two ways of one price.
    let shared = || scene.rows(&["igp", "routes", "--covering", "10.9.9.9"]);
    let ways = || shared().first().and_then(|row| row["via"].as_array().map(Vec::len));
    awaited("two ways", || ways() == Some(2));
    assert_eq!(shared()[0]["kind"], "intra-area");
    let lsas = scene.rows(&["igp", "database", "--area", "0.0.0.1", "--kind", "Summary"]);
    assert!(lsas.iter().any(|it| it["says"].as_str().unwrap().starts_with("10.9.1.1/32")));
    let row = scene.rows(&["igp"]).remove(0);
    assert_eq!(row["adjacencies"], 3, "{row}");
    assert_eq!(row["areas"], 2, "{row}");
    awaited("BFD", || scene.rows(&["igp"])[0]["bfd_up"] == 1);
    assert_eq!(scene.refusals(), Vec::<Value>::new());
    // A link goes: the other way of the two stays, and what was behind it is gone everywhere.
    scene.router.ip(&["link", "set", "dev", "a", "down"]).unwrap();
    awaited("the loss", || !b.routes().contains("10.9.1.1"));
    assert_eq!(ways(), Some(1));
    awaited("that the static route goes too", || !b.routes().contains("198.51.100.0"));
    b.host.reaches("10.9.9.9");
    scene.router.ip(&["link", "set", "dev", "a", "up"]).unwrap();
    awaited("the repair", || adjacent(&scene, &["a", "b", "c"]));
    awaited("FRR's route again", || b.routes().contains("10.9.1.1"));
    b.host.reaches("10.9.1.1");
    // Another price, live: no adjacency ends.
    let lost = || scene.logs().matches("adjacency lost").count();
    let before = lost();
    assert!(before > 0, "the link that went was told");
    let dearer = "network = \"point-to-point\"\ncost = 20";
    scene.change(&EDGE.replace("network = \"point-to-point\"\ncost = 10", dearer));
    assert!(adjacent(&scene, &["a", "b", "c"]));
    assert_eq!(lost(), before);
    awaited("one way is cheaper", || ways() == Some(1));
    let [of_a, of_b] = captures;
    of_a.check("10.1.0.1");
    of_b.check("10.2.0.1");
    awaited("that the other area knows all", || c.routes().contains("10.9.2.1"));
}

#[test]
fn a_control_that_dies_and_comes_back_is_borne_and_no_packet_is_lost() {
    let (mut scene, [a, b, _c], _captures) = started();
    awaited("FRR's route at BIRD", || b.routes().contains("10.9.1.1"));
    b.host.reaches("10.9.1.1");
    at_rest(&scene);
    let host = &b.host;
    let pinging = thread::scope(|scope| {
        let pings = scope.spawn(|| host.ping(&["-c", "300", "-i", "0.1"], "10.9.1.1"));
        thread::sleep(Duration::from_secs(2));
        scene.kill();
        thread::sleep(Duration::from_secs(1));
        scene.start_again();
        let state = || scene.rows(&["igp"])[0]["state"].clone();
        awaited("the end of the restart", || state() == "running");
        awaited("adjacencies", || adjacent(&scene, &["a", "b", "c"]));
        pings.join().unwrap()
    });
    let (reached, said) = pinging;
    assert!(reached && said.contains(" 0% packet loss"), "{said}");
    assert!(a.routes().contains("10.9.2.1"), "{}", a.routes());
}

#[test]
fn what_frr_and_bird_say_otherwise_is_the_reason_why_they_are_no_neighbours() {
    let mut scene = Scene::new();
    let [a, b, c] = [("a", 1), ("b", 2), ("c", 3)].map(|(device, net)| {
        let own = format!("10.9.{net}.1/32");
        Peer::new(&scene, device, &[&format!("10.{net}.0.2/24")], &[&own])
    });
    let keys = [("a.keys", "1 md5 another\n"), ("b.keys", "9 hmac-sha-256 secret-of-b\n")];
    key_files(&scene, &keys);
    scene.start(EDGE);
    // BIRD's default is broadcast.
    let _peers = [
        a.frr(),
        b.bird("10.255.0.3", "0.0.0.2", "broadcast", DIGESTS),
        c.bird("10.255.0.4", "0.0.0.0", "broadcast", ""),
    ];
    let wanted = [
        ("a", "refused", "it knows another secret: both say key 1"),
        ("b", "refused", "its area is 0.0.0.2, here 0.0.0.1"),
        ("c", "Full", "it takes the link for a broadcast one, here it is point-to-point"),
    ];
    let said = || {
        let rows = scene.rows(&["igp", "neighbours"]);
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        rows.iter().map(|row| ["interface", "state", "why"].map(|key| text(row, key))).collect()
    };
    let wanted: Vec<[String; 3]> =
        wanted.into_iter().map(|(at, state, why)| [at, state, why].map(str::to_owned)).collect();
    let until = Instant::now() + LONG;
    loop {
        let rows: Vec<[String; 3]> = said();
        if rows == wanted {
            break;
        }
        assert!(Instant::now() < until, "{rows:?}");
        thread::sleep(Duration::from_millis(200));
    }
    let logs = scene.logs();
    for [_, _, why] in &wanted {
        let lines =
            logs.lines().filter(|line| line.contains("WARN") && line.contains(why.as_str()));
        assert_eq!(lines.count(), 1, "{why}: {logs}");
    }
}
