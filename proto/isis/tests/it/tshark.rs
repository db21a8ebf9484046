//! tshark decodes what is written: no complaint. tshark must be there (Debian: tshark).

use crate::net::{Net, SECOND};
use isis::lsp::{LabelRange, PrefixSid, SegmentRouting};
use isis::pdu::{Algorithm, AuthenticationKey};
use isis::{
    Advertised, Authentication, In, LLC, Leaking, Levels, LinkType, MetricStyle, Prefix, Settings,
    Snpa,
};
use machine::Duration;
use std::process::Command;

/// A classic pcap file of frames (link type 1): IEEE 802.3 with its length.
fn pcap(pdus: &[(Snpa, Snpa, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 1] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, (source, destination, octets)) in pdus.iter().enumerate() {
        let mut frame = [destination.0, source.0].concat();
        frame.extend_from_slice(&(octets.len() as u16 + 3).to_be_bytes());
        frame.extend_from_slice(&LLC);
        frame.extend_from_slice(octets);
        let length = frame.len() as u32;
        for word in [number as u32, 0, length, length] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&frame);
    }
    file
}

fn dissect(pdus: &[(Snpa, Snpa, Vec<u8>)]) -> Vec<Vec<String>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(pdus)).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for field in ["isis.type", "_ws.expert.message", "_ws.malformed"] {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), pdus.len(), "{text}{errors}");
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

fn busy(authentication: Authentication, style: MetricStyle) -> Net {
    let mut net = Net::new(4, 4);
    net.roles = vec![(1, Levels::BOTH), (1, Levels::BOTH), (1, Levels::BOTH), (2, Levels::BOTH)];
    net.style = style;
    net.link(LinkType::Broadcast, &[(0, 5), (1, 5), (2, 5)]);
    net.link(LinkType::PointToPoint, &[(2, 7), (3, 7)]);
    net.link(LinkType::PointToPoint, &[(0, 9), (1, 9)]);
    net.authentication = authentication;
    net.keeps_pdus = true;
    for system in 0..4 {
        let global = vec![LabelRange { first: 16_000, count: 8_000 }];
        let local = vec![LabelRange { first: 15_000, count: 1_000 }];
        let algorithms = vec![0];
        let said = SegmentRouting { is_ipv4: true, is_ipv6: true, global, local, algorithms };
        let segment_routing = Some(said);
        let settings = Settings { segment_routing, leaking: Leaking::All, ..net.settings(system) };
        net.start_with(system, settings);
    }
    let sid = Some(PrefixSid { flags: 0x40, index: 5 });
    let levels = Levels::BOTH;
    let said = Advertised { metric: 0, is_external: true, tag: Some(3), sid, levels };
    net.step(0, In::Advertise(Prefix::new([10, 255, 0, 1].into(), 32), said));
    net.step(0, In::Advertise(Prefix::new(Net::ipv6(200, 0).into(), 128), said));
    net.step(2, In::AdjacencySid(1, Net::id(0), Some(15_001)));
    net.step(2, In::AdjacencySid(2, Net::id(3), Some(15_002)));
    net.run(SECOND * 20);
    // One restarts, one is gone: requests, answers, purges.
    net.step(1, In::RestartAhead(SECOND * 5));
    net.run(Duration::from_millis(200));
    let settings = Settings { restart: Some(SECOND * 20), ..net.settings(1) };
    net.start_with(1, settings);
    net.run(SECOND * 10);
    net.step(2, In::CircuitDown(1));
    net.run(SECOND * 20);
    net
}

#[test]
fn tshark_reads_every_pdu_of_a_network_and_finds_no_fault() {
    let key = AuthenticationKey::new(1, Algorithm::HmacSha256, b"secret").unwrap();
    let md5 = AuthenticationKey::new(1, Algorithm::HmacMd5, b"secret").unwrap();
    for (authentication, style) in [
        (Authentication::Null, MetricStyle::Wide),
        (Authentication::Null, MetricStyle::Transition),
        (Authentication::password(b"open").unwrap(), MetricStyle::Wide),
        (Authentication::cryptographic(vec![key]).unwrap(), MetricStyle::Wide),
        (Authentication::cryptographic(vec![md5]).unwrap(), MetricStyle::Wide),
    ] {
        let net = busy(authentication, style);
        let lines = dissect(&net.sent);
        for (line, sent) in lines.iter().zip(&net.sent) {
            let complaint = (&line[1][..], &line[2][..]);
            assert_eq!(complaint, ("", ""), "{line:?} {:02x?}", sent.2);
        }
        for kind in ["15", "16", "17", "18", "20", "24", "25", "26", "27"] {
            let has = |line: &Vec<String>| line[0].split(',').any(|it| it == kind);
            assert!(lines.iter().any(has), "type {kind}");
        }
    }
}
