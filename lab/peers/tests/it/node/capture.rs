//! What passed, in the eyes of others: tshark and scapy.

use std::path::Path;
use std::process::Command;

/// Programs that decode what passed must be there: they are part of the set-up (`make setup`).
const TSHARK: &str = "tshark is not installed (Debian: tshark)";
const SCAPY: &str = "python3 is not installed (Debian: python3-scapy)";
const DECODE: &str = include_str!("../../scapy/decode.py");

/// Remarks of tshark that say what a proper packet is, and no more.
const KNOWN: &[&str] = &[
    "Association ABORT",
    "ABORT",
    "Retransmitted",
    "retransmission",
    "This TSN is a retransmission",
    "Duplicate TSN",
    "More than 100 TSNs were gap-acknowledged",
    "Zero Advertised Receiver Window Credit",
];

/// A classic pcap file of raw IPv4 packets.
pub fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 101] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, packet) in packets.iter().enumerate() {
        let length = packet.len() as u32;
        for word in [number as u32, 0, length, length] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(packet);
    }
    file
}

/// Both must find every packet whole and its checksum right, and agree on its chunks.
pub fn check(packets: &[Vec<u8>]) {
    assert!(!packets.is_empty(), "something has passed");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(packets)).unwrap();
    let (by_tshark, by_scapy) = (tshark(file.path()), scapy(file.path()));
    assert_eq!(by_tshark.len(), packets.len());
    for (number, (one, other)) in by_tshark.iter().zip(&by_scapy).enumerate() {
        assert_eq!(one, other, "packet {number}");
    }
}

/// The same for packets that quote what others have damaged: tshark's remarks are about that, and
/// scapy alone says what the chunks are.
pub fn check_quoting(packets: &[Vec<u8>]) {
    assert!(!packets.is_empty(), "something has passed");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(packets)).unwrap();
    assert_eq!(fields(file.path()).len(), packets.len());
    assert_eq!(scapy(file.path()).len(), packets.len());
}

/// Types of the chunks of each packet.
fn tshark(file: &Path) -> Vec<String> {
    let known = |(number, (types, remarks)): (usize, (String, String))| {
        let is_known = KNOWN.iter().any(|known| remarks.contains(known));
        assert!(remarks.is_empty() || is_known, "packet {number}: {types}: {remarks}");
        types
    };
    fields(file).into_iter().enumerate().map(known).collect()
}

/// Types of the chunks of each packet and tshark's remarks; the checksums are right.
fn fields(file: &Path) -> Vec<(String, String)> {
    let output = Command::new("tshark")
        .args(["-o", "sctp.checksum:CRC 32c", "-T", "fields", "-E", "separator=|"])
        .args(["-e", "sctp.chunk_type", "-e", "sctp.checksum.status"])
        .args(["-e", "_ws.expert.message", "-e", "_ws.malformed", "-r"])
        .arg(file)
        .output()
        .expect(TSHARK);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |(number, line): (usize, &str)| {
        let fields: Vec<&str> = line.split('|').collect();
        assert_eq!(fields[1], "1", "packet {number}: the checksum; {line}");
        (fields[0].to_owned(), [fields[2], fields[3]].concat())
    };
    text.lines().enumerate().map(line).collect()
}

fn scapy(file: &Path) -> Vec<String> {
    let output =
        Command::new("/usr/bin/python3").args(["-c", DECODE]).arg(file).output().expect(SCAPY);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "scapy: {words}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
