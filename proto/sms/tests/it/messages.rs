//! Messages by seed, and their texts.

use sms::Kind;
use sms::rp::{self, Message};

/// Numbers from a seed.
pub fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

pub fn tpdu(kind: Kind, seed: u64) -> Vec<u8> {
    let mut octets = Vec::new();
    kind.sample(&mut numbers(seed), &mut octets);
    octets
}

pub fn rp(kind: rp::Kind, seed: u64) -> Vec<u8> {
    let mut octets = Vec::new();
    kind.sample(&mut numbers(seed), &mut octets);
    octets
}

pub fn json(kind: Kind, octets: &[u8]) -> String {
    let mut text = String::new();
    kind.read(octets).unwrap().to_json(&mut text);
    text
}

pub fn rp_json(octets: &[u8]) -> String {
    let mut text = String::new();
    Message::read(octets).unwrap().to_json(&mut text);
    text
}

pub fn hex(octets: &[u8]) -> String {
    octets.iter().map(|it| format!("{it:02x}")).collect()
}

pub fn octets(hex: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}
