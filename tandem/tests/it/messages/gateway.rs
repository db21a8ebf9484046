//! The gateway between an IMS core and an SS7 network: HLR, service centre and MSC are applications
//! of another signalling gateway, so that all MAP passes M3UA.

use super::{ALICE, BOB, Child, Core, LONG, Site, complaints, port};
use serde_json::{Value, json};
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

pub(super) const CENTRE: &str = "447800000009";
pub(super) const GATEWAY: &str = "447700000099";

fn site(gateway: u16, core: u16, shards: u16) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let (hep, listener) = (port(), port());
    let text = format!(
        r#"
[site]
name = "test"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[sas]
listen = ["tcp:127.0.0.1:{hep}"]
keep = ["bodies"]
[[ipsmgw]]
name = "sms1"
shards = {shards}
mode = "gateway"
number = "{GATEWAY}"
domain = "ims.example.org"
listen = ["udp:127.0.0.1:{gateway}"]
capture = "tcp:127.0.0.1:{hep}"
next_hop = [{{ name = "scscf", targets = ["udp:127.0.0.1:{core}"], probe_interval_s = 1 }}]
[[ipsmgw.link]]
name = "stp"
address = "tcp:127.0.0.1:{listener}"
application = "ipsmgw"
key_file = "link.key"
[[ipsmgw.network]]
name = "own"
numbers = ["4477009"]
hlr_translation_type = 9
centres = ["4478"]
[ipsmgw.signalling]
allowed = ["4478"]
correlation_prefix = "23415"
"#
    );
    let capture = format!("capture = \"tcp:127.0.0.1:{hep}\"");
    with_key(&folder);
    let text = text + &signalling(listener, port(), &capture);
    let site = Site::of(folder, &text, [gateway, core]);
    is_active(&site);
    site.until(&["sms", "links"], |rows| rows.iter().any(|it| it["state"] == "standing"));
    site
}

/// The key of the link, in the site's directory.
pub(super) fn with_key(folder: &tempfile::TempDir) {
    let var = folder.path().join("var");
    std::fs::create_dir(&var).unwrap();
    std::fs::write(var.join("link.key"), "0123456789abcdef\n").unwrap();
    std::fs::set_permissions(var.join("link.key"), Permissions::from_mode(0o600)).unwrap();
}

/// Both signalling gateways speak with each other.
pub(super) fn is_active(site: &Site) {
    let is_active = |it: &Value| it["state"] == "active";
    site.until(&["m3ua", "asps", "far"], |rows| rows.iter().any(is_active));
}

