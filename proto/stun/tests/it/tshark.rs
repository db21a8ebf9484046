//! tshark decodes what is written: no complaint. tshark must be there (Debian: tshark).

use crate::peer::{Check, agent, pair, sent, step};
use machine::{Machine, Time};
use std::process::Command;
use stun::ice::Out;
use stun::{Algorithm, AttributeType};

/// A classic pcap file of raw IPv4 packets (link type 228), UDP.
fn pcap(datagrams: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, datagram) in datagrams.iter().enumerate() {
        let length = 28 + datagram.len();
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&(length as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        packet.extend_from_slice(&3_478u16.to_be_bytes());
        packet.extend_from_slice(&4_000u16.to_be_bytes());
        packet.extend_from_slice(&(datagram.len() as u16 + 8).to_be_bytes());
        packet.extend_from_slice(&[0, 0]);
        packet.extend_from_slice(datagram);
        for word in [number as u32, 0, length as u32, length as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&packet);
    }
    file
}

/// What tshark says of each datagram: type, attributes, checksum, complaints.
fn dissect(datagrams: &[Vec<u8>]) -> Vec<Vec<String>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(datagrams)).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for field in [
        "stun.type",
        "stun.att.type",
        "stun.att.crc32.status",
        "_ws.expert.message",
        "_ws.malformed",
        "stun.att.error",
        "stun.att.ipv4-xord",
    ] {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), datagrams.len(), "{text}{errors}");
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

#[test]
fn tshark_reads_checks_and_answers_and_finds_no_fault() {
    let now = Time::from_millis(1);
    let mut agent = agent(true);
    let mut datagrams = Vec::new();
    for check in [
        Check { is_chosen: true, ..Check::default() },
        Check { algorithm: Algorithm::Sha256, ..Check::default() },
        Check { role: AttributeType::IceControlled, ..Check::default() },
        Check { password: b"wrong".to_vec(), ..Check::default() },
    ] {
        let octets = check.octets(1);
        let out = step(&mut agent, now, pair(1), &octets);
        datagrams.push(octets);
        datagrams.push(sent(&out).octets.clone());
    }
    let mut out = Vec::new();
    agent.tick(agent.deadline().unwrap(), &mut out);
    let Some(Out::Send(asked)) = out.pop() else { panic!("{out:?}") };
    datagrams.push(asked.octets);
    let lines = dissect(&datagrams);
    for line in &lines {
        assert_eq!((&line[2][..], &line[3][..], &line[4][..]), ("1", "", ""), "{line:?}");
    }
    let types: Vec<&str> = lines.iter().map(|line| &line[0][..]).collect();
    let (request, success, error) = ("0x0001", "0x0101", "0x0111");
    let wanted = [request, success, request, success, request, error, request, error, request];
    assert_eq!(types, wanted);
    assert_eq!(lines[0][1], "0x0006,0x0024,0x802a,0x0025,0x0008,0x8028");
    assert_eq!(lines[3][1], "0x0020,0x001c,0x8028");
    assert_eq!((&lines[5][5][..], &lines[7][5][..]), ("87", "1"));
    assert_eq!(lines[8][1], "0x0006,0x0024,0x8029,0x0008,0x8028");
}
