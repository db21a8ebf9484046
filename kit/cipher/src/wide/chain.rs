//! Cipher block chaining of many packets at once. Of one packet each block waits for the one
//! before, and most of the processor waits with it: sixteen packets fill its lanes. A lane whose
//! packet is done takes the next one.

use super::octets::Line;
use std::arch::x86_64::*;
use std::ops::Range;

/// Packets at once: four registers of four blocks.
const LANES: usize = 16;
/// Most round keys.
const ROUND_KEYS: usize = 15;
/// With fewer packets than these, one behind the other is faster.
pub(super) const LANES_MIN: usize = 3;

/// A packet to be encrypted.
#[derive(Clone, Debug)]
pub(super) struct Chain<'k> {
    pub keys: &'k [Line],
    pub iv: Line,
    /// Its data in the buffer, in whole blocks.
    pub data: Range<usize>,
}

/// Blocks of all lanes, one behind the other.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Blocks([Line; LANES]);

impl Blocks {
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(&self, four: usize) -> __m512i {
        let blocks = &self.0[4 * four..][..4];
        // SAFETY: four blocks are 64 octets.
        unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store(&mut self, four: usize, value: __m512i) {
        let blocks = &mut self.0[4 * four..][..4];
        // SAFETY: four blocks are 64 octets.
        unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), value) };
    }
}

/// Encrypts packets, whose data lies within the buffer.
#[target_feature(enable = "avx512f,avx512vl,vaes")]
pub(super) fn encrypt<'k>(buffer: &mut [u8], chains: impl Iterator<Item = Chain<'k>> + Clone) {
    // Rounds of 128, 192 and 256 bits: lanes go through as many together.
    for count in [11, 13, 15] {
        let mut alike = chains.clone().filter(|it| it.keys.len() == count).peekable();
        if alike.peek().is_some() {
            encrypt_alike(buffer, alike, count);
        }
    }
}

#[target_feature(enable = "avx512f,avx512vl,vaes")]
fn encrypt_alike<'k>(buffer: &mut [u8], chains: impl Iterator<Item = Chain<'k>>, count: usize) {
    // One pointer for all: a reference to the data of one would end those to the others.
    let (base, length) = (buffer.as_mut_ptr(), buffer.len());
    let mut chains = chains.filter(|it| !it.data.is_empty() && it.data.end <= length);
    let mut nothing: Line = [0; 16];
    let mut lanes = Lanes {
        keys: [Blocks([[0; 16]; LANES]); ROUND_KEYS],
        count,
        states: Blocks([[0; 16]; LANES]),
        at: [nothing.as_mut_ptr(); LANES],
        stride: [0; LANES],
    };
    let mut left = [0; LANES];
    loop {
        for (lane, left) in left.iter_mut().enumerate().filter(|(_, left)| **left == 0) {
            *left = match chains.next() {
                Some(chain) => {
                    lanes.begin(lane, &chain, base.wrapping_add(chain.data.start));
                    chain.data.len() / 16
                }
                None => {
                    (lanes.at[lane], lanes.stride[lane]) = (nothing.as_mut_ptr(), 0);
                    usize::MAX
                }
            };
        }
        let steps = left.iter().copied().min().unwrap_or(usize::MAX);
        if steps == usize::MAX {
            return;
        }
        // SAFETY: as many blocks as are left stand where each lane is; one without a packet stays
        // where there is one.
        unsafe { lanes.run(steps) };
        left.iter_mut().filter(|left| **left != usize::MAX).for_each(|left| *left -= steps);
    }
}

/// Packets under way.
struct Lanes {
    /// Round by round, the keys of all lanes.
    keys: [Blocks; ROUND_KEYS],
    count: usize,
    /// The block before, of each.
    states: Blocks,
    /// The next block of each.
    at: [*mut u8; LANES],
    /// By how much `at` moves: nothing in a lane that is idle.
    stride: [usize; LANES],
}

impl Lanes {
    fn begin(&mut self, lane: usize, chain: &Chain<'_>, data: *mut u8) {
        for (keys, key) in self.keys.iter_mut().zip(chain.keys) {
            keys.0[lane] = *key;
        }
        self.states.0[lane] = chain.iv;
        (self.at[lane], self.stride[lane]) = (data, 16);
    }

    /// Encrypts so many blocks of each lane.
    ///
    /// # Safety
    /// So many blocks stand where each lane is, one where it does not move.
    #[target_feature(enable = "avx512f,avx512vl,vaes")]
    unsafe fn run(&mut self, steps: usize) {
        let [first, rest @ ..] = &self.keys[..self.count] else { return };
        let [middle @ .., last] = rest else { return };
        let mut states = [_mm512_setzero_si512(); 4];
        for (four, state) in states.iter_mut().enumerate() {
            *state = self.states.load(four);
        }
        for _ in 0..steps {
            let (fours, _) = self.at.as_chunks::<4>();
            for (four, (state, at)) in states.iter_mut().zip(fours).enumerate() {
                // SAFETY: a block stands where each lane is, as the caller says.
                let data = unsafe { gathered(at) };
                // 0x96: exclusive or of three.
                *state = _mm512_ternarylogic_epi64::<0x96>(*state, data, first.load(four));
            }
            for keys in middle {
                for (four, state) in states.iter_mut().enumerate() {
                    *state = _mm512_aesenc_epi128(*state, keys.load(four));
                }
            }
            for (four, (state, at)) in states.iter_mut().zip(fours).enumerate() {
                *state = _mm512_aesenclast_epi128(*state, last.load(four));
                // SAFETY: as above.
                unsafe { scatter(*state, at) };
            }
            for (at, stride) in self.at.iter_mut().zip(&self.stride) {
                // A lane that is through leads to the end of its data.
                *at = at.wrapping_add(*stride);
            }
        }
        for (four, state) in states.into_iter().enumerate() {
            self.states.store(four, state);
        }
    }
}

/// # Safety
/// Each pointer leads to a block.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn gathered(at: &[*mut u8; 4]) -> __m512i {
    // SAFETY: as the caller says.
    unsafe {
        let [a, b, c, d] = at.map(|at| _mm_loadu_si128(at.cast_const().cast()));
        let value = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
        _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(value, c), d)
    }
}

/// # Safety
/// Each pointer leads to a block.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn scatter(value: __m512i, at: &[*mut u8; 4]) {
    // SAFETY: as the caller says.
    unsafe {
        _mm_storeu_si128(at[0].cast(), _mm512_castsi512_si128(value));
        _mm_storeu_si128(at[1].cast(), _mm512_extracti32x4_epi32::<1>(value));
        _mm_storeu_si128(at[2].cast(), _mm512_extracti32x4_epi32::<2>(value));
        _mm_storeu_si128(at[3].cast(), _mm512_extracti32x4_epi32::<3>(value));
    }
}
