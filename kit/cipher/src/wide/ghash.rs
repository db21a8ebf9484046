//! GHASH (SP 800-38D §6.4) by VPCLMULQDQ, four blocks at once.
//!
//! Blocks are turned round and the key is multiplied by x: so it is the POLYVAL of RFC 8452
//! (appendix A), whose products need no shift. Each lane is a Horner scheme of its own with the
//! fourth power of the key; the last step multiplies the lanes by the fourth to the first power and
//! adds them. Zeros before the first block change nothing: the last block comes to stand in the
//! last lane.

use super::octets::{Line, block, four, load, load_all, load_behind, octets};
use std::arch::x86_64::*;
use zeroize::Zeroize;

/// Powers of a key.
pub(super) const POWERS: usize = 4;

/// x⁶³ + x⁶² + x⁵⁷: the upper half of the polynomial.
const POLYNOMIAL: u64 = 0xc200_0000_0000_0000;

/// Fourth, third, second and first power of the key `h`, a block that AES has made of zeros.
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq")]
pub(super) fn powers(h: __m128i, lines: &mut [Line]) {
    let h = u128::from_be_bytes(octets(h));
    let carry = (h >> 127) * (u128::from(POLYNOMIAL) << 64 | 1);
    let mut key = ((h << 1) ^ carry).to_le_bytes();
    let one = _mm512_zextsi128_si512(block(&key));
    key.zeroize();
    let mut power = one;
    for line in lines.iter_mut().take(POWERS).rev() {
        *line = octets(_mm512_castsi512_si128(power));
        let (low, high) = product(power, one);
        power = reduced(low, high);
    }
}

/// The product of each lane, 256 bits.
#[target_feature(enable = "avx512f,vpclmulqdq")]
#[inline]
fn product(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let low = _mm512_clmulepi64_epi128::<0x00>(a, b);
    let high = _mm512_clmulepi64_epi128::<0x11>(a, b);
    let middle = _mm512_xor_si512(
        _mm512_clmulepi64_epi128::<0x01>(a, b),
        _mm512_clmulepi64_epi128::<0x10>(a, b),
    );
    // The middle stands across both halves.
    let zero = _mm512_setzero_si512();
    let low = _mm512_xor_si512(low, _mm512_unpacklo_epi64(zero, middle));
    let high = _mm512_xor_si512(high, _mm512_unpackhi_epi64(middle, zero));
    (low, high)
}

/// A product of each lane modulo the polynomial, divided by x¹²⁸ (RFC 8452 §3).
#[target_feature(enable = "avx512f,vpclmulqdq")]
#[inline]
fn reduced(low: __m512i, high: __m512i) -> __m512i {
    let polynomial = _mm512_set1_epi64(POLYNOMIAL.cast_signed());
    let once = _mm512_xor_si512(
        _mm512_clmulepi64_epi128::<0x00>(low, polynomial),
        _mm512_shuffle_epi32::<0x4e>(low),
    );
    let twice = _mm512_clmulepi64_epi128::<0x00>(once, polynomial);
    // 0x96: exclusive or of three.
    _mm512_ternarylogic_epi64::<0x96>(high, _mm512_shuffle_epi32::<0x4e>(once), twice)
}

/// Turns the octets of each block round.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn turned(blocks: __m512i) -> __m512i {
    let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order))
}

/// What is hashed, under the powers of a key.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub powers: &'a [Line; POWERS],
    /// AAD in two pieces, the first of whole blocks if the second is not empty, and data. Each is
    /// filled with zeros to whole blocks.
    pub pieces: [&'a [u8]; 3],
}

impl Text<'_> {
    /// Blocks of each piece: texts of one shape can be hashed together.
    #[inline(always)]
    pub fn shape(&self) -> [usize; 3] {
        self.pieces.map(|it| it.len().div_ceil(16))
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn lengths(&self) -> __m128i {
        let [aad, more, data] = self.pieces.map(<[u8]>::len);
        let bits = |octets: usize| (octets as u64 * 8).swap_bytes().cast_signed();
        _mm_set_epi64x(bits(data), bits(aad + more))
    }
}

/// Hashes of texts of one shape under way. While one of them waits for its product the processor
/// goes on with the others.
struct Hashes<'a, const N: usize> {
    texts: &'a [Text<'a>; N],
    sums: [__m512i; N],
    /// The four blocks that are next, as far as they are there.
    next: [__m512i; N],
    /// The lane of the next block.
    lane: usize,
}

