//! What each user has under way and how fast it begins more.
//!
//! The first request of a user makes a row; the row is taken back when the user has nothing under
//! way and its rate is rested: each new row looks at two old ones, so that nothing is ever swept at
//! once. When every row is in use, a further user shares a row with those of the same hash: who
//! fills the table gets, beyond it, what [`SHARED`] users get, and nobody goes unlimited.

use crate::limit::{Limit, Violation};
use hashbrown::HashMap;
use machine::Time;
use machine::bucket::Bucket;
use machine::narrow::slot;

/// Users with something under way or a used rate, of one shard.
pub const USERS_MAX: usize = 1 << 20;
/// Old rows that each new one looks at.
const AGED_AT_ONCE: usize = 2;
/// Old rows that a new one looks at when the table is full.
const AGED_WHEN_FULL: usize = 32;
/// Rows for all who find none of their own.
pub const SHARED: usize = 4096;
/// Octets of a user's name that are kept when it is refused.
const NAME_BYTES_MAX: usize = 256;
/// The number of no row.
pub const NOBODY: u32 = u32::MAX;

#[derive(Debug, Default)]
struct Row {
    who: u64,
    bucket: Bucket,
    live: u32,
    is_used: bool,
    /// Who was refused, and how often; nothing for those who never were.
    refused: Option<Box<Refused>>,
}

/// A user who was refused.
#[derive(Debug)]
pub struct Refused {
    /// The group whose limit the user has, by the function's numbering.
    pub group: u16,
    /// The user's name.
    pub name: Vec<u8>,
    /// How often.
    pub count: u64,
}

/// The table of users, each known by a hash of its name.
#[derive(Debug, Default)]
pub struct Users {
    rows: Vec<Row>,
    free: Vec<u32>,
    by_name: HashMap<u64, u32>,
    hand: usize,
    /// Their numbers follow those of the rows.
    shared: Vec<Row>,
}

impl Users {
    /// Lets one in: the number of the row that counts it.
    ///
    /// # Errors
    /// What is exceeded.
    pub fn admit<A>(&mut self, now: Time, who: u64, limit: &Limit<A>) -> Result<u32, Violation> {
        let at = self.row(now, who);
        let Some(row) = self.at(at) else { return Ok(NOBODY) };
        limit.check(now, &row.bucket, row.live)?;
        if let Some(rate) = limit.rate {
            row.bucket.take(now, rate);
        }
        row.live += 1;
        Ok(at)
    }

    /// Counts one that began elsewhere; no limit refuses it.
    pub fn count(&mut self, who: u64) -> u32 {
        let at = self.row(Time::ZERO, who);
        if let Some(row) = self.at(at) {
            row.live += 1;
        }
        at
    }

    /// The user was refused.
    pub fn refused(&mut self, who: u64, group: u16, name: &[u8]) {
        let Some(row) = self.by_name.get(&who).and_then(|&at| self.rows.get_mut(at as usize))
        else {
            return;
        };
        let name = &name[..name.len().min(NAME_BYTES_MAX)];
        let fresh = || Box::new(Refused { group, name: name.to_vec(), count: 0 });
        row.refused.get_or_insert_with(fresh).count += 1;
    }

    /// Those who were refused, with what each has under way.
    pub fn refusals(&self) -> impl Iterator<Item = (&Refused, u32)> {
        self.rows.iter().filter_map(|row| Some((row.refused.as_deref()?, row.live)))
    }

    /// One of the user in that row ended.
    pub fn release(&mut self, at: u32) {
        if let Some(row) = self.at(at) {
            row.live = row.live.saturating_sub(1);
        }
    }

    /// Users with a row of their own.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether no user has a row of its own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The row with that number, of one user or shared.
    fn at(&mut self, at: u32) -> Option<&mut Row> {
        let at = usize::try_from(at).ok()?;
        match at.checked_sub(USERS_MAX) {
            None => self.rows.get_mut(at),
            Some(at) => self.shared.get_mut(at),
        }
    }

