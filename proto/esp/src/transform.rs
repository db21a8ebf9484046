//! What is made of an algorithm and its keys.

use crate::Parameters;
use crate::algorithm::{Algorithm, Encryption, Integrity, Material, SALT, Unfit};
use crate::legacy::Legacy;
use cipher::{Key, Suite};
use core::fmt;
use std::sync::Arc;
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

/// An algorithm with its keys, for the associations that share them: the four of a phone have one
/// key (TS 33.203 §7.1).
#[derive(Clone, Debug)]
pub struct Keys(Arc<Transform>);

impl Keys {
    /// An algorithm with its keys; MD5 and 3DES only if they are allowed.
    ///
    /// # Errors
    /// [`Unfit::EncryptionKey`], [`Unfit::IntegrityKey`], [`Unfit::Legacy`].
    pub fn new(
        algorithm: Algorithm,
        material: Material<'_>,
        allows_legacy: bool,
    ) -> Result<Self, Unfit> {
        Ok(Self(Arc::new(Transform::new(algorithm, material, allows_legacy)?)))
    }

    /// Those of one association alone.
    pub(crate) fn of(parameters: &Parameters, material: Material<'_>) -> Result<Self, Unfit> {
        parameters.check()?;
        Self::new(parameters.algorithm, material, parameters.allows_legacy)
    }

    /// The same for another association.
    pub(crate) fn shared(&self, parameters: &Parameters) -> Result<Self, Unfit> {
        parameters.check()?;
        let algorithm = self.0.algorithm;
        if algorithm != parameters.algorithm {
            return Err(Unfit::EncryptionKey);
        }
        if algorithm.is_legacy() && !parameters.allows_legacy {
            return Err(Unfit::Legacy);
        }
        // Whoever shares a key has none of its own.
        if parameters.sole_key {
            return Err(Unfit::SharedKey);
        }
        Ok(self.clone())
    }

    #[inline]
    pub(crate) fn transform(&self) -> &Transform {
        &self.0
    }

    /// Octets on the heap: the part of one of those that share them.
    pub(crate) fn size(&self) -> usize {
        let counts = 2 * size_of::<usize>();
        (counts + size_of::<Transform>() + self.0.size()) / Arc::strong_count(&self.0)
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
