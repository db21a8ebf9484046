//! Which flow is at which place, and where each goes on: what the writer knows of flows beside
//! their cells. The slots of ranges are the index of places; only what has no range any more is
//! looked up.
//!
//! ```text
//!   place ─ range ─ slot ─→ number ─→ Row ─ to ─→ number of the other side
//!                                      └─ from ─→ one whose other side it is; `others`: more
//! ```

use crate::cell::NONE;
use crate::program::{Place, Range};
use crate::table::Slots;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a flow, by its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// Where it is.
    pub at: Place,
    /// Who protects what leaves from there, or [`NONE`].
    pub sender: u32,
    /// Its other side, if that is there, or [`NONE`].
    pub to: u32,
    /// A flow whose other side it is, or [`NONE`].
    from: u32,
}

/// All flows by place and by number.
#[derive(Default)]
pub(crate) struct Rows {
    rows: Vec<Option<Row>>,
    free: Vec<u32>,
    ranges: BTreeMap<Place, (Range, Slots)>,
    /// Flows that no range has.
    outside: BTreeMap<Place, u32>,
    /// Further flows that have the first one as their other side.
    others: BTreeSet<(u32, u32)>,
    /// Flows whose other side is not there, by its place and by their number.
    waiting: BTreeSet<(Place, u32)>,
    waits_for: BTreeMap<u32, Place>,
}

impl Rows {
    /// All ranges with their slots.
    pub fn ranges(&self) -> impl Iterator<Item = &(Range, Slots)> {
        self.ranges.values()
    }

    /// A range by its first port.
    pub fn range(&self, start: &Place) -> Option<&Range> {
        self.ranges.get(start).map(|(range, _)| range)
    }

    /// The range of a place.
    pub fn range_of(&self, place: &Place) -> Option<&(Range, Slots)> {
        let (_, row) = self.ranges.range(..=*place).next_back()?;
        row.0.has(place).then_some(row)
    }

    /// There is a range, maybe in place of another one that began there; no two have one port.
    pub fn insert_range(&mut self, range: Range) {
        self.remove_range(&range.start());
        let slots = Slots::new(range.ports);
        let all = self.outside.range(range.start()..).take_while(|(place, _)| range.has(place));
        let all: Vec<(Place, u32)> = all.map(|(place, number)| (*place, *number)).collect();
        for (place, number) in all {
            self.outside.remove(&place);
            slots.set(place.port - range.first, number);
        }
        self.ranges.insert(range.start(), (range, slots));
    }

    /// A range is gone; its flows stay. Whether it was there.
    pub fn remove_range(&mut self, start: &Place) -> bool {
        let Some((range, slots)) = self.ranges.remove(start) else { return false };
        for at in 0..range.ports {
            let number = slots.flow(at);
            if number != NONE {
                self.outside.insert(Place { port: range.first + at, ..range.start() }, number);
            }
        }
        true
    }

    /// The number of the flow at a place.
    pub fn number(&self, place: &Place) -> Option<u32> {
        match self.range_of(place) {
            Some((range, slots)) => {
                Some(slots.flow(place.port - range.first)).filter(|number| *number != NONE)
            }
            None => self.outside.get(place).copied(),
        }
    }

    /// A flow by its number.
    pub fn row(&self, number: u32) -> Option<&Row> {
        self.rows.get(number as usize)?.as_ref()
    }

    fn row_mut(&mut self, number: u32) -> Option<&mut Row> {
        self.rows.get_mut(number as usize)?.as_mut()
    }

