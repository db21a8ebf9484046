//! tshark decodes every packet that leaves: no complaint. tshark must be there (Debian: tshark).

use crate::world::{SECOND, World};
use igp::config::KeyChain;
use std::process::Command;

/// A classic pcap file of raw IPv4 packets (link type 228).
fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
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

#[test]
fn tshark_reads_every_packet_of_ospf_and_bfd_and_finds_no_fault() {
    let mut world = World::new(11, 3);
    world.lines = "key_file = \"keys\"\nbfd = { interval_ms = 1000 }".to_owned();
    let keys = KeyChain::read("3 hmac-sha-256 secret").unwrap();
    world.keys.insert("keys".to_owned(), keys);
    world.wire(true, &[(0, 10), (1, 10), (2, 10)]);
    world.wire(false, &[(0, 10), (1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    assert_eq!(world.states(0).len(), 3);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&world.sent)).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for field in ["frame.protocols", "ospf.msg", "_ws.expert.message", "_ws.malformed"] {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), world.sent.len());
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('|').collect()).collect();
    for line in &lines {
        assert_eq!((line[2], line[3]), ("", ""), "{line:?}");
    }
    for kind in ["1", "2", "3", "4", "5"] {
        assert!(lines.iter().any(|line| line[1] == kind), "type {kind}");
    }
    assert!(lines.iter().any(|line| line[0].ends_with("bfd")), "BFD");
}
