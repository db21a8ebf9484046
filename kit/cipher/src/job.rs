//! Jobs: what is done to one packet, and where in the buffer.

use crate::{Encryption, Key};
use std::ops::Range;

/// Most octets that are authenticated without standing in the buffer.
pub const EXTRA_MAX: usize = 12;

/// Whether a packet is about to leave or has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Encrypts the data and writes the tag.
    Protect,
    /// Checks the tag and, only where it is right, decrypts the data.
    Unprotect,
}

/// What became of a job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub enum Outcome {
    /// It has not run yet.
    Waiting,
    /// It is done.
    Done,
    /// The tag is wrong. The data is as it came: encrypted.
    Forged,
    /// A range lies outside of the buffer or over another, or the data is no whole number of
    /// blocks in CBC. The buffer is as it was.
    Malformed,
}

/// Octets that are authenticated as if they stood behind the others: the rollover counter of SRTP
/// (RFC 3711 §4.2), the word of SRTCP (RFC 7714 §9.2), the high half of a sequence number of ESP
/// (RFC 4303 §2.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extra {
    octets: [u8; EXTRA_MAX],
    len: u8,
}

impl Extra {
    /// None.
    pub const NONE: Self = Self { octets: [0; EXTRA_MAX], len: 0 };

    /// These octets; `None` if they are more than [`EXTRA_MAX`].
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut extra = Self { len: u8::try_from(octets.len()).ok()?, ..Self::NONE };
        extra.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(extra)
    }

    /// The octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }
}

impl From<u32> for Extra {
    /// A number as it stands on the wire.
    fn from(number: u32) -> Self {
        let mut octets = [0; EXTRA_MAX];
        octets[..4].copy_from_slice(&number.to_be_bytes());
        Self { octets, len: 4 }
    }
}

/// What is done to one packet. All ranges count from `base`, and none may lie over another.
///
/// An HMAC is taken of `aad`, the encrypted `data` and `extra`, one behind the other; the AAD of
/// GCM is `aad` and `extra`.
#[derive(Clone, Debug)]
pub struct Job<'k> {
    /// The key, and by it the suite.
    pub key: &'k Key,
    /// Which way.
    pub op: Op,
    /// The first counter block of CTR, the IV of CBC, the IV of GCM in its first 12 octets.
    pub iv: [u8; 16],
    /// Where the packet begins in the buffer.
    pub base: usize,
    /// What is authenticated and stays readable.
    pub aad: Range<usize>,
    /// What is authenticated and encrypted.
    pub data: Range<usize>,
    /// Where the tag stands, [`Suite::tag_len`](crate::Suite::tag_len) octets.
    pub tag: usize,
    /// What is authenticated and stands nowhere.
    pub extra: Extra,
    /// What became of it.
    pub outcome: Outcome,
}

impl<'k> Job<'k> {
    /// A job without any data yet, at the beginning of the buffer.
    #[must_use]
    pub fn new(key: &'k Key, op: Op, iv: [u8; 16]) -> Self {
        Self {
            key,
            op,
            iv,
            base: 0,
            aad: 0..0,
            data: 0..0,
            tag: 0,
            extra: Extra::NONE,
            outcome: Outcome::Waiting,
        }
    }

    /// The ranges as they stand in a buffer of this length; `None` if they cannot stand there.
    pub(crate) fn places(&self, buffer: usize) -> Option<Places> {
        let whole_blocks = !matches!(self.key.suite().encryption(), Encryption::AesCbc(_))
            || self.data.len().is_multiple_of(16);
        let places = Places {
            aad: absolute(self.base, &self.aad)?,
            data: absolute(self.base, &self.data)?,
            tag: absolute(self.base, &(self.tag..self.tag.checked_add(self.tag_len())?))?,
        };
        let Places { aad, data, tag } = &places;
        let inside = [aad, data, tag].iter().all(|it| it.end <= buffer);
        let apart = apart(aad, data) && apart(data, tag) && apart(aad, tag);
        let short = data.len() as u64 <= DATA_MAX && aad.len() as u64 <= DATA_MAX;
        (inside && apart && short && whole_blocks).then_some(places)
    }

    pub(crate) fn tag_len(&self) -> usize {
        self.key.suite().tag_len()
    }
}

/// Far below what GCM allows of one packet (SP 800-38D §5.2.1.1), and above any packet: lengths in
/// bits stay below 2³².
const DATA_MAX: u64 = 1 << 28;

/// Where in the buffer the parts of a job stand.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub aad: Range<usize>,
    pub data: Range<usize>,
    pub tag: Range<usize>,
}

fn absolute(base: usize, range: &Range<usize>) -> Option<Range<usize>> {
    (range.start <= range.end).then_some(())?;
    Some(base.checked_add(range.start)?..base.checked_add(range.end)?)
}

fn apart(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.is_empty() || b.is_empty() || a.end <= b.start || b.end <= a.start
}
