//! Malformed packets made by scapy.

use std::process::Command;

const SCRIPT: &str = include_str!("../../scapy/malformed.py");
const HEADER: usize = 12;

/// A packet from the common header on, and what is to be done with it.
pub struct Malformed {
    pub name: String,
    wanted: String,
    pub octets: Vec<u8>,
}

/// The packets, for a receiver that awaits this tag and TSN; ports of source and destination.
pub fn made_by_scapy(tag: u32, ports: [u16; 2], tsn: u32, fuzzed: usize) -> Vec<Malformed> {
    let numbers = [tag, ports[0].into(), ports[1].into(), tsn, fuzzed as u32];
    let output = Command::new("/usr/bin/python3")
        .args(["-c", SCRIPT])
        .args(numbers.map(|it| it.to_string()))
        .output()
        .expect("there is no python3 (Debian: python3-scapy)");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "scapy (Debian: python3-scapy): {words}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(Malformed::read).collect()
}

impl Malformed {
    fn read(line: &str) -> Self {
        let [name, wanted, hex] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let octet = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let octets = (0..hex.len()).step_by(2).map(octet).collect();
        Self { name: name.into(), wanted: wanted.into(), octets }
    }

    /// Whether it is said what is to be done with it, and it belongs to no association.
    pub fn is_blue(&self) -> bool {
        self.name.starts_with("blue:") && self.wanted != "any"
    }

    /// The answers, from the common header on, must be what is wanted: nothing, or one packet
    /// with chunks of these types.
    pub fn expect(&self, answers: &[Vec<u8>]) {
        let got = match answers {
            [] => "nothing".to_owned(),
            all => all.iter().map(|it| types(it)).collect::<Vec<_>>().join(" and "),
        };
        assert!(self.wanted == "any" || self.wanted == got, "{}: {got}", self.name);
    }
}

fn types(packet: &[u8]) -> String {
    let (mut at, mut types) = (HEADER, Vec::new());
    while let Some(head) = packet.get(at..at + 4) {
        types.push(head[0].to_string());
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        assert!(length >= 4, "{packet:?}");
        at += length.next_multiple_of(4);
    }
    types.join(",")
}
