//! pycrate 0.8.1 beside the rows (`make setup-python` installs it): values by seed, ours read by
//! it and
//! written again by way of BER and of JSON, its own read by us, equal.

use crate::values::{back, json, types, value};
use ber::{Element, Type};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

const SCRIPT: &str = include_str!("pycrate.py");
const LACKS: &str = "pycrate does not run (make setup-python)";
/// Values a type.
const SEEDS: u64 = 5;

/// pycrate, a line in and a line out.
struct Peer {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Peer {
    fn start() -> Self {
        let mut python = Command::new("/usr/bin/python3");
        python.args(["-B", "-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().expect(LACKS);
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, out }
    }

    fn ask(&mut self, line: &str) -> String {
        let stdin = self.child.stdin.as_mut().expect("it is piped");
        writeln!(stdin, "{line}").expect(LACKS);
        let mut answer = String::new();
        self.out.read_line(&mut answer).expect("it says text");
        assert!(!answer.is_empty(), "{LACKS}");
        answer.trim_end().to_owned()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|it| format!("{it:02x}")).collect()
}

fn octets(hex: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// Types that it knows by a name: those declared in place have none.
fn known() -> impl Iterator<Item = &'static Type> {
    types().into_iter().filter(|of| !of.name.contains('.'))
}

fn word(of: &Type) -> String {
    format!("{} {}", of.spec.replace(' ', "_"), of.name)
}

#[test]
fn what_is_written_here_is_read_there_by_its_octets_and_by_its_names() {
    let mut peer = Peer::start();
    let (mut faults, mut by_names) = (Vec::new(), 0);
    for of in known() {
        for seed in 1..=SEEDS {
            let ours = value(of, seed);
            let text = json(of, &ours);
            let line = format!("read {} {} {}", word(of), hex(&ours), hex(text.as_bytes()));
            let answer = peer.ask(&line);
            let parts: Vec<_> = answer.split(' ').collect();
            // In JSON it keeps of an element of any type the contents alone.
            let is_open = text.contains("\"extType\"");
            let is_same = parts.len() == 3 && parts[0] == hex(&ours);
            if !is_same || !(is_open || parts[1] == hex(&ours)) {
                faults.push(format!("{}: {answer} for {} {text}", of.name, hex(&ours)));
                break;
            }
            if is_open {
                continue;
            }
            by_names += 1;
            let theirs = String::from_utf8(octets(parts[2])).unwrap();
            assert_eq!(back(of, &theirs), ours, "{}: {theirs}", of.name);
        }
    }
    assert!(faults.is_empty(), "{}: {}", faults.len(), faults.join("\n"));
    assert!(by_names > 1_000, "{by_names}");
}

#[test]
fn what_is_written_there_is_read_here_and_written_the_same() {
    let mut peer = Peer::start();
    let mut faults = Vec::new();
    for of in known() {
        for seed in 1..=SEEDS {
            let answer = peer.ask(&format!("make {} {seed}", word(of)));
            assert!(!answer.starts_with('!'), "{}: {answer}", of.name);
            let theirs = octets(&answer);
            let element = Element::only(&theirs).unwrap();
            match of.check_tagged(&element) {
                Ok(()) => assert_eq!(back(of, &json(of, &theirs)), theirs, "{}", of.name),
                Err(violation) => faults.push(format!("{}: {violation} of {answer}", of.name)),
            }
        }
    }
    assert!(faults.is_empty(), "{}: {}", faults.len(), faults.join("\n"));
}
