//! AES of single blocks (FIPS 197), for what is built of it: the key derivation of SRTP
//! (RFC 3711 §4.3), Milenage (TS 35.206).

use crate::portable::Blocks;
use crate::{KeyLength, Unfit};

/// A block cipher under one key. Its memory is overwritten when it is dropped.
pub struct Aes(Blocks);

impl Aes {
    /// The cipher under a key of 16, 24 or 32 octets.
    ///
    /// # Errors
    /// [`Unfit::KeyLength`].
    pub fn new(key: &[u8]) -> Result<Self, Unfit> {
        let length = KeyLength::of(key.len()).ok_or(Unfit::KeyLength)?;
        Blocks::new(length, key).map(Self)
    }

    /// Encrypts a block in place.
    pub fn encrypt(&self, block: &mut [u8; 16]) {
        self.0.encrypt(std::slice::from_mut(block));
    }

    /// Decrypts a block in place.
    pub fn decrypt(&self, block: &mut [u8; 16]) {
        self.0.decrypt(std::slice::from_mut(block));
    }

    /// Encrypts blocks in place, each for itself.
    pub fn encrypt_all(&self, blocks: &mut [[u8; 16]]) {
        self.0.encrypt(blocks);
    }
}

impl std::fmt::Debug for Aes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aes").finish_non_exhaustive()
    }
}
