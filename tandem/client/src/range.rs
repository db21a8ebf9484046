//! Values within a range.

use clap::builder::RangedU64ValueParser;
use std::ops::RangeInclusive;

/// A number of seconds within a range.
pub fn seconds(range: RangeInclusive<u64>) -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(range)
}
