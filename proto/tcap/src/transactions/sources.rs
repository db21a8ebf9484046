//! How many dialogues each source has begun: none of them takes the room of all.

use core::hash::{Hash, Hasher};
use sccp::codec::Address;
use std::hash::DefaultHasher;

/// Places, a power of two; sources that share one share its room.
const PLACES: usize = 1 << 12;

/// Dialogues by place. A place is that of a source, by a hash that nobody outside can choose.
#[derive(Debug)]
pub struct Sources {
    counts: Vec<u32>,
}

impl Sources {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self { counts: vec![0; PLACES] }
    }

    /// The place of an address: of its point code, else of its title. Nobody without the secret
    /// knows who shares it.
    pub(super) fn of(secret: u64, address: &Address) -> u16 {
        match address.point_code {
            Some(point_code) => place(secret, point_code),
            None => place(secret, address.title),
        }
    }

    /// The place of a source that has a number.
    #[must_use]
    pub fn numbered(secret: u64, number: u64) -> u16 {
        place(secret, number)
    }

    /// Whether another one may begin there.
    #[must_use]
    pub fn has_room(&self, place: u16, most: u32) -> bool {
        self.counts.get(usize::from(place)).is_some_and(|count| *count < most)
    }

    /// One begins.
    pub fn add(&mut self, place: u16) {
        if let Some(count) = self.counts.get_mut(usize::from(place)) {
            *count += 1;
        }
    }

    /// One is over.
    pub fn remove(&mut self, place: u16) {
        if let Some(count) = self.counts.get_mut(usize::from(place)) {
            *count = count.saturating_sub(1);
        }
    }

    /// Those of `other` are over.
    pub fn remove_all(&mut self, other: &Self) {
        for (count, gone) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_sub(*gone);
        }
    }
}

impl Default for Sources {
    fn default() -> Self {
        Self::new()
    }
}

fn place(secret: u64, of: impl Hash) -> u16 {
    let mut hasher = DefaultHasher::new();
    secret.hash(&mut hasher);
    of.hash(&mut hasher);
    let place = hasher.finish() & (PLACES as u64 - 1);
    u16::try_from(place).unwrap_or_default()
}
