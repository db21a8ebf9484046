//! SipHash with a secret key (Aumasson and Bernstein 2012). 1-3, the variant of Rust's own maps,
//! for tables: what strangers send cannot be made to collide on purpose. 2-4 for numbers that
//! strangers see: they say nothing of the key, or of each other.

use crate::narrow::halves;

/// A keyed hash function; two machines with the same key agree.
#[derive(Debug, Clone, Copy)]
pub struct KeyedHash {
    k0: u64,
    k1: u64,
}

impl KeyedHash {
    /// With the first 16 bytes of a secret.
    #[must_use]
    pub fn new(seed: &[u8; 16]) -> Self {
        let [k0, k1] = halves(u128::from_le_bytes(*seed));
        Self { k0, k1 }
    }

    /// With a secret of 128 bits.
    #[must_use]
    pub fn of_secret(secret: u128) -> Self {
        Self::new(&secret.to_le_bytes())
    }

    /// Another secret, of a random one and what it is for: neither says anything of the other.
    #[must_use]
    pub fn derive(random: &[u8; 32], purpose: &[u8]) -> [u8; 16] {
        let [key, rest] = [0, 16].map(|at| core::array::from_fn(|n: usize| random[at + n]));
        let hash = Self::new(&key);
        let half = |which: u8| hash.number(&[&rest[..], &[which], purpose].concat());
        let whole = u128::from(half(0)) << 64 | u128::from(half(1));
        whole.to_le_bytes()
    }

    /// The hash of `bytes`, by SipHash-1-3.
    #[must_use]
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        self.sip::<1, 3>(bytes)
    }

    /// A number of `bytes` that nobody guesses, or learns the key from: SipHash-2-4.
    #[must_use]
    pub fn number(&self, bytes: &[u8]) -> u64 {
        self.sip::<2, 4>(bytes)
    }

    fn sip<const EACH: usize, const LAST: usize>(&self, bytes: &[u8]) -> u64 {
        let mut lanes = Lanes {
            a: self.k0 ^ 0x736f_6d65_7073_6575,
            b: self.k1 ^ 0x646f_7261_6e64_6f6d,
            c: self.k0 ^ 0x6c79_6765_6e65_7261,
            d: self.k1 ^ 0x7465_6462_7974_6573,
        };
        let (words, rest) = bytes.as_chunks::<8>();
        for &chunk in words {
            lanes.absorb::<EACH>(u64::from_le_bytes(chunk));
        }
        let rest = match bytes.last_chunk::<8>() {
            // The last eight octets, without those that the last whole word had.
            Some(_) if rest.is_empty() => 0,
            Some(&last) => u64::from_le_bytes(last) >> (64 - 8 * rest.len()),
            None => rest.iter().rev().fold(0, |word, &octet| word << 8 | u64::from(octet)),
        };
        lanes.absorb::<EACH>(rest | (bytes.len() as u64) << 56);
        lanes.finish::<LAST>()
    }
}

struct Lanes {
    a: u64,
    b: u64,
    c: u64,
    d: u64,
}

impl Lanes {
    #[inline]
    fn round(&mut self) {
        self.a = self.a.wrapping_add(self.b);
        self.b = self.b.rotate_left(13) ^ self.a;
        self.a = self.a.rotate_left(32);
        self.c = self.c.wrapping_add(self.d);
        self.d = self.d.rotate_left(16) ^ self.c;
        self.a = self.a.wrapping_add(self.d);
        self.d = self.d.rotate_left(21) ^ self.a;
        self.c = self.c.wrapping_add(self.b);
        self.b = self.b.rotate_left(17) ^ self.c;
        self.c = self.c.rotate_left(32);
    }

    #[inline]
    fn absorb<const ROUNDS: usize>(&mut self, word: u64) {
        self.d ^= word;
        (0..ROUNDS).for_each(|_| self.round());
        self.a ^= word;
    }

    fn finish<const ROUNDS: usize>(mut self) -> u64 {
        self.c ^= 0xff;
        (0..ROUNDS).for_each(|_| self.round());
        self.a ^ self.b ^ self.c ^ self.d
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_agrees_with_the_reference_vectors_of_siphash_1_3() {
        // Key 00..0f, message 00..n: the first rows of the published table for SipHash-1-3.
        let key: [u8; 16] = core::array::from_fn(|i| i as u8);
        let message: Vec<u8> = (0..64).collect();
        let hash = KeyedHash::new(&key);
        assert_eq!(hash.hash(&message[..0]), 0xabac_0158_050f_c4dc);
        assert_eq!(hash.hash(&message[..1]), 0xc9f4_9bf3_7d57_ca93);
    }

    #[test]
    fn numbers_agree_with_the_reference_vectors_of_siphash_2_4() {
        // The paper's own (appendix A), and the first of the published table.
        let key: [u8; 16] = core::array::from_fn(|i| i as u8);
        let message: Vec<u8> = (0..15).collect();
        let hash = KeyedHash::new(&key);
        assert_eq!(hash.number(&message), 0xa129_ca61_49be_45e5);
        assert_eq!(hash.number(&[]), 0x726f_db47_dd0e_0e31);
    }

    #[test]
    fn the_hash_agrees_with_the_standard_library_at_every_length() {
        use std::hash::Hasher as _;
        let message: Vec<u8> = (0..100).map(|i: u8| i.wrapping_mul(37)).collect();
        for length in 0..message.len() {
            let mut theirs = std::collections::hash_map::DefaultHasher::new();
            theirs.write(&message[..length]);
            assert_eq!(KeyedHash::new(&[0; 16]).hash(&message[..length]), theirs.finish());
        }
    }

    #[test]
    fn secrets_of_one_random_number_are_others_for_another_purpose() {
        let random: [u8; 32] = core::array::from_fn(|i| i as u8);
        let one = KeyedHash::derive(&random, b"one");
        assert_eq!(one, KeyedHash::derive(&random, b"one"));
        assert_ne!(one, KeyedHash::derive(&random, b"two"));
        let mut other = random;
        other[31] ^= 1;
        assert_ne!(one, KeyedHash::derive(&other, b"one"));
        assert_ne!(one[..8], one[8..]);
    }

    #[test]
    fn another_key_gives_another_hash() {
        let one = KeyedHash::new(&[1; 16]);
        let two = KeyedHash::new(&[2; 16]);
        assert_ne!(one.hash(b"z9hG4bK776asdhds"), two.hash(b"z9hG4bK776asdhds"));
    }
}
