//! Hierarchical scheduling of a port: port → service → class, each with a rate of its own.
//!
//! ```text
//!   port ─ shaper ─┬ service (interface) ─ shaper ─┬ class: strict, highest first
//!                  │   deficit round robin         └ class: deficit round robin by weight
//!                  └ service …                         each class a bounded queue and a shaper
//! ```
//! A scheduler holds packets between runs of the graph. The worker's loop lets what the graph
//! sent to a port pass through it: [`Schedulers::pass`] after `Graph::run`, before the ports take
//! what is in the `Outbox`. Shapers are those of `shaper`; who lacks tokens waits on a wheel
//! and is found again in time. Every step is O(1) in the number of leaves (deficit round robin:
//! Shreedhar and Varghese, SIGCOMM 1995).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod build;
mod leaf;
mod programs;
mod service;
mod set;
mod shaper;
#[cfg(test)]
mod tests;
mod tree;
mod wheel;

pub use build::{Class, Config, Discipline, LEAVES_MAX, Refused, Service};
pub use leaf::LeafCounters;
pub use program::{Drops, Wred};
pub use programs::QueuePrograms;
pub use set::Schedulers;
pub use shaper::{RATE_MAX, RATE_MIN};
pub use tree::HELD_MAX;

use graph::{Pool, Slot, prefetch};
use leaf::{Full, Leaf, NONE};
use machine::{Time, narrow};
use service::{Place, State};
use shaper::{Moment, Shaper};
use wheel::Wheel;

/// Classes of a service at most.
pub const CLASSES_MAX: usize = 8;

/// The queues of one port.
pub struct Scheduler {
    origin: Time,
    /// Workers that send by the port: each has its part of every rate.
    share: u16,
    shaper: Shaper,
    /// Octets that the line adds to every packet.
    overhead: u32,
    leaves: Vec<Leaf>,
    counters: Vec<LeafCounters>,
    services: Vec<Place>,
    /// By interface: its service; others have the last one.
    by_interface: Vec<u32>,
    profiles: Vec<Wred>,
    /// Services with packets that may be sent: a ring in the order of their turns.
    first: u32,
    last: u32,
    /// Services by their number, leaves by theirs after all services.
    wheel: Wheel,
    held: usize,
    held_max: usize,
    dice: u32,
}

impl Scheduler {
    /// Takes packets; those that find no room are put into `dropped`. `Meta::transmit` says the
    /// service, `Meta::class` the class, `Meta::colour` what WRED makes of it.
    pub fn enqueue(
        &mut self,
        now: Time,
        batch: &[Slot],
        packets: &mut Pool,
        dropped: &mut Vec<Slot>,
    ) {
        let now = Moment::of(now, self.origin);
        for slots in batch.chunks(AHEAD) {
            let mut leaves = [0_u32; AHEAD];
            for (slot, leaf) in slots.iter().zip(&mut leaves) {
                let meta = packets.meta(*slot);
                *leaf = self.leaf_of(meta.transmit, meta.class);
                prefetch(&raw const self.leaves[*leaf as usize]);
            }
            for (slot, leaf) in slots.iter().zip(leaves) {
                if !self.join(now, *slot, leaf, packets) {
                    dropped.push(*slot);
                }
            }
        }
    }

    fn leaf_of(&self, interface: u32, class: u8) -> u32 {
        let other = narrow::place(self.services.len() - 1);
        let service = self.by_interface.get(interface as usize).copied().unwrap_or(other);
        self.services[service as usize].leaf(class)
    }

