//! tshark decodes what the crate writes: every message by its type, every family by its numbers,
//! no complaint. Where tshark is not installed the test says so and does nothing.
#![allow(clippy::unwrap_used, missing_docs)]

mod every;

use bgp::family::Family;
use std::process::Command;

/// A classic pcap file of raw IPv4 packets (link type 228), one TCP connection, one message in
/// each segment.
fn pcap(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    let mut sequence = 1u32;
    for (number, message) in messages.iter().enumerate() {
        let length = 40 + message.len();
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&(length as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        packet.extend_from_slice(&[0xC0, 0x00, 0, 179]);
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
    let bytes: Vec<Vec<u8>> = messages.iter().map(|(_, bytes)| bytes.clone()).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&bytes)).unwrap();
    let output = Command::new("tshark")
        .args(["-o", "bgp.asn_len:4", "-o", "tcp.check_checksum:false"])
        .args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"])
        .args(["-e", "bgp.type", "-e", "_ws.expert.message", "-e", "_ws.malformed"])
        .args(["-e", "bgp.update.path_attribute.mp_reach_nlri.safi"])
        .args(["-e", "bgp.update.path_attribute.mp_unreach_nlri.safi"])
        .arg("-r")
        .arg(file.path())
        .output()
        .expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), messages.len(), "{text}{errors}");
    // What tshark 4.0 does not know or does not read as RFC 9552 §5.2 has it.
    let unknown = [Family::Ipv4SrPolicy, Family::Ipv6SrPolicy, Family::LinkStateVpn];
    let mut faults = Vec::new();
    for (line, (name, bytes)) in text.lines().zip(&messages) {
        let fields: Vec<&str> = line.split('|').collect();
        assert_eq!(fields[0], bytes[18].to_string(), "{name}");
        let family = name.strip_prefix("update ").and_then(Family::named);
        // A remark of tshark's, not a fault.
        let remarks = fields[1].replace("IP Address: NOT INCLUDED", "");
        let is_known = family.is_none_or(|family| !unknown.contains(&family));
        if is_known && !(remarks.is_empty() && fields[2].is_empty()) {
            faults.push(format!("{name}: {line}"));
        }
        let safis = [fields[3], fields[4]].concat();
        if let Some(family) = family.filter(|_| !safis.is_empty()) {
            assert_eq!(safis, family.safi().to_string(), "{name}");
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
