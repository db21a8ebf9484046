//! What all workers and the plane's writer share: the flows by number, those who protect, and
//! which port is which flow.
//!
//! ```text
//!   vrf, address ─ Ranges (a few rows) ─→ slots of its ports ─[port − first]─→ number ─→ Cell
//! ```
//! A cell is held while a packet of its flow is handled; so no two workers change a flow at once.
//! The order of a stream stands by itself: its packets have one source and destination, which a
//! port's queues keep on one worker, and a worker hands them on as they came.
//!
//! Who holds one cell may wait for a sender. Who holds several waits for nothing: it lets all go
//! before. Two cells at once are waited for by number.

use crate::cell::{Cell, Held, NONE, tried};
use crate::lines::ask_lines;
use crate::program::{self, Range};
use crossbeam_queue::ArrayQueue;
use srtp::Sender;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Flows at most.
pub const FLOWS_MAX: u32 = 1 << 20;
/// Cells that are made at once.
const CHUNK: u32 = 1 << 10;
/// Numbers of flows that have something to tell and were not heard yet, at most.
const NOTES_MAX: usize = 4_096;

/// Things by number; they stay where they are.
struct Arena<T>(Box<[OnceLock<Box<[T]>>]>);

impl<T: Default> Arena<T> {
    fn new() -> Self {
        Self((0..FLOWS_MAX / CHUNK).map(|_| OnceLock::new()).collect())
    }

    #[inline]
    fn get(&self, number: u32) -> Option<&T> {
        let chunk = self.0.get((number / CHUNK) as usize)?.get()?;
        chunk.get((number % CHUNK) as usize)
    }

    /// The thing of a number below [`FLOWS_MAX`], made if it is not there.
    fn make(&self, number: u32) -> Option<&T> {
        let chunk = self.0.get((number / CHUNK) as usize)?;
        chunk.get_or_init(|| (0..CHUNK).map(|_| T::default()).collect());
        self.get(number)
    }
}

/// Lines of a sender that its packets need.
const SENDER_LINES: usize = 5;

/// Who protects packets of one key, with that key.
#[derive(Default)]
#[repr(align(64))]
struct Place(Mutex<Option<Sender>>);

/// A sender that is held.
pub(crate) type HeldSender<'a> = MutexGuard<'a, Option<Sender>>;

/// What all share.
pub(crate) struct Table {
    flows: Arena<Cell>,
    senders: Arena<Place>,
    /// Numbers of flows that have something to tell.
    notes: ArrayQueue<u32>,
    /// All ranges, by their first places: where packets leave to is asked for when that changes.
    ranges: Mutex<BTreeMap<program::Place, Range>>,
}

impl Table {
    pub fn new() -> Arc<Self> {
        let (flows, senders) = (Arena::new(), Arena::new());
        let (notes, ranges) = (ArrayQueue::new(NOTES_MAX), Mutex::default());
        Arc::new(Self { flows, senders, notes, ranges })
    }

    /// The ranges are these from now on.
    pub fn set_ranges(&self, ranges: impl Iterator<Item = Range>) {
        let mut all = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        *all = ranges.map(|range| (range.start(), range)).collect();
    }

    /// Whether a place is a port of media's.
    pub fn is_media(&self, place: &program::Place) -> bool {
        let all = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        all.range(..=*place).next_back().is_some_and(|(_, range)| range.has(place))
    }

    /// The cell of a number.
    #[inline]
    pub fn cell(&self, number: u32) -> Option<&Cell> {
        self.flows.get(number)
    }

    /// The cell of a number that is given out.
    pub fn make(&self, number: u32) -> Option<&Cell> {
        self.flows.make(number)
    }