    /// All flows.
    pub fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().flatten()
    }

    /// The number of the next flow.
    pub fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(machine::narrow::place(self.rows.len()))
    }

    /// A flow is there, with that number, and no packet finds it before [`Rows::show`].
    pub fn insert(&mut self, number: u32, at: Place, sender: Option<u32>) {
        self.free.pop();
        let place = number as usize;
        if self.rows.len() <= place {
            if self.rows.len() == self.rows.capacity() {
                // By less than twice as much: there may be very many.
                self.rows.reserve_exact(self.rows.len() / 8 + 64);
            }
            self.rows.resize(place + 1, None);
        }
        let row = Row { at, sender: sender.unwrap_or(NONE), to: NONE, from: NONE };
        self.rows[place] = Some(row);
    }

    /// Packets find it from now on.
    pub fn show(&mut self, number: u32) {
        if let Some(row) = self.row(number).copied() {
            self.set(row.at, number);
        }
    }

    fn set(&mut self, at: Place, number: u32) {
        match self.range_of(&at) {
            Some((range, slots)) => slots.set(at.port - range.first, number),
            None if number == NONE => drop(self.outside.remove(&at)),
            None => drop(self.outside.insert(at, number)),
        }
    }

    /// Who protects what leaves from a flow's place; who did before.
    pub fn set_sender(&mut self, number: u32, sender: Option<u32>) -> Option<u32> {
        let row = self.row_mut(number)?;
        let before = std::mem::replace(&mut row.sender, sender.unwrap_or(NONE));
        Some(before).filter(|before| *before != NONE)
    }

    /// A flow has another other side; its number if it is there.
    pub fn relate(&mut self, number: u32, to: Option<Place>) -> Option<u32> {
        self.untie(number);
        let to_number = to.and_then(|place| self.number(&place));
        match (to, to_number) {
            (Some(_), Some(to)) => self.tie(number, to),
            (Some(to), None) => self.wait(number, to),
            (None, _) => {}
        }
        to_number
    }

    fn wait(&mut self, number: u32, to: Place) {
        self.waiting.insert((to, number));
        self.waits_for.insert(number, to);
    }

    fn tie(&mut self, number: u32, to: u32) {
        if let Some(row) = self.row_mut(number) {
            row.to = to;
        }
        match self.row_mut(to) {
            Some(other) if other.from == NONE => other.from = number,
            _ => drop(self.others.insert((to, number))),
        }
    }

    /// A flow has no other side any more.
    fn untie(&mut self, number: u32) {
        let to = self.row_mut(number).map_or(NONE, |row| std::mem::replace(&mut row.to, NONE));
        if to == NONE {
            if let Some(to) = self.waits_for.remove(&number) {
                self.waiting.remove(&(to, number));
            }
            return;
        }
        match self.row_mut(to) {
            Some(other) if other.from == number => other.from = NONE,
            _ => drop(self.others.remove(&(to, number))),
        }
    }

    /// All flows with the numbers of their other sides.
    pub fn ways(&self) -> impl Iterator<Item = (u32, u32)> {
        let numbered = (0..).zip(&self.rows);
        numbered.filter_map(|(number, row)| Some((number, row.as_ref()?.to)))
    }

    /// The flows whose other side this one is.
    pub fn froms(&self, number: u32) -> impl Iterator<Item = u32> {
        let first = self.row(number).map(|row| row.from).filter(|from| *from != NONE);
        let others = self.others.range((number, 0)..=(number, NONE)).map(|(_, from)| *from);
        first.into_iter().chain(others)
    }

    /// The flows that waited for one at this place have their other side now.
    pub fn came(&mut self, number: u32, at: Place) {
        let waiting = self.waiting.range((at, 0)..=(at, NONE)).copied().collect::<Vec<_>>();
        for (_, from) in waiting {
            self.untie(from);
            self.tie(from, number);
        }
    }

    /// A flow is gone: nothing finds it, and those whose other side it was wait for another one.
    pub fn hide(&mut self, number: u32) {
        let Some(row) = self.row(number).copied() else { return };
        self.set(row.at, NONE);
        self.untie(number);
        for from in self.froms(number).collect::<Vec<_>>() {
            self.untie(from);
            self.wait(from, row.at);
        }
    }

    /// Its number may become another's.
    pub fn remove(&mut self, number: u32) {
        if self.rows.get_mut(number as usize).and_then(Option::take).is_some() {
            self.free.push(number);
        }
    }
}
