//! Names of peers and Application Servers, and the tables that keep them.

/// A peer of this process: one association, as configured. An old name is never taken for a new
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId {
    index: u32,
    generation: u32,
}

impl PeerId {
    /// What names it in octets, within this process.
    #[must_use]
    pub const fn numbers(self) -> (u32, u32) {
        (self.index, self.generation)
    }

    /// The peer with these [`PeerId::numbers`].
    #[must_use]
    pub const fn of_numbers(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }
}

/// An Application Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId {
    index: u32,
    generation: u32,
}

impl ServerId {
    /// A number for the Local-RK-Identifier.
    pub(crate) const fn number(self) -> u32 {
        self.index
    }
}

/// What names an entry of a [`Table`].
pub(crate) trait Id: Copy {
    fn new(index: u32, generation: u32) -> Self;
    fn parts(self) -> (u32, u32);
}

macro_rules! id {
    ($id:ident) => {
        impl Id for $id {
            fn new(index: u32, generation: u32) -> Self {
                Self { index, generation }
            }
            fn parts(self) -> (u32, u32) {
                (self.index, self.generation)
            }
        }
    };
}
id!(PeerId);
id!(ServerId);

/// The place of a slot as part of a name; callers bound the slots far below.
fn place(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    entry: Option<T>,
}

/// Entries by name. How many there may be is the caller's limit.
#[derive(Debug)]
pub(crate) struct Table<I, T> {
    slots: Vec<Slot<T>>,
    len: usize,
    id: core::marker::PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), len: 0, id: core::marker::PhantomData }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, entry: T) -> I {
        self.len += 1;
        let free = self.slots.iter().position(|slot| slot.entry.is_none());
        let index = free.unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, entry: None });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[index];
        slot.entry = Some(entry);
        I::new(place(index), slot.generation)
    }

    pub(crate) fn remove(&mut self, id: I) -> Option<T> {
        let (index, generation) = id.parts();
        let slot = self.slots.get_mut(index as usize)?;
        if slot.generation != generation || slot.entry.is_none() {
            return None;
        }
        slot.generation = slot.generation.wrapping_add(1);
        self.len -= 1;
        slot.entry.take()
    }

    #[inline]
    pub(crate) fn find(&self, id: I) -> Option<&T> {
        let (index, generation) = id.parts();
        let slot = self.slots.get(index as usize)?;
        if slot.generation == generation { slot.entry.as_ref() } else { None }
    }

    #[inline]
    pub(crate) fn find_mut(&mut self, id: I) -> Option<&mut T> {
        let (index, generation) = id.parts();
        let slot = self.slots.get_mut(index as usize)?;
        if slot.generation == generation { slot.entry.as_mut() } else { None }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            Some((I::new(place(index), slot.generation), slot.entry.as_ref()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_does_not_find_what_took_its_place() {
        let mut table = Table::<PeerId, u8>::new();
        let first = table.insert(1);
        assert_eq!(table.remove(first), Some(1));
        let second = table.insert(2);
        assert_eq!((table.find(first), table.find(second), table.len()), (None, Some(&2), 1));
        assert_eq!(table.remove(first), None);
    }
}
