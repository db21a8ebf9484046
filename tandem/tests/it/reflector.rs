//! A site with a route reflector as a real process, and real BIRD and GoBGP as its clients:
//! sessions with capabilities, tables of several families through it, route refresh, graceful
//! restart, passwords.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const LONG: Duration = Duration::from_secs(60);

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A process; killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(program: &str, arguments: &[&str], folder: &Path, log: &str) -> Running {
    let log = std::fs::File::create(folder.join(log)).unwrap();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log);
    Running(command.spawn().unwrap_or_else(|error| panic!("{program}: {error}")))
}

/// A site with a reflector on a port of 127.0.0.1, its clients on other addresses of the loopback.
struct Scene {
    _site: Running,
    folder: tempfile::TempDir,
    port: u16,
}

fn free_port() -> u16 {
    peers::free_port([127, 0, 0, 1].into()).unwrap().port()
}

impl Scene {
    fn of(rest: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let text = Self::text(port, rest);
        std::fs::write(folder.path().join("site.toml"), text).unwrap();
        let site = start(TANDEM, &["run", "site.toml"], folder.path(), "tandem.log");
        let scene = Self { _site: site, folder, port };
        let waited = scene.ctl(&["wait"]);
        assert!(waited.status.success(), "{}", scene.log("tandem.log"));
        scene
    }

