//! HMAC (RFC 2104) over the compression functions of `sha1` and `sha2`.
//!
//! A key is kept as the two states behind its pads, 40 octets of SHA-1: a hasher of the crates
//! would take five times as many.

use crate::Integrity;
use sha1::digest::generic_array::GenericArray;
use zeroize::Zeroize;

/// Longest block: SHA-512.
const BLOCK_MAX: usize = 128;

/// A state of a hash (FIPS 180-4 §5.3).
#[derive(Clone, Copy)]
pub(crate) enum State {
    Sha1([u32; 5]),
    Sha256([u32; 8]),
    Sha512([u64; 8]),
}

impl State {
    /// The initial state.
    pub fn initial(integrity: Integrity) -> Option<Self> {
        Some(match integrity {
            Integrity::Null => return None,
            Integrity::HmacSha1 => Self::Sha1(SHA1),
            Integrity::HmacSha256 => Self::Sha256(SHA256),
            Integrity::HmacSha384 => Self::Sha512(SHA384),
            Integrity::HmacSha512 => Self::Sha512(SHA512),
        })
    }

    /// Octets of a block.
    pub fn block(&self) -> usize {
        match self {
            Self::Sha1(_) | Self::Sha256(_) => 64,
            Self::Sha512(_) => 128,
        }
    }

    /// Octets of the state.
    pub fn octets(&self) -> usize {
        match self {
            Self::Sha1(_) => 20,
            Self::Sha256(_) => 32,
            Self::Sha512(_) => 64,
        }
    }

    /// The state that [`State::write`] has written.
    fn read(integrity: Integrity, octets: &[u8]) -> Option<Self> {
        let mut state = Self::initial(integrity)?;
        match &mut state {
            Self::Sha1(it) => read(octets, it, u32::from_be_bytes),
            Self::Sha256(it) => read(octets, it, u32::from_be_bytes),
            Self::Sha512(it) => read(octets, it, u64::from_be_bytes),
        }
        Some(state)
    }

    /// Takes in whole blocks.
    fn compress(&mut self, octets: &[u8]) {
        for block in octets.chunks_exact(self.block()) {
            match self {
                Self::Sha1(it) => sha1::compress(it, &[*GenericArray::from_slice(block)]),
                Self::Sha256(it) => sha2::compress256(it, &[*GenericArray::from_slice(block)]),
                Self::Sha512(it) => sha2::compress512(it, &[*GenericArray::from_slice(block)]),
            }
        }
    }

    /// The state as octets; as many as `to` has room for.
    fn write(&self, to: &mut [u8]) {
        match self {
            Self::Sha1(it) => write(it.map(u32::to_be_bytes).as_flattened(), to),
            Self::Sha256(it) => write(it.map(u32::to_be_bytes).as_flattened(), to),
            Self::Sha512(it) => write(it.map(u64::to_be_bytes).as_flattened(), to),
        }
    }

    fn wipe(&mut self) {
        match self {
            Self::Sha1(it) => it.zeroize(),
            Self::Sha256(it) => it.zeroize(),
            Self::Sha512(it) => it.zeroize(),
        }
    }
}

fn read<const N: usize, W>(octets: &[u8], words: &mut [W], word: impl Fn([u8; N]) -> W) {
    for (to, from) in words.iter_mut().zip(octets.as_chunks().0) {
        *to = word(*from);
    }
}

