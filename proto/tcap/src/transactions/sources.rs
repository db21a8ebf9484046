//! How many dialogues each source has begun: none of them takes the room of all.

use core::hash::{Hash, Hasher};
use sccp::codec::Address;
use std::hash::DefaultHasher;

/// Places, a power of two; sources that share one share its room.
const PLACES: usize = 1 << 12;

/// Dialogues by place.
#[derive(Debug)]
pub(super) struct Sources {
    counts: Vec<u32>,
}

impl Sources {
    pub(super) fn new() -> Self {
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
    pub(super) fn numbered(secret: u64, number: u64) -> u16 {
        place(secret, number)
    }

    pub(super) fn has_room(&self, place: u16, most: u32) -> bool {
        self.counts[usize::from(place)] < most
    }

    pub(super) fn add(&mut self, place: u16) {
        self.counts[usize::from(place)] += 1;
    }

    pub(super) fn remove(&mut self, place: u16) {
        let count = &mut self.counts[usize::from(place)];
        *count = count.saturating_sub(1);
    }
}

fn place(secret: u64, of: impl Hash) -> u16 {
    let mut hasher = DefaultHasher::new();
    secret.hash(&mut hasher);
    of.hash(&mut hasher);
    let place = hasher.finish() & (PLACES as u64 - 1);
    u16::try_from(place).unwrap_or_default()
}
