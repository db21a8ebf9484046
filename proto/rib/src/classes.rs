//! Sets of classes of route targets: a bit each, so that the routes of a table are held against
//! many of them at once.

/// Classes by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClassSet {
    words: Vec<u64>,
}

impl ClassSet {
    pub(crate) fn insert(&mut self, class: u32) {
        let (word, bit) = ((class / 64) as usize, 1 << (class % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
    }

    #[inline]
    pub(crate) fn has(&self, class: u32) -> bool {
        let word = self.words.get((class / 64) as usize);
        word.is_some_and(|word| word >> (class % 64) & 1 != 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Takes in the classes of another.
    pub(crate) fn unite(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Its classes in order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let set = (0..).zip(&self.words).filter(|(_, word)| **word != 0);
        set.flat_map(|(at, word)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| at * 64 + bit)
        })
    }
}