fn write(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// A hash that is under way.
struct Hash {
    state: State,
    waiting: [u8; BLOCK_MAX],
    filled: usize,
    /// Octets that the state holds already, and those that wait.
    total: u64,
}

impl Hash {
    /// A hash whose state has taken in `before` octets.
    fn new(state: State, before: usize) -> Self {
        Self { state, waiting: [0; BLOCK_MAX], filled: 0, total: before as u64 }
    }

    fn update(&mut self, octets: &[u8]) {
        self.total += octets.len() as u64;
        let block = self.state.block();
        let mut octets = octets;
        if self.filled > 0 {
            let taken = octets.len().min(block - self.filled);
            let (now, later) = octets.split_at(taken);
            self.waiting[self.filled..self.filled + taken].copy_from_slice(now);
            self.filled += taken;
            octets = later;
            if self.filled < block {
                return;
            }
            self.state.compress(&self.waiting[..block]);
            self.filled = 0;
        }
        let (whole, rest) = octets.split_at(octets.len() / block * block);
        self.state.compress(whole);
        self.waiting[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    /// The state behind the padding (FIPS 180-4 §5.1).
    fn finish(mut self) -> State {
        let block = self.state.block();
        let length = block / 8;
        self.waiting[self.filled] = 0x80;
        self.waiting[self.filled + 1..block].fill(0);
        if self.filled + 1 + length > block {
            self.state.compress(&self.waiting[..block]);
            self.waiting[..block].fill(0);
        }
        self.waiting[block - 8..block].copy_from_slice(&(self.total * 8).to_be_bytes());
        self.state.compress(&self.waiting[..block]);
        self.state
    }
}

/// A key: the states behind its inner and its outer pad.
pub(crate) struct Hmac {
    inner: State,
    outer: State,
    digest: usize,
}

impl Hmac {
    /// The key of an HMAC; one that is longer than a block is hashed first (RFC 2104 §2).
    /// `None` if there is no HMAC.
    pub fn new(integrity: Integrity, key: &[u8]) -> Option<Self> {
        let initial = State::initial(integrity)?;
        let (block, digest) = (initial.block(), integrity.octets());
        let mut pad = [0; BLOCK_MAX];
        if key.len() > block {
            let mut hash = Hash::new(initial, 0);
            hash.update(key);
            hash.finish().write(&mut pad[..digest]);
        } else {
            pad[..key.len()].copy_from_slice(key);
        }
        let behind = |pad: &[u8; BLOCK_MAX], octet: u8| {
            let mut state = initial;
            let mut padded = pad.map(|it| it ^ octet);
            state.compress(&padded[..block]);
            padded.zeroize();
            state
        };
        let (inner, outer) = (behind(&pad, 0x36), behind(&pad, 0x5c));
        pad.zeroize();
        Some(Self { inner, outer, digest })
    }

    /// The two states, one behind the other.
    pub fn write(&self, to: &mut [u8]) {
        let (inner, outer) = to.split_at_mut(self.inner.octets().min(to.len()));
        self.inner.write(inner);
        self.outer.write(outer);
    }

    /// What [`Hmac::write`] has written.
    pub fn read(integrity: Integrity, octets: &[u8]) -> Option<Self> {
        let (inner, outer) = octets.split_at_checked(State::initial(integrity)?.octets())?;
        let (inner, outer) = (State::read(integrity, inner)?, State::read(integrity, outer)?);
        Some(Self { inner, outer, digest: integrity.octets() })
    }

    /// The code of the parts, one behind the other, cut to the length of `tag`.
    pub fn tag(&self, parts: &[&[u8]], tag: &mut [u8]) {
        let mut inner = Hash::new(self.inner, self.inner.block());
        for part in parts {
            inner.update(part);
        }
        let mut digest = [0; 64];
        inner.finish().write(&mut digest[..self.digest]);
        let mut outer = Hash::new(self.outer, self.outer.block());
        outer.update(&digest[..self.digest]);
        outer.finish().write(tag);
    }
}

impl Drop for Hmac {
    fn drop(&mut self) {
        self.inner.wipe();
        self.outer.wipe();
    }
}

const SHA1: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

const SHA256: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

const SHA384: [u64; 8] = [
    0xcbbb_9d5d_c105_9ed8,
    0x629a_292a_367c_d507,
    0x9159_015a_3070_dd17,
    0x152f_ecd8_f70e_5939,
    0x6733_2667_ffc0_0b31,
    0x8eb4_4a87_6858_1511,
    0xdb0c_2e0d_64f9_8fa7,
    0x47b5_481d_befa_4fa4,
];

const SHA512: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];
