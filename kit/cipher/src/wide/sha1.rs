//! SHA-1 (FIPS 180-4 §6.1.2) of sixteen messages at once: a lane of 32 bits for each. The steps of
//! a round wait for each other: with two such sets the processor takes those of the other
//! meanwhile.

use std::arch::x86_64::*;

/// Messages at once.
pub(super) const LANES: usize = 16;

/// The states of the messages: word by word, a lane a message.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct States(pub [[u32; LANES]; 5]);

/// The sixteen words of a block of each message, and room for the schedule of the next ones.
type Words = [__m512i; 16];
/// The same of each set.
type Of<const S: usize> = [__m512i; S];

/// Round `t` needs the word `t`, and its constant is added; from the sixteenth on a word takes the
/// place of one sixteen before.
#[target_feature(enable = "avx512f")]
#[inline]
fn word<const T: usize, const S: usize>(words: &mut [Words; S], k: __m512i) -> Of<S> {
    let mut all = [k; S];
    for (word, words) in all.iter_mut().zip(words) {
        if T >= 16 {
            let before = |back: usize| words[(T - back) % 16];
            let three = _mm512_ternarylogic_epi32::<XOR>(before(3), before(8), before(14));
            words[T % 16] = _mm512_rol_epi32::<1>(_mm512_xor_si512(three, before(16)));
        }
        *word = _mm512_add_epi32(words[T % 16], *word);
    }
    all
}

/// Tables of three inputs: what Ch, Parity and Maj are (§4.1.1).
const CHOOSE: i32 = 0xca;
const XOR: i32 = 0x96;
const MAJORITY: i32 = 0xe8;

