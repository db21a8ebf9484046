//! Packets of OSPF that no cell of the forwarder holds: it puts their fragments together, looks at
//! the whole, and hands the fragments up one after the other (RFC 791 §3.2). Here they are joined;
//! what does not follow in order was shed on its way, and its packet is lost.

use crate::ip4::{HEADER_OCTETS, OCTETS_MAX};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// Packets that wait for their rest at once, a few of each worker; the oldest goes.
const PACKETS_MAX: usize = 16;
/// Fragments lie on multiples of these octets.
const UNIT: usize = 8;
const MORE: u16 = 0x2000;
const PLACE: u16 = 0x1fff;

/// What tells fragments of one packet: interface, source, destination, number and protocol.
type Key = (u32, Ipv4Addr, Ipv4Addr, u16, u8);

/// The packets whose rest is to come.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    packets: VecDeque<(Key, Vec<u8>)>,
}

impl Fragments {
    /// Whether a packet is a fragment.
    pub(crate) fn is_one(packet: &[u8]) -> bool {
        packet.first_chunk::<HEADER_OCTETS>().is_some_and(|head| {
            head[0] >> 4 == 4 && u16::from_be_bytes([head[6], head[7]]) & (MORE | PLACE) != 0
        })
    }

    /// Takes a fragment that came by an interface; the packet, when it is the last one.
    pub(crate) fn take(&mut self, interface: u32, fragment: &[u8]) -> Option<Vec<u8>> {
        let head = fragment.first_chunk::<HEADER_OCTETS>()?;
        let header = usize::from(head[0] & 15) * 4;
        let whole = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let payload = fragment.get(header.max(HEADER_OCTETS)..whole)?;
        let field = u16::from_be_bytes([head[6], head[7]]);
        let [source, destination] =
            [12, 16].map(|at| Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]));
        let id = u16::from_be_bytes([head[4], head[5]]);
        let key = (interface, source, destination, id, head[9]);
        let at = self.packets.iter().position(|(of, _)| *of == key);
        let before = at.and_then(|at| self.packets.remove(at)).map(|it| it.1);
        let mut octets = match usize::from(field & PLACE) * UNIT {
            0 => plain(head),
            place => before.filter(|it| it.len() == HEADER_OCTETS + place)?,
        };
        if octets.len() + payload.len() > OCTETS_MAX {
            return None;
        }
        octets.extend_from_slice(payload);
        if field & MORE == 0 {
            let length = machine::narrow::index(octets.len());
            octets[2..4].copy_from_slice(&length.to_be_bytes());
            return Some(octets);
        }
        if self.packets.len() >= PACKETS_MAX {
            self.packets.pop_front();
        }
        self.packets.push_back((key, octets));
        None
    }
}

/// The header of a whole packet without options.
fn plain(head: &[u8; HEADER_OCTETS]) -> Vec<u8> {
    let mut head = head.to_vec();
    head[0] = 0x45;
    head[6..8].fill(0);
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip4::{Head, Packet, write};

    fn pieces(id: u16, payload: &[u8]) -> Vec<Vec<u8>> {
        let [source, destination] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(224, 0, 0, 5)];
        let head = Head { source, destination, ttl: 1, protocol: 89, id };
        let mut all = Vec::new();
        write(&head, payload, 1_500, |head, part| all.push([head, part].concat()));
        all
    }

    #[test]
    fn a_packet_is_joined_from_its_fragments_beside_those_of_others() {
        let [one, two] = [3_000_u32, 65_515].map(|octets| (0..octets).map(|n| n as u8).collect());
        let [one, two]: [Vec<u8>; 2] = [one, two];
        let mut fragments = Fragments::default();
        let mut joined = Vec::new();
        let (few, many) = (pieces(1, &one), pieces(2, &two));
        for at in 0..many.len() {
            for piece in [few.get(at), many.get(at)].into_iter().flatten() {
                assert!(Fragments::is_one(piece));
                joined.extend(fragments.take(7, piece));
            }
        }
        let payloads = joined.iter().map(|it| Packet::read(it).expect("a packet").payload);
        assert_eq!(payloads.collect::<Vec<_>>(), [&one[..], &two[..]]);
        assert!(fragments.packets.is_empty());
    }

    #[test]
    fn what_lacks_a_fragment_or_is_cut_is_lost_and_no_more_is_held_than_may_be() {
        let payload = vec![7; 5_000];
        for lost in 0..4 {
            let mut fragments = Fragments::default();
            let mut parts = pieces(1, &payload);
            parts.remove(lost);
            assert!(parts.iter().all(|part| fragments.take(7, part).is_none()), "{lost}");
        }
        let mut fragments = Fragments::default();
        for id in 0..100 {
            let first = &pieces(id, &payload)[0];
            for cut in [0, 19, 20, 1_000] {
                assert_eq!(fragments.take(7, &first[..cut]), None);
            }
            assert_eq!(fragments.take(7, first), None);
        }
        assert_eq!(fragments.packets.len(), PACKETS_MAX);
        // By another interface it is another packet's.
        assert_eq!(fragments.take(8, &pieces(99, &payload)[1]), None);
        assert_eq!(fragments.packets.len(), PACKETS_MAX);
    }
}
