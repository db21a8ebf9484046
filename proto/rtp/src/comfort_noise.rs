//! Comfort noise (RFC 3389): how loud silence is, and its spectrum.

use wire::{Cursor, Malformed};

/// The static payload type, of a clock of 8,000 ticks a second (RFC 3389 §6.1).
pub const PAYLOAD_TYPE: u8 = 13;
/// Reflection coefficients at most: more than any model has.
pub const ORDER_MAX: usize = 32;

const SPEC: &str = "RFC 3389 §3";
const LEVEL: u8 = 0x7F;

/// What a payload says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComfortNoise<'a> {
    /// The level in dBov without the sign, 0 to 127.
    pub level: u8,
    /// The reflection coefficients as they are quantised, of an all-pole model of that order;
    /// none for white noise.
    pub coefficients: &'a [u8],
}

impl<'a> ComfortNoise<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// No octet, or more coefficients than [`ORDER_MAX`].
    pub fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(payload, 0, SPEC);
        let level = cursor.octet("the level is cut off")? & LEVEL;
        match cursor.rest() {
            it if it.len() > ORDER_MAX => Err(cursor.violation("the model has no such order")),
            coefficients => Ok(Self { level, coefficients }),
        }
    }

    /// Appends the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.level & LEVEL);
        out.extend_from_slice(&self.coefficients[..self.coefficients.len().min(ORDER_MAX)]);
    }

    /// The reflection coefficients, -1 to 1 (RFC 3389 §3.2).
    pub fn reflections(&self) -> impl Iterator<Item = f64> + use<'a> {
        self.coefficients.iter().map(|&it| 258.0 * (f64::from(it) - 127.0) / 32_768.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_read_as_it_was_written() {
        let noise = ComfortNoise { level: 60, coefficients: &[127, 0, 254] };
        let mut out = Vec::new();
        noise.write(&mut out);
        assert_eq!(out, [60, 127, 0, 254]);
        assert_eq!(ComfortNoise::read(&out), Ok(noise));
        let reflections: Vec<f64> = noise.reflections().collect();
        assert!(reflections[0] == 0.0 && reflections[1] == -reflections[2]);
        assert!((reflections[2] - 0.99994).abs() < 1e-4, "{}", reflections[2]);
        assert_eq!(ComfortNoise::read(&[0xFF]).unwrap().level, 127, "the highest bit is reserved");
        assert!(ComfortNoise::read(&[]).is_err() && ComfortNoise::read(&[0; 34]).is_err());
    }
}
