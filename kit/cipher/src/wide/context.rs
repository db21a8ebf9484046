//! What is made of a key: lines of sixteen octets, in the context itself where they are few.
//!
//! ```text
//! key (none, one line or two) │ GCM: four powers of GHASH, HMAC: inner and outer state
//! ```

use super::aes::RoundKeys;
use super::ghash::POWERS;
use super::octets::Line;
use super::{aes, ghash};
use crate::portable::{Hmac, State};
use crate::{Encryption, KeyLength, Suite, Unfit};
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _mm_setzero_si128};
use zeroize::Zeroize;

/// The pads of an HMAC (RFC 2104 §2), in the order of their states.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pad {
    Inner,
    Outer,
}

/// Lines that stand in the context: what AES-128 has beside HMAC-SHA1 or the powers of GHASH.
/// Whoever has fetched what a context is part of does not wait for them a second time.
const FEW: usize = 5;

enum Lines {
    Few { lines: [Line; FEW], count: u8 },
    Many(Box<[Line]>),
}

impl Lines {
    fn new(count: usize) -> Self {
        match u8::try_from(count) {
            Ok(few) if count <= FEW => Self::Few { lines: [[0; 16]; FEW], count: few },
            _ => Self::Many(vec![[0; 16]; count].into_boxed_slice()),
        }
    }

    #[inline(always)]
    fn all(&self) -> &[Line] {
        match self {
            Self::Few { lines, count } => &lines[..usize::from(*count).min(FEW)],
            Self::Many(lines) => lines,
        }
    }

    fn all_mut(&mut self) -> &mut [Line] {
        match self {
            Self::Few { lines, count } => &mut lines[..usize::from(*count).min(FEW)],
            Self::Many(lines) => lines,
        }
    }
}

/// The context of a key. It exists only where [`super::is_available`] was asked and said yes.
pub(crate) struct Context {
    lines: Lines,
    length: Option<KeyLength>,
}

impl Context {
    /// A context; `None` where the processor lacks what the back end needs.
    pub fn new(suite: Suite, encryption: &[u8], integrity: &[u8]) -> Result<Self, Unfit> {
        if !super::is_available() {
            return Err(Unfit::BackEnd);
        }
        let (keys, powers) = (key_lines(suite), power_lines(suite));
        // Made where they stay: what is moved leaves octets behind.
        let mut context = Self {
            lines: Lines::new(keys + powers + state_lines(suite)),
            length: suite.encryption().key_length(),
        };
        let length = context.length;
        let (key_lines, rest) = context.lines.all_mut().split_at_mut(keys);
        let (power_lines, state_lines) = rest.split_at_mut(powers);
        key_lines.as_flattened_mut()[..encryption.len()].copy_from_slice(encryption);
        if powers > 0 {
            // SAFETY: the processor has what these functions need, asked above.
            unsafe {
                let mut keys = RoundKeys::NONE;
                keys.set(length, key_lines);
                ghash::powers(aes::encrypt(keys.lines(), _mm_setzero_si128()), power_lines);
            }
        }
        if let Some(hmac) = Hmac::new(suite.integrity(), integrity) {
            hmac.write(state_lines.as_flattened_mut());
        }
        Ok(context)
    }

    /// Octets on the heap.
    pub fn size(&self) -> usize {
        match &self.lines {
            Lines::Few { .. } => 0,
            Lines::Many(lines) => size_of_val(&**lines),
        }
    }

    #[inline(always)]
    fn lines(&self) -> &[Line] {
        self.lines.all()
    }

    /// Lines of the key.
    #[inline(always)]
    fn keys(&self) -> usize {
        self.length.map_or(0, |it| it.octets().div_ceil(16))
    }

    /// Makes the round keys.
    #[target_feature(enable = "avx512f,avx512vl,vaes")]
    #[inline]
    pub(super) fn expand(&self, to: &mut RoundKeys) {
        to.set(self.length, &self.lines()[..self.keys()]);
    }

    /// The key, if it has 128 bits.
    #[inline(always)]
    pub(super) fn short(&self) -> Option<&Line> {
        self.lines().first().filter(|_| matches!(self.length, Some(KeyLength::Bits128)))
    }

    /// The powers of GHASH of a key of GCM.
    #[inline(always)]
    pub fn powers(&self) -> Option<&[Line; POWERS]> {
        self.lines()[self.keys()..].first_chunk()
    }

    /// A state of HMAC-SHA1: the inner or the outer one.
    #[inline(always)]
    pub(super) fn sha1(&self, which: Pad) -> [u32; 5] {
        let octets = self.lines()[self.keys()..].as_flattened().get(20 * which as usize..);
        let octets: &[u8; 20] = octets.and_then(<[u8]>::first_chunk).unwrap_or(&[0; 20]);
        let mut words = [0; 5];
        for (word, octets) in words.iter_mut().zip(octets.as_chunks().0) {
            *word = u32::from_be_bytes(*octets);
        }
        words
    }

    /// The HMAC for the portable back end.
    pub fn hmac(&self, suite: Suite) -> Option<Hmac> {
        Hmac::read(suite.integrity(), self.lines()[self.keys()..].as_flattened())
    }

    /// Fetches its first and its last octets into the cache; few keys take more.
    #[inline]
    pub fn prefetch(&self) {
        let lines = self.lines();
        let (start, octets): (*const i8, _) = (lines.as_ptr().cast(), size_of_val(lines));
        for at in [0, octets.saturating_sub(1)] {
            // SAFETY: every processor of 64 bits has the instruction, and it may be given any
            // address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(at)) };
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.lines.all_mut().as_flattened_mut().zeroize();
    }
}

fn key_lines(suite: Suite) -> usize {
    suite.encryption().key_length().map_or(0, |it| it.octets().div_ceil(16))
}

fn power_lines(suite: Suite) -> usize {
    if matches!(suite.encryption(), Encryption::AesGcm(_)) { POWERS } else { 0 }
}

fn state_lines(suite: Suite) -> usize {
    State::initial(suite.integrity()).map_or(0, |it| (2 * it.octets()).div_ceil(16))
}
