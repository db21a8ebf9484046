//! Whatever a forwarder hands up for OSPF, IS-IS and BFD, packet by packet, with time passing:
//! whole packets of IPv4 and frames from anybody, and those of a neighbour with a header that
//! holds. Nothing panics, and the deadline stays ahead.

use dataplane::PacketChannel;
use forwarder::ToPackets;
use igp::config::{Area, Bfd, Interface, Isis, KeyChains, Ospf};
use igp::ip4::{Head, UDP, udp, write};
use igp::{Link, Router, Sections, Start, Surroundings, frame};
use machine::{Duration, Time};
use runtime::{ChannelEvent, Effects, PacketRecord, PortId};
use std::net::Ipv4Addr;
use std::sync::Arc;

const PACKET_CHANNEL: PortId = PortId(2);
const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 5);
const BFD_PORT: u16 = 3_784;

fn section() -> Option<Ospf> {
    let text = r#"{ "router_id": "9.9.9.1", "area": [{ "id": "0.0.0.0", "interface": [
        { "name": "w", "hello_s": 10, "bfd": {} }] }] }"#;
    let section: Ospf = serde_json::from_str(text).ok()?;
    let area: &Area = section.area.first()?;
    let interface: &Interface = area.interface.first()?;
    assert_eq!(interface.bfd, Some(Bfd::default()));
    Some(section)
}

fn of_isis() -> Option<Isis> {
    let text = r#"{ "net": "49.0001.0000.0000.0001.00", "level": "1-2", "interface": [
        { "name": "w", "hello_s": 10, "bfd": {} }] }"#;
    serde_json::from_str(text).ok()
}

fn link() -> Link {
    Link {
        name: "w".to_owned(),
        index: 1,
        address: Some((OWN, 24)),
        addresses: vec![(OWN.into(), 24)],
        mac: Some([2, 0, 0, 0, 0, 1]),
        tags: Vec::new(),
        mtu: 1_500,
        is_up: true,
        is_dear: false,
    }
}

fn router(now: Time, ospf: Ospf, isis: Isis) -> Router {
    let ospf = Some((Arc::new(ospf), KeyChains::new()));
    let isis = Some((Arc::new(isis), KeyChains::new()));
    let sections = Sections { ospf, isis, bfd: Default::default() };
    let classes = sections.classes();
    let to =
        ToPackets { socket: "/none".into(), keys: None, classes: classes.clone(), epoch: None };
    let function = "pe".to_owned();
    let start = Start { now, random: [7; 32], function, restarts: Vec::new() };
    let mut made = Router::new(start, classes, PacketChannel::new(now, PACKET_CHANNEL, to));
    let mut out = Effects::default();
    made.tick(now, &mut out);
    made.step(now, PACKET_CHANNEL, ChannelEvent::Up, &mut out);
    made.step(now, PACKET_CHANNEL, ChannelEvent::Message(&[]), &mut out);
    let around = Surroundings { links: vec![link()], externals: Vec::new() };
    made.configure(now, &sections, &around, &mut out);
    made
}

/// A packet: as it stands, of OSPF, a datagram of BFD, or a frame of IS-IS.
fn packet(kind: u8, piece: &[u8]) -> Vec<u8> {
    let (protocol, destination, payload) = match kind % 4 {
        0 => return piece.to_vec(),
        3 => return frame::write(&link(), isis::ALL_L2_IS, piece).unwrap_or_default(),
        1 => (ospf::PROTOCOL, GROUP, piece.to_vec()),
        _ => (UDP, OWN, udp([OTHER, OWN], [49_152, BFD_PORT], piece)),
    };
    let head = Head { source: OTHER, destination, ttl: 255, protocol, id: 1 };
    let mut made = Vec::new();
    write(&head, &payload, u16::MAX, |header, part| made = [header, part].concat());
    made
}

pub fn run(octets: &[u8]) {
    let Some((ospf, isis)) = section().zip(of_isis()) else { return };
    let mut now = Time::from_millis(1_000);
    let mut router = router(now, ospf, isis);
    let mut rest = octets;
    while let Some((&[first, length], more)) = rest.split_first_chunk::<2>() {
        let (piece, more) = more.split_at(more.len().min(usize::from(length)));
        rest = more;
        let interface = u32::from(first >> 6 != 3);
        let class = u8::from(first % 4 == 3);
        let record = PacketRecord { interface, class, ..Default::default() };
        let packet = packet(first, piece);
        let mut out = Effects::default();
        router.step(now, PACKET_CHANNEL, ChannelEvent::Packet(record, &packet), &mut out);
        now += Duration::from_millis(u64::from(first));
        router.tick(now, &mut out);
        assert!(router.deadline().is_none_or(|at| at > now));
        assert!(router.alarms(now).len() < 8);
    }
}