    /// The number of a user's row.
    fn row(&mut self, now: Time, who: u64) -> u32 {
        if let Some(&at) = self.by_name.get(&who) {
            return at;
        }
        self.age(now, AGED_AT_ONCE);
        let is_full = self.free.is_empty() && self.rows.len() >= USERS_MAX;
        if is_full {
            self.age(now, AGED_WHEN_FULL);
        }
        let row = Row { who, is_used: true, ..Row::default() };
        let at = match self.free.pop() {
            Some(at) => {
                self.rows[at as usize] = row;
                at
            }
            None if is_full => {
                self.shared.resize_with(SHARED, Row::default);
                return number(USERS_MAX + slot(who, SHARED));
            }
            None => {
                self.rows.push(row);
                number(self.rows.len() - 1)
            }
        };
        self.by_name.insert(who, at);
        at
    }

    /// Takes back rows that say nothing any more.
    fn age(&mut self, now: Time, count: usize) {
        for _ in 0..count.min(self.rows.len()) {
            self.hand = (self.hand + 1) % self.rows.len();
            let row = &mut self.rows[self.hand];
            if row.is_used && row.live == 0 && row.bucket.is_rested(now) {
                row.is_used = false;
                row.refused = None;
                self.by_name.remove(&row.who);
                self.free.push(number(self.hand));
            }
        }
    }
}

/// The number of a row; there are a million, and some.
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NOBODY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;
    use machine::bucket::Rate;

    const START: Time = Time::from_millis(1_000);

    fn at_most(number_max: u32) -> Limit<()> {
        Limit { rate: None, number_max: Some(number_max), answer: () }
    }

    #[test]
    fn a_user_has_its_own_limit_and_its_row_ages_out() {
        let limit = Limit { rate: Some(Rate::new(1.0, None)), ..at_most(1) };
        let mut users = Users::default();
        let row = users.admit(START, 1, &limit).unwrap();
        users.admit(START, 2, &limit).unwrap();
        let later = START + Duration::from_secs(5);
        assert_eq!(users.admit(later, 1, &limit), Err(Violation::Number));
        users.release(row);
        users.admit(later, 1, &limit).unwrap();
        assert_eq!(users.len(), 2);
        for who in 100..5_000u64 {
            let row = users.admit(START + Duration::from_secs(10 + who), who, &limit).unwrap();
            users.release(row);
        }
        assert!(users.len() < 8, "{} rows", users.len());
    }

    #[test]
    fn the_table_is_bounded_and_beyond_it_users_share_rows() {
        let (mut users, limit) = (Users::default(), at_most(1));
        let full = USERS_MAX as u64;
        for who in 0..full {
            users.admit(START, who, &limit).unwrap();
        }
        assert_eq!(users.len(), USERS_MAX);
        let shared = SHARED as u64;
        let beyond = full..full + shared;
        let rows: Vec<_> = beyond.map(|who| users.admit(START, who, &limit).unwrap()).collect();
        for who in full + shared..full + 2 * shared {
            assert_eq!(users.admit(START, who, &limit), Err(Violation::Number));
        }
        assert_eq!(users.len(), USERS_MAX);
        rows.into_iter().for_each(|row| users.release(row));
        users.admit(START, full + 1, &limit).unwrap();
    }

    #[test]
    fn refusals_are_kept_by_user_with_a_bounded_name() {
        let mut users = Users::default();
        users.admit(START, 1, &at_most(1)).unwrap();
        for _ in 0..2 {
            users.refused(1, 3, &[b'a'; 1_000]);
        }
        users.refused(9, 3, b"unknown");
        let rows: Vec<_> = users.refusals().collect();
        let [(refused, live)] = rows[..] else { panic!("one was refused") };
        assert_eq!((refused.group, refused.name.len(), refused.count, live), (3, 256, 2, 1));
    }
}
