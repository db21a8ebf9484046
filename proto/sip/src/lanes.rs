//! Sixteen octets side by side: where those of a class stand, as one bit for each.

use wide::u8x16;

/// Octets side by side.
pub(crate) const LANES: usize = 16;

/// Sixteen octets, or sixteen answers about them.
#[derive(Clone, Copy)]
pub(crate) struct Lanes(u8x16);

impl Lanes {
    #[inline(always)]
    pub(crate) const fn load(chunk: &[u8; LANES]) -> Self {
        Self(u8x16::new(*chunk))
    }

    /// Those that equal `octet`.
    #[inline(always)]
    pub(crate) fn equal(self, octet: u8) -> Self {
        Self(self.0.simd_eq(u8x16::splat(octet)))
    }

    /// Those from `low` to `high`, both included.
    #[inline(always)]
    pub(crate) fn within(self, low: u8, high: u8) -> Self {
        let above = self.0 - u8x16::splat(low);
        Self(above.simd_eq(above.min(u8x16::splat(high - low))))
    }

    /// Those that either of both names.
    #[inline(always)]
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are not named.
    #[inline(always)]
    pub(crate) fn not(self) -> Self {
        Self(!self.0)
    }

    /// An answer's bits; the first octet's is the lowest.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "one bit for each of sixteen octets")]
    pub(crate) fn bits(self) -> u16 {
        self.0.to_bitmask() as u16
    }
}

/// The first position from `at` on for which `class` says yes, or the end; what is left at the end
/// of a text shorter than sixteen octets is asked of `is_in_class`.
#[inline(always)]
pub(crate) fn find(
    bytes: &[u8],
    mut at: usize,
    class: impl Fn(Lanes) -> Lanes,
    is_in_class: impl Fn(u8) -> bool,
) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let found = class(Lanes::load(chunk)).bits();
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += LANES;
    }
    let Some(chunk) = bytes.last_chunk() else {
        let rest = bytes.get(at..).unwrap_or(b"");
        return rest.iter().position(|&o| is_in_class(o)).map_or(bytes.len(), |found| at + found);
    };
    let start = bytes.len() - LANES;
    let seen = (at - start).min(LANES);
    let found = u32::from(class(Lanes::load(chunk)).bits()) & (u32::MAX << seen);
    start + (found.trailing_zeros() as usize).min(LANES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_in_every_lane_is_told_apart() {
        for octet in 0..=255u8 {
            for lane in 0..LANES {
                let mut chunk = [b'a'; LANES];
                chunk[lane] = octet;
                let lanes = Lanes::load(&chunk);
                let bit = 1u16 << lane;
                let among = |is_in: bool| if is_in { bit } else { 0 };
                if octet != b'a' {
                    assert_eq!(lanes.equal(octet).bits(), bit);
                }
                let wanted = among((0x21..=0x5f).contains(&octet));
                assert_eq!(lanes.within(0x21, 0x5f).bits(), wanted);
                let control = lanes.within(0, 0x1f).or(lanes.within(0x7f, 0xff));
                assert_eq!(control.bits(), among(!(0x20..=0x7e).contains(&octet)));
            }
        }
    }
}
