//! What a sender must not forget of its past: keys that counters left behind, and how far streams
//! that nobody told of may have come.
//!
//! A peer may offer a key, another one, and the first one again. Where counters went on meanwhile
//! its indices lie ahead of all that it was used with; where they began again they do not, and the
//! key is refused for good.

use crate::key::{KeyEntry, MasterKey};
use crate::sender::{Rollover, Skip};

/// Keys that are remembered. After more of them counters begin again no more: the change is
/// refused ([`crate::Unusable::Used`]).
pub const PAST_KEYS_MAX: usize = 64;
/// Octets of a key that is remembered: a digest, of which nobody learns the key.
const DIGEST_OCTETS: usize = 8;
const HEAD_OCTETS: usize = 4;

/// What a sender must not forget, as plain data for a standby.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Past {
    /// Digests of keys that were used; the first `closed` of them before counters began again.
    keys: Vec<[u8; DIGEST_OCTETS]>,
    closed: u8,
    /// More were used than are remembered.
    is_full: bool,
    /// Indices that another one may have used of streams that nobody told of.
    ahead: u16,
}

fn digest(key: &MasterKey) -> [u8; DIGEST_OCTETS] {
    let whole = key.digest();
    core::array::from_fn(|at| whole[at])
}

impl Past {
    pub(crate) const fn ahead(&self) -> u16 {
        self.ahead
    }

    pub(crate) const fn with_ahead(mut self, ahead: u16) -> Self {
        self.ahead = ahead;
        self
    }

    /// Of one that took over from here and has told nothing yet.
    #[must_use]
    pub fn skipped(self, skip: Skip) -> Self {
        let ahead = self.ahead.max(skip.indices());
        self.with_ahead(ahead)
    }

    /// Whether these keys cannot be used any more.
    pub(crate) fn refuses(&self, keys: &[KeyEntry], rollover: Rollover) -> bool {
        let begins_again = rollover == Rollover::Reset;
        let known = if begins_again { self.keys.len() } else { usize::from(self.closed) };
        let known = &self.keys[..known];
        begins_again && self.is_full || keys.iter().any(|entry| known.contains(&digest(&entry.key)))
    }

    /// Keys give way to others.
    pub(crate) fn replace<'k>(
        &mut self,
        before: impl Iterator<Item = &'k KeyEntry>,
        rollover: Rollover,
    ) {
        for digest in before.map(|entry| digest(&entry.key)) {
            if self.keys.contains(&digest) {
                continue;
            }
            if self.keys.len() == PAST_KEYS_MAX {
                self.is_full = true;
                continue;
            }
            self.keys.push(digest);
        }
        if rollover == Rollover::Reset {
            self.closed = u8::try_from(self.keys.len()).unwrap_or(u8::MAX);
        }
    }

    /// What two senders of the same keys must not forget. What is more than can be remembered is
    /// not dropped: counters begin again no more.
    pub fn merge(&mut self, other: &Self) {
        let (closed, open) = self.keys.split_at(usize::from(self.closed));
        let (other_closed, other_open) = other.keys.split_at(usize::from(other.closed));
        let mut keys: Vec<[u8; DIGEST_OCTETS]> = Vec::with_capacity(self.keys.len());
        let mut is_full = self.is_full || other.is_full;
        let mut take = |keys: &mut Vec<_>, all: [&[[u8; DIGEST_OCTETS]]; 2]| {
            for digest in all.into_iter().flatten() {
                match keys.len() {
                    _ if keys.contains(digest) => {}
                    PAST_KEYS_MAX => is_full = true,
                    _ => keys.push(*digest),
                }
            }
            u8::try_from(keys.len()).unwrap_or(u8::MAX)
        };
        let closed = take(&mut keys, [closed, other_closed]);
        take(&mut keys, [open, other_open]);
        let ahead = self.ahead.max(other.ahead);
        *self = Self { keys, closed, is_full, ahead };
    }

    /// Octets on the heap.
    pub(crate) const fn heap(&self) -> usize {
        self.keys.capacity() * DIGEST_OCTETS
    }

    /// Appends it, for a standby; no key is in it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let [high, low] = self.ahead.to_be_bytes();
        out.extend_from_slice(&[self.closed, u8::from(self.is_full), high, low]);
        self.keys.iter().for_each(|digest| out.extend_from_slice(digest));
    }

    /// Of what [`Self::write`] wrote; `None` for anything else.
    #[must_use]
    pub fn read(octets: &[u8]) -> Option<Self> {
        let (head, digests) = octets.split_first_chunk::<HEAD_OCTETS>()?;
        let [closed, is_full, high, low] = *head;
        let (digests, rest) = digests.as_chunks::<DIGEST_OCTETS>();
        let is_one = rest.is_empty()
            && digests.len() <= PAST_KEYS_MAX
            && usize::from(closed) <= digests.len()
            && is_full <= 1;
        is_one.then(|| Self {
            keys: digests.to_vec(),
            closed,
            is_full: is_full == 1,
            ahead: u16::from_be_bytes([high, low]),
        })
    }
}
