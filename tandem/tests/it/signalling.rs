//! Two sites with a signalling gateway each, as real processes: an ASP over TCP at one of them, an
//! echo at the other, and SCTP in UDP on two paths between them, recorded and read by tshark.

use crate::asp::Asp;
use crate::ways::{self, Ways};
use serde_json::Value;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const LONG: Duration = Duration::from_secs(60);

fn tandem(arguments: &[&str]) -> Output {
    let mut command = Command::new(TANDEM);
    for name in ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET"] {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A running site; killed when dropped.
struct Site {
    folder: tempfile::TempDir,
    child: Child,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Site {
    fn of(text: &str) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), text)
    }

    fn in_folder(folder: tempfile::TempDir, text: &str) -> Self {
        let file = folder.path().join("site.toml");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(TANDEM);
        command.args(["run", "site.toml"]).current_dir(folder.path()).stderr(Stdio::null());
        let site = Self { child: command.spawn().unwrap(), folder };
        let waited = site.ctl(&["wait"]);
        assert!(
            waited.status.success(),
            "{}",
            words(&tandem(&["check", file.to_str().unwrap()]).stderr)
        );
        site
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("site.toml")
    }

    fn ctl(&self, arguments: &[&str]) -> Output {
        let file = self.file();
        let site = ["ctl", "--site", file.to_str().unwrap(), "--timeout", "60"];
        tandem(&[&site, arguments].concat())
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.ctl(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", words(&output.stderr));
        words(&output.stdout)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[&["-o", "json"], arguments].concat())).unwrap()
    }

    /// Waits until what a command shows is as it should be.
    fn until(&self, arguments: &[&str], holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let end = Instant::now() + LONG;
        loop {
            let rows = self.json(arguments).as_array().cloned().unwrap();
            if holds(&rows) {
                return rows;
            }
            assert!(Instant::now() < end, "{arguments:?}: {rows:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Makes another text the running configuration.
    fn commit(&self, text: &str) {
        let file = self.folder.path().join("next.toml");
        std::fs::write(&file, text).unwrap();
        self.text(&["config", "set-file", file.to_str().unwrap()]);
        self.text(&["config", "commit"]);
    }
}

fn free_port() -> u16 {
    peers::free_port([127, 0, 0, 1].into()).unwrap().port()
}

const HEAD: &str =
    "[site]\nname = \"test\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\ndrain_s = 5\n";

fn west(tcp: u16, udp: u16) -> String {
    format!(
        r#"{HEAD}
[[sgc]]
name = "west"
point_code_format = "decimal"
tcp = {{ listen = ["127.0.0.1:{tcp}"] }}
peer = [
  {{ name = "a", role = "asp", transport = "tcp", addresses = ["127.0.0.1"] }},
  {{ name = "east", role = "asp", addresses = ["127.0.0.21", "127.0.0.22"] }},
]
application_server = [
  {{ name = "one", peers = ["a"], routing_context = 1, destination = [{{ point_code = "1" }}] }},
  {{ name = "two", peers = ["east"], routing_context = 2, destination = [{{ point_code = "2" }}] }},
]
[sgc.sctp]
addresses = ["127.0.0.11", "127.0.0.12"]
encapsulation_port = {udp}
preset = "telecom(2)"
parameters = {{ hb_interval_ms = 500 }}
"#
    )
}

fn east(udp: u16, way: u16) -> String {
    format!(
        r#"{HEAD}
[[sgc]]
name = "east"
point_code_format = "decimal"
point_codes = ["2"]
echo_service_indicators = [15]
timers = {{ reconnect_ms = 200 }}
application_server = [
  {{ name = "own", served_by = "here", peers = ["west"], routing_context = 2,
     destination = [{{ point_code = "2" }}] }},
]
[sgc.sctp]
addresses = ["127.0.0.21", "127.0.0.22"]
encapsulation_port = {udp}
preset = "telecom(2)"
parameters = {{ hb_interval_ms = 500 }}
[[sgc.peer]]
name = "west"
role = "sgp"
addresses = ["127.0.0.11", "127.0.0.12"]
encapsulation_port = {way}
connect = true
"#
    )
}

fn is_up(rows: &[Value]) -> bool {
    rows.iter().all(|row| row["state"] == "active")
}

#[test]
fn msus_cross_tcp_and_sctp_through_two_sites_and_a_path_may_fail() {
    let (tcp, udp, near) = (free_port(), free_port(), free_port());
    let ways = Ways::between(["127.0.0.11", "127.0.0.12"], udp, ["127.0.0.21", "127.0.0.22"], near);
    let west_text = west(tcp, udp);
    let (west, east) = (Site::of(&west_text), Site::of(&east(near, ways.port())));
    let mut asp = Asp::connect(tcp);
    west.until(&["m3ua", "asps"], |rows| rows.len() == 2 && is_up(rows));
    let servers = west.json(&["m3ua", "servers"]);
    assert!(servers.as_array().unwrap().iter().all(|row| row["state"] == "AS-ACTIVE"), "{servers}");
    let routes = east.text(&["m3ua", "routes"]);
    assert!(routes.contains("this node") && routes.contains("gateway 0 (west)"), "{routes}");
    asp.echo(40);
    west.until(&["sctp", "paths"], |rows| rows.len() == 2 && is_up(rows));
    assert_eq!(west.json(&["sctp"])[0]["name"], "east");

    // Every time-out in a row wants something to send.
    ways.cut(0, true);
    let alarmed = |rows: &[Value]| rows.iter().any(|row| row["name"] == "path-inactive");
    let end = Instant::now() + LONG;
    while !alarmed(west.json(&["alarms"]).as_array().unwrap()) {
        assert!(Instant::now() < end, "{}", west.text(&["sctp", "paths"]));
        asp.echo(8);
    }
    asp.echo(40);
    ways.cut(0, false);
    west.until(&["alarms"], |rows| !alarmed(rows));

    // Parameters change while the association stands.
    west.commit(
        &west_text.replace("hb_interval_ms = 500", "hb_interval_ms = 500, rto_min_ms = 140"),
    );
    asp.echo(20);
    let is_slower = |row: &Value| row["rto_ms"].as_f64().unwrap() >= 140.0;
    west.until(&["sctp", "paths"], |rows| rows.iter().any(is_slower));
    assert_eq!(west.json(&["counters", "--name", "sctp_associations_lost"]), Value::Array(vec![]));

    // The one gateway is meant where none is named.
    for (asked, said) in [
        (&["audit", "west", "1"][..], "west was asked for the status of 1"),
        (&["audit", "east", "west", "all"], "west was asked for the status of all"),
        (&["activate", "west", "own"], "west was asked for the traffic of own"),
    ] {
        let told = east.text(&[&["m3ua"], asked].concat());
        assert!(told.starts_with(said), "{told}");
    }

    // East leaves in order: west hears it at once and says so.
    drop(east.text(&["drain"]));
    west.until(&["alarms"], |rows| {
        rows.iter().any(|row| row["name"] == "association-down" && row["subject"] == "east")
    });
    let packets = ways.end();
    assert!(packets.len() > 60, "{} packets were recorded", packets.len());
    ways::dissect_sctp(&packets);
    ways::dissect_m3ua(&asp.messages);
}

/// Two sites whose association stands, and the ways between them.
fn associated() -> (Ways, Site, Site) {
    let (tcp, udp, near) = (free_port(), free_port(), free_port());
    let ways = Ways::between(["127.0.0.11", "127.0.0.12"], udp, ["127.0.0.21", "127.0.0.22"], near);
    let (west, east) = (Site::of(&west(tcp, udp)), Site::of(&east(near, ways.port())));
    west.until(&["sctp", "paths"], |rows| rows.len() == 2 && is_up(rows));
    (ways, west, east)
}

fn is_lost(rows: &[Value]) -> bool {
    rows.iter().any(|row| row["name"] == "association-down" && row["subject"] == "east")
}

#[test]
fn a_site_that_is_killed_has_its_associations_aborted_by_its_guardian() {
    const ABORT: u8 = 6;
    let (ways, west, mut east) = associated();
    let killed = Instant::now();
    east.child.kill().unwrap();
    east.child.wait().unwrap();
    west.until(&["alarms"], is_lost);
    eprintln!("the peer knew it, and was asked, within {:?}", killed.elapsed());
    let lost = west.json(&["counters", "--name", "sctp_associations_lost"]);
    assert_eq!(lost[0]["value"], 1, "{lost}");
    let packets = ways.end();
    let aborts = ways::aborts(&packets);
    // One on each path, with the tag that east has sent with all the time.
    assert_eq!(aborts.len(), 2, "{aborts:?}");
    let of_east = |packet: &&Vec<u8>| packet[12] != ABORT && ways::tag(packet) == aborts[0];
    assert!(aborts[0] == aborts[1] && packets.iter().any(|it| of_east(&it)), "{aborts:?}");
}

#[test]
fn a_site_that_ends_in_order_has_nothing_aborted() {
    let (ways, west, mut east) = associated();
    drop(east.text(&["drain"]));
    west.until(&["alarms"], is_lost);
    assert!(east.child.wait().unwrap().success());
    assert_eq!(ways::aborts(&ways.end()), [] as [u32; 0]);
}

#[test]
fn a_wrong_section_is_refused_with_file_line_and_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    let path = file.to_str().unwrap();
    let cases = [
        (
            "peers = [\"east\"]",
            "peers = [\"eats\"]",
            "there is no peer `eats`",
            "did you mean `east`?",
        ),
        ("point_code = \"2\"", "point_code = \"1\"", "belongs to another", "tell them apart"),
        ("telecom(2)", "telecoms", "not a preset", "rfc9260"),
        ("role = \"asp\", transport", "role = \"apps\", transport", "apps", "asp"),
    ];
    for (was, is, what, hint) in cases {
        let text = west(free_port(), free_port()).replacen(was, is, 1);
        std::fs::write(&file, &text).unwrap();
        let line = text.lines().collect::<Vec<_>>();
        let line = line.iter().rposition(|line| line.contains(is)).unwrap() + 1;
        let output = tandem(&["check", path]);
        let said = words(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(&format!("{path}:{line}:")), "line {line}: {said}");
        assert!(said.contains(what) && said.contains(hint), "{said}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    std::fs::write(&file, west(port, free_port())).unwrap();
    let said = words(&tandem(&["check", path]).stderr);
    assert!(said.contains("is taken by another program") && said.contains("tcp.listen"), "{said}");
}

#[test]
fn rules_of_a_file_are_at_work_and_what_is_wrong_in_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (file, rules) = (folder.path().join("site.toml"), folder.path().join("var/rules.toml"));
    std::fs::create_dir(folder.path().join("var")).unwrap();
    let own = "rule = [{ name = \"own\", operations = [\"sendIMSI\"], action = \"discard\" }]";
    let set = format!("[[sgc.screening]]\nname = \"abroad\"\nfile = \"rules.toml\"\n{own}\n");
    let text = west(free_port(), free_port()) + &set;
    std::fs::write(&file, &text).unwrap();
    let row = |operation| {
        format!("[[rule]]\nname = \"far\"\noperations = [\"{operation}\"]\naction = \"discard\"\n")
    };
    let wrong = [
        (None, "No such file"),
        (Some("[[rule]]\nnam = 1\n".to_owned()), "rules.toml, line"),
        (Some(row("sendImsi")), "rule[0].operations"),
    ];
    for (written, what) in wrong {
        written.iter().for_each(|it| std::fs::write(&rules, it).unwrap());
        let output = tandem(&["check", file.to_str().unwrap()]);
        let said = words(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(what) && said.contains("file = \"rules.toml\""), "{said}");
    }
    std::fs::write(&rules, row("anyTimeInterrogation")).unwrap();
    let site = Site::in_folder(folder, &text);
    let hits = site.json(&["screening", "hits", "--all"]);
    let names: Vec<_> = hits.as_array().unwrap().iter().map(|it| it["rule"].as_str()).collect();
    assert_eq!(names, [Some("own"), Some("far")], "those of the section are in front");

    // Another file, before it is committed, on what was recorded: the later one is read first.
    let captures = ["late.pcap", "early.pcap"].map(|it| site.folder.path().join(it));
    let calls = [(70, "819000000001"), (10, "33609000001")];
    for (name, (at_s, calling)) in captures.iter().zip(calls) {
        std::fs::write(name, recorded(at_s, calling)).unwrap();
    }
    std::fs::write(site.folder.path().join("var/rules.toml"), PLACES).unwrap();
    let [late, early] = captures.each_ref().map(|it| it.to_str().unwrap());
    let file = site.file();
    let tried = ["screening", "try", file.to_str().unwrap(), "--read", late, "--read", early];
    let said = site.json(&tried);
    assert_eq!((&said["judged"], &said["segmented"]), (&2.into(), &0.into()), "{said}");
    let refused = said["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 1, "{said}");
    let what = ["by", "peer", "operation", "calling"].map(|it| refused[0][it].as_str().unwrap());
    assert_eq!(what, ["abroad/fast", "east", "updateLocation", "819000000001"]);
}

const PLACES: &str = r#"
[[operator]]
name = "France"
titles = ["33"]
at = [46.6, 2.4]
radius_km = 600
[[operator]]
name = "Japan"
titles = ["81"]
at = [36.5, 138.0]
radius_km = 1500
[[rule]]
name = "fast"
operations = ["updateLocation"]
location = "implausible"
"#;

/// A capture of one MSU from east: an update of a location, in SCTP over UDP.
fn recorded(at_s: u32, calling: &str) -> Vec<u8> {
    let title = |digits: &str, subsystem: u8| {
        let halves: Vec<u8> = digits.bytes().map(|it| it - b'0').collect();
        let pairs = halves.chunks(2).map(|it| it[0] | it.get(1).copied().unwrap_or(0) << 4);
        let encoding = if halves.len() % 2 == 1 { 0x11 } else { 0x12 };
        let mut out = vec![0x12, subsystem, 0, encoding, 4];
        out.extend(pairs);
        out
    };
    let within = |tag: u8, contents: &[u8]| [&[tag, contents.len() as u8], contents].concat();
    let imsi = within(4, &[0x62, 0x02, 0x11, 0x32, 0x54, 0x76, 0x98, 0xf0]);
    let invoke = [&[2, 1, 1, 2, 1, 2][..], &within(0x30, &imsi)].concat();
    let components = within(0x6c, &within(0xa1, &invoke));
    let tcap = within(0x62, &[within(0x48, &[0, 0, 0, 1]), components].concat());
    let (called, calling) = (title("491710000001", 6), title(calling, 7));
    let mut sccp = vec![9, 0, 3, called.len() as u8 + 3, (called.len() + calling.len() + 3) as u8];
    for part in [called, calling, tcap] {
        sccp.push(part.len() as u8);
        sccp.extend(part);
    }
    let code = |number| m3ua::codec::PointCode::new(number).unwrap();
    let protocol_data = m3ua::codec::ProtocolData {
        opc: code(2),
        dpc: code(1),
        si: 3,
        ni: 2,
        mp: 0,
        sls: 1,
        payload: &sccp,
    };
    let mut m3ua = Vec::new();
    m3ua::codec::Data { network: None, routing_context: None, protocol_data, correlation: None }
        .write(&mut m3ua);
    let mut chunk = vec![0, 3];
    chunk.extend_from_slice(&(16 + m3ua.len() as u16).to_be_bytes());
    chunk.extend_from_slice(&[0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 3]);
    chunk.extend(m3ua);
    let sctp = [&[0x0b, 0x59, 0x0b, 0x59, 0, 0, 0, 1, 0, 0, 0, 0][..], &chunk].concat();
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&(28 + sctp.len() as u16).to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 21, 127, 0, 0, 11]);
    packet.extend_from_slice(&[0x26, 0xab, 0x26, 0xab]);
    packet.extend_from_slice(&(8 + sctp.len() as u16).to_be_bytes());
    packet.extend_from_slice(&[0, 0]);
    packet.extend(sctp);
    let mut file = Vec::new();
    let length = packet.len() as u32;
    // Link type 101: IP alone.
    for word in [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, 101, at_s, 0, length, length] {
        file.extend_from_slice(&u32::to_be_bytes(word));
    }
    file.extend(packet);
    file
}

#[test]
fn a_guardian_that_nobody_has_started_for_himself_guards_nothing() {
    let output = tandem(&["guardian", "--ip"]);
    assert!(!output.status.success());
    let said = words(&output.stderr);
    assert!(said.contains("cannot be watched"), "{said}");
}
