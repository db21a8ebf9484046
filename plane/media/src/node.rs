//! The nodes: `media4` and `media6` on the way of packets that came in, and `media-send` for what
//! is to leave from a flow's place.

use crate::arrival::{Arrival, By, Kind, four, six};
use crate::batch::{Batch, Classes, Outcome};
use crate::cell::CELL_LINES;
use crate::departure::CAME_BACK;
use crate::lines::ask_lines;
use crate::reason::{NO_FLOW, REASONS};
use crate::table::{Ranges, Table};
use graph::{Context, Node, Pool, Row, Slot, VECTOR_MAX};
use nodes::program::hand_up;
use std::sync::Arc;
use table::epoch::Published;

/// The node of IPv4 packets.
pub const MEDIA4: &str = "media4";
/// The node of IPv6 packets.
pub const MEDIA6: &str = "media6";
/// The node of packets that come down.
pub const MEDIA_SEND: &str = "media-send";

const FOLLOWERS: &[&str] = &["ip4-lookup", "ip6-lookup", MEDIA4, MEDIA6];
/// What the nodes of a worker read.
#[derive(Clone)]
pub(crate) struct Views {
    pub table: Arc<Table>,
    pub ranges: Arc<Published<Ranges>>,
    pub classes: Classes,
}

/// `media4` or `media6`.
pub(crate) struct MediaIn {
    views: Views,
    is_six: bool,
    identification: u16,
    sorted: Sorted,
}

impl MediaIn {
    pub fn new(views: Views, is_six: bool) -> Self {
        Self { views, is_six, identification: 0, sorted: Sorted::new() }
    }
}

/// The packets of a vector that are media's, and the others.
pub(crate) struct Sorted {
    arrivals: Box<[Arrival; VECTOR_MAX]>,
    others: Vec<Slot>,
}

impl Sorted {
    fn new() -> Self {
        let (arrivals, others) = ([Arrival::NONE; VECTOR_MAX], Vec::with_capacity(VECTOR_MAX));
        Self { arrivals: Box::new(arrivals), others }
    }

    /// Sorts a vector, and asks for the cells of the flows.
    fn sort(
        &mut self,
        batch: &[Slot],
        table: &Table,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Pool, Slot) -> Kind,
    ) -> usize {
        self.others.clear();
        let mut count = 0;
        for slot in batch {
            match look(cx.packets, *slot) {
                Kind::Media(arrival) => {
                    if let Some(cell) = table.cell(arrival.flow) {
                        ask_lines(core::ptr::from_ref(cell).cast(), CELL_LINES);
                    }
                    self.arrivals[count % VECTOR_MAX] = Arrival { slot: *slot, ..arrival };
                    count += 1;
                }
                Kind::Other => self.others.push(*slot),
                Kind::Drop(verdict) => cx.next.dispatch(&[verdict], &[*slot]),
            }
        }
        count.min(VECTOR_MAX)
    }

    /// What came back here for a port that is no media's any more has no chain to go on in.
    fn drop_lost(&mut self, cx: &mut Context<'_>) {
        self.others.retain(|slot| {
            let is_lost = cx.packets.meta(*slot).cursor == CAME_BACK;
            if is_lost {
                cx.next.dispatch(&[NO_FLOW], &[*slot]);
            }
            !is_lost
        });
    }
}

/// Hands packets on as it was decided, in their order.
fn hand_on(arrivals: &[Arrival], outcomes: &[Outcome], cx: &mut Context<'_>) {
    let mut verdicts = [NO_FLOW; VECTOR_MAX];
    let mut slots = [Slot(0); VECTOR_MAX];
    let mut count = 0;
    for (arrival, outcome) in arrivals.iter().zip(outcomes) {
        match *outcome {
            Outcome::Next(verdict) => {
                verdicts[count % VECTOR_MAX] = verdict;
                slots[count % VECTOR_MAX] = arrival.slot;
                count += 1;
            }
            Outcome::Up(class) => hand_up(arrival.slot, class, cx),
        }
    }
    cx.next.dispatch(&verdicts[..count], &slots[..count]);
}

impl Node for MediaIn {
    fn row(&self) -> Row {
        Row::of(if self.is_six { MEDIA6 } else { MEDIA4 }, FOLLOWERS, REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let ranges = self.views.ranges.read(cx.reader);
        let is_six = self.is_six;
        let count = self.sorted.sort(batch, &self.views.table, cx, |pool, slot| {
            let (meta, cell) = pool.parts(slot);
            match is_six {
                false => four(meta, cell, ranges, By::Destination),
                true => six(meta, cell, ranges, By::Destination),
            }
        });
        self.sorted.drop_lost(cx);
        cx.next.onward_all(&self.sorted.others, cx.packets);
        if count == 0 {
            return;
        }
        let arrivals = &self.sorted.arrivals[..count];
        let mut batch = Batch::new(&self.views.table, arrivals, cx);
        (batch.classes, batch.identification) = (self.views.classes, self.identification);
        batch.run(cx.packets);
        self.identification = batch.identification;
        hand_on(arrivals, batch.outcomes(), cx);
    }

    fn trace(&self, packets: &Pool, slot: Slot, note: &mut String) {
        let meta = packets.meta(slot);
        note.push_str(&format!("vrf {} octets {}", meta.vrf, meta.length));
    }
}

/// `media-send`: packets of whoever transcodes and answers. Their source is a flow's place; where
/// they go, how they are marked and protected is the flow's.
pub(crate) struct MediaSend {
    views: Views,
    identification: u16,
    sorted: Sorted,
}

impl MediaSend {
    pub fn new(views: Views) -> Self {
        Self { views, identification: 0, sorted: Sorted::new() }
    }
}

impl Node for MediaSend {
    fn row(&self) -> Row {
        Row::of(MEDIA_SEND, FOLLOWERS, REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let ranges = self.views.ranges.read(cx.reader);
        let count = self.sorted.sort(batch, &self.views.table, cx, |pool, slot| {
            let (meta, cell) = pool.parts(slot);
            match cell.get(usize::from(meta.offset)).map(|first| first >> 4) {
                Some(4) => four(meta, cell, ranges, By::Source),
                Some(6) => six(meta, cell, ranges, By::Source),
                _ => Kind::Drop(NO_FLOW),
            }
        });
        for slot in &self.sorted.others {
            cx.next.dispatch(&[NO_FLOW], &[*slot]);
        }
        if count == 0 {
            return;
        }
        let arrivals = &self.sorted.arrivals[..count];
        let mut batch = Batch::new(&self.views.table, arrivals, cx);
        (batch.classes, batch.identification) = (self.views.classes, self.identification);
        batch.leaves = true;
        batch.run(cx.packets);
        self.identification = batch.identification;
        hand_on(arrivals, batch.outcomes(), cx);
    }
}
