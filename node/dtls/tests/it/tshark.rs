//! tshark reads handshakes that are written: every message by its type, no complaint. tshark must
//! be there (Debian: tshark).

use std::process::Command;

/// A datagram, and whether it is of our end.
pub type Datagram = (bool, Vec<u8>);

/// A classic pcap file of raw IPv4 packets (link type 228), UDP; ours are from port 40000.
fn pcap(datagrams: &[Datagram]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, (ours, datagram)) in datagrams.iter().enumerate() {
        let length = 28 + datagram.len();
        let ports = if *ours { [40_000u16, 50_000] } else { [50_000, 40_000] };
        let hosts = if *ours { [1, 2] } else { [2, 1] };
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&(length as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, hosts[0]]);
        packet.extend_from_slice(&[192, 0, 2, hosts[1]]);
        ports.iter().for_each(|port| packet.extend_from_slice(&port.to_be_bytes()));
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

/// The types of the messages of a whole handshake that our end wrote, as tshark reads them.
pub fn messages(datagrams: &[Datagram]) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(datagrams)).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-d", "udp.port==40000,dtls", "-T", "fields", "-E", "separator=|"]);
    for field in ["_ws.expert.message", "_ws.malformed", "udp.srcport", "dtls.handshake.type"] {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), datagrams.len(), "{text}{errors}");
    let mut types = Vec::new();
    for (line, (ours, _)) in text.lines().zip(datagrams) {
        let words: Vec<&str> = line.split('|').collect();
        if *ours {
            assert_eq!((words[0], words[1]), ("", ""), "{line}");
            types.extend(words[3].split(',').filter_map(|it| it.parse::<u8>().ok()));
        }
    }
    types
}
