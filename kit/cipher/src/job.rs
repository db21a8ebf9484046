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
    #[inline]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }

    /// The octets, an octet of 0x80 and zeros.
    #[inline]
    pub(crate) fn padded(&self) -> [u8; 16] {
        let mut octets = [0; 16];
        octets[..EXTRA_MAX].copy_from_slice(&self.octets);
        (u128::from_le_bytes(octets) | 0x80 << (8 * self.len)).to_le_bytes()
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
    // Inlined, they stay in registers: a call would leave them in memory in halves, and whoever
    // reads them as a whole would wait for it.
    #[inline(always)]
    pub(crate) fn places(&self, buffer: usize) -> Option<Places> {
        let (base, aad, data, tag) = (self.base, &self.aad, &self.data, self.tag);
        let in_order = aad.start <= aad.end
            && aad.end <= data.start
            && data.start <= data.end
            && data.end <= tag
            && tag <= DATA_MAX
            && buffer.checked_sub(tag + self.tag_len()).is_some_and(|most| base <= most);
        let whole_blocks = !matches!(self.key.suite().encryption(), Encryption::AesCbc(_))
            || data.len().is_multiple_of(16);
        (whole_blocks && (in_order || self.fits_out_of_order(buffer))).then(|| Places {
            aad: base + aad.start..base + aad.end,
            data: base + data.start..base + data.end,
            tag: base + tag..base + tag + self.tag_len(),
        })
    }

    /// Whether parts fit that do not stand in the order that those of packets have.
    #[cold]
    fn fits_out_of_order(&self, buffer: usize) -> bool {
        let end = self.tag.saturating_add(self.tag_len());
        let parts = [&self.aad, &self.data, &(self.tag..end)];
        let room = buffer.checked_sub(self.base);
        let fits = |it: &Range<usize>| {
            it.start <= it.end && it.end <= DATA_MAX && room.is_some_and(|room| it.end <= room)
        };
        parts.into_iter().all(fits)
            && apart(parts[0], parts[1])
            && apart(parts[1], parts[2])
            && apart(parts[0], parts[2])
    }

    #[inline]
    pub(crate) fn tag_len(&self) -> usize {
        self.key.suite().tag_len()
    }
}

/// Where a packet ends at most: far below what GCM allows (SP 800-38D §5.2.1.1), above any packet.
const DATA_MAX: usize = 1 << 28;

/// Where in the buffer the parts of a job stand.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub aad: Range<usize>,
    pub data: Range<usize>,
    pub tag: Range<usize>,
}

fn apart(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.is_empty() || b.is_empty() || a.end <= b.start || b.end <= a.start
}