    fn text(port: u16, rest: &str) -> String {
        format!(
            "[site]\nname = \"test\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n\
             [[rr]]\nname = \"rr1\"\nasn = 65000\nidentifier = \"10.255.0.1\"\n\
             listen = [\"127.0.0.1:{port}\"]\nshutdown_text = \"the test is over\"\n{rest}"
        )
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn ctl(&self, arguments: &[&str]) -> Output {
        let file = self.path("site.toml");
        let mut command = Command::new(TANDEM);
        for name in ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET"] {
            command.env_remove(name);
        }
        command.args(["ctl", "--timeout", "60", "--site"]).arg(file).args(arguments);
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn text_of(&self, arguments: &[&str]) -> String {
        let output = self.ctl(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", words(&output.stderr));
        words(&output.stdout)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text_of(&[&["-o", "json"], arguments].concat())).unwrap()
    }

    /// Waits until what a command shows is as it should be.
    fn until(&self, arguments: &[&str], holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let end = Instant::now() + LONG;
        loop {
            let rows = self.json(arguments).as_array().cloned().unwrap();
            if holds(&rows) {
                return rows;
            }
            let logs = ["bird.log", "gobgp.log"].map(|name| self.log(name));
            assert!(Instant::now() < end, "{arguments:?}: {rows:?}\n{}", logs.join("\n"));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn until_up(&self, peers: usize) {
        let is_up = |row: &&Value| row["state"] == "Established";
        self.until(&["bgp"], |rows| rows.iter().filter(is_up).count() == peers);
    }

    /// Waits until a program says something.
    fn until_said(&self, program: &str, arguments: &[&str], holds: impl Fn(&str) -> bool) {
        let end = Instant::now() + LONG;
        loop {
            let mut command = Command::new(program);
            let output = command.args(arguments).current_dir(self.folder.path()).output().unwrap();
            let said = words(&output.stdout) + &words(&output.stderr);
            if holds(&said) {
                return;
            }
            assert!(Instant::now() < end, "{program} {arguments:?}: {said}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// BIRD on 127.0.1.1 with routes of IPv4, IPv6 and of a VPN.
    fn bird(&self, options: &str) -> Running {
        let port = self.port;
        let config = format!(
            r#"
router id 10.1.0.1;
ipv4 table master4;
ipv6 table master6;
vpn4 table vpn4tab;
protocol device {{}}
protocol static {{ ipv4; route 192.0.2.0/24 blackhole; route 198.51.100.0/24 blackhole; }}
protocol static {{ ipv6; route 2001:db8:1::/48 blackhole; }}
protocol static {{ vpn4 {{ table vpn4tab; }}; route 65000:7 203.0.113.0/24 via "lo" mpls 77; }}
protocol bgp reflector {{
  local 127.0.1.1 port {port} as 65000;
  neighbor 127.0.0.1 port {port} as 65000;
  strict bind yes;
  connect retry time 2; connect delay time 1; error wait time 1, 2;
  graceful restart on;
  {options}
  ipv4 {{ import all; export where source = RTS_STATIC; next hop address 10.1.0.1; }};
  ipv6 {{ import all; export where source = RTS_STATIC; next hop address 2001:db8::1; }};
  vpn4 mpls {{
    table vpn4tab; import all; export where source = RTS_STATIC; next hop address 10.1.0.1;
  }};
}}
"#
        );
        std::fs::write(self.path("bird.conf"), config).unwrap();
        let arguments = ["-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"];
        start("/usr/sbin/bird", &arguments, self.folder.path(), "bird.log")
    }

    fn birdc(&self, order: &[&str], holds: impl Fn(&str) -> bool) {
        self.until_said("/usr/sbin/birdc", &[&["-s", "bird.ctl"], order].concat(), holds);
    }

    /// GoBGP on 127.0.2.1.
    fn gobgp(&self, api: u16) -> Running {
        let port = self.port;
        let config = format!(
            r#"
[global.config]
as = 65000
router-id = "10.2.0.1"
port = {port}
local-address-list = ["127.0.2.1"]
[[neighbors]]
[neighbors.config]
neighbor-address = "127.0.0.1"
peer-as = 65000
[neighbors.transport.config]
local-address = "127.0.2.1"
remote-port = {port}
[neighbors.timers.config]
connect-retry = 2
idle-hold-time-after-reset = 2
[[neighbors.afi-safis]]
config.afi-safi-name = "ipv4-unicast"
[[neighbors.afi-safis]]
config.afi-safi-name = "ipv6-unicast"
[[neighbors.afi-safis]]
config.afi-safi-name = "l3vpn-ipv4-unicast"
[[neighbors.afi-safis]]
config.afi-safi-name = "l2vpn-evpn"
"#
        );
        std::fs::write(self.path("gobgp.toml"), config).unwrap();
        let api = format!("127.0.0.1:{api}");
        let arguments = ["-f", "gobgp.toml", "--api-hosts", &api];
        start("/usr/bin/gobgpd", &arguments, self.folder.path(), "gobgp.log")
    }
}

fn gobgp(scene: &Scene, api: u16, order: &[&str], holds: impl Fn(&str) -> bool) {
    let api = api.to_string();
    scene.until_said("/usr/bin/gobgp", &[&["-p", &api], order].concat(), holds);
}

const CLIENTS: &str = r#"
[[rr.group]]
name = "clients"
client = true
passive = true
families = ["ipv4-unicast", "ipv6-unicast", "vpnv4", "evpn"]
graceful_restart_s = 60
ranges = ["127.0.0.0/8"]
"#;

#[test]
fn bird_and_gobgp_exchange_ipv4_ipv6_and_vpns_through_the_reflector() {
    let scene = Scene::of(CLIENTS);
    let api = free_port();
    let _bird = scene.bird("");
    let _gobgp = scene.gobgp(api);
    scene.until_up(2);
    let peer = scene.json(&["bgp", "peer", "rr1", "127.0.1.1"]);
    let agreed = &peer[0]["agreed"];
    assert_eq!(agreed["families"], serde_json::json!(["ipv4-unicast", "ipv6-unicast", "vpnv4"]));
    assert_eq!(agreed["enhanced_refresh"], true);
    assert_eq!(agreed["graceful_restart"].as_array().unwrap().len(), 3);
    // BIRD's routes reach GoBGP.
    gobgp(&scene, api, &["global", "rib"], |said| said.contains("198.51.100.0/24"));
    gobgp(&scene, api, &["global", "rib", "-a", "ipv6"], |said| said.contains("2001:db8:1::/48"));
    gobgp(&scene, api, &["global", "rib", "-a", "vpnv4"], |said| said.contains("203.0.113.0/24"));
    // GoBGP's reach BIRD; what is withdrawn goes.
    gobgp(&scene, api, &["global", "rib", "add", "10.77.0.0/16", "nexthop", "10.2.0.1"], |_| true);
    scene.birdc(&["show", "route", "10.77.0.0/16", "all"], |said| {
        said.contains("10.77.0.0/16") && said.contains("BGP.originator_id: 10.2.0.1")
    });
    let mac = ["global", "rib", "add", "-a", "evpn", "macadv", "aa:bb:cc:dd:ee:01", "10.0.0.5"];
    let rest = [
        "etag",
        "100",
        "label",
        "1000",
        "rd",
        "10.2.0.1:1",
        "rt",
        "65000:1",
        "encap",
        "vxlan",
        "nexthop",
        "10.2.0.1",
    ];
    gobgp(&scene, api, &[&mac[..], &rest[..]].concat(), |_| true);
    scene.until(&["bgp", "routes", "rr1", "evpn"], |rows| {
        rows.iter()
            .any(|row| row["route"].as_str().is_some_and(|it| it.contains("aa:bb:cc:dd:ee:01")))
    });
    gobgp(&scene, api, &["global", "rib", "del", "10.77.0.0/16"], |_| true);
    scene.birdc(&["show", "route", "10.77.0.0/16"], |said| !said.contains("10.77.0.0/16 "));
    // BIRD asks for everything again; GoBGP looks again at what it has.
    scene.birdc(&["reload", "in", "reflector"], |said| said.contains("reloading"));
    gobgp(&scene, api, &["neighbor", "127.0.0.1", "softresetin"], |_| true);
    let refreshed = |rows: &[Value]| {
        rows.iter().any(|row| row["value"].as_u64().is_some_and(|value| value >= 3))
    };
    scene.until(&["counters", "--name", "rr_refreshes"], refreshed);
    gobgp(&scene, api, &["global", "rib"], |said| said.contains("198.51.100.0/24"));
    scene.until_up(2);
    let route = scene.json(&["bgp", "route", "rr1", "192.0.2.99"]);
    assert_eq!(route[0]["peer"], "127.0.1.1");
    let shown = scene.text_of(&["bgp"]);
    assert!(shown.contains("Established") && shown.contains("127.0.2.1"), "{shown}");
}

#[test]
fn routes_stay_while_bird_restarts_gracefully_and_an_operators_words_arrive() {
    let scene = Scene::of(CLIENTS);
    let api = free_port();
    let bird = scene.bird("");
    let _gobgp = scene.gobgp(api);
    scene.until_up(2);
    gobgp(&scene, api, &["global", "rib"], |said| said.contains("198.51.100.0/24"));
    drop(bird); // killed: its connection breaks without a word
    scene.until(&["bgp"], |rows| {
        rows.iter().any(|row| row["peer"] == "127.0.1.1" && row["state"] != "Established")
    });
    let kept = scene.json(&["bgp", "routes", "rr1"]);
    assert_eq!(kept[0]["stale"], true, "{kept}");
    let again = scene.bird("");
    scene.until_up(2);
    scene.until(&["bgp", "routes", "rr1"], |rows| {
        rows.len() == 2 && rows.iter().all(|row| row["stale"] == false)
    });
    gobgp(&scene, api, &["global", "rib"], |said| said.contains("198.51.100.0/24"));
    scene.text_of(&["bgp", "shutdown", "rr1", "127.0.1.1", "--text", "new line card"]);
    scene.birdc(&["show", "protocols", "all", "reflector"], |said| {
        said.contains("Administrative shutdown") || said.contains("new line card")
    });
    drop(again);
}

#[test]
fn a_password_lets_bird_in_and_a_wrong_one_does_not() {
    let peer = |password: &str| {
        format!(
            "[[rr.peer]]\nname = \"bird\"\naddress = \"127.0.1.1\"\nclient = true\n\
             passive = true\n{password}\n"
        )
    };
    let scene = Scene::of(&peer("password = \"at the neighbours\""));
    let _bird = scene.bird("password \"under the mat\";");
    let said = "segments with a wrong or no password came to this machine";
    let rows = scene.until(&["bgp"], |rows| rows[0]["why"] == said);
    assert_eq!(rows[0]["state"], "Active", "{rows:?}");
    // The right one, out of a file: the session comes, and nothing else was touched.
    std::fs::write(scene.path("var/key"), "under the mat\n").unwrap();
    let next = Scene::text(scene.port, &peer("password_file = \"key\""));
    std::fs::write(scene.path("next.toml"), next).unwrap();
    scene.text_of(&["config", "set-file", scene.path("next.toml").to_str().unwrap()]);
    scene.text_of(&["config", "commit"]);
    scene.until_up(1);
    let shown = scene.text_of(&["bgp", "peer", "rr1", "bird"]);
    assert!(shown.contains("TCP password") && !shown.contains("mat"), "{shown}");
    // Another one in the same file: nothing to commit, and read again when told.
    let commit = scene.ctl(&["config", "commit"]);
    assert!(words(&commit.stderr).contains("reload-keys"), "{}", words(&commit.stderr));
    std::fs::write(scene.path("var/key"), "behind the door\n").unwrap();
    let told = scene.text_of(&["reload-keys", "rr1"]);
    assert!(told.starts_with("rr1: other keys or passwords were read"), "{told}");
    scene.until(&["bgp"], |rows| rows[0]["state"] != "Established");
    std::fs::write(scene.path("var/key"), "under the mat\n").unwrap();
    scene.text_of(&["reload-certificates", "rr1"]);
    scene.until_up(1);
    let told = scene.text_of(&["reload-keys", "rr1"]);
    assert!(told.starts_with("rr1: its keys and passwords are those that it had"), "{told}");
    assert!(scene.text_of(&["bgp", "peers"]).contains("bird"));
    // The one reflector is meant where none is named.
    for asked in [&["bird"][..], &["bird", "ipv4-unicast"], &["rr1", "bird", "ipv4-unicast"]] {
        scene.text_of(&[&["bgp", "received"], asked].concat());
    }
    let forgotten = scene.text_of(&["bgp", "forget"]);
    assert_eq!(forgotten, "no peer is away: there is nothing to forget\n");
    std::fs::remove_file(scene.path("var/key")).unwrap();
    assert_eq!(scene.ctl(&["reload-keys", "rr1"]).status.code(), Some(1), "and nothing changed");
    scene.until_up(1);
    assert!(!scene.log("tandem.log").contains("mat"));
}

fn vrps(scene: &Scene, records: &[(&str, u8, u32)]) {
    let record = |(prefix, max, asn): &(&str, u8, u32)| {
        format!(
            r#"{{"prefix":"{prefix}","maxLength":{max},"asn":{asn},"ta":"x","expires":4000000000}}"#
        )
    };
    let records = records.iter().map(record).collect::<Vec<_>>().join(",");
    let text =
        format!(r#"{{"metadata":{{"buildtime":"2026-01-01T00:00:00Z"}},"roas":[{records}]}}"#);
    std::fs::write(scene.path("vrps.next"), text).unwrap();
    std::fs::rename(scene.path("vrps.next"), scene.path("vrps.json")).unwrap();
}

#[test]
fn what_stayrtr_says_decides_which_of_birds_routes_gobgp_gets() {
    let cache = free_port();
    let scene = Scene::of(&format!(
        r#"
[[rr.rpki]]
address = "127.0.0.1"
port = {cache}
[[rr.policy]]
name = "validated"
default = "accept"
rule = [{{ match = {{ validation = "invalid" }}, then = "reject" }}]
{CLIENTS}
import = "validated"
"#
    ));
    // BIRD's routes begin in AS 65000.
    vrps(&scene, &[("192.0.2.0/24", 24, 65_000), ("198.51.100.0/24", 24, 65_001)]);
    let (bind, metrics) = (format!("127.0.0.1:{cache}"), format!("127.0.0.1:{}", free_port()));
    let arguments = ["-bind", &bind, "-checktime=false", "-refresh", "1", "-cache", "vrps.json"];
    let arguments = [&arguments[..], &["-metrics.addr", &metrics]].concat();
    let stayrtr = start("/usr/bin/stayrtr", &arguments, scene.folder.path(), "stayrtr.log");
    scene.until(&["bgp", "rpki"], |rows| rows[0]["ipv4"] == 2);
    let api = free_port();
    let (_bird, _gobgp) = (scene.bird(""), scene.gobgp(api));
    scene.until_up(2);
    gobgp(&scene, api, &["global", "rib"], |said| {
        said.contains("192.0.2.0/24") && !said.contains("198.51.100.0/24")
    });
    let shown = scene.json(&["bgp", "route", "rr1", "198.51.100.1"]);
    assert_eq!((&shown[0]["validation"], &shown[0]["refused"]), (&"invalid".into(), &true.into()));
    // The records change: so does what GoBGP has.
    vrps(&scene, &[("192.0.2.0/24", 24, 65_001), ("198.51.100.0/24", 24, 65_000)]);
    gobgp(&scene, api, &["global", "rib"], |said| {
        !said.contains("192.0.2.0/24") && said.contains("198.51.100.0/24")
    });
    let covering = scene.json(&["bgp", "origin", "192.0.2.0/24", "--asn", "65001"]);
    assert_eq!((&covering[0]["asn"], &covering[0]["state"]), (&65_001.into(), &"valid".into()));
    // Without the cache its records count on, and somebody is told.
    drop(stayrtr);
    scene.until(&["bgp", "rpki"], |rows| rows[0]["state"] != "synchronised");
    scene.until(&["alarms"], |rows| rows.iter().any(|row| row["name"] == "rpki-cache-lost"));
    gobgp(&scene, api, &["global", "rib"], |said| !said.contains("192.0.2.0/24"));
}

#[test]
fn pmbmpd_is_told_what_comes_what_was_chosen_and_what_is_sent() {
    let station = free_port();
    let scene = Scene::of(&format!(
        "[[rr.bmp]]\nname = \"pmacct\"\naddress = \"127.0.0.1\"\nport = {station}\nretry_s = 1\n\
         tables = [\"pre-policy\", \"post-policy\", \"loc-rib\", \"adj-rib-out\"]\n{CLIENTS}"
    ));
    let heard = scene.path("heard.json");
    let config = format!(
        "bmp_daemon_ip: 127.0.0.1\nbmp_daemon_port: {station}\n\
         bmp_daemon_msglog_file: {}\nbmp_daemon_msglog_output: json\n",
        heard.display()
    );
    std::fs::write(scene.path("pmbmpd.conf"), config).unwrap();
    let arguments = ["-f", "pmbmpd.conf"];
    let _pmbmpd = start("/usr/sbin/pmbmpd", &arguments, scene.folder.path(), "pmbmpd.log");
    let api = free_port();
    let _bird = scene.bird("");
    scene.until_up(1);
    scene.until(&["bgp", "bmp"], |rows| rows[0]["complete"] == true);
    let _gobgp = scene.gobgp(api);
    scene.until_up(2);
    gobgp(&scene, api, &["global", "rib", "add", "10.77.0.0/16", "nexthop", "10.2.0.1"], |_| true);
    let messages = || -> Vec<Value> {
        let text = scene.log("heard.json");
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let has = |prefix: &str, words: &[(&str, i64)]| {
        let is_it = |it: &Value| {
            it["ip_prefix"] == prefix && words.iter().all(|(key, value)| it[*key] == *value)
        };
        messages().iter().any(is_it)
    };
    // GoBGP's route as it came, behind the policy, as it was chosen, and as BIRD is sent it; and
    // BIRD's routes of other families.
    let tables: [(&str, &[(&str, i64)]); 6] = [
        ("10.77.0.0/16", &[("is_in", 1), ("is_post", 0)]),
        ("10.77.0.0/16", &[("is_in", 1), ("is_post", 1)]),
        ("10.77.0.0/16", &[("is_loc", 1)]),
        ("10.77.0.0/16", &[("is_out", 1), ("is_post", 1)]),
        ("2001:db8:1::/48", &[("is_loc", 1), ("afi", 2)]),
        ("203.0.113.0/24", &[("is_loc", 1), ("safi", 128)]),
    ];
    let end = Instant::now() + LONG;
    while !tables.iter().all(|(prefix, words)| has(prefix, words)) {
        let all = messages();
        assert!(Instant::now() < end, "{all:#?}\n{}", scene.log("pmbmpd.log"));
        std::thread::sleep(Duration::from_millis(100));
    }
    scene.text_of(&["bgp", "clear", "rr1", "127.0.2.1"]);
    let end = Instant::now() + LONG;
    while !messages().iter().any(|it| it["bmp_msg_type"] == "peer_down") {
        assert!(Instant::now() < end, "{:#?}", messages());
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn bgpdump(file: &Path) -> String {
    let output = Command::new("bgpdump").args(["-m", "-v"]).arg(file).output().unwrap();
    let errors = words(&output.stderr);
    // It knows no VPNs, and says so.
    let is_fault = |line: &&str| {
        line.contains("[error]") || (line.contains("[warn]") && !line.contains(": unknown "))
    };
    assert_eq!(errors.lines().find(is_fault), None);
    words(&output.stdout)
}

#[test]
fn bgpdump_reads_the_tables_and_what_came() {
    let rest = format!("mrt = {{ directory = \"records\" }}\n{CLIENTS}");
    let scene = Scene::of(&rest);
    let api = free_port();
    let (_bird, _gobgp) = (scene.bird(""), scene.gobgp(api));
    scene.until_up(2);
    gobgp(&scene, api, &["global", "rib", "add", "10.77.0.0/16", "nexthop", "10.2.0.1"], |_| true);
    scene.until(&["bgp", "routes", "rr1"], |rows| rows.len() == 3);
    let file = scene.path("tables.mrt");
    scene.text_of(&["bgp", "dump", "rr1", file.to_str().unwrap()]);
    let told = bgpdump(&file);
    for (peer, prefix) in [
        ("127.0.1.1", "192.0.2.0/24"),
        ("127.0.1.1", "2001:db8:1::/48"),
        ("127.0.2.1", "10.77.0.0/16"),
    ] {
        let is_it = |line: &str| line.contains(&format!("|B|{peer}|65000|{prefix}|"));
        assert!(told.lines().any(is_it), "{told}");
    }
    let refused = scene.ctl(&["bgp", "dump", "rr1", file.to_str().unwrap()]);
    assert!(!refused.status.success(), "a file that is there is not written over");
    let end = Instant::now() + LONG;
    loop {
        let folder = std::fs::read_dir(scene.path("var/records")).unwrap();
        let said: String = folder.map(|entry| bgpdump(&entry.unwrap().path())).collect();
        let has = |word: &str| said.lines().any(|line| line.contains(word));
        if has("|STATE|127.0.1.1|65000|5|6") && has("|A|127.0.2.1|65000|10.77.0.0/16|") {
            break;
        }
        assert!(Instant::now() < end, "{said}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn birds_packets_must_come_from_nearby_and_two_threads_serve_the_same() {
    let near = "shards = 2\n[[rr.peer]]\nname = \"bird\"\naddress = \"127.0.1.1\"\nclient = true\n\
                passive = true\nttl_security_hops = 1\n";
    let rest = format!("{near}{CLIENTS}");
    let scene = Scene::of(&rest);
    let far = scene.bird("multihop 8;");
    let api = free_port();
    let _gobgp = scene.gobgp(api);
    scene.until_up(1);
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(scene.json(&["bgp", "peer", "rr1", "bird"])[0]["state"], "Active");
    drop(far);
    let _bird = scene.bird("ttl security on; multihop 1;");
    scene.until_up(2);
    gobgp(&scene, api, &["global", "rib", "add", "10.77.0.0/16", "nexthop", "10.2.0.1"], |_| true);
    scene.birdc(&["show", "route", "10.77.0.0/16"], |said| said.contains("10.77.0.0/16"));
}

#[test]
fn exabgp_announces_a_flow_specification() {
    let rest = CLIENTS.replace("\"evpn\"]", "\"ipv4-flowspec\"]");
    let scene = Scene::of(&rest);
    let config = format!(
        "neighbor 127.0.0.1 {{ router-id 10.3.0.1; local-address 127.0.3.1; local-as 65000; \
         peer-as 65000; connect {}; family {{ ipv4 unicast; ipv4 flow; }} \
         static {{ route 10.88.0.0/16 next-hop 10.3.0.1 community [ 65000:7 ]; }} \
         flow {{ route web {{ match {{ destination 203.0.113.0/24; destination-port =80; \
         protocol tcp; }} then {{ rate-limit 9600; }} }} }} }}",
        scene.port
    );
    // One thing a line, as ExaBGP wants it.
    let config = config.replace("{ ", "{\n").replace("; ", ";\n").replace("} ", "}\n");
    std::fs::write(scene.path("exabgp.conf"), config).unwrap();
    let arguments = ["exabgp_daemon_drop=false", "exabgp_api_cli=false", "exabgp", "exabgp.conf"];
    let _exabgp = start("/usr/bin/env", &arguments, scene.folder.path(), "exabgp.log");
    scene.until_up(1);
    let flows = scene.until(&["bgp", "routes", "rr1", "ipv4-flowspec"], |rows| rows.len() == 1);
    let shown = flows[0]["route"].as_str().unwrap();
    assert!(shown.starts_with("destination 18cb0071 protocol 8106"), "{shown}");
    assert_eq!(flows[0]["next_hop"], Value::Null);
    let routes = scene.until(&["bgp", "routes", "rr1"], |rows| rows.len() == 1);
    assert_eq!(routes[0]["communities"], serde_json::json!(["65000:7"]));
}
