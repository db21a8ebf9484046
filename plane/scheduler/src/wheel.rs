//! A wheel of slots: who waits for its shaper is found again at its time, to the slot.

use crate::shaper::Moment;
use machine::narrow;

/// Slots of the wheel.
const SLOTS: usize = 4_096;
/// A slot is so long: 2^13 ns, in the parts of a [`Moment`].
const SLOT_BITS: u32 = 19;
/// No entry.
const NONE: u32 = u32::MAX;

/// Waiting entries by the slot of their time; an entry is waiting once at most.
pub(crate) struct Wheel {
    heads: Box<[u32]>,
    /// By entry: the next in its slot.
    next: Vec<u32>,
    /// Which slots are not empty.
    filled: [u64; SLOTS / 64],
    /// The slot up to which all is due and taken, counted from the scheduler's start.
    at: u64,
    waiting: usize,
    /// Room for those that are due, kept by its user between two turns.
    pub(crate) due: Vec<u32>,
}

impl Wheel {
    pub(crate) fn new(entries: usize, now: Moment) -> Self {
        Self {
            heads: vec![NONE; SLOTS].into_boxed_slice(),
            next: vec![NONE; entries],
            filled: [0; SLOTS / 64],
            at: now.0 >> SLOT_BITS,
            waiting: 0,
            due: Vec::new(),
        }
    }

    /// Entry `entry` waits until `due`, or for the length of the wheel if that is further off:
    /// whoever takes it out then looks again.
    pub(crate) fn wait(&mut self, entry: u32, due: Moment) {
        let slot = due.0.div_ceil(1 << SLOT_BITS).clamp(self.at + 1, self.at + SLOTS as u64 - 1);
        let place = narrow::slot(slot, SLOTS);
        self.next[entry as usize] = self.heads[place];
        self.heads[place] = entry;
        self.filled[place / 64] |= 1 << (place % 64);
        self.waiting += 1;
    }

    /// Hands out every entry that is due, at its slot's end at the latest.
    pub(crate) fn turn(&mut self, now: Moment, due: &mut Vec<u32>) {
        let target = now.0 >> SLOT_BITS;
        if self.waiting == 0 {
            self.at = self.at.max(target);
            return;
        }
        let last = target.min(self.at + SLOTS as u64);
        while self.at < last {
            self.at += 1;
            let place = narrow::slot(self.at, SLOTS);
            if self.filled[place / 64] >> (place % 64) & 1 == 0 {
                continue;
            }
            self.filled[place / 64] &= !(1 << (place % 64));
            let mut entry = std::mem::replace(&mut self.heads[place], NONE);
            while entry != NONE {
                self.waiting -= 1;
                let next = self.next[entry as usize];
                due.push(entry);
                entry = next;
            }
        }
        self.at = self.at.max(target);
    }

    /// The end of the first slot that is not empty.
    pub(crate) fn first(&self) -> Option<Moment> {
        if self.waiting == 0 {
            return None;
        }
        let mut slot = self.at + 1;
        while slot <= self.at + SLOTS as u64 {
            let place = narrow::slot(slot, SLOTS);
            match self.filled[place / 64] >> (place % 64) {
                // The rest of this word is empty.
                0 => slot += 64 - (place % 64) as u64,
                rest => {
                    return Some(Moment((slot + u64::from(rest.trailing_zeros())) << SLOT_BITS));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_comes_out_once_and_not_before_its_time_unless_it_is_beyond_the_wheel() {
        let mut wheel = Wheel::new(4, Moment(0));
        wheel.wait(1, Moment(3 << SLOT_BITS));
        wheel.wait(2, Moment((3 << SLOT_BITS) + 5));
        wheel.wait(3, Moment(1_000_000 << SLOT_BITS));
        assert_eq!(wheel.first(), Some(Moment(3 << SLOT_BITS)));
        let mut out = Vec::new();
        wheel.turn(Moment(2 << SLOT_BITS), &mut out);
        assert!(out.is_empty());
        wheel.turn(Moment(4 << SLOT_BITS), &mut out);
        out.sort_unstable();
        assert_eq!(out, [1, 2]);
        wheel.turn(Moment(900_000 << SLOT_BITS), &mut out);
        assert_eq!(out, [1, 2, 3], "one revolution later, to look again");
        assert_eq!(wheel.first(), None);
    }
}
