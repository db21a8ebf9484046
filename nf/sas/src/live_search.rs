//! Searches of the trails in memory, a part of the table at a turn of the shard: messages that come
//! in meanwhile wait for a part, not for the whole.
//!
//! A trail that is closed before its slot is looked at, or before it is written into the answer, is
//! on its way to the store, which is read afterwards.

use crate::answer::{LiveRows, hex};
use crate::search;
use crate::table::{Slot, Table};
use core::cmp::Reverse;
use runtime::Ticket;
use std::collections::VecDeque;
use store::Query;

/// Slots that a turn looks at, and octets of trails that it writes.
const SLOTS_MAX: u32 = 4_096;
const OCTETS_MAX: usize = 256 << 10;

/// What comes first: the lower MOS where the worst come first, then the newer trail.
type Rank = (u16, Reverse<(u64, u64)>);

/// A search that has begun.
#[derive(Debug)]
pub(crate) struct LiveSearch {
    query: Query,
    is_worst_first: bool,
    /// The next slot to look at.
    next: u32,
    /// The best so far, in no order until the last slot was looked at; then the best is last.
    found: Vec<(Rank, Slot)>,
    rows: Vec<String>,
}

impl LiveSearch {
    pub(crate) const fn new(query: Query, is_worst_first: bool) -> Self {
        Self { query, is_worst_first, next: 0, found: Vec::new(), rows: Vec::new() }
    }

    /// Goes on for a turn; true when all is found.
    pub(crate) fn turn(&mut self, table: &mut Table) -> bool {
        let slots = table.slots();
        if self.next < slots {
            self.look(table, slots.min(self.next + SLOTS_MAX));
            if self.next == slots {
                self.keep_best();
                self.found.reverse();
            }
            // What is written has a turn of its own where there is much to look at.
            if slots > SLOTS_MAX {
                return false;
            }
        }
        let mut octets = 0;
        while octets < OCTETS_MAX {
            let Some((_, slot)) = self.found.pop() else { return true };
            let Some(live) = table.live(slot) else { continue };
            let row = hex(&live.trail.encode());
            octets += row.len();
            self.rows.push(row);
        }
        self.found.is_empty()
    }

    fn look(&mut self, table: &mut Table, end: u32) {
        for index in self.next..end {
            let slot = table.slot(index);
            let Some(live) = table.at(index) else { continue };
            let trail = &live.trail;
            if !self.query.admits(&trail.head()) || !self.query.admits_keys(&live.keys) {
                continue;
            }
            let worst = if self.is_worst_first { search::mos(trail) } else { 0 };
            self.found.push(((worst, Reverse((trail.started_us, trail.id))), slot));
            if self.found.len() > 2 * (self.query.limit + 1) {
                self.keep_best();
            }
        }
        self.next = end;
    }

    fn keep_best(&mut self) {
        self.found.sort_unstable_by_key(|(rank, _)| *rank);
        self.found.truncate(self.query.limit + 1);
    }

    /// What was found, and the place after which the store knows everything else.
    pub(crate) fn answer(self, end: store::Place) -> LiveRows {
        LiveRows::new(self.rows, end)
    }
}

/// The searches that have not ended, each with who waits for it; they take turns.
pub(crate) type Searches = VecDeque<(Ticket, LiveSearch)>;
