//! Identities that Tandem gives to what it keeps, such as tags and Call-IDs: they carry shard, slot
//! and generation, so that they lead back without a search, and a check that proves them.
//!
//! ```text
//! 0123456789abcdef 0123456789abcdef 0
//! └─ check, 64 bit └ shard, slot,   └ fork (tags only)
//!                    generation, side — all but the shard under a mask made from the check
//! ```
//! The check comes from the owner's keyed generator, another one for each side, so that the two
//! legs of a call share nothing that an outsider could see.
//!
//! A [`Token`] has 128 bits and is text. Where a protocol has a field of 32 or 64 bits, a
//! [`Layout`] says how they are shared out.

mod number;

pub use number::{Layout, Number};

use crate::narrow::halves;
use crate::slots::Key;

/// Length of a Call-ID made here.
pub const TOKEN_BYTES: usize = 32;
/// Length of a tag made here: a token and the fork.
pub const TAG_BYTES: usize = TOKEN_BYTES + 1;
/// How many forks of one request are told apart: one hexadecimal digit.
pub const FORKS_MAX: u8 = 16;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The side of a call: A asked, B was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Side {
    /// The caller's leg.
    #[default]
    A,
    /// The callee's leg.
    B,
}

impl Side {
    /// The other leg.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// What a token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The secret part.
    pub check: u64,
    /// The shard that made it.
    pub shard: u16,
    /// The call's slot.
    pub index: u32,
    /// The low 15 bits of the slot's generation.
    pub generation: u16,
    /// The leg it stands on.
    pub side: Side,
}

impl Token {
    /// The token of one leg.
    #[must_use]
    pub const fn new(check: u64, shard: u16, key: Key, side: Side) -> Self {
        Self { check, shard, index: key.index, generation: key.generation as u16 & 0x7fff, side }
    }

    /// As text.
    #[must_use]
    #[inline]
    pub fn write(&self) -> [u8; TOKEN_BYTES] {
        let low = (self.index as u64) << 16
            | (self.generation as u64) << 1
            | matches!(self.side, Side::B) as u64;
        let masked = low ^ mask(self.check);
        let word = (self.shard as u64) << 48 | masked;
        let mut text = [0; TOKEN_BYTES];
        text[..16].copy_from_slice(&hex(self.check));
        text[16..].copy_from_slice(&hex(word));
        text
    }

    /// Reads a token, or the token in front of a fork digit; `None` for other people's names.
    #[must_use]
    #[inline]
    pub fn read(text: &[u8]) -> Option<Self> {
        if text.len() != TOKEN_BYTES && text.len() != TAG_BYTES {
            return None;
        }
        let (check, word) = (unhex(&text[..16])?, unhex(&text[16..TOKEN_BYTES])?);
        let low = (word & 0xffff_ffff_ffff) ^ mask(check);
        Some(Self {
            check,
            shard: (word >> 48) as u16,
            index: (low >> 16) as u32,
            generation: (low >> 1) as u16 & 0x7fff,
            side: if low & 1 == 1 { Side::B } else { Side::A },
        })
    }
}

