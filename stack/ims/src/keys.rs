//! Keys of challenges on their way to the phone: taken out of the core's 401, they wait under its
//! nonce until the 401 leaves.

use aka::digest::SessionKeys;
use machine::identity::mix;
use machine::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Challenges on their way at most; the oldest makes way.
const WAITING_MAX: usize = 65_536;
/// Time on their way at most: a transaction's.
const WAITING: Duration = Duration::from_secs(32);

/// The keys.
#[derive(Debug)]
pub(crate) struct Keys {
    secret: u64,
    waiting: BTreeMap<u64, SessionKeys>,
    order: VecDeque<(Time, u64)>,
}

impl Keys {
    pub const fn new(secret: u64) -> Self {
        Self { secret, waiting: BTreeMap::new(), order: VecDeque::new() }
    }

    /// Keeps the keys of a challenge; says how many others were lost for it.
    pub fn put(&mut self, now: Time, nonce: &[u8], keys: SessionKeys) -> u64 {
        let number = hash(self.secret, nonce);
        let is_new = self.waiting.insert(number, keys).is_none();
        if is_new {
            self.order.push_back((now, number));
        }
        self.forget(now, WAITING_MAX)
    }

    /// Takes the keys of a challenge.
    pub fn take(&mut self, nonce: &[u8]) -> Option<SessionKeys> {
        self.waiting.remove(&hash(self.secret, nonce))
    }

    /// Forgets those that nobody has taken in time; says how many.
    pub fn tick(&mut self, now: Time) -> u64 {
        self.forget(now, WAITING_MAX)
    }

    /// When [`Keys::tick`] has something to do.
    pub fn deadline(&self) -> Option<Time> {
        self.order.front().map(|(since, _)| *since + WAITING)
    }

    fn forget(&mut self, now: Time, most: usize) -> u64 {
        let mut lost = 0;
        while let Some((since, number)) = self.order.front().copied() {
            if self.order.len() <= most && since + WAITING > now {
                break;
            }
            self.order.pop_front();
            lost += u64::from(self.waiting.remove(&number).is_some());
        }
        lost
    }
}

/// A keyed number for octets that a peer chose.
pub(crate) fn hash(secret: u64, octets: &[u8]) -> u64 {
    let mut chunks = octets.chunks_exact(8);
    let whole = chunks.by_ref().fold(mix(secret ^ octets.len() as u64), |hash, chunk| {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        mix(hash.rotate_left(23) ^ u64::from_le_bytes(word) ^ secret)
    });
    let mut word = [0; 8];
    let rest = chunks.remainder();
    word[..rest.len()].copy_from_slice(rest);
    mix(whole.rotate_left(23) ^ u64::from_le_bytes(word) ^ secret.rotate_left(32))
}