    /// Holds a sender if nobody does. `Err`: somebody does.
    pub fn try_sender(&self, number: u32) -> Option<HeldSender<'_>> {
        tried(self.senders.get(number)?.0.try_lock())
    }

    /// Asks for a sender early.
    #[inline]
    pub fn ask_sender(&self, number: u32) {
        if let Some(place) = self.senders.get(number) {
            ask_lines(core::ptr::from_ref(place).cast(), SENDER_LINES);
        }
    }

    /// Holds a sender.
    pub fn sender(&self, number: u32) -> Option<HeldSender<'_>> {
        let place = self.senders.make(number)?;
        Some(place.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Holds two cells.
    pub fn both(&self, one: u32, other: u32) -> Option<[Held<'_>; 2]> {
        let (low, high) = (one.min(other), one.max(other));
        if low == high {
            return None;
        }
        let (low, high) = (self.cell(low)?.hold(), self.cell(high)?.hold());
        Some(if one < other { [low, high] } else { [high, low] })
    }

    /// What leaves a flow's place goes elsewhere now: so does what comes to a flow that goes on
    /// there. Nothing is held when it is called.
    pub fn turn(&self, from: u32, to: u32) {
        let Some([mut from, other]) = self.both(from, to) else { return };
        if let (Some(from), Some(other)) = (from.as_mut(), other.as_ref())
            && let Some(way) = from.way.filter(|way| way.to == to)
        {
            let (destination, is_back) = other.destination(way.vrf(), |at| self.is_media(at));
            from.way = Some(way.towards(destination, is_back));
        }
    }

    /// A flow has something to tell; the cell is held by whoever says so.
    pub fn note(&self, number: u32, is_noted: &mut bool) {
        if !*is_noted {
            *is_noted = self.notes.push(number).is_ok();
        }
    }

    /// Who protects what leaves a flow's place has come far since that was told; whether the flow
    /// is heard of.
    pub fn note_sender(&self, number: u32) -> bool {
        self.notes.push(number).is_ok()
    }

    /// The next flow that has something to tell.
    pub fn noted(&self) -> Option<u32> {
        self.notes.pop()
    }

    /// Joins a flow to its other side, which is at that place: what comes to it leaves from there.
    pub fn join(&self, from: u32, to: u32, at: program::Place) {
        let Some([mut from_held, mut other]) = self.both(from, to) else { return };
        if let (Some(from_known), Some(other)) = (from_held.as_mut(), other.as_mut()) {
            from_known.way = Some(other.leaving(to, at, |place| self.is_media(place)));
            other.from = from;
        }
    }

    /// What branches off a flow to the place of another one leaves from there.
    pub fn branch(&self, from: u32, to: u32, at: program::Place) {
        let Some([mut from, other]) = self.both(from, to) else { return };
        if let (Some(from), Some(other)) = (from.as_mut(), other.as_ref())
            && let Some(extras) = &mut from.extras
        {
            let way = other.leaving(to, at, |place| self.is_media(place));
            extras.branches.lead(&at, Some(way));
        }
    }

    /// What branches off a flow to that place leaves no more.
    pub fn cut(&self, from: u32, to: &program::Place) {
        if let Some(cell) = self.cell(from)
            && let Some(extras) = cell.hold().as_mut().and_then(|it| it.extras.as_mut())
        {
            extras.branches.lead(to, None);
        }
    }

    /// A flow's RTCP, or its RTP, is that flow's, or [`NONE`]'s.
    pub fn set_pair(&self, number: u32, pair: u32) {
        if let Some(cell) = self.cell(number)
            && let Some(known) = cell.hold().as_mut()
        {
            known.pair = pair;
        }
    }

    /// Parts a flow from its other side.
    pub fn part(&self, from: u32) {
        if let Some(cell) = self.cell(from)
            && let Some(known) = cell.hold().as_mut()
        {
            known.way = None;
        }
    }
}

/// The flows of the ports of one range.
#[derive(Debug, Clone)]
pub(crate) struct Slots(Arc<[AtomicU32]>);

impl Slots {
    pub fn new(ports: u16) -> Self {
        Self((0..ports).map(|_| AtomicU32::new(NONE)).collect())
    }

    /// Ports without a flow, however many.
    pub fn none() -> Self {
        Self(Arc::from([]))
    }

    /// The flow of a port of the range.
    #[inline]
    pub fn flow(&self, at: u16) -> u32 {
        self.0.get(usize::from(at)).map_or(NONE, |slot| slot.load(Acquire))
    }

    /// A port is a flow's, or [`NONE`]'s.
    pub fn set(&self, at: u16, number: u32) {
        if let Some(slot) = self.0.get(usize::from(at)) {
            slot.store(number, Release);
        }
    }
}

/// A range of one family as packets find it.
#[derive(Debug, Clone)]
struct Row<A> {
    /// Routing table, address, first port.
    from: (u32, A, u16),
    ports: u16,
    slots: Slots,
}

/// All ranges, replaced whole.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    four: Vec<Row<u32>>,
    six: Vec<Row<u128>>,
}

impl Ranges {
    pub fn of<'a>(ranges: impl Iterator<Item = (&'a Range, &'a Slots)>) -> Self {
        let mut all = Self::default();
        for (range, slots) in ranges {
            let (ports, slots) = (range.ports, slots.clone());
            match range.address {
                IpAddr::V4(address) => {
                    let from = (range.vrf, u32::from(address), range.first);
                    all.four.push(Row { from, ports, slots });
                }
                IpAddr::V6(address) => {
                    let from = (range.vrf, u128::from(address), range.first);
                    all.six.push(Row { from, ports, slots });
                }
            }
        }
        all.four.sort_by_key(|row| row.from);
        all.six.sort_by_key(|row| row.from);
        all
    }

    /// The flow of a port of an IPv4 address, or [`NONE`]; `None`: the port is not media's.
    #[inline]
    pub fn four(&self, vrf: u32, address: u32, port: u16) -> Option<u32> {
        find(&self.four, vrf, address, port)
    }

    /// As [`Ranges::four`], of IPv6.
    #[inline]
    pub fn six(&self, vrf: u32, address: u128, port: u16) -> Option<u32> {
        find(&self.six, vrf, address, port)
    }
}

#[inline]
fn find<A: Ord + Copy>(rows: &[Row<A>], vrf: u32, address: A, port: u16) -> Option<u32> {
    let end = rows.partition_point(|row| row.from <= (vrf, address, port));
    let row = rows.get(end.wrapping_sub(1))?;
    let at = port.wrapping_sub(row.from.2);
    let is_there = row.from.0 == vrf && row.from.1 == address && at < row.ports;
    is_there.then(|| row.slots.flow(at))
}