/// A round: all but the order of the words, which turns by its names.
#[allow(clippy::needless_range_loop, reason = "one number for all of them")]
#[target_feature(enable = "avx512f")]
#[inline]
fn round<const F: i32, const S: usize>(word: Of<S>, state: [&Of<S>; 4], e: &mut Of<S>) {
    let [a, b, c, d] = state;
    for set in 0..S {
        let f = _mm512_ternarylogic_epi32::<F>(b[set], c[set], d[set]);
        let sum = _mm512_add_epi32(_mm512_add_epi32(e[set], word[set]), f);
        e[set] = _mm512_add_epi32(sum, _mm512_rol_epi32::<5>(a[set]));
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn turned<const S: usize>(b: Of<S>) -> Of<S> {
    let mut b = b;
    for b in &mut b {
        *b = _mm512_rol_epi32::<30>(*b);
    }
    b
}

macro_rules! rounds {
    ($f:ident, $k:ident, $w:ident, $t:expr, $a:ident, $b:ident, $c:ident, $d:ident, $e:ident) => {
        let added = word::<{ $t }, S>(&mut $w, $k);
        round::<$f, S>(added, [&$a, &$b, &$c, &$d], &mut $e);
        $b = turned($b);
    };
    (
        $f:ident, $k:ident, $w:ident, five $t:expr,
        $a:ident, $b:ident, $c:ident, $d:ident, $e:ident
    ) => {
        rounds!($f, $k, $w, $t, $a, $b, $c, $d, $e);
        rounds!($f, $k, $w, $t + 1, $e, $a, $b, $c, $d);
        rounds!($f, $k, $w, $t + 2, $d, $e, $a, $b, $c);
        rounds!($f, $k, $w, $t + 3, $c, $d, $e, $a, $b);
        rounds!($f, $k, $w, $t + 4, $b, $c, $d, $e, $a);
    };
    (
        $f:ident, $k:expr, $w:ident, twenty $t:expr,
        $a:ident, $b:ident, $c:ident, $d:ident, $e:ident
    ) => {
        let k = _mm512_set1_epi32($k);
        rounds!($f, k, $w, five $t, $a, $b, $c, $d, $e);
        rounds!($f, k, $w, five $t + 5, $a, $b, $c, $d, $e);
        rounds!($f, k, $w, five $t + 10, $a, $b, $c, $d, $e);
        rounds!($f, k, $w, five $t + 15, $a, $b, $c, $d, $e);
    };
}

/// Takes a block into each state of some sets.
///
/// # Safety
/// Each pointer leads to 64 octets.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn compress<const S: usize>(
    states: [&mut States; S],
    blocks: [&[*const u8; LANES]; S],
) {
    let mut words = [[_mm512_setzero_si512(); 16]; S];
    for (words, blocks) in words.iter_mut().zip(blocks) {
        // SAFETY: as the caller says.
        *words = unsafe { transposed(blocks) };
    }
    compress_words(states, words);
}

/// Takes a block into each state that holds a digest and the padding of an HMAC's outer hash.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn compress_digests(states: &mut States, digests: &States) {
    let mut words = [_mm512_setzero_si512(); 16];
    for (word, digests) in words.iter_mut().zip(&digests.0) {
        *word = load(digests);
    }
    words[5] = _mm512_set1_epi32(i32::MIN);
    words[15] = _mm512_set1_epi32((64 + 20) * 8);
    compress_words([states], [words]);
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(words: &[u32; LANES]) -> __m512i {
    // SAFETY: sixteen words are 64 octets.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn compress_words<const S: usize>(states: [&mut States; S], words: [Words; S]) {
    let mut w = words;
    let zero = [_mm512_setzero_si512(); S];
    let (mut a, mut b, mut c, mut d, mut e) = (zero, zero, zero, zero, zero);
    for (set, States(of)) in states.iter().enumerate() {
        (a[set], b[set], c[set]) = (load(&of[0]), load(&of[1]), load(&of[2]));
        (d[set], e[set]) = (load(&of[3]), load(&of[4]));
    }
    rounds!(CHOOSE, 0x5a82_7999, w, twenty 0, a, b, c, d, e);
    rounds!(XOR, 0x6ed9_eba1, w, twenty 20, a, b, c, d, e);
    rounds!(MAJORITY, 0x8f1b_bcdc_u32.cast_signed(), w, twenty 40, a, b, c, d, e);
    rounds!(XOR, 0xca62_c1d6_u32.cast_signed(), w, twenty 60, a, b, c, d, e);
    for (set, States(of)) in states.into_iter().enumerate() {
        for (words, added) in of.iter_mut().zip([a[set], b[set], c[set], d[set], e[set]]) {
            add(words, added);
        }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add(words: &mut [u32; LANES], added: __m512i) {
    let sum = _mm512_add_epi32(load(words), added);
    // SAFETY: sixteen words are 64 octets.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), sum) };
}

/// Word by word of sixteen blocks, from big-endian.
///
/// # Safety
/// Each pointer leads to 64 octets.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn transposed(blocks: &[*const u8; LANES]) -> Words {
    let order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    let order = _mm512_broadcast_i32x4(order);
    let mut w = [_mm512_setzero_si512(); 16];
    let mut r = w;
    for (row, block) in r.iter_mut().zip(blocks) {
        // SAFETY: as the caller says.
        *row = _mm512_shuffle_epi8(unsafe { _mm512_loadu_si512(block.cast()) }, order);
    }
    // Fours of lanes whose 128-bit columns are transposed in themselves …
    let mut t = w;
    for four in 0..4 {
        let at = 4 * four;
        let low = [unpack_low(r[at], r[at + 1]), unpack_low(r[at + 2], r[at + 3])];
        let high = [unpack_high(r[at], r[at + 1]), unpack_high(r[at + 2], r[at + 3])];
        t[at] = _mm512_unpacklo_epi64(low[0], low[1]);
        t[at + 1] = _mm512_unpackhi_epi64(low[0], low[1]);
        t[at + 2] = _mm512_unpacklo_epi64(high[0], high[1]);
        t[at + 3] = _mm512_unpackhi_epi64(high[0], high[1]);
    }
    // … and then the columns of the fours.
    for word in 0..4 {
        let [p, q, r, s] = [t[word], t[word + 4], t[word + 8], t[word + 12]];
        let even = [_mm512_shuffle_i32x4::<0x88>(p, q), _mm512_shuffle_i32x4::<0x88>(r, s)];
        let odd = [_mm512_shuffle_i32x4::<0xdd>(p, q), _mm512_shuffle_i32x4::<0xdd>(r, s)];
        w[word] = _mm512_shuffle_i32x4::<0x88>(even[0], even[1]);
        w[word + 4] = _mm512_shuffle_i32x4::<0x88>(odd[0], odd[1]);
        w[word + 8] = _mm512_shuffle_i32x4::<0xdd>(even[0], even[1]);
        w[word + 12] = _mm512_shuffle_i32x4::<0xdd>(odd[0], odd[1]);
    }
    w
}

#[target_feature(enable = "avx512f")]
#[inline]
fn unpack_low(a: __m512i, b: __m512i) -> __m512i {
    _mm512_unpacklo_epi32(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn unpack_high(a: __m512i, b: __m512i) -> __m512i {
    _mm512_unpackhi_epi32(a, b)
}
