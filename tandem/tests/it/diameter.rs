//! A gateway as a process with Diameter peers that others wrote: freeDiameter, which relays, and
//! python-diameter as the home subscriber server, each dialled and accepted. Needs root: what
//! passes is captured, and tshark reads it.

mod charging;
mod messages;

use crate::messages::{Core, Site, port};
use peers::{Process, ProcessSpec, Talk};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const HSS: &str = include_str!("diameter/hss.py");
const ALICE: &str = "447700900123";

/// freeDiameter, which listens at all addresses of the machine at that port, and connects to a
/// peer.
fn relay(directory: &Path, own: u16, to: (&str, &str)) -> Process {
    let key = KeyPair::generate().unwrap();
    let names = vec![String::from("fd.net")];
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    fs::write(directory.join("fd.crt"), certificate.pem()).unwrap();
    fs::write(directory.join("fd.key"), key.serialize_pem()).unwrap();
    fs::write(directory.join("acl.conf"), "ALLOW_IPSEC sms1.ims.example.org\n").unwrap();
    let (host, address) = to;
    let configuration = format!(
        "Identity = \"fd.net\";\nRealm = \"net\";\nPort = {own};\nSecPort = 0;\nNo_SCTP;\n\
         No_IPv6;\nTcTimer = 6;\nTwTimer = 6;\n\
         TLS_Cred = \"fd.crt\", \"fd.key\";\nTLS_CA = \"fd.crt\";\n\
         LoadExtension = \"/usr/lib/freeDiameter/acl_wl.fdx\" : \"acl.conf\";\n\
         ConnectPeer = \"{host}\" {{ ConnectTo = \"{address}\"; Port = 3868; No_TLS; }};\n"
    );
    fs::write(directory.join("fd.conf"), configuration).unwrap();
    let spec = ProcessSpec::new("fd", "/usr/bin/freeDiameterd", directory).with(["-c", "fd.conf"]);
    Process::start(&spec).expect("freeDiameter is installed (make setup)")
}

fn hss(directory: &Path, words: &[&str]) -> Talk {
    fs::write(directory.join("hss.py"), HSS).unwrap();
    let words = core::iter::once("hss.py").chain(words.iter().copied());
    let spec = ProcessSpec::new("hss", "/usr/bin/python3", directory).with(words);
    let mut hss = Talk::start(&spec).unwrap();
    hss.pass("listens", LONG).expect("python-diameter is installed (make setup-python)");
    hss
}

/// A site with a gateway: what it listens at and knows in Diameter is `more`.
fn site(gateway: u16, core: u16, more: &str) -> Site {
    let text = format!(
        r#"
[site]
name = "test"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[[ipsmgw]]
name = "sms1"
number = "447700000099"
domain = "ims.example.org"
listen = ["udp:127.0.0.1:{gateway}"]
next_hop = [{{ name = "scscf", targets = ["udp:127.0.0.1:{core}"], probe_interval_s = 1 }}]
[ipsmgw.centre]
retries_s = [3600]
[ipsmgw.hss]
realm = "home"
[ipsmgw.diameter]
host = "sms1.ims.example.org"
realm = "ims.example.org"
{more}
"#
    );
    Site::of(tempfile::tempdir().unwrap(), &text, [gateway, core])
}

/// What passes on the loopback to and from an address, while this stands.
struct Captured {
    process: Process,
    file: std::path::PathBuf,
}

impl Captured {
    fn start(directory: &Path, filter: &str) -> Self {
        let file = directory.join("diameter.pcapng");
        let words = ["-q", "-i", "lo", "-f", filter, "-w", file.to_str().unwrap()];
        let spec = ProcessSpec::new("dumpcap", "/usr/bin/dumpcap", directory).with(words);
        let mut process = Process::start(&spec).expect("dumpcap is installed (make setup)");
        let log = directory.join("dumpcap.log");
        let stands = || fs::read_to_string(&log).is_ok_and(|text| text.contains("File:"));
        process.wait_until(LONG, stands).unwrap();
        Self { process, file }
    }

