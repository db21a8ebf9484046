//! What each subscriber has under way and how fast he calls.
//!
//! Rows are made by the first call of a subscriber and taken back when he has no call and his
//! rate is rested: each new row looks at two old ones, so that nothing is ever swept at once.
//! When every row is in use, further subscribers are not limited (their calls still count in
//! realm and next hop).

use super::Limit;
use super::bucket::Bucket;
use hashbrown::HashMap;
use machine::Time;

/// Subscribers with a call or a used rate, of one shard.
pub const SUBSCRIBERS_MAX: usize = 1 << 20;
/// Old rows that each new one looks at.
const AGED_AT_ONCE: usize = 2;
/// No row.
pub const NOBODY: u32 = u32::MAX;

#[derive(Debug)]
struct Row {
    who: u64,
    bucket: Bucket,
    live: u32,
    is_used: bool,
}

/// The table.
#[derive(Debug, Default)]
pub struct Subscribers {
    rows: Vec<Row>,
    free: Vec<u32>,
    by_name: HashMap<u64, u32>,
    hand: usize,
}

impl Subscribers {
    /// Lets a call in; `Err(true)`: too many a second, `Err(false)`: too many at once.
    pub fn admit(&mut self, now: Time, who: u64, limit: &Limit) -> Result<u32, bool> {
        let Some(at) = self.row(now, who) else { return Ok(NOBODY) };
        let row = &mut self.rows[at as usize];
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
        if let Some(at) = at {
            self.rows[at as usize].live += 1;
        }
        at.unwrap_or(NOBODY)
    }

    /// A call of the subscriber in that row ended.
    pub fn release(&mut self, at: u32) {
        if let Some(row) = self.rows.get_mut(at as usize) {
            row.live = row.live.saturating_sub(1);
        }
    }

    /// Rows in use.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    fn row(&mut self, now: Time, who: u64) -> Option<u32> {
        if let Some(&at) = self.by_name.get(&who) {
            return Some(at);
        }
        self.age(now);
        let row = Row { who, bucket: Bucket::default(), live: 0, is_used: true };
        let at = match self.free.pop() {
            Some(at) => {
                self.rows[at as usize] = row;
                at
            }
            None if self.rows.len() < SUBSCRIBERS_MAX => {
                self.rows.push(row);
                (self.rows.len() - 1) as u32
            }
            None => return None,
        };
        self.by_name.insert(who, at);
        Some(at)
    }

    /// Takes back rows that say nothing any more.
    fn age(&mut self, now: Time) {
        for _ in 0..AGED_AT_ONCE.min(self.rows.len()) {
            self.hand = (self.hand + 1) % self.rows.len();
            let row = &mut self.rows[self.hand];
            if row.is_used && row.live == 0 && row.bucket.is_rested(now) {
                row.is_used = false;
                self.by_name.remove(&row.who);
                self.free.push(self.hand as u32);
            }
        }
    }
}
