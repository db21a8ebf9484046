//! tshark decodes every message that the crate writes, and calls none malformed.
#![allow(clippy::unwrap_used, missing_docs)]

mod every;

use std::process::Command;

const STATION_PORT: u16 = 11_019;

/// A classic pcap file of raw IPv4 packets (link type 228), one TCP connection, one message in
/// each segment.
fn pcap(messages: &[(String, u8, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    let mut sequence = 1u32;
    for (number, (_, _, message)) in messages.iter().enumerate() {
        let length = 40 + message.len();
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&(length as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        packet.extend_from_slice(&[0xC0, 0x00]);
        packet.extend_from_slice(&STATION_PORT.to_be_bytes());
        packet.extend_from_slice(&sequence.to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 1, 0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0]);
        packet.extend_from_slice(message);
        sequence += message.len() as u32;
        for word in [number as u32, 0, length as u32, length as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&packet);
    }
    file
}

#[test]
fn tshark_names_every_message_and_finds_no_fault() {
    let messages = every::messages();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&messages)).unwrap();
    let output = Command::new("tshark")
        .args(["-d", &format!("tcp.port=={STATION_PORT},bmp")])
        .args(["-o", "bgp.asn_len:4", "-o", "tcp.check_checksum:false"])
        .args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"])
        .args(["-e", "bmp.type", "-e", "_ws.expert.message", "-e", "_ws.malformed"])
        .args(["-e", "bgp.type", "-r"])
        .arg(file.path())
        .output()
        .expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), messages.len(), "{text}{errors}");
    let mut faults = Vec::new();
    for (line, (name, kind, _)) in text.lines().zip(&messages) {
        let fields: Vec<&str> = line.split('|').collect();
        assert_eq!(fields[0], kind.to_string(), "{name}: {line}");
        // tshark 4.0 takes the information behind the two OPENs for a third BGP message.
        let is_unknown = name.contains("with information");
        let is_clean = fields[1].is_empty() && fields[2].is_empty();
        if !is_clean && !is_unknown {
            faults.push(format!("{name}: {line}"));
        }
        // The BGP messages inside are found: of a Peer Up both OPENs, of a route its UPDATE.
        let inside = match kind {
            0 => "2",
            3 => "1,1",
            _ => fields[3],
        };
        assert_eq!(fields[3], inside, "{name}: {line}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
