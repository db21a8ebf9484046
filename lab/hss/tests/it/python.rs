//! With python-diameter, in both roles.

use crate::live::{Live, PATIENCE, avp, mar, text, udr};
use peers::{Process, ProcessSpec};
use std::fs;
use std::path::Path;

const PEER: &str = include_str!("peer.py");

fn peer(directory: &Path, words: &[&str]) -> Process {
    fs::write(directory.join("peer.py"), PEER).unwrap();
    let words = core::iter::once("peer.py").chain(words.iter().copied());
    let spec = ProcessSpec::new("peer", "/usr/bin/python3", directory).with(words);
    let mut process = Process::start(&spec).unwrap();
    wait(&mut process, directory, "listens");
    process
}

fn wait(process: &mut Process, directory: &Path, word: &str) {
    let log = directory.join("peer.log");
    let said = || fs::read_to_string(&log).is_ok_and(|text| text.contains(word));
    process.wait_until(PATIENCE, said).unwrap();
}

#[test]
fn a_server_of_python_diameter_answers_and_fails_over_to_none() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = peer(directory.path(), &["server", "127.80.1.2"]);
    let client = Live::start(
        r#"
        applications = [16777216, 16777217]
        diameter = { host = "as.example", realm = "example", timers = { reconnect_ms = 200 } }
        [[peer]]
        name = "python"
        host = "hss.home"
        addresses = ["127.80.1.2"]
        connect = true
        [[route]]
        realm = "home"
        to = [{ peer = "python" }]
        "#,
    );
    client.until_open(1);
    wait(&mut server, directory.path(), "ready");
    let answer = client.answer(&udr("as.example", "example", &["MSISDN"]));
    assert_eq!(answer["command"], "UDA", "{answer:#}");
    let avps = &answer["avps"];
    assert_eq!(avp(avps, "Result-Code"), 2001, "{answer:#}");
    assert_eq!(text(avp(avps, "Sh-User-Data")), "<Sh-Data><a/></Sh-Data>");
    let answer = client.answer(&mar("as.example", "example"));
    let item = avp(&answer["avps"], "SIP-Auth-Data-Item");
    assert_eq!(avp(item, "SIP-Authenticate"), "00".repeat(32).as_str(), "{answer:#}");
    client.ask("stop", &[("peer", "python")]);
    client.until("peers", |rows| rows[0]["state"] == "closed");
    client.ask("start", &[("peer", "python")]);
    client.until_open(1);
    server.stop();
    client.until("peers", |rows| rows[0]["state"] != "open");
    client.stop();
}

#[test]
fn a_client_of_python_diameter_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let server = Live::start(
        r#"
        applications = [16777216, 16777217]
        [diameter]
        host = "hss.home"
        realm = "home"
        tcp = { listen = ["127.80.2.1:3868"] }
        [[peer]]
        name = "python"
        host = "as.example"
        "#,
    );
    let mut client = peer(directory.path(), &["client", "127.80.2.2", "127.80.2.1"]);
    wait(&mut client, directory.path(), "done");
    let log = client.log_end();
    let answers = log.lines().filter(|line| line.starts_with("answer ")).collect::<Vec<_>>();
    assert_eq!(answers.len(), 10, "{log}");
    assert!(answers.iter().all(|it| it.contains(" 2001 ") && it.contains("491710000")), "{log}");
    let counts = server.ask("counts", &[]);
    assert_eq!((counts["asked"].as_u64(), counts["again"].as_u64()), (Some(10), Some(0)));
    assert_eq!(counts["complaints"], serde_json::json!([]));
    client.stop();
    server.until("peers", |rows| rows[0]["state"] == "closed");
    server.stop();
}
