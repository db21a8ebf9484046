//! Answers to ARP (RFC 826) for whoever is behind the tester's ends: what is tested may ask.

use crate::ground::{LEFT_MAC, NEXT_MAC};

/// Where ARP begins in a frame, and what a request of IPv4 over Ethernet begins with.
const AT: usize = 14;
const REQUEST: [u8; 8] = [0, 1, 8, 0, 6, 4, 0, 1];
/// The networks of both wires.
const LEFT: [u8; 3] = [10, 199, 1];
const RIGHT: [u8; 3] = [10, 199, 2];
/// The address of what is tested in both: it asks for that only to learn who else has it.
const OWN: u8 = 1;

/// Makes the answer of a request, in place; by which end it leaves: 0 left, 1 right. `None`: it is
/// no request, or one for nobody of the tester's.
pub(crate) fn answer(frame: &mut [u8]) -> Option<usize> {
    let arp = frame.get_mut(12..).filter(|rest| rest.starts_with(&[8, 6]))?.get_mut(2..30)?;
    let wanted = *arp.get(24..)?.first_chunk::<4>()?;
    let (end, mac) = match wanted {
        [a, b, c, last] if [a, b, c] == LEFT && last != OWN => (0, LEFT_MAC),
        [a, b, c, last] if [a, b, c] == RIGHT && last != OWN => (1, NEXT_MAC),
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
    use crate::ground::IN_MAC;

    fn request(from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
        let head = [&[0xff; 6][..], &IN_MAC, &[8, 6], &REQUEST].concat();
        [&head[..], &IN_MAC, &from, &[0; 6], &to].concat()
    }

    #[test]
    fn who_is_behind_the_wires_is_told_and_nobody_else() {
        let mut frame = request([10, 199, 2, 1], [10, 199, 2, 2]);
        assert_eq!(answer(&mut frame), Some(1));
        let head = [&IN_MAC[..], &NEXT_MAC, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 2]].concat();
        let told = [&head[..], &NEXT_MAC, &[10, 199, 2, 2], &IN_MAC, &[10, 199, 2, 1]].concat();
        assert_eq!(frame, told);
        assert_eq!(answer(&mut frame), None, "an answer");
        assert_eq!(answer(&mut request([10, 199, 1, 1], [10, 199, 1, 2])), Some(0));
        for (from, to) in [([10, 199, 1, 1], [10, 199, 1, 1]), ([10, 199, 1, 9], [10, 199, 1, 9])] {
            assert_eq!(answer(&mut request(from, to)), None);
        }
        assert_eq!(answer(&mut request([10, 0, 0, 1], [10, 0, 0, 2])), None);
        let whole = request([10, 199, 1, 1], [10, 199, 1, 2]);
        assert!((0..whole.len()).all(|cut| answer(&mut whole[..cut].to_vec()).is_none()));
    }
}
