//! What each subscriber has under way and how fast he calls.
//!
//! Rows are made by the first call of a subscriber and taken back when he has no call and his
//! rate is rested: each new row looks at two old ones, so that nothing is ever swept at once.
//! When every row is in use, a further subscriber shares a row with those of the same hash: he who
//! fills the table gets, beyond it, what [`SHARED`] subscribers get, and nobody goes unlimited.

use super::Limit;
use crate::realm::RealmId;
use hashbrown::HashMap;
use machine::Time;
use machine::bucket::Bucket;
use machine::narrow::slot;

/// Subscribers with a call or a used rate, of one shard.
pub const SUBSCRIBERS_MAX: usize = 1 << 20;
/// Old rows that each new one looks at.
const AGED_AT_ONCE: usize = 2;
/// Old rows that a new one looks at when the table is full.
const AGED_WHEN_FULL: usize = 32;
/// Rows for all who find none of their own.
pub const SHARED: usize = 4096;
/// Octets of a subscriber's URI that are kept when he is refused.
const URI_BYTES_MAX: usize = 256;
/// No row.
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

/// A subscriber who was refused.
#[derive(Debug)]
pub struct Refused {
    /// The realm that he calls from.
    pub realm: RealmId,
    /// His address of record, or the URI in From.
    pub uri: Vec<u8>,
    /// How often.
    pub count: u64,
}

/// The table.
#[derive(Debug, Default)]
pub struct Subscribers {
    rows: Vec<Row>,
    free: Vec<u32>,
    by_name: HashMap<u64, u32>,
    hand: usize,
    /// Their numbers follow those of the rows.
    shared: Vec<Row>,
}

impl Subscribers {
    /// Lets a call in; `Err(true)`: too many a second, `Err(false)`: too many at once.
    pub fn admit(&mut self, now: Time, who: u64, limit: &Limit) -> Result<u32, bool> {
        let at = self.row(now, who);
        let Some(row) = self.at(at) else { return Ok(NOBODY) };
        limit.check(now, &row.bucket, row.live)?;
        if let Some(rate) = limit.rate {
            row.bucket.take(now, rate);
        }
        row.live += 1;
        Ok(at)
    }

    /// Counts a call that stands already.
    pub fn count(&mut self, who: u64) -> u32 {
        let at = self.row(Time::ZERO, who);
        if let Some(row) = self.at(at) {
            row.live += 1;
        }
        at
    }

    /// A call of the subscriber was refused.
    pub fn refused(&mut self, who: u64, realm: RealmId, uri: &[u8]) {
        let Some(row) = self.by_name.get(&who).and_then(|&at| self.rows.get_mut(at as usize))
        else {
            return;
        };
        let uri = &uri[..uri.len().min(URI_BYTES_MAX)];
        let fresh = || Box::new(Refused { realm, uri: uri.to_vec(), count: 0 });
        row.refused.get_or_insert_with(fresh).count += 1;
    }

    /// Those who were refused, with the calls that they have.
    pub fn refusals(&self) -> impl Iterator<Item = (&Refused, u32)> {
        self.rows.iter().filter_map(|row| Some((row.refused.as_deref()?, row.live)))
    }

    /// A call of the subscriber in that row ended.
    pub fn release(&mut self, at: u32) {
        if let Some(row) = self.at(at) {
            row.live = row.live.saturating_sub(1);
        }
    }

    /// Rows in use.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The row with that number, of one subscriber or shared.
    fn at(&mut self, at: u32) -> Option<&mut Row> {
        let at = usize::try_from(at).ok()?;
        match at.checked_sub(SUBSCRIBERS_MAX) {
            None => self.rows.get_mut(at),
            Some(at) => self.shared.get_mut(at),
        }
    }

    /// The number of a subscriber's row.
    fn row(&mut self, now: Time, who: u64) -> u32 {
        if let Some(&at) = self.by_name.get(&who) {
            return at;
        }
        self.age(now, AGED_AT_ONCE);
        let is_full = self.free.is_empty() && self.rows.len() >= SUBSCRIBERS_MAX;
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
                return number(SUBSCRIBERS_MAX + slot(who, SHARED));
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
