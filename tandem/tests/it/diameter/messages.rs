//! A gateway whose home subscriber server, service centre and MME speak S6c and SGd alone: both are
//! python-diameter's, and tshark reads all that they say. Needs root, as what it is beside.

use super::{ALICE, Captured, LONG, counted, peer_is};
use crate::messages::{Core, Site, port};
use peers::{ProcessSpec, Talk};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const CENTRE: &str = "447800000009";

fn peer(directory: &Path, listen: &str, host: &str, realm: &str) -> Talk {
    fs::write(directory.join("messages.py"), include_str!("messages.py")).unwrap();
    let words = ["messages.py", listen, host, realm];
    let spec = ProcessSpec::new(host, "/usr/bin/python3", directory).with(words);
    let mut peer = Talk::start(&spec).unwrap();
    peer.pass("listens", LONG).expect("python-diameter is installed (make setup-python)");
    peer
}

const HOME: &str = r#"
[[ipsmgw.diameter_peer]]
name = "hss"
host = "hss.home"
realm = "home"
addresses = ["127.82.1.2"]
connect = true
applications = ["S6c", "SGd"]
[[ipsmgw.diameter_destination]]
role = "hss"
numbers = ["4477009"]
realm = "home"
"#;

/// A site, with more keys of its network and more tables.
fn site([gateway, core]: [u16; 2], centre: &str, network: &str, more: &str) -> Site {
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
mode = "gateway"
capture = "tcp:127.0.0.1:{hep}"
number = "447700000099"
domain = "ims.example.org"
listen = ["udp:127.0.0.1:{gateway}"]
next_hop = [{{ name = "scscf", targets = ["udp:127.0.0.1:{core}"], probe_interval_s = 1 }}]
[[ipsmgw.network]]
name = "own"
numbers = ["4477009"]
centres = ["4478"]
{network}
[ipsmgw.signalling]
allowed = ["4478"]
correlation_prefix = "23415"
[ipsmgw.cdr]
file_max_s = 1
[ipsmgw.diameter]
host = "sms1.ims.example.org"
realm = "ims.example.org"
timers = {{ answer_ms = 60000, reconnect_ms = 300, reconnect_max_ms = 1000 }}
[[ipsmgw.diameter_peer]]
name = "centre"
host = "sc1.centres"
realm = "centres"
addresses = ["{centre}"]
connect = true
applications = ["S6c", "SGd"]
[[ipsmgw.diameter_destination]]
role = "centre"
numbers = ["4478"]
realm = "centres"
host = "sc1.centres"
{more}
"#,
        hep = port()
    );
    Site::of(tempfile::tempdir().unwrap(), &text, [gateway, core])
}

#[test]
fn messages_go_both_ways_by_diameter_alone() {
    let folder = tempfile::tempdir().unwrap();
    let captured = Captured::start(folder.path(), "tcp port 3868 and net 127.82.1.0/24");
    let mut hss = peer(folder.path(), "127.82.1.2", "hss.home", "home");
    let mut centre = peer(folder.path(), "127.82.1.3", "sc1.centres", "centres");
    let (gateway, own) = (port(), port());
    let mut core = Core::start("udp", own, gateway, CENTRE);
    let site = site([gateway, own], "127.82.1.3", "", HOME);
    peer_is(&site, "hss", "open");
    peer_is(&site, "centre", "open");
    assert_eq!(core.does(&format!("register {ALICE} sms 600")), json!({"status": 200}));
    // To the centre, which takes it, and has no room for the next one.
    let submit = |core: &mut Core, number: u8, text: &str| {
        core.does(&format!("submit {ALICE} 447700900999 {number} plain {text}"))["report"].clone()
    };
    assert_eq!(submit(&mut core, 7, "Hello over there")["ack"], true);
    centre.hear(&format!("ofr {ALICE} Hello over there"), LONG).unwrap();
    centre.say("congested").unwrap();
    centre.pass("set", LONG).unwrap();
    let report = submit(&mut core, 8, "Once more");
    assert_eq!(report, json!({"ack": false, "reference": 8, "cause": 42}));
    // From it: it is told this gateway and an IMSI that names nobody.
    let routed = |centre: &mut Talk| {
        centre.say(&format!("srr {ALICE} {CENTRE}")).unwrap();
        let line = centre.hear("sra ", LONG).unwrap();
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        words
    };
    let found = routed(&mut centre);
    hss.hear(&format!("srr {ALICE}"), LONG).unwrap();
    assert_eq!((&*found[2], found[1].len()), ("sms1.ims.example.org", 15));
    assert_ne!(found[1], "234150000000123");
    let imsi = &found[1];
    centre.say(&format!("tfr {imsi} {CENTRE} 447700900999 Hi in there")).unwrap();
    let message = core.does(&format!("take {ALICE}"));
    assert_eq!(message["text"], "Hi in there");
    centre.pass("tfa 2001", LONG).unwrap();
    // Over IP it does not go: the MME that the home subscriber server named takes it.
    core.does(&format!("mode {ALICE} absent"));
    centre.say(&format!("tfr {imsi} {CENTRE} 447700900999 By the MME")).unwrap();
    hss.hear("tfr 234150000000123 By the MME", LONG).unwrap();
    centre.pass("tfa 2001", LONG).unwrap();
    centre.say(&format!("rdr {ALICE} {CENTRE} 2")).unwrap();
    hss.hear(&format!("rdr {ALICE} 2"), LONG).unwrap();
    centre.pass("rda 2001", LONG).unwrap();
    refused(&mut hss, &mut centre);
    recorded(&site);
    // SIP and Diameter of a message are one trail: from a terminal, to one, and by the MME.
    site.trail(&["MESSAGE", "202", "OFR", "OFA SUCCESS", "MESSAGE", "200"]);
    site.trail(&["TFR", "MESSAGE", "200", "MESSAGE", "202", "TFA SUCCESS"]);
    site.trail(&["TFR", "MESSAGE", "480", "TFR", "TFA SUCCESS", "TFA SUCCESS"]);
    site.trail(&["SRR", "SRR", "SRA SUCCESS", "SRA SUCCESS"]);
    assert!(counted(&site, "ipsmgw_s6c_sgd_served_total") >= 5);
    assert_eq!(counted(&site, "ipsmgw_s6c_sgd_refused_total"), 5);
    drop(site);
    let codes = captured.commands(3868);
    for code in ["8388645", "8388646", "8388647", "8388649"] {
        assert!(codes.iter().any(|it| it == code), "{code} of {codes:?}");
    }
}

