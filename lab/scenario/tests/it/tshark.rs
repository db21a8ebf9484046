//! tshark reads what the built-in scenarios send (Debian: tshark), without a fault in the encoding.

use crate::world::{World, named};
use machine::Duration;
use scenario::{Inside, built_in};
use std::process::Command;

/// A classic pcap file of SCCP messages (link type 142): an LUDT to and from that subsystem.
fn pcap(messages: &[bytes::Bytes], subsystem: u8) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 142] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, octets) in messages.iter().enumerate() {
        let length = u16::try_from(octets.len()).unwrap();
        let ssn = subsystem;
        let head = [19, 0, 15, 7, 0, 8, 0, 9, 0, 0, 0, 2, 0x42, ssn, 2, 0x42, ssn];
        let all = (head.len() + 2 + octets.len()) as u32;
        for word in [number as u32, 0, all, all] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&head);
        file.extend_from_slice(&length.to_le_bytes());
        file.extend_from_slice(octets);
    }
    file
}

#[test]
fn tshark_reads_every_message_of_every_scenario() {
    for it in built_in() {
        let mut world = World::new(named(it.name), 1);
        let roles = named(it.name).roles;
        world.inside = Inside::new(&roles, 1, world.now).seeing();
        let report = world.play(Some(3), Duration::from_secs(600));
        assert_eq!(report.failed(), 0, "{report:#?}");
        let messages = world.inside.take_seen();
        assert_eq!(messages.len() as u64, report.messages_out, "{}", it.name);
        let is_cap = it.name.starts_with("cap") || it.name == "prepaid";
        let subsystem = if is_cap { 146 } else { 6 };
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pcap(&messages, subsystem)).unwrap();
        let output = Command::new("tshark")
            .args(["-o", "mtp3.standard:ITU", "-T", "fields", "-E", "separator=|"])
            .args(["-E", "occurrence=a", "-e", "tcap.tid", "-e", "_ws.expert.message"])
            .arg("-e")
            .arg(if is_cap { "camel.local" } else { "gsm_old.localValue" })
            .arg("-r")
            .arg(file.path())
            .output()
            .expect("tshark is installed (make setup)");
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.lines().count(), messages.len(), "{}: {errors}", it.name);
        for (line, octets) in text.lines().zip(&messages) {
            let fields: Vec<&str> = line.splitn(3, '|').collect();
            let hex: String = octets.iter().map(|it| format!("{it:02x}")).collect();
            assert!(!fields[0].is_empty(), "{}: no transaction in {hex}", it.name);
            let complains = ["BER Error", "Malformed", "Unknown", "undecoded"];
            let is_wrong = complains.iter().any(|it| fields[1].contains(it));
            assert!(!is_wrong, "{}: {line} {hex}", it.name);
        }
        let operations = text.lines().filter(|line| !line.ends_with('|')).count();
        assert!(operations > 0, "{}: {text}", it.name);
    }
}
