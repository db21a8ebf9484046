//! Records with a generation and one deadline each, reused in place.
//!
//! A record that is given back keeps its buffers for the next user, so that a call in a steady
//! load allocates nothing. A slot has at most a few entries in the wheel whatever its users ask
//! for: a later deadline waits for the earlier entry to fire and is armed then.

use crate::{Time, Wheel};

/// Names a record: its slot and which user of the slot is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// The slot.
    pub index: u32,
    /// Counts the users of the slot.
    pub generation: u32,
}

/// What [`Slots::tell`] has to say.
#[derive(Debug)]
pub enum SlotChange<'a, T> {
    /// A user who may have changed, and the number for what was said of him last.
    Stands(Key, &'a T, u64),
    /// The user of that slot, of whom something was said, is gone; the key is that of the next.
    Gone(Key),
}

/// What can be emptied for its next user while it keeps its allocations.
pub trait Reuse: Default {
    /// Forgets the last user.
    fn reuse(&mut self);
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    live: bool,
    /// Whether it stands in `touched`.
    touched: bool,
    /// What was last told of the user; see [`Slots::tell`].
    told: u64,
    /// When the user wants to be told; `Time::MAX` is never.
    due: Time,
    /// The earliest entry of this slot in the wheel.
    armed: Time,
    value: T,
}

/// Slots of one piece of memory: a table grows by pieces, so that nothing is ever moved.
const PIECE: usize = 1 << 12;

/// A bounded table of records.
#[derive(Debug)]
pub struct Slots<T> {
    pieces: Vec<Vec<Slot<T>>>,
    /// Slots in all pieces.
    made: usize,
    free: Vec<u32>,
    wheel: Wheel<u32>,
    fired: Vec<u32>,
    max: usize,
    /// Whether slots that change are noted.
    is_watched: bool,
    /// Slots that changed since [`Slots::tell`].
    touched: Vec<u32>,
    /// Slots in use.
    used: usize,
}

impl<T: Reuse> Slots<T> {
    /// An empty table for at most `max` records; memory grows as it fills.
    pub fn new(max: u32, now: Time) -> Self {
        Self {
            pieces: Vec::new(),
            made: 0,
            free: Vec::new(),
            wheel: Wheel::new(now),
            fired: Vec::new(),
            max: max as usize,
            is_watched: false,
            touched: Vec::new(),
            used: 0,
        }
    }

    /// Changes the limit; records beyond it stay until they are given back.
    pub const fn set_max(&mut self, max: u32) {
        self.max = max as usize;
    }

    /// Records in use.
    pub const fn len(&self) -> usize {
        self.used
    }

    /// Whether no record is in use.
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// A fresh record; `None` when the table is full.
    pub fn take(&mut self) -> Option<(Key, &mut T)> {
        if self.len() >= self.max {
            return None;
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.make(),
        };
        let slot = &mut self.pieces[index as usize / PIECE][index as usize % PIECE];
        slot.live = true;
        self.used += 1;
        if self.is_watched && !slot.touched {
            slot.touched = true;
            self.touched.push(index);
        }
        Some((Key { index, generation: slot.generation }, &mut slot.value))
    }

