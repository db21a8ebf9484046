//! Numbers made smaller. What does not fit is never cut: it becomes the largest number, which
//! nothing has.

use core::time::Duration;

/// A number that was told, by a peer or by a site file.
#[must_use]
#[inline]
pub fn at_most<T: TryFrom<u64>>(number: u64, most: T) -> T {
    T::try_from(number).unwrap_or(most)
}

/// The number of a row, where fewer than 65,535 are let in.
#[must_use]
#[inline]
pub fn index(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

/// A place in memory, of which there are fewer than 2^32 - 1.
#[must_use]
#[inline]
pub fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Nanoseconds.
#[must_use]
#[inline]
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Whole microseconds.
#[must_use]
#[inline]
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Whole milliseconds.
#[must_use]
#[inline]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The lower half of a hash.
#[must_use]
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
pub const fn half(hash: u64) -> u32 {
    hash as u32
}

/// The two halves of a number, the lower one first.
#[must_use]
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "both halves are kept")]
pub const fn halves(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

/// The slot of a hash.
#[must_use]
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "it is less than the number of slots")]
pub const fn slot(hash: u64, slots: usize) -> usize {
    (hash % slots as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_becomes_what_nothing_has() {
        assert_eq!((at_most(65_536, u16::MAX), at_most(7, u16::MAX)), (u16::MAX, 7));
        assert_eq!((index(65_536), index(7)), (u16::MAX, 7));
        assert_eq!((place(1 << 32), place(7)), (u32::MAX, 7));
        assert_eq!((nanos(Duration::MAX), nanos(Duration::from_micros(1))), (u64::MAX, 1_000));
        assert_eq!((half(1 << 32 | 7), slot(4_099, 4_096)), (7, 3));
        assert_eq!(halves(1 << 64 | 7), [7, 1]);
        assert_eq!((micros(Duration::MAX), millis(Duration::from_secs(1))), (u64::MAX, 1_000));
    }
}
