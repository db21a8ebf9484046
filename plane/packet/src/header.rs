//! Where things stand in headers, and the Internet checksum (RFC 1071, RFC 1624).

use machine::narrow::index;

/// Octets of an Ethernet header without tags.
pub const ETHERNET: usize = 14;
/// Octets of a VLAN tag.
pub const TAG: usize = 4;
/// Octets of an IPv4 header without options.
pub const IP4: usize = 20;
/// Octets of an IPv6 header.
pub const IP6: usize = 40;

/// A constant in the 16 bits that packets count their octets by.
#[inline]
#[must_use]
pub const fn short(octets: usize) -> u16 {
    assert!(octets <= u16::MAX as usize, "packets have 16 bits");
    #[allow(clippy::cast_possible_truncation, reason = "asserted")]
    let octets = octets as u16;
    octets
}

/// What is not above it in the place of an EtherType is the length of a frame of IEEE 802.2.
pub const LENGTH_MAX: u16 = 1_500;
/// EtherType of IPv4.
pub const TYPE_IP4: u16 = 0x0800;
/// EtherType of ARP.
pub const TYPE_ARP: u16 = 0x0806;
/// EtherType of a VLAN tag (IEEE 802.1Q).
pub const TYPE_VLAN: u16 = 0x8100;
/// EtherType of a service tag (IEEE 802.1ad).
pub const TYPE_SERVICE: u16 = 0x88a8;
/// EtherType of IPv6.
pub const TYPE_IP6: u16 = 0x86dd;
/// EtherType of MPLS.
pub const TYPE_MPLS: u16 = 0x8847;

/// Protocol number of ICMP.
pub const ICMP: u8 = 1;
/// Protocol number of TCP.
pub const TCP: u8 = 6;
/// Protocol number of UDP.
pub const UDP: u8 = 17;
/// Next header of ICMPv6.
pub const ICMP6: u8 = 58;

/// Sixteen bits at an offset; 0 past the end.
#[inline]
#[must_use]
pub fn word(octets: &[u8], at: usize) -> u16 {
    octets.get(at..at + 2).map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]]))
}

/// Thirty-two bits at an offset; 0 past the end.
#[inline]
#[must_use]
pub fn long(octets: &[u8], at: usize) -> u32 {
    let four = octets.get(at..).and_then(<[u8]>::first_chunk::<4>);
    four.map_or(0, |four| u32::from_be_bytes(*four))
}

/// A hundred and twenty-eight bits at an offset; 0 past the end.
#[inline]
#[must_use]
pub fn address6(octets: &[u8], at: usize) -> u128 {
    let address = octets.get(at..).and_then(<[u8]>::first_chunk::<16>);
    address.map_or(0, |address| u128::from_be_bytes(*address))
}

/// The one's complement sum of the 20 octets of an IPv4 header: 0xffff if its checksum is right.
#[inline]
#[must_use]
pub fn sum_ip4(header: &[u8; IP4]) -> u16 {
    let eight = |at: usize| {
        u64::from_ne_bytes(*header[at..].first_chunk::<8>().expect("within the header"))
    };
    let last = u32::from_ne_bytes(*header[16..].first_chunk::<4>().expect("within the header"));
    let (sum, carry) = eight(0).overflowing_add(eight(8));
    let (sum, next) = sum.overflowing_add(u64::from(last) + u64::from(carry));
    fold(sum, u64::from(next))
}

#[inline]
fn fold(sum: u64, carry: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff) + carry;
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    (((sum >> 16) + (sum & 0xffff)) & 0xffff) as u16
}

/// The one's complement sum of octets, on top of a sum so far.
#[must_use]
pub fn sum(octets: &[u8], so_far: u32) -> u32 {
    let (pairs, last) = octets.as_chunks::<2>();
    let mut sum = u64::from(so_far);
    for pair in pairs {
        sum += u64::from(u16::from_be_bytes(*pair));
    }
    if let [odd] = last {
        sum += u64::from(*odd) << 8;
    }
    let low = (sum & 0xffff_ffff) as u32;
    (sum >> 32) as u32 + (low >> 16) + (low & 0xffff)
}

/// The checksum of a sum.
#[must_use]
pub fn checksum(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !((sum & 0xffff) as u16)
}

/// The sum of the pseudo-header of IPv6 (RFC 8200 §8.1).
#[must_use]
pub fn pseudo6(addresses: &[u8], length: usize, protocol: u8) -> u32 {
    sum(addresses, u32::from(index(length)) + u32::from(protocol))
}

/// The checksum of a header in which one word became another (RFC 1624, equation 3).
#[inline]
#[must_use]
pub fn adjusted(check: u16, old: u16, new: u16) -> u16 {
    checksum(u32::from(!check) + u32::from(!old) + u32::from(new))
}

/// Writes the checksum of an IPv4 header anew; the octets are the header's with its options.
pub fn seal_ip4(header: &mut [u8]) {
    header[10..12].fill(0);
    let check = checksum(sum(header, 0));
    header[10..12].copy_from_slice(&check.to_be_bytes());
}

/// One off the time to live, and the checksum made right.
#[inline]
pub fn age_ip4(header: &mut [u8; IP4]) {
    header[8] = header[8].wrapping_sub(1);
    let check = u32::from(u16::from_be_bytes([header[10], header[11]])) + 0x0100;
    let check = ((check + u32::from(check >= 0xffff)) & 0xffff) as u16;
    header[10..12].copy_from_slice(&check.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_agree_with_each_other_for_all_kinds_of_headers() {
        let mut state = 1_u64;
        for _ in 0..100_000 {
            let mut header = [0_u8; IP4];
            for octet in &mut header {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *octet = if state >> 60 == 0 { 0xff } else { (state >> 33) as u8 };
            }
            header[0] = 0x45;
            header[8] = header[8].max(1);
            seal_ip4(&mut header);
            assert_eq!(sum_ip4(&header), 0xffff);
            let mut aged = header;
            age_ip4(&mut aged);
            let mut sealed = aged;
            seal_ip4(&mut sealed);
            assert_eq!(aged, sealed);
            let check = u16::from_be_bytes([header[10], header[11]]);
            let (old, new) = (word(&header, 8), word(&aged, 8));
            assert_eq!(adjusted(check, old, new), word(&sealed, 10));
            aged[3] ^= 1;
            assert_ne!(sum_ip4(&aged), 0xffff);
        }
    }

    #[test]
    fn an_odd_octet_counts_as_the_high_half_of_a_word() {
        assert_eq!(sum(&[1, 2, 3], 0), 0x0102 + 0x0300);
        assert_eq!(checksum(0x1_fffe), 0);
    }
}