/// The signalling gateway with the application that is the gateway's, and another one with HLR,
/// service centre and MSC.
pub(super) fn signalling(listener: u16, m3ua: u16, capture: &str) -> String {
    format!(
        r#"
[[sgc]]
name = "stp"
point_code_format = "decimal"
point_codes = ["3"]
{capture}
tcp = {{ listen = ["127.0.0.1:{m3ua}"] }}
peer = [{{ name = "far", role = "ipsp", transport = "tcp", addresses = ["127.0.0.1"] }}]
application_server = [
  {{ name = "far", peers = ["far"], routing_context = 4, destination = [{{ point_code = "4" }}] }},
]
subsystem = [{{ name = "ipsmgw", number = 8, user = "tcap" }}]
translation = [
  {{ name = "own", digits = "{GATEWAY}", target = [{{ subsystem = 8 }}] }},
  {{ name = "subscribers", digits = "4477009", translation_type = 0,
    target = [{{ subsystem = 8 }}] }},
  {{ name = "hlr", digits = "4477009", translation_type = 9,
    target = [{{ point_code = "4", subsystem = 6 }}] }},
  {{ name = "msc", digits = "447700000001", target = [{{ point_code = "4", subsystem = 10 }}] }},
  {{ name = "centre", digits = "4478", target = [{{ point_code = "4", subsystem = 9 }}] }},
]
application = [
  {{ name = "ipsmgw", subsystem = "ipsmgw", titles = ["{GATEWAY}"], absent = "refused",
    listen = ["tcp:127.0.0.1:{listener}"], key_file = "link.key" }},
]
[[sgc]]
name = "far"
point_code_format = "decimal"
point_codes = ["4"]
timers = {{ reconnect_ms = 100 }}
peer = [
  {{ name = "stp", role = "ipsp", transport = "tcp", addresses = ["127.0.0.1"],
    port = {m3ua}, connect = true }},
]
application_server = [
  {{ name = "stp", peers = ["stp"], routing_context = 4, destination = [{{ point_code = "3" }}] }},
]
subsystem = [
  {{ name = "hlr", number = 6, user = "tcap" }},
  {{ name = "smsc", number = 9, user = "tcap" }},
  {{ name = "msc", number = 10, user = "tcap" }},
]
translation = [
  {{ name = "gateway", digits = "{GATEWAY}", target = [{{ point_code = "3", subsystem = 8 }}] }},
  {{ name = "subscribers", digits = "4477009", target = [{{ point_code = "3", subsystem = 8 }}] }},
]
application = [
  {{ name = "hlr", subsystem = "hlr", listen = ["unix:hlr.sock"], absent = "refused" }},
  {{ name = "smsc", subsystem = "smsc", titles = ["4478"], listen = ["unix:smsc.sock"],
    absent = "refused" }},
  {{ name = "msc", subsystem = "msc", titles = ["4477000"], listen = ["unix:msc.sock"],
    absent = "refused" }},
]
"#
    )
}

