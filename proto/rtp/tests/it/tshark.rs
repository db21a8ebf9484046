//! tshark decodes what is written: every packet by its name, no complaint. tshark must be there
//! (Debian: tshark).

use crate::every;
use rtp::event::Generator;
use rtp::extension::{Element, Form as Elements, ONE_BYTE};
use rtp::rtcp::{Compound, Form};
use rtp::{Extension, Packet};
use std::process::Command;

/// A classic pcap file of raw IPv4 packets (link type 228), UDP from and to these ports.
fn pcap(port: u16, datagrams: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, datagram) in datagrams.iter().enumerate() {
        let length = 28 + datagram.len();
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&(length as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        packet.extend_from_slice(&port.to_be_bytes());
        packet.extend_from_slice(&port.to_be_bytes());
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

/// What tshark says of each datagram: the fields, with bars between them.
fn dissect(datagrams: &[Vec<u8>], protocol: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(40_000, datagrams)).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-d", &format!("udp.port==40000,{protocol}"), "-o", "udp.check_checksum:false"]);
    command.args(["-o", "rtpevent.event_payload_type_value:101"]);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    let complaints = ["_ws.expert.message", "_ws.malformed"];
    complaints.iter().chain(fields).for_each(|field| _ = command.args(["-e", field]));
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), datagrams.len(), "{text}{errors}");
    let lines = text.lines().map(|line| line.split('|').map(str::to_owned).collect::<Vec<_>>());
    let lines: Vec<_> = lines.collect();
    for line in &lines {
        assert_eq!((&line[0][..], &line[1][..]), ("", ""), "{line:?}");
    }
    lines.into_iter().map(|line| line[2..].to_vec()).collect()
}

#[test]
fn tshark_reads_every_rtcp_packet_and_finds_no_fault() {
    let whole = every::compound();
    let mut datagrams = vec![whole.clone()];
    let starts: Vec<usize> =
        Compound::read(&whole, Form::Compound).unwrap().map(|raw| raw.at).collect();
    let ends = starts[1..].iter().copied().chain([whole.len()]);
    // Each packet alone as well, behind an empty report.
    datagrams.extend(starts.iter().zip(ends).map(|(start, end)| {
        let mut alone = Vec::new();
        rtp::rtcp::write_report(1, None, &[], &mut alone);
        alone.extend_from_slice(&whole[*start..end]);
        alone
    }));
    let fields = ["rtcp.pt", "rtcp.xr.bt", "rtcp.ssrc.cum_nr", "rtcp.xr.voipmetrics.moslq"];
    let lines = dissect(&datagrams, "rtcp", &fields);
    assert_eq!(lines[0][0], "200,201,202,205,206,204,207,203");
    assert_eq!(lines[0][1], "1,2,3,4,5,6,7");
    assert_eq!(lines[0][2], "3,3,3");
    assert!(lines[0][3].starts_with("4.2"), "{lines:?}");
}

#[test]
fn tshark_reads_rtp_with_an_extension_and_padding() {
    let mut data = Vec::new();
    assert!(Element { id: 3, data: &[1, 2, 3] }.write(Elements::OneByte, &mut data));
    let header =
        rtp::Header { marker: true, payload_type: 8, sequence: 9, timestamp: 160, ssrc: 7 };
    let mut octets = Vec::new();
    let extension = Some(Extension::new(ONE_BYTE, &data));
    let payload = &[0xD5; 160];
    Packet { header, extension, payload, padding: 4, ..Packet::default() }.write(&mut octets);
    let fields = ["rtp.seq", "rtp.ssrc", "rtp.ext.rfc5285.id", "rtp.padding.count", "rtp.p_type"];
    let lines = dissect(&[octets], "rtp", &fields);
    assert_eq!(lines[0], ["9", "0x00000007", "3", "4", "8"]);
}

#[test]
fn tshark_reads_the_telephone_events_of_a_digit() {
    let mut generator = Generator::new(11, 10, 1_000, 160);
    generator.end(640);
    let datagrams: Vec<_> = (1u16..)
        .zip(generator)
        .map(|(sequence, sent)| {
            let (marker, timestamp) = (sent.marker, sent.timestamp);
            let header = rtp::Header { marker, payload_type: 101, sequence, timestamp, ssrc: 7 };
            [&header.octets()[..], &sent.event.octets()].concat()
        })
        .collect();
    let fields = ["rtpevent.event_id", "rtpevent.end_of_event", "rtpevent.duration"];
    let lines = dissect(&datagrams, "rtp", &fields);
    let ends: Vec<&str> = lines.iter().map(|line| &line[1][..]).collect();
    assert_eq!(ends, ["0", "0", "0", "1", "1", "1"], "{lines:?}");
    assert!(lines.iter().all(|line| line[0] == "11"), "{lines:?}");
    assert_eq!(lines[5][2], "640");
}