    /// One more slot.
    fn make(&mut self) -> u32 {
        if self.made.is_multiple_of(PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        let never = Time::MAX;
        let value = T::default();
        let (due, armed) = (never, never);
        let slot = Slot { generation: 0, live: false, touched: false, told: 0, due, armed, value };
        self.pieces[self.made / PIECE].push(slot);
        self.made += 1;
        self.made as u32 - 1
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        self.pieces.get(index as usize / PIECE)?.get(index as usize % PIECE)
    }

    #[inline]
    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<T>> {
        self.pieces.get_mut(index as usize / PIECE)?.get_mut(index as usize % PIECE)
    }

    /// Gives a record back.
    pub fn give_back(&mut self, key: Key) {
        let Some(slot) = self.slot_mut(key.index) else { return };
        if !slot.live || slot.generation != key.generation {
            return;
        }
        slot.live = false;
        slot.due = Time::MAX;
        slot.generation = slot.generation.wrapping_add(1);
        slot.value.reuse();
        if !slot.touched && slot.told != 0 {
            slot.touched = true;
            self.touched.push(key.index);
        }
        self.free.push(key.index);
        self.used -= 1;
    }

    /// The record, unless its slot has another user by now.
    #[inline]
    pub fn at(&self, key: Key) -> Option<&T> {
        let slot = self.slot(key.index)?;
        (slot.live && slot.generation == key.generation).then_some(&slot.value)
    }

    /// The record, unless its slot has another user by now.
    #[inline]
    pub fn at_mut(&mut self, key: Key) -> Option<&mut T> {
        let (piece, place) = (key.index as usize / PIECE, key.index as usize % PIECE);
        let slot = self.pieces.get_mut(piece)?.get_mut(place)?;
        if !slot.live || slot.generation != key.generation {
            return None;
        }
        if self.is_watched && !slot.touched {
            slot.touched = true;
            self.touched.push(key.index);
        }
        Some(&mut slot.value)
    }

    /// Notes from now on which slots may have changed, or no more.
    pub const fn watch(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }

    /// Every slot from `from` on that has a user, at most `most` of them, counts as changed and as
    /// not told. Returns where to go on; `None` at the end.
    pub fn touch(&mut self, from: u32, most: usize) -> Option<u32> {
        let mut left = most;
        for index in from..self.made as u32 {
            if left == 0 {
                return Some(index);
            }
            let slot = &mut self.pieces[index as usize / PIECE][index as usize % PIECE];
            if slot.live {
                slot.told = 0;
                left -= 1;
                if !slot.touched {
                    slot.touched = true;
                    self.touched.push(index);
                }
            }
        }
        None
    }

    /// Tells what changed. Of a user that stands `tell` returns a number for what it said, another
    /// one for something else, and zero when there is nothing to say of him yet. A user of whom
    /// something was said is gone as [`SlotChange::Gone`].
    pub fn tell(&mut self, mut tell: impl FnMut(SlotChange<'_, T>) -> u64) {
        let mut touched = core::mem::take(&mut self.touched);
        for index in touched.drain(..) {
            let slot = &mut self.pieces[index as usize / PIECE][index as usize % PIECE];
            slot.touched = false;
            let key = Key { index, generation: slot.generation };
            let was = slot.told;
            slot.told = if slot.live { tell(SlotChange::Stands(key, &slot.value, was)) } else { 0 };
            if was != 0 && slot.told == 0 {
                tell(SlotChange::Gone(key));
            }
        }
        self.touched = touched;
    }

    /// The record in that slot, made the user that `key` names: a copy of another table's.
    /// `None` beyond the limit.
    pub fn put(&mut self, key: Key) -> Option<&mut T> {
        if key.index as usize >= self.max {
            return None;
        }
        while self.made <= key.index as usize {
            self.make();
        }
        let (piece, place) = (key.index as usize / PIECE, key.index as usize % PIECE);
        let slot = self.pieces.get_mut(piece)?.get_mut(place)?;
        self.used += usize::from(!slot.live);
        slot.live = true;
        slot.generation = key.generation;
        slot.value.reuse();
        Some(&mut slot.value)
    }

    /// The user of that slot is gone from the other table, where `next` names the next one.
    pub fn take_away(&mut self, next: Key) {
        if let Some(slot) = self.slot_mut(next.index) {
            let was_live = core::mem::take(&mut slot.live);
            slot.due = Time::MAX;
            slot.generation = next.generation;
            slot.value.reuse();
            self.used -= usize::from(was_live);
        }
    }

    /// The copy becomes the table itself: its free slots are found. Until then none is taken.
    pub fn settle(&mut self) {
        let slots = self.pieces.iter().flatten().enumerate();
        self.free = slots.filter(|(_, s)| !s.live).map(|(index, _)| index as u32).collect();
        self.free.reverse(); // the lowest are taken first
    }

    /// Empties the table.
    pub fn clear(&mut self) {
        self.touched.clear();
        for slot in self.pieces.iter_mut().flatten() {
            if slot.live {
                slot.live = false;
                slot.generation = slot.generation.wrapping_add(1);
                slot.value.reuse();
            }
            (slot.touched, slot.told, slot.due) = (false, 0, Time::MAX);
        }
        self.used = 0;
        self.settle();
    }

    /// Slots that ever had a user: each has an index below.
    pub const fn places(&self) -> u32 {
        self.made as u32
    }

    /// The present user of a slot.
    #[inline]
    pub fn user_of(&self, index: u32) -> Option<Key> {
        let slot = self.slot(index)?;
        slot.live.then_some(Key { index, generation: slot.generation })
    }

    /// The record of the present user of a slot.
    #[inline]
    pub fn user_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slot_mut(index).filter(|slot| slot.live).map(|slot| &mut slot.value)
    }

    /// Does something to every record in use. None of them counts as changed.
    pub fn each_mut(&mut self, mut act: impl FnMut(&mut T)) {
        let live = self.pieces.iter_mut().flatten().filter(|slot| slot.live);
        live.for_each(|slot| act(&mut slot.value));
    }

    /// Every record in use.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.pieces.iter().flatten().enumerate().filter(|(_, slot)| slot.live).map(
            |(index, slot)| (Key { index: index as u32, generation: slot.generation }, &slot.value),
        )
    }

    /// The record is due at `at`; `Time::MAX` is never.
    #[inline]
    pub fn arm(&mut self, key: Key, at: Time) {
        let (piece, place) = (key.index as usize / PIECE, key.index as usize % PIECE);
        let Some(slot) = self.pieces.get_mut(piece).and_then(|p| p.get_mut(place)) else { return };
        if slot.live && slot.generation == key.generation {
            slot.due = at;
            if at < slot.armed {
                slot.armed = at;
                self.wheel.arm(at, key.index);
            }
        }
    }

    /// A time before which no record is due.
    pub fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }

    /// Appends the records due at `now`; each is due no more until it is armed again.
    pub fn expire(&mut self, now: Time, due: &mut Vec<Key>) {
        let mut fired = core::mem::take(&mut self.fired);
        self.wheel.expire(now, &mut fired);
        for index in fired.drain(..) {
            let slot = &mut self.pieces[index as usize / PIECE][index as usize % PIECE];
            if slot.armed <= now {
                slot.armed = Time::MAX;
            }
            if slot.due <= now {
                slot.due = Time::MAX;
                due.push(Key { index, generation: slot.generation });
            } else if slot.due < slot.armed {
                slot.armed = slot.due;
                self.wheel.arm(slot.due, index);
            }
        }
        self.fired = fired;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Word(Vec<u8>);
    impl Reuse for Word {
        fn reuse(&mut self) {
            self.0.clear();
        }
    }

    #[test]
    fn an_old_key_finds_nothing_when_its_slot_has_another_user() {
        let mut slots = Slots::<Word>::new(1, Time::ZERO);
        let (old, word) = slots.take().unwrap();
        word.0.push(1);
        assert!(slots.take().is_none(), "the table is full");
        slots.give_back(old);
        slots.give_back(old);
        let (new, word) = slots.take().unwrap();
        assert!(word.0.is_empty());
        assert!(slots.at(old).is_none() && slots.at(new).is_some());
        assert_eq!(slots.len(), 1);
    }

    #[test]
    fn a_deadline_that_moves_fires_once_at_its_last_value() {
        let mut slots = Slots::<Word>::new(4, Time::ZERO);
        let key = slots.take().unwrap().0;
        for ms in [500, 4_000, 700] {
            slots.arm(key, Time::from_millis(ms));
        }
        let mut due = Vec::new();
        slots.expire(Time::from_millis(600), &mut due);
        assert!(due.is_empty());
        slots.expire(Time::from_millis(701), &mut due);
        assert_eq!(due, [key]);
        slots.expire(Time::from_millis(9_000), &mut due);
        assert_eq!(due.len(), 1, "and not again");
        assert!(slots.deadline().is_none());
    }
}