/// HLR, service centre and MSC.
pub(super) struct Network {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    running: Child,
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

impl Network {
    pub(super) fn start(site: &Site) -> Self {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new("/usr/bin/python3");
        command.arg(own.join("tests/it/messages/network.py"));
        command.arg(own.join("../clients/python")).arg(site.folder.path().join("var"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let (input, output) = (running.stdin.take().unwrap(), running.stdout.take().unwrap());
        let mut network = Self { input, output: BufReader::new(output), running };
        assert_eq!(network.answer(), json!({"ready": true}), "pycrate is installed (make setup)");
        network
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_default()
    }

    pub(super) fn does(&mut self, command: &str) -> Value {
        writeln!(self.input, "{command}").unwrap();
        let answer = self.answer();
        assert!(!answer.is_null(), "{command}");
        answer
    }

    /// Waits until the HLR was told of these, in their order, and of nothing else.
    pub(super) fn told(&mut self, wanted: &[&str]) {
        let (end, mut told) = (Instant::now() + LONG, Vec::new());
        while told.len() < wanted.len() {
            let more = self.does("told")["told"].as_array().cloned().unwrap_or_default();
            told.extend(more.iter().map(|it| it.as_str().unwrap_or_default().to_owned()));
            assert!(Instant::now() < end, "{wanted:?}: {told:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(told, wanted);
    }
}

fn started(shards: u16) -> (Site, Core, Network) {
    let (gateway, own) = (port(), port());
    let core = Core::start("udp", own, gateway, CENTRE);
    let site = site(gateway, own, shards);
    let network = Network::start(&site);
    (site, core, network)
}

#[test]
fn a_message_of_a_terminal_reaches_a_service_centre_and_one_of_that_a_terminal() {
    both_ways(1);
}

#[test]
fn messages_go_both_ways_where_sip_and_ss7_are_on_two_shards() {
    both_ways(2);
}

fn both_ways(shards: u16) {
    let (site, mut core, mut network) = started(shards);
    assert_eq!(core.does(&format!("register {ALICE} sms 600")), json!({"status": 200}));
    network.told(&["anyTimeModification"]);
    // To the service centre; a long one after an empty BEGIN.
    for (reference, text) in [(7, "Hello over there".to_owned()), (8, "long ".repeat(30))] {
        core.submits(&format!("{ALICE} {BOB} {reference} plain {}", text.trim()));
        let took = network.does("took smsc");
        let expected = json!({"operation": "mo-ForwardSM", "msisdn": ALICE, "text": text.trim()});
        assert_eq!(took, expected);
    }
    // From it: it is told this gateway and an IMSI that names nobody.
    let came = network.does(&format!("deliver {ALICE} {BOB} Hi in there"));
    assert_eq!(came["routing"]["node"], GATEWAY);
    assert_ne!(came["routing"]["imsi"], "234150000000123");
    assert_eq!(came["delivery"]["result"], 1, "{came}");
    let message = core.does(&format!("take {ALICE}"));
    assert_eq!((&message["from"], &message["text"]), (&json!(BOB), &json!("Hi in there")));
    network.told(&["sendRoutingInfoForSM"]);
    // All legs of each are one trail, and Wireshark reads all of them.
    site.trail(&["MESSAGE", "TC-BEGIN mo-ForwardSM", "TC-END result", "MESSAGE", "200"]);
    let both = ["TC-BEGIN mt-ForwardSM", "MESSAGE", "200", "MESSAGE"];
    for end in ["202", "TC-END result"] {
        site.trail(&[&both[..], &[end]].concat());
    }
    assert_eq!(complaints(&site, &mut core, site.ports), [""; 0]);
    let file = site.folder.path().join("map.pcapng");
    let words = ["capture", "--kind", "dialogue", "--write", file.to_str().unwrap()];
    assert!(site.ctl(&words).status.success());
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).args(["-T", "fields", "-e", "gsm_old.localValue"]);
    let read = command.args(["-e", "_ws.expert.message"]).stderr(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&read.stdout).into_owned();
    let operations: Vec<&str> = text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    assert!(["44", "45", "46", "65"].iter().all(|it| operations.contains(it)), "{text}");
    assert!(operations.iter().all(|it| it.bytes().all(|it| it.is_ascii_digit())), "{text}");
}

#[test]
fn what_does_not_go_over_ip_goes_by_an_msc_and_who_is_nowhere_is_absent() {
    let (site, mut core, mut network) = started(1);
    assert_eq!(core.does(&format!("register {ALICE} sms 600"))["status"], 200);
    core.does(&format!("mode {ALICE} absent"));
    let came = network.does(&format!("deliver {ALICE} {BOB} By circuits"));
    assert_eq!(came["delivery"]["result"], 1, "{came}");
    let took = network.does("took msc");
    let expected =
        json!({"operation": "mt-ForwardSM", "imsi": "234150000000123", "text": "By circuits"});
    assert_eq!(took, expected);
    // Who is not registered is where the HLR says, or nowhere.
    let found = network.does(&format!("routing {BOB}"));
    assert_eq!(found, json!({"imsi": "234150000000123", "node": "447700000001"}));
    network.does("subscriber off");
    let came = network.does(&format!("deliver {BOB} {ALICE} Nobody"));
    assert_eq!(came["routing"]["name"], "absentSubscriberSM", "{came}");
    assert_eq!(core.does(&format!("register {ALICE} sms 0"))["status"], 200);
    network.told(&[
        "anyTimeModification",
        "sendRoutingInfoForSM",
        "sendRoutingInfoForSM",
        "sendRoutingInfoForSM",
        "anyTimeModification",
    ]);
    // Without the link nothing goes: the terminal hears it, and an operator.
    drop(network);
    let text = std::fs::read_to_string(site.folder.path().join("site.toml")).unwrap();
    let (left, rest) = text.split_once("application = \"ipsmgw\"").unwrap();
    let file = site.folder.path().join("next.toml");
    std::fs::write(&file, format!("{left}application = \"nobody\"{rest}")).unwrap();
    assert!(site.ctl(&["config", "set-file", file.to_str().unwrap()]).status.success());
    assert!(site.ctl(&["config", "commit"]).status.success());
    site.until(&["alarms"], |rows| rows.iter().any(|it| it["name"] == "link-down"));
    let report = core.does(&format!("submit {ALICE} {BOB} 9 plain Lost"));
    assert_eq!(report["report"], json!({"ack": false, "reference": 9, "cause": 38}));
}
