//! Refusals under overload that are not captured one by one: exact counts of each second, by
//! source and method, told to the service assurance when the second is over.

use crate::overload_control::OverloadControl;
use crate::wire::{Event, Field, Wire};
use machine::{Duration, Time};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore;
use runtime::Flow;

/// Sources and methods that one second tells apart; what comes on top is counted together.
const ROWS_MAX: usize = 256;
const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Row {
    flow: Flow,
    method: Vec<u8>,
    count: u64,
}

/// What was refused in this second.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    rows: Vec<Row>,
    /// The last source beyond the table, and how many requests there were of such.
    others: Option<(Flow, u64)>,
    /// When the second is over.
    end: Option<Time>,
}

impl Tally {
    /// Counts a refusal.
    pub(crate) fn count(&mut self, now: Time, flow: &Flow, method: &[u8]) {
        self.end.get_or_insert(now + SECOND);
        let is_same = |row: &&mut Row| {
            row.flow.remote.ip() == flow.remote.ip()
                && row.flow.port == flow.port
                && row.method == method
        };
        if let Some(row) = self.rows.iter_mut().find(is_same) {
            row.count += 1;
        } else if self.rows.len() < ROWS_MAX {
            self.rows.push(Row { flow: *flow, method: method.to_vec(), count: 1 });
        } else {
            let before = self.others.map_or(0, |(_, count)| count);
            self.others = Some((*flow, before + 1));
        }
    }

    /// When it is told.
    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.end
    }
}

impl OverloadControl {
    /// Tells the second that is over.
    pub(crate) fn tell_tally(&mut self, now: Time, random: &mut ChaCha12Rng, wire: &mut Wire) {
        if self.tally.end.is_none_or(|end| now < end) {
            return;
        }
        let tally = core::mem::take(&mut self.tally);
        let rows = tally.rows.iter().map(|row| (&row.flow, &row.method[..], row.count));
        let others =
            tally.others.iter().map(|(flow, count)| (flow, &b"of other sources"[..], *count));
        for (flow, method, count) in rows.chain(others) {
            let trail = random.next_u64();
            let source = flow.remote.ip().to_string();
            let fields = [
                ("status", Field::Number(503)),
                ("text", Field::Text(b"overload: messages wait too long")),
                ("method", Field::Text(method)),
                ("source", Field::Text(source.as_bytes())),
                ("count", Field::Number(count)),
            ];
            wire.event(now, flow, trail, Event::RequestsRejected, &fields);
        }
    }
}
