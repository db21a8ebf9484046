//! A gateway whose messages are charged: the online charging system is python-diameter's, with the
//! commands of Ro that it has itself, and tshark reads all that both say. Needs root, as what it is
//! beside.

use super::{ALICE, Captured, LONG, counted, peer_is};
use crate::messages::{Core, Site, port};
use peers::{ProcessSpec, Talk};
use serde_json::json;
use std::fs;
use std::path::Path;

const OWN: &str = "447700000099";

fn charging_system(directory: &Path, address: &str) -> Talk {
    fs::write(directory.join("charging.py"), include_str!("charging.py")).unwrap();
    let words = ["charging.py", address, "ocs.home", "home"];
    let spec = ProcessSpec::new("ocs", "/usr/bin/python3", directory).with(words);
    let mut peer = Talk::start(&spec).unwrap();
    peer.pass("listens", LONG).expect("python-diameter is installed (make setup-python)");
    peer
}

fn site([gateway, core]: [u16; 2], address: &str, more: &str) -> Site {
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
number = "{OWN}"
domain = "ims.example.org"
listen = ["udp:127.0.0.1:{gateway}"]
capture = "tcp:127.0.0.1:{hep}"
next_hop = [{{ name = "scscf", targets = ["udp:127.0.0.1:{core}"], probe_interval_s = 1 }}]
[ipsmgw.centre]
retries_s = [3600]
[ipsmgw.charging]
realm = "home"
{more}
[ipsmgw.diameter]
host = "sms1.ims.example.org"
realm = "ims.example.org"
timers = {{ request_ms = 2000, reconnect_ms = 300, reconnect_max_ms = 1000 }}
[[ipsmgw.diameter_peer]]
name = "ocs"
host = "ocs.home"
realm = "home"
addresses = ["{address}"]
connect = true
applications = ["Ro"]
"#,
        hep = port()
    );
    Site::of(tempfile::tempdir().unwrap(), &text, [gateway, core])
}

#[test]
fn a_message_is_taken_when_it_is_paid_for_and_refunded_when_it_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let captured = Captured::start(folder.path(), "tcp port 3868 and net 127.83.1.0/24");
    let mut ocs = charging_system(folder.path(), "127.83.1.2");
    let (gateway, own) = (port(), port());
    let mut core = Core::start("udp", own, gateway, OWN);
    let site = site([gateway, own], "127.83.1.2", "");
    peer_is(&site, "ocs", "open");
    assert_eq!(core.does(&format!("register {ALICE} sms 600")), json!({"status": 200}));
    let submit = |core: &mut Core, number: u8, to: &str| {
        core.does(&format!("submit {ALICE} {to} {number} plain Hello"))["report"].clone()
    };
    assert_eq!(submit(&mut core, 1, "447700900999")["ack"], true);
    ocs.pass(&format!("debit {ALICE} 1 447700900999"), LONG).unwrap();
    site.trail(&["MESSAGE", "202", "CCR", "CCA SUCCESS", "MESSAGE", "200"]);
    // What the charging system refuses has the cause that says the same.
    for (n, (code, cause)) in
        [(4012, 8), (4010, 8), (5030, 50), (5031, 21), (5012, 41)].into_iter().enumerate()
    {
        ocs.say(&format!("answer {code}")).unwrap();
        ocs.pass("set answer", LONG).unwrap();
        let number = u8::try_from(n).unwrap() + 10;
        let report = submit(&mut core, number, "447700900999");
        assert_eq!(report, json!({"ack": false, "reference": number, "cause": cause}), "{code}");
        ocs.pass(&format!("debit {ALICE} 1 447700900999"), LONG).unwrap();
    }
    assert_eq!(counted(&site, "ipsmgw_ro_debited_total"), 1);
    assert_eq!(counted(&site, "ipsmgw_ro_refused_total"), 5);
    // Nobody says anything: it is refused for now.
    ocs.say("answer 0").unwrap();
    ocs.pass("set answer", LONG).unwrap();
    assert_eq!(submit(&mut core, 30, "447700900999")["cause"], 41);
    assert_eq!(counted(&site, "ipsmgw_ro_failures_total"), 1);
    drop(site);
    let codes = captured.commands(3868);
    assert!(codes.iter().filter(|it| *it == "272").count() >= 13, "{codes:?}");
}

#[test]
fn a_delivery_is_paid_for_by_its_receiver_and_refunded_where_nobody_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let captured = Captured::start(folder.path(), "tcp port 3868 and net 127.83.2.0/24");
    let mut ocs = charging_system(folder.path(), "127.83.2.2");
    let (gateway, own) = (port(), port());
    let mut core = Core::start("udp", own, gateway, OWN);
    let site = site([gateway, own], "127.83.2.2", "deliveries = true");
    peer_is(&site, "ocs", "open");
    let bob = "447700900999";
    for number in [ALICE, bob] {
        assert_eq!(core.does(&format!("register {number} sms 600")), json!({"status": 200}));
    }
    let submit = |core: &mut Core, number: u8| {
        let report = core.does(&format!("submit {ALICE} {bob} {number} plain Hello"));
        assert_eq!(report["report"]["ack"], true);
    };
    submit(&mut core, 1);
    ocs.pass(&format!("debit {ALICE} 1 {bob}"), LONG).unwrap();
    ocs.pass(&format!("debit {bob} 1 {bob}"), LONG).unwrap();
    assert_eq!(core.does(&format!("take {bob}"))["text"], "Hello");
    core.does(&format!("mode {bob} absent"));
    submit(&mut core, 2);
    ocs.pass(&format!("debit {bob} 1 {bob}"), LONG).unwrap();
    ocs.pass(&format!("refund {bob} 1 {bob}"), LONG).unwrap();
    let is_refunded = || counted(&site, "ipsmgw_ro_refunded_total") == 1;
    site.until(&["sms", "pending"], |rows| rows.len() == 1 && is_refunded());
    assert_eq!(counted(&site, "ipsmgw_ro_debited_total"), 4);
    // What its receiver cannot pay waits.
    ocs.say("answer 4012").unwrap();
    ocs.pass("set answer", LONG).unwrap();
    core.does(&format!("mode {bob} ok"));
    assert!(site.ctl(&["sms", "retry", bob]).status.success());
    ocs.pass(&format!("debit {bob} 1 {bob}"), LONG).unwrap();
    site.until(&["sms", "pending"], |rows| {
        rows.first().is_some_and(|it| it["why"] == "it is not paid for")
    });
    ocs.say("answer 2001").unwrap();
    ocs.pass("set answer", LONG).unwrap();
    assert!(site.ctl(&["sms", "retry", bob]).status.success());
    assert_eq!(core.does(&format!("take {bob}"))["text"], "Hello");
    drop(site);
    assert!(!captured.commands(3868).is_empty());
}