    #[inline]
    fn join(&mut self, now: Moment, slot: Slot, at: u32, packets: &mut Pool) -> bool {
        let meta = packets.meta(slot);
        let (octets, colour) = (u32::from(meta.length) + self.overhead, meta.colour);
        let leaf = &mut self.leaves[at as usize];
        let dice = &mut self.dice;
        let admitted = match self.held < self.held_max {
            true => leaf.admits(colour, &self.profiles, || throw(dice)),
            false => Err(Full::Tail),
        };
        if let Err(full) = admitted {
            let counters = &mut self.counters[at as usize];
            match full {
                Full::Tail => counters.tail_dropped += 1,
                Full::Early => counters.early_dropped += 1,
            }
            return false;
        }
        let was_empty = leaf.is_empty();
        leaf.push(slot, octets, packets);
        self.held += 1;
        if was_empty && !leaf.waits {
            let (service, class) = (leaf.service, leaf.class);
            self.wake(now, service, class);
        }
        true
    }

    /// A class of a service has something to send.
    fn wake(&mut self, now: Moment, service: u32, class: u8) {
        let place = &mut self.services[service as usize];
        place.ready |= 1 << class;
        if place.state == State::Idle {
            if place.shaper.passes(now) {
                self.append(service);
            } else {
                place.state = State::Waits;
                let at = place.shaper.passes_at();
                self.wheel.wait(service, at);
            }
        }
    }

    /// Sends what may be sent now, `budget` packets at most, into `out`.
    pub fn poll(&mut self, now: Time, budget: usize, packets: &mut Pool, out: &mut Vec<Slot>) {
        let now = Moment::of(now, self.origin);
        self.turn_wheel(now);
        let enough = out.len() + budget;
        while self.first != NONE && out.len() < enough && self.shaper.passes(now) {
            self.visit(now, enough, packets, out);
        }
    }

    fn turn_wheel(&mut self, now: Moment) {
        let mut due = std::mem::take(&mut self.wheel.due);
        self.wheel.turn(now, &mut due);
        for entry in due.drain(..) {
            match entry.checked_sub(narrow::place(self.services.len())) {
                Some(leaf) => self.leaf_due(now, leaf),
                None => self.service_due(now, entry),
            }
        }
        self.wheel.due = due;
    }

    fn leaf_due(&mut self, now: Moment, at: u32) {
        let leaf = &mut self.leaves[at as usize];
        if !leaf.shaper.passes(now) {
            let due = leaf.shaper.passes_at();
            return self.wheel.wait(narrow::place(self.services.len()) + at, due);
        }
        leaf.waits = false;
        if !leaf.is_empty() {
            let (service, class) = (leaf.service, leaf.class);
            self.wake(now, service, class);
        }
    }

    fn service_due(&mut self, now: Moment, at: u32) {
        let place = &mut self.services[at as usize];
        if place.ready == 0 {
            place.state = State::Idle;
        } else if place.shaper.passes(now) {
            self.append(at);
        } else {
            let due = place.shaper.passes_at();
            self.wheel.wait(at, due);
        }
    }

    /// The turn of the first service: it sends until its deficit, its shaper or its packets end.
    fn visit(&mut self, now: Moment, enough: usize, packets: &mut Pool, out: &mut Vec<Slot>) {
        let at = self.first;
        self.prefetch_next(at, packets);
        let place = &mut self.services[at as usize];
        if !place.begun {
            place.begun = true;
            place.deficit += place.quantum as i32;
        }
        loop {
            let place = &mut self.services[at as usize];
            if place.ready == 0 {
                place.deficit = 0;
                return self.remove_first(State::Idle);
            }
            if !place.shaper.passes(now) {
                let due = place.shaper.passes_at();
                self.remove_first(State::Waits);
                return self.wheel.wait(at, due);
            }
            if place.deficit <= 0 {
                self.remove_first(State::Idle);
                return self.append(at);
            }
            if out.len() == enough || !self.shaper.passes(now) {
                return;
            }
            self.send(now, at, packets, out);
        }
    }

