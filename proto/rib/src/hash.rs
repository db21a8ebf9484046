//! Hashing with a seed, so that no stranger can make keys collide.

/// A seeded hash function for words and octets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hash([u64; 2]);

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

#[allow(clippy::cast_possible_truncation, reason = "both halves are taken")]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Hash {
    pub(crate) fn new(seed: u64) -> Self {
        let first = fold(seed ^ ODD, 0xD6E8_FEB8_6659_FD93);
        Self([first, fold(first, ODD) | 1])
    }

    #[inline]
    pub(crate) fn word(self, word: u64) -> u64 {
        fold(word ^ self.0[0], self.0[1] ^ ODD)
    }

    #[inline]
    pub(crate) fn words(self, a: u64, b: u64) -> u64 {
        fold(self.word(a) ^ b, self.0[1])
    }

    pub(crate) fn octets(self, octets: &[u8]) -> u64 {
        let mut hash = self.0[0] ^ octets.len() as u64;
        let mut chunks = octets.chunks_exact(16);
        for chunk in &mut chunks {
            let (a, b) = chunk.split_at(8);
            hash = fold(eight(a) ^ hash, eight(b) ^ self.0[1]);
        }
        let rest = chunks.remainder();
        let (a, b) = rest.split_at(rest.len().min(8));
        fold(eight(a) ^ hash, eight(b) ^ self.0[1] ^ ODD)
    }
}

/// Up to eight octets as a number.
fn eight(octets: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..octets.len()].copy_from_slice(octets);
    u64::from_le_bytes(word)
}