/// 48 bits that depend on all of the check.
const fn mask(check: u64) -> u64 {
    mix(check) >> 16
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit depends on every bit.
#[must_use]
pub const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Sixteen octets at a time; the length is part of it. What `hash` begins as is secret wherever
/// somebody could gain by making two texts alike.
#[must_use]
pub fn hash_combine(hash: u64, text: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |hash: u64, [low, high]: [u64; 2]| {
        let product = u128::from(hash ^ low) * u128::from(hash.rotate_left(32) ^ high ^ ODD);
        let [low, high] = halves(product);
        low ^ high
    };
    let pair = |octets: &[u8; 16]| halves(u128::from_le_bytes(*octets));
    let (words, rest) = text.as_chunks::<16>();
    let hash = words.iter().fold(hash, |hash, word| fold(hash, pair(word)));
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    mix(fold(hash, pair(&last)) ^ text.len() as u64)
}

/// Sixteen hexadecimal digits.
#[must_use]
#[inline]
pub const fn hex(word: u64) -> [u8; 16] {
    let (high, low) = (digits(word >> 32), digits(word & 0xffff_ffff));
    ((high as u128) << 64 | low as u128).to_be_bytes()
}

/// One in each octet of a word.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Eight digits, all at once, of a number of 32 bits.
const fn digits(half: u64) -> u64 {
    let pairs = (half << 16 | half) & 0x0000_ffff_0000_ffff;
    let octets = (pairs << 8 | pairs) & 0x00ff_00ff_00ff_00ff;
    let values = (octets << 4 | octets) & (15 * EACH);
    let letters = (values + 6 * EACH) >> 4 & EACH;
    values + EACH * b'0' as u64 + letters * (b'a' - b'0' - 10) as u64
}

/// The number of 32 bits that eight digits say, all at once.
const fn number(text: u64) -> Option<u64> {
    let letters = text >> 6 & EACH;
    let values = (text & (15 * EACH)) + letters * 9;
    let pairs = (values >> 4 | values) & 0x00ff_00ff_00ff_00ff;
    let halves = (pairs >> 8 | pairs) & 0x0000_ffff_0000_ffff;
    let half = (halves >> 16 | halves) & 0xffff_ffff;
    // Only digits are what their value is written as, capitals as small letters.
    if digits(half) == text | letters << 5 { Some(half) } else { None }
}

/// The number in up to sixteen hexadecimal digits.
#[must_use]
#[inline]
pub fn unhex(text: &[u8]) -> Option<u64> {
    let mut padded = [b'0'; 16];
    padded[16usize.checked_sub(text.len())?..].copy_from_slice(text);
    let word = u128::from_be_bytes(padded);
    Some(number((word >> 64) as u64)? << 32 | number(word as u64)?)
}

/// The digit that tells forks apart.
#[must_use]
pub const fn fork_digit(fork: u8) -> u8 {
    HEX[(fork & 15) as usize]
}

/// The fork of a tag made here.
#[must_use]
pub fn fork_of(tag: &[u8]) -> Option<u8> {
    match tag.get(TOKEN_BYTES..) {
        Some(digit @ &[_]) => unhex(digit).and_then(|fork| u8::try_from(fork).ok()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_token_is_read_as_it_was_written(
            check: u64, shard: u16, index: u32, generation: u32, b: bool, fork in 0u8..16,
        ) {
            let side = if b { Side::B } else { Side::A };
            let token = Token::new(check, shard, Key { index, generation }, side);
            let text = token.write();
            prop_assert_eq!(Token::read(&text), Some(token));
            let mut tag = text.to_vec();
            tag.push(fork_digit(fork));
            prop_assert_eq!(Token::read(&tag), Some(token));
            prop_assert_eq!(fork_of(&tag), Some(fork));
        }

        #[test]
        fn a_number_is_written_and_read_as_hexadecimal_digits(word: u64, len in 0usize..=16) {
            let text = format!("{word:016x}");
            prop_assert_eq!(&hex(word)[..], text.as_bytes());
            prop_assert_eq!(unhex(text.to_uppercase().as_bytes()), Some(word));
            let shorter = u64::from_str_radix(&format!("0{}", &text[..len]), 16);
            prop_assert_eq!(unhex(&text.as_bytes()[..len]).ok_or(()), shorter.map_err(|_| ()));
        }
    }

    #[test]
    fn an_octet_that_is_no_hexadecimal_digit_is_refused_at_each_place() {
        for (at, octet) in (0..16).flat_map(|at| (0..=255).map(move |octet| (at, octet))) {
            let mut text = *b"0a9f0A9F0a9f0A9F";
            text[at] = octet;
            assert_eq!(unhex(&text).is_some(), octet.is_ascii_hexdigit(), "{octet:#x} at {at}");
        }
        assert_eq!(unhex(&[b'0'; 17]), None);
    }

    #[test]
    fn names_of_others_are_not_tokens() {
        for name in [&b"1"[..], b"", b"a84b4c76e66710@pc33.atlanta.example.com.xx"] {
            assert_eq!(Token::read(name), None);
        }
    }
}
