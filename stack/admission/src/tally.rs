//! Refusals under overload that are not captured one by one: exact counts of each second, by
//! source and method, told to the service assurance when the second is over.

use machine::{Duration, Time};
use runtime::Flow;

/// Sources and methods that one second tells apart; what comes on top is counted together.
const ROWS_MAX: usize = 256;
const SECOND: Duration = Duration::from_secs(1);

/// Requests of a source that were refused.
#[derive(Debug)]
pub struct Tallied {
    /// The source.
    pub flow: Flow,
    /// Their method.
    pub method: Vec<u8>,
    /// How many they were.
    pub count: u64,
}

/// What was refused in this second.
#[derive(Debug, Default)]
pub struct Tally {
    rows: Vec<Tallied>,
    /// The last source beyond the table, and how many requests there were of such.
    others: Option<(Flow, u64)>,
    /// When the second is over.
    end: Option<Time>,
}

impl Tally {
    /// Counts a refusal.
    pub fn count(&mut self, now: Time, flow: &Flow, method: &[u8]) {
        self.end.get_or_insert(now + SECOND);
        let is_same = |row: &&mut Tallied| {
            row.flow.remote.ip() == flow.remote.ip()
                && row.flow.port == flow.port
                && row.method == method
        };
        if let Some(row) = self.rows.iter_mut().find(is_same) {
            row.count += 1;
        } else if self.rows.len() < ROWS_MAX {
            self.rows.push(Tallied { flow: *flow, method: method.to_vec(), count: 1 });
        } else {
            let before = self.others.map_or(0, |(_, count)| count);
            self.others = Some((*flow, before + 1));
        }
    }

    /// When it is told.
    #[must_use]
    pub const fn deadline(&self) -> Option<Time> {
        self.end
    }
}

impl Tally {
    /// The second that is over, if one is: its rows.
    pub fn take(&mut self, now: Time) -> Vec<Tallied> {
        if self.end.is_none_or(|end| now < end) {
            return Vec::new();
        }
        let Self { mut rows, others, .. } = core::mem::take(self);
        rows.extend(others.map(|(flow, count)| {
            let method = b"of other sources".to_vec();
            Tallied { flow, method, count }
        }));
        rows
    }
}
