//! Sources of which nothing is looked at for a time, each with the evidence.

use super::prefix::spread;
use hashbrown::HashTable;
use machine::{Duration, Time};
use std::net::IpAddr;

/// A full list is searched for sentences that are over at most this often.
const PURGE: Duration = Duration::from_secs(1);

/// Why a source is blacklisted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// It kept sending more than it may.
    Excess,
    /// It kept sending what cannot be read.
    Malformed,
}

impl Violation {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Excess => "it sent more than it may",
            Self::Malformed => "it sent what cannot be read",
        }
    }
}

/// A row of the blacklist.
#[derive(Debug, Clone)]
pub struct Sentence {
    /// Who; of an IPv6 address its whole /64.
    pub address: IpAddr,
    /// Why.
    pub violation: Violation,
    /// How many messages led to it.
    pub count: u32,
    /// When it was blacklisted.
    pub since: Time,
    /// When something came from it last.
    pub last: Time,
    /// Messages refused since then.
    pub refused: u64,
    /// When it ends.
    pub until: Time,
}

impl Sentence {
    pub(super) const fn new(
        address: IpAddr,
        violation: Violation,
        count: u32,
        since: Time,
        until: Time,
    ) -> Self {
        Self { address, violation, count, since, last: since, refused: 0, until }
    }
}

/// The blacklist.
#[derive(Debug)]
pub(super) struct Blacklist {
    rows: HashTable<(u64, Sentence)>,
    secret: [u64; 2],
    max: usize,
    purged: Time,
}

impl Blacklist {
    pub(super) fn new(max: u32, secret: [u64; 2]) -> Self {
        Self { rows: HashTable::new(), secret, max: max as usize, purged: Time::ZERO }
    }

    pub(super) const fn set_max(&mut self, max: u32) {
        self.max = max as usize;
    }

    /// Whether the source is blacklisted; a sentence that is over is forgotten.
    pub(super) fn holds(&mut self, place: u64, now: Time) -> bool {
        if self.rows.is_empty() {
            return false;
        }
        let hash = spread(place, self.secret);
        let Ok(mut found) = self.rows.find_entry(hash, |row| row.0 == place) else { return false };
        if found.get().1.until <= now {
            found.remove();
            return false;
        }
        let row = &mut found.get_mut().1;
        row.refused += 1;
        row.last = now;
        true
    }

    /// Adds a row where there is room, or can be made from sentences that are over; says whether.
    pub(super) fn add(&mut self, place: u64, sentence: Sentence) -> bool {
        let now = sentence.since;
        if self.rows.len() >= self.max && now.since(self.purged) >= PURGE {
            self.purged = now;
            self.rows.retain(|row| row.1.until > now);
        }
        if self.rows.len() >= self.max {
            return false;
        }
        let secret = self.secret;
        let hash = spread(place, secret);
        if self.rows.find(hash, |row| row.0 == place).is_none() {
            self.rows.insert_unique(hash, (place, sentence), |row| spread(row.0, secret));
        }
        true
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Sentence> {
        self.rows.iter().map(|row| &row.1)
    }

    pub(super) fn pardon(&mut self, place: Option<u64>) -> usize {
        let before = self.rows.len();
        self.rows.retain(|row| place.is_some_and(|place| row.0 != place));
        before - self.rows.len()
    }
}
