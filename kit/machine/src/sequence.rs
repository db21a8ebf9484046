//! Numbers that wrap on the wire and go on here: the arithmetic of sequence numbers (RFC 1982;
//! RFC 9260 §2.6).

/// A number of 64 bits as it stands on the wire.
#[allow(clippy::cast_possible_truncation, reason = "the wire has the low bits of a number")]
#[must_use]
#[inline]
pub const fn low32(number: u64) -> u32 {
    number as u32
}

/// The same for numbers of 16 bits.
#[allow(clippy::cast_possible_truncation, reason = "the wire has the low bits of a number")]
#[must_use]
#[inline]
pub const fn low16(number: u64) -> u16 {
    number as u16
}

/// How far one number is behind another, as a place in memory.
#[allow(clippy::cast_possible_truncation, reason = "a window of numbers has 16 bits, memory 64")]
#[must_use]
#[inline]
pub const fn place(distance: u64) -> usize {
    distance as usize
}

/// `number`, of 32 bits on the wire, as the number of 64 bits that is nearest to `near`.
#[must_use]
#[inline]
pub const fn unwrap32(near: u64, number: u32) -> u64 {
    near.wrapping_add(number.wrapping_sub(low32(near)) as i32 as i64 as u64)
}

/// The same for numbers of 16 bits.
#[must_use]
#[inline]
pub const fn unwrap16(near: u64, number: u16) -> u64 {
    near.wrapping_add(number.wrapping_sub(low16(near)) as i16 as i64 as u64)
}

/// A number of 32 bits at the start of an unwrapped sequence: it can go back a whole turn.
#[must_use]
#[inline]
pub const fn origin(number: u32) -> u64 {
    (1 << 32) | number as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_past_the_turn_is_the_next_one() {
        let near = origin(u32::MAX);
        assert_eq!(unwrap32(near, 0), near + 1);
        assert_eq!(unwrap32(near, u32::MAX - 4), near - 4);
        assert_eq!(unwrap16(65_535 + 65_536, 1), 65_535 + 65_536 + 2);
    }
}