    /// The commands that tshark reads, without a complaint.
    fn commands(mut self, port: u16) -> Vec<String> {
        // What is in the kernel's buffer is written first.
        std::thread::sleep(Duration::from_millis(500));
        self.process.stop();
        // Whatever is more than a note (of TCP too, in packets with messages).
        let complaints = "_ws.malformed || (diameter && _ws.expert.severity >= 0x600000)";
        let found = self.read(port, complaints, &["frame.number", "_ws.expert.message"]);
        assert_eq!(found, Vec::<String>::new(), "tshark complains");
        let lines = self.read(port, "diameter", &["diameter.cmd.code"]);
        lines.iter().flat_map(|line| line.split(',')).map(str::to_owned).collect()
    }

    fn read(&self, port: u16, filter: &str, fields: &[&str]) -> Vec<String> {
        let decode = format!("tcp.port=={port},diameter");
        let mut command = Command::new("/usr/bin/tshark");
        command.arg("-r").arg(&self.file).args(["-d", &decode, "-Y", filter, "-T", "fields"]);
        command.args(fields.iter().flat_map(|it| ["-e", it]));
        let output = command.output().expect("tshark is installed (make setup)");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }
}

fn peer_is(site: &Site, peer: &str, state: &str) -> Value {
    let is_so = |rows: &[Value]| rows.iter().any(|it| it["peer"] == peer && it["state"] == state);
    let rows = site.until(&["diameter", "peers"], is_so);
    rows.into_iter().find(|it| it["peer"] == peer).unwrap()
}

fn alarms(site: &Site) -> Vec<String> {
    let mut names: Vec<String> = site
        .rows(&["alarms"])
        .iter()
        .filter_map(|it| it["name"].as_str().map(str::to_owned))
        .filter(|it| it.starts_with("diameter"))
        .collect();
    names.sort();
    names
}

fn counted(site: &Site, name: &str) -> u64 {
    let rows = site.rows(&["counters", "--name", name]);
    rows.iter().filter_map(|it| it["value"].as_u64()).sum()
}

fn passed(site: &Site, command: &str, way: &str) -> usize {
    let rows = site.rows(&["diameter", "trace"]);
    rows.iter().filter(|it| it["command"] == command && it["way"] == way).count()
}

