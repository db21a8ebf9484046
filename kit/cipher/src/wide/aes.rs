//! AES by VAES: sixteen blocks at once of one packet. While one packet's rounds wait for each
//! other the processor begins the next packet: packets need not be interleaved by hand.

use super::octets::{
    Line, block, four, load, load_all, load_behind, octets, store, store_all, store_behind,
};
use crate::KeyLength;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Most round keys.
const ROUND_KEYS: usize = 15;

/// The round keys of a key (FIPS 197 §5.2), made of it for each packet anew: ten steps cost less
/// than it takes to fetch ten lines of each of very many keys from memory.
pub(super) struct RoundKeys {
    lines: [MaybeUninit<Line>; ROUND_KEYS],
    /// How many there are, from the first one on.
    count: usize,
}

impl RoundKeys {
    /// None yet.
    pub const NONE: Self = Self { lines: [MaybeUninit::uninit(); ROUND_KEYS], count: 0 };

    /// Makes those of a key, which stands in lines of 16 octets; none without a length.
    #[target_feature(enable = "avx512f,avx512vl,vaes")]
    #[inline]
    pub fn set(&mut self, length: Option<KeyLength>, key: &[Line]) {
        self.count = 0;
        match (length, key) {
            (Some(KeyLength::Bits128), [key]) => self.expand_128(*key),
            (Some(KeyLength::Bits256), [low, high]) => self.expand_256([*low, *high]),
            (Some(length), key) => self.expand(length, key.as_flattened()),
            (None, _) => {}
        }
    }

    #[inline(always)]
    pub fn lines(&self) -> &[Line] {
        let lines = &self.lines[..self.count];
        // SAFETY: whoever sets `count` has written so many lines.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len()) }
    }

    #[target_feature(enable = "avx512f,avx512vl,vaes")]
    #[inline]
    fn expand_128(&mut self, key: Line) {
        let mut key = block(&key);
        // The number is set at the end: counted up in memory, steps would wait for it.
        self.lines[0].write(octets(key));
        for (line, constant) in self.lines[1..].iter_mut().zip(CONSTANTS) {
            key = step(key, key, LAST_TURNED, constant);
            line.write(octets(key));
        }
        self.count = 1 + CONSTANTS.len();
    }

    /// Those of several keys of 128 bits at once: the steps of one wait for each other, and
    /// meanwhile the processor takes those of the others.
    #[target_feature(enable = "avx512f,avx512vl,vaes")]
    #[inline]
    pub fn set_128<const N: usize>(all: &mut [Self; N], keys: [&Line; N]) {
        let mut states = keys.map(|key| block(key));
        for (of, state) in all.iter_mut().zip(&states) {
            of.lines[0].write(octets(*state));
            of.count = 1 + CONSTANTS.len();
        }
        for (at, constant) in CONSTANTS.into_iter().enumerate() {
            for (of, state) in all.iter_mut().zip(&mut states) {
                *state = step(*state, *state, LAST_TURNED, constant);
                of.lines[1 + at].write(octets(*state));
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512vl,vaes")]
    #[inline]
    fn expand_256(&mut self, key: [Line; 2]) {
        let [mut even, mut odd] = [block(&key[0]), block(&key[1])];
        let (pairs, last) = self.lines.as_chunks_mut::<2>();
        for (pair, constant) in pairs.iter_mut().zip(CONSTANTS) {
            pair[0].write(octets(even));
            pair[1].write(octets(odd));
            even = step(even, odd, LAST_TURNED, constant);
            odd = step(odd, even, LAST, 0);
        }
        last[0].write(octets(even));
        self.count = ROUND_KEYS;
    }

    /// As the standard writes it, word by word: for the one length whose keys are no whole lines.
    #[target_feature(enable = "avx512f,avx512vl,vaes")]
    #[inline(never)]
    fn expand(&mut self, length: KeyLength, key: &[u8]) {
        let words = length.octets() / 4;
        let mut schedule = [0u32; 4 * ROUND_KEYS];
        for (word, octets) in schedule[..words].iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_le_bytes(*octets);
        }
        for at in words..4 * (words + 7) {
            let mut word = schedule[at - 1];
            if at % words == 0 {
                let constant = CONSTANTS[at / words - 1].cast_unsigned();
                word = substitute(word).rotate_right(8) ^ constant;
            }
            schedule[at] = schedule[at - words] ^ word;
        }
        for (to, words) in self.lines.iter_mut().zip(schedule.as_chunks::<4>().0) {
            let mut line = [0; 16];
            line.copy_from_slice(words.map(u32::to_le_bytes).as_flattened());
            to.write(line);
        }
        self.count = words + 7;
    }
}

/// One step of the schedule: the words before, added up from the left, and the last word of the
/// key before behind the S-box. `order` puts that word into all columns, turned round where the
/// standard says so; all columns being alike, the rows' shift changes nothing.
#[target_feature(enable = "avx512f,avx512vl,vaes")]
#[inline]
fn step(before: __m128i, last: __m128i, order: i32, constant: i32) -> __m128i {
    let words = _mm_shuffle_epi8(last, _mm_set1_epi32(order));
    let substituted = _mm_aesenclast_si128(words, _mm_set1_epi32(constant));
    let sum = _mm_xor_si128(before, _mm_slli_si128::<4>(before));
    // 0x96: exclusive or of three.
    _mm_ternarylogic_epi64::<0x96>(sum, _mm_slli_si128::<8>(sum), substituted)
}

/// The last word, and the last word turned by an octet.
const LAST: i32 = 0x0f0e_0d0c;
const LAST_TURNED: i32 = 0x0c0f_0e0d;

const CONSTANTS: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// The S-box over the four octets of a word.
#[target_feature(enable = "avx512f,avx512vl,vaes")]
fn substitute(word: u32) -> u32 {
    let word = _mm_set1_epi32(word.cast_signed());
    _mm_cvtsi128_si32(_mm_aeskeygenassist_si128::<0>(word)).cast_unsigned()
}

/// Encrypts one block.
#[target_feature(enable = "avx512f,avx512vl,vaes")]
#[inline]
pub(super) fn encrypt(keys: &[Line], input: __m128i) -> __m128i {
    let [first, middle @ .., last] = keys else { return input };
    let mut state = _mm_xor_si128(input, block(first));
    for key in middle {
        state = _mm_aesenc_si128(state, block(key));
    }
    _mm_aesenclast_si128(state, block(last))
}

/// Encrypts N × 4 blocks.
#[target_feature(enable = "avx512f,vaes")]
#[inline]
fn encrypt_many<const N: usize>(keys: &[Line], mut state: [__m512i; N]) -> [__m512i; N] {
    let [first, middle @ .., last] = keys else { return state };
    let first = four(first);
    for state in &mut state {
        *state = _mm512_xor_si512(*state, first);
    }
    for key in middle {
        let key = four(key);
        for state in &mut state {
            *state = _mm512_aesenc_epi128(*state, key);
        }
    }
    let last = four(last);
    for state in &mut state {
        *state = _mm512_aesenclast_epi128(*state, last);
    }
    state
}

/// Turns the octets of the last word of each block round: there the counter is.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn turned(blocks: __m512i) -> __m512i {
    let order = _mm_set_epi8(12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order))
}

