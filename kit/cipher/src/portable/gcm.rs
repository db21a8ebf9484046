//! Galois/counter mode (SP 800-38D) with IVs of 96 bits.

use super::blocks::Blocks;
use super::modes::ctr;
use ghash::GHash;
use ghash::universal_hash::{KeyInit, UniversalHash};
use zeroize::Zeroize;

pub(crate) struct Gcm {
    blocks: Blocks,
    ghash: GHash,
}

impl Gcm {
    pub fn new(blocks: Blocks) -> Self {
        let mut h = [[0; 16]];
        blocks.encrypt(&mut h);
        let ghash = GHash::new(&h[0].into());
        h.zeroize();
        Self { blocks, ghash }
    }

    /// Encrypts or decrypts data; its counter begins at two (§7.1).
    pub fn apply(&self, iv: &[u8; 16], data: &mut [u8]) {
        ctr(&self.blocks, first(iv) + 1, data);
    }

    /// The tag of encrypted data, cut to the length of `tag`. The parts of the AAD stand one
    /// behind the other.
    pub fn tag(&self, iv: &[u8; 16], aad: [&[u8]; 2], data: &[u8], tag: &mut [u8]) {
        let mut ghash = self.ghash.clone();
        let octets = aad[0].len() + aad[1].len();
        let mut tail = [0; 32];
        let (whole, rest) = aad[0].split_at(aad[0].len() & !15);
        ghash.update_padded(whole);
        tail[..rest.len()].copy_from_slice(rest);
        let end = rest.len() + aad[1].len();
        tail[rest.len()..end].copy_from_slice(aad[1]);
        ghash.update_padded(&tail[..end]);
        ghash.update_padded(data);
        let mut lengths = [0; 16];
        lengths[..8].copy_from_slice(&(octets as u64 * 8).to_be_bytes());
        lengths[8..].copy_from_slice(&(data.len() as u64 * 8).to_be_bytes());
        ghash.update(&[lengths.into()]);
        let mut mask = [first(iv).to_be_bytes()];
        self.blocks.encrypt(&mut mask);
        for ((to, hashed), mask) in tag.iter_mut().zip(ghash.finalize()).zip(mask[0]) {
            *to = hashed ^ mask;
        }
    }
}

/// The block J₀: the IV and a counter of one.
fn first(iv: &[u8; 16]) -> u128 {
    u128::from_be_bytes(*iv) >> 32 << 32 | 1
}
