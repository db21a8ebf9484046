//! Digits as tones (ITU-T Q.23): made, and found again by the rules of Q.24.

mod detector;
mod generator;

pub use detector::{Detector, Heard};
pub use generator::{Tones, VOLUME};

/// The low group, Hz.
pub const LOW: [f64; 4] = [697.0, 770.0, 852.0, 941.0];
/// The high group, Hz.
pub const HIGH: [f64; 4] = [1_209.0, 1_336.0, 1_477.0, 1_633.0];

/// Events of RFC 4733 by their place in the grid: a row for each frequency of the low group.
const GRID: [[u8; 4]; 4] = [[1, 2, 3, 12], [4, 5, 6, 13], [7, 8, 9, 14], [10, 0, 11, 15]];

/// The frequencies of an event, Hz; `None` if it is no digit.
#[must_use]
pub fn frequencies(code: u8) -> Option<(f64, f64)> {
    let place = GRID.iter().flatten().position(|&it| it == code)?;
    Some((LOW[place / 4], HIGH[place % 4]))
}
