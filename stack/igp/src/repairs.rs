//! Repairs in use: whom the protocols lost, which routes go another way since then, and how long
//! that stays so before they are changed (RFC 8333).
//!
//! ```text
//!   adjacency lost ─→ away ─→ the plane is told first: groups and repairs do without its hop
//!                └──→ delay ─ SPF: Install → routes are told · Hold → repaired ones wait
//! ```

use crate::around::Protocol;
use crate::route::{Event, Guard, Route};
use isis::Prefix;
use machine::{Duration, Time};
use spf::{MicroloopDelay, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// The delay of a protocol.
#[derive(Debug)]
struct Delay {
    timer: MicroloopDelay,
    length: Duration,
    holds: bool,
}

impl Delay {
    const fn new(length: Duration) -> Self {
        Self { timer: MicroloopDelay::new(length), length, holds: false }
    }
}

/// What is known of repairs.
#[derive(Debug)]
pub(crate) struct Repairs {
    /// Routes that were told with a repair, and their only ways.
    repaired: BTreeMap<Prefix, Guard>,
    away: BTreeSet<Guard>,
    /// Neighbours that went, or came back, and were not told yet.
    moved: Vec<(Guard, bool)>,
    delays: [Delay; 2],
    /// Prefixes whose routes wait.
    held: BTreeSet<Prefix>,
    /// Routes that repairs took over, so far.
    pub(crate) taken_over: u64,
}

impl Repairs {
    pub(crate) const fn new() -> Self {
        Self {
            repaired: BTreeMap::new(),
            away: BTreeSet::new(),
            moved: Vec::new(),
            delays: [Delay::new(Duration::ZERO), Delay::new(Duration::ZERO)],
            held: BTreeSet::new(),
            taken_over: 0,
        }
    }

    /// How long repaired routes of a protocol wait.
    pub(crate) fn set_delay(&mut self, of: Protocol, length: Duration) {
        let delay = &mut self.delays[of as usize];
        if delay.length != length {
            *delay = Delay::new(length);
        }
    }

    /// Something happened in a protocol.
    pub(crate) fn note(&mut self, now: Time, of: Protocol, event: Event) {
        let delay = &mut self.delays[of as usize];
        match event {
            Event::Lost(way) => {
                delay.timer.link_down(now, way.interface);
                let guard = (of, way);
                if self.away.insert(guard) {
                    self.moved.push((guard, false));
                    let its = self.repaired.values().filter(|it| **it == guard);
                    self.taken_over += its.count() as u64;
                }
            }
            Event::Back(way) => {
                delay.timer.disturb();
                delay.holds = false;
                if self.away.remove(&(of, way)) {
                    self.moved.push(((of, way), true));
                }
            }
            Event::Ran { is_disturbed } => {
                if is_disturbed {
                    delay.timer.disturb();
                }
                delay.holds = delay.timer.computed(now) == Verdict::Hold;
            }
        }
    }

    /// A protocol has ended: nobody is away of it.
    pub(crate) fn forget(&mut self, of: Protocol) {
        self.away.retain(|it| it.0 != of);
        self.moved.retain(|it| it.0.0 != of);
        self.delays[of as usize] = Delay::new(Duration::ZERO);
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, now: Time) {
        for delay in &mut self.delays {
            if delay.timer.expire(now) {
                delay.holds = false;
            }
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let running = self.delays.iter().filter(|it| it.holds);
        running.filter_map(|it| it.timer.deadline()).min()
    }

    /// Whether a neighbour is away.
    pub(crate) fn is_away(&self, guard: &Guard) -> bool {
        self.away.contains(guard)
    }

    fn waits(&self, prefix: &Prefix) -> bool {
        let guard = self.repaired.get(prefix);
        guard.is_some_and(|it| self.delays[it.0 as usize].holds && self.away.contains(it))
    }

    /// Which of the prefixes that changed are to be told, with those that have waited.
    pub(crate) fn sift(&mut self, changed: BTreeSet<Prefix>) -> BTreeSet<Prefix> {
        let all = changed.into_iter().chain(core::mem::take(&mut self.held));
        let all: BTreeSet<Prefix> = all.collect();
        let (held, told) = all.into_iter().partition(|it| self.waits(it));
        self.held = held;
        told
    }

    /// Whether a prefix waits no more.
    pub(crate) fn has_due(&self) -> bool {
        !self.moved.is_empty() || self.held.iter().any(|it| !self.waits(it))
    }

    /// Neighbours that went (`false`) or came back, since this was called last.
    pub(crate) fn take_moved(&mut self) -> Vec<(Guard, bool)> {
        core::mem::take(&mut self.moved)
    }

    /// A route was told, or that there is none.
    pub(crate) fn note_route(&mut self, prefix: Prefix, route: Option<&Route>) {
        let guarded = route.filter(|it| it.repair.is_some());
        match guarded.and_then(|it| Some((it.protocol, *it.ways.first()?))) {
            Some(guard) => drop(self.repaired.insert(prefix, guard)),
            None => drop(self.repaired.remove(&prefix)),
        }
    }

    /// Everything is told anew.
    pub(crate) fn note_all(&mut self, all: impl Iterator<Item = (Prefix, Route)>) {
        (self.repaired, self.held) = (BTreeMap::new(), BTreeSet::new());
        self.moved.clear();
        for (prefix, route) in all {
            self.note_route(prefix, Some(&route));
        }
    }

    /// Prefixes whose routes have repairs.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = Prefix> + '_ {
        self.repaired.keys().copied()
    }

    /// Ways whose repairs are in use, and of how many routes.
    pub(crate) fn in_use(&self) -> BTreeMap<Guard, usize> {
        let mut found = BTreeMap::new();
        for guard in self.repaired.values().filter(|it| self.away.contains(it)) {
            *found.entry(*guard).or_insert(0) += 1;
        }
        found
    }

    /// Whether the repair of a prefix is in use.
    pub(crate) fn is_in_use(&self, prefix: Prefix) -> bool {
        self.repaired.get(&prefix).is_some_and(|it| self.away.contains(it))
    }

    /// Routes with repairs.
    pub(crate) fn len(&self) -> usize {
        self.repaired.len()
    }
}
