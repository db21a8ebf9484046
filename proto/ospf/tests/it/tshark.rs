//! tshark decodes what is written: no complaint. tshark must be there (Debian: tshark).

use crate::net::{Net, SECOND};
use ospf::lsa::{
    ExtendedPrefix, Flood, OpaqueType, PrefixSid, Range, RouterInformation, opaque_id,
};
use ospf::packet::{Algorithm, AuthenticationKey};
use ospf::{AreaKind, Authentication, In, LinkType, Prefix, Redistributed};
use std::net::Ipv4Addr;
use std::process::Command;

/// A classic pcap file of raw IPv4 packets (link type 228).
fn pcap(packets: &[(Ipv4Addr, Ipv4Addr, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, (source, destination, octets)) in packets.iter().enumerate() {
        let length = 20 + octets.len();
        let mut packet = vec![0x45, 0xC0];
        packet.extend_from_slice(&(length as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 0, 1, ospf::PROTOCOL, 0, 0]);
        packet.extend_from_slice(&source.octets());
        packet.extend_from_slice(&destination.octets());
        packet.extend_from_slice(octets);
        for word in [number as u32, 0, length as u32, length as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&packet);
    }
    file
}

fn dissect(packets: &[(Ipv4Addr, Ipv4Addr, Vec<u8>)]) -> Vec<Vec<String>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(packets)).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for field in ["ospf.msg", "ospf.lsa", "_ws.expert.message", "_ws.malformed"] {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), packets.len(), "{text}{errors}");
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

#[test]
fn tshark_reads_every_packet_of_a_network_and_finds_no_fault() {
    let key = AuthenticationKey::new(1, Algorithm::HmacSha256, b"secret").unwrap();
    let digests = Authentication::cryptographic(vec![key]).unwrap();
    for authentication in [Authentication::Null, digests] {
        let mut net = Net::new(4, 4);
        net.areas.insert(0, AreaKind::Normal);
        net.areas.insert(2, AreaKind::Nssa { is_totally: false, default_cost: Some(1) });
        net.link(LinkType::Broadcast, 0, &[(0, 5), (1, 5), (2, 5)]);
        net.link(LinkType::PointToPoint, 2, &[(2, 7), (3, 7)]);
        net.authentication = authentication;
        net.keeps_packets = true;
        net.start_all();
        let outside = Redistributed { metric: 1, is_type2: true, tag: 7 };
        net.step(3, In::Redistribute(Prefix::new(0xCB00_7100, 24), outside));
        net.step(0, In::Redistribute(Prefix::new(0xCB00_7200, 24), outside));
        let mut said = RouterInformation::default();
        said.segment_routing.algorithms = vec![0];
        said.segment_routing.global = vec![Range { first: 16_000, count: 8_000 }];
        net.step(0, In::Opaque(0, opaque_id(OpaqueType::RouterInformation, 0), said.write()));
        let mut prefix = Vec::new();
        let sids = vec![PrefixSid { flags: 0x40, algorithm: 0, sid: 5 }];
        let address = Net::id(0);
        let (route, flags, length) = (Flood::IntraArea, 0x40, 32);
        ExtendedPrefix { route, flags, address, length, sids }.write(&mut prefix);
        net.step(0, In::Opaque(0, opaque_id(OpaqueType::ExtendedPrefix, 1), prefix));
        net.run(SECOND * 20);
        let lines = dissect(&net.sent);
        for (line, sent) in lines.iter().zip(&net.sent) {
            assert_eq!((&line[2][..], &line[3][..]), ("", ""), "{line:?} {sent:?}");
        }
        for kind in ["1", "2", "3", "4", "5"] {
            assert!(lines.iter().any(|line| line[0] == kind), "type {kind}");
        }
        let lsas: Vec<&str> = lines.iter().flat_map(|line| line[1].split(',')).collect();
        for kind in ["1", "2", "3", "5", "7", "10"] {
            assert!(lsas.contains(&kind), "LSA type {kind}: {lsas:?}");
        }
    }
}
