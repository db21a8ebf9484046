//! From a hash to slots: many bindings may have one key, and one binding many keys.

use hashbrown::HashTable;

/// A multi-valued index. It stores hashes, so that growing it looks at nothing else; whoever
/// finds a slot verifies the key there.
#[derive(Debug, Default)]
pub(crate) struct Index {
    table: HashTable<(u32, u32)>,
}

/// Spreads a stored hash over the bits that the table looks at.
pub(crate) const fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Index {
    pub(crate) fn insert(&mut self, hash: u32, slot: u32) {
        if !self.find(hash).any(|found| found == slot) {
            self.table.insert_unique(spread(hash), (hash, slot), |&(hash, _)| spread(hash));
        }
    }

    pub(crate) fn remove(&mut self, hash: u32, slot: u32) {
        if let Ok(entry) = self.table.find_entry(spread(hash), |&entry| entry == (hash, slot)) {
            entry.remove();
        }
    }

    /// The slots under a hash.
    pub(crate) fn find(&self, hash: u32) -> impl Iterator<Item = u32> + '_ {
        self.table
            .iter_hash(spread(hash))
            .filter(move |(found, _)| *found == hash)
            .map(|&(_, slot)| slot)
    }

    /// Number of entries: it returns to zero when every binding is gone.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_slots_may_stand_under_one_hash() {
        let mut index = Index::default();
        for slot in [1, 2, 3, 2] {
            index.insert(7, slot);
        }
        index.insert(8, 1);
        index.remove(7, 2);
        index.remove(9, 9);
        let mut found: Vec<u32> = index.find(7).collect();
        found.sort_unstable();
        assert_eq!((found, index.len()), (vec![1, 3], 3));
    }
}
