//! tshark reads what leaves: RTP from where to where, every checksum right, no complaint. tshark
//! must be there (Debian: tshark).

use super::lives::{frame, item, place};
use super::world::{World, programs};
use core::net::SocketAddr;
use media::program::{FlowSaid, Guard, Range, Said};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use rtp::{ClockRate, Header, Packet, Rewrite};
use std::process::Command;

fn flow(at: SocketAddr, to: SocketAddr, peer: SocketAddr) -> Said {
    let rewrite =
        Rewrite { ssrc: Some(0xcafe), payload_type: Some(0), sequence: 9, timestamp: 1 << 30 };
    let settings = Settings {
        of: Use::Muxed,
        is_active: true,
        payload_types: PayloadTypes::ALL,
        untimed: PayloadTypes::default(),
        ssrcs: Sources::ANY,
        clock: ClockRate::TELEPHONY,
        rate: Rate::bits(1_000_000),
        rewrite,
    };
    Said::Flow(Box::new(FlowSaid {
        at: place(at),
        to: Some(place(to)),
        settings,
        expected: Expected::at(peer),
        guard: Guard::None,
        dscp: Some(46),
        timeout: None,
        becomes: Vec::new(),
        branches: Vec::new(),
        up: PayloadTypes::default(),
        up_per_s: 0,
        digits: PayloadTypes::default(),
        stun: false,
        dtls: false,
        association: None,
        resume: None,
    }))
}

/// A file of frames of Ethernet.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend([0xff, 0xff, 0, 0, 1, 0, 0, 0]);
    for frame in frames {
        let length = (frame.len() as u32).to_le_bytes();
        file.extend([[0; 4], [0; 4], length, length].concat());
        file.extend(frame);
    }
    file
}

#[test]
fn what_leaves_is_read_with_right_checksums_whatever_families_meet() {
    let mut world = World::of(&programs());
    let sides: [[SocketAddr; 4]; 3] = [
        ["10.0.1.2:4000", "10.0.1.1:20000", "10.0.2.1:20000", "10.0.2.2:5000"],
        ["10.0.1.2:4002", "10.0.1.1:20002", "[2001:db8:2::1]:20000", "[2001:db8:2::2]:5000"],
        ["[2001:db8:1::2]:4004", "[2001:db8:1::1]:20004", "10.0.2.1:20004", "10.0.2.2:5004"],
    ]
    .map(|call| call.map(|place| place.parse().unwrap()));
    for address in ["10.0.1.1", "10.0.2.1", "2001:db8:1::1", "2001:db8:2::1"] {
        let address = address.parse().unwrap();
        let range = Range { vrf: 0, address, first: 20_000, ports: 100 };
        world.apply(item(&Said::Range(range)));
    }
    let (mut frames, mut wanted) = (Vec::new(), Vec::new());
    for [phone, access, inner, core] in sides {
        world.apply(item(&flow(access, inner, phone)));
        world.apply(item(&flow(inner, access, core)));
        for octets in [160, 33, 0] {
            let header = Header { payload_type: 8, sequence: 1, ssrc: 7, ..Header::default() };
            let mut payload = Vec::new();
            let packet = Packet { header, payload: &vec![0xd5; octets], ..Packet::default() };
            packet.write(&mut payload);
            let (port, octets) = frame(phone, access, &payload);
            let mut left = world.send(port, &octets);
            assert_eq!(left.sent.len(), 1);
            frames.push(left.sent.remove(0).1);
            wanted.push((inner, core));
        }
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&frames)).unwrap();
    let mut command = Command::new("tshark");
    for option in ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE"] {
        command.args(["-o", option]);
    }
    for port in [5_000, 5_004] {
        command.args(["-d", &format!("udp.port=={port},rtp")]);
    }
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    let fields = [
        "_ws.expert.message",
        "_ws.malformed",
        "ip.checksum.status",
        "udp.checksum.status",
        "ip.src",
        "ipv6.src",
        "udp.srcport",
        "udp.dstport",
        "rtp.ssrc",
        "rtp.p_type",
        "rtp.seq",
    ];
    fields.iter().for_each(|field| _ = command.args(["-e", field]));
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), wanted.len(), "{}", String::from_utf8_lossy(&output.stderr));
    for (line, (from, to)) in text.lines().zip(wanted) {
        let ip = from.ip().to_string();
        let (ip_check, four, six) = match from.is_ipv4() {
            true => ("1", &ip[..], ""),
            false => ("", "", &ip[..]),
        };
        let expected =
            format!("||{ip_check}|1|{four}|{six}|{}|{}|0x0000cafe|0|10", from.port(), to.port());
        assert_eq!(line, expected);
    }
}