#[test]
fn a_relay_that_is_dialled_carries_questions_and_word_of_who_can_be_reached() {
    let folder = tempfile::tempdir().unwrap();
    let (gateway, own, fd) = (port(), port(), port());
    let captured = Captured::start(folder.path(), &format!("tcp port {fd}"));
    let mut hss = hss(folder.path(), &["127.81.1.2", "fd.net", "net"]);
    let mut relay_process = relay(folder.path(), fd, ("hss.home", "127.81.1.2"));
    hss.hear("ready", LONG).unwrap();
    let mut core = Core::start("udp", own, gateway, "447700000099");
    let more = format!(
        "timers = {{ watchdog_ms = 6000, reconnect_ms = 300, reconnect_max_ms = 1000 }}\n\
         [[ipsmgw.diameter_peer]]\nname = \"fd\"\nhost = \"fd.net\"\n\
         addresses = [\"127.81.1.3\"]\nport = {fd}\nconnect = true\napplications = [\"Sh\"]\n"
    );
    let site = site(gateway, own, &more);
    let row = peer_is(&site, "fd", "open");
    assert_eq!((&row["watchdog"], &row["transport"]), (&json!("OKAY"), &json!("tcp")));
    assert_eq!(alarms(&site), Vec::<String>::new());
    // The number is the home subscriber server's; who has none there is refused.
    assert_eq!(core.does("register alice sms 600"), json!({"status": 200}));
    hss.hear("udr sip:alice@ims.example.org", LONG).unwrap();
    let rows = site.rows(&["sms", "registrations"]);
    assert_eq!((rows.len(), &rows[0]["number"]), (1, &json!(ALICE)));
    assert_eq!(core.does("register nobody sms 600"), json!({"status": 403}));
    // Who does not answer is waited for, and told of.
    core.does("mode alice absent");
    assert!(site.ctl(&["sms", "send", ALICE, "Hello"]).status.success());
    hss.hear("snr sip:alice@ims.example.org", LONG).unwrap();
    core.does("mode alice ok");
    hss.say("notify sip:alice@ims.example.org sms1.ims.example.org ims.example.org").unwrap();
    hss.pass("pna 2001", LONG).unwrap();
    assert_eq!(core.does("take alice")["text"], "Hello");
    hss.say("notify sip:alice@ims.example.org sms1.ims.example.org ims.example.org").unwrap();
    hss.pass("pna 5107", LONG).unwrap();
    // Each side has its watchdog after six seconds.
    site.until(&["diameter", "trace"], |_| passed(&site, "DWA", "in") > 0);
    // An operator parts from it and comes back.
    assert!(site.ctl(&["diameter", "disconnect", "fd"]).status.success());
    peer_is(&site, "fd", "closed");
    assert_eq!(passed(&site, "DPR", "out"), 1);
    assert!(site.ctl(&["diameter", "connect", "fd"]).status.success());
    peer_is(&site, "fd", "open");
    // It dies, and comes back.
    relay_process.crash().unwrap();
    let row = peer_is(&site, "fd", "closed");
    assert_ne!(row["why"], "", "{row}");
    site.until(&["alarms"], |_| alarms(&site) == ["diameter-peer-down", "diameter-realm-unserved"]);
    assert_eq!(core.does("register bob sms 600"), json!({"status": 503}));
    let mut relay_process = relay(folder.path(), fd, ("hss.home", "127.81.1.2"));
    peer_is(&site, "fd", "open");
    site.until(&["alarms"], |_| alarms(&site).is_empty());
    let registers = |core: &mut Core| core.does("register bob sms 600") == json!({"status": 200});
    let end = std::time::Instant::now() + LONG;
    while !registers(&mut core) {
        assert!(std::time::Instant::now() < end, "{}", relay_process.log_end());
        std::thread::sleep(Duration::from_millis(200));
    }
    // It says goodbye in order.
    relay_process.stop();
    site.until(&["diameter", "trace"], |_| passed(&site, "DPR", "in") == 1);
    peer_is(&site, "fd", "closed");
    drop(site);
    let codes = captured.commands(fd);
    for code in ["257", "280", "282", "306", "308", "309"] {
        assert!(codes.iter().any(|it| it == code), "{code} of {codes:?}");
    }
}

/// Writes a CER of a host that nobody knows; the code of the CEA.
fn unknown_peer(to: SocketAddr) -> u32 {
    let avp = |code: u32, data: &[u8]| {
        let length = u32::try_from(8 + data.len()).unwrap();
        let mut octets = [code.to_be_bytes(), (0x4000_0000 | length).to_be_bytes()].concat();
        octets.extend_from_slice(data);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    };
    let body = [
        avp(264, b"nobody.example"),
        avp(296, b"example"),
        avp(257, &[0, 1, 127, 0, 0, 1]),
        avp(266, &[0; 4]),
        avp(269, b"x"),
        avp(258, &16_777_217_u32.to_be_bytes()),
    ]
    .concat();
    let length = u32::try_from(20 + body.len()).unwrap();
    let head = [0x0100_0000 | length, 0x8000_0101, 0, 1, 1].map(u32::to_be_bytes).concat();
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(&[head, body].concat()).unwrap();
    let mut answer = Vec::new();
    // It is answered, and closed.
    stream.read_to_end(&mut answer).unwrap();
    let code = [0, 0, 1, 12, 0x40, 0, 0, 12];
    let at = answer.windows(8).position(|it| it == code).expect("a CEA with a Result-Code");
    u32::from_be_bytes(answer[at + 8..at + 12].try_into().unwrap())
}

