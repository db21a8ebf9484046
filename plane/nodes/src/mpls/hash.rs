//! The hash of a flow inside labels, for groups of hops, flow and entropy labels: what an LSR may
//! look at without knowing what the labels mean (RFC 6790 §1, RFC 4928).

use super::entry::{ENTROPY_INDICATOR, Entry, UNRESERVED};
use machine::narrow::{half, halves};

/// Entries that are looked at at most.
const ENTRIES_MAX: usize = 8;
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes a word into a hash.
#[inline]
const fn mix(hash: u64, word: u64) -> u64 {
    let [low, high] = halves((hash ^ word) as u128 * ODD as u128);
    low ^ high
}

#[inline]
const fn fold(hash: u64) -> u32 {
    half(hash ^ hash >> 32)
}

/// Of a packet from its first label. An entropy label decides alone.
#[must_use]
pub(crate) fn of_stack(octets: &[u8]) -> u32 {
    let mut hash = ODD;
    let (entries, _) = octets.as_chunks::<4>();
    for (at, entry) in entries.iter().enumerate().take(ENTRIES_MAX) {
        let entry = Entry(u32::from_be_bytes(*entry));
        if entry.label() == ENTROPY_INDICATOR {
            let next = entries.get(at + 1).map_or(0, |next| u32::from_be_bytes(*next) >> 12);
            return fold(mix(ODD, u64::from(next)));
        }
        if entry.label() >= UNRESERVED {
            hash = mix(hash, u64::from(entry.label()));
        }
        if entry.is_bottom() {
            return fold(payload(hash, &octets[(at + 1) * 4..]));
        }
    }
    fold(hash)
}

/// What looks like IP is taken for it; what begins with 0 (a control word) is not (RFC 4928).
fn payload(hash: u64, octets: &[u8]) -> u64 {
    match octets.first().map(|first| first >> 4) {
        Some(4) => ip4(hash, octets),
        Some(6) => ip6(hash, octets),
        _ => hash,
    }
}

/// Of an Ethernet frame without its service tags: addresses, and what is inside if that is IP.
#[inline]
#[must_use]
pub(crate) fn of_frame(octets: &[u8]) -> u32 {
    let Some(header) = octets.first_chunk::<14>() else { return 0 };
    let [a, b, c, d, e, f, g, h, i, j, k, l, kind @ ..] = *header;
    let hash = mix(ODD, u64::from_be_bytes([a, b, c, d, e, f, g, h]));
    let hash = mix(hash, u64::from(u32::from_be_bytes([i, j, k, l])));
    match u16::from_be_bytes(kind) {
        0x0800 => fold(ip4(hash, &octets[14..])),
        0x86dd => fold(ip6(hash, &octets[14..])),
        _ => fold(hash),
    }
}

#[inline]
fn word(octets: &[u8], at: usize) -> u64 {
    octets.get(at..at + 8).and_then(|octets| octets.try_into().ok()).map_or(0, u64::from_be_bytes)
}

fn ip4(hash: u64, octets: &[u8]) -> u64 {
    let hash = mix(hash, word(octets, 12));
    let (Some(first), Some(fragment)) = (octets.first(), octets.get(6..10)) else { return hash };
    let whole = u16::from_be_bytes([fragment[0], fragment[1]]) & 0x3fff == 0;
    match (whole, fragment[3]) {
        (true, protocol @ (6 | 17 | 132)) => {
            let ports = word(octets, usize::from(first & 15) * 4) >> 32;
            mix(hash, ports << 8 | u64::from(protocol))
        }
        (_, protocol) => mix(hash, u64::from(protocol)),
    }
}

fn ip6(hash: u64, octets: &[u8]) -> u64 {
    // The flow label stands for ports (RFC 6438).
    let flow = word(octets, 0) >> 32 & 0x000f_ffff;
    let hash =
        [8, 16, 24, 32].iter().fold(mix(hash, flow), |hash, at| mix(hash, word(octets, *at)));
    match octets.get(6) {
        Some(protocol @ (6 | 17 | 132)) => {
            mix(hash, word(octets, 40) >> 32 << 8 | u64::from(*protocol))
        }
        _ => hash,
    }
}
