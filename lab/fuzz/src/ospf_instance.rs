//! What a neighbour that is full may send, packet by packet, with time passing: nothing panics, the
//! database stays within its bounds, and the deadline stays ahead.

use machine::{Duration, Machine, Time};
use ospf::{ALL_SPF_ROUTERS, AreaKind, In, Instance, InterfaceSettings, Limits, LinkType};
use ospf::{Out, Settings};
use std::net::Ipv4Addr;

const LSAS_MAX: usize = 40;
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];

fn instance(end: usize) -> Instance {
    let limits = Limits { lsas: LSAS_MAX, lsas_of_router: 20, octets: 1 << 16, neighbours: 4 };
    let id = Ipv4Addr::new(9, 9, 9, 1 + end as u8);
    let mut made = Instance::new(Settings { limits, ..Settings::new(id) }, Time::ZERO);
    made.add_area(0, AreaKind::Normal);
    let link = LinkType::PointToPoint;
    made.add_interface(InterfaceSettings { link, ..InterfaceSettings::new(0, 0, ENDS[end], 24) });
    made
}

/// Hands packets back and forth until both are silent.
fn talk(now: Time, pair: &mut [Instance; 2], mut waiting: [Vec<Out>; 2]) {
    for _ in 0..64 {
        for from in 0..2 {
            for out in core::mem::take(&mut waiting[from]) {
                if let Out::Send { destination, octets, .. } = out {
                    let source = ENDS[from];
                    let packet = In::Packet { interface: 0, source, destination, octets };
                    pair[1 - from].step(now, packet, &mut waiting[1 - from]);
                }
            }
        }
    }
}

/// A packet with header and checksum of the neighbour.
fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (24 + body.len() as u16).to_be_bytes();
    let mut octets = vec![2, 1 + kind % 5, length[0], length[1], 9, 9, 9, 2];
    octets.resize(24, 0);
    octets.extend_from_slice(body);
    let word = |it: &[u8]| u32::from(it[0]) << 8 | u32::from(it.get(1).copied().unwrap_or(0));
    let mut sum: u32 = octets.chunks(2).map(word).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    octets[12..14].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    octets
}

pub fn run(octets: &[u8]) {
    let mut pair = [instance(0), instance(1)];
    let mut now = Time::from_millis(1_000);
    let up = |it: &mut Instance| it.step(now, In::InterfaceUp(0), &mut Vec::new());
    pair.iter_mut().for_each(up);
    for _ in 0..3 {
        let mut waiting = [Vec::new(), Vec::new()];
        for (it, out) in pair.iter_mut().zip(&mut waiting) {
            it.tick(now, out);
        }
        talk(now, &mut pair, waiting);
        now += Duration::from_secs(10);
    }
    let [mut instance, _] = pair;
    let mut rest = octets;
    while let Some((&[first, length], more)) = rest.split_first_chunk::<2>() {
        let (piece, more) = more.split_at(more.len().min(usize::from(length)));
        rest = more;
        let octets = packet(first, piece);
        let (source, destination) = (ENDS[1], ALL_SPF_ROUTERS);
        let mut out = Vec::new();
        instance.step(now, In::Packet { interface: 0, source, destination, octets }, &mut out);
        now += Duration::from_millis(u64::from(first) * 10);
        instance.tick(now, &mut out);
        assert!(instance.deadline().is_none_or(|at| at > now));
        // What it says itself is not counted against the bound.
        assert!(instance.headers(0, now).len() <= 2 * LSAS_MAX + 8);
    }
}
