//! AMR and AMR-WB in RTP (RFC 4867): bandwidth-efficient and octet-aligned payloads.
//!
//! ```text
//! octet-aligned        CMR 4, 0000 · (F 1, FT 4, Q 1, 00) … · frames, each of whole octets
//! bandwidth-efficient  CMR 4 · (F 1, FT 4, Q 1) … · speech bits one behind the other · padding
//! ```
//! Interleaving, checksums and robust sorting change what is in an octet-aligned payload; a format
//! that asks for one of them is refused.

mod payload;

pub use payload::{Frame, Frames, Packing, write};

use wire::Malformed;

const SPEC: &str = "RFC 4867 §4";

/// Octets of a frame at most, the one with its type included.
pub const FRAME_OCTETS_MAX: usize = 64;
/// Frames of a payload at most: 240 ms.
pub const FRAMES_MAX: usize = 12;
/// The frame type of nothing (RFC 4867 §3.6).
pub const NO_DATA: u8 = 15;
/// No mode is asked for (RFC 4867 §4.3.1).
pub const NO_REQUEST: u8 = 15;

/// AMR or AMR-WB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// AMR, at 8 kHz.
    Narrow,
    /// AMR-WB, at 16 kHz.
    Wide,
}

/// Speech bits of the frame types (TS 26.101 table 1a, with SID; TS 26.201 table 2, with SID).
const NARROW_BITS: [u16; 9] = [95, 103, 118, 134, 148, 159, 204, 244, 39];
const WIDE_BITS: [u16; 10] = [132, 177, 253, 285, 317, 365, 397, 461, 477, 40];
/// Only AMR-WB has it: a frame that was lost (RFC 4867 §4.3.2).
const SPEECH_LOST: u8 = 14;

impl Band {
    /// How many modes there are.
    #[must_use]
    pub const fn modes(self) -> u8 {
        match self {
            Self::Narrow => 8,
            Self::Wide => 9,
        }
    }

    /// The type of a frame that describes silence.
    #[must_use]
    pub const fn silence(self) -> u8 {
        self.modes()
    }

    /// Samples of a frame.
    #[must_use]
    pub const fn frame_samples(self) -> usize {
        match self {
            Self::Narrow => 160,
            Self::Wide => 320,
        }
    }

    /// Speech bits of a frame of that type; `None` if there is no such type.
    #[must_use]
    pub const fn frame_bits(self, kind: u8) -> Option<usize> {
        let bits: &[u16] = match self {
            Self::Narrow => &NARROW_BITS,
            Self::Wide => &WIDE_BITS,
        };
        match (self, kind) {
            (_, NO_DATA) | (Self::Wide, SPEECH_LOST) => Some(0),
            _ if (kind as usize) < bits.len() => Some(bits[kind as usize] as usize),
            _ => None,
        }
    }

    /// Octets of them.
    #[must_use]
    pub const fn frame_octets(self, kind: u8) -> Option<usize> {
        match self.frame_bits(kind) {
            Some(bits) => Some(bits.div_ceil(8)),
            None => None,
        }
    }
}

const fn malformed(at: usize, what: &'static str) -> Malformed {
    Malformed::new(at, what, SPEC)
}
