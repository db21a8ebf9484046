//! A hierarchical timing wheel (Varghese and Lauck 1987, scheme 7): arming costs a push, nothing
//! is ever cancelled. The owner keeps the true deadline and ignores a key that fires in vain.
//!
//! Four levels of 256 slots, one tick a millisecond: 256 ms, 65 s, 4.6 h, 49 days. A key lies in
//! the finest level that reaches it from now, wherever the boundaries of coarser slots are: keys
//! armed for the same delay never meet in one huge slot.

use crate::Time;

const LEVELS: usize = 4;
const SLOTS: usize = 256;
const TICK_NS: u64 = 1_000_000;
/// Emptied lists that each coarser level keeps for the slots that are filled next.
const SPARES_MAX: usize = 4;
/// Half a turn of the coarsest level: a key further away fires then (24 days) in vain.
const REACH: u64 = 1 << 31;

/// Keys waiting for their time. `K` is small and `Copy`: an index and a generation.
#[derive(Debug)]
pub struct Wheel<K> {
    /// The next tick to expire: every key of an earlier tick has fired.
    next: u64,
    slots: Vec<Vec<(u64, K)>>,
    occupied: [[u64; SLOTS / 64]; LEVELS],
    /// Lists that were emptied, by level: they are as long as the next ones will be.
    spares: [Vec<Vec<(u64, K)>>; LEVELS],
    len: usize,
}

