//! Septets in octets, the lowest bit first (TS 23.038 §6.1.2.1).

/// Octets that so many septets take, with `fill` bits in front of them.
#[must_use]
pub const fn packed_octets(septets: usize, fill: usize) -> usize {
    (septets * 7 + fill).div_ceil(8)
}

/// Septets that stand in octets behind `fill` bits.
#[derive(Debug, Clone, Copy)]
pub struct Septets<'a> {
    octets: &'a [u8],
    bit: usize,
    left: usize,
}

impl<'a> Septets<'a> {
    /// `count` septets of `octets`, behind `fill` bits; fewer if there are not so many.
    #[must_use]
    pub const fn new(octets: &'a [u8], fill: usize, count: usize) -> Self {
        Self { octets, bit: fill, left: count }
    }
}

impl Iterator for Septets<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (at, shift) = (self.bit / 8, self.bit % 8);
        let low = *self.octets.get(at)?;
        let high = match self.octets.get(at + 1) {
            Some(high) => *high,
            None if shift > 1 => return None,
            None => 0,
        };
        self.left = self.left.checked_sub(1)?;
        self.bit += 7;
        Some((u16::from_le_bytes([low, high]) >> shift).to_le_bytes()[0] & 0x7f)
    }
}

/// Appends septets, behind `fill` bits that are zero.
pub fn pack(septets: &[u8], fill: usize, out: &mut Vec<u8>) {
    let (from, mut bit) = (out.len(), fill);
    out.resize(from + packed_octets(septets.len(), fill), 0);
    for septet in septets {
        let (at, shift) = (from + bit / 8, bit % 8);
        let [low, high] = (u16::from(septet & 0x7f) << shift).to_le_bytes();
        out[at] |= low;
        if let Some(next) = out.get_mut(at + 1) {
            *next |= high;
        }
        bit += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn septets_are_packed_as_the_annex_shows_and_come_back_behind_any_fill_bits() {
        let mut octets = Vec::new();
        pack(b"hellohello", 0, &mut octets);
        assert_eq!(octets, [0xe8, 0x32, 0x9b, 0xfd, 0x46, 0x97, 0xd9, 0xec, 0x37]);
        for fill in 0..7 {
            for count in 0..20 {
                let septets: Vec<u8> =
                    (0..count).map(|it: u8| it.wrapping_mul(37) & 0x7f).collect();
                let mut octets = Vec::new();
                pack(&septets, fill, &mut octets);
                let back: Vec<u8> = Septets::new(&octets, fill, septets.len()).collect();
                assert_eq!(back, septets);
            }
        }
    }
}
