//! What a peer whose session stands may send, message by message, with time passing: nothing
//! panics, tables stay within their bounds, and the deadline stays ahead.

use ldp::codec::write_pdus;
use ldp::codec::{Body, CommonHello, HelloBody, Initialization, MessageType, write_message};
use ldp::{ConnectionId, In, InterfaceSettings, LdpId, Limits, NextHop, Prefix, PseudowireId};
use ldp::{PseudowireSettings, Settings, Speaker};
use machine::{Duration, Machine, Time};
use std::net::Ipv4Addr;

const OWN: Ipv4Addr = Ipv4Addr::new(9, 9, 9, 1);
const PEER: LdpId = LdpId::of(Ipv4Addr::new(9, 9, 9, 2));
const LINK: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn hello() -> In {
    let common = CommonHello { hold_s: u16::MAX, has_gtsm: true, ..CommonHello::default() };
    let body = HelloBody { common, ipv4: Some(PEER.router), ..HelloBody::default() };
    let octets = write_pdus(PEER, &[Body::Hello(body).write(1)], 4_096);
    let (interface, source, is_multicast, hop_limit) = (1, LINK.into(), true, 255);
    In::Datagram { interface, source, is_multicast, hop_limit, octets }
}

fn stands() -> Vec<u8> {
    let said = Initialization {
        keepalive_s: 60_000,
        is_on_demand: false,
        detects_loops: false,
        pdu_octets: 4_096,
        receiver: LdpId::of(OWN),
        fault_tolerance: None,
        is_dynamic: false,
    };
    write_pdus(PEER, &[Body::Initialization(said).write(1), Body::KeepAlive.write(2)], 4_096)
}

pub fn run(octets: &[u8]) {
    let limits =
        Limits { adjacencies: 4, connections: 4, bindings: 20, addresses: 8, ..Limits::default() };
    let settings = Settings { limits, keepalive_s: 60_000, hold_s: u16::MAX, ..Settings::new(OWN) };
    let mut speaker = Speaker::new(settings).expect("settings that can be");
    let (mut out, mut now) = (Vec::new(), Time::from_millis(1_000));
    let addresses = vec![Ipv4Addr::new(10, 0, 0, 1).into()];
    let (index, is_ipv4, is_ipv6) = (1, true, false);
    let interface = InterfaceSettings { index, is_ipv4, is_ipv6, addresses };
    let gateway = LINK.into();
    let route = |octet| {
        let prefix = Prefix::new(Ipv4Addr::new(10, octet, 0, 0).into(), 16);
        In::Route(prefix, vec![NextHop { interface: 1, gateway }])
    };
    let wire = PseudowireSettings {
        peer: PEER.router,
        id: PseudowireId::Number(7),
        kind: 5,
        has_control_word: true,
        group: 0,
        mtu: 1_500,
        status: 0,
    };
    let connection = ConnectionId { number: 1, is_own: false };
    for input in [
        In::InterfaceUp(interface),
        hello(),
        route(1),
        route(2),
        In::Pseudowire(wire),
        In::Accepted(connection, PEER.router.into()),
        In::Octets(connection, stands()),
    ] {
        speaker.step(now, input, &mut out);
    }
    let mut rest = octets;
    while let Some((&[first, length], more)) = rest.split_first_chunk::<2>() {
        let (piece, more) = more.split_at(more.len().min(usize::from(length)));
        rest = more;
        let kind = MessageType::ALL[usize::from(first) % MessageType::ALL.len()];
        let octets = match first {
            250.. => piece.to_vec(),
            _ => write_pdus(PEER, &[write_message(kind, 9, piece)], 4_096),
        };
        speaker.step(now, In::Octets(connection, octets), &mut out);
        now += Duration::from_millis(u64::from(first) * 10);
        speaker.tick(now, &mut out);
        assert!(speaker.deadline().is_none_or(|at| at > now));
        assert!(speaker.remote(PEER).len() <= 20);
        out.clear();
    }
}
