//! MD5 and 3DES, packet by packet: TS 33.203 had them, and phones of old offer nothing else.

use crate::algorithm::{Algorithm, Encryption, Integrity, Material, Unfit};
use cipher::{Job, Key, Op, Outcome, Suite};
use core::ops::Range;
use des::TdesEde3;
use des::cipher::generic_array::GenericArray;
use des::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

enum Block {
    Null,
    /// AES-CBC, authenticated here.
    Aes(Key),
    TripleDes(Box<TdesEde3>),
}

/// A key of an algorithm that is off by default.
pub(crate) struct Legacy {
    block: Block,
    integrity: Integrity,
    key: Zeroizing<Vec<u8>>,
}

/// What is done to a packet, in its octets.
#[derive(Debug)]
pub(crate) struct Parts {
    pub op: Op,
    pub iv: [u8; 16],
    pub aad: Range<usize>,
    pub data: Range<usize>,
    pub tag: usize,
    pub extra: cipher::Extra,
}

impl Legacy {
    pub fn new(algorithm: Algorithm, material: Material<'_>) -> Result<Self, Unfit> {
        let block = match algorithm.encryption() {
            Encryption::Null => Block::Null,
            Encryption::AesCbc(length) => {
                let suite =
                    Suite::new(cipher::Encryption::AesCbc(length), cipher::Integrity::Null, 0);
                let suite = suite.map_err(|_| Unfit::Unauthenticated)?;
                let key = Key::new(suite, material.encryption, &[]);
                Block::Aes(key.map_err(|_| Unfit::EncryptionKey)?)
            }
            Encryption::TripleDesCbc => {
                let key = TdesEde3::new_from_slice(material.encryption);
                Block::TripleDes(Box::new(key.map_err(|_| Unfit::EncryptionKey)?))
            }
            Encryption::AesGcm16(_) => return Err(Unfit::Twice),
        };
        let key = Zeroizing::new(material.integrity.to_vec());
        Ok(Self { block, integrity: algorithm.integrity(), key })
    }

    /// Octets of memory on the heap.
    pub fn size(&self) -> usize {
        let des = if matches!(self.block, Block::TripleDes(_)) { size_of::<TdesEde3>() } else { 0 };
        size_of::<Self>() + des + self.key.len()
    }

    pub fn run(&self, packet: &mut [u8], parts: &Parts, icv: usize) -> Outcome {
        let mut code = [0; 64];
        let code = &mut code[..icv];
        if parts.op == Op::Protect {
            self.apply(packet, parts);
            self.authenticate(packet, parts, code);
            packet[parts.tag..parts.tag + icv].copy_from_slice(code);
            return Outcome::Done;
        }
        self.authenticate(packet, parts, code);
        if !bool::from(packet[parts.tag..parts.tag + icv].ct_eq(code)) {
            return Outcome::Forged;
        }
        self.apply(packet, parts);
        Outcome::Done
    }

    fn apply(&self, packet: &mut [u8], parts: &Parts) {
        match &self.block {
            Block::Null => {}
            Block::Aes(key) => {
                let mut job = Job::new(key, parts.op, parts.iv);
                (job.data, job.tag) = (parts.data.clone(), parts.data.end);
                let outcome = cipher::run_one(packet, &mut job);
                debug_assert_eq!(outcome, Outcome::Done, "whole blocks are asked for before");
            }
            Block::TripleDes(des) => cbc(des, parts.op, &parts.iv, &mut packet[parts.data.clone()]),
        }
    }

    fn authenticate(&self, packet: &[u8], parts: &Parts, code: &mut [u8]) {
        let texts = [&packet[parts.aad.clone()], &packet[parts.data.clone()], parts.extra.octets()];
        match self.integrity {
            Integrity::HmacMd5_96 => authenticate::<Hmac<Md5>>(&self.key, texts, code),
            Integrity::HmacSha1_96 => authenticate::<Hmac<Sha1>>(&self.key, texts, code),
            Integrity::HmacSha256_128 => authenticate::<Hmac<Sha256>>(&self.key, texts, code),
            Integrity::HmacSha384_192 => authenticate::<Hmac<Sha384>>(&self.key, texts, code),
            Integrity::HmacSha512_256 => authenticate::<Hmac<Sha512>>(&self.key, texts, code),
            // `Algorithm::new` lets none of these come with what is here.
            Integrity::Combined | Integrity::AesGmac(_) => {}
        }
    }
}

fn authenticate<M: Mac + hmac::digest::KeyInit>(key: &[u8], texts: [&[u8]; 3], code: &mut [u8]) {
    let mut mac = <M as Mac>::new_from_slice(key).expect("an HMAC takes any key");
    texts.iter().for_each(|text| mac.update(text));
    for (to, from) in code.iter_mut().zip(mac.finalize().into_bytes()) {
        *to = from;
    }
}

fn cbc(des: &TdesEde3, op: Op, iv: &[u8; 16], data: &mut [u8]) {
    let mut chain: [u8; 8] = *iv.first_chunk().expect("it has sixteen");
    for block in data.as_chunks_mut::<8>().0 {
        let before = *block;
        if op == Op::Protect {
            xor(block, &chain);
            des.encrypt_block(GenericArray::from_mut_slice(block));
            chain = *block;
        } else {
            des.decrypt_block(GenericArray::from_mut_slice(block));
            xor(block, &chain);
            chain = before;
        }
    }
}

fn xor(into: &mut [u8; 8], from: &[u8; 8]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into ^= from;
    }
}
