//! ARP (RFC 826) of whoever is behind the tester's ends: what is tested may ask, and is asked.

use crate::testbed::{LEFT_MAC, NEXT_MAC};
use std::net::Ipv4Addr;

/// Where ARP begins in a frame, and what a request of IPv4 over Ethernet begins with.
const AT: usize = 14;
const REQUEST: [u8; 8] = [0, 1, 8, 0, 6, 4, 0, 1];
/// The networks of both wires.
const LEFT: [u8; 3] = [10, 199, 1];
const RIGHT: [u8; 3] = [10, 199, 2];
/// The tester's own address in both. The others are those of what is tested, which asks for them
/// only to learn who else has one.
const ASKER: u8 = 2;

/// Octets of a request.
pub(crate) const LENGTH: usize = AT + 28;

/// Asks for an address of what is tested, from the tester's end that is in its network: by which it
/// leaves, 0 left, 1 right. `None`: it is in neither.
pub(crate) fn request(wanted: Ipv4Addr) -> Option<(usize, [u8; LENGTH])> {
    let network = *wanted.octets().first_chunk::<3>()?;
    let (end, mac) = match network {
        LEFT => (0, LEFT_MAC),
        RIGHT => (1, NEXT_MAC),
        _ => return None,
    };
    let [a, b, c] = network;
    let mut frame = [0; LENGTH];
    frame[..6].fill(0xff);
    frame[6..12].copy_from_slice(&mac);
    frame[12..AT].copy_from_slice(&[8, 6]);
    frame[AT..AT + 8].copy_from_slice(&REQUEST);
    frame[AT + 8..AT + 14].copy_from_slice(&mac);
    frame[AT + 14..AT + 18].copy_from_slice(&[a, b, c, ASKER]);
    frame[AT + 24..].copy_from_slice(&wanted.octets());
    Some((end, frame))
}

/// Whose address a frame of ARP says is at which link-layer address: that of its sender.
pub(crate) fn sender(frame: &[u8]) -> Option<(Ipv4Addr, [u8; 6])> {
    let arp = frame.get(12..).filter(|rest| rest.starts_with(&[8, 6]))?.get(2..30)?;
    let address = *arp[14..].first_chunk::<4>()?;
    Some((Ipv4Addr::from(address), *arp[8..].first_chunk()?))
}

/// Makes the answer of a request, in place; by which end it leaves: 0 left, 1 right. `None`: it is
/// no request, or one for nobody of the tester's.
pub(crate) fn answer(frame: &mut [u8]) -> Option<usize> {
    let arp = frame.get_mut(12..).filter(|rest| rest.starts_with(&[8, 6]))?.get_mut(2..30)?;
    let wanted = *arp.get(24..)?.first_chunk::<4>()?;
    let (end, mac) = match wanted {
        [a, b, c, ASKER] if [a, b, c] == LEFT => (0, LEFT_MAC),
        [a, b, c, ASKER] if [a, b, c] == RIGHT => (1, NEXT_MAC),
        _ => return None,
    };
    // Who says that an address is its own asks for that address.
    if !arp.starts_with(&REQUEST) || arp[14..18] == wanted {
        return None;
    }
    arp[7] = 2;
    arp.copy_within(8..18, 18);
    arp[8..14].copy_from_slice(&mac);
    arp[14..18].copy_from_slice(&wanted);
    let asker = *frame[AT + 18..].first_chunk::<6>()?;
    frame[..6].copy_from_slice(&asker);
    frame[6..12].copy_from_slice(&mac);
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::IN_MAC;

    #[test]
    fn who_was_asked_for_is_told_by_the_answer() {
        let (end, frame) = request(Ipv4Addr::new(10, 199, 2, 17)).unwrap();
        assert_eq!((end, sender(&frame)), (1, Some((Ipv4Addr::new(10, 199, 2, 2), NEXT_MAC))));
        assert_eq!(frame[AT + 24..], [10, 199, 2, 17]);
        assert_eq!(request(Ipv4Addr::new(10, 0, 0, 1)), None);
        assert!((0..AT + 18).all(|cut| sender(&frame[..cut]).is_none()));
    }

    fn asks(from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
        let head = [&[0xff; 6][..], &IN_MAC, &[8, 6], &REQUEST].concat();
        [&head[..], &IN_MAC, &from, &[0; 6], &to].concat()
    }

    #[test]
    fn who_is_behind_the_wires_is_told_and_nobody_else() {
        let mut frame = asks([10, 199, 2, 1], [10, 199, 2, 2]);
        assert_eq!(answer(&mut frame), Some(1));
        let head = [&IN_MAC[..], &NEXT_MAC, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 2]].concat();
        let told = [&head[..], &NEXT_MAC, &[10, 199, 2, 2], &IN_MAC, &[10, 199, 2, 1]].concat();
        assert_eq!(frame, told);
        assert_eq!(answer(&mut frame), None, "an answer");
        assert_eq!(answer(&mut asks([10, 199, 1, 1], [10, 199, 1, 2])), Some(0));
        for (from, to) in [([10, 199, 1, 1], [10, 199, 1, 1]), ([10, 199, 1, 9], [10, 199, 1, 9])] {
            assert_eq!(answer(&mut asks(from, to)), None);
        }
        assert_eq!(answer(&mut asks([10, 0, 0, 1], [10, 0, 0, 2])), None);
        let whole = asks([10, 199, 1, 1], [10, 199, 1, 2]);
        assert!((0..whole.len()).all(|cut| answer(&mut whole[..cut].to_vec()).is_none()));
    }
}
