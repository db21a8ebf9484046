//! Lines of memory that are asked for before somebody waits for them.

/// Asks for so many lines.
pub(crate) fn ask_lines(place: *const u8, lines: usize) {
    (0..lines).for_each(|line| graph::prefetch(place.wrapping_add(line * 64)));
}
