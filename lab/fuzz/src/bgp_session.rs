//! What a peer may send over two connections, with time passing: nothing panics, the deadline
//! stays ahead, and UPDATEs that are handed on lie in what was received.

use bgp::codec::Offer;
use bgp::family::{Family, FamilySet};
use bgp::{ConnectionId, In, Out, PeerAs, Session, Settings};
use machine::{Duration, Machine, Time};

pub fn run(bytes: &[u8]) {
    let families = FamilySet::only(Family::Ipv4Unicast);
    let settings = Settings::new(Offer::modern(65_000, 1, 90, families), PeerAs::Any);
    let mut session = Session::new(settings, 1);
    let (mut now, mut out) = (Time::from_millis(1), Vec::new());
    session.step(now, In::Start, &mut out);
    session.step(now, In::Connected(ConnectionId(0)), &mut out);
    session.step(now, In::Accepted(ConnectionId(1)), &mut out);
    let mut buffers = [Vec::new(), Vec::new()];
    // The first octet of each piece: its length, which connection, whether time passes before.
    let mut rest = bytes;
    while let Some((first, more)) = rest.split_first() {
        let length = usize::from(first & 0x3F).min(more.len());
        if first & 0x80 != 0 {
            now += Duration::from_millis(7_000);
            session.tick(now, &mut out);
            assert!(session.deadline().is_none_or(|at| at > now));
        }
        let which = usize::from(first >> 6 & 1);
        let buffer: &mut Vec<u8> = &mut buffers[which];
        buffer.extend_from_slice(&more[..length]);
        let before = out.len();
        let taken = session.receive(now, ConnectionId(which as u32), buffer, &mut out);
        for effect in &out[before..] {
            if let Out::Updates(_, range) = effect {
                assert!(range.end <= taken);
            }
        }
        buffer.drain(..taken);
        out.clear();
        rest = &more[length..];
    }
}
