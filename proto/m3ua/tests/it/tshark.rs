//! tshark decodes what the codec writes: every message by its name, no complaint. tshark must
//! be there (Debian: tshark).

use crate::every;
use m3ua::codec::{MessageType, SCTP_PPID};
use std::process::Command;

/// A classic pcap file of SCTP packets (link type 248), one DATA chunk in each.
fn pcap(messages: &[(MessageType, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 248] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, (kind, bytes)) in messages.iter().enumerate() {
        let mut packet = Vec::new();
        packet.extend_from_slice(&[0x0b, 0x59, 0x0b, 0x59, 0, 0, 0, 1, 0, 0, 0, 0]);
        let stream = u16::from(*kind == MessageType::Data);
        packet.extend_from_slice(&[0, 3]);
        packet.extend_from_slice(&(16 + bytes.len() as u16).to_be_bytes());
        packet.extend_from_slice(&(number as u32 + 1).to_be_bytes());
        packet.extend_from_slice(&stream.to_be_bytes());
        packet.extend_from_slice(&(number as u16).to_be_bytes());
        packet.extend_from_slice(&SCTP_PPID.to_be_bytes());
        packet.extend_from_slice(bytes);
        packet.resize(packet.len().next_multiple_of(4), 0);
        for word in [number as u32, 0, packet.len() as u32, packet.len() as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&packet);
    }
    file
}

#[test]
fn tshark_names_every_message_and_finds_no_fault() {
    let messages = every::every_message();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&messages)).unwrap();
    let output = Command::new("tshark")
        .args(["-o", "sctp.checksum:none", "-o", "m3ua.version:RFC 4666"])
        .args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"])
        .args(["-e", "m3ua.message_class", "-e", "m3ua.message_type"])
        .args(["-e", "m3ua.parameter_tag", "-e", "_ws.expert.message", "-e", "_ws.malformed"])
        .arg("-r")
        .arg(file.path())
        .output()
        .expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), messages.len(), "{text}{errors}");
    for (line, (kind, _)) in text.lines().zip(&messages) {
        let fields: Vec<&str> = line.split('|').collect();
        let [class, of_class] = kind.number().to_be_bytes();
        assert_eq!(fields[0], class.to_string(), "{}: {line}", kind.name());
        assert_eq!(fields[1], of_class.to_string(), "{}: {line}", kind.name());
        for rule in kind.rules() {
            let tag = format!("0x{:04x}", rule.tag.number());
            let tags = fields[2].to_lowercase();
            let is_named =
                tags.split(',').any(|it| it == tag || it == rule.tag.number().to_string());
            assert!(is_named, "{} in {}: {line}", rule.tag.name(), kind.name());
        }
        assert!(fields[3].is_empty() && fields[4].is_empty(), "{}: {line}", kind.name());
    }
}
