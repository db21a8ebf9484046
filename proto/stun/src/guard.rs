//! What says whether a message is whole: HMACs under a key of both ends, and a checksum that tells
//! it from other protocols (RFC 8489 §14.5 to §14.7).
//!
//! Each covers the message up to its own attribute, with the length that the message has if it ends
//! behind that.

use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::Sha256;

/// Octets of an HMAC-SHA1.
pub(crate) const SHA1_BYTES: usize = 20;
/// Octets of an HMAC-SHA256.
pub(crate) const SHA256_BYTES: usize = 32;
/// Octets of one that is cut at least (RFC 8489 §14.6).
pub(crate) const SHA256_BYTES_MIN: usize = 16;
/// What the checksum is changed with: "STUN" in ASCII.
const FINGERPRINT: u32 = 0x5354_554E;

/// Which HMAC guards a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// MESSAGE-INTEGRITY: HMAC-SHA1.
    Sha1,
    /// MESSAGE-INTEGRITY-SHA256: HMAC-SHA256.
    Sha256,
}

/// What a guard covers: the octets before its attribute, and the length in the header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Covered<'a> {
    pub(crate) message: &'a [u8],
    pub(crate) length: u16,
}

impl Covered<'_> {
    /// Type, length, and what follows both.
    fn parts(&self) -> [&[u8]; 2] {
        let (kind, rest) = self.message.split_at(self.message.len().min(2));
        [kind, rest.get(2..).unwrap_or_default()]
    }
}

fn mac<M: Mac>(mut mac: M, covered: Covered<'_>) -> M {
    let [kind, rest] = covered.parts();
    mac.update(kind);
    mac.update(&covered.length.to_be_bytes());
    mac.update(rest);
    mac
}

fn sha1(key: &[u8], covered: Covered<'_>) -> Hmac<Sha1> {
    mac(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"), covered)
}

fn sha256(key: &[u8], covered: Covered<'_>) -> Hmac<Sha256> {
    mac(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"), covered)
}

/// Whether the HMAC is that of the octets; takes the same time for all of one length.
pub(crate) fn holds(algorithm: Algorithm, key: &[u8], covered: Covered<'_>, tag: &[u8]) -> bool {
    match algorithm {
        Algorithm::Sha1 => sha1(key, covered).verify_slice(tag).is_ok(),
        Algorithm::Sha256 => {
            let is_long_enough = tag.len() >= SHA256_BYTES_MIN && tag.len().is_multiple_of(4);
            is_long_enough && sha256(key, covered).verify_truncated_left(tag).is_ok()
        }
    }
}

/// Appends the HMAC of the octets.
pub(crate) fn write(algorithm: Algorithm, key: &[u8], covered: Covered<'_>) -> Vec<u8> {
    match algorithm {
        Algorithm::Sha1 => sha1(key, covered).finalize().into_bytes().to_vec(),
        Algorithm::Sha256 => sha256(key, covered).finalize().into_bytes().to_vec(),
    }
}

/// The checksum of the octets.
pub(crate) fn fingerprint(covered: Covered<'_>) -> u32 {
    let [kind, rest] = covered.parts();
    let length = covered.length.to_be_bytes();
    let crc = [kind, &length[..], rest].into_iter().fold(u32::MAX, crc32);
    !crc ^ FINGERPRINT
}

/// CRC-32 of ITU-T V.42 §8.1.1.6.2: what four octets come to, each by its distance from the end
/// (Kounavis and Berry, "Novel Table Lookup-Based Algorithms for High-Performance CRC Generation",
/// IEEE Transactions on Computers 57 (11), 2008).
const CRC32: [[u32; 256]; 4] = {
    let mut tables = [[0; 256]; 4];
    let mut octet = 0u32;
    while octet < 256 {
        let mut crc = octet;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
            bit += 1;
        }
        tables[0][octet as usize] = crc;
        octet += 1;
    }
    let mut distance = 1;
    while distance < 4 {
        octet = 0;
        while octet < 256 {
            let before = tables[distance - 1][octet as usize];
            let [low, ..] = before.to_le_bytes();
            tables[distance][octet as usize] = before >> 8 ^ tables[0][low as usize];
            octet += 1;
        }
        distance += 1;
    }
    tables
};

fn crc32(crc: u32, octets: &[u8]) -> u32 {
    let (words, rest) = octets.as_chunks::<4>();
    let of = |distance: usize, octet: u8| CRC32[distance][usize::from(octet)];
    let crc = words.iter().fold(crc, |crc, word| {
        let [a, b, c, d] = (crc ^ u32::from_le_bytes(*word)).to_le_bytes();
        of(3, a) ^ of(2, b) ^ of(1, c) ^ of(0, d)
    });
    rest.iter().fold(crc, |crc, octet| {
        let [low, ..] = crc.to_le_bytes();
        crc >> 8 ^ of(0, low ^ octet)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_v_42() {
        assert_eq!(!crc32(u32::MAX, b"123456789"), 0xCBF4_3926);
        // In any pieces.
        for cut in 0..9 {
            let (one, other) = b"123456789".split_at(cut);
            assert_eq!(!crc32(crc32(u32::MAX, one), other), 0xCBF4_3926);
        }
    }
}
