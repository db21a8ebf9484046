//! G.722 at 64 kbit/s: two bands of 8 kHz, an adaptive predictor and quantizer in each.
//!
//! ```text
//!   16 kHz ─ QMF ─┬─ low  band, 6 bits ─┐
//!                 └─ high band, 2 bits ─┴─ an octet for each two samples
//! ```
//! Names of the steps are those of G.722 §6. A decoder takes all six bits of the low band (mode 1).

mod band;
mod filter;
mod lanes;

use band::Band;
use filter::{Analysis, Synthesis};

/// Samples that one call codes at most at once; more are coded piece by piece.
const PIECE: usize = 320;

/// Samples into octets.
#[derive(Debug, Clone)]
pub struct Encoder {
    analysis: Analysis,
    low: Band,
    high: Band,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { analysis: Analysis::default(), low: Band::low(), high: Band::high() }
    }
}

impl Encoder {
    /// Appends the octets of samples at 16 kHz, one for each two. A last odd one is passed over.
    pub fn encode(&mut self, samples: &[i16], out: &mut Vec<u8>) {
        let (mut lows, mut highs) = ([0; PIECE / 2], [0; PIECE / 2]);
        let mut octets = [0; PIECE / 2];
        // Here the compiler keeps them in registers from one sample to the next.
        let (mut low, mut high) = (self.low.clone(), self.high.clone());
        for piece in samples.chunks(PIECE) {
            let pairs = piece.len() / 2;
            self.analysis.split(piece, &mut lows[..pairs], &mut highs[..pairs]);
            let bands = lows.iter().zip(&highs).take(pairs);
            for (octet, (&of_low, &of_high)) in octets.iter_mut().zip(bands) {
                *octet = high.encode_high(of_high) << 6 | low.encode_low(of_low);
            }
            out.extend_from_slice(&octets[..pairs]);
        }
        (self.low, self.high) = (low, high);
    }
}

/// Octets into samples.
#[derive(Debug, Clone)]
pub struct Decoder {
    synthesis: Synthesis,
    low: Band,
    high: Band,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { synthesis: Synthesis::default(), low: Band::low(), high: Band::high() }
    }
}

impl Decoder {
    /// Appends the samples of octets at 16 kHz, two for each.
    pub fn decode(&mut self, octets: &[u8], out: &mut Vec<i16>) {
        let (mut lows, mut highs) = ([0; PIECE / 2], [0; PIECE / 2]);
        let (mut low, mut high) = (self.low.clone(), self.high.clone());
        for piece in octets.chunks(PIECE / 2) {
            for ((&octet, of_low), of_high) in piece.iter().zip(&mut lows).zip(&mut highs) {
                *of_low = low.decode_low(octet & 0x3F);
                *of_high = high.decode_high(octet >> 6);
            }
            self.synthesis.join(&lows[..piece.len()], &highs[..piece.len()], out);
        }
        (self.low, self.high) = (low, high);
    }
}
