//! An IP short message gateway as a process: an S-CSCF with terminals whose codecs are pycrate's
//! registers subscribers there and sends and takes messages, by UDP and by TCP; the process is
//! killed and started again.

mod gateway;
mod kamailio;
mod pair;

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const LONG: Duration = Duration::from_secs(60);
const HOST: &str = "127.0.0.1";
const ALICE: &str = "447700900123";
const BOB: &str = "447700900999";

/// Ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) struct Site {
    pub(crate) running: Option<Running>,
    pub(crate) folder: tempfile::TempDir,
    /// Of the gateway and of the core.
    ports: [u16; 2],
}

impl Site {
    fn start(host: &str, transport: &str, shards: u16, [gateway, core]: [u16; 2]) -> Self {
        let text = format!(
            r#"
[site]
name = "test"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[sas]
listen = ["tcp:127.0.0.1:{hep}"]
[[ipsmgw]]
name = "sms1"
shards = {shards}
number = "447700000099"
domain = "ims.example.org"
listen = ["udp:{host}:{gateway}", "tcp:{host}:{gateway}"]
capture = "tcp:127.0.0.1:{hep}"
next_hop = [{{ name = "scscf", targets = ["{transport}:{host}:{core}"], probe_interval_s = 1 }}]
[ipsmgw.centre]
numbers = ["4477"]
country_code = "44"
retries_s = [3600]
"#,
            hep = port()
        );
        Self::of(tempfile::tempdir().unwrap(), &text, [gateway, core])
    }

    /// The site of a file.
    pub(crate) fn of(folder: tempfile::TempDir, text: &str, ports: [u16; 2]) -> Self {
        let mut site = Self::laid(folder, text, ports);
        site.run();
        site
    }

    /// The same of one without a gateway.
    fn launched(folder: tempfile::TempDir, text: &str) -> Self {
        let mut site = Self::laid(folder, text, [0; 2]);
        site.begin();
        site
    }

    fn laid(folder: tempfile::TempDir, text: &str, ports: [u16; 2]) -> Self {
        std::fs::create_dir_all(folder.path().join("var")).unwrap();
        std::fs::write(folder.path().join("site.toml"), text).unwrap();
        Self { running: None, folder, ports }
    }

    fn begin(&mut self) {
        self.launch();
        let waited = self.ctl(&["wait"]);
        assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    }

    pub(crate) fn run(&mut self) {
        self.begin();
        self.until(&["store"], |rows| rows.iter().any(|it| it["state"] == "open"));
    }

    fn launch(&mut self) {
        let mut command = Command::new(TANDEM);
        command.args(["run", "site.toml"]).current_dir(self.folder.path()).stderr(Stdio::null());
        self.running = Some(Running(command.spawn().unwrap()));
    }

