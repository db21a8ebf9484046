//! tshark decodes what the codec writes: every message by its name, no complaint. tshark must be
//! there (Debian: tshark).

use crate::every;
use std::process::Command;
use tcap::codec::MessageType;

/// A classic pcap file of SCCP messages (link type 142): a UDT to and from the subsystem 200.
fn pcap(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 142] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, octets) in messages.iter().enumerate() {
        let length = u8::try_from(octets.len()).unwrap();
        let head = [9, 0, 3, 5, 7, 2, 0x42, 200, 2, 0x42, 200, length];
        let all = (head.len() + octets.len()) as u32;
        for word in [number as u32, 0, all, all] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&head);
        file.extend_from_slice(octets);
    }
    file
}

#[test]
fn tshark_names_every_message_and_finds_no_fault() {
    let all = every::messages();
    let octets: Vec<Vec<u8>> = all.iter().map(|it| it.1.clone()).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&octets)).unwrap();
    let to_element = |kind: &MessageType| format!("tcap.{}_element", kind.name().to_lowercase());
    let elements: Vec<String> = MessageType::ALL.iter().map(to_element).collect();
    let output = Command::new("tshark")
        .args(["-o", "mtp3.standard:ITU", "-o", "tcap.ssn:200"])
        .args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"])
        .args(["-e", "_ws.expert.message", "-e", "_ws.malformed"])
        .args(elements.iter().flat_map(|element| ["-e", element.as_str()]))
        .arg("-r")
        .arg(file.path())
        .output()
        .expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), all.len(), "{text}{errors}");
    for (line, (kind, _)) in text.lines().zip(&all) {
        let fields: Vec<&str> = line.split('|').collect();
        assert!(fields[..2].iter().all(|it| it.is_empty()), "{}: {line}", kind.name());
        for (seen, named) in fields[2..].iter().zip(MessageType::ALL) {
            assert_eq!(!seen.is_empty(), named == kind, "{}: {line}", kind.name());
        }
    }
}
