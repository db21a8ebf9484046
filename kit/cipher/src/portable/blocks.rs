//! AES by the crate `aes`.

use crate::{KeyLength, Unfit};
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};

/// Round keys; the crate overwrites them when they are dropped.
pub(crate) enum Blocks {
    Bits128(Aes128),
    Bits192(Aes192),
    Bits256(Aes256),
}

impl Blocks {
    pub fn new(length: KeyLength, key: &[u8]) -> Result<Self, Unfit> {
        let made = match length {
            KeyLength::Bits128 => Aes128::new_from_slice(key).map(Self::Bits128),
            KeyLength::Bits192 => Aes192::new_from_slice(key).map(Self::Bits192),
            KeyLength::Bits256 => Aes256::new_from_slice(key).map(Self::Bits256),
        };
        made.map_err(|_| Unfit::KeyLength)
    }

    /// Encrypts blocks, each for itself: several at once are faster.
    pub fn encrypt(&self, blocks: &mut [[u8; 16]]) {
        match blocks {
            [block] => {
                let block = GenericArray::from_mut_slice(block);
                match self {
                    Self::Bits128(aes) => aes.encrypt_block(block),
                    Self::Bits192(aes) => aes.encrypt_block(block),
                    Self::Bits256(aes) => aes.encrypt_block(block),
                }
            }
            many => {
                for group in many.chunks_mut(GROUP) {
                    let mut blocks = [GenericArray::default(); GROUP];
                    let blocks = &mut blocks[..group.len()];
                    for (to, from) in blocks.iter_mut().zip(group.iter()) {
                        to.copy_from_slice(from);
                    }
                    match self {
                        Self::Bits128(aes) => aes.encrypt_blocks(blocks),
                        Self::Bits192(aes) => aes.encrypt_blocks(blocks),
                        Self::Bits256(aes) => aes.encrypt_blocks(blocks),
                    }
                    for (to, from) in group.iter_mut().zip(blocks.iter()) {
                        to.copy_from_slice(from);
                    }
                }
            }
        }
    }

    /// Decrypts blocks, each for itself.
    pub fn decrypt(&self, blocks: &mut [[u8; 16]]) {
        for block in blocks {
            let block = GenericArray::from_mut_slice(block);
            match self {
                Self::Bits128(aes) => aes.decrypt_block(block),
                Self::Bits192(aes) => aes.decrypt_block(block),
                Self::Bits256(aes) => aes.decrypt_block(block),
            }
        }
    }
}

/// Blocks at once: as many as AES-NI of the crate takes.
pub(crate) const GROUP: usize = 8;
