//! Whatever a forwarder hands up for LDP, packet by packet, with time passing: whole packets of
//! IPv4 from anybody, datagrams and segments of a neighbour whose checksums hold. Nothing panics,
//! the deadline stays ahead.

use dataplane::PacketChannel;
use forwarder::ToPackets;
use igp::Link;
use igp::ip4::{Head, TCP, UDP, udp, write};
use ldp_stack::config::Ldp;
use ldp_stack::{Labels, NextHop, Prefix, Start, classes};
use machine::{Duration, Time};
use runtime::{ChannelEvent, Effects, PacketRecord, PortId};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tcp::{Flags, Segment};

const PACKET_CHANNEL: PortId = PortId(3);
const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PORT: u16 = 646;
const ECHOES: u16 = lspping::PORT;

fn labels(now: Time) -> Option<Labels> {
    let text = r#"{ "router_id": "10.0.0.1", "hold_s": 60, "interface": [{ "name": "w" }] }"#;
    let section: Arc<Ldp> = Arc::new(serde_json::from_str(text).ok()?);
    let to = ToPackets { socket: "/none".into(), keys: None, classes: classes(), epoch: None };
    let start = Start { now, random: [7; 32], function: "pe".to_owned(), is_upper: false };
    let mut made = Labels::new(start, section.clone(), PacketChannel::new(now, PACKET_CHANNEL, to));
    let mut out = Effects::default();
    made.tick(now, &mut out);
    made.step(now, PACKET_CHANNEL, ChannelEvent::Up, &mut out);
    made.step(now, PACKET_CHANNEL, ChannelEvent::Message(&[]), &mut out);
    let link = Link {
        name: "w".to_owned(),
        index: 1,
        address: Some((OWN, 24)),
        addresses: vec![(OWN.into(), 24)],
        mtu: 1_500,
        is_up: true,
        ..Link::default()
    };
    made.configure(now, section, vec![link], &mut out);
    let prefix = Prefix::new(Ipv4Addr::new(10, 9, 0, 0).into(), 16);
    let way = NextHop { interface: 1, gateway: OTHER.into() };
    made.routes(now, [(prefix, Some(vec![way]))], &mut out);
    Some(made)
}

/// A segment whose numbers and flags are the piece's, if it has them.
fn segment(piece: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let (head, payload) = piece.split_at(piece.len().min(5));
    let at = |at: usize| head.get(at).copied().unwrap_or(0);
    let segment = Segment {
        source: 5_000 + u16::from(at(0) % 8),
        destination: PORT,
        seq: u32::from(at(1)),
        ack: u32::from(at(2)),
        flags: Flags(at(3)),
        window: u16::from(at(4)) << 4,
        mss: None,
        payload,
    };
    let is_written = segment.write((OTHER.into(), OWN.into()), &mut octets);
    if is_written { octets } else { Vec::new() }
}

/// A packet: as it stands, a datagram of LDP or of echoes, or a segment.
fn packet(kind: u8, piece: &[u8]) -> Vec<u8> {
    let group = Ipv4Addr::new(224, 0, 0, 2);
    let (protocol, destination, payload) = match kind % 3 {
        0 => return piece.to_vec(),
        1 if kind & 8 != 0 => (UDP, OWN, udp([OTHER, OWN], [ECHOES, ECHOES], piece)),
        1 => (UDP, group, udp([OTHER, group], [PORT, PORT], piece)),
        _ => (TCP, OWN, segment(piece)),
    };
    let head = Head { source: OTHER, destination, ttl: 255, protocol, id: 1 };
    let mut made = Vec::new();
    write(&head, &payload, u16::MAX, |header, part| made = [header, part].concat());
    made
}

pub fn run(octets: &[u8]) {
    let mut now = Time::from_millis(1_000);
    let Some(mut labels) = labels(now) else { return };
    let mut rest = octets;
    while let Some((&[first, length], more)) = rest.split_first_chunk::<2>() {
        let (piece, more) = more.split_at(more.len().min(usize::from(length)));
        rest = more;
        let interface = u32::from(first >> 6 != 3);
        let record = PacketRecord { interface, ..Default::default() };
        let packet = packet(first, piece);
        let mut out = Effects::default();
        labels.step(now, PACKET_CHANNEL, ChannelEvent::Packet(record, &packet), &mut out);
        now += Duration::from_millis(u64::from(first));
        labels.tick(now, &mut out);
        assert!(labels.deadline().is_none_or(|at| at > now));
        assert!(labels.alarms().len() < 8);
    }
}
