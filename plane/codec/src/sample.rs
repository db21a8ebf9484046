//! Samples: 16 bits, signed.

/// The sample that is nearest to a value.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "it was clamped")]
pub(crate) const fn saturated(value: i32) -> i16 {
    if value > i16::MAX as i32 {
        i16::MAX
    } else if value < i16::MIN as i32 {
        i16::MIN
    } else {
        value as i16
    }
}
