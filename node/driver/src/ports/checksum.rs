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
}
