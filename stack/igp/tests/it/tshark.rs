//! tshark decodes every packet that leaves: no complaint. tshark must be there (Debian: tshark).

use crate::world::{SECOND, World};
use igp::Protocol;
use igp::config::KeyChain;
use std::process::Command;

/// Link types of raw IPv4 packets, and of Ethernet.
const RAW: u32 = 228;
const ETHERNET: u32 = 1;

/// A classic pcap file.
fn pcap(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, link] {
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

/// The protocols of each packet, and a field; tshark complains of none.
fn read(pcap: &[u8], field: &str) -> Vec<[String; 2]> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for field in ["frame.protocols", field, "_ws.expert.message", "_ws.malformed"] {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| {
        let line: Vec<&str> = line.split('|').collect();
        assert_eq!((line[2], line[3]), ("", ""), "{line:?}");
        [line[0].to_owned(), line[1].to_owned()]
    });
    lines.collect()
}

#[test]
fn tshark_reads_every_frame_of_isis_and_finds_no_fault() {
    let mut world = World::new(12, 3);
    world.speaks = vec![Protocol::Isis];
    world.isis_lines = "key_file = \"keys\"".to_owned();
    let keys = KeyChain::read(Protocol::Isis, "3 hmac-sha-256 secret").unwrap();
    world.keys.insert("keys".to_owned(), keys);
    world.own_isis_lines = vec!["level = \"1-2\"".to_owned(); 3];
    world.wire(true, &[(0, 10), (1, 10), (2, 10)]);
    world.wire(false, &[(0, 10), (1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    let lines = read(&pcap(ETHERNET, &world.frames), "isis.type");
    assert_eq!(lines.len(), world.frames.len());
    // Hellos of both levels and of links of two, LSPs, CSNPs, PSNPs.
    for kind in ["15", "16", "17", "18", "20", "24", "25", "26", "27"] {
        let has = |line: &[String; 2]| line[1].split(',').any(|it| it == kind);
        assert!(lines.iter().any(has), "type {kind}");
    }
}

#[test]
fn tshark_reads_every_packet_of_ospf_and_finds_no_fault() {
    let mut world = World::new(11, 3);
    world.lines = "key_file = \"keys\"".to_owned();
    let keys = KeyChain::read(Protocol::Ospf, "3 hmac-sha-256 secret").unwrap();
    world.keys.insert("keys".to_owned(), keys);
    world.wire(true, &[(0, 10), (1, 10), (2, 10)]);
    world.wire(false, &[(0, 10), (1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    assert_eq!(world.states(0).len(), 3);
    let lines = read(&pcap(RAW, &world.sent), "ospf.msg");
    assert_eq!(lines.len(), world.sent.len());
    for kind in ["1", "2", "3", "4", "5"] {
        assert!(lines.iter().any(|line| line[1] == kind), "type {kind}");
    }
}
