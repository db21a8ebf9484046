//! Authentication and key agreement: the standards' vectors, both ends, and Digest.
#![allow(missing_docs, reason = "a test program")]

mod digest;
mod ends;
mod vectors;

use aka::{Algorithm, Lengths, Milenage, Tuak};

/// The octets of hexadecimal digits.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(|pair| octet(pair).expect("hexadecimal digits")).collect()
}

fn array<const N: usize>(digits: &str) -> [u8; N] {
    hex(digits).try_into().expect("as many octets")
}

/// Octets by seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn octets<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next().to_be_bytes()[0])
    }
}

/// The algorithm of a subscription by seed, as its home network and its card have it.
fn twins(seed: u64) -> [Algorithm; 2] {
    let mut random = Random(seed);
    let (k, op, top) = (random.octets::<32>(), random.octets(), random.octets());
    let long = random.below(2) == 1;
    [(); 2].map(|()| match seed % 3 {
        0 => {
            let k = if long { &k[..] } else { &k[..16] };
            Algorithm::Tuak(Tuak::with_top(k, &top, Lengths::USUAL, 1).expect("a key"))
        }
        _ => Algorithm::Milenage(Milenage::with_op(k.first_chunk().expect("32 octets"), &op)),
    })
}
