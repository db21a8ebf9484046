//! What is made of a key: lines of sixteen octets on the heap.
//!
//! ```text
//! round keys (none, 11, 13 or 15) │ GCM: four powers of GHASH, HMAC: inner and outer state
//! ```

use super::ghash::POWERS;
use super::octets::Line;
use super::{aes, ghash};
use crate::portable::{Hmac, State};
use crate::{Encryption, Suite, Unfit};
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _mm_setzero_si128};
use zeroize::Zeroize;

/// The pads of an HMAC (RFC 2104 §2), in the order of their states.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pad {
    Inner,
    Outer,
}

/// The context of a key. It exists only where [`super::is_available`] was asked and said yes.
pub(crate) struct Context {
    lines: Box<[Line]>,
    /// How many of them are round keys.
    keys: u8,
}

impl Context {
    /// A context; `None` where the processor lacks what the back end needs.
    pub fn new(suite: Suite, encryption: &[u8], integrity: &[u8]) -> Result<Self, Unfit> {
        if !super::is_available() {
            return Err(Unfit::BackEnd);
        }
        let (keys, powers) = (key_lines(suite), power_lines(suite));
        let lines = keys + powers + state_lines(suite);
        let mut lines = vec![[0; 16]; lines].into_boxed_slice();
        let (key_lines, rest) = lines.split_at_mut(keys);
        let (power_lines, state_lines) = rest.split_at_mut(powers);
        if let Some(length) = suite.encryption().key_length() {
            // SAFETY: the processor has what these functions need, asked above.
            unsafe {
                aes::expand(length, encryption, key_lines);
                if powers > 0 {
                    ghash::powers(aes::encrypt(key_lines, _mm_setzero_si128()), power_lines);
                }
            }
        }
        if let Some(hmac) = Hmac::new(suite.integrity(), integrity) {
            hmac.write(state_lines.as_flattened_mut());
        }
        Ok(Self { lines, keys: keys as u8 })
    }

    /// Octets on the heap.
    pub fn size(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// The round keys.
    #[inline(always)]
    pub fn keys(&self) -> &[Line] {
        &self.lines[..usize::from(self.keys)]
    }

    /// The powers of GHASH of a key of GCM.
    #[inline(always)]
    pub fn powers(&self) -> Option<&[Line; POWERS]> {
        self.lines[usize::from(self.keys)..].first_chunk()
    }

    /// A state of HMAC-SHA1: the inner or the outer one.
    #[inline(always)]
    pub(super) fn sha1(&self, which: Pad) -> [u32; 5] {
        let octets = self.lines[usize::from(self.keys)..].as_flattened().get(20 * which as usize..);
        let octets: &[u8; 20] = octets.and_then(<[u8]>::first_chunk).unwrap_or(&[0; 20]);
        let mut words = [0; 5];
        for (word, octets) in words.iter_mut().zip(octets.as_chunks().0) {
            *word = u32::from_be_bytes(*octets);
        }
        words
    }

    /// The HMAC for the portable back end.
    pub fn hmac(&self, suite: Suite) -> Option<Hmac> {
        Hmac::read(suite.integrity(), self.lines[usize::from(self.keys)..].as_flattened())
    }

    /// Fetches its first 256 octets into the cache.
    #[target_feature(enable = "sse")]
    #[inline]
    pub fn prefetch(&self) {
        let start: *const i8 = self.lines.as_ptr().cast();
        _mm_prefetch::<_MM_HINT_T0>(start);
        _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(64));
        _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(128));
        _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(192));
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.lines.zeroize();
    }
}

fn key_lines(suite: Suite) -> usize {
    suite.encryption().key_length().map_or(0, |it| it.octets() / 4 + 7)
}

fn power_lines(suite: Suite) -> usize {
    if matches!(suite.encryption(), Encryption::AesGcm(_)) { POWERS } else { 0 }
}

fn state_lines(suite: Suite) -> usize {
    State::initial(suite.integrity()).map_or(0, |it| (2 * it.octets()).div_ceil(16))
}
