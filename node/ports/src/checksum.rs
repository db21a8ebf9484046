//! The Internet checksum (RFC 1071), finished for a sender that left it to its hardware.

/// Where UDP has its checksum, counted from its header (RFC 768).
const UDP_SUM_AT: usize = 6;

/// Finishes the sum over `packet[from..]`, whose place `from + at` holds the sum of the pseudo
/// header; false when the packet is too short for that.
pub(super) fn finish(packet: &mut [u8], from: usize, at: usize) -> bool {
    let Some(place) = from.checked_add(at).filter(|place| place + 2 <= packet.len()) else {
        return false;
    };
    let mut sum = !fold(add(&packet[from..]));
    if sum == 0 && at == UDP_SUM_AT {
        sum = 0xffff; // RFC 768: zero says that there is none
    }
    packet[place..place + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Whether the checksum of TCP or UDP in a frame is the sum of its pseudo header alone: so a sender
/// leaves it that has hardware, or a veth, to finish it. One in 65,536 is so by chance.
pub(super) fn is_unfinished(frame: &[u8]) -> bool {
    sums(frame).is_some_and(|(written, pseudo)| written == pseudo)
}

/// The checksum of TCP or UDP as it stands there, and the sum of the pseudo header (RFC 768, RFC
/// 9293 §3.1, RFC 8200 §8.1). A fragment has none.
fn sums(frame: &[u8]) -> Option<(u16, u16)> {
    let word = |octets: &[u8], at: usize| {
        octets.get(at..)?.first_chunk::<2>().map(|two| u16::from_be_bytes(*two))
    };
    let tags = (12..).step_by(4).take_while(|at| matches!(word(frame, *at), Some(0x8100 | 0x88a8)));
    let at = 12 + 4 * tags.count();
    let packet = frame.get(at + 2..)?;
    let (protocol, header, addresses, length) = match word(frame, at)? {
        0x0800 if word(packet, 6)? & 0x3fff == 0 => {
            let header = usize::from(packet.first()? & 0xf) * 4;
            let length = usize::from(word(packet, 2)?).checked_sub(header)?;
            (*packet.get(9)?, header, packet.get(12..20)?, length)
        }
        0x86dd => (*packet.get(6)?, 40, packet.get(8..40)?, usize::from(word(packet, 4)?)),
        _ => return None,
    };
    let sum_at = match protocol {
        6 => 16,
        17 => UDP_SUM_AT,
        _ => return None,
    };
    let pseudo = fold(add(addresses) + u64::from(protocol) + length as u64);
    Some((word(packet, header + sum_at)?, pseudo))
}

fn add(octets: &[u8]) -> u64 {
    let (words, rest) = octets.as_chunks::<4>();
    let sum: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_be_bytes(last))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (sum & 0xffff) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UDP from 10.0.0.1 to 10.0.0.2 with the sum of its pseudo header in place.
    fn datagram(payload: &[u8]) -> Vec<u8> {
        let length = (8 + payload.len()) as u16;
        let pseudo = [&[10, 0, 0, 1, 10, 0, 0, 2, 0, 17][..], &length.to_be_bytes()].concat();
        let mut bytes = [&[0, 7, 0, 9][..], &length.to_be_bytes(), &[0, 0], payload].concat();
        bytes[6..8].copy_from_slice(&fold(add(&pseudo)).to_be_bytes());
        bytes
    }

    #[test]
    fn a_finished_sum_checks_whatever_the_length() {
        for length in 0..70u8 {
            let payload: Vec<u8> = (0..length).map(|n| n.wrapping_mul(37)).collect();
            let mut bytes = [vec![0xaa; 5], datagram(&payload)].concat();
            let pseudo = fold(add(&[10, 0, 0, 1, 10, 0, 0, 2, 0, 17, 0, 8 + length]));
            assert!(finish(&mut bytes, 5, UDP_SUM_AT));
            assert_eq!(fold(add(&bytes[5..]) + u64::from(pseudo)), 0xffff, "{length}");
        }
    }

    #[test]
    fn a_sum_of_zero_is_written_as_all_ones_for_udp_and_stays_for_others() {
        let mut bytes = vec![0xff, 0xff, 0, 0, 0, 0, 0, 0];
        assert!(finish(&mut bytes, 0, UDP_SUM_AT));
        assert_eq!(bytes[6..], [0xff, 0xff]);
        let mut bytes = vec![0xff, 0xff, 0, 0, 0, 0, 0, 0];
        assert!(finish(&mut bytes, 0, 4));
        assert_eq!(bytes[4..6], [0, 0]);
    }

    #[test]
    fn a_place_outside_of_the_packet_is_refused() {
        assert!(!finish(&mut [0; 20], 10, 9) && !finish(&mut [0; 20], 40, 0));
        assert!(!finish(&mut [0; 20], usize::MAX, 16));
        assert!(finish(&mut [0; 20], 10, 8));
    }

    #[test]
    fn a_sum_that_was_left_to_hardware_is_known_by_its_pseudo_header() {
        let datagram = datagram(b"hello");
        let length = 20 + datagram.len() as u8;
        let ip = [0x45, 0, 0, length, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        for tags in [&[][..], &[0x81, 0, 0, 7], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9]] {
            let ethernet = [&[0; 12][..], tags, &[8, 0]].concat();
            let mut frame = [&ethernet[..], &ip, &datagram].concat();
            assert!(is_unfinished(&frame));
            let from = ethernet.len() + 20;
            assert!(finish(&mut frame, from, UDP_SUM_AT));
            assert!(!is_unfinished(&frame));
        }
        let mut fragment = [&[0; 12][..], &[8, 0], &ip, &datagram].concat();
        fragment[14 + 6] = 0x20;
        assert!(!is_unfinished(&fragment));
        for octets in 0..40 {
            assert!(!is_unfinished(&[0x81; 60][..octets]), "{octets}");
        }
    }
}