impl<K: Copy> Wheel<K> {
    /// An empty wheel that starts at `now`.
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self {
            next: now.as_nanos() / TICK_NS,
            slots: (0..LEVELS * SLOTS).map(|_| Vec::new()).collect(),
            occupied: [[0; SLOTS / 64]; LEVELS],
            spares: [const { Vec::new() }; LEVELS],
            len: 0,
        }
    }

    /// Number of keys waiting, those that will fire in vain included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `key` fires at the first [`Wheel::expire`] at or after `at`, never before it.
    pub fn arm(&mut self, at: Time, key: K) {
        self.len += 1;
        self.place(at.as_nanos().div_ceil(TICK_NS).max(self.next), key);
    }

    fn place(&mut self, tick: u64, key: K) {
        let tick = tick.min(self.next + REACH);
        let reaches =
            |level: &usize| (tick >> (8 * level)) - (self.next >> (8 * level)) < SLOTS as u64;
        let level = (0..LEVELS - 1).find(reaches).unwrap_or(LEVELS - 1);
        let slot = (tick >> (8 * level)) as usize % SLOTS;
        let keys = &mut self.slots[level * SLOTS + slot];
        if keys.capacity() == 0
            && let Some(spare) = self.spares[level].pop()
        {
            *keys = spare;
        }
        keys.push((tick, key));
        self.occupied[level][slot / 64] |= 1 << (slot % 64);
    }

    fn take(&mut self, level: usize, slot: usize) -> Vec<(u64, K)> {
        self.occupied[level][slot / 64] &= !(1 << (slot % 64));
        core::mem::take(&mut self.slots[level * SLOTS + slot])
    }

    /// Keeps the memory of a list that is empty now.
    fn give_back(&mut self, level: usize, keys: Vec<(u64, K)>) {
        if self.spares[level].len() < SPARES_MAX {
            self.spares[level].push(keys);
        }
    }

    /// A time at or before which nothing fires: the earliest key, or the moment at which a coarser
    /// slot must be looked into. `None` when nothing waits.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if self.len == 0 {
            return None;
        }
        let first = |level: usize| {
            let shift = 8 * level;
            let here = (self.next >> shift) as usize % SLOTS;
            let slot = self.first_occupied(level, here)?;
            let ahead = (slot + SLOTS - here) as u64 % SLOTS as u64;
            Some(((self.next >> shift) + ahead) << shift)
        };
        let tick = (0..LEVELS).filter_map(first).min()?;
        Some(Time::from_nanos(tick.max(self.next) * TICK_NS))
    }

    /// The first occupied slot at or after `from`, going round.
    fn first_occupied(&self, level: usize, from: usize) -> Option<usize> {
        let words = &self.occupied[level];
        let (word, bit) = (from / 64, from % 64);
        let head = words[word] & (u64::MAX << bit);
        if head != 0 {
            return Some(word * 64 + head.trailing_zeros() as usize);
        }
        (1..=words.len()).find_map(|step| {
            let at = (word + step) % words.len();
            let bits = if step == words.len() { words[at] & !(u64::MAX << bit) } else { words[at] };
            (bits != 0).then(|| at * 64 + bits.trailing_zeros() as usize)
        })
    }

    /// Moves every key due at `now` to `due`, in the order of their ticks.
    pub fn expire(&mut self, now: Time, due: &mut Vec<K>) {
        let until = now.as_nanos() / TICK_NS;
        while self.next <= until {
            let Some(at) = self.deadline() else {
                self.next = until + 1;
                return;
            };
            let tick = at.as_nanos() / TICK_NS;
            if tick > until {
                // Stop short of the next slot's boundary, so that no coarser slot is skipped.
                self.next = until + 1;
                self.cascade();
                return;
            }
            self.next = tick;
            self.cascade();
            self.fire(due);
            self.next += 1;
            self.cascade();
        }
    }

    fn fire(&mut self, due: &mut Vec<K>) {
        let slot = self.next as usize % SLOTS;
        let mut keys = self.take(0, slot);
        self.len -= keys.len();
        due.extend(keys.drain(..).map(|(_, key)| key));
        self.slots[slot] = keys; // keeps the allocation
    }

    /// Deals the coarser slots that `next` has entered out to the finer levels.
    fn cascade(&mut self) {
        for level in (1..LEVELS).rev() {
            let slot = (self.next >> (8 * level)) as usize % SLOTS;
            if self.occupied[level][slot / 64] & (1 << (slot % 64)) == 0 {
                continue;
            }
            let mut keys = self.take(level, slot);
            for (tick, key) in keys.drain(..) {
                self.place(tick.max(self.next), key);
            }
            self.give_back(level, keys);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_of_one_delay_lie_in_small_slots_on_both_sides_of_a_boundary() {
        let mut wheel = Wheel::new(Time::from_millis(20_000));
        let mut due = Vec::new();
        for ms in 20_000..140_000u64 {
            wheel.expire(Time::from_millis(ms), &mut due);
            wheel.arm(Time::from_millis(ms + 32_000), ms + 32_000);
            assert!(due.drain(..).eq((ms >= 52_000).then_some(ms)), "at {ms} ms");
            let longest = wheel.slots.iter().map(Vec::len).max().unwrap();
            assert!(longest <= SLOTS, "{longest} keys in a slot at {ms} ms");
        }
    }

    #[test]
    fn an_empty_wheel_has_no_deadline_and_fires_nothing() {
        let mut wheel = Wheel::<u32>::new(Time::ZERO);
        let mut due = Vec::new();
        wheel.expire(Time::from_millis(100_000), &mut due);
        assert!(due.is_empty() && wheel.deadline().is_none());
    }

    proptest! {
        /// Whatever is armed fires once, never early, and at most a tick late when `expire` is
        /// called at each deadline.
        #[test]
        fn every_key_fires_once_and_on_time(
            start in 0u64..5_000_000_000,
            delays in prop::collection::vec(0u64..400_000_000, 1..60),
            jump in 1u64..100_000,
        ) {
            let t0 = Time::from_millis(start);
            let mut wheel = Wheel::new(t0);
            let mut now = t0;
            let mut armed = Vec::new();
            let mut fired = 0;
            for (key, delay) in delays.iter().enumerate() {
                let at = Time::from_millis(now.as_millis() + delay);
                wheel.arm(at, key);
                armed.push(at);
                // Let some time pass between two arms, as life does.
                now += core::time::Duration::from_millis(jump);
                let mut due = Vec::new();
                wheel.expire(now, &mut due);
                for key in due {
                    prop_assert!(armed[key] <= now);
                    fired += 1;
                }
            }
            let mut guard = 0;
            while let Some(at) = wheel.deadline() {
                guard += 1;
                prop_assert!(guard < 100_000, "the deadline must advance");
                now = now.max(at);
                let mut due = Vec::new();
                wheel.expire(now, &mut due);
                for key in due {
                    prop_assert!(armed[key] <= now);
                    prop_assert!(now - armed[key] <= core::time::Duration::from_millis(jump + 1));
                    fired += 1;
                }
            }
            prop_assert_eq!(fired, delays.len());
            prop_assert!(wheel.is_empty());
        }
    }
}