/// Counter mode over a packet, from a counter block on.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,vaes")]
#[inline]
pub(super) fn ctr(keys: &[Line], first: __m128i, data: &mut [u8]) {
    let low = _mm_extract_epi32::<3>(first).cast_unsigned().swap_bytes();
    if data.len() as u64 <= until_overflow(low) {
        return ctr_within(keys, first, data);
    }
    let mut counter = u128::from_be_bytes(octets(first));
    let mut data = data;
    while !data.is_empty() {
        let octets = until_overflow(counter as u32);
        let now = usize::try_from(octets).unwrap_or(usize::MAX).min(data.len());
        let (now, later) = data.split_at_mut(now);
        ctr_within(keys, block(&counter.to_be_bytes()), now);
        counter = counter.wrapping_add(u128::from(octets / 16));
        data = later;
    }
}

/// Octets of data until the last 32 bits of a counter overflow: the lanes count in those alone.
fn until_overflow(low: u32) -> u64 {
    ((1 << 32) - u64::from(low)) * 16
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,vaes")]
fn ctr_within(keys: &[Line], first: __m128i, data: &mut [u8]) {
    let lanes = _mm512_set_epi32(3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0);
    ctr_on(keys, _mm512_add_epi32(turned(_mm512_broadcast_i32x4(first)), lanes), data);
}

/// Counter mode from four counter blocks on, whose last words are turned round.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,vaes")]
#[inline]
fn ctr_on(keys: &[Line], counter: __m512i, data: &mut [u8]) {
    let (mut counter, mut data) = (counter, data);
    while data.len() > 256 {
        let (now, later) = data.split_at_mut(256);
        counter = groups::<4>(keys, counter, now);
        data = later;
    }
    match data.len().div_ceil(64) {
        0 => {}
        1 => _ = groups::<1>(keys, counter, data),
        2 => _ = groups::<2>(keys, counter, data),
        3 => _ = groups::<3>(keys, counter, data),
        _ => _ = groups::<4>(keys, counter, data),
    }
}

/// Counter mode over N × 64 octets, the last 64 of which may be fewer.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,vaes")]
#[inline]
fn groups<const N: usize>(keys: &[Line], counter: __m512i, data: &mut [u8]) -> __m512i {
    let mut counter = counter;
    let mut stream = [counter; N];
    for group in &mut stream {
        *group = turned(counter);
        counter = _mm512_add_epi32(counter, _mm512_set4_epi32(4, 0, 0, 0));
    }
    add(data, &encrypt_many(keys, stream));
    counter
}

/// Adds a key stream to as many octets.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn add(data: &mut [u8], stream: &[__m512i]) {
    let (whole, rest) = data.as_chunks_mut::<64>();
    for (group, stream) in whole.iter_mut().zip(stream) {
        store_all(group, _mm512_xor_si512(load_all(group), *stream));
    }
    if let (false, Some(stream)) = (rest.is_empty(), stream.last()) {
        store(rest, _mm512_xor_si512(load(rest), *stream));
    }
}

