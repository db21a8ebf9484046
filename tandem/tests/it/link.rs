//! `tandem lab link` as a command: what it refuses, and how it ends.

use attack::{Namespace, Veth};
use serde_json::Value;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");

fn link(arguments: &[&str]) -> Output {
    Command::new(TANDEM).args(["lab", "link"]).args(arguments).output().unwrap()
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_hint() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("link.toml");
    let text = "[[link]]\nbetween = [\"a\", \"b\"]\ndelay = \"10\"\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    for (arguments, status, word) in [
        (&["--delay", "10ms"][..], 2, "--between"),
        (&["--between", "x", "y", "--delay", "10"], 2, "10ms"),
        (&["--between", "x", "y", "--loss", "5"], 2, "5%"),
        (&["--between", "x", "x"], 2, "twice"),
        (&["--between", "x", "y", "--queue", "10"], 2, "without `rate`"),
        (&["--between", "x", "y", "--reverse", "--dely", "1ms"], 2, "after --reverse"),
        (&["--between", "tandem-no0", "tandem-no1"], 1, "`ip link` names them"),
        (&["--file", "/nowhere/link.toml"], 1, "/nowhere/link.toml"),
        (&["--file", file], 3, "10ms"),
        (&["--file", file, "--delay", "10ms"], 2, "the file says"),
    ] {
        let output = link(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty());
    }
}

/// Two namespaces on the near ends of two pairs, the far ends in a third one.
fn field() -> Option<[Namespace; 3]> {
    let left = match Namespace::new("cli-left") {
        Ok(left) => left,
        Err(why) => {
            let may_skip = std::env::var("TANDEM_MAY_SKIP").is_ok_and(|it| it == "1");
            assert!(may_skip, "{why:#}; TANDEM_MAY_SKIP=1 leaves this test out");
            return None;
        }
    };
    let (right, middle) = (Namespace::new("cli-right"), Namespace::new("cli-middle"));
    let (right, middle) = (right.unwrap(), middle.unwrap());
    for (end, namespace) in [(1, &left), (2, &right)] {
        let (far, address) = (format!("far{end}"), format!("10.196.1.{end}/24"));
        let mac = |side: usize| format!("02:00:00:00:0{side}:0{end}");
        let addresses = &[&address[..]];
        Veth::pair(
            Veth { namespace, interface: "near", addresses, mac: &mac(0) },
            Veth { namespace: &middle, interface: &far, addresses: &[], mac: &mac(1) },
        )
        .unwrap();
    }
    Some([left, right, middle])
}

fn at(end: u8) -> SocketAddr {
    ([10, 196, 1, end], 4_000).into()
}

fn socket(namespace: &Namespace, end: u8) -> UdpSocket {
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            attack::enter(namespace.name()).unwrap();
            UdpSocket::bind(at(end)).unwrap()
        });
        inside.join().unwrap()
    })
}

#[test]
fn interrupted_it_says_what_became_of_the_packets_in_one_object() {
    let Some([left, right, middle]) = field() else { return };
    let ends = [1, 2].map(|end| format!("{}/far{end}", middle.name()));
    let arguments = ["lab", "link", "--between", &ends[0], &ends[1], "--json", "--seed", "9"];
    let behaviour = ["--delay", "5ms", "--cut", "600s", "--reverse", "--delay", "1ms"];
    let mut command = Command::new(TANDEM);
    let command = command.args(arguments).args(behaviour).stdin(Stdio::null());
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (from, to) = (socket(&left, 1), socket(&right, 2));
    to.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut passed = false;
    for _ in 0..600 {
        from.send_to(b"hello", at(2)).unwrap();
        passed |= to.recv(&mut [0; 16]).is_ok();
        if passed {
            break;
        }
    }
    let id = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = running.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(passed && output.status.success(), "{said}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["seed"], 9);
    let link = &object["links"][0];
    assert_eq!(link["between"][1], ends[1]);
    assert!(link["forward"]["delivered"].as_u64().unwrap() > 0, "{object:#}");
    assert!(link["forward"]["late_us"]["p99"].is_number(), "{object:#}");
}
