//! tshark over messages that a crate writes: one TCP connection, one message in each segment. The
//! tests of BMP take this file as well.

use std::process::Command;

/// A classic pcap file of raw IPv4 packets (link type 228).
fn pcap(port: u16, messages: &[&[u8]]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    let mut sequence = 1u32;
    for (number, message) in messages.iter().enumerate() {
        let length = 40 + message.len();
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&(length as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        packet.extend_from_slice(&[0xC0, 0x00]);
        packet.extend_from_slice(&port.to_be_bytes());
        packet.extend_from_slice(&sequence.to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 1, 0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0]);
        packet.extend_from_slice(message);
        sequence += message.len() as u32;
        for word in [number as u32, 0, length as u32, length as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&packet);
    }
    file
}

/// What tshark says of each message: the fields in a row, with bars between them.
pub fn fields(port: u16, messages: &[&[u8]], options: &[&str], fields: &[&str]) -> Vec<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(port, messages)).unwrap();
    let mut command = Command::new("tshark");
    command.args(options).args(["-o", "bgp.asn_len:4", "-o", "tcp.check_checksum:false"]);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    fields.iter().for_each(|field| _ = command.args(["-e", field]));
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(lines.len(), messages.len(), "{text}{errors}");
    lines
}
