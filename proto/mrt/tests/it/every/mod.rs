//! A file with records of every kind, as the crate writes them.

use bgp::codec::{keepalive, write_attribute};
use bgp::family::Family;
use mrt::{
    Direction, Ends, FsmState, MessageForm, Path, Peer, RibRecord, Stamp, write_message,
    write_peer_index_table, write_state_change,
};

/// Octets written as hexadecimal, with blanks.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|it| it.to_digit(16)).collect();
    digits.chunks(2).map(|two| (two[0] << 4 | two[1]) as u8).collect()
}

pub const SECONDS: u32 = 1_700_000_000;

pub fn peers() -> [Peer; 2] {
    [
        Peer { identifier: 0x0A00_0001, address: "192.0.2.1".parse().unwrap(), asn: 65_001 },
        Peer { identifier: 2, address: "2001:db8::1".parse().unwrap(), asn: 4_200_000_000 },
    ]
}

/// ORIGIN, AS_PATH, COMMUNITIES; with NEXT_HOP for those that have it.
pub fn attributes(with_next_hop: bool) -> Vec<u8> {
    let mut out = Vec::new();
    write_attribute(0x40, 1, &[0], &mut out);
    write_attribute(0x40, 2, &hex("0202 0000fde9 fa56ea00"), &mut out);
    if with_next_hop {
        write_attribute(0x40, 3, &[192, 0, 2, 9], &mut out);
    }
    write_attribute(0xC0, 8, &hex("fde90001"), &mut out);
    out
}

/// Families, a route of each, and its next hop in MP_REACH_NLRI.
pub fn routes() -> Vec<(Family, Vec<u8>, Option<Vec<u8>>)> {
    let v6 = Some(hex("20010db8000000000000000000000009"));
    vec![
        (Family::Ipv4Unicast, hex("18 c00002"), None),
        (Family::Ipv4Unicast, hex("00"), None),
        (Family::Ipv6Unicast, hex("20 20010db8"), v6.clone()),
        (Family::Ipv4Multicast, hex("08 0a"), Some(hex("c0000209"))),
        (Family::Ipv6Multicast, hex("30 20010db80001"), v6),
        (
            Family::Vpnv4,
            hex("70 000641 0000fde80000002a c00002"),
            Some(hex("0000000000000000 c0000209")),
        ),
    ]
}

/// A table of those routes, each with a path of both peers.
pub fn table(add_path: bool) -> Vec<u8> {
    let mut file = Vec::new();
    write_peer_index_table(SECONDS, 0x0A00_0064, "all", &peers(), &mut file).unwrap();
    for (sequence, (family, nlri, next_hop)) in routes().into_iter().enumerate() {
        let attributes = attributes(next_hop.is_none());
        let number = sequence as u32;
        let mut record = RibRecord::begin(SECONDS, number, family, add_path, &nlri, &mut file);
        for peer in 0..2 {
            let (id, originated_s) = (u32::from(peer) + 7, SECONDS - 100);
            let next_hop = next_hop.as_deref();
            let path = Path { peer, originated_s, id, next_hop, attributes: &attributes };
            record.path(&path).unwrap();
        }
        assert_eq!(record.finish(), 2);
    }
    file
}

pub fn ends(is_ipv6: bool) -> Ends {
    let (peer, local) =
        if is_ipv6 { ("2001:db8::1", "2001:db8::2") } else { ("192.0.2.1", "192.0.2.2") };
    let (peer, local) = (peer.parse().unwrap(), local.parse().unwrap());
    Ends { peer_as: 4_200_000_000, local_as: 65_000, interface: 3, peer, local }
}

/// An UPDATE that announces 192.0.2.0/24.
pub fn update() -> Vec<u8> {
    let attributes = attributes(true);
    let mut message = vec![0xFF; 16];
    message.extend_from_slice(&((19 + 4 + attributes.len() + 4) as u16).to_be_bytes());
    message.extend_from_slice(&[2, 0, 0]);
    message.extend_from_slice(&(attributes.len() as u16).to_be_bytes());
    message.extend_from_slice(&attributes);
    message.extend_from_slice(&hex("18 c00002"));
    message
}

pub fn stamps() -> [Stamp; 2] {
    [
        Stamp { seconds: SECONDS, microseconds: None },
        Stamp { seconds: SECONDS, microseconds: Some(123_456) },
    ]
}

pub fn forms() -> Vec<MessageForm> {
    let mut forms = Vec::new();
    for direction in [Direction::Received, Direction::Sent] {
        for four_octet_as in [true, false] {
            for add_path in [false, true] {
                forms.push(MessageForm { direction, four_octet_as, add_path });
            }
        }
    }
    forms
}

/// A KEEPALIVE in every form, an UPDATE, and a change of state; with and without microseconds.
pub fn messages() -> Vec<u8> {
    let (mut file, mut message) = (Vec::new(), Vec::new());
    keepalive(&mut message);
    for stamp in stamps() {
        for form in forms() {
            write_message(stamp, &ends(false), form, &message, &mut file);
            write_message(stamp, &ends(true), form, &message, &mut file);
        }
        let form =
            MessageForm { direction: Direction::Received, four_octet_as: true, add_path: false };
        write_message(stamp, &ends(false), form, &update(), &mut file);
        let (from, to) = (FsmState::OpenConfirm, FsmState::Established);
        write_state_change(stamp, &ends(true), from, to, &mut file);
    }
    file
}
