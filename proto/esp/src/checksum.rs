//! The checksum of the Internet (RFC 1071), and what becomes of it when a part changes (RFC 1624).

/// The sum of octets as big-endian words, not folded yet: two words at once are as good.
pub(crate) fn sum(octets: &[u8]) -> u64 {
    let (words, rest) = octets.as_chunks::<4>();
    let sum: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_be_bytes(last))
}

/// Folded into a word.
#[allow(clippy::cast_possible_truncation, reason = "it is folded until it fits")]
pub(crate) const fn folded(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// A checksum of which a part with the sum `before` became one with the sum `after`.
pub(crate) const fn updated(checksum: u16, before: u64, after: u64) -> u16 {
    let kept = !checksum as u64 + !folded(before) as u64;
    !folded(kept + after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_that_is_updated_is_that_of_the_new_octets() {
        let mut octets: Vec<u8> = (0..41).map(|at| (at * 37) as u8).collect();
        for at in (0..32).step_by(4) {
            let before = !folded(sum(&octets));
            let old = sum(&octets[at..at + 4]);
            octets[at..at + 4].copy_from_slice(&[0xfe, at as u8, 0, 0xff]);
            assert_eq!(updated(before, old, sum(&octets[at..at + 4])), !folded(sum(&octets)));
        }
    }
}