    /// One packet of a service that may send leaves.
    #[inline]
    fn send(&mut self, now: Moment, at: u32, packets: &mut Pool, out: &mut Vec<Slot>) {
        let place = &mut self.services[at as usize];
        let class = place.choose(&mut self.leaves);
        let index = place.base + u32::from(class);
        let leaf = &mut self.leaves[index as usize];
        let length = u32::from(packets.meta(Slot(leaf.head)).length);
        let octets = length + self.overhead;
        let slot = leaf.pop(octets, packets);
        if leaf.quantum > 0 {
            leaf.deficit -= octets as i32;
        }
        place.deficit -= octets as i32;
        place.shaper.charge(now, octets);
        self.shaper.charge(now, octets);
        leaf.shaper.charge(now, octets);
        let counters = &mut self.counters[index as usize];
        counters.packets += 1;
        counters.octets += u64::from(length);
        self.held -= 1;
        out.push(slot);
        if leaf.is_empty() {
            leaf.deficit = 0;
            place.ready &= !(1 << class);
        }
        if !leaf.shaper.passes(now) {
            leaf.waits = true;
            place.ready &= !(1 << class);
            let due = leaf.shaper.passes_at();
            self.wheel.wait(narrow::place(self.services.len()) + index, due);
        }
    }

    /// Puts a service at the end of the round.
    fn append(&mut self, at: u32) {
        let place = &mut self.services[at as usize];
        place.state = State::InTurn;
        place.begun = false;
        place.next = NONE;
        match self.last {
            NONE => self.first = at,
            last => self.services[last as usize].next = at,
        }
        self.last = at;
    }

    fn remove_first(&mut self, state: State) {
        let place = &mut self.services[self.first as usize];
        place.state = state;
        self.first = place.next;
        if self.first == NONE {
            self.last = NONE;
        }
    }

    /// The service after this one will be visited soon: its lines are asked for.
    #[inline]
    fn prefetch_next(&self, at: u32, packets: &Pool) {
        let Some(next) = self.services.get(self.services[at as usize].next as usize) else {
            return;
        };
        let class = u32::from(service::lowest(next.ready));
        if let Some(leaf) = self.leaves.get((next.base + class) as usize)
            && leaf.head != NONE
        {
            prefetch(std::ptr::from_ref(packets.meta(Slot(leaf.head))));
        }
        if let Some(after) = self.services.get(next.next as usize) {
            let class = u32::from(service::lowest(after.ready));
            prefetch(
                &raw const self.leaves[((after.base + class) as usize).min(self.leaves.len() - 1)],
            );
            if let Some(third) = self.services.get(after.next as usize) {
                prefetch(std::ptr::from_ref(third));
            }
        }
    }

    /// When [`Scheduler::poll`] has something to do again: `None` if nothing waits. It may name a
    /// time that has come already.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let port = Moment(self.shaper.passes_at().0);
        let ready = (self.first != NONE).then_some(port);
        let due = match (ready, self.wheel.first()) {
            (Some(ready), Some(first)) => Some(ready.min(first)),
            (ready, first) => ready.or(first),
        };
        due.filter(|_| self.held > 0).map(|moment| moment.time(self.origin))
    }

    /// Packets that wait.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    /// Packets and octets that wait in a class of a service, and what it has counted; `None` when
    /// the interface has no service of its own.
    #[must_use]
    pub fn leaf(&self, interface: u32, class: u8) -> Option<((u32, u32), LeafCounters)> {
        let service = *self.by_interface.get(interface as usize)?;
        let own = (service as usize) < self.services.len() - 1;
        let at = self.services[service as usize].leaf(class) as usize;
        own.then(|| (self.leaves[at].waiting(), self.counters[at]))
    }

    /// What the whole port has counted.
    #[must_use]
    pub fn total(&self) -> LeafCounters {
        self.counters.iter().fold(LeafCounters::default(), |sum, leaf| LeafCounters {
            packets: sum.packets + leaf.packets,
            octets: sum.octets + leaf.octets,
            tail_dropped: sum.tail_dropped + leaf.tail_dropped,
            early_dropped: sum.early_dropped + leaf.early_dropped,
        })
    }
}

/// Packets whose leaves are fetched together.
const AHEAD: usize = 16;

/// A random number (xorshift32), seeded by the scheduler's owner.
#[inline]
fn throw(dice: &mut u32) -> u32 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 17;
    *dice ^= *dice << 5;
    *dice
}