/// Counter mode of GCM, which has its tag's mask from the first counter block and its data's stream
/// from the next ones: the mask.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,vaes")]
pub(super) fn ctr_behind_mask(keys: &[Line], first: __m128i, data: &mut [u8]) -> __m128i {
    let lanes = _mm512_set_epi32(3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0);
    let counter = _mm512_add_epi32(turned(_mm512_broadcast_i32x4(first)), lanes);
    let (now, later) = data.split_at_mut(data.len().min(4 * 64 - 16));
    let mask = match (now.len() + 16).div_ceil(64) {
        1 => groups_behind_mask::<1>(keys, counter, now),
        2 => groups_behind_mask::<2>(keys, counter, now),
        3 => groups_behind_mask::<3>(keys, counter, now),
        _ => groups_behind_mask::<4>(keys, counter, now),
    };
    if !later.is_empty() {
        let counter = _mm512_add_epi32(counter, _mm512_set4_epi32(16, 0, 0, 0));
        ctr_on(keys, counter, later);
    }
    mask
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,vaes")]
#[inline]
fn groups_behind_mask<const N: usize>(keys: &[Line], counter: __m512i, data: &mut [u8]) -> __m128i {
    let mut counter = counter;
    let mut stream = [counter; N];
    for group in &mut stream {
        *group = turned(counter);
        counter = _mm512_add_epi32(counter, _mm512_set4_epi32(4, 0, 0, 0));
    }
    let stream = encrypt_many(keys, stream);
    let (head, rest) = data.split_at_mut(data.len().min(48));
    store_behind(head, 16, _mm512_xor_si512(load_behind(head, 16), stream[0]));
    add(rest, &stream[1..]);
    _mm512_castsi512_si128(stream[0])
}

/// Cipher block chaining of one packet: each block waits for the one before.
#[target_feature(enable = "avx512f,avx512vl,vaes")]
pub(super) fn cbc_encrypt(keys: &[Line], iv: __m128i, data: &mut [u8]) {
    let mut chain = iv;
    for octets_of_block in data.as_chunks_mut::<16>().0 {
        chain = encrypt(keys, _mm_xor_si128(chain, block(octets_of_block)));
        *octets_of_block = octets(chain);
    }
}

/// The reverse of [`cbc_encrypt`], sixteen blocks at once.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,vaes")]
pub(super) fn cbc_decrypt(keys: &[Line], iv: __m128i, data: &mut [u8]) {
    let mut chain = iv;
    for part in data.chunks_mut(256) {
        chain = match part.len().div_ceil(64) {
            1 => decrypt_groups::<1>(keys, chain, part),
            2 => decrypt_groups::<2>(keys, chain, part),
            3 => decrypt_groups::<3>(keys, chain, part),
            _ => decrypt_groups::<4>(keys, chain, part),
        };
    }
}

/// Decrypts N × 64 octets, the last 64 of which may be fewer; the last block as it came.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,vaes")]
#[inline]
fn decrypt_groups<const N: usize>(keys: &[Line], chain: __m128i, data: &mut [u8]) -> __m128i {
    let [first, middle @ .., last] = keys else { return chain };
    let end = data.last_chunk().map_or(chain, |it| block(it));
    let mut before = [_mm512_zextsi128_si512(chain); N];
    let mut state = before;
    for (at, group) in data.chunks(64).enumerate().take(N) {
        state[at] = _mm512_xor_si512(load(group), four(last));
        before[at] = match at {
            0 => _mm512_or_si512(before[0], load_behind(&group[..group.len().min(48)], 16)),
            _ => load(&data[64 * at - 16..]),
        };
    }
    for key in middle.iter().rev() {
        let key = _mm512_broadcast_i32x4(_mm_aesimc_si128(block(key)));
        for state in &mut state {
            *state = _mm512_aesdec_epi128(*state, key);
        }
    }
    for (at, group) in data.chunks_mut(64).enumerate().take(N) {
        let plain = _mm512_aesdeclast_epi128(state[at], four(first));
        store(group, _mm512_xor_si512(plain, before[at]));
    }
    end
}