impl<const N: usize> Hashes<'_, N> {
    /// Takes in a piece, so many blocks of each text.
    #[target_feature(enable = "avx512f,avx512bw,bmi2,vpclmulqdq")]
    #[inline]
    fn update(&mut self, piece: usize, blocks: usize) {
        let (mut from, mut left) = (0, blocks);
        while left > 0 {
            let taken = left.min(4 - self.lane);
            for (next, text) in self.next.iter_mut().zip(self.texts) {
                let octets = text.pieces[piece].get(from..).unwrap_or_default();
                *next = match octets.first_chunk::<64>() {
                    Some(octets) if taken == 4 => load_all(octets),
                    _ => _mm512_or_si512(*next, load_behind(octets, 16 * self.lane)),
                };
            }
            self.lane += taken;
            left -= taken;
            from += 16 * taken;
            if self.lane == 4 {
                self.step();
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    #[inline]
    fn step(&mut self) {
        for ((sum, next), text) in self.sums.iter_mut().zip(&mut self.next).zip(self.texts) {
            let blocks = _mm512_xor_si512(*sum, turned(*next));
            let (low, high) = product(blocks, four(&text.powers[0]));
            *sum = reduced(low, high);
            *next = _mm512_setzero_si512();
        }
        self.lane = 0;
    }
}

/// One step of texts under way.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
#[inline]
fn steps<const N: usize>(texts: &[Text<'_>; N], sums: &mut [__m512i; N], next: &[__m512i; N]) {
    for ((sum, next), text) in sums.iter_mut().zip(next).zip(texts) {
        let blocks = _mm512_xor_si512(*sum, turned(*next));
        let (low, high) = product(blocks, four(&text.powers[0]));
        *sum = reduced(low, high);
    }
}

/// Texts of one block of AAD and so many of data, as packets of voice are: what is hashed of all
/// but the last three blocks, and those.
#[target_feature(enable = "avx512f,avx512bw,bmi2,vpclmulqdq")]
#[inline]
fn voice<const N: usize>(texts: &[Text<'_>; N], blocks: usize) -> ([__m512i; N], [__m512i; N]) {
    let zero = _mm512_setzero_si512();
    let (mut sums, mut next) = ([zero; N], [zero; N]);
    // Where the AAD stands, so that the lengths come to stand in the last lane, and how many blocks
    // of data stand behind it.
    let lane = (blocks + 2).wrapping_neg() % 4;
    let beside = (3 - lane).min(blocks);
    for (next, text) in next.iter_mut().zip(texts) {
        let [aad, _, data] = text.pieces;
        *next = load_behind(aad, 16 * lane);
        if beside > 0 {
            let data = data.get(..16 * beside).unwrap_or(data);
            *next = _mm512_or_si512(*next, load_behind(data, 16 * lane + 16));
        }
    }
    // Without the lengths fewer than four blocks are not through: else three are left at the end.
    let (mut from, mut left) = (16 * beside, blocks - beside);
    if lane + 1 + beside < 4 {
        return (sums, next);
    }
    loop {
        steps(texts, &mut sums, &next);
        for (next, text) in next.iter_mut().zip(texts) {
            let data = text.pieces[2].get(from..).unwrap_or_default();
            *next = match data.first_chunk::<64>() {
                Some(octets) if left > 3 => load_all(octets),
                _ => load(data),
            };
        }
        if left <= 3 {
            return (sums, next);
        }
        (from, left) = (from + 64, left - 4);
    }
}

/// The hashes of up to four texts, all of one shape: a lane each.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,bmi2,vpclmulqdq")]
pub(super) fn ghash<const N: usize>(texts: &[Text<'_>; N]) -> __m512i {
    const { assert!(N <= 4, "there are four lanes") };
    let zero = _mm512_setzero_si512();
    let shape = texts[0].shape();
    debug_assert!(texts.iter().all(|it| it.shape() == shape), "they are taken together");
    let (sums, last) = match shape {
        [1, 0, blocks] => voice(texts, blocks),
        _ => {
            // The block of lengths comes to stand in the last lane.
            let lane = (shape.iter().sum::<usize>() + 1).wrapping_neg() % 4;
            let mut hashes = Hashes { texts, sums: [zero; N], next: [zero; N], lane };
            for (piece, blocks) in shape.into_iter().enumerate() {
                hashes.update(piece, blocks);
            }
            (hashes.sums, hashes.next)
        }
    };
    let (mut lows, mut highs) = ([zero; N], [zero; N]);
    for (at, text) in texts.iter().enumerate() {
        let next = _mm512_inserti32x4::<3>(last[at], text.lengths());
        let blocks = _mm512_xor_si512(sums[at], turned(next));
        (lows[at], highs[at]) = product(blocks, load(text.powers.as_flattened()));
    }
    turned(reduced(folded(lows), folded(highs)))
}

/// The sums of the lanes of up to four, a lane each.
#[target_feature(enable = "avx512f")]
#[inline]
fn folded<const N: usize>(lanes: [__m512i; N]) -> __m512i {
    let zero = _mm512_setzero_si512();
    let of = |at: usize| lanes.get(at).copied().unwrap_or(zero);
    // 0x44: the lower halves of both, 0xee: the upper halves; 0x88 and 0xdd: even and odd lanes.
    let halves = |a, b| {
        let lower = _mm512_shuffle_i64x2::<0x44>(a, b);
        _mm512_xor_si512(lower, _mm512_shuffle_i64x2::<0xee>(a, b))
    };
    let (first, second) = (halves(of(0), of(1)), halves(of(2), of(3)));
    let even = _mm512_shuffle_i64x2::<0x88>(first, second);
    _mm512_xor_si512(even, _mm512_shuffle_i64x2::<0xdd>(first, second))
}
