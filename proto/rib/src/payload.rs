//! What a route carries beside its key (labels, ESI, gateway): interned, since routes of a service
//! have the same.

use crate::hash::Hash;
use hashbrown::HashTable;

/// Payloads by number; number 0 is the empty one.
#[derive(Debug)]
pub(crate) struct Payloads {
    slots: Vec<(Box<[u8]>, u32)>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hash: Hash,
}

impl Payloads {
    pub(crate) fn new(hash: Hash) -> Self {
        let slots = vec![(Box::default(), 1)];
        Self { slots, free: Vec::new(), index: HashTable::new(), hash }
    }

    pub(crate) fn octets(&self, number: u32) -> &[u8] {
        &self.slots[number as usize].0
    }

    /// The number of these octets; it is held once more. Nobody counts who holds number 0, which
    /// stays: most routes have it.
    #[inline]
    pub(crate) fn hold(&mut self, octets: &[u8]) -> u32 {
        if octets.is_empty() { 0 } else { self.intern(octets) }
    }

    fn intern(&mut self, octets: &[u8]) -> u32 {
        let hash = self.hash.octets(octets);
        let slots = &mut self.slots;
        if let Some(&number) = self.index.find(hash, |&at| *slots[at as usize].0 == *octets) {
            slots[number as usize].1 += 1;
            return number;
        }
        let slot = (octets.into(), 1);
        let number = if let Some(number) = self.free.pop() {
            slots[number as usize] = slot;
            number
        } else {
            slots.push(slot);
            crate::number(slots.len() - 1)
        };
        let rehash = |&at: &u32| self.hash.octets(&slots[at as usize].0);
        self.index.insert_unique(hash, number, rehash);
        number
    }

    /// It is held once more.
    #[inline]
    pub(crate) fn keep(&mut self, number: u32) {
        if number != 0 {
            self.slots[number as usize].1 += 1;
        }
    }

    /// It is held once less.
    #[inline]
    pub(crate) fn release(&mut self, number: u32) {
        if number != 0 {
            self.let_go(number);
        }
    }

    fn let_go(&mut self, number: u32) {
        let (octets, holds) = &mut self.slots[number as usize];
        *holds -= 1;
        if *holds > 0 {
            return;
        }
        let hash = self.hash.octets(octets);
        *octets = Box::default();
        if let Ok(found) = self.index.find_entry(hash, |&at| at == number) {
            found.remove();
        }
        self.free.push(number);
    }
}
