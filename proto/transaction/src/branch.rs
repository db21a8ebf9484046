//! Branches that lead back to their transaction: `z9hG4bK`, then shard, index, generation and a
//! check value as 32 hexadecimal digits. The check is a keyed hash of the rest, so that nobody
//! who has not seen the request can answer it (RFC 3261 §8.1.1.7, §26.1).

use core::array::TryFromSliceError;
use core::fmt;
use core::ops::Deref;
use machine::KeyedHash;
use machine::narrow::{half, halves};

/// The magic cookie of RFC 3261 §8.1.1.7.
pub const COOKIE: &[u8] = b"z9hG4bK";
const DIGITS: usize = 32;
/// Length in bytes of a branch that Tandem makes.
pub const BRANCH_BYTES: usize = COOKIE.len() + DIGITS;
const CHECK_BITS: u32 = 48;

/// A client transaction: index and generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub(super) u32, pub(super) u32);

/// A server transaction: index and generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub(super) u32, pub(super) u32);

/// A branch parameter, ready to be written into a Via.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Branch([u8; BRANCH_BYTES]);

impl TryFrom<&[u8]> for Branch {
    type Error = TryFromSliceError;

    /// A branch as it was read; fails unless it is as long as those that Tandem makes.
    fn try_from(text: &[u8]) -> Result<Self, TryFromSliceError> {
        text.try_into().map(Self)
    }
}

impl Deref for Branch {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// Whether a branch is of RFC 3261, not of RFC 2543 (§17.2.3; the cookie is matched without
/// regard to case, as §7.3.1 asks of parameter values).
#[must_use]
pub fn has_cookie(branch: &[u8]) -> bool {
    branch.get(..COOKIE.len()).is_some_and(|head| head.eq_ignore_ascii_case(COOKIE))
}

/// The shard that made `branch`, if a Tandem made it. A pure function of the bytes: any shard
/// can steer a response to the one that waits for it.
#[must_use]
pub fn shard_of(branch: &[u8]) -> Option<u16> {
    decode(branch).and_then(|word| u16::try_from(word >> 112).ok())
}

/// Makes branches and reads them back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mint {
    shard: u16,
    hash: KeyedHash,
}

impl Mint {
    pub(super) const fn new(shard: u16, hash: KeyedHash) -> Self {
        Self { shard, hash }
    }

    fn check(&self, id: ClientId) -> u64 {
        let mut bytes = [0; 10];
        bytes[..4].copy_from_slice(&id.0.to_le_bytes());
        bytes[4..8].copy_from_slice(&id.1.to_le_bytes());
        bytes[8..].copy_from_slice(&self.shard.to_le_bytes());
        self.hash.hash(&bytes) >> (64 - CHECK_BITS)
    }

    pub(super) fn branch(&self, id: ClientId) -> Branch {
        let word = u128::from(self.shard) << 112
            | u128::from(id.0) << 80
            | u128::from(id.1) << CHECK_BITS
            | u128::from(self.check(id));
        let mut bytes = [0; BRANCH_BYTES];
        bytes[..COOKIE.len()].copy_from_slice(COOKIE);
        let octets = word.to_be_bytes();
        for (pair, octet) in bytes[COOKIE.len()..].chunks_exact_mut(2).zip(octets) {
            pair[0] = HEX[usize::from(octet >> 4)];
            pair[1] = HEX[usize::from(octet & 15)];
        }
        Branch(bytes)
    }

    /// The transaction that `branch` was made for; `None` when this shard did not make it.
    pub(super) fn read(&self, branch: &[u8]) -> Option<ClientId> {
        let word = decode(branch)?;
        let [low, _] = halves(word);
        let [id, generation] = [word >> 80, word >> CHECK_BITS].map(|it| half(halves(it)[0]));
        let id = ClientId(id, generation);
        let check = low & ((1 << CHECK_BITS) - 1);
        (word >> 112 == self.shard.into() && check == self.check(id)).then_some(id)
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Value of each hexadecimal digit; 255 for everything else.
const VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        #[allow(clippy::cast_possible_truncation, reason = "less than 16")]
        let value = digit as u8;
        values[HEX[digit] as usize] = value;
        values[HEX[digit].to_ascii_uppercase() as usize] = value;
        digit += 1;
    }
    values
};

fn decode(branch: &[u8]) -> Option<u128> {
    if branch.len() != BRANCH_BYTES || !has_cookie(branch) {
        return None;
    }
    let (mut word, mut bad) = (0u128, 0u8);
    for pair in branch[COOKIE.len()..].chunks_exact(2) {
        let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
        bad |= high | low;
        word = word << 8 | u128::from(high << 4 | low & 15);
    }
    (bad < 16).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mint(shard: u16) -> Mint {
        Mint::new(shard, KeyedHash::new(&[7; 16]))
    }

    proptest! {
        #[test]
        fn a_branch_leads_back_to_its_transaction(shard: u16, index: u32, generation: u32) {
            let id = ClientId(index, generation);
            let branch = mint(shard).branch(id);
            prop_assert_eq!(mint(shard).read(&branch), Some(id));
            prop_assert_eq!(shard_of(&branch), Some(shard));
            prop_assert_eq!(mint(shard).read(&branch.to_ascii_uppercase()), Some(id));
            prop_assert_eq!(mint(shard.wrapping_add(1)).read(&branch), None);
        }

        #[test]
        fn one_changed_digit_is_no_branch_of_ours(at in 7usize..39, by in 1u8..16) {
            let mut bytes = mint(1).branch(ClientId(3, 4)).to_vec();
            bytes[at] = HEX[usize::from((VALUES[usize::from(bytes[at])] + by) % 16)];
            prop_assert_eq!(mint(1).read(&bytes), None);
        }
    }

    #[test]
    fn branches_of_others_are_no_branches_of_ours() {
        for foreign in
            [&b"z9hG4bK776asdhds"[..], b"", b"1", b"z9hG4bK-zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"]
        {
            assert_eq!(mint(0).read(foreign), None);
        }
    }
}
