//! Modes of a block cipher (SP 800-38A).

use super::blocks::{Blocks, GROUP};

/// Counter mode: encrypts and decrypts, from a counter on.
pub(crate) fn ctr(blocks: &Blocks, counter: u128, data: &mut [u8]) {
    let mut counter = counter;
    let mut stream = [[0; 16]; GROUP];
    for group in data.chunks_mut(16 * GROUP) {
        let stream = &mut stream[..group.len().div_ceil(16)];
        for block in stream.iter_mut() {
            *block = counter.to_be_bytes();
            counter = counter.wrapping_add(1);
        }
        blocks.encrypt(stream);
        for (octet, key) in group.iter_mut().zip(stream.as_flattened()) {
            *octet ^= key;
        }
    }
}

/// Cipher block chaining; what is no whole block stays as it is.
pub(crate) fn cbc_encrypt(blocks: &Blocks, iv: [u8; 16], data: &mut [u8]) {
    let mut chain = [iv];
    for block in data.as_chunks_mut::<16>().0 {
        xor(&mut chain[0], block);
        blocks.encrypt(&mut chain);
        *block = chain[0];
    }
}

/// The reverse of [`cbc_encrypt`].
pub(crate) fn cbc_decrypt(blocks: &Blocks, iv: [u8; 16], data: &mut [u8]) {
    let mut chain = iv;
    for block in data.as_chunks_mut::<16>().0 {
        let encrypted = *block;
        blocks.decrypt(std::slice::from_mut(block));
        xor(block, &chain);
        chain = encrypted;
    }
}

fn xor(into: &mut [u8; 16], from: &[u8; 16]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into ^= from;
    }
}
