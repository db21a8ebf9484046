//! The back end that runs everywhere: `aes`, `ghash`, `sha1` and `sha2` of RustCrypto, one packet
//! after the other. They look for AES-NI, PCLMULQDQ and SHA-NI by themselves.

mod blocks;
mod gcm;
mod hmac;
mod modes;

pub(crate) use blocks::Blocks;
pub(crate) use hmac::{Hmac, State};

use crate::job::Places;
use crate::{Encryption, Job, Op, Outcome, Suite, Unfit};
use gcm::Gcm;
use subtle::ConstantTimeEq;

/// Longest tag: SHA-512.
pub(crate) const TAG_MAX: usize = 64;

/// The context of a key.
pub(crate) struct Schedule {
    cipher: Cipher,
    hmac: Option<Hmac>,
}

/// What encrypts.
enum Cipher {
    Null,
    Ctr(Blocks),
    Cbc(Blocks),
    Gcm(Gcm),
}

impl Cipher {
    fn new(encryption: Encryption, key: &[u8]) -> Result<Self, Unfit> {
        Ok(match encryption {
            Encryption::Null => Self::Null,
            Encryption::AesCtr(length) => Self::Ctr(Blocks::new(length, key)?),
            Encryption::AesCbc(length) => Self::Cbc(Blocks::new(length, key)?),
            Encryption::AesGcm(length) => Self::Gcm(Gcm::new(Blocks::new(length, key)?)),
        })
    }

    /// Encrypts or decrypts; GCM's counter begins behind the block of the tag.
    fn apply(&self, op: Op, iv: &[u8; 16], data: &mut [u8]) {
        match (self, op) {
            (Self::Null, _) => {}
            (Self::Ctr(blocks), _) => modes::ctr(blocks, u128::from_be_bytes(*iv), data),
            (Self::Cbc(blocks), Op::Protect) => modes::cbc_encrypt(blocks, *iv, data),
            (Self::Cbc(blocks), Op::Unprotect) => modes::cbc_decrypt(blocks, *iv, data),
            (Self::Gcm(gcm), _) => gcm.apply(iv, data),
        }
    }
}

impl Schedule {
    pub fn new(suite: Suite, encryption: &[u8], integrity: &[u8]) -> Result<Self, Unfit> {
        let hmac = Hmac::new(suite.integrity(), integrity);
        Ok(Self { cipher: Cipher::new(suite.encryption(), encryption)?, hmac })
    }

    pub fn run(&self, buffer: &mut [u8], job: &Job<'_>, places: &Places) -> Outcome {
        let mut tag = [0; TAG_MAX];
        let tag = &mut tag[..places.tag.len()];
        match job.op {
            Op::Protect => {
                self.cipher.apply(Op::Protect, &job.iv, &mut buffer[places.data.clone()]);
                self.authenticate(buffer, job, places, tag);
                buffer[places.tag.clone()].copy_from_slice(tag);
            }
            Op::Unprotect => {
                self.authenticate(buffer, job, places, tag);
                if !bool::from(buffer[places.tag.clone()].ct_eq(tag)) {
                    return Outcome::Forged;
                }
                self.cipher.apply(Op::Unprotect, &job.iv, &mut buffer[places.data.clone()]);
            }
        }
        Outcome::Done
    }

    /// The tag of a packet whose data is encrypted.
    fn authenticate(&self, buffer: &[u8], job: &Job<'_>, places: &Places, tag: &mut [u8]) {
        let (aad, data) = (&buffer[places.aad.clone()], &buffer[places.data.clone()]);
        match (&self.cipher, &self.hmac) {
            (Cipher::Gcm(gcm), _) => gcm.tag(&job.iv, [aad, job.extra.octets()], data, tag),
            (_, Some(hmac)) => hmac.tag(&[aad, data, job.extra.octets()], tag),
            (_, None) => {}
        }
    }
}
