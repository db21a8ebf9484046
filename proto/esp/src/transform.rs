//! What is made of an algorithm and its keys.

use crate::algorithm::{Algorithm, Encryption, Integrity, Material, SALT, Unfit};
use crate::legacy::Legacy;
use cipher::{Key, Suite};
use core::fmt;
use zeroize::Zeroize;

/// What does the work.
pub(crate) enum Engine {
    /// In batches.
    Cipher(Key),
    /// Packet by packet.
    Legacy(Box<Legacy>),
}

/// An algorithm with its keys.
pub(crate) struct Transform {
    pub algorithm: Algorithm,
    pub engine: Engine,
    pub salt: [u8; SALT],
}

impl Transform {
    pub fn new(
        algorithm: Algorithm,
        material: Material<'_>,
        allows_legacy: bool,
    ) -> Result<Self, Unfit> {
        if material.encryption.len() != algorithm.encryption().key_octets() {
            return Err(Unfit::EncryptionKey);
        }
        if material.integrity.len() != algorithm.integrity().key_octets() {
            return Err(Unfit::IntegrityKey);
        }
        if algorithm.is_legacy() {
            if !allows_legacy {
                return Err(Unfit::Legacy);
            }
            let engine = Engine::Legacy(Box::new(Legacy::new(algorithm, material)?));
            return Ok(Self { algorithm, engine, salt: [0; SALT] });
        }
        let (encryption, integrity, salt) = match algorithm.integrity() {
            Integrity::Combined => salted(material.encryption)?,
            Integrity::AesGmac(_) => salted(material.integrity)?,
            _ => (material.encryption, material.integrity, [0; SALT]),
        };
        let key = Key::new(suite(algorithm)?, encryption, integrity);
        let engine = Engine::Cipher(key.map_err(|_| Unfit::EncryptionKey)?);
        Ok(Self { algorithm, engine, salt })
    }

    pub fn key(&self) -> Option<&Key> {
        match &self.engine {
            Engine::Cipher(key) => Some(key),
            Engine::Legacy(_) => None,
        }
    }

    /// Octets of memory on the heap.
    pub fn size(&self) -> usize {
        match &self.engine {
            Engine::Cipher(key) => key.size() - size_of::<Key>(),
            Engine::Legacy(legacy) => legacy.size(),
        }
    }
}

/// The key of GCM, no key of an HMAC, and the salt.
type Salted<'a> = (&'a [u8], &'a [u8], [u8; SALT]);

fn salted(octets: &[u8]) -> Result<Salted<'_>, Unfit> {
    let (key, salt) = octets.split_last_chunk().ok_or(Unfit::EncryptionKey)?;
    Ok((key, &[], *salt))
}

fn suite(algorithm: Algorithm) -> Result<Suite, Unfit> {
    let integrity = match algorithm.integrity() {
        Integrity::Combined | Integrity::AesGmac(_) => cipher::Integrity::Null,
        Integrity::HmacSha1_96 => cipher::Integrity::HmacSha1,
        Integrity::HmacSha256_128 => cipher::Integrity::HmacSha256,
        Integrity::HmacSha384_192 => cipher::Integrity::HmacSha384,
        Integrity::HmacSha512_256 => cipher::Integrity::HmacSha512,
        Integrity::HmacMd5_96 => return Err(Unfit::Legacy),
    };
    let encryption = match (algorithm.encryption(), algorithm.integrity()) {
        (_, Integrity::AesGmac(length)) | (Encryption::AesGcm16(length), _) => {
            cipher::Encryption::AesGcm(length)
        }
        (Encryption::AesCbc(length), _) => cipher::Encryption::AesCbc(length),
        (Encryption::Null, _) => cipher::Encryption::Null,
        (Encryption::TripleDesCbc, _) => return Err(Unfit::Legacy),
    };
    let icv = u8::try_from(algorithm.icv()).unwrap_or(u8::MAX);
    Suite::new(encryption, integrity, icv).map_err(|_| Unfit::Unauthenticated)
}

impl Drop for Transform {
    fn drop(&mut self) {
        self.salt.zeroize();
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transform").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}
