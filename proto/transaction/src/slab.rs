//! A slab: entries by index, each with a generation so that an old index is never taken for a
//! new entry.

const NONE: u32 = u32::MAX;

#[derive(Debug)]
enum Body<T> {
    Free(u32),
    Full(T),
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    body: Body<T>,
}

/// Slots of one piece of memory: a slab grows by pieces, so that nothing is ever moved.
const PIECE: usize = 1 << 12;

/// Entries that stay where they are until they are removed.
#[derive(Debug)]
pub(super) struct Slab<T> {
    pieces: Vec<Vec<Slot<T>>>,
    /// Slots in all pieces.
    made: u32,
    free: u32,
    len: usize,
    max: u32,
}

impl<T> Slab<T> {
    /// Octets of an entry.
    #[cfg(test)]
    pub(super) const ENTRY: usize = size_of::<Slot<T>>();

    /// An empty slab for at most `max` entries; memory grows as it fills.
    pub(super) fn new(max: u32) -> Self {
        Self { pieces: Vec::new(), made: 0, free: NONE, len: 0, max: max.min(NONE - 1) }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Slots in use and free: every index is below.
    pub(super) const fn slots(&self) -> u32 {
        self.made
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        self.pieces.get(index as usize / PIECE)?.get(index as usize % PIECE)
    }

    #[inline]
    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<T>> {
        self.pieces.get_mut(index as usize / PIECE)?.get_mut(index as usize % PIECE)
    }

    /// Index and generation of the new entry; `None` when the slab is full.
    pub(super) fn insert(&mut self, entry: T) -> Option<(u32, u32)> {
        if self.free == NONE {
            return (self.made < self.max).then(|| self.make(entry));
        }
        let index = self.free;
        let slot = self.slot_mut(index)?;
        let free = match slot.body {
            Body::Free(next) => next,
            Body::Full(_) => NONE,
        };
        slot.body = Body::Full(entry);
        let generation = slot.generation;
        (self.free, self.len) = (free, self.len + 1);
        Some((index, generation))
    }

    /// One more slot.
    fn make(&mut self, entry: T) -> (u32, u32) {
        let index = self.made;
        if (index as usize).is_multiple_of(PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        let piece = &mut self.pieces[index as usize / PIECE];
        piece.push(Slot { generation: 0, body: Body::Full(entry) });
        (self.made, self.len) = (index + 1, self.len + 1);
        (index, 0)
    }

    #[inline]
    pub(super) fn get(&self, index: u32, generation: u32) -> Option<&T> {
        match self.slot(index) {
            Some(Slot { generation: g, body: Body::Full(entry) }) if *g == generation => {
                Some(entry)
            }
            _ => None,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32, generation: u32) -> Option<&mut T> {
        match self.slot_mut(index) {
            Some(Slot { generation: g, body: Body::Full(entry) }) if *g == generation => {
                Some(entry)
            }
            _ => None,
        }
    }

    /// The entry at `index`, whatever its generation, with that generation.
    #[inline]
    pub(super) fn at(&self, index: u32) -> Option<(u32, &T)> {
        match self.slot(index) {
            Some(Slot { generation, body: Body::Full(entry) }) => Some((*generation, entry)),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.slot_mut(index) {
            Some(Slot { body: Body::Full(entry), .. }) => Some(entry),
            _ => None,
        }
    }

    /// Takes the entry at `index` out; its generation is over.
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let free = self.free;
        let slot = self.slot_mut(index)?;
        if matches!(slot.body, Body::Free(_)) {
            return None;
        }
        slot.generation = slot.generation.wrapping_add(1);
        let body = core::mem::replace(&mut slot.body, Body::Free(free));
        self.free = index;
        self.len -= 1;
        match body {
            Body::Full(entry) => Some(entry),
            Body::Free(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_generation_finds_nothing_when_its_slot_is_used_again() {
        let mut slab = Slab::new(2);
        let (index, generation) = slab.insert('a').unwrap();
        assert_eq!(slab.remove(index), Some('a'));
        let again = slab.insert('b').unwrap();
        assert_eq!(again.0, index);
        assert_eq!(slab.get(index, generation), None);
        assert_eq!(slab.get(again.0, again.1), Some(&'b'));
    }

    #[test]
    fn a_full_slab_takes_nothing_more() {
        let mut slab = Slab::new(1);
        assert!(slab.insert(1).is_some());
        assert!(slab.insert(2).is_none());
        assert_eq!(slab.len(), 1);
    }
}