/// What stands in finished files of records: of each message one line, and nothing that it says.
fn recorded(site: &Site) {
    site.until(&["counters", "--name", "ipsmgw_cdr_written_total"], |rows| {
        rows.iter().any(|it| it["value"] == 5)
    });
    let folder = site.folder.path().join("var/sms1.cdr");
    let end = std::time::Instant::now() + LONG;
    let lines = loop {
        let files = fs::read_dir(&folder).unwrap().flatten().map(|it| it.path());
        let done = files.filter(|it| it.extension().is_some_and(|it| it == "jsonl"));
        let texts: Vec<String> = done.map(|it| fs::read_to_string(it).unwrap()).collect();
        let lines = texts.iter().flat_map(|it| it.lines());
        let lines: Vec<Value> = lines.map(|it| serde_json::from_str(it).unwrap()).collect();
        if lines.iter().filter(|it| it["kind"].is_string()).count() == 5 {
            assert!(!texts.concat().contains("Hello"), "no text");
            break lines;
        }
        assert!(std::time::Instant::now() < end, "{texts:?}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert!(lines.iter().any(|it| it["format"] == "tandem-sms-records" && it["version"] == 1));
    let has = |kind: &str, result: &str, key: &str, value: Value| {
        let is = |it: &&Value| it["kind"] == kind && it["result"] == result && it[key] == value;
        assert_eq!(lines.iter().filter(is).count(), 1, "{kind} {result} {key}: {lines:?}");
    };
    has("submission", "taken", "other", json!("447700900999"));
    has("submission", "refused", "cause", json!(42));
    has("delivery", "delivered", "way", json!("ps"));
    has("delivery", "delivered", "way", json!("cs"));
    let attempts = json!([
        {"way": "ps", "result": "absentSubscriberSM"}, {"way": "cs", "result": "delivered"},
    ]);
    has("delivery", "delivered", "attempts", attempts);
    has("delivery", "failed", "centre", json!(CENTRE));
}

/// What is refused, and with which code.
fn refused(hss: &mut Talk, centre: &mut Talk) {
    // Nobody whom the home subscriber server knows to be there; nobody of here; an IMSI that was
    // never given out.
    hss.say("absent").unwrap();
    hss.pass("set", LONG).unwrap();
    centre.say(&format!("srr 447700900777 {CENTRE}")).unwrap();
    centre.pass("sra 5550 waits 6", LONG).unwrap();
    centre.say(&format!("srr 447710000000 {CENTRE}")).unwrap();
    centre.pass("sra 5001", LONG).unwrap();
    centre.say(&format!("tfr 234150000000777 {CENTRE} 447700900999 Hi")).unwrap();
    centre.pass("tfa 5001", LONG).unwrap();
    // In the name of a centre that is none, or of nobody; by a home subscriber server that was not
    // asked by one.
    centre.say(&format!("srr {ALICE} 447900000001")).unwrap();
    centre.pass("sra 5003", LONG).unwrap();
    centre.say(&format!("bare {ALICE}")).unwrap();
    centre.pass("sra 5005 failed", LONG).unwrap();
    hss.say(&format!("srr {ALICE} 447700000099")).unwrap();
    hss.pass("sra 5003", LONG).unwrap();
    // It sends no messages, and asks for its own subscribers alone.
    hss.say(&format!("tfr 234150000000777 {CENTRE} 447700900999 Hi")).unwrap();
    hss.pass("tfa 5003", LONG).unwrap();
    hss.say(&format!("srr 447710000000 {CENTRE}")).unwrap();
    hss.pass("sra 5003", LONG).unwrap();
}

#[test]
fn an_alert_goes_to_the_centre_that_waits_for_a_subscriber() {
    let folder = tempfile::tempdir().unwrap();
    let captured = Captured::start(folder.path(), "tcp port 3868 and net 127.82.2.0/24");
    let mut centre = peer(folder.path(), "127.82.2.3", "sc1.centres", "centres");
    let (gateway, own) = (port(), port());
    let mut core = Core::start("udp", own, gateway, CENTRE);
    let network = "ask_hlr = false\ndelivery = \"ps-only\"";
    let site = site([gateway, own], "127.82.2.3", network, "");
    peer_is(&site, "centre", "open");
    // The mobile is not reachable, and the centre is among those that will be alerted.
    centre.say(&format!("srr {ALICE} {CENTRE}")).unwrap();
    centre.pass("sra 5550 waits 2", LONG).unwrap();
    assert_eq!(core.does(&format!("register {ALICE} sms 600")), json!({"status": 200}));
    centre.hear(&format!("alr {ALICE}"), LONG).unwrap();
    drop(site);
    assert!(captured.commands(3868).iter().any(|it| it == "8388648"));
}
