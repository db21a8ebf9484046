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

/// Sixteen hexadecimal digits.
#[must_use]
#[inline]
pub fn hex(word: u64) -> [u8; 16] {
    let mut text = [0; 16];
    for (pair, octet) in text.chunks_exact_mut(2).zip(word.to_be_bytes()) {
        pair[0] = HEX[usize::from(octet >> 4)];
        pair[1] = HEX[usize::from(octet & 15)];
    }
    text
}

const fn value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => 255,
    }
}

const VALUES: [u8; 256] = {
    let mut values = [0; 256];
    let mut digit = 0;
    while digit < 256 {
        values[digit] = value(digit as u8);
        digit += 1;
    }
    values
};

/// The number in up to sixteen hexadecimal digits.
#[must_use]
#[inline]
pub fn unhex(text: &[u8]) -> Option<u64> {
    let (mut word, mut bad) = (0u64, 0u8);
    for &digit in text {
        let value = VALUES[usize::from(digit)];
        bad |= value;
        word = word << 4 | u64::from(value & 15);
    }
    (bad < 16).then_some(word)
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
        Some(&[digit]) => Some(value(digit)).filter(|&fork| fork < FORKS_MAX),
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
    }

    #[test]
    fn names_of_others_are_not_tokens() {
        for name in [&b"1"[..], b"", b"a84b4c76e66710@pc33.atlanta.example.com.xx"] {
            assert_eq!(Token::read(name), None);
        }
    }
}