#[test]
fn peers_that_connect_are_accepted_and_a_stranger_is_refused_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (gateway, own, fd) = (port(), port(), port());
    let captured = Captured::start(folder.path(), "tcp port 3868 and host 127.81.2.1");
    let mut core = Core::start("udp", own, gateway, "447700000099");
    let hss_peer = "[[ipsmgw.diameter_peer]]\nname = \"hss\"\nhost = \"hss.home\"\n\
         realm = \"home\"\naddresses = [\"127.0.0.1\", \"127.81.2.2\"]\napplications = [\"Sh\"]\n";
    let more = format!(
        "timers = {{ watchdog_ms = 6000 }}\ntcp = {{ listen = [\"127.81.2.1:3868\"] }}\n{hss_peer}"
    );
    let mut site = site(gateway, own, &more);
    let to = ["127.81.2.2", "sms1.ims.example.org", "ims.example.org", "127.81.2.1", "3868"];
    let server = hss(folder.path(), &to);
    let row = peer_is(&site, "hss", "open");
    assert_eq!(core.does("register alice sms 600"), json!({"status": 200}));
    // A peer more comes while the function runs, and the first one does not notice.
    let file = site.folder.path().join("site.toml");
    let text = fs::read_to_string(&file).unwrap();
    let fd_peer = "[[ipsmgw.diameter_peer]]\nname = \"fd\"\nhost = \"fd.net\"\n\
        addresses = [\"127.0.0.1\"]\napplications = [\"Sh\"]\n";
    fs::write(&file, format!("{text}{fd_peer}")).unwrap();
    for words in [&["config", "load", file.to_str().unwrap()][..], &["config", "commit"]] {
        let output = site.ctl(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut relay_process = relay(folder.path(), fd, ("sms1.ims.example.org", "127.81.2.1"));
    peer_is(&site, "fd", "open");
    assert_eq!(peer_is(&site, "hss", "open")["since_us"], row["since_us"]);
    // Somebody at no peer's address has no word; somebody whom nobody knows is told so.
    let to = SocketAddr::from(([127, 81, 2, 1], 3868));
    assert_eq!(counted(&site, "diameter_strangers_refused_total"), 0);
    assert_eq!(stranger("127.81.2.9", "127.81.2.1"), "0", "nothing is said");
    assert_eq!(unknown_peer(to), 3010);
    site.until(&["counters", "--name", "diameter_strangers_refused_total"], |rows| {
        rows.iter().any(|it| it["value"] == 1)
    });
    // The server dies, and comes back.
    drop(server);
    peer_is(&site, "hss", "closed");
    site.until(&["alarms"], |_| alarms(&site).contains(&String::from("diameter-peer-down")));
    let to = ["127.81.2.2", "sms1.ims.example.org", "ims.example.org", "127.81.2.1", "3868"];
    let mut server = hss(folder.path(), &to);
    peer_is(&site, "hss", "open");
    assert_eq!(core.does("register bob sms 600"), json!({"status": 200}));
    server.hear("udr sip:bob@ims.example.org", LONG).unwrap();
    // The site ends in order: peers are told.
    assert!(site.ctl(&["drain"]).status.success());
    let status = site.running.as_mut().unwrap().0.wait().unwrap();
    assert!(status.success(), "{status}");
    relay_process.stop();
    let codes = captured.commands(3868);
    for code in ["257", "282", "306"] {
        assert!(codes.iter().any(|it| it == code), "{code} of {codes:?}");
    }
}

/// What somebody at no peer's address is told: how many octets.
fn stranger(from: &str, to: &str) -> String {
    let text = format!(
        "import socket\nto, own = ({to:?}, 3868), ({from:?}, 0)\n\
         s = socket.create_connection(to, source_address=own)\ns.settimeout(60)\n\
         try:\n    print(len(s.recv(64)))\nexcept ConnectionError:\n    print(0)\n"
    );
    let output = Command::new("/usr/bin/python3").args(["-c", &text]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
