//! tshark decodes what is written: no complaint. tshark must be there (Debian: tshark).

use crate::net::{Net, SECOND, settings};
use ldp::{Control, In, PseudowireId, PseudowireSettings, Settings};
use std::net::IpAddr;
use std::process::Command;

/// A classic pcap file of raw IPv4 packets (link type 228): UDP and TCP, port 646 at both ends.
fn pcap(packets: &[(bool, IpAddr, IpAddr, u16, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, (is_tcp, source, destination, _, octets)) in packets.iter().enumerate() {
        let mut segment: Vec<u8> = Vec::new();
        // Every message of a connection is one of its own, so that nothing is put together.
        let port = if *is_tcp { 20_000 + (number % 40_000) as u16 } else { 646 };
        segment.extend_from_slice(&port.to_be_bytes());
        segment.extend_from_slice(&646u16.to_be_bytes());
        if *is_tcp {
            segment
                .extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0]);
        } else {
            segment.extend_from_slice(&(8 + octets.len() as u16).to_be_bytes());
            segment.extend_from_slice(&[0, 0]);
        }
        segment.extend_from_slice(octets);
        let length = 20 + segment.len();
        let mut packet = vec![0x45, 0xC0];
        packet.extend_from_slice(&(length as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 0, 255, if *is_tcp { 6 } else { 17 }, 0, 0]);
        for address in [source, destination] {
            let IpAddr::V4(it) = address else { continue };
            packet.extend_from_slice(&it.octets());
        }
        packet.extend_from_slice(&segment);
        for word in [number as u32, 0, length as u32, length as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&packet);
    }
    file
}

fn busy() -> Net {
    let mut net = Net::new(4, 3);
    net.settings = |it| Settings {
        control: Control::Ordered,
        restart: Some((SECOND * 10, SECOND * 10)),
        ..settings(it)
    };
    net.link(0, 1);
    net.link(1, 2);
    (0..3).for_each(|it| net.start(it));
    net.route_all();
    net.run(SECOND * 15);
    for (at, peer) in [(0, 1), (1, 0)] {
        net.step(at, In::Target(Net::router(peer).into()));
        let id = PseudowireId::Number(7);
        let named = PseudowireId::Names {
            group: Box::new([1, 0, 0, 0, 0, 0, 0, 0, 1]),
            source: Box::new([1, 0, 0, 0, at as u8]),
            target: Box::new([1, 0, 0, 0, peer as u8]),
        };
        for id in [id, named] {
            let (kind, has_control_word, group, mtu, status) = (5, true, 1, 1_500, 0);
            let peer = Net::router(peer);
            let wire = PseudowireSettings { peer, id, kind, has_control_word, group, mtu, status };
            net.step(at, In::Pseudowire(wire));
        }
    }
    net.run(SECOND * 5);
    net.step(0, In::ForgetMacs(Net::router(1), PseudowireId::Number(7), vec![[2; 6]]));
    net.step(2, In::NoRoute(Net::prefix(2)));
    net.run(SECOND);
    net.step(0, In::PseudowireGone(Net::router(1), PseudowireId::Number(7)));
    net.step(1, In::InterfaceDown(1));
    net.run(SECOND * 10);
    net.step(0, In::Shutdown);
    net
}

#[test]
fn tshark_reads_every_message_and_finds_no_fault() {
    let net = busy();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&net.sent)).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for field in ["ldp.msg.type", "ldp.msg.tlv.type", "_ws.malformed", "_ws.expert.message"] {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), net.sent.len());
    let mut kinds = std::collections::BTreeSet::new();
    for (line, sent) in text.lines().zip(&net.sent) {
        let parts: Vec<&str> = line.split('|').collect();
        assert!(!parts[0].is_empty() && parts[2].is_empty(), "{line} {sent:02x?}");
        // What it says of a connection without its beginning is not about LDP.
        assert!(!parts[3].contains("LDP") && !parts[3].contains("Malformed"), "{line}");
        let all = parts[0].split(',').map(|it| it.trim_start_matches("0x").to_owned());
        kinds.extend(all.map(|it| u16::from_str_radix(&it, 16).unwrap()));
    }
    for kind in [0x1, 0x100, 0x200, 0x201, 0x300, 0x301, 0x400, 0x402, 0x403] {
        assert!(kinds.contains(&kind), "{kind:#x}: {kinds:x?}");
    }
}
