//! The Internet checksum (RFC 1071), in the byte order of the machine: the sum does not depend on
//! it, so words are added as they lie in memory.

/// The sum of the 16-bit words of `octets`; a last odd octet counts as the first of a word.
pub(crate) fn of(octets: &[u8]) -> u32 {
    let mut words = octets.chunks_exact(2);
    let sum: u32 =
        words.by_ref().map(|word| u32::from(u16::from_ne_bytes([word[0], word[1]]))).sum();
    match words.remainder() {
        [last] => sum + u32::from(u16::from_ne_bytes([*last, 0])),
        _ => sum,
    }
}

/// The word as it lies in memory of a number in network order.
pub(crate) const fn word(number: u16) -> u32 {
    number.to_be() as u32
}

/// A sum in sixteen bits.
#[inline]
pub(crate) const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_rfc_1071_section_3_comes_out() {
        let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(u16::from_be(fold(of(&octets).into())), 0xddf2);
    }

    #[test]
    fn large_sums_fold_into_sixteen_bits() {
        assert_eq!(fold(0xffff_ffff_ffff), 0xffff);
        assert_eq!(fold(0x1_0000), 1);
        assert_eq!(fold(u64::MAX), 0xffff);
        assert_eq!(of(&[1]), u32::from(u16::from_ne_bytes([1, 0])));
    }
}
