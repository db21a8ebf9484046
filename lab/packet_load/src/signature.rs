//! What a packet says of itself, in its last octets: flow, number, time and a check.
//!
//! ```text
//!   Sixteen │ check 32 bits │ flow 32 │ number 32 │ time 32 │
//!   Twelve  │ check 8 · flow 24 │ number 32 │ time 32 │
//! ```
//! At the end, because what happens to headers on the way does not move it: it begins at the last
//! even octet that leaves room for it. The time is the low 32 bits of nanoseconds, so delays below
//! 4.29 s are told. Sixty-four octets of IPv4 and UDP have room for sixteen, seventy-eight of
//! IPv6 and UDP for twelve: of foreign packets the longer form takes one of four thousand million
//! for its own, the shorter one of 256.

use crate::random::mix;

/// How much a signature says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In twelve octets: 2^24 flows, a check of eight bits.
    Twelve,
    /// In sixteen octets: a check of 32 bits.
    Sixteen,
}

/// A signature that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Signature {
    pub(crate) flow: u32,
    pub(crate) sequence: u32,
    pub(crate) time: u32,
}

/// The key of one trial: what an earlier one sent is foreign to the next.
pub(crate) const fn key(seed: u64, trial: u64) -> u64 {
    mix(seed ^ mix(trial.wrapping_add(1)))
}

impl Form {
    /// Octets of it.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Twelve => 12,
            Self::Sixteen => 16,
        }
    }

    /// Where it begins in a packet of `length` octets.
    #[inline]
    pub(crate) const fn begins(self, length: usize) -> Option<usize> {
        match length.checked_sub(self.octets()) {
            Some(at) => Some(at & !1),
            None => None,
        }
    }

    /// Writes it at the beginning of `into`; the sum of its words for the checksum.
    #[inline]
    pub(crate) fn write(self, signature: Signature, key: u64, into: &mut [u8]) -> u64 {
        let Signature { flow, sequence, time } = signature;
        let check = check(signature, key);
        let words = match self {
            Self::Twelve => [check & 0xff00_0000 | flow, sequence, time, 0],
            Self::Sixteen => [check, flow, sequence, time],
        };
        let words = words.map(u32::to_be);
        match (self, into) {
            (Self::Sixteen, [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..]) => {
                [*a, *b, *c, *d] = words[0].to_ne_bytes();
                [*e, *f, *g, *h] = words[1].to_ne_bytes();
                [*i, *j, *k, *l] = words[2].to_ne_bytes();
                [*m, *n, *o, *p] = words[3].to_ne_bytes();
            }
            (Self::Twelve, [a, b, c, d, e, f, g, h, i, j, k, l, ..]) => {
                [*a, *b, *c, *d] = words[0].to_ne_bytes();
                [*e, *f, *g, *h] = words[1].to_ne_bytes();
                [*i, *j, *k, *l] = words[2].to_ne_bytes();
            }
            _ => debug_assert!(false, "a plan leaves room for the signature"),
        }
        words.iter().map(|word| u64::from(*word)).sum()
    }

    /// Reads one; `None` if it is not one of this key.
    #[inline]
    pub(crate) fn read(self, key: u64, from: &[u8]) -> Option<Signature> {
        let (first, rest) = from.split_first_chunk()?;
        let first = u32::from_be_bytes(*first);
        let (flow, rest, mask) = match self {
            Self::Twelve => (first & 0x00ff_ffff, rest, 0xff00_0000),
            Self::Sixteen => {
                let (flow, rest) = rest.split_first_chunk()?;
                (u32::from_be_bytes(*flow), rest, u32::MAX)
            }
        };
        let (sequence, rest) = rest.split_first_chunk()?;
        let (time, _) = rest.split_first_chunk()?;
        let sequence = u32::from_be_bytes(*sequence);
        let signature = Signature { flow, sequence, time: u32::from_be_bytes(*time) };
        ((check(signature, key) ^ first) & mask == 0).then_some(signature)
    }
}

#[inline]
fn check(signature: Signature, key: u64) -> u32 {
    let Signature { flow, sequence, time } = signature;
    let both = u64::from(flow) << 32 | u64::from(sequence);
    let mixed = (both ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let mixed = (mixed ^ u64::from(time)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_read_as_it_was_written_and_by_its_own_key_only() {
        let signature = Signature { flow: 0x00ab_cdef, sequence: u32::MAX, time: 77 };
        for form in [Form::Twelve, Form::Sixteen] {
            let mut octets = vec![0; form.octets()];
            let sum = form.write(signature, 5, &mut octets);
            assert_eq!(crate::sum::fold(sum), crate::sum::fold(crate::sum::of(&octets).into()));
            assert_eq!(form.read(5, &octets), Some(signature));
            let foreign = (6..1_006).filter(|key| form.read(*key, &octets).is_some()).count();
            assert!(foreign <= if form == Form::Twelve { 20 } else { 0 }, "{foreign}");
            octets.pop();
            assert_eq!(form.read(5, &octets), None);
        }
    }

    #[test]
    fn an_octet_that_changed_is_noticed() {
        let mut octets = [0; 16];
        Form::Sixteen.write(Signature { flow: 1, sequence: 2, time: 3 }, 9, &mut octets);
        for at in 0..16 {
            let mut broken = octets;
            broken[at] ^= 0x10;
            assert_eq!(Form::Sixteen.read(9, &broken), None, "octet {at}");
        }
    }
}
