//! tshark decodes what is written: no complaint. tshark must be there (Debian: tshark).

use crate::field::{Field, ms, neighbour};
use bfd::{AuthType, Authentication, In, Key, PORT_SINGLE_HOP, SessionSettings, Timers};
use std::process::Command;

/// A classic pcap file of raw IPv4 packets (link type 228), UDP.
fn pcap(datagrams: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, datagram) in datagrams.iter().enumerate() {
        let length = 28 + datagram.len();
        let mut packet = vec![0x45, 0xC0];
        packet.extend_from_slice(&(length as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 255, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        packet.extend_from_slice(&bfd::SOURCE_PORT_MIN.to_be_bytes());
        packet.extend_from_slice(&PORT_SINGLE_HOP.to_be_bytes());
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

fn dissect(datagrams: &[Vec<u8>]) -> Vec<Vec<String>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(datagrams)).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    let fields = ["bfd.version", "bfd.sta", "bfd.auth.type", "bfd.message_length"];
    for field in fields.into_iter().chain(["_ws.expert.message", "_ws.malformed"]) {
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
fn tshark_reads_every_packet_of_a_session_with_each_kind_of_authentication() {
    for kind in [None].into_iter().chain(AuthType::ALL.iter().copied().map(Some)) {
        let settings = [0, 1].map(|side| SessionSettings {
            authentication: kind.map(|_| 0),
            ..SessionSettings::new(neighbour(side), Timers::every(ms(100), 3))
        });
        let mut field = Field::with(4, settings, |machine| {
            if let Some(kind) = kind {
                let key = Key::new(kind, 1, b"secret").unwrap();
                machine.keys.add(Authentication::new(kind, vec![key]).unwrap()).unwrap();
            }
        });
        field.run(ms(3_000));
        assert!(field.are_up());
        let id = field.sides[0].id;
        field.step(0, In::Disabled(id));
        let packets: Vec<Vec<u8>> =
            field.sides.iter().flat_map(|side| side.sent.iter().map(|it| it.1.clone())).collect();
        let lines = dissect(&packets);
        for (line, packet) in lines.iter().zip(&packets) {
            let number = kind.map_or(String::new(), |kind| kind.number().to_string());
            assert_eq!((&line[0][..], &line[2]), ("1", &number), "{line:?}");
            assert_eq!(line[3], packet.len().to_string());
            assert_eq!((&line[4][..], &line[5][..]), ("", ""), "{line:?}");
        }
        for state in ["0x00", "0x01", "0x03"] {
            assert!(lines.iter().any(|line| line[1] == state), "{state}: {lines:?}");
        }
    }
}