    pub(crate) fn ctl(&self, words: &[&str]) -> Output {
        let mut command = Command::new(TANDEM);
        for name in ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET"] {
            command.env_remove(name);
        }
        let file = self.folder.path().join("site.toml");
        command.args(["ctl", "--site", file.to_str().unwrap(), "--timeout", "60"]);
        command.args(words).stdin(Stdio::null()).output().unwrap()
    }

    fn value(&self, words: &[&str]) -> Value {
        let output = self.ctl(&[&["-o", "json"], words].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    pub(crate) fn rows(&self, words: &[&str]) -> Vec<Value> {
        self.value(words).as_array().cloned().unwrap_or_default()
    }

    /// Waits until one trail has messages with all of these words in their order, among others.
    pub(crate) fn trail(&self, wanted: &[&str]) {
        let end = Instant::now() + LONG;
        loop {
            let trails = self.value(&["trails", "--limit", "500"]);
            let ids = trails["trails"].as_array().into_iter().flatten();
            let ids: Vec<&str> = ids.filter_map(|it| it["id"].as_str()).collect();
            let ladders: Vec<Vec<String>> = ids.iter().map(|id| self.ladder(id)).collect();
            if ladders.iter().any(|it| has_in_order(it, wanted)) {
                return;
            }
            let others: Vec<_> = ladders.iter().filter(|it| *it != &["OPTIONS"]).collect();
            assert!(Instant::now() < end, "{wanted:?}: {others:#?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// What each message of a trail is, with its Content-Type's octet where it has a report.
    fn ladder(&self, id: &str) -> Vec<String> {
        let detail = self.value(&["trail", id]);
        let messages = detail["messages"].as_array().into_iter().flatten();
        let word = |it: &Value| {
            let status = it["status"].as_u64().map(|it| it.to_string());
            it["method"].as_str().map(str::to_owned).or(status).unwrap_or_default()
        };
        messages.map(word).collect()
    }

    /// Waits until what a command shows is as it should be.
    pub(crate) fn until(&self, words: &[&str], holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let end = Instant::now() + LONG;
        loop {
            let rows = self.rows(words);
            if holds(&rows) {
                return rows;
            }
            assert!(Instant::now() < end, "{words:?}: {rows:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Whether all of these stand among words, in their order.
fn has_in_order(words: &[String], wanted: &[&str]) -> bool {
    let mut rest = words.iter();
    wanted.iter().all(|it| rest.any(|word| word == it))
}

/// What tshark finds wrong with what terminals and gateway said. It takes the head of a message for
/// a string that goes on to the end of the packet, and so finds stray characters behind the first
/// NUL of an RP message (4.0, `sip.msg_hdr`): those are none.
fn complaints(site: &Site, core: &mut Core, ports: [u16; 2]) -> Vec<String> {
    let file = site.folder.path().join("messages.pcap");
    core.does(&format!("save {}", file.display()));
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).args(["-Y", "_ws.expert", "-T", "fields"]);
    for port in ports {
        command.args(["-d", &format!("udp.port=={port},sip")]);
    }
    let fields = ["frame.number", "sip.Content-Type", "_ws.expert.message"];
    command.args(fields.iter().flat_map(|it| ["-e", it]));
    let output = command.stderr(Stdio::null()).output().expect("tshark is installed (make setup)");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_none =
        |line: &&str| line.ends_with("\tapplication/vnd.3gpp.sms\tTrailing stray characters");
    text.lines().filter(|it| !is_none(it)).map(str::to_owned).collect()
}

/// The S-CSCF and its terminals.
pub(crate) struct Core {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _running: Running,
}

impl Core {
    pub(crate) fn start(transport: &str, own: u16, gateway: u16, centre: &str) -> Self {
        Self::start_at(transport, own, &gateway.to_string(), centre)
    }

    /// The same towards the port of one gateway, and the addresses of others.
    fn start_at(transport: &str, own: u16, gateway: &str, centre: &str) -> Self {
        let own = format!("127.0.0.1:{own}");
        Self::of("core.py", &[transport, &own, &format!("127.0.0.1:{gateway}"), centre])
    }

    fn of(program: &str, words: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/messages");
        let mut command = Command::new("/usr/bin/python3");
        command.arg("-B").arg(folder.join(program)).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut core = Self { input, output: BufReader::new(output), _running: Running(child) };
        assert_eq!(core.answer(), json!({"ready": true}), "pycrate is installed (make setup)");
        core
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_default()
    }

    pub(crate) fn does(&mut self, command: &str) -> Value {
        writeln!(self.input, "{command}").unwrap();
        let answer = self.answer();
        assert!(!answer.is_null(), "{command}");
        answer
    }

    /// A message is stored and acknowledged.
    fn submits(&mut self, command: &str) {
        let answer = self.does(&format!("submit {command}"));
        assert_eq!((&answer["status"], &answer["report"]["ack"]), (&json!(202), &json!(true)));
    }
}

pub(crate) fn port() -> u16 {
    peers::free_port([127, 0, 0, 1].into()).unwrap().port()
}

fn started(host: &str, transport: &str, shards: u16) -> (Site, Core) {
    let (gateway, own) = (port(), port());
    let at = |port: u16| format!("{host}:{port}");
    let core = Core::of("core.py", &[transport, &at(own), &at(gateway), "447700000099"]);
    let site = Site::start(host, transport, shards, [gateway, own]);
    (site, core)
}

fn both_ways(transport: &str, shards: u16) {
    let (site, mut core) = messages_go(HOST, transport, shards);
    assert_eq!(core.does("stranger"), json!({"status": 403}));
    assert_eq!(complaints(&site, &mut core, site.ports), [""; 0]);
}

/// What terminals at that address of the core send comes to others.
fn messages_go(host: &str, transport: &str, shards: u16) -> (Site, Core) {
    let (site, mut core) = started(host, transport, shards);
    for number in [ALICE, BOB] {
        assert_eq!(core.does(&format!("register {number} sms 600")), json!({"status": 200}));
    }
    let rows = site.rows(&["sms", "registrations"]);
    assert_eq!(rows.len(), 2, "{rows:?}");
    core.submits(&format!("{ALICE} {BOB} 7 report Hello over there"));
    let message = core.does(&format!("take {BOB}"));
    assert_eq!((&message["from"], &message["text"]), (&json!(ALICE), &json!("Hello over there")));
    let report = core.does(&format!("take {ALICE}"));
    assert_eq!(report["kind"], "report");
    assert_eq!((&report["status"], &report["reference"]), (&json!(0), &json!(7)));
    // By another way of dialling, and back as text.
    assert_eq!(core.does(&format!("register {ALICE} sms 0"))["status"], 200);
    assert_eq!(core.does(&format!("register {ALICE} text 600"))["status"], 200);
    core.submits(&format!("{BOB} {ALICE} 8 plain And back"));
    let text = core.does(&format!("take {ALICE}"));
    assert_eq!((&text["kind"], &text["text"]), (&json!("text"), &json!("And back")));
    assert!(text["from"].as_str().unwrap().contains(&format!("+{BOB}@")), "{text}");
    assert_eq!(core.does(&format!("text {ALICE} {BOB} Grüße")), json!({"status": 202}));
    let message = core.does(&format!("take {BOB}"));
    assert_eq!((&message["from"], &message["text"]), (&json!(ALICE), &json!("Grüße")));
    // A number of nobody's.
    let refused = core.does(&format!("submit {ALICE} 4915500 9 plain Hi"));
    assert_eq!(refused["report"], json!({"ack": false, "reference": 9, "cause": 1}));
    site.until(&["sms", "pending"], <[Value]>::is_empty);
    // From the sender to the receiver, and both reports.
    site.trail(&["MESSAGE", "202", "MESSAGE", "200", "MESSAGE", "200", "MESSAGE", "202"]);
    (site, core)
}

#[test]
fn messages_go_both_ways_by_udp() {
    both_ways("udp", 1);
}

#[test]
fn messages_go_both_ways_by_tcp() {
    both_ways("tcp", 1);
}

#[test]
fn messages_go_both_ways_over_ipv6() {
    for transport in ["udp", "tcp"] {
        messages_go("[::1]", transport, 1);
    }
}

#[test]
fn messages_go_both_ways_through_several_shards() {
    both_ways("udp", 2);
    both_ways("tcp", 4);
}

#[test]
fn what_was_acknowledged_waits_again_after_the_process_was_killed() {
    outlives_the_process(1);
}

#[test]
fn what_several_shards_acknowledged_waits_again_after_the_process_was_killed() {
    outlives_the_process(3);
}

fn outlives_the_process(shards: u16) {
    let (mut site, mut core) = started(HOST, "udp", shards);
    for number in [ALICE, BOB] {
        assert_eq!(core.does(&format!("register {number} sms 3600"))["status"], 200);
    }
    core.does(&format!("mode {BOB} absent"));
    for n in 1..=3 {
        core.submits(&format!("{ALICE} {BOB} {n} plain Message {n}"));
    }
    let absent =
        |rows: &[Value]| rows.first().is_some_and(|it| it["why"] == "the receiver is absent");
    assert_eq!(site.until(&["sms", "pending"], absent).len(), 3);
    // As by `kill -9`: nothing is said, nothing is closed.
    site.running = None;
    site.run();
    assert_eq!(site.until(&["sms", "pending"], absent).len(), 3);
    core.does(&format!("mode {BOB} ok"));
    assert!(site.ctl(&["sms", "retry", BOB]).status.success());
    for n in 1..=3 {
        let message = core.does(&format!("take {BOB}"));
        assert_eq!(message["text"], format!("Message {n}"), "in their order");
    }
    site.until(&["sms", "pending"], <[Value]>::is_empty);
    // One that has no memory says when it has some; an operator sends too.
    core.does(&format!("mode {BOB} memory"));
    assert!(site.ctl(&["sms", "send", "--from", "Tandem", BOB, "News"]).status.success());
    assert_eq!(core.does(&format!("take {BOB}"))["mode"], "memory");
    core.does(&format!("mode {BOB} ok"));
    let answer = core.does(&format!("smma {BOB}"));
    assert_eq!(answer["report"]["ack"], true);
    let message = core.does(&format!("take {BOB}"));
    assert_eq!((&message["mode"], &message["text"]), (&json!("ok"), &json!("News")));
    site.until(&["sms", "pending"], <[Value]>::is_empty);
}
